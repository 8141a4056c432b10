// Stop, Reset, Flush and Pause, on a queue with its own callback thread.
#include "check.h"

enum {
  FRAMES = 4800
};

static AudioStreamBasicDescription format;
static cue_capture *card;
static AudioQueueRef queue;
static AudioQueueBufferRef buffers[3];
static _Atomic int calls, running_changes, enqueue_result;
/// The behaviour of the next callbacks.
static _Atomic int enqueues_again, stops_at_once, resets;

static void played(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  (void)data;
  if (enqueues_again) enqueue_result = AudioQueueEnqueueBuffer(in_queue, buffer, 0, NULL);
  if (stops_at_once) {
    stops_at_once = 0;
    WORKS(AudioQueueStop(in_queue, true));
  }
  if (resets) {
    resets = 0;
    WORKS(AudioQueueReset(in_queue));
  }
  calls++;
}

static void changed(void *data, AudioQueueRef in_queue, AudioQueuePropertyID property) {
  (void)data, (void)in_queue, (void)property;
  running_changes++;
}

/// Starts a new queue with three buffers of a tenth of a second.
static void start(void) {
  calls = running_changes = 0;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < 3; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    enqueue_wave(queue, buffers[i], i * FRAMES, FRAMES);
  }
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(running_changes == 1);
}

static void end(const char *what) {
  WORKS(AudioQueueDispose(queue, true));
  passed(what);
}

static void stop_at_once(void) {
  start();
  record(card, 1000);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(calls, 3);
  EQUAL(is_running(queue), 0);
  size_t stopped_at = cue_capture_frames(card);
  WAIT(running_changes == 2);
  record(card, 3 * FRAMES);
  EQUAL(calls, 3);
  EQUAL(running_changes, 2);
  // Stopping a queue that is not running is no error.
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueStop(queue, false));
  end_recording(card);
  // One or two cycles may have been running.
  HEAR_SILENCE(card, stopped_at + SETTLED);

  // The queue starts again from 0.
  cue_capture_arm(card);
  enqueue_wave(queue, buffers[0], 7000, FRAMES);
  double before = device_time_of(queue);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(running_changes == 3);
  double time = time_of(queue);
  CHECK(time >= 0 && time <= device_time_of(queue) - before);
  WAIT(calls == 4);
  end_recording(card);
  HEAR(card, find_sound(card, 0), 7000, FRAMES);
  end("stop at once");
}

static void time_starts_again_at_0(void) {
  start();
  WAIT(time_of(queue) > 2 * RATE / 2);
  WORKS(AudioQueueStop(queue, true));
  WAIT(running_changes == 2);
  double before = device_time_of(queue);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(running_changes == 3);
  double time = time_of(queue);
  CHECK(time >= 0 && time <= device_time_of(queue) - before);
  end("stop and start set the time to 0");
}

static void stop_after_the_last_buffer(void) {
  start();
  WORKS(AudioQueueStop(queue, false));
  CHECK(calls < 3);
  EQUAL(is_running(queue), 1);
  WAIT(running_changes == 2);
  EQUAL(is_running(queue), 0);
  WAIT(calls == 3);
  end_recording(card);
  size_t over = HEAR(card, find_sound(card, 0), 0, 3 * FRAMES);
  HEAR_SILENCE(card, over);
  end("stop after the last buffer");
}

static void start_straight_after_a_stop(void) {
  start();
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 3);
  enqueue_wave(queue, buffers[0], 50000, FRAMES);
  WAIT(calls == 4);
  EQUAL(is_running(queue), 1);
  end_recording(card);
  size_t over = HEAR(card, find_sound(card, 0), 0, 3 * FRAMES);
  HEAR(card, find_sound(card, over), 50000, FRAMES);
  end("start straight after a stop");
}

static void enqueue_while_stopping(void) {
  start();
  enqueues_again = 1;
  WORKS(AudioQueueStop(queue, true));
  enqueues_again = 0;
  EQUAL(calls, 3);
  EQUAL(enqueue_result, kAudioQueueErr_EnqueueDuringReset);
  WAIT(running_changes == 2);
  // With an empty queue, a start plays silence, and buffers can be enqueued.
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(running_changes == 3);
  record(card, 2000);
  end_recording(card);
  HEAR_SILENCE(card, 0);
  enqueue_wave(queue, buffers[1], 0, FRAMES);
  WAIT(calls == 4);
  end("enqueue during reset");
}

static void stop_in_a_callback(void) {
  start();
  stops_at_once = 1;
  WAIT(calls == 3 && running_changes == 2);
  EQUAL(is_running(queue), 0);
  record(card, 3 * FRAMES);
  end_recording(card);
  HEAR_SILENCE(card, find_sound(card, 0) + 2 * FRAMES);
  EQUAL(calls, 3);
  end("stop in a callback");
}

static void reset_goes_on_in_silence(void) {
  start();
  record(card, 1000);
  // A busy machine may run the card's client ahead of the queue's.
  WAIT(time_of(queue) > 0);
  enqueues_again = 1;
  WORKS(AudioQueueReset(queue));
  enqueues_again = 0;
  EQUAL(calls, 3);
  EQUAL(enqueue_result, kAudioQueueErr_EnqueueDuringReset);
  EQUAL(is_running(queue), 1);
  double time = time_of(queue);
  CHECK(time > 0);
  size_t reset_at = cue_capture_frames(card);
  record(card, 2 * SETTLED);
  CHECK(time_of(queue) > time);
  EQUAL(is_running(queue), 1);
  EQUAL(running_changes, 1);
  enqueue_wave(queue, buffers[2], 90000, FRAMES);
  WAIT(calls == 4);
  end_recording(card);
  size_t at = find_sound(card, reset_at + SETTLED);
  CHECK(at > reset_at + SETTLED);
  HEAR(card, at, 90000, FRAMES);
  end("reset goes on in silence");
}

static void reset_in_a_callback(void) {
  start();
  resets = 1;
  WAIT(calls == 3);
  EQUAL(is_running(queue), 1);
  enqueue_wave(queue, buffers[0], 90000, FRAMES);
  WAIT(calls == 4);
  end_recording(card);
  CHECK(running_changes == 1);
  end("reset in a callback");
}

static void flush_gives_everything_back(void) {
  calls = 0;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueFlush(queue));
  WORKS(AudioQueueDispose(queue, true));
  start();
  // Flush does not wait until the buffers are played: a paused queue plays none.
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueueFlush(queue));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 3);
  // The last buffer may be partial and may follow a flush.
  enqueue_wave(queue, buffers[0], 3 * FRAMES, FRAMES);
  enqueue_wave(queue, buffers[1], 4 * FRAMES, 17);
  WORKS(AudioQueueFlush(queue));
  WAIT(calls == 5);
  EQUAL(is_running(queue), 1);
  WORKS(AudioQueueFlush(queue));
  end("flush gives everything back");
}

static void pause_keeps_buffers_and_time(void) {
  start();
  record(card, 1000);
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueuePause(queue));
  double time = time_of(queue);
  int calls_then = calls;
  record(card, 10000);
  EQUAL(time_of(queue), time);
  EQUAL(calls, calls_then);
  EQUAL(is_running(queue), 1);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 3);
  CHECK(time_of(queue) > time);
  end_recording(card);
  // Everything was played, with the pause in between.
  size_t at = find_sound(card, 0);
  HEAR(card, at, 0, (long)time);
  at = find_sound(card, at + (size_t)time);
  HEAR(card, at, (long)time, 3 * FRAMES - (long)time);
  EQUAL(running_changes, 1);
  // Stopping a paused queue returns its buffers.
  enqueue_wave(queue, buffers[0], 0, FRAMES);
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueueStop(queue, true));
  EQUAL(calls, 4);
  end("pause keeps buffers and time");
}

int main(void) {
  format = float_format(RATE, 2);
  card = open_card(10);
  stop_at_once();
  time_starts_again_at_0();
  stop_after_the_last_buffer();
  start_straight_after_a_stop();
  enqueue_while_stopping();
  stop_in_a_callback();
  reset_goes_on_in_silence();
  reset_in_a_callback();
  flush_gives_everything_back();
  pause_keeps_buffers_and_time();
  cue_capture_close(card);
  return 0;
}
