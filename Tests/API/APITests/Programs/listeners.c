// Property listeners that remove others, or dispose of the queue, during a notification. User data
// is freed as soon as its listener cannot be called any more.
#include "check.h"

static const AudioQueuePropertyID running = kAudioQueueProperty_IsRunning;

/// A listener's user data: its number of calls, and the listener that it removes.
typedef struct pointer {
  _Atomic int calls, ended;
  struct pointer *other;
} pointer;

static _Atomic int done;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static AudioQueueRef new_queue(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  done = 0;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static void count(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)queue;
  EQUAL(property, running);
  ((pointer *)data)->calls++;
}

static void remove_other(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  pointer *this = (pointer *)data;
  this->calls++;
  if (this->other) {
    WORKS(AudioQueueRemovePropertyListener(queue, property, count, this->other));
    free(this->other);
    this->other = NULL;
  }
  done = 1;
}

static void remove_itself(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  WORKS(AudioQueueRemovePropertyListener(queue, property, remove_itself, data));
  free(data);
  done = 1;
}

static void dispose_at_once(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)property;
  WORKS(AudioQueueDispose(queue, true));
  free(data);
  done = 1;
}

static void dispose_later(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)property;
  WORKS(AudioQueueDispose(queue, false));
  free(data);
  done = 1;
}

static void take_long(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)queue, (void)property;
  pointer *this = (pointer *)data;
  this->calls++;
  usleep(300000);
  this->ended = 1;
}

static void removed_by_another(void) {
  AudioQueueRef queue = new_queue();
  pointer first = {0}, last = {0};
  first.other = (pointer *)calloc(1, sizeof *first.other);
  WORKS(AudioQueueAddPropertyListener(queue, running, remove_other, &first));
  WORKS(AudioQueueAddPropertyListener(queue, running, count, first.other));
  WORKS(AudioQueueAddPropertyListener(queue, running, count, &last));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(last.calls == 1);
  EQUAL(first.calls, 1);

  // One of two equal listeners.
  first.other = &last;
  WORKS(AudioQueueRemovePropertyListener(queue, running, remove_other, &first));
  WORKS(AudioQueueAddPropertyListener(queue, running, count, &last));
  WORKS(AudioQueueStop(queue, true));
  WAIT(last.calls == 3);
  WORKS(AudioQueueRemovePropertyListener(queue, running, count, &last));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(last.calls == 4);
  let_time_pass();
  EQUAL(last.calls, 4);

  // The listener itself.
  WORKS(AudioQueueAddPropertyListener(queue, running, remove_itself, malloc(1)));
  WORKS(AudioQueueStop(queue, true));
  WAIT(done && last.calls == 5);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(last.calls == 6);
  WORKS(AudioQueueDispose(queue, true));
  passed("removed by another listener");
}

static void removed_on_another_thread(void) {
  AudioQueueRef queue = new_queue();
  pointer slow = {0};
  WORKS(AudioQueueAddPropertyListener(queue, running, take_long, &slow));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(slow.calls == 1);
  // From now on its user data may be freed.
  WORKS(AudioQueueRemovePropertyListener(queue, running, take_long, &slow));
  EQUAL(slow.ended, 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("removed on another thread");
}

static void disposed_by_another(void) {
  const AudioQueuePropertyListenerProc disposers[] = {dispose_at_once, dispose_later};
  for (size_t i = 0; i < 2; i++) {
    AudioQueueRef queue = new_queue();
    pointer *shared = (pointer *)calloc(1, sizeof *shared);
    WORKS(AudioQueueAddPropertyListener(queue, running, disposers[i], shared));
    // It would write to freed memory.
    WORKS(AudioQueueAddPropertyListener(queue, running, count, shared));
    enqueue_wave(queue, new_buffer(queue, 100), 0, 100);
    WORKS(AudioQueueStart(queue, NULL));
    WAIT(done);
    WAIT(AudioQueueStart(queue, NULL) == kAudio_ParamError);
    let_time_pass();
  }
  passed("the queue disposed of by a listener");
}

int main(void) {
  cue_capture *card = open_card(1);
  removed_by_another();
  removed_on_another_thread();
  disposed_by_another();
  cue_capture_close(card);
  return 0;
}
