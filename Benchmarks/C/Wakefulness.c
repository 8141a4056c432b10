#define _GNU_SOURCE
#include "CBench.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define MOST_THREADS 256

struct cue_wakefulness {
  pthread_t threads[MOST_THREADS];
  int count;
  atomic_bool is_over;
};

static void *stay_awake(void *argument) {
  cue_wakefulness *wakefulness = argument;
  struct sched_param parameters = {0};
  // At any higher priority this thread would take time from the measured code.
  if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameters) != 0) return NULL;
  while (!atomic_load_explicit(&wakefulness->is_over, memory_order_relaxed)) {
#if defined(__SSE__)
    _mm_pause();
#endif
  }
  return NULL;
}

cue_wakefulness *cue_wakefulness_begin(void) {
  cue_wakefulness *wakefulness = calloc(1, sizeof *wakefulness);
  if (!wakefulness) return NULL;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  while (wakefulness->count < processors && wakefulness->count < MOST_THREADS &&
         pthread_create(wakefulness->threads + wakefulness->count, NULL, stay_awake, wakefulness) ==
             0)
    wakefulness->count++;
  return wakefulness;
}

void cue_wakefulness_end(cue_wakefulness *wakefulness) {
  if (!wakefulness) return;
  atomic_store(&wakefulness->is_over, true);
  for (int i = 0; i < wakefulness->count; i++)
    pthread_join(wakefulness->threads[i], NULL);
  free(wakefulness);
}
