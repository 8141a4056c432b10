#include "CFFmpeg.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct cue_ffmpeg_functions functions;

// Ends the process, as the dynamic linker does for a library that is missing.
static _Noreturn void fail(void) {
  fprintf(stderr, "cuejack: cannot load FFmpeg: %s\n", dlerror());
  abort();
}

// Loads libavformat: the version whose headers Cuejack was built with. It brings libavcodec and
// libavutil.
static void load(void) {
  void *library =
      dlopen("libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR), RTLD_LAZY | RTLD_LOCAL);
  if (!library) fail();
#define FUNCTION(name)                                                                             \
  if (!(functions.name = (__typeof__(name) *)dlsym(library, #name))) fail()
#include "functions.inc"
}

const struct cue_ffmpeg_functions *cue_ffmpeg(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return &functions;
}
