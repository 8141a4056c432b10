// Queue time, device time, and timed starts. The argument `host` selects starts at a host time.
#include "check.h"

static cue_capture *card;
static _Atomic int calls;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

static AudioQueueRef new_queue(double rate) {
  AudioStreamBasicDescription of_rate = float_format(rate, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&of_rate, played, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static void before_the_first_start(void) {
  AudioQueueRef queue = new_queue(RATE);
  AudioTimeStamp time, filled;
  Boolean is_discontinuous = 7;
  memset(&time, 0x55, sizeof time);
  memset(&filled, 0x55, sizeof filled);
  GIVES(AudioQueueGetCurrentTime(queue, NULL, &time, &is_discontinuous),
        kAudioQueueErr_InvalidRunState);
  // Even so, all fields are set.
  EQUAL(time.mSampleTime, 0);
  EQUAL(time.mFlags & kAudioTimeStampSampleTimeValid, 0);
  EQUAL(time.mReserved, 0);
  EQUAL(is_discontinuous, 0);
  GIVES(AudioQueueGetCurrentTime(queue, NULL, NULL, NULL), kAudioQueueErr_InvalidRunState);

  // The device does not run, so it has no sample time.
  UInt64 before = mach_absolute_time();
  WORKS(AudioQueueDeviceGetCurrentTime(queue, &filled));
  EQUAL(filled.mFlags, kAudioTimeStampHostTimeValid);
  CHECK(filled.mHostTime >= before && filled.mHostTime <= mach_absolute_time());
  WORKS(AudioQueueDispose(queue, true));
  passed("before the first start");
}

static void time_goes_on(double rate) {
  AudioQueueRef queue = new_queue(rate);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  // The queue's clock advances with the device's, which is read before and after it.
  double before = device_time_of(queue), first = time_of(queue), after = device_time_of(queue);
  double last = first;
  // The time never goes back, and it counts at the queue's own rate.
  while (time_of(queue) < rate / 2) {
    double time = time_of(queue);
    CHECK(time >= last);
    last = time;
    CHECK(device_time_of(queue) - before < PATIENCE * RATE);
  }
  double earliest = device_time_of(queue);
  last = time_of(queue);
  double latest = device_time_of(queue);
  const double most = (latest - before) / RATE * rate, least = (earliest - after) / RATE * rate;
  CHECK(last - first < most + rate / 10 && last - first > least - rate / 10);
  AudioTimeStamp time;
  UInt64 asked = mach_absolute_time();
  WORKS(AudioQueueDeviceGetCurrentTime(queue, &time));
  UInt64 told = mach_absolute_time();
  const AudioTimeStampFlags all = kAudioTimeStampSampleHostTimeValid;
  EQUAL(time.mFlags & all, all);
  // A busy machine runs cycles late, and their times with them.
  CHECK((double)time.mHostTime > (double)asked - PATIENCE * 1e9);
  CHECK((double)time.mHostTime < (double)told + PATIENCE * 1e9);
  WORKS(AudioQueueDispose(queue, true));
  passed("time goes on");
}

static void time_before_a_start(void) {
  AudioQueueRef queue = new_queue(RATE / 2);
  AudioTimeStamp start = {0}, time;
  start.mFlags = kAudioTimeStampSampleTimeValid;
  WORKS(AudioQueuePrime(queue, 0, NULL));
  WORKS(AudioQueueDeviceGetNearestStartTime(queue, &start, 0));
  start.mSampleTime += RATE;
  WORKS(AudioQueueStart(queue, &start));
  double last = -RATE;
  while (!is_running(queue)) {
    // In frames of the queue's rate, counting up to 0, and consistent with its host time.
    WORKS(AudioQueueGetCurrentTime(queue, NULL, &time, NULL));
    EQUAL(time.mFlags, kAudioTimeStampSampleHostTimeValid);
    // JACK corrects its clock in each cycle, so the time may go back by a few frames.
    CHECK(time.mSampleTime > last - 1024);
    last = time.mSampleTime;
    if (last < 0) {
      // By the clock of now: a device on a busy machine falls behind the time that was predicted.
      AudioTimeStamp predicted;
      WORKS(AudioQueueDeviceTranslateTime(queue, &start, &predicted));
      double seconds = ((double)predicted.mHostTime - (double)time.mHostTime) / 1e9;
      CHECK(fabs(seconds + 2 * last / RATE) < 0.5);
    }
  }
  WAIT(time_of(queue) > 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("time before a start");
}

/// Starts two queues with separate clients at the same time. Both must be captured on the same
/// frame.
static void two_on_one_frame(const char *what, bool is_host_time) {
  AudioQueueRef queues[2];
  AudioTimeStamp time, start;
  cue_capture_arm(card);
  calls = 0;
  for (int i = 0; i < 2; i++) {
    queues[i] = new_queue(RATE);
    AudioQueueBufferRef buffer = new_buffer(queues[i], 3000);
    // The second queue plays on the right only, since the capture contains the sum.
    fill_with_wave(buffer, 0, 3000);
    for (int frame = 0; frame < 3000; frame++) {
      ((float *)buffer->mAudioData)[2 * frame + 1 - i] = 0;
    }
    WORKS(AudioQueueEnqueueBuffer(queues[i], buffer, 0, NULL));
    WORKS(AudioQueuePrime(queues[i], 0, NULL));
  }
  WORKS(AudioQueueDeviceGetCurrentTime(queues[0], &time));
  CHECK(time.mFlags & kAudioTimeStampSampleTimeValid);
  memset(&start, 0, sizeof start);
  if (is_host_time) {
    start.mHostTime = time.mHostTime + 1000000000;
    start.mFlags = kAudioTimeStampHostTimeValid;
  } else {
    // Not a multiple of the period.
    start.mSampleTime = time.mSampleTime + RATE + 101;
    start.mFlags = kAudioTimeStampSampleTimeValid;
  }
  WORKS(AudioQueueStart(queues[0], &start));
  let_time_pass();
  WORKS(AudioQueueStart(queues[1], &start));
  EQUAL(is_running(queues[0]), 0);
  WAIT(calls == 2);
  record(card, 1000);
  end_recording(card);
  size_t at = find_sound(card, 0);
  HEAR(card, at, 0, 3000);
  if (is_pipewire()) {
    // The frame counter belongs to a driver there. Compare host times.
    if (!is_host_time) {
      AudioTimeStamp translated;
      WORKS(AudioQueueDeviceTranslateTime(queues[0], &start, &translated));
      start.mHostTime = translated.mHostTime;
    }
    CHECK(fabs(host_time_at(card, at) - (double)start.mHostTime) * RATE / 1e9 < 2);
  } else {
    double heard_at = (double)(uint32_t)(cue_capture_first_frame(card) + (uint32_t)at);
    EQUAL(cue_capture_gap_count(card), 0);
    if (is_host_time) {
      // JACK's own estimate of the frame at that time, which it may correct in each cycle.
      jack_client_t *client = cue_capture_client(card);
      double expected = (double)jack_time_to_frames(client, start.mHostTime / 1000);
      CHECK(fabs(heard_at - expected) < RATE / 100.0);
    } else {
      EQUAL(heard_at, (double)(uint32_t)(int64_t)start.mSampleTime);
    }
  }
  // A start time in the past starts at once, with the first frame.
  WORKS(AudioQueueStop(queues[0], true));
  cue_capture_arm(card);
  AudioQueueBufferRef buffer = new_buffer(queues[0], 1000);
  enqueue_wave(queues[0], buffer, 0, 1000);
  WORKS(AudioQueueStart(queues[0], &start));
  WAIT(calls == 3);
  record(card, 1000);
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, 1000);
  for (int i = 0; i < 2; i++)
    WORKS(AudioQueueDispose(queues[i], true));
  passed(what);
}

int main(int argc, char **argv) {
  card = open_card(10);
  if (argc > 1 && !strcmp(argv[1], "host")) {
    two_on_one_frame("two on one frame by host time", true);
  } else {
    before_the_first_start();
    time_goes_on(RATE);
    time_goes_on(44100);
    time_before_a_start();
    two_on_one_frame("two on one frame by sample time", false);
  }
  cue_capture_close(card);
  return 0;
}
