#include "CCairo.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static struct cue_cairo_functions functions;
static char fault[256];

// Loads cairo, which brings fontconfig with it.
static void load(void) {
  void *library = dlopen("libcairo.so.2", RTLD_LAZY | RTLD_LOCAL);
  bool is_complete = library;
#define FUNCTION(name)                                                                             \
  is_complete = is_complete && (functions.name = (__typeof__(name) *)dlsym(library, #name)) != NULL
#include "functions.inc"
  if (!is_complete) snprintf(fault, sizeof fault, "%s", dlerror());
}

const struct cue_cairo_functions *cue_cairo(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return *fault ? NULL : &functions;
}

const char *cue_cairo_fault(void) {
  return fault;
}
