// Programs that end while their queues play, open and close clients of the server: each ends with
// its own status. A synchronous jackd waits five seconds for each client that is not closed, and
// the test's deadline passes.
#include "check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum {
  QUEUES = 3,
  ENDS = 10
};

static AudioQueueRef queues[QUEUES];
static _Atomic int calls;

static void play_again(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  calls++;
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

/// Starts the queues, until a call fails: the process may end in the meantime.
static void *start_all(void *unused) {
  AudioStreamBasicDescription format = float_format(48000, 2);
  for (int i = 0; i < QUEUES; i++) {
    if (AudioQueueNewOutput(&format, play_again, NULL, NULL, NULL, 0, &queues[i])) return unused;
    for (int j = 0; j < 2; j++) {
      AudioQueueBufferRef buffer = NULL;
      UInt32 size = 1024 * format.mBytesPerFrame;
      if (AudioQueueAllocateBuffer(queues[i], size, &buffer)) return unused;
      buffer->mAudioDataByteSize = size;
      if (AudioQueueEnqueueBuffer(queues[i], buffer, 0, NULL)) return unused;
    }
    if (AudioQueueStart(queues[i], NULL)) return unused;
  }
  return unused;
}

static void *dispose_all(void *unused) {
  for (int i = 0; i < QUEUES; i++)
    AudioQueueDispose(queues[i], true);
  return unused;
}

/// The child: returns from main some time after a thread began to open or close clients.
static int end(const char *how, useconds_t delay) {
  pthread_t thread;
  if (strcmp(how, "opening") == 0) {
    CHECK(pthread_create(&thread, NULL, start_all, NULL) == 0);
  } else {
    start_all(NULL);
    WAIT(calls > QUEUES);
    if (strcmp(how, "closing") == 0) CHECK(pthread_create(&thread, NULL, dispose_all, NULL) == 0);
  }
  usleep(delay);
  return 0;
}

static void check_ends(const char *how) {
  for (int i = 0; i < ENDS; i++) {
    char delay[20];
    snprintf(delay, sizeof delay, "%d", i * 3000);
    char *arguments[] = {"exits", (char *)how, delay, NULL};
    pid_t child = 0;
    int status = -1;
    CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(status, 0);
  }
  passed(how);
}

int main(int argc, char **argv) {
  if (argc == 3) return end(argv[1], (useconds_t)atoi(argv[2]));
  check_ends("playing");
  check_ends("closing");
  check_ends("opening");
  return 0;
}
