// A machine that is so busy that new threads begin late: a queue plays all the same. JACK's library
// gives its thread of messages a second to begin, and frees what that thread uses if it takes
// longer.
#include "check.h"

#include <dlfcn.h>
#include <stdbool.h>

static _Atomic bool begins_late;

typedef int (*creator)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
  void *(*function)(void *);
  void *argument;
};

static void *begin_late(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  sleep(4);
  return start.function(start.argument);
}

/// Takes the place of glibc's function for all libraries of this process.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument) {
  creator real = (creator)dlsym(RTLD_NEXT, "pthread_create");
  if (!begins_late) return real(thread, attributes, function, argument);
  struct start *start = malloc(sizeof *start);
  *start = (struct start){function, argument};
  return real(thread, attributes, begin_late, start);
}

static _Atomic int calls;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

int main(void) {
  begins_late = true;
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  enqueue_wave(queue, new_buffer(queue, 4800), 0, 4800);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("threads that begin late");
  return 0;
}
