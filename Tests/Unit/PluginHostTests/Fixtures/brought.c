// A dependency of a plugin that can be loaded only once in a process, like GLib's types.
#include <stdlib.h>

static int is_first;

__attribute__((constructor)) static void begin(void) {
  is_first = !getenv("CUE_FIXTURES_LIBRARY");
  setenv("CUE_FIXTURES_LIBRARY", "loaded", 1);
}

int brought_library_is_first(void) {
  return is_first;
}
