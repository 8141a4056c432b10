#define _GNU_SOURCE
#include "CProbe.h"
#include "Marks.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

MARKED bool cue_probe_marked;
MARKED cue_probe_counts cue_probe_marked_counts;

static bool zeroes_memory;

bool cue_probe_works(void) {
  return PROBE;
}

void cue_probe_zero_memory(bool on) {
  __atomic_store_n(&zeroes_memory, on, __ATOMIC_RELAXED);
}

void cue_probe_enter(void) {
  cue_probe_marked_counts = (cue_probe_counts){0};
  cue_probe_marked = true;
}

cue_probe_counts cue_probe_leave(void) {
  cue_probe_marked = false;
  return cue_probe_marked_counts;
}

#if PROBE

// glibc's internal names. Looking up the next definition would allocate.
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static bool is_zeroing(void) {
  return __atomic_load_n(&zeroes_memory, __ATOMIC_RELAXED);
}

static void *aligned(size_t alignment, size_t bytes) {
  void *memory = __libc_memalign(alignment, bytes);
  if (memory && is_zeroing()) memset(memory, 0, bytes);
  return memory;
}

void *malloc(size_t bytes) {
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  return is_zeroing() ? __libc_calloc(1, bytes) : __libc_malloc(bytes);
}

void free(void *memory) {
  if (cue_probe_marked && memory) cue_probe_marked_counts.frees++;
  __libc_free(memory);
}

void *calloc(size_t count, size_t bytes) {
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  return aligned(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  return aligned(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void *) || alignment & (alignment - 1) || alignment == 0) return EINVAL;
  if (cue_probe_marked) cue_probe_marked_counts.allocations++;
  void *found = aligned(alignment, bytes);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (cue_probe_marked) cue_probe_marked_counts.locks++;
  NEXT("pthread_mutex_lock")
  return ((int (*)(pthread_mutex_t *))function)(mutex);
}

// Callers may assume that these functions preserve all registers but the result's, as the compiler
// may declare them so. preserve_most is compatible with these callers and with all others.
#define COUNTED(type, name, parameters, arguments, field)                                          \
  __attribute__((preserve_most)) type name parameters {                                            \
    if (cue_probe_marked) cue_probe_marked_counts.field++;                                         \
    NEXT(#name)                                                                                    \
    return ((type(*) parameters)function)arguments;                                                \
  }

COUNTED(void *, swift_retain, (void *object), (object), retains)
COUNTED(void *, swift_retain_n, (void *object, uint32_t n), (object, n), retains)
COUNTED(void *, swift_bridgeObjectRetain, (void *object), (object), retains)
COUNTED(void *, swift_bridgeObjectRetain_n, (void *object, int n), (object, n), retains)
COUNTED(void, swift_release, (void *object), (object), releases)
COUNTED(void, swift_release_n, (void *object, uint32_t n), (object, n), releases)
COUNTED(void, swift_bridgeObjectRelease, (void *object), (object), releases)
COUNTED(void, swift_bridgeObjectRelease_n, (void *object, int n), (object, n), releases)

#endif
