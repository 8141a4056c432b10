// App behaviour before the start: priming by hand, a lock that the callback also takes, and the end
// of a short file.
#include "check.h"

enum {
  FRAMES = 300
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int calls, running_changes;

static void locking(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  pthread_mutex_lock(&mutex);
  calls++;
  pthread_mutex_unlock(&mutex);
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)property;
  pthread_mutex_lock(&mutex);
  EQUAL(is_running(queue), running_changes == 0);
  running_changes++;
  pthread_mutex_unlock(&mutex);
}

static void a_lock_held_round_every_call(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  AudioQueueBufferRef buffers[4];
  UInt32 ready = 0;
  calls = running_changes = 0;
  cue_capture_arm(card);
  pthread_mutex_lock(&mutex);
  WORKS(AudioQueueNewOutput(&format, locking, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < 3; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    enqueue_wave(queue, buffers[i], i * FRAMES, FRAMES);
  }
  WORKS(AudioQueuePrime(queue, 0, &ready));
  EQUAL(ready, 3 * FRAMES);
  WORKS(AudioQueuePrime(queue, 1, NULL));
  EQUAL(is_running(queue), 0);
  WORKS(AudioQueueStart(queue, NULL));
  // The listener and the callbacks are due and wait for the lock; nothing else waits.
  let_time_pass();
  EQUAL(calls, 0);
  buffers[3] = new_buffer(queue, FRAMES);
  enqueue_wave(queue, buffers[3], 3 * FRAMES, FRAMES);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueFlush(queue));
  WORKS(AudioQueueStop(queue, false));
  EQUAL(calls, 0);
  EQUAL(running_changes, 0);
  pthread_mutex_unlock(&mutex);
  WAIT(calls == 4 && running_changes == 2);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  size_t at = HEAR(card, find_sound(card, 0), 0, 3 * FRAMES);
  HEAR(card, find_sound(card, at), 3 * FRAMES, FRAMES);
  passed("a lock held round every call");
}

/// A file of 450 frames, and an app that fills its buffers by calling its own callback.
struct file {
  long frames, read;
};

static void read_file(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct file *file = data;
  calls++;
  long frames = file->frames - file->read < FRAMES ? file->frames - file->read : FRAMES;
  if (frames == 0) {
    WORKS(AudioQueueStop(queue, false));
    return;
  }
  enqueue_wave(queue, buffer, file->read, frames);
  file->read += frames;
}

static void a_file_shorter_than_the_buffers(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  struct file file = {450, 0};
  calls = running_changes = 0;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, read_file, &file, CFRunLoopGetCurrent(), NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < 3; i++)
    read_file(&file, queue, new_buffer(queue, FRAMES));
  EQUAL(calls, 3);
  // The stop kept the buffers and returned none.
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, false);
  EQUAL(calls, 3);
  EQUAL(is_running(queue), 0);
  WORKS(AudioQueueStart(queue, NULL));
  RUN_LOOP_UNTIL(running_changes == 2);
  EQUAL(calls, 5);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  size_t end = HEAR(card, find_sound(card, 0), 0, 450);
  HEAR_SILENCE(card, end);
  passed("stop before start");
}

static void pause_before_start(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  calls = 0;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, locking, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueuePause(queue));
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, FRAMES);
  passed("pause before start");
}

int main(void) {
  cue_capture *card = open_card(10);
  a_lock_held_round_every_call(card);
  a_file_shorter_than_the_buffers(card);
  pause_before_start(card);
  cue_capture_close(card);
  return 0;
}
