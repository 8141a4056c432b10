// AudioQueueDispose in all contexts, and AudioQueueFreeBuffer inside a callback. AddressSanitizer
// detects accesses to freed memory.
#include "check.h"

enum {
  FRAMES = 4800
};

static AudioStreamBasicDescription format;
static cue_capture *card;
static AudioQueueRef queue;
static AudioQueueBufferRef buffers[3];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int calls, done, result;
static _Atomic int begun, ended;

/// Uses the buffer and the queue like a callback that is unaware of the disposal.
static OSStatus touch(AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  memset(buffer->mAudioData, 1, buffer->mAudioDataBytesCapacity);
  buffer->mAudioDataByteSize = buffer->mAudioDataBytesCapacity;
  buffer->mUserData = &calls;
  return AudioQueueEnqueueBuffer(in_queue, buffer, 0, NULL);
}

static void count(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data, (void)in_queue, (void)buffer;
  calls++;
}

static void dispose_at_once(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  calls++;
  WORKS(AudioQueueDispose(in_queue, true));
  result = touch(in_queue, buffer);
  GIVES(AudioQueueDispose(in_queue, true), kAudio_ParamError);
  done = 1;
}

static void dispose_later(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  if (calls++ > 0) return;
  WORKS(AudioQueueDispose(in_queue, false));
  result = touch(in_queue, buffer);
  done = 1;
}

static void free_buffer(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  WORKS(AudioQueueFreeBuffer(in_queue, buffer));
  GIVES(AudioQueueFreeBuffer(in_queue, buffer), kAudioQueueErr_InvalidBuffer);
  GIVES(AudioQueueEnqueueBuffer(in_queue, buffer, 0, NULL), kAudioQueueErr_InvalidBuffer);
  calls++;
}

static void take_long(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  begun = 1;
  usleep(*(useconds_t *)data);
  touch(in_queue, buffer);
  ended = 1;
}

static void take_lock(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  begun = 1;
  pthread_mutex_lock(&mutex);
  result = touch(in_queue, buffer);
  ended = 1;
  pthread_mutex_unlock(&mutex);
}

/// Duration of `take_long` in microseconds.
static useconds_t pause_length;

static void start(AudioQueueOutputCallback callback, CFRunLoopRef loop, long frames) {
  calls = done = begun = ended = result = 0;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, callback, &pause_length, loop, NULL, 0, &queue));
  for (int i = 0; i < 3; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    enqueue_wave(queue, buffers[i], i * frames, frames);
  }
  WORKS(AudioQueueStart(queue, NULL));
}

static void at_once(void) {
  start(count, NULL, FRAMES);
  record(card, 1000);
  WORKS(AudioQueueDispose(queue, true));
  int calls_then = calls;
  GIVES(AudioQueueStart(queue, NULL), kAudio_ParamError);
  GIVES(AudioQueueDispose(queue, true), kAudio_ParamError);
  GIVES(AudioQueueDispose(queue, false), kAudio_ParamError);
  let_time_pass();
  EQUAL(calls, calls_then);
  // A queue that never started, and one that has stopped.
  WORKS(AudioQueueNewOutput(&format, count, NULL, NULL, NULL, 0, &queue));
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  WORKS(AudioQueueDispose(queue, true));
  start(count, NULL, FRAMES);
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  passed("at once");
}

static void after_playing(void) {
  start(count, NULL, FRAMES);
  record(card, 1000);
  WORKS(AudioQueueDispose(queue, false));
  int calls_then = calls;
  GIVES(AudioQueueEnqueueBuffer(queue, buffers[0], 0, NULL), kAudioQueueErr_DisposalPending);
  GIVES(AudioQueueStart(queue, NULL), kAudioQueueErr_DisposalPending);
  GIVES(AudioQueueStop(queue, true), kAudioQueueErr_DisposalPending);
  WAIT(AudioQueueStart(queue, NULL) == kAudio_ParamError);
  EQUAL(calls, calls_then);
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, 3 * FRAMES);
  // A queue that has not started has nothing to play to the end.
  WORKS(AudioQueueNewOutput(&format, count, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueDispose(queue, false));
  WAIT(AudioQueueStart(queue, NULL) == kAudio_ParamError);
  passed("after playing");
}

static void in_a_callback(void) {
  start(dispose_at_once, NULL, FRAMES);
  WAIT(done);
  CHECK(result != noErr);
  let_time_pass();
  EQUAL(calls, 1);

  start(dispose_at_once, CFRunLoopGetCurrent(), FRAMES);
  RUN_LOOP_UNTIL(done);
  CHECK(result != noErr);
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.2, false);
  EQUAL(calls, 1);

  start(dispose_later, NULL, FRAMES);
  WAIT(done);
  EQUAL(result, kAudioQueueErr_DisposalPending);
  WAIT(AudioQueueStart(queue, NULL) == kAudio_ParamError);
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, 3 * FRAMES);
  passed("in a callback");
}

static void free_in_a_callback(void) {
  start(free_buffer, NULL, FRAMES);
  WAIT(calls == 3);
  WORKS(AudioQueueDispose(queue, true));
  passed("free in a callback");
}

static void a_running_callback_is_waited_for(void) {
  // The second callback lasts longer than the delay of the first warning.
  const useconds_t lengths[] = {300000, 2000000};
  for (size_t i = 0; i < 2; i++) {
    pause_length = lengths[i];
    start(take_long, NULL, 300);
    WAIT(begun);
    WORKS(AudioQueueDispose(queue, true));
    EQUAL(ended, 1);
  }
  passed("a running callback is waited for");
}

static void but_not_for_ever(void) {
  pthread_mutex_lock(&mutex);
  start(take_lock, NULL, 300);
  WAIT(begun);
  double before = seconds_now();
  WORKS(AudioQueueDispose(queue, true));
  CHECK(seconds_now() - before < 10);
  EQUAL(ended, 0);
  pthread_mutex_unlock(&mutex);
  // The callback resumes, and its buffer still exists.
  WAIT(ended);
  CHECK(result != noErr);
  pthread_mutex_lock(&mutex);

  // A stop behaves the same: it gives up waiting, and no callback follows.
  start(take_lock, NULL, 300);
  WAIT(begun);
  before = seconds_now();
  WORKS(AudioQueueStop(queue, true));
  CHECK(seconds_now() - before < 10);
  pthread_mutex_unlock(&mutex);
  WAIT(ended);
  begun = 0;
  let_time_pass();
  EQUAL(begun, 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("but not for ever");
}

static void not_if_it_drains(void) {
  pthread_mutex_lock(&mutex);
  start(take_lock, NULL, 300);
  WAIT(begun);
  WORKS(AudioQueueDispose(queue, false));
  EQUAL(ended, 0);
  pthread_mutex_unlock(&mutex);
  WAIT(ended);
  CHECK(result != noErr);
  WAIT(AudioQueueStart(queue, NULL) == kAudio_ParamError);
  passed("not if it drains");
}

int main(void) {
  format = float_format(RATE, 2);
  card = open_card(10);
  at_once();
  after_playing();
  in_a_callback();
  free_in_a_callback();
  a_running_callback_is_waited_for();
  but_not_for_ever();
  not_if_it_drains();
  cue_capture_close(card);
  return 0;
}
