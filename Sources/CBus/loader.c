#include "CBus.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>

static struct cue_bus_functions functions;
static bool is_complete;

static void load(void) {
  void *library = dlopen("libsystemd.so.0", RTLD_LAZY | RTLD_LOCAL);
  is_complete = library;
#define FUNCTION(name)                                                                             \
  is_complete = is_complete && (functions.name = (__typeof__(name) *)dlsym(library, #name)) != NULL
#include "functions.inc"
}

const struct cue_bus_functions *cue_bus(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_complete ? &functions : NULL;
}

int cue_bus_waker(void) {
  return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
