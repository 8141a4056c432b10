// libjack, as Swift sees it. Variadic functions are wrapped: Swift cannot call them.
#include <jack/jack.h>
#include <spawn.h>
#include <jack/metadata.h>
#include <jack/session.h>
#include <jack/statistics.h>
#include <jack/thread.h>

/// Opens a client on the server called `server`, or on the default one if it is NULL, and never
/// starts a server.
static inline jack_client_t *cue_jack_client_open(const char *name, const char *server,
                                                  jack_status_t *status) {
  if (server)
    return jack_client_open(name, (jack_options_t)(JackNoStartServer | JackServerName), status,
                            server);
  return jack_client_open(name, JackNoStartServer, status);
}

// glibc declares these only for _GNU_SOURCE, which Swift's importer does not define.
int memfd_create(const char *name, unsigned int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);

/// Has a program that is started keep no file open from number `first` on.
static inline int cue_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
