// Rate and pitch: properties, parameters and the resulting sound.
#include "check.h"

enum {
  FRAMES = 72000
};

static _Atomic int changes;

static void ignore(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)queue, (void)property;
  changes++;
}

static AudioQueueRef new_queue(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, ignore, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static OSStatus set(AudioQueueRef queue, AudioQueuePropertyID property, UInt32 value) {
  return AudioQueueSetProperty(queue, property, &value, sizeof value);
}

static UInt32 get(AudioQueueRef queue, AudioQueuePropertyID property) {
  UInt32 value = 99, size = 0;
  WORKS(AudioQueueGetPropertySize(queue, property, &size));
  EQUAL(size, sizeof value);
  WORKS(AudioQueueGetProperty(queue, property, &value, &size));
  return value;
}

static float parameter(AudioQueueRef queue, AudioQueueParameterID parameter) {
  float value = -1;
  WORKS(AudioQueueGetParameter(queue, parameter, &value));
  return value;
}

static void properties_and_parameters(void) {
  AudioQueueRef queue = new_queue();
  float value;
  EQUAL(get(queue, kAudioQueueProperty_EnableTimePitch), 0);
  EQUAL(get(queue, kAudioQueueProperty_TimePitchBypass), 0);
  EQUAL(get(queue, kAudioQueueProperty_TimePitchAlgorithm), kAudioQueueTimePitchAlgorithm_Spectral);
  GIVES(AudioQueueSetParameter(queue, kAudioQueueParam_PlayRate, 1),
        kAudioQueueErr_InvalidParameter);
  GIVES(AudioQueueGetParameter(queue, kAudioQueueParam_Pitch, &value),
        kAudioQueueErr_InvalidParameter);
  changes = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_EnableTimePitch, changed, NULL));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_TimePitchBypass, changed, NULL));
  WORKS(
      AudioQueueAddPropertyListener(queue, kAudioQueueProperty_TimePitchAlgorithm, changed, NULL));
  WORKS(set(queue, kAudioQueueProperty_EnableTimePitch, 1));
  WORKS(set(queue, kAudioQueueProperty_TimePitchBypass, 1));
  WORKS(
      set(queue, kAudioQueueProperty_TimePitchAlgorithm, kAudioQueueTimePitchAlgorithm_Varispeed));
  WAIT(changes == 3);
  EQUAL(get(queue, kAudioQueueProperty_EnableTimePitch), 1);
  EQUAL(get(queue, kAudioQueueProperty_TimePitchBypass), 1);
  EQUAL(get(queue, kAudioQueueProperty_TimePitchAlgorithm),
        kAudioQueueTimePitchAlgorithm_Varispeed);
  GIVES(set(queue, kAudioQueueProperty_TimePitchAlgorithm, 'none'),
        kAudioQueueErr_InvalidPropertyValue);
  EQUAL(parameter(queue, kAudioQueueParam_PlayRate), 1);
  EQUAL(parameter(queue, kAudioQueueParam_Pitch), 0);
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_PlayRate, 9));
  EQUAL(parameter(queue, kAudioQueueParam_PlayRate), 2);
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_PlayRate, 0));
  EQUAL(parameter(queue, kAudioQueueParam_PlayRate), 0.5);
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Pitch, 5000));
  EQUAL(parameter(queue, kAudioQueueParam_Pitch), 2400);
  GIVES(AudioQueueSetParameter(queue, kAudioQueueParam_Pitch, NAN),
        kAudioQueueErr_InvalidParameter);
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(set(queue, kAudioQueueProperty_EnableTimePitch, 0), kAudioQueueErr_InvalidRunState);
  GIVES(
      set(queue, kAudioQueueProperty_TimePitchAlgorithm, kAudioQueueTimePitchAlgorithm_TimeDomain),
      kAudioQueueErr_InvalidRunState);
  WORKS(set(queue, kAudioQueueProperty_TimePitchBypass, 0));
  WORKS(AudioQueueDispose(queue, true));
  passed("properties and parameters");
}

/// Plays a tone and checks its length and pitch. Returns false if cycles were late meanwhile: the
/// frames of such cycles are left out.
static bool plays_a_tone(cue_capture *card, float rate, float cents, bool with_the_buffer) {
  AudioQueueRef queue = new_queue();
  WORKS(set(queue, kAudioQueueProperty_EnableTimePitch, 1));
  WORKS(set(queue, kAudioQueueProperty_DecodeBufferSizeFrames, 1 << 18));
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES);
  float *samples = buffer->mAudioData;
  for (int i = 0; i < FRAMES; i++)
    samples[2 * i] = samples[2 * i + 1] = (float)(0.5 * cos(2 * M_PI * 440 * i / RATE));
  buffer->mAudioDataByteSize = FRAMES * FRAME_BYTES;
  if (with_the_buffer) {
    AudioQueueParameterEvent events[] = {{kAudioQueueParam_PlayRate, rate},
                                         {kAudioQueueParam_Pitch, cents}};
    WORKS(
        AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 2, events, NULL, NULL));
  } else {
    WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_PlayRate, rate));
    WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Pitch, cents));
    WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  }
  WORKS(AudioQueueStop(queue, false));
  // Prime everything before the start, so that a busy machine causes no gap.
  WAIT(AudioQueuePrime(queue, 0, NULL) == noErr);
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  WAIT(!is_running(queue));
  EQUAL(parameter(queue, kAudioQueueParam_PlayRate), rate);
  EQUAL(parameter(queue, kAudioQueueParam_Pitch), cents);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  if (cue_capture_gap_count(card) > 0) return false;
  const float *left = cue_capture_samples(card, 0);
  size_t total = cue_capture_frames(card), first = find_sound(card, 0), last = total;
  while (last > first && fabsf(left[last - 1]) < 1e-4f)
    last--;
  double wanted = FRAMES / (double)rate, length = (double)(last - first);
  CHECK(fabs(length / wanted - 1) < 0.005);
  size_t rises[2] = {0, 0};
  int count = -1;
  for (size_t i = first + 9600; i < last - 9600; i++)
    if (left[i - 1] < 0 && left[i] >= 0) rises[++count > 0] = i;
  double pitch = 440 * exp2(cents / 1200.0);
  CHECK(fabs(count * (double)RATE / (double)(rises[1] - rises[0]) / pitch - 1) < 0.005);
  return true;
}

static void a_tone(cue_capture *card, float rate, float cents, bool with_the_buffer) {
  for (int tries = 0; !plays_a_tone(card, rate, cents, with_the_buffer); tries++)
    CHECK(tries < 10);
}

int main(void) {
  cue_capture *card = open_card(10);
  properties_and_parameters();
  a_tone(card, 1.25f, 0, false);
  a_tone(card, 1, 700, false);
  a_tone(card, 0.8f, -500, true);
  passed("rate and pitch");
  cue_capture_close(card);
  return 0;
}
