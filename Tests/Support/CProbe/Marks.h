// Declarations shared by the parts of the probe.
#pragma once
#include "CProbe.h"

#if defined(CUE_NO_PROBE)
#define PROBE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(realtime_sanitizer)
#define PROBE 0
#endif
#endif
#ifndef PROBE
#define PROBE 1
#endif

// Initial-exec, because malloc reads these variables and reading them must not allocate.
#define MARKED _Thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern MARKED bool cue_probe_marked;
extern MARKED cue_probe_counts cue_probe_marked_counts;

// Looks up the next definition of a function on the first call. Two threads that do so at once find
// the same one. dlsym does not call pthread_mutex_lock through the symbol table, so it cannot
// recurse into this code.
#define NEXT(name)                                                                                 \
  static void *next;                                                                               \
  void *function = __atomic_load_n(&next, __ATOMIC_ACQUIRE);                                       \
  if (!function) {                                                                                 \
    function = dlsym(RTLD_NEXT, name);                                                             \
    __atomic_store_n(&next, function, __ATOMIC_RELEASE);                                           \
  }
