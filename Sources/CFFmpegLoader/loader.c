#include "CFFmpegLoader.h"

#include <dlfcn.h>
#include <libavformat/version.h>
#include <libavutil/macros.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// libavformat's file: the version whose headers Cuejack was built with. It brings libavcodec and
// libavutil.
static const char file[] = "libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR);

static void *library;

// Ends the process, as the dynamic linker does for a library that is missing.
static _Noreturn void fail(void) {
  fprintf(stderr, "cuejack: cannot load FFmpeg: %s\n", dlerror());
  abort();
}

static void load(void) {
  library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (!library) fail();
}

// A record of functions.S, one for each function: the address that it jumps to, and its name.
struct cue_ffmpeg_entry {
  void *address;
  const char *name;
};

// Finds the library's function for the first call of ours, which jumps to it from then on.
__attribute__((visibility("hidden"))) void *cue_ffmpeg_find(struct cue_ffmpeg_entry *entry) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  void *address = dlsym(library, entry->name);
  if (!address) fail();
  __atomic_store_n(&entry->address, address, __ATOMIC_RELEASE);
  return address;
}
