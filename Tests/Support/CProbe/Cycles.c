// Measures the process callbacks of JACK clients.
#define _GNU_SOURCE
#include "CProbe.h"
#include "Marks.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#if PROBE

typedef int (*process)(uint32_t frames, void *argument);

// A measured process callback, kept for the lifetime of the program.
typedef struct watched {
  process callback;
  void *argument;
  struct watched *next;
} watched;

static bool watches;
static watched *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cue_probe_cycles sums;
static bool misses_calls;

static int between_marks(uint32_t frames, void *argument) {
  static _Thread_local bool is_known;
  const watched *callback = argument;
  if (!is_known) {
    is_known = true;
    if (!cue_probe_watch_calls()) __atomic_store_n(&misses_calls, true, __ATOMIC_RELAXED);
  }
  cue_probe_enter();
  int result = callback->callback(frames, callback->argument);
  cue_probe_counts seen = cue_probe_leave();
  const uint32_t *from = (const uint32_t *)&seen;
  uint32_t *to = (uint32_t *)&sums.counts;
  for (size_t i = 0; i < sizeof seen / sizeof *from; ++i)
    __atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
  __atomic_fetch_add(&sums.cycles, 1, __ATOMIC_RELEASE);
  return result;
}

// Replaces libjack's function.
int jack_set_process_callback(void *client, process callback, void *argument) {
  NEXT("jack_set_process_callback")
  int (*set)(void *, process, void *) = (int (*)(void *, process, void *))function;
  if (!__atomic_load_n(&watches, __ATOMIC_ACQUIRE)) return set(client, callback, argument);
  watched *new = malloc(sizeof *new);
  if (!new) return -1;
  pthread_mutex_lock(&lock);
  *new = (watched){callback, argument, all};
  all = new;
  pthread_mutex_unlock(&lock);
  return set(client, between_marks, new);
}

void cue_probe_watch_cycles(bool on) {
  __atomic_store_n(&watches, on, __ATOMIC_RELEASE);
}

cue_probe_cycles cue_probe_take_cycles(void) {
  cue_probe_cycles taken = {0};
  taken.cycles = __atomic_exchange_n(&sums.cycles, 0, __ATOMIC_ACQUIRE);
  const uint32_t *from = (const uint32_t *)&sums.counts;
  uint32_t *to = (uint32_t *)&taken.counts;
  for (size_t i = 0; i < sizeof taken.counts / sizeof *to; ++i)
    to[i] = __atomic_exchange_n((uint32_t *)&from[i], 0, __ATOMIC_RELAXED);
  taken.has_watched_calls = !__atomic_load_n(&misses_calls, __ATOMIC_RELAXED);
  return taken;
}

#else

void cue_probe_watch_cycles(bool on) {
  (void)on;
}

cue_probe_cycles cue_probe_take_cycles(void) {
  return (cue_probe_cycles){0};
}

#endif
