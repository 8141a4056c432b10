// Queues through audio units: effects before their ports, changes while they play, and inputs of a
// mixer.
#include <Cuejack/QueueEffects.h>

#include "units.h"

#include <math.h>

enum {
  FRAMES = 2 * RATE
};

static void returned(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

/// Makes a queue with two seconds of the wave, times `gain`.
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

/// Waits until the card has recorded `frames` frames.
static void record_to(const cue_capture *card, size_t frames) {
  if (cue_capture_frames(card) < frames) record(card, frames - cue_capture_frames(card));
}

/// Waits for sound, and for a number of frames from there on. Returns its first frame.
static size_t hear(const cue_capture *card, size_t frames) {
  WAIT(find_sound(card, 0) < cue_capture_frames(card));
  size_t at = find_sound(card, 0);
  record_to(card, at + frames);
  return at;
}

static void two_effects(void) {
  // The client connects its ports to the card when it opens.
  cue_capture *card = open_card(5);
  AudioQueueRef queue = new_queue(2, 1);
  AudioUnit units[2] = {amplifier(-6), amplifier(-3)}, found[4];
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
  record_to(card, at + 2 * RATE);
  expect(card, at + RATE + RATE / 2, RATE + RATE / 2, RATE / 4, factor(-3), -factor(-3));
  // No click between: the largest step is that of the wave and the change of gain.
  const float *left = cue_capture_samples(card, 0);
  for (size_t i = at + 1; i < at + RATE; i++)
    CHECK(fabsf(left[i] - left[i - 1]) < 0.01f);
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
  cue_capture *card = open_card(5);
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
  GIVES(CueQueueSetMixer(queues[0], mixer, 2), kAudioUnitErr_InvalidElement);
  for (UInt32 i = 0; i < 2; i++)
    WORKS(CueQueueSetMixer(queues[i], mixer, i));
  WORKS(CueQueueSetEffects(queues[0], 1, &effect));
  // Both play on one client: they start on one frame.
  AudioTimeStamp start;
  memset(&start, 0, sizeof start);
  WORKS(AudioQueueDeviceGetCurrentTime(queues[0], &start));
  start.mFlags = kAudioTimeStampSampleTimeValid;
  start.mSampleTime += RATE / 2;
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
  UInt32 count = 0;
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
