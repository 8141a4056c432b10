// libjack, as Swift sees it. Variadic functions are wrapped: Swift cannot call them.
#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/session.h>
#include <jack/statistics.h>
#include <jack/thread.h>
#include <unistd.h>

/// Opens a client on the server called `server`, or on the default one if it is NULL, and never
/// starts a server.
///
/// A client of jackd listens for notifications on a socket that has the client's name, but not the
/// server's. If clients of one name are opened on two servers at once, one of them fails with
/// `JackServerError`, though its server runs. It is tried again then, for 150 ms in all.
static inline jack_client_t *cue_jack_client_open(const char *name, const char *server,
                                                  jack_status_t *status) {
  useconds_t pause = 10000;
  for (;;) {
    jack_client_t *client =
        server ? jack_client_open(name, (jack_options_t)(JackNoStartServer | JackServerName),
                                  status, server)
               : jack_client_open(name, JackNoStartServer, status);
    int error = *status & (JackServerError | JackServerFailed);
    if (client || error != JackServerError || pause > 80000) return client;
    usleep(pause);
    pause *= 2;
  }
}
