// Starting with an empty queue, running dry, and IsRunning listeners.
#include "check.h"

enum {
  FRAMES = 1000
};

static AudioStreamBasicDescription format;
static cue_capture *card;
static _Atomic int calls, values, changes;
static _Atomic bool is_in_call;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  CHECK(!is_in_call);
  calls++;
}

/// Records the values as decimal digits, one per change.
static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)property;
  CHECK(!is_in_call);
  values = values * 10 + (int)is_running(queue) + 1;
  changes++;
}

static AudioQueueRef new_queue(CFRunLoopRef loop) {
  AudioQueueRef queue = NULL;
  calls = values = changes = 0;
  WORKS(AudioQueueNewOutput(&format, played, NULL, loop, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  return queue;
}

static void nothing_enqueued(void) {
  AudioQueueRef queue = new_queue(NULL);
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(changes == 1);
  EQUAL(values, 2);
  record(card, 3000);
  EQUAL(is_running(queue), 1);
  CHECK(time_of(queue) > 1000);
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES);
  enqueue_wave(queue, buffer, 0, FRAMES);
  WAIT(calls == 1);
  // A dry queue still runs: its time advances, and the next buffer is played.
  double time = time_of(queue);
  record(card, 3000);
  EQUAL(is_running(queue), 1);
  EQUAL(changes, 1);
  CHECK(time_of(queue) >= time + 2000);
  enqueue_wave(queue, buffer, FRAMES, FRAMES);
  WAIT(calls == 2);
  WORKS(AudioQueueStop(queue, false));
  WAIT(changes == 2);
  EQUAL(values, 21);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  size_t at = find_sound(card, 0);
  CHECK(at > 1000);
  at = HEAR(card, at, 0, FRAMES);
  size_t second = find_sound(card, at);
  // Silence while dry, without stale samples.
  CHECK(second > at + 2000);
  at = HEAR(card, second, FRAMES, FRAMES);
  HEAR_SILENCE(card, at);
  passed("nothing enqueued, and running dry");
}

/// On a run loop, the listener is never called inside Start or Stop, even on the thread of that
/// loop.
static void never_from_inside(void) {
  AudioQueueRef queue = new_queue(CFRunLoopGetCurrent());
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  is_in_call = true;
  WORKS(AudioQueueStart(queue, NULL));
  is_in_call = false;
  // The run loop does not run, so there are no callbacks.
  let_time_pass();
  EQUAL(changes, 0);
  EQUAL(calls, 0);
  is_in_call = true;
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueueFlush(queue));
  is_in_call = false;
  RUN_LOOP_UNTIL(changes == 2);
  EQUAL(calls, 1);

  // Only buffers return inside an immediate stop.
  WORKS(AudioQueueStart(queue, NULL));
  RUN_LOOP_UNTIL(changes == 3);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(changes, 3);
  RUN_LOOP_UNTIL(changes == 4);
  EQUAL(is_running(queue), 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("never from inside a call");
}

static void many_runs(void) {
  AudioQueueRef queue = new_queue(NULL);
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES);
  for (int i = 0; i < 10; i++) {
    values = 0;
    enqueue_wave(queue, buffer, 0, FRAMES);
    WORKS(AudioQueueStart(queue, NULL));
    // Starting a running queue is no error and has no effect.
    if (i % 2) WORKS(AudioQueueStart(queue, NULL));
    WORKS(AudioQueueStop(queue, false));
    WAIT(changes == 2 * i + 2);
    EQUAL(values, 21);
    EQUAL(calls, i + 1);
  }
  WORKS(AudioQueueDispose(queue, true));
  passed("many runs");
}

int main(void) {
  format = float_format(RATE, 2);
  card = open_card(10);
  nothing_enqueued();
  never_from_inside();
  many_runs();
  cue_capture_close(card);
  return 0;
}
