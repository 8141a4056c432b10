// A player that seeks: it stops, refills from another position, primes and starts.
#include "check.h"

enum {
  BUFFERS = 3,
  FRAMES = 4800
};

/// Device time just before the last start.
static double started_after;
static AudioQueueBufferRef buffers[BUFFERS];
static long next_frame;
static _Atomic int running_changes;
static bool is_seeking;

static void fill(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  // The seek itself refills buffers returned by the stop.
  if (is_seeking) return;
  enqueue_wave(queue, buffer, next_frame, FRAMES);
  next_frame += FRAMES;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)queue, (void)property;
  running_changes++;
}

static void seek(AudioQueueRef queue, long frame) {
  is_seeking = true;
  WORKS(AudioQueueStop(queue, true));
  is_seeking = false;
  next_frame = frame;
  for (int i = 0; i < BUFFERS; i++)
    fill(NULL, queue, buffers[i]);
  UInt32 ready = 0;
  WORKS(AudioQueuePrime(queue, 0, &ready));
  EQUAL(ready, BUFFERS * FRAMES);
  started_after = device_time_of(queue);
  WORKS(AudioQueueStart(queue, NULL));
}

int main(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  cue_capture *card = open_card(10);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, fill, NULL, CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0,
                            &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < BUFFERS; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    fill(NULL, queue, buffers[i]);
  }
  WORKS(AudioQueueStart(queue, NULL));
  size_t at = 0;
  const long targets[] = {0, 500000, 1000, 1000000};
  size_t place_heard_at[4];
  for (int i = 0; i < 4; i++) {
    RUN_LOOP_UNTIL(running_changes == 2 * i + 1);
    RUN_LOOP_UNTIL(time_of(queue) > 12000);
    double time = time_of(queue);
    CHECK(i == 0 || time <= device_time_of(queue) - started_after);
    // Skip the remaining sound of the previous position.
    const float *left = cue_capture_samples(card, 0);
    long frame = i > 0 ? targets[i - 1] : 0;
    while (i > 0 && at < cue_capture_frames(card) && wave_frame(left[at]) == frame)
      at++, frame++;
    // No gap, and no sound of the old position after the new one. The capture may lag by a cycle.
    at = find_sound(card, at);
    WAIT(cue_capture_frames(card) >= at + 12000);
    HEAR(card, at, targets[i], 12000);
    place_heard_at[i] = at;
    if (i + 1 < 4) seek(queue, targets[i + 1]);
  }
  for (int i = 1; i < 4; i++)
    CHECK(place_heard_at[i] > place_heard_at[i - 1]);
  is_seeking = true;
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  passed("seek");
  cue_capture_close(card);
  return 0;
}
