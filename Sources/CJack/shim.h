// libjack, as Swift sees it. Variadic functions are wrapped: Swift cannot call them.
#include <dlfcn.h>
#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/session.h>
#include <jack/statistics.h>
#include <jack/thread.h>
#include <jack/uuid.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/// A thread of JACK's library that is being created.
struct cue_jack_thread {
  void *(*function)(void *);
  void *argument;
  sem_t begun;
};

static inline void *cue_jack_run_thread(void *given) {
  struct cue_jack_thread *thread = (struct cue_jack_thread *)given;
  void *(*function)(void *) = thread->function;
  void *argument = thread->argument;
  sem_post(&thread->begun);
  return function(argument);
}

/// Creates a thread of JACK's library, and returns when it has begun to run.
static inline int cue_jack_create_thread(jack_native_thread_t *created,
                                         const pthread_attr_t *attributes,
                                         void *(*function)(void *), void *argument) {
  struct cue_jack_thread thread = {function, argument};
  sem_init(&thread.begun, 0, 0);
  int error = pthread_create(created, attributes, cue_jack_run_thread, &thread);
  while (!error && sem_wait(&thread.begun) != 0) {
  }
  sem_destroy(&thread.begun);
  return error;
}

/// Makes JACK's library wait for the beginning of its threads, for however long a busy machine
/// takes. By itself, jackd's library waits for one second. Then it does not activate the client, or
/// it frees what its thread of messages is about to use.
static inline void cue_jack_await_threads(void) {
  jack_set_thread_creator(cue_jack_create_thread);
}

/// The beginning of the program or shared library that has this code. `_DYNAMIC` is its dynamic
/// section.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/// Sends the calls of JACK's functions by the program or shared library that has this code to the
/// libjack at `path`, which stays loaded: its slots for them are overwritten. No client may be
/// open, and no other thread may call libjack.
///
/// Nothing changes if the library cannot be loaded, lacks a function, or calls are bound in another
/// way than by slots, nor in a program that AddressSanitizer watches.
///
/// @return 1 if the calls go there, else 0.
static inline int cue_jack_redirect(const char *path) {
  const ElfW(Rela) *slots = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  size_t count = 0;
  ElfW(Xword) kind = 0;
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    const void *address = (const void *)entry->d_un.d_ptr;
    switch (entry->d_tag) {
    case DT_JMPREL:
      slots = (const ElfW(Rela) *)address;
      break;
    case DT_PLTRELSZ:
      count = entry->d_un.d_val / sizeof(ElfW(Rela));
      break;
    case DT_PLTREL:
      kind = entry->d_un.d_val;
      break;
    case DT_SYMTAB:
      symbols = (const ElfW(Sym) *)address;
      break;
    case DT_STRTAB:
      names = (const char *)address;
      break;
    }
  }
  if (kind != DT_RELA || !slots || !symbols || !names) return 0;
  // Its own calls would find the other libjack first without RTLD_DEEPBIND, which AddressSanitizer
  // refuses.
  if (dlsym(RTLD_DEFAULT, "__asan_init")) return 0;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) return 0;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  int found = 0;
  // The first pass only looks whether all functions are there.
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < count; ++i) {
      const char *name = names + symbols[slots[i].r_info >> 32].st_name;
      if (strncmp(name, "jack_", 5) != 0) continue;
      void *function = dlsym(library, name);
      void **slot = (void **)((uintptr_t)__ehdr_start + slots[i].r_offset);
      // Slots are read-only if the linker bound them all at the start.
      void *start = (void *)((uintptr_t)slot & ~(page - 1));
      if (!function || mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
        dlclose(library);
        return 0;
      }
      if (pass) __atomic_store_n(slot, function, __ATOMIC_RELEASE);
      ++found;
    }
  }
  return found > 0;
}

/// Ends the attempts of a `cue_jack_client_open_again` on another thread.
static inline void cue_jack_leave(int *left) {
  __atomic_store_n(left, 1, __ATOMIC_RELEASE);
}

static inline int cue_jack_is_left(const int *left) {
  return __atomic_load_n(left, __ATOMIC_ACQUIRE);
}

/// Opens a client on the server called `server`, or on the default one if it is NULL, and never
/// starts a server.
///
/// A client of jackd listens for notifications on a socket that has the client's name, but not the
/// server's. If clients of one name are opened on two servers at once, one of them fails with
/// `JackServerError`, though its server runs. It is tried again then, for 150 ms in all.
///
/// `session` is the identifier that a session manager gave the client when it saved it, or NULL.
/// The server then gives the client the name that the manager has reserved for it.
///
/// `left` is NULL, or a number that another thread sets to end the attempts (`cue_jack_leave`).
static inline jack_client_t *cue_jack_client_open_again(const char *name, const char *server,
                                                        const char *session, const int *left,
                                                        jack_status_t *status) {
  int options = JackNoStartServer | (server ? JackServerName : 0) | (session ? JackSessionID : 0);
  const char *first = server ? server : session;
  useconds_t pause = 10000;
  for (;;) {
    jack_client_t *client = jack_client_open(name, (jack_options_t)options, status, first, session);
    int error = *status & (JackServerError | JackServerFailed);
    if (client || error != JackServerError || pause > 80000) return client;
    if (left && cue_jack_is_left(left)) return client;
    usleep(pause);
    pause *= 2;
  }
}

/// Opens a client that no session manager has saved.
static inline jack_client_t *cue_jack_client_open(const char *name, const char *server,
                                                  jack_status_t *status) {
  return cue_jack_client_open_again(name, server, NULL, NULL, status);
}

/// Returns whether the other side of a local socket has not read all that was written to it.
static inline int cue_socket_is_unread(int file) {
  int bytes = 0;
  return ioctl(file, TIOCOUTQ, &bytes) == 0 && bytes > 0;
}

// The session functions are deprecated, and PipeWire's library before 0.3.60 lacks some of them.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

/// jack_set_session_callback. Returns -1 or a negative error number if the server has no sessions.
static inline int cue_jack_set_session_callback(jack_client_t *client, JackSessionCallback callback,
                                                void *argument) {
  return jack_set_session_callback ? jack_set_session_callback(client, callback, argument) : -1;
}

/// jack_session_reply
static inline int cue_jack_session_reply(jack_client_t *client, jack_session_event_t *event) {
  return jack_session_reply ? jack_session_reply(client, event) : -1;
}

/// jack_session_event_free
static inline void cue_jack_session_event_free(jack_session_event_t *event) {
  if (jack_session_event_free) jack_session_event_free(event);
}

/// jack_session_commands_free, for session managers.
static inline void cue_jack_session_commands_free(jack_session_command_t *commands) {
  if (jack_session_commands_free) jack_session_commands_free(commands);
}

#pragma clang diagnostic pop
