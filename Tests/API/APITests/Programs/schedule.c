// Scheduled buffers: trims, start times and parameters; ramps and pan.
#include "check.h"

static cue_capture *card;
static _Atomic int calls;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

static AudioQueueRef new_queue(UInt32 channels) {
  AudioStreamBasicDescription format = float_format(RATE, channels);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  calls = 0;
  cue_capture_arm(card);
  return queue;
}

static AudioTimeStamp at_frame(double frame) {
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  time.mSampleTime = frame;
  time.mFlags = kAudioTimeStampSampleTimeValid;
  return time;
}

/// Enqueues frames of the wave. A negative start means none.
static AudioTimeStamp enqueue(AudioQueueRef queue, long first, long frames, UInt32 trim_start,
                              UInt32 trim_end, double start, UInt32 events,
                              const AudioQueueParameterEvent *event) {
  AudioQueueBufferRef buffer = new_buffer(queue, frames);
  fill_with_wave(buffer, first, frames);
  AudioTimeStamp time = at_frame(start), actual;
  memset(&actual, 0x55, sizeof actual);
  WORKS(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, trim_start, trim_end, events,
                                              event, start < 0 ? NULL : &time, &actual));
  CHECK(actual.mFlags & kAudioTimeStampSampleTimeValid);
  EQUAL(actual.mReserved, 0);
  return actual;
}

/// Plays all enqueued buffers. Returns the capture index of the first sound.
static size_t play(AudioQueueRef queue, int buffers, size_t frames) {
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueuePrime(queue, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == buffers);
  WAIT(!is_running(queue));
  end_recording(card);
  size_t at = find_sound(card, 0);
  CHECK(at + frames <= cue_capture_frames(card));
  return at;
}

static void trims_and_start_times(void) {
  AudioQueueRef queue = new_queue(2);
  EQUAL(enqueue(queue, 0, 1000, 0, 100, -1, 0, NULL).mSampleTime, 0);
  EQUAL(enqueue(queue, 1000, 1000, 250, 250, 2000, 0, NULL).mSampleTime, 2000);
  // Too early, so it starts as soon as possible; the next one follows directly.
  EQUAL(enqueue(queue, 3000, 500, 0, 0, 2100, 0, NULL).mSampleTime, 2500);
  EQUAL(enqueue(queue, 4000, 500, 0, 0, -1, 0, NULL).mSampleTime, 3000);
  EQUAL(enqueue(queue, 5000, 500, 499, 0, 9001, 0, NULL).mSampleTime, 9001);
  size_t at = play(queue, 5, 9002);
  HEAR(card, at, 0, 900);
  EQUAL(find_sound(card, at + 900), at + 2000);
  HEAR(card, at + 2000, 1250, 500);
  HEAR(card, at + 2500, 3000, 500);
  HEAR(card, at + 3000, 4000, 500);
  EQUAL(find_sound(card, at + 3500), at + 9001);
  HEAR(card, at + 9001, 5499, 1);
  HEAR_SILENCE(card, at + 9002);
  WORKS(AudioQueueDispose(queue, true));
  passed("trims and start times");
}

static void a_refused_schedule(void) {
  AudioQueueRef queue = new_queue(2);
  AudioQueueBufferRef buffer = new_buffer(queue, 100);
  fill_with_wave(buffer, 0, 100);
  AudioTimeStamp actual, late = at_frame(500), early = at_frame(499);
  const AudioQueueParameterEvent unknown = {77, 1};
  memset(&actual, 0x55, sizeof actual);
  // The trims exceed the buffer.
  GIVES(
      AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 60, 41, 0, NULL, NULL, &actual),
      kAudio_ParamError);
  // The time stamp is set anyway, with no valid field.
  EQUAL(actual.mFlags, 0);
  EQUAL(actual.mSampleTime, 0);
  GIVES(
      AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 1, &unknown, NULL, NULL),
      kAudioQueueErr_InvalidParameter);
  buffer->mAudioDataByteSize = 0;
  GIVES(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 0, NULL, NULL, NULL),
        kAudioQueueErr_BufferEmpty);
  buffer->mAudioDataByteSize = 100 * FRAME_BYTES;
  WORKS(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 0, NULL, &late, NULL));
  AudioQueueBufferRef second = new_buffer(queue, 100);
  fill_with_wave(second, 100, 100);
  GIVES(AudioQueueEnqueueBufferWithParameters(queue, second, 0, NULL, 0, 0, 0, NULL, &early, NULL),
        kAudio_ParamError);
  // A time that no device reaches.
  AudioTimeStamp never = at_frame(3e18);
  GIVES(AudioQueueEnqueueBufferWithParameters(queue, second, 0, NULL, 0, 0, 0, NULL, &never, NULL),
        kAudio_ParamError);
  // The refused calls had no effect: both buffers can be enqueued.
  WORKS(AudioQueueEnqueueBufferWithParameters(queue, second, 0, NULL, 0, 0, 0, NULL, NULL, NULL));
  size_t at = play(queue, 2, 200);
  HEAR_SILENCE(card, HEAR(card, at, 0, 200));
  // Both have been played, so an earlier time is in order again.
  WORKS(AudioQueueEnqueueBufferWithParameters(queue, second, 0, NULL, 0, 0, 0, NULL, &early, NULL));
  WORKS(AudioQueueDispose(queue, true));
  passed("a refused schedule");
}

static Float32 parameter(AudioQueueRef queue, AudioQueueParameterID id) {
  Float32 value = NAN;
  WORKS(AudioQueueGetParameter(queue, id, &value));
  return value;
}

static void parameters_on_a_buffer(void) {
  AudioQueueRef queue = new_queue(2);
  const AudioQueueParameterEvent quiet = {kAudioQueueParam_Volume, 0.25f};
  const AudioQueueParameterEvent back[] = {{kAudioQueueParam_Volume, 1},
                                           {kAudioQueueParam_VolumeRampTime, 1000.0f / RATE}};
  enqueue(queue, 0, 500, 0, 0, -1, 0, NULL);
  enqueue(queue, 500, 500, 0, 0, -1, 1, &quiet);
  enqueue(queue, 1000, 2000, 0, 0, -1, 2, back);
  EQUAL(parameter(queue, kAudioQueueParam_Volume), 1);
  size_t at = play(queue, 3, 3000);
  HEAR(card, at, 0, 500);
  const float *left = cue_capture_samples(card, 0);
  for (long i = 500; i < 3000; i++) {
    double k = (double)(i - 1000);
    float gain = k < 0 ? 0.25f : k < 1000 ? (float)(0.25 + 0.75 * (k / 1000)) : 1;
    EQUAL(left[at + (size_t)i], wave(i) * gain);
  }
  EQUAL(parameter(queue, kAudioQueueParam_Volume), 1);
  EQUAL(parameter(queue, kAudioQueueParam_VolumeRampTime), 1000.0f / RATE);
  WORKS(AudioQueueDispose(queue, true));
  passed("parameters on a buffer");
}

static void a_ramp(void) {
  AudioQueueRef queue = new_queue(2);
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 0));
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_VolumeRampTime, 0.25f));
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 1));
  // The ramp starts with the run.
  EQUAL(parameter(queue, kAudioQueueParam_Volume), 0);
  enqueue(queue, 0, 16000, 0, 0, -1, 0, NULL);
  // The ramp's first frame is silent.
  size_t at = play(queue, 1, 15999) - 1;
  const float *left = cue_capture_samples(card, 0);
  for (long i = 0; i < 16000; i++) {
    float gain = i < 12000 ? (float)((double)i / 12000) : 1;
    EQUAL(left[at + (size_t)i], wave(i) * gain);
  }
  EQUAL(parameter(queue, kAudioQueueParam_Volume), 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("a ramp");
}

static void pan(void) {
  const Float32 pans[] = {-1, -0.5f, 0, 0.25f, 1, 7};
  for (size_t i = 0; i < sizeof pans / sizeof *pans; i++) {
    AudioQueueRef queue = new_queue(2);
    float p = pans[i] > 1 ? 1 : pans[i];
    EQUAL(parameter(queue, kAudioQueueParam_Pan), 0);
    WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Pan, pans[i]));
    EQUAL(parameter(queue, kAudioQueueParam_Pan), p);
    // A full-scale frame on both channels marks where the rest begins.
    const AudioQueueParameterEvent centre = {kAudioQueueParam_Pan, 0};
    const AudioQueueParameterEvent there = {kAudioQueueParam_Pan, pans[i]};
    enqueue(queue, 0, 1, 0, 0, -1, 1, &centre);
    enqueue(queue, 1, 1000, 0, 0, -1, 1, &there);
    size_t at = play(queue, 2, 1001);
    const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
    EQUAL(left[at], wave(0));
    for (long frame = 1; frame < 1001; frame++) {
      EQUAL(left[at + (size_t)frame], wave(frame) * (1 - fmaxf(0, p)));
      EQUAL(right[at + (size_t)frame], -wave(frame) * (1 + fminf(0, p)));
    }
    WORKS(AudioQueueDispose(queue, true));
  }
  passed("pan");
}

int main(void) {
  card = open_card(4);
  trims_and_start_times();
  a_refused_schedule();
  parameters_on_a_buffer();
  a_ramp();
  pan();
  cue_capture_close(card);
  return 0;
}
