// A thread of the app fills the buffers, and the callback only signals that one is free. Then many
// queues are opened, played and closed, one after another.
#include "check.h"

#include <semaphore.h>

enum {
  BUFFERS = 4,
  FRAMES = 4000,
  ROUNDS = 15
};

static AudioQueueRef queue;
static AudioQueueBufferRef buffers[BUFFERS];
static sem_t free_buffers;
static _Atomic int calls, running_changes;

static void played(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  CHECK(in_queue == queue && buffer == buffers[calls % BUFFERS]);
  calls++;
  sem_post(&free_buffers);
}

static void changed(void *data, AudioQueueRef in_queue, AudioQueuePropertyID property) {
  (void)data, (void)in_queue, (void)property;
  running_changes++;
}

static void *drive(void *argument) {
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(sem_wait(&free_buffers) == 0);
    enqueue_wave(queue, buffers[i % BUFFERS], (long)i * FRAMES, FRAMES);
    // The thread starts the queue once all buffers are filled.
    if (i == BUFFERS - 1) WORKS(AudioQueueStart(queue, NULL));
  }
  WORKS(AudioQueueFlush(queue));
  WORKS(AudioQueueStop(queue, false));
  return argument;
}

enum {
  SOUNDS = 50,
  SOUND_FRAMES = 1000
};

static void returned(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)in_queue, (void)buffer;
  ++*(_Atomic int *)data;
}

static void open_play_close(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  _Atomic int returns = 0;
  cue_capture_arm(card);
  for (int i = 0; i < SOUNDS; i++) {
    WORKS(AudioQueueNewOutput(&format, returned, (void *)&returns, NULL, NULL, 0, &queue));
    enqueue_wave(queue, new_buffer(queue, SOUND_FRAMES), (long)i * SOUND_FRAMES, SOUND_FRAMES);
    WORKS(AudioQueueStart(queue, NULL));
    if (i % 2 == 0) WORKS(AudioQueueStop(queue, false));
    WAIT(returns == i + 1);
    WORKS(AudioQueueDispose(queue, i % 3 == 0));
  }
  end_recording(card);
  size_t at = 0;
  for (int i = 0; i < SOUNDS; i++)
    at = HEAR(card, find_sound(card, at), (long)i * SOUND_FRAMES, SOUND_FRAMES);
  HEAR_SILENCE(card, at);
  passed("fifty rounds");
}

int main(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  cue_capture *card = open_card(60);
  CHECK(sem_init(&free_buffers, 0, BUFFERS) == 0);
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < BUFFERS; i++)
    buffers[i] = new_buffer(queue, FRAMES);
  pthread_t driver;
  CHECK(pthread_create(&driver, NULL, drive, NULL) == 0);
  CHECK(pthread_join(driver, NULL) == 0);
  WAIT(running_changes == 2);
  EQUAL(calls, ROUNDS);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  size_t over = HEAR(card, find_sound(card, 0), 0, (long)FRAMES * ROUNDS);
  HEAR_SILENCE(card, over);
  passed("driver");
  open_play_close(card);
  cue_capture_close(card);
  sem_destroy(&free_buffers);
  return 0;
}
