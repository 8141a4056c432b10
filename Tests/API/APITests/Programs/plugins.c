// LV2 plugins as audio units: eg-amp and eg-fifths of lv2-examples, and plugins of mda-lv2.
#include "units.h"

#include <math.h>

enum {
  FRAMES = 512,
  GAIN = 0 // the parameter of eg-amp, in dB
};

static AudioComponentDescription lv2(OSType type, OSType subtype) {
  AudioComponentDescription description = {type, subtype, kAudioUnitManufacturer_LV2, 0, 0};
  return description;
}

/// eg-amp: the subtype follows from the URI and never changes.
static AudioUnit make_amplifier(void) {
  return make_unit(lv2(kAudioUnitType_Effect, 'vlBr'));
}

/// Gives frames of the wave; the second channel is negative.
static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)bus;
  for (UInt32 channel = 0; channel < list->mNumberBuffers; channel++) {
    float *samples = list->mBuffers[channel].mData;
    for (UInt32 i = 0; i < frames; i++)
      samples[i] = wave((long)time->mSampleTime + i) * (channel == 1 ? -1 : 1);
  }
  return noErr;
}

static double now;

/// Renders the next frames.
static buffers render(AudioUnit unit, UInt32 channels) {
  buffers out = no_memory(channels);
  AudioTimeStamp time = at_frame(now);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, FRAMES, &out.list));
  now += FRAMES;
  return out;
}

/// The factor of eg-amp.
static float factor(float decibels) {
  return powf(10.0f, decibels * 0.05f);
}

/// Fails unless frames of both channels are the wave times a factor, exactly.
static void expect(const buffers *out, int first, int end, float gain) {
  for (int i = first; i < end; i++) {
    float sample = wave((long)now - FRAMES + i);
    EQUAL(plane(out, 0)[i], sample * gain);
    EQUAL(plane(out, 1)[i], -sample * gain);
  }
}

static float get(AudioUnit unit, AudioUnitParameterID id) {
  Float32 value = NAN;
  WORKS(AudioUnitGetParameter(unit, id, kAudioUnitScope_Global, 0, &value));
  return value;
}

static void set(AudioUnit unit, AudioUnitParameterID id, float value) {
  WORKS(AudioUnitSetParameter(unit, id, kAudioUnitScope_Global, 0, value, 0));
}

// MARK: Components

static void components(void) {
  AudioComponentDescription any = lv2(0, 0);
  AudioComponent component = NULL;
  UInt32 count = 0;
  while ((component = AudioComponentFindNext(component, &any)) != NULL) {
    AudioComponentDescription description;
    WORKS(AudioComponentGetDescription(component, &description));
    EQUAL(description.componentManufacturer, kAudioUnitManufacturer_LV2);
    EQUAL(AudioComponentCount(&description), 1);
    CHECK(AudioComponentFindNext(NULL, &description) == component);
    CFStringRef name = NULL;
    WORKS(AudioComponentCopyName(component, &name));
    CHECK(CFStringGetLength(name) > 2);
    CFRelease(name);
    count++;
  }
  EQUAL(AudioComponentCount(&any), count);
  CHECK(count > 20);
  // By class: an effect, an effect that hears MIDI, an instrument.
  AudioComponentDescription kinds[] = {
      lv2(kAudioUnitType_Effect, 'vlBr'),
      lv2(kAudioUnitType_MIDIProcessor, 'ZjdL'),
      lv2(kAudioUnitType_MusicDevice, 'No25'),
  };
  for (int i = 0; i < 3; i++)
    EQUAL(AudioComponentCount(&kinds[i]), 1);
  passed("components");
}

// MARK: Parameters

static void parameters(void) {
  AudioUnit unit = make_amplifier();
  AudioUnitParameterID ids[4];
  UInt32 size = sizeof ids;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterList, kAudioUnitScope_Global, 0, ids,
                             &size));
  EQUAL(size, sizeof *ids);
  EQUAL(ids[0], GAIN);
  AudioUnitParameterInfo info;
  size = sizeof info;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Global, GAIN,
                             &info, &size));
  CHECK(!strcmp(info.name, "Gain") && info.unit == kAudioUnitParameterUnit_Decibels);
  CHECK(info.minValue == -90 && info.maxValue == 24 && info.defaultValue == 0);
  CHECK(info.flags & kAudioUnitParameterFlag_CanRamp);
  CFRelease(info.cfNameString);
  EQUAL(get(unit, GAIN), 0);
  set(unit, GAIN, 100);
  EQUAL(get(unit, GAIN), 24);

  Float32 value = -6.5f;
  AudioUnitParameterStringFromValue words = {GAIN, &value, NULL};
  size = sizeof words;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterStringFromValue,
                             kAudioUnitScope_Global, 0, &words, &size));
  CHECK(CFEqual(words.outString, CFSTR("-6.5 dB")));
  AudioUnitParameterValueFromString back = {GAIN, words.outString, 0};
  size = sizeof back;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterValueFromString,
                             kAudioUnitScope_Global, 0, &back, &size));
  EQUAL(back.outValue, -6.5);
  CFRelease(words.outString);
  back.inString = CFSTR("loud");
  GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterValueFromString,
                             kAudioUnitScope_Global, 0, &back, &size),
        kAudioUnitErr_InvalidPropertyValue);
  CFArrayRef names;
  size = sizeof names;
  GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterValueStrings, kAudioUnitScope_Global,
                             GAIN, &names, &size),
        kAudioUnitErr_InvalidProperty);
  GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Global, 7,
                             &info, &size),
        kAudioUnitErr_InvalidParameter);
  WORKS(AudioComponentInstanceDispose(unit));
  // A group has the name that its bundle gives it: that of the hall of dragonfly-reverb-lv2.
  unit = make_unit(lv2(kAudioUnitType_Effect, '4h5R'));
  for (int i = 0; i < 2; i++) {
    AudioUnitParameterNameInfo group = {1, i == 0 ? kAudioUnitParameterName_Full : 3, NULL};
    size = sizeof group;
    WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterClumpName, kAudioUnitScope_Global,
                               0, &group, &size));
    CHECK(CFEqual(group.outName, i == 0 ? CFSTR("Stereo") : CFSTR("Ste")));
    CFRelease(group.outName);
    group.inID = 99;
    GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterClumpName, kAudioUnitScope_Global,
                               0, &group, &size),
          kAudioUnitErr_InvalidPropertyValue);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("parameters");
}

// MARK: Renders

static AudioUnit make_playing(AudioComponentDescription description, UInt32 channels) {
  AudioUnit unit = make_unit(description);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, channels));
  EQUAL(get_format(unit, kAudioUnitScope_Output, 0).mSampleRate, RATE);
  set_callback(unit, 0, give, NULL);
  WORKS(AudioUnitInitialize(unit));
  return unit;
}

static void renders(void) {
  AudioUnit unit = make_playing(lv2(kAudioUnitType_Effect, 'vlBr'), 2);
  AUChannelInfo channels;
  UInt32 size = sizeof channels;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_SupportedNumChannels, kAudioUnitScope_Global,
                             0, &channels, &size));
  CHECK(channels.inChannels == -1 && channels.outChannels == -1);
  buffers out = render(unit, 2);
  expect(&out, 0, FRAMES, 1);
  set(unit, GAIN, -6);
  out = render(unit, 2);
  expect(&out, 0, FRAMES, factor(-6));

  // At a frame of the next render, exactly.
  WORKS(AudioUnitSetParameter(unit, GAIN, kAudioUnitScope_Global, 0, -12, 100));
  AudioUnitParameterEvent events[2] = {
      {kAudioUnitScope_Global, 0, GAIN, kParameterEvent_Immediate, {.immediate = {301, 3}}},
      {kAudioUnitScope_Global, 0, GAIN, kParameterEvent_Immediate, {.immediate = {200, -3}}}};
  WORKS(AudioUnitScheduleParameters(unit, events, 2));
  out = render(unit, 2);
  expect(&out, 0, 100, factor(-6));
  expect(&out, 100, 200, factor(-12));
  expect(&out, 200, 301, factor(-3));
  expect(&out, 301, FRAMES, factor(3));
  EQUAL(get(unit, GAIN), 3);

  // A ramp, in steps of 32 frames.
  AudioUnitParameterEvent ramp = {
      kAudioUnitScope_Global, 0, GAIN, kParameterEvent_Ramped, {.ramp = {64, 320, 3, -7}}};
  WORKS(AudioUnitScheduleParameters(unit, &ramp, 1));
  out = render(unit, 2);
  expect(&out, 0, 64, factor(3));
  for (int step = 0; step < 10; step++)
    expect(&out, 64 + 32 * step, 96 + 32 * step, factor(step == 9 ? -7 : 3 - (float)(step + 1)));
  expect(&out, 384, FRAMES, factor(-7));
  ramp.eventType = 7;
  GIVES(AudioUnitScheduleParameters(unit, &ramp, 1), kAudio_ParamError);
  ramp.eventType = kParameterEvent_Ramped;
  ramp.parameter = 7;
  GIVES(AudioUnitScheduleParameters(unit, &ramp, 1), kAudioUnitErr_InvalidParameter);

  // Bypassed, the input comes through: after one render, and exactly.
  set_number(unit, kAudioUnitProperty_BypassEffect, kAudioUnitScope_Global, 0, 1);
  EQUAL(number(unit, kAudioUnitProperty_BypassEffect, kAudioUnitScope_Global, 0), 1);
  render(unit, 2);
  out = render(unit, 2);
  expect(&out, 0, FRAMES, 1);
  set_number(unit, kAudioUnitProperty_BypassEffect, kAudioUnitScope_Global, 0, 0);
  render(unit, 2);
  out = render(unit, 2);
  expect(&out, 0, FRAMES, factor(-7));

  // While it is initialised: another rate, other channels, a longer render.
  set_format(unit, kAudioUnitScope_Input, 0, planar(44100, 3));
  EQUAL(get_format(unit, kAudioUnitScope_Output, 0).mChannelsPerFrame, 3);
  set_number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0, 8192);
  out = render(unit, 3);
  expect(&out, 0, FRAMES, factor(-7));
  WORKS(AudioUnitUninitialize(unit));
  WORKS(AudioUnitInitialize(unit));
  out = render(unit, 3);
  expect(&out, 0, FRAMES, factor(-7));
  WORKS(AudioComponentInstanceDispose(unit));

  // A plugin with two channels takes no other number of them.
  unit = make_unit(lv2(kAudioUnitType_Effect, 'JSqD'));
  AudioStreamBasicDescription mono = planar(RATE, 1);
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0, &mono,
                             sizeof mono),
        kAudioUnitErr_FormatNotSupported);
  size = sizeof channels;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_SupportedNumChannels, kAudioUnitScope_Global,
                             0, &channels, &size));
  CHECK(channels.inChannels == 2 && channels.outChannels == 2);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("renders");
}

// MARK: Samples given by the caller

static void processes(void) {
  AudioUnit unit = make_amplifier();
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(unit));
  set(unit, GAIN, 6);
  static float memory[2][FRAMES], other[2][FRAMES];
  buffers list = no_memory(2), out = no_memory(2);
  for (int channel = 0; channel < 2; channel++) {
    for (int i = 0; i < FRAMES; i++)
      memory[channel][i] = wave(i) * (channel == 1 ? -1 : 1);
    list.list.mBuffers[channel].mData = memory[channel];
    out.list.mBuffers[channel].mData = other[channel];
    list.list.mBuffers[channel].mDataByteSize = out.list.mBuffers[channel].mDataByteSize =
        sizeof memory[channel];
  }
  AudioTimeStamp time = at_frame(0);
  now = FRAMES;
  const AudioBufferList *inputs[] = {&list.list};
  AudioBufferList *outputs[] = {&out.list};
  WORKS(AudioUnitProcessMultiple(unit, NULL, &time, FRAMES, 1, inputs, 1, outputs));
  expect(&out, 0, FRAMES, factor(6));
  expect(&list, 0, FRAMES, 1);
  WORKS(AudioUnitProcess(unit, NULL, &time, FRAMES, &list.list));
  expect(&list, 0, FRAMES, factor(6));
  // Without them nothing supplies the input.
  buffers none = no_memory(2);
  GIVES(AudioUnitRender(unit, NULL, &time, 0, FRAMES, &none.list), kAudioUnitErr_NoConnection);
  GIVES(AudioUnitProcessMultiple(unit, NULL, &time, FRAMES, 1, inputs, 2, outputs),
        kAudio_ParamError);
  GIVES(AudioUnitProcess(unit, NULL, &time, 100000, &list.list),
        kAudioUnitErr_TooManyFramesToProcess);
  set_format(unit, kAudioUnitScope_Output, 0, planar(44100, 2));
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_format(unit, kAudioUnitScope_Output, 0, planar(44100, 2));
  GIVES(AudioUnitProcess(unit, NULL, &time, 64, &list.list), kAudioUnitErr_FormatNotSupported);
  WORKS(AudioUnitUninitialize(unit));
  GIVES(AudioUnitProcess(unit, NULL, &time, FRAMES, &list.list), kAudioUnitErr_Uninitialized);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("samples given by the caller");
}

static UInt32 asked;

static OSStatus beat(void *data, Float64 *beats, Float64 *tempo) {
  (void)data, (void)beats, (void)tempo;
  asked |= 1;
  return kAudio_ParamError;
}

static OSStatus meter(void *data, UInt32 *offset, Float32 *beats, UInt32 *unit, Float64 *bar) {
  (void)data, (void)offset, (void)beats, (void)unit, (void)bar;
  asked |= 2;
  return kAudio_ParamError;
}

static OSStatus transport(void *data, Boolean *is_rolling, Boolean *has_changed, Float64 *frame,
                          Boolean *is_cycling, Float64 *start, Float64 *end) {
  (void)data, (void)is_rolling, (void)has_changed, (void)frame, (void)is_cycling, (void)start,
      (void)end;
  asked |= 4;
  return kAudio_ParamError;
}

/// A structure may end before the last functions, and a size within one.
static void hosts(void) {
  AudioUnit unit = make_amplifier();
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(unit));
  static float memory[2][FRAMES];
  buffers list = no_memory(2);
  for (int channel = 0; channel < 2; channel++)
    list.list.mBuffers[channel] = (AudioBuffer){1, sizeof memory[channel], memory[channel]};
  AudioTimeStamp time = at_frame(0);
  HostCallbackInfo host = {NULL, beat, meter, transport, NULL};
  for (UInt32 size = 4; size <= sizeof host; size += 4) {
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_HostCallbacks, kAudioUnitScope_Global, 0,
                               &host, size));
    asked = 0;
    WORKS(AudioUnitProcess(unit, NULL, &time, FRAMES, &list.list));
    EQUAL(asked, (UInt32)(size >= 16) | (UInt32)(size >= 24) << 1 | (UInt32)(size >= 32) << 2);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("functions of the host");
}

// MARK: Presets and class info

static CFDictionaryRef class_info(AudioUnit unit) {
  CFDictionaryRef info = NULL;
  UInt32 size = sizeof info;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &info,
                             &size));
  CHECK(info != NULL && CFGetTypeID(info) == CFDictionaryGetTypeID());
  return info;
}

static OSStatus set_class_info(AudioUnit unit, CFTypeRef info) {
  return AudioUnitSetProperty(unit, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &info,
                              sizeof info);
}

static _Atomic int preset_changes;

static void preset_changed(void *data, AudioUnit unit, AudioUnitPropertyID property,
                           AudioUnitScope scope, AudioUnitElement element) {
  (void)data, (void)unit, (void)scope, (void)element;
  CHECK(property == kAudioUnitProperty_CurrentPreset);
  preset_changes++;
}

static void presets(void) {
  AudioUnit unit = make_playing(lv2(kAudioUnitType_Effect, 'JSqD'), 2);
  CFArrayRef list = NULL;
  UInt32 size = sizeof list;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_FactoryPresets, kAudioUnitScope_Global, 0,
                             &list, &size));
  CHECK(CFArrayGetCount(list) >= 2);
  const AUPreset *preset = NULL;
  for (CFIndex i = 0; i < CFArrayGetCount(list); i++) {
    const AUPreset *one = CFArrayGetValueAtIndex(list, i);
    EQUAL(one->presetNumber, i);
    if (CFEqual(one->presetName, CFSTR("Symphonic"))) preset = one;
  }
  CHECK(preset != NULL);
  CFRelease(list);
  set(unit, 1, 0.25f);
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0,
                             preset, sizeof *preset));
  // Its mix, as the bundle has it.
  CHECK(fabsf(get(unit, 1) - 0.25f) > 0.1f);
  AUPreset present;
  size = sizeof present;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0,
                             &present, &size));
  CHECK(present.presetNumber == preset->presetNumber &&
        CFEqual(present.presetName, CFSTR("Symphonic")));
  CFRelease(present.presetName);
  // The name of the older property is the unit's: nobody releases it, and it is the same each time.
  AUPreset current;
  CFStringRef names[2];
  for (int i = 0; i < 2; i++) {
    size = sizeof current;
    WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_CurrentPreset, kAudioUnitScope_Global, 0,
                               &current, &size));
    CHECK(size == sizeof current && current.presetNumber == preset->presetNumber);
    names[i] = current.presetName;
  }
  CHECK(names[0] == names[1] && CFEqual(names[0], CFSTR("Symphonic")));
  AUPreset named = {-1, CFSTR("Mine")};
  WORKS(AudioUnitAddPropertyListener(unit, kAudioUnitProperty_CurrentPreset, preset_changed, NULL));
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_CurrentPreset, kAudioUnitScope_Global, 0,
                             &named, sizeof named));
  WAIT(preset_changes == 1);
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_CurrentPreset, kAudioUnitScope_Global, 0,
                             &current, &size));
  CHECK(current.presetNumber == -1 && CFEqual(current.presetName, CFSTR("Mine")));
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_CurrentPreset, kAudioUnitScope_Global, 0,
                             preset, sizeof *preset));
  AUPreset none = {99, NULL};
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0,
                             &none, sizeof none),
        kAudioUnitErr_InvalidPropertyValue);

  // Saved, and restored into another instance: the same sound.
  set(unit, 0, 0.625f);
  CFDictionaryRef info = class_info(unit);
  CHECK(CFDictionaryContainsKey(info, CFSTR(kAUPresetLV2StateKey)));
  WORKS(AudioUnitUninitialize(unit));
  WORKS(AudioUnitInitialize(unit));
  AudioUnit other = make_unit(lv2(kAudioUnitType_Effect, 'JSqD'));
  set_format(other, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_callback(other, 0, give, NULL);
  WORKS(set_class_info(other, info));
  CFRelease(info);
  WORKS(AudioUnitInitialize(other));
  EQUAL(get(other, 0), 0.625);
  EQUAL(get(other, 1), get(unit, 1));
  WORKS(AudioUnitGetProperty(other, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0,
                             &present, &size));
  CHECK(CFEqual(present.presetName, CFSTR("Symphonic")));
  CFRelease(present.presetName);
  bool sounds = false;
  for (int i = 0; i < 20; i++) {
    double begin = now;
    buffers one = render(unit, 2);
    now = begin;
    buffers two = render(other, 2);
    for (int channel = 0; channel < 2; channel++) {
      CHECK(!memcmp(plane(&one, channel), plane(&two, channel), FRAMES * sizeof(float)));
      sounds = sounds || plane(&one, channel)[FRAMES - 1] != 0;
    }
  }
  CHECK(sounds);

  // The settings of another component, and no settings.
  AudioUnit amplifier = make_amplifier();
  info = class_info(amplifier);
  GIVES(set_class_info(other, info), kAudioUnitErr_InvalidPropertyValue);
  CFRelease(info);
  GIVES(set_class_info(other, CFSTR("loud")), kAudioUnitErr_InvalidPropertyValue);
  WORKS(AudioComponentInstanceDispose(amplifier));
  WORKS(AudioComponentInstanceDispose(other));
  WORKS(AudioComponentInstanceDispose(unit));

  // Units of the library are saved, too.
  AudioUnit mixer = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  WORKS(AudioUnitSetParameter(mixer, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0,
                              0.375f, 0));
  info = class_info(mixer);
  WORKS(
      AudioUnitSetParameter(mixer, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0, 1, 0));
  WORKS(set_class_info(mixer, info));
  CFRelease(info);
  Float32 value = 0;
  WORKS(AudioUnitGetParameter(mixer, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0,
                              &value));
  EQUAL(value, 0.375);
  WORKS(AudioComponentInstanceDispose(mixer));
  passed("presets");
}

// MARK: MIDI

static void instruments(void) {
  AudioUnit unit = make_unit(lv2(kAudioUnitType_MusicDevice, 'No25'));
  EQUAL(number(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0), 0);
  GIVES(MusicDeviceMIDIEvent(unit, 0x90, 60, 100, 0), kAudioUnitErr_Uninitialized);
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(unit));
  buffers out = render(unit, 2);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&out, 0)[i], 0);
  // A note at a frame of the next render.
  WORKS(MusicDeviceMIDIEvent(unit, 0x90, 60, 100, 200));
  out = render(unit, 2);
  for (int i = 0; i < 200; i++)
    EQUAL(plane(&out, 0)[i], 0);
  float most = 0;
  for (int i = 200; i < FRAMES; i++)
    most = fmaxf(most, fabsf(plane(&out, 0)[i]));
  CHECK(most > 0);
  // The same note by its instance.
  WORKS(MusicDeviceMIDIEvent(unit, 0x80, 60, 0, 0));
  for (int i = 0; i < 400; i++)
    out = render(unit, 2);
  for (int i = 0; i < FRAMES; i++)
    CHECK(fabsf(plane(&out, 0)[i]) < 1e-4f);
  MusicDeviceNoteParams note = {2, 60, 100, {{0, 0}}};
  NoteInstanceID instance = 0;
  WORKS(MusicDeviceStartNote(unit, kMusicNoteEvent_UseGroupInstrument, 0, &instance, 100, &note));
  out = render(unit, 2);
  float before = 0, after = 0;
  for (int i = 0; i < FRAMES; i++)
    *(i < 100 ? &before : &after) = fmaxf(i < 100 ? before : after, fabsf(plane(&out, 0)[i]));
  CHECK(before < 1e-4f && after > 0.1f * most);
  WORKS(MusicDeviceStopNote(unit, 0, instance, 0));
  for (int i = 0; i < 400; i++)
    out = render(unit, 2);
  for (int i = 0; i < FRAMES; i++)
    CHECK(fabsf(plane(&out, 0)[i]) < 1e-4f);
  note.mPitch = 200;
  GIVES(MusicDeviceStartNote(unit, kMusicNoteEvent_UseGroupInstrument, 0, &instance, 0, &note),
        kAudioUnitErr_InvalidParameter);
  GIVES(MusicDeviceStopNote(unit, 16, instance, 0), kAudioUnitErr_InvalidParameter);
  WORKS(MusicDeviceMIDIEvent(unit, 0xC0, 3, 0, 0));
  static const UInt8 exclusive[] = {0xF0, 0x7D, 1, 0xF7};
  WORKS(MusicDeviceSysEx(unit, exclusive, sizeof exclusive));
  GIVES(MusicDeviceSysEx(unit, exclusive, 3), kAudio_ParamError);
  GIVES(MusicDeviceMIDIEvent(unit, 0x40, 60, 100, 0), kAudio_ParamError);
  GIVES(MusicDeviceMIDIEvent(unit, 0x90, 200, 100, 0), kAudio_ParamError);
  render(unit, 2);
  WORKS(AudioComponentInstanceDispose(unit));
  AudioUnit amplifier = make_playing(lv2(kAudioUnitType_Effect, 'vlBr'), 2);
  GIVES(MusicDeviceMIDIEvent(amplifier, 0x90, 60, 100, 0), kAudioComponentErr_UnsupportedType);
  WORKS(AudioComponentInstanceDispose(amplifier));
  passed("instruments");
}

// MARK: Equalisers

static void effects(void) {
  static const OSType subtypes[] = {
      kAudioUnitSubType_NBandEQ,        kAudioUnitSubType_ParametricEQ,
      kAudioUnitSubType_LowPassFilter,  kAudioUnitSubType_HighPassFilter,
      kAudioUnitSubType_BandPassFilter, kAudioUnitSubType_LowShelfFilter,
      kAudioUnitSubType_HighShelfFilter};
  for (size_t i = 0; i < sizeof subtypes / sizeof *subtypes; i++) {
    AudioUnit unit = make_playing(describe(kAudioUnitType_Effect, subtypes[i]), 2);
    buffers out = render(unit, 2);
    // Bands that are bypassed or have no gain change nothing.
    bool is_flat = i < 2 || i > 4;
    if (is_flat) expect(&out, 0, FRAMES, 1);
    WORKS(AudioComponentInstanceDispose(unit));
  }
  AudioUnit unit = make(kAudioUnitType_Effect, kAudioUnitSubType_NBandEQ);
  EQUAL(number(unit, kAUNBandEQProperty_MaxNumberOfBands, kAudioUnitScope_Global, 0), 16);
  set_number(unit, kAUNBandEQProperty_NumberOfBands, kAudioUnitScope_Global, 0, 3);
  EQUAL(number(unit, kAUNBandEQProperty_NumberOfBands, kAudioUnitScope_Global, 0), 3);
  set(unit, kAUNBandEQParam_Frequency + 2, 100);
  GIVES(
      AudioUnitSetParameter(unit, kAUNBandEQParam_Frequency + 3, kAudioUnitScope_Global, 0, 100, 0),
      kAudioUnitErr_InvalidParameter);
  UInt32 count = 17;
  GIVES(AudioUnitSetProperty(unit, kAUNBandEQProperty_NumberOfBands, kAudioUnitScope_Global, 0,
                             &count, sizeof count),
        kAudioUnitErr_InvalidPropertyValue);
  // Of the gain alone, exactly.
  set(unit, kAUNBandEQParam_GlobalGain, -96);
  set_callback(unit, 0, give, NULL);
  WORKS(AudioUnitInitialize(unit));
  count = 2;
  GIVES(AudioUnitSetProperty(unit, kAUNBandEQProperty_NumberOfBands, kAudioUnitScope_Global, 0,
                             &count, sizeof count),
        kAudioUnitErr_Initialized);
  buffers out = render(unit, 2);
  CHECK(fabsf(plane(&out, 0)[0] / wave((long)now - FRAMES) - 1.58489e-5f) < 1e-9f);
  WORKS(AudioComponentInstanceDispose(unit));

  // An echo has a tail, an equaliser none.
  Float64 tail = -1;
  UInt32 tail_size = sizeof tail;
  unit = make_playing(describe(kAudioUnitType_Effect, kAudioUnitSubType_Delay), 2);
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_TailTime, kAudioUnitScope_Global, 0, &tail,
                             &tail_size));
  // A second, and half as loud each time: 6.02 dB.
  EQUAL(tail, 18);
  WORKS(AudioComponentInstanceDispose(unit));
  unit = make_playing(describe(kAudioUnitType_Effect, kAudioUnitSubType_AUiPodEQ), 2);
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_TailTime, kAudioUnitScope_Global, 0, &tail,
                             &tail_size));
  EQUAL(tail, 0);
  CFArrayRef list = NULL;
  UInt32 size = sizeof list;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_FactoryPresets, kAudioUnitScope_Global, 0,
                             &list, &size));
  EQUAL(CFArrayGetCount(list), 22);
  const AUPreset *rock = CFArrayGetValueAtIndex(list, 16);
  CHECK(CFEqual(rock->presetName, CFSTR("Rock")));
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0,
                             rock, sizeof *rock));
  CFRelease(list);
  CFArrayRef names = NULL;
  size = sizeof names;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterValueStrings, kAudioUnitScope_Global,
                             0, &names, &size));
  CHECK(CFArrayGetCount(names) == 22 && CFEqual(CFArrayGetValueAtIndex(names, 16), CFSTR("Rock")));
  CFRelease(names);
  EQUAL(get(unit, 0), 16);
  out = render(unit, 2);
  CHECK(plane(&out, 0)[FRAMES - 1] != wave((long)now - 1));
  WORKS(AudioComponentInstanceDispose(unit));
  passed("equalisers");
}

// MARK: In a graph

/// A mixer, a plugin and a device's output: the plugin's gain is heard.
static void graph(void) {
  AUGraph graph = NULL;
  WORKS(NewAUGraph(&graph));
  AudioComponentDescription descriptions[] = {
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer),
      lv2(kAudioUnitType_Effect, 'vlBr'),
      describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput),
  };
  AUNode nodes[3];
  for (int i = 0; i < 3; i++)
    WORKS(AUGraphAddNode(graph, &descriptions[i], &nodes[i]));
  for (int i = 0; i < 2; i++)
    WORKS(AUGraphConnectNodeInput(graph, nodes[i], 0, nodes[i + 1], 0));
  WORKS(AUGraphOpen(graph));
  AudioUnit mixer = NULL, amplifier = NULL;
  WORKS(AUGraphNodeInfo(graph, nodes[0], NULL, &mixer));
  WORKS(AUGraphNodeInfo(graph, nodes[1], NULL, &amplifier));
  set_format(mixer, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_format(mixer, kAudioUnitScope_Output, 0, planar(RATE, 2));
  AURenderCallbackStruct callback = {give, NULL};
  WORKS(AUGraphSetNodeInputCallback(graph, nodes[0], 0, &callback));
  set(amplifier, GAIN, -6);
  cue_capture *card = open_card(4);
  WORKS(AUGraphInitialize(graph));
  WORKS(AUGraphStart(graph));
  WAIT(find_sound(card, 0) < cue_capture_frames(card));
  size_t at = find_sound(card, 0);
  WAIT(cue_capture_frames(card) >= at + RATE / 4);
  const float *left = cue_capture_samples(card, 0);
  for (size_t i = 0; i < RATE / 4; i++)
    CHECK(fabsf(left[at + i] - wave((long)i) * factor(-6)) < 1e-7f);
  WORKS(AUGraphStop(graph));
  end_recording(card);
  WORKS(DisposeAUGraph(graph));
  passed("a graph");
}

int main(void) {
  components();
  parameters();
  renders();
  processes();
  hosts();
  presets();
  instruments();
  effects();
  graph();
  return 0;
}
