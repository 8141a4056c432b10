// libjack, as Swift sees it. Variadic functions are wrapped: Swift cannot call them.
#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/statistics.h>

/// Opens a client on the server called `server`, or on the default one if it is NULL, and never
/// starts a server.
static inline jack_client_t *cue_jack_client_open(const char *name, const char *server,
                                                  jack_status_t *status) {
  if (server)
    return jack_client_open(name, (jack_options_t)(JackNoStartServer | JackServerName), status,
                            server);
  return jack_client_open(name, JackNoStartServer, status);
}
