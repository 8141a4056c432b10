// Queues through audio units: effects before their ports, changes while they play, and inputs of a
// mixer.
#include <Cuejack/QueueEffects.h>

#include "units.h"

#include <math.h>

enum {
  FRAMES = 20 * RATE
};

static void returned(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

/// Makes a queue with 20 seconds of the wave, times `gain`.
static AudioQueueRef new_queue(UInt32 channels, float gain) {
  AudioStreamBasicDescription format = float_format(RATE, channels);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, returned, NULL, NULL, NULL, 0, &queue));
  AudioQueueBufferRef buffer;
  UInt32 bytes = FRAMES * channels * (UInt32)sizeof(float);
  WORKS(AudioQueueAllocateBuffer(queue, bytes, &buffer));
  buffer->mAudioDataByteSize = bytes;
  float *samples = buffer->mAudioData;
  for (long i = 0; i < FRAMES; i++)
    for (UInt32 channel = 0; channel < channels; channel++)
      *samples++ = wave(i) * gain * (channel == 1 ? -1 : 1);
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  return queue;
}

/// An amplifier: eg-amp of lv2-examples, with a gain in dB.
static AudioUnit amplifier(float decibels) {
  AudioComponentDescription description = {kAudioUnitType_Effect, 'vlBr',
                                           kAudioUnitManufacturer_LV2, 0, 0};
  AudioUnit unit = make_unit(description);
  WORKS(AudioUnitSetParameter(unit, 0, kAudioUnitScope_Global, 0, decibels, 0));
  return unit;
}

static float factor(float decibels) {
  return powf(10.0f, decibels * 0.05f);
}

/// Fails unless the capture is the wave times a factor on each channel.
static void expect(const cue_capture *card, size_t at, long first, long frames, float left,
                   float right) {
  CHECK(at + (size_t)frames <= cue_capture_frames(card));
  for (long i = 0; i < frames; i++) {
    float sample = wave(first + i);
    CHECK(fabsf(cue_capture_samples(card, 0)[at + (size_t)i] - sample * left) < 1e-6f);
    CHECK(fabsf(cue_capture_samples(card, 1)[at + (size_t)i] - sample * right) < 1e-6f);
  }
}

/// Waits for sound, and for a number of frames from there on. Returns its first frame.
static size_t hear(const cue_capture *card, size_t frames) {
  WAIT(find_sound(card, 0) < cue_capture_frames(card));
  size_t at = find_sound(card, 0);
  WAIT(cue_capture_frames(card) >= at + frames);
  return at;
}

/// Returns whether the newest frame that the card recorded is the wave times `gain`. The sound
/// begins at `at`.
static bool has_gain(const cue_capture *card, size_t at, float gain) {
  size_t newest = cue_capture_frames(card) - 1;
  float expected = wave((long)(newest - at)) * gain;
  return fabsf(cue_capture_samples(card, 0)[newest] - expected) < 1e-6f;
}

static void two_effects(void) {
  // Units come first: the program's first one takes as long as reading and checking all plugins.
  AudioQueueRef queue = new_queue(2, 1);
  AudioUnit units[2] = {amplifier(-6), amplifier(-3)}, found[4];
  // Then the card: the client opens with the effects, and connects its ports.
  cue_capture *card = open_card(20);
  WORKS(CueQueueSetEffects(queue, 2, units));
  UInt32 count = 4;
  WORKS(CueQueueGetEffects(queue, &count, found));
  CHECK(count == 2 && found[0] == units[0] && found[1] == units[1]);
  WORKS(AudioQueueStart(queue, NULL));
  size_t at = hear(card, RATE / 2);
  float gain = factor(-6) * factor(-3);
  expect(card, at, 0, RATE / 2, gain, -gain);
  // One goes while the queue plays: after the change the sound has the other's gain alone.
  WORKS(CueQueueSetEffects(queue, 1, units + 1));
  WAIT(has_gain(card, at, factor(-3)));
  size_t changed = cue_capture_frames(card);
  record(card, RATE / 4);
  expect(card, changed, (long)(changed - at), RATE / 4, factor(-3), -factor(-3));
  // No click between: no step is larger than that of a fade over 200 frames.
  const float *left = cue_capture_samples(card, 0);
  for (size_t i = at + 1; i < changed; i++)
    CHECK(fabsf(left[i] - left[i - 1]) < wave((long)(i - at)) / 200 + 1e-7f);
  WORKS(AudioQueueStop(queue, true));
  end_recording(card);
  cue_capture_close(card);
  // A unit that is disposed of leaves the queue alone.
  WORKS(AudioComponentInstanceDispose(units[1]));
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioComponentInstanceDispose(units[0]));
  passed("effects");
}

static void mixer(void) {
  AudioUnit mixer = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_number(mixer, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, 2);
  set_format(mixer, kAudioUnitScope_Output, 0, planar(RATE, 2));
  for (UInt32 bus = 0; bus < 2; bus++) {
    set_format(mixer, kAudioUnitScope_Input, bus, planar(RATE, 2));
    WORKS(AudioUnitSetParameter(mixer, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, bus,
                                bus == 0 ? 0.5f : 0.25f, 0));
  }
  AudioQueueRef queues[2] = {new_queue(2, 1), new_queue(1, 1)};
  AudioUnit effect = amplifier(-6);
  // The client opens with the mixer, and connects its ports to the card.
  cue_capture *card = open_card(20);
  GIVES(CueQueueSetMixer(queues[0], mixer, 2), kAudioUnitErr_InvalidElement);
  for (UInt32 i = 0; i < 2; i++)
    WORKS(CueQueueSetMixer(queues[i], mixer, i));
  WORKS(CueQueueSetEffects(queues[0], 1, &effect));
  // Both play on one client: they start on one frame.
  AudioTimeStamp start;
  memset(&start, 0, sizeof start);
  WORKS(AudioQueueDeviceGetCurrentTime(queues[0], &start));
  start.mFlags = kAudioTimeStampSampleTimeValid;
  start.mSampleTime += 2 * RATE;
  for (int i = 0; i < 2; i++)
    WORKS(AudioQueueStart(queues[i], &start));
  size_t at = hear(card, RATE / 2);
  float first = 0.5f * factor(-6);
  expect(card, at, 0, RATE / 2, first + 0.25f, 0.25f - first);
  // A queue that plays stays where it is.
  GIVES(CueQueueSetMixer(queues[0], NULL, 0), kAudioQueueErr_InvalidRunState);
  for (int i = 0; i < 2; i++)
    WORKS(AudioQueueStop(queues[i], true));
  end_recording(card);
  cue_capture_close(card);
  WORKS(CueQueueSetMixer(queues[1], NULL, 0));
  for (int i = 0; i < 2; i++)
    WORKS(AudioQueueDispose(queues[i], true));
  WORKS(AudioComponentInstanceDispose(effect));
  WORKS(AudioComponentInstanceDispose(mixer));
  passed("a mixer");
}

static void mistakes(void) {
  AudioQueueRef queue = new_queue(2, 1);
  AudioUnit output = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  GIVES(CueQueueSetEffects(queue, 1, &output), kAudioComponentErr_UnsupportedType);
  AudioUnit units[2] = {amplifier(0), NULL};
  units[1] = units[0];
  GIVES(CueQueueSetEffects(queue, 2, units), kAudio_ParamError);
  GIVES(CueQueueSetEffects(queue, 1, NULL), kAudio_ParamError);
  UInt32 count = 7;
  WORKS(CueQueueGetEffects(queue, &count, NULL));
  EQUAL(count, 0);
  WORKS(CueQueueSetEffects(queue, 0, NULL));
  WORKS(CueQueueSetMixer(queue, NULL, 0));
  AudioStreamBasicDescription format = float_format(RATE, 2);
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(CueQueueSetEffects(queue, 1, units), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueDispose(queue, true));
  AudioQueueRef input;
  WORKS(AudioQueueNewInput(&format, (AudioQueueInputCallback)(void *)returned, NULL, NULL, NULL, 0,
                           &input));
  GIVES(CueQueueSetEffects(input, 1, units), kAudioQueueErr_InvalidQueueType);
  WORKS(AudioQueueDispose(input, true));
  WORKS(AudioComponentInstanceDispose(units[0]));
  WORKS(AudioComponentInstanceDispose(output));
  passed("mistakes");
}

int main(void) {
  two_effects();
  mixer();
  mistakes();
  return 0;
}
