// Audio units: components, properties, renders on the app's own thread, and output units on a
// device.
#include "units.h"

#include <errno.h>

static char client[100];

// MARK: Components

static void components(void) {
  AudioComponentDescription any = {0, 0, kAudioUnitManufacturer_Apple, 0, 0};
  AudioComponent component = NULL;
  UInt32 count = 0;
  while ((component = AudioComponentFindNext(component, &any)) != NULL) {
    AudioComponentDescription description;
    WORKS(AudioComponentGetDescription(component, &description));
    EQUAL(description.componentManufacturer, kAudioUnitManufacturer_Apple);
    EQUAL(AudioComponentCount(&description), 1);
    CHECK(AudioComponentFindNext(NULL, &description) == component);
    CFStringRef name = NULL;
    WORKS(AudioComponentCopyName(component, &name));
    CHECK(CFStringHasPrefix(name, CFSTR("Apple: ")));
    CFRelease(name);
    UInt32 version = 0;
    WORKS(AudioComponentGetVersion(component, &version));
    CHECK(version > 0);
    AudioUnit unit = NULL;
    OSStatus status = AudioComponentInstanceNew(component, &unit);
    if (description.componentSubType == kAudioUnitSubType_VoiceProcessingIO) {
      EQUAL(status, kAudioComponentErr_UnsupportedType);
      CHECK(unit == NULL);
    } else {
      EQUAL(status, noErr);
      WORKS(AudioComponentInstanceDispose(unit));
      GIVES(AudioComponentInstanceDispose(unit), badComponentInstance);
      GIVES(AudioUnitInitialize(unit), badComponentInstance);
      GIVES(AudioUnitSetParameter(unit, 0, 0, 0, 1, 0), badComponentInstance);
    }
    count++;
  }
  EQUAL(AudioComponentCount(&any), count);
  // Each subtype names its own component.
  static const struct {
    OSType type, subtype;
    const char *name;
  } names[] = {
      {kAudioUnitType_Output, kAudioUnitSubType_RemoteIO, "RemoteIO"},
      {kAudioUnitType_Output, kAudioUnitSubType_HALOutput, "HALOutput"},
      {kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput, "DefaultOutput"},
      {kAudioUnitType_Output, kAudioUnitSubType_SystemOutput, "SystemOutput"},
      {kAudioUnitType_Output, kAudioUnitSubType_VoiceProcessingIO, "VoiceProcessingIO"},
      {kAudioUnitType_Output, kAudioUnitSubType_GenericOutput, "GenericOutput"},
      {kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter, "AUConverter"},
      {kAudioUnitType_FormatConverter, kAudioUnitSubType_Varispeed, "AUVarispeed"},
      {kAudioUnitType_FormatConverter, kAudioUnitSubType_TimePitch, "AUTimePitch"},
      {kAudioUnitType_FormatConverter, kAudioUnitSubType_NewTimePitch, "AUNewTimePitch"},
      {kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer, "MultiChannelMixer"},
      {kAudioUnitType_Mixer, kAudioUnitSubType_StereoMixer, "StereoMixer"},
      {kAudioUnitType_Mixer, kAudioUnitSubType_MatrixMixer, "MatrixMixer"},
      {kAudioUnitType_Mixer, kAudioUnitSubType_3DMixer, "3DMixer"},
      {kAudioUnitType_Mixer, kAudioUnitSubType_AU3DMixerEmbedded, "3DMixerEmbedded"},
      {kAudioUnitType_Effect, kAudioUnitSubType_NBandEQ, "AUNBandEQ"},
      {kAudioUnitType_Effect, kAudioUnitSubType_ParametricEQ, "ParametricEQ"},
      {kAudioUnitType_Effect, kAudioUnitSubType_GraphicEQ, "AUGraphicEQ"},
      {kAudioUnitType_Effect, kAudioUnitSubType_AUiPodEQ, "AUiPodEQ"},
      {kAudioUnitType_Effect, kAudioUnitSubType_LowPassFilter, "AULowpass"},
      {kAudioUnitType_Effect, kAudioUnitSubType_HighPassFilter, "AUHipass"},
      {kAudioUnitType_Effect, kAudioUnitSubType_BandPassFilter, "AUBandpass"},
      {kAudioUnitType_Effect, kAudioUnitSubType_LowShelfFilter, "AULowShelfFilter"},
      {kAudioUnitType_Effect, kAudioUnitSubType_HighShelfFilter, "AUHighShelfFilter"},
      {kAudioUnitType_Effect, kAudioUnitSubType_PeakLimiter, "AUPeakLimiter"},
      {kAudioUnitType_Effect, kAudioUnitSubType_DynamicsProcessor, "AUDynamicsProcessor"},
      {kAudioUnitType_Effect, kAudioUnitSubType_Delay, "AUDelay"},
      {kAudioUnitType_Effect, kAudioUnitSubType_Reverb2, "AUReverb2"},
      {kAudioUnitType_Effect, kAudioUnitSubType_Distortion, "AUDistortion"},
      {kAudioUnitType_Generator, kAudioUnitSubType_ScheduledSoundPlayer, "AUScheduledSoundPlayer"},
      {kAudioUnitType_Generator, kAudioUnitSubType_AudioFilePlayer, "AUAudioFilePlayer"},
      {kAudioUnitType_MusicDevice, kAudioUnitSubType_DLSSynth, "DLSMusicDevice"},
      {kAudioUnitType_MusicDevice, kAudioUnitSubType_MIDISynth, "AUMIDISynth"},
      {kAudioUnitType_MusicDevice, kAudioUnitSubType_Sampler, "AUSampler"},
  };
  EQUAL(count, sizeof names / sizeof names[0]);
  for (UInt32 i = 0; i < count; i++) {
    AudioComponentDescription description = describe(names[i].type, names[i].subtype);
    CFStringRef name = NULL;
    WORKS(AudioComponentCopyName(AudioComponentFindNext(NULL, &description), &name));
    char text[100];
    CHECK(CFStringGetCString(name, text, sizeof text, kCFStringEncodingUTF8));
    CHECK(strncmp(text, "Apple: ", 7) == 0 && strcmp(text + 7, names[i].name) == 0);
    CFRelease(name);
  }
  AudioComponentDescription none = describe(kAudioUnitType_Output, 'none');
  CHECK(AudioComponentFindNext(NULL, &none) == NULL);
  none = describe(kAudioUnitType_MusicDevice, 'none');
  CHECK(AudioComponentFindNext(NULL, &none) == NULL);
  WORKS(AudioComponentInstanceDispose(NULL));
  AudioComponent invented = (AudioComponent)(uintptr_t)0x4000;
  AudioUnit unit = NULL;
  GIVES(AudioComponentInstanceNew(invented, &unit), invalidComponentID);

  // The names of before 10.6.
  ComponentDescription old = describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  Component found = FindNextComponent(NULL, &old);
  CHECK(found != NULL && CountComponents(&old) == 1);
  ComponentDescription copied;
  EQUAL(GetComponentInfo(found, &copied, NULL, NULL, NULL), 0);
  EQUAL(copied.componentSubType, kAudioUnitSubType_DefaultOutput);
  ComponentInstance instance = NULL;
  EQUAL(OpenAComponent(found, &instance), 0);
  EQUAL(CloseComponent(instance), 0);
  instance = OpenComponent(found);
  CHECK(instance != NULL);
  EQUAL(CloseComponent(instance), 0);
  passed("components");
}

// MARK: Properties

/// The units of the library when they are initialised; `components.c` asks before, and all effects.
static void properties(void) {
  AudioComponentDescription any = {0, 0, kAudioUnitManufacturer_Apple, 0, 0};
  AudioComponent component = NULL;
  while ((component = AudioComponentFindNext(component, &any)) != NULL) {
    AudioUnit unit = NULL;
    AudioComponentDescription one;
    WORKS(AudioComponentGetDescription(component, &one));
    if (one.componentType == kAudioUnitType_Effect &&
        one.componentSubType != kAudioUnitSubType_NBandEQ)
      continue;
    if (AudioComponentInstanceNew(component, &unit) != noErr) continue;
    WORKS(AudioUnitInitialize(unit));
    check_properties(unit);
    if (AudioUnitGetPropertyInfo(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1,
                                 NULL, NULL) == noErr)
      for (AudioUnitPropertyID id = 0; id < 2010; id = id == 69 ? 2000 : id + 1)
        for (AudioUnitScope scope = 0; scope <= kAudioUnitScope_Output; scope++)
          check_property(unit, id, scope, 1);
    // Those of the device, and what it does not have.
    const AudioUnitPropertyID ids[] = {
        kAudioDevicePropertyBufferFrameSize,     kAudioDevicePropertyLatency,
        kAudioDevicePropertyNominalSampleRate,   kAudioDevicePropertyVolumeScalar,
        kAudioDevicePropertyStreamConfiguration, kAudioDevicePropertyStreamFormat,
        kAudioHardwarePropertyDevices,           'none',
    };
    for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output; scope++)
      for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        check_property(unit, ids[i], scope, 0);
    UInt32 size = 0;
    GIVES(AudioUnitGetPropertyInfo(unit, 'none', kAudioUnitScope_Global, 0, &size, NULL),
          kAudioUnitErr_InvalidProperty);
    WORKS(AudioComponentInstanceDispose(unit));
  }
  // The quality of units that convert rates.
  const AudioComponentDescription converting[] = {
      describe(kAudioUnitType_Output, kAudioUnitSubType_HALOutput),
      describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput),
      describe(kAudioUnitType_Output, kAudioUnitSubType_GenericOutput),
      describe(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter),
      describe(kAudioUnitType_FormatConverter, kAudioUnitSubType_Varispeed),
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer),
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MatrixMixer),
  };
  for (size_t i = 0; i < sizeof converting / sizeof *converting; i++) {
    AudioUnit unit = make_unit(converting[i]);
    for (int turn = 0; turn < 2; turn++) {
      for (UInt32 quality = 0; quality <= 127; quality += 127 - turn * 63) {
        set_number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0, quality);
        EQUAL(number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0), quality);
      }
      UInt32 last = number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0);
      UInt32 more = 128;
      GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0,
                                 &more, sizeof more),
            kAudioUnitErr_InvalidPropertyValue);
      EQUAL(number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0), last);
      WORKS(AudioUnitInitialize(unit));
    }
    WORKS(AudioComponentInstanceDispose(unit));
  }
  passed("properties");
}

// MARK: Renders

typedef struct {
  /// The source gives frames of a wave, times `gain`; the second channel is negative.
  double gain;
  int calls;
  UInt32 frames, bus, channels;
  double first, next;
  OSStatus status;
  bool is_silent, has_own_memory;
  /// Gives this many frames fewer than it is asked for.
  UInt32 missing;
  float memory[2][4096];
} source;

static float sample(const source *this, double frame, UInt32 channel) {
  return (float)(this->gain * wave((long)frame)) * (channel == 1 ? -1 : 1);
}

static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  source *this = data;
  CHECK(flags != NULL && *flags == 0 && list != NULL);
  CHECK(time->mFlags & kAudioTimeStampSampleTimeValid);
  if (this->calls++ == 0) this->first = time->mSampleTime;
  this->frames = frames;
  this->bus = bus;
  this->channels = list->mNumberBuffers;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++) {
    AudioBuffer *buffer = &list->mBuffers[i];
    EQUAL(buffer->mNumberChannels, 1);
    EQUAL(buffer->mDataByteSize, frames * 4);
    if (this->has_own_memory) buffer->mData = this->memory[i];
    float *samples = buffer->mData;
    for (UInt32 f = 0; f < frames; f++)
      samples[f] = sample(this, time->mSampleTime - this->first + f, i);
    buffer->mDataByteSize = (frames - this->missing) * 4;
  }
  this->next = time->mSampleTime + frames;
  if (this->is_silent) *flags |= kAudioUnitRenderAction_OutputIsSilence;
  return this->status;
}

static OSStatus note(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)time, (void)bus, (void)frames, (void)list;
  ((int *)data)[*flags & kAudioUnitRenderAction_PreRender         ? 0
                : *flags & kAudioUnitRenderAction_PostRenderError ? 2
                                                                  : 1]++;
  return noErr;
}

static void renders(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_GenericOutput);
  source this = {.gain = 1};
  buffers all = no_memory(2);
  AudioTimeStamp time = at_frame(0);
  AudioUnitRenderActionFlags flags = 0;
  GIVES(AudioUnitRender(unit, &flags, &time, 0, 64, &all.list), kAudioUnitErr_Uninitialized);
  // Set up in any order; initialised twice.
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioUnitInitialize(unit));
  GIVES(AudioUnitRender(unit, &flags, &time, 0, 64, &all.list), kAudioUnitErr_NoConnection);
  set_callback(unit, 0, give, &this);
  set_number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Input, 7, 512);
  EQUAL(number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0), 512);

  int notes[3] = {0, 0, 0};
  WORKS(AudioUnitAddRenderNotify(unit, note, notes));
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, &flags, &time, 0, 64, &all.list));
  EQUAL(this.calls, 1);
  EQUAL(this.frames, 64);
  for (int f = 0; f < 64; f++) {
    EQUAL(plane(&all, 0)[f], wave(f));
    EQUAL(plane(&all, 1)[f], -wave(f));
  }
  EQUAL(all.list.mBuffers[1].mDataByteSize, 256);
  // The same time again: the same frames, without a call. Flags may be left out.
  float left[64], right[64];
  all.list.mBuffers[0].mData = left;
  all.list.mBuffers[1].mData = right;
  // Larger or stale sizes are fine.
  all.list.mBuffers[0].mDataByteSize = all.list.mBuffers[1].mDataByteSize = 100000;
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 32, &all.list));
  EQUAL(this.calls, 1);
  EQUAL(all.list.mBuffers[0].mDataByteSize, 128);
  EQUAL(left[31], wave(31));
  EQUAL(right[31], -wave(31));
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 32, &all.list));
  EQUAL(this.calls, 2);
  CHECK(notes[0] == 3 && notes[1] == 3 && notes[2] == 0);

  // A callback may give memory of its own, fewer bytes, silence or an error.
  time = at_frame(64);
  this.has_own_memory = true;
  this.missing = 16;
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list));
  EQUAL(plane(&all, 0)[47], wave(64 + 47));
  EQUAL(plane(&all, 0)[48], 0);
  this.missing = 0;
  this.is_silent = true;
  time = at_frame(128);
  all = no_memory(2);
  flags = 0;
  WORKS(AudioUnitRender(unit, &flags, &time, 0, 64, &all.list));
  CHECK(flags & kAudioUnitRenderAction_OutputIsSilence);
  for (int f = 0; f < 64; f++)
    EQUAL(plane(&all, 0)[f], 0);
  this.is_silent = false;
  this.status = 1234;
  time = at_frame(192);
  all = no_memory(2);
  GIVES(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list), 1234);
  EQUAL(notes[2], 1);
  EQUAL((SInt32)number(unit, kAudioUnitProperty_LastRenderError, kAudioUnitScope_Global, 0), 1234);
  EQUAL(number(unit, kAudioUnitProperty_LastRenderError, kAudioUnitScope_Global, 0), 0);
  this.status = noErr;
  WORKS(AudioUnitRemoveRenderNotify(unit, note, notes));

  // Renders that are refused.
  all = no_memory(2);
  GIVES(AudioUnitRender(unit, NULL, &time, 0, 513, &all.list),
        kAudioUnitErr_TooManyFramesToProcess);
  GIVES(AudioUnitRender(unit, NULL, &time, 1, 64, &all.list), kAudioUnitErr_InvalidElement);
  all.list.mBuffers[0].mData = left;
  all.list.mBuffers[0].mDataByteSize = 255;
  GIVES(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list), kAudio_ParamError);
  all = no_memory(1);
  GIVES(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list), kAudio_ParamError);
  EQUAL(notes[0], 6);
  WORKS(AudioUnitUninitialize(unit));
  GIVES(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list), kAudioUnitErr_Uninitialized);
  WORKS(AudioUnitInitialize(unit));
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list));
  WORKS(AudioComponentInstanceDispose(unit));
  passed("renders");
}

// MARK: Formats

static AudioStreamBasicDescription integers(double rate, UInt32 channels, UInt32 bits,
                                            AudioFormatFlags flags) {
  AudioStreamBasicDescription format = float_format(rate, channels);
  format.mFormatFlags = kAudioFormatFlagIsSignedInteger | flags;
  format.mBitsPerChannel = bits;
  UInt32 width = flags & kAudioFormatFlagIsNonInterleaved ? 1 : channels;
  format.mBytesPerFrame = format.mBytesPerPacket = width * bits / 8;
  return format;
}

static void formats(void) {
  AudioUnit unit = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  source this = {.gain = 1};
  AudioStreamBasicDescription first = get_format(unit, kAudioUnitScope_Input, 0);
  EQUAL(first.mFormatID, kAudioFormatLinearPCM);
  CHECK(first.mFormatFlags & kAudioFormatFlagIsFloat &&
        first.mFormatFlags & kAudioFormatFlagIsNonInterleaved);
  set_callback(unit, 0, give, &this);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(unit));
  AudioTimeStamp time = at_frame(0);

  // 16 bits, interleaved, big-endian; packed is not said, and the reserved field is garbage.
  AudioStreamBasicDescription format = integers(RATE, 2, 16, kAudioFormatFlagIsBigEndian);
  format.mReserved = 77;
  set_format(unit, kAudioUnitScope_Output, 0, format);
  this.gain = 512;
  buffers all = no_memory(1);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 200, &all.list));
  EQUAL(all.list.mBuffers[0].mDataByteSize, 800);
  EQUAL(all.list.mBuffers[0].mNumberChannels, 2);
  for (int f = 0; f < 200; f++) {
    const UInt8 *bytes = (const UInt8 *)all.list.mBuffers[0].mData + 4 * f;
    EQUAL((SInt16)(bytes[0] << 8 | bytes[1]), f + 1);
    EQUAL((SInt16)(bytes[2] << 8 | bytes[3]), -(f + 1));
  }
  // 8.24 fixed point, which holds more than full scale.
  format = integers(RATE, 2, 32,
                    kAudioFormatFlagIsPacked | kAudioFormatFlagIsNonInterleaved |
                        (24 << kLinearPCMFormatFlagsSampleFractionShift));
  set_format(unit, kAudioUnitScope_Output, 0, format);
  AudioStreamBasicDescription told = get_format(unit, kAudioUnitScope_Output, 0);
  EQUAL(told.mFormatFlags, format.mFormatFlags);
  EQUAL(told.mBytesPerFrame, 4);
  EQUAL(told.mChannelsPerFrame, 2);
  this.gain = 1048576;
  time = at_frame(1000);
  this.calls = 0;
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list));
  for (int f = 0; f < 64; f++) {
    EQUAL(((const SInt32 *)all.list.mBuffers[0].mData)[f], (f + 1) * 1048576);
    EQUAL(((const SInt32 *)all.list.mBuffers[1].mData)[f], -(f + 1) * 1048576);
  }
  // The other way round: 8.24 in, doubles out.
  AudioUnit second = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  AudioUnitConnection connection = {unit, 0, 0};
  set_format(second, kAudioUnitScope_Input, 0, format);
  AudioStreamBasicDescription doubles = float_format(RATE, 2);
  doubles.mBitsPerChannel = 64;
  doubles.mBytesPerFrame = doubles.mBytesPerPacket = 16;
  set_format(second, kAudioUnitScope_Output, 0, doubles);
  WORKS(AudioUnitSetProperty(second, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &connection, sizeof connection));
  WORKS(AudioUnitInitialize(second));
  time = at_frame(2000);
  this.calls = 0;
  all = no_memory(1);
  WORKS(AudioUnitRender(second, NULL, &time, 0, 64, &all.list));
  for (int f = 0; f < 64; f++) {
    EQUAL(((const double *)all.list.mBuffers[0].mData)[2 * f], (f + 1) / 16.0);
    EQUAL(((const double *)all.list.mBuffers[0].mData)[2 * f + 1], -(f + 1) / 16.0);
  }
  // A unit cannot come before itself.
  AudioUnitConnection circle = {second, 0, 0};
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &circle, sizeof circle),
        kAudioUnitErr_InvalidPropertyValue);
  // When the first one goes, the second has no input.
  WORKS(AudioComponentInstanceDispose(unit));
  time = at_frame(3000);
  all = no_memory(1);
  GIVES(AudioUnitRender(second, NULL, &time, 0, 64, &all.list), kAudioUnitErr_NoConnection);

  // One channel goes to two; of two, one is taken.
  this.gain = 1;
  set_callback(second, 0, give, &this);
  set_format(second, kAudioUnitScope_Input, 0, planar(RATE, 1));
  set_format(second, kAudioUnitScope_Output, 0, planar(RATE, 2));
  time = at_frame(0);
  this.calls = 0;
  all = no_memory(2);
  WORKS(AudioUnitRender(second, NULL, &time, 0, 64, &all.list));
  EQUAL(this.channels, 1);
  EQUAL(plane(&all, 0)[63], wave(63));
  EQUAL(plane(&all, 1)[63], wave(63));

  // Formats and values that are refused.
  AudioStreamBasicDescription bad = planar(RATE, 2);
  bad.mFormatID = kAudioFormatMPEG4AAC;
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0,
                             &bad, sizeof bad),
        kAudioUnitErr_FormatNotSupported);
  bad = planar(RATE, 65);
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0,
                             &bad, sizeof bad),
        kAudioUnitErr_FormatNotSupported);
  bad = planar(RATE, 2);
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 1,
                             &bad, sizeof bad),
        kAudioUnitErr_InvalidElement);
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0,
                             &bad, sizeof bad - 1),
        kAudio_ParamError);
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_StreamFormat, 9, 0, &bad, sizeof bad),
        kAudioUnitErr_InvalidScope);
  GIVES(AudioUnitSetProperty(second, 9999, kAudioUnitScope_Global, 0, &bad, sizeof bad),
        kAudioUnitErr_InvalidProperty);
  UInt32 zero = 0;
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_Latency, kAudioUnitScope_Global, 0, &zero,
                             sizeof zero),
        kAudioUnitErr_PropertyNotWritable);
  GIVES(AudioUnitSetProperty(second, kAudioUnitProperty_MaximumFramesPerSlice,
                             kAudioUnitScope_Global, 0, &zero, sizeof zero),
        kAudioUnitErr_InvalidPropertyValue);
  GIVES(AudioUnitSetParameter(second, 5, kAudioUnitScope_Global, 0, 1, 0),
        kAudioUnitErr_InvalidParameter);
  WORKS(AudioComponentInstanceDispose(second));
  passed("formats");
}

static OSStatus sing(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)bus;
  double *rate = data;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    for (UInt32 f = 0; f < frames; f++)
      ((float *)list->mBuffers[i].mData)[f] =
          (float)(0.5 * sin(2 * M_PI * 1000 * (time->mSampleTime + f) / *rate));
  return noErr;
}

/// Checks that samples are a sine of 1 kHz with an amplitude, of any phase.
static void is_sine(const float *samples, int count, double rate, double amplitude) {
  double a = 0, b = 0, error = 0;
  for (int f = 0; f < count; f++) {
    a += samples[f] * sin(2 * M_PI * 1000 * f / rate) * 2 / count;
    b += samples[f] * cos(2 * M_PI * 1000 * f / rate) * 2 / count;
  }
  CHECK(fabs(sqrt(a * a + b * b) - amplitude) < 1e-4);
  for (int f = 0; f < count; f++) {
    double expected = a * sin(2 * M_PI * 1000 * f / rate) + b * cos(2 * M_PI * 1000 * f / rate);
    if (fabs(samples[f] - expected) > error) error = fabs(samples[f] - expected);
  }
  CHECK(error < 1e-4);
}

static void rates(void) {
  AudioUnit unit = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  double rate = 44100;
  set_callback(unit, 0, sing, &rate);
  set_format(unit, kAudioUnitScope_Input, 0, planar(44100, 2));
  set_format(unit, kAudioUnitScope_Output, 0, planar(48000, 2));
  WORKS(AudioUnitInitialize(unit));
  Float64 latency = 0;
  UInt32 size = sizeof latency;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_Latency, kAudioUnitScope_Global, 0, &latency,
                             &size));
  CHECK(latency > 0 && latency < 0.05);
  float all[2][24000];
  for (int f = 0; f < 24000; f += 480) {
    AudioTimeStamp time = at_frame(f);
    buffers list = no_memory(2);
    WORKS(AudioUnitRender(unit, NULL, &time, 0, 480, &list.list));
    memcpy(all[0] + f, plane(&list, 0), 480 * 4);
    memcpy(all[1] + f, plane(&list, 1), 480 * 4);
  }
  is_sine(all[0] + 14400, 9600, 48000, 0.5);
  CHECK(memcmp(all[0], all[1], sizeof all[0]) == 0);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("rates");
}

// MARK: Mixers

static void mixers(void) {
  enum {
    BUSES = 64
  };
  AudioUnit unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_number(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, BUSES);
  EQUAL(number(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0), BUSES);
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  static source sources[BUSES];
  for (UInt32 i = 0; i < BUSES; i++) {
    sources[i].gain = 1000 * (i + 1);
    set_format(unit, kAudioUnitScope_Input, i, planar(RATE, i % 2 ? 2 : 1));
    set_callback(unit, i, give, &sources[i]);
    WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, i,
                                (float)i / BUSES, 0));
    WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Pan, kAudioUnitScope_Input, i,
                                (float)i / 32 - 1, 0));
  }
  WORKS(
      AudioUnitSetParameter(unit, kMultiChannelMixerParam_Enable, kAudioUnitScope_Input, 5, 0, 0));
  WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Output, 0,
                              0.25f, 0));
  WORKS(AudioUnitInitialize(unit));
  UInt32 one = 1;
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, &one,
                             sizeof one),
        kAudioUnitErr_Initialized);
  AudioTimeStamp time = at_frame(0);
  buffers all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 256, &all.list));
  EQUAL(sources[5].calls, 0);
  for (int f = 0; f < 256; f++) {
    double expected[2] = {0, 0};
    for (UInt32 i = 0; i < BUSES; i++) {
      if (i == 5) continue;
      double pan = (float)i / 32 - 1, volume = (float)i / BUSES;
      double left = sample(&sources[i], f, 0), right = i % 2 ? sample(&sources[i], f, 1) : left;
      expected[0] += left * volume * (1 - fmax(0, pan)) / 4;
      expected[1] += right * volume * (1 + fmin(0, pan)) / 4;
    }
    for (int c = 0; c < 2; c++)
      CHECK(fabs(plane(&all, c)[f] - expected[c]) <= 1e-6 * fmax(1, fabs(expected[c])));
  }
  // A gain changes in a straight line, and is there with the last frame.
  for (UInt32 i = 0; i < BUSES; i++)
    WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Enable, kAudioUnitScope_Input, i,
                                i == 1, 0));
  WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Pan, kAudioUnitScope_Input, 1, 0, 0));
  WORKS(
      AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Output, 0, 1, 0));
  for (int f = 256; f < 768; f += 256) {
    time = at_frame(f);
    all = no_memory(2);
    WORKS(AudioUnitRender(unit, NULL, &time, 0, 256, &all.list));
  }
  EQUAL(sources[2].calls, 2);
  float before = plane(&all, 0)[255];
  EQUAL(before, sample(&sources[1], 767, 0) / 64);
  WORKS(
      AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 1, 1, 0));
  time = at_frame(768);
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 256, &all.list));
  for (int f = 0; f < 256; f++) {
    double gain = 1 / 64.0 + (1 - 1 / 64.0) * (f + 1) / 256;
    CHECK(fabs(plane(&all, 0)[f] - gain * sample(&sources[1], 768 + f, 0)) < 1e-6);
  }
  // Parameters are clipped to their ranges.
  AudioUnitParameterValue value = 0;
  WORKS(
      AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 1, 7, 0));
  WORKS(AudioUnitGetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 1,
                              &value));
  EQUAL(value, 1);
  GIVES(AudioUnitSetParameter(unit, 77, kAudioUnitScope_Input, 0, 1, 0),
        kAudioUnitErr_InvalidParameter);
  GIVES(AudioUnitSetParameter(unit, 0, kAudioUnitScope_Input, BUSES, 1, 0),
        kAudioUnitErr_InvalidElement);
  GIVES(AudioUnitSetParameter(unit, 0, 4, 0, 1, 0), kAudioUnitErr_InvalidScope);
  GIVES(AudioUnitSetParameter(unit, 0, kAudioUnitScope_Input, 0, NAN, 0), kAudio_ParamError);
  AudioUnitParameterID list[8];
  UInt32 size = sizeof list;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterList, kAudioUnitScope_Input, 0, list,
                             &size));
  // Volume, switch and pan, and four meters of the one channel.
  EQUAL(size, 7 * sizeof *list);
  CHECK(list[2] == kMultiChannelMixerParam_Pan &&
        list[3] == kMultiChannelMixerParam_PreAveragePower);
  AudioUnitParameterInfo info;
  size = sizeof info;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Input,
                             kMultiChannelMixerParam_Pan, &info, &size));
  CHECK(strcmp(info.name, "pan") == 0 && info.minValue == -1 && info.maxValue == 1 &&
        info.defaultValue == 0);
  CHECK(info.flags & kAudioUnitParameterFlag_HasCFNameString);
  CFRelease(info.cfNameString);
  CFStringRef name = CFSTR("strings"), told = NULL;
  size = sizeof told;
  GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_ElementName, kAudioUnitScope_Input, 3, &told,
                             &size),
        kAudioUnitErr_PropertyNotInUse);
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ElementName, kAudioUnitScope_Input, 3, &name,
                             sizeof name));
  size = sizeof told;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ElementName, kAudioUnitScope_Input, 3, &told,
                             &size));
  CHECK(CFEqual(name, told));
  CFRelease(told);
  // A bus at another rate.
  double rate = 44100;
  set_format(unit, kAudioUnitScope_Input, 1, planar(44100, 2));
  set_callback(unit, 1, sing, &rate);
  float sound[19200];
  for (int f = 0; f < 19200; f += 480) {
    time = at_frame(2000 + f);
    all = no_memory(2);
    WORKS(AudioUnitRender(unit, NULL, &time, 0, 480, &all.list));
    memcpy(sound + f, plane(&all, 1), 480 * 4);
  }
  is_sine(sound + 9600, 9600, 48000, 0.5);
  WORKS(AudioComponentInstanceDispose(unit));

  unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_StereoMixer);
  EQUAL(number(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0), 8);
  source this = {.gain = 1};
  set_callback(unit, 2, give, &this);
  WORKS(AudioUnitSetParameter(unit, kStereoMixerParam_Pan, kAudioUnitScope_Input, 2, 0.75f, 0));
  WORKS(AudioUnitInitialize(unit));
  time = at_frame(0);
  all = no_memory(2);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, 64, &all.list));
  EQUAL(plane(&all, 0)[63], wave(63) / 2);
  EQUAL(plane(&all, 1)[63], -wave(63));
  WORKS(AudioComponentInstanceDispose(unit));
  passed("mixers");
}

// MARK: Output units

typedef struct {
  AudioUnit unit;
  long length, played;
  _Atomic int calls;
  double first, next;
  UInt64 host;
  UInt32 frames, least, most;
  int wrong, stops_at;
} player;

static OSStatus play(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  player *this = data;
  (void)flags;
  if (bus != 0 || list == NULL || list->mNumberBuffers != 2) this->wrong++;
  if ((time->mFlags & 3) != 3 || time->mHostTime == 0) this->wrong++;
  if (this->calls == 0) {
    this->first = time->mSampleTime;
    this->host = time->mHostTime;
  } else if (time->mSampleTime != this->next) {
    this->wrong++;
  }
  this->next = time->mSampleTime + frames;
  this->frames = frames;
  for (UInt32 f = 0; f < frames; f++) {
    float value = this->played < this->length ? wave(this->played++) : 0;
    ((float *)list->mBuffers[0].mData)[f] = value;
    ((float *)list->mBuffers[1].mData)[f] = -value;
  }
  if (++this->calls == this->stops_at) WORKS(AudioOutputUnitStop(this->unit));
  return noErr;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int told_running;

static void running_changed(void *data, AudioUnit unit, AudioUnitPropertyID property,
                            AudioUnitScope scope, AudioUnitElement element) {
  (void)scope, (void)element;
  CHECK(data == &told_running && property == kAudioOutputUnitProperty_IsRunning);
  // The thread that starts or stops the unit holds the lock.
  pthread_mutex_lock(&lock);
  number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0);
  pthread_mutex_unlock(&lock);
  told_running++;
}

static void output(cue_capture *card, OSType subtype) {
  AudioUnit unit = make(kAudioUnitType_Output, subtype);
  player this = {.unit = unit, .length = 20000};
  GIVES(AudioOutputUnitStart(unit), kAudioUnitErr_Uninitialized);
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioUnitInitialize(unit));
  // In an odd scope.
  AURenderCallbackStruct callback = {play, &this};
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Global, 0,
                             &callback, sizeof callback));
  AudioStreamBasicDescription format = get_format(unit, kAudioUnitScope_Input, 0);
  EQUAL(format.mSampleRate, RATE);
  EQUAL(get_format(unit, kAudioUnitScope_Output, 0).mSampleRate, RATE);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Output, 0,
                             &format, sizeof format),
        kAudioUnitErr_PropertyNotWritable);
  WORKS(AudioUnitAddPropertyListener(unit, kAudioOutputUnitProperty_IsRunning, running_changed,
                                     (void *)&told_running));
  told_running = 0;
  UInt32 period = number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0);
  cue_capture_arm(card);
  pthread_mutex_lock(&lock);
  WORKS(AudioOutputUnitStart(unit));
  WORKS(AudioOutputUnitStart(unit));
  pthread_mutex_unlock(&lock);
  WAIT(told_running == 1);
  UInt8 byte = 0;
  UInt32 size = 1;
  WORKS(AudioUnitGetProperty(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0,
                             &byte, &size));
  CHECK(byte == 1 && size == 1);
  WAIT(this.played == this.length);
  EQUAL(this.frames, period);
  record(card, 4 * period);
  pthread_mutex_lock(&lock);
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioOutputUnitStop(unit));
  pthread_mutex_unlock(&lock);
  int calls = this.calls;
  WAIT(told_running == 2);
  let_time_pass();
  EQUAL(this.calls, calls);
  end_recording(card);
  EQUAL(this.wrong, 0);
  EQUAL(this.first, 0);
  HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, this.length));

  // It begins anew, and stops itself.
  player again = {.unit = unit, .length = 100000, .stops_at = 5};
  set_callback(unit, 0, play, &again);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(again.calls == 5);
  let_time_pass();
  EQUAL(again.calls, 5);
  EQUAL(again.first, 0);
  EQUAL(number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0), 0);
  // It goes while it runs.
  again.stops_at = 0;
  WORKS(AudioOutputUnitStart(unit));
  WAIT(again.calls > 8);
  WORKS(AudioComponentInstanceDispose(unit));
  calls = again.calls;
  int told = told_running;
  let_time_pass();
  EQUAL(again.calls, calls);
  EQUAL(told_running, told);
  passed("an output unit");
}

static void volume_and_channels(cue_capture *card) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  player this = {.unit = unit, .length = 20000};
  set_callback(unit, 0, play, &this);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  // The channels are exchanged: the second is the negative of the first.
  const SInt32 map[] = {1, 0};
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Output, 0,
                             map, sizeof map));
  SInt32 told[2] = {7, 7};
  UInt32 size = sizeof told;
  WORKS(AudioUnitGetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Output, 0,
                             told, &size));
  CHECK(size == sizeof map && memcmp(told, map, sizeof map) == 0);
  WORKS(AudioUnitSetParameter(unit, kHALOutputParam_Volume, kAudioUnitScope_Output, 0, 0.5f, 0));
  AudioUnitParameterValue value = 0;
  WORKS(AudioUnitGetParameter(unit, kHALOutputParam_Volume, kAudioUnitScope_Global, 3, &value));
  EQUAL(value, 0.5f);
  WORKS(AudioUnitInitialize(unit));
  cue_capture_arm(card);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(this.played == this.length);
  record(card, 8192);
  WORKS(AudioOutputUnitStop(unit));
  end_recording(card);
  size_t start = find_sound(card, 0);
  for (long f = 0; f < this.length; f++) {
    EQUAL(cue_capture_samples(card, 0)[start + (size_t)f], -wave(f) / 2);
    EQUAL(cue_capture_samples(card, 1)[start + (size_t)f], wave(f) / 2);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("volume and channels");
}

typedef struct {
  AudioUnit unit;
  _Atomic int calls, frames;
} stopper;

static OSStatus stop_inside(void *data, AudioUnitRenderActionFlags *flags,
                            const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                            AudioBufferList *list) {
  stopper *this = data;
  (void)time, (void)bus, (void)list;
  *flags |= kAudioUnitRenderAction_OutputIsSilence;
  this->frames = (int)frames;
  if (++this->calls == 4) WORKS(AudioOutputUnitStop(this->unit));
  return noErr;
}

static void at_another_rate(cue_capture *card) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  double rate = 44100;
  set_callback(unit, 0, sing, &rate);
  set_format(unit, kAudioUnitScope_Input, 0, planar(44100, 2));
  WORKS(AudioUnitInitialize(unit));
  cue_capture_arm(card);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(find_sound(card, 0) < cue_capture_frames(card));
  size_t begin = find_sound(card, 0);
  WAIT(cue_capture_frames(card) >= begin + RATE / 2);
  end_recording(card);
  WORKS(AudioOutputUnitStop(unit));
  is_sine(cue_capture_samples(card, 0) + begin + 9600, 14400, RATE, 0.5);
  // A unit that its callback stops is not called again, and each call has the device's length.
  stopper this = {.unit = unit};
  set_callback(unit, 0, stop_inside, &this);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(this.calls >= 4);
  let_time_pass();
  EQUAL(this.calls, 4);
  EQUAL(this.frames, number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0));
  WORKS(AudioComponentInstanceDispose(unit));
  passed("at another rate");
}

// MARK: Recording

typedef struct {
  AudioUnit unit;
  _Atomic int calls, inputs;
  int wrong;
} passer;

static OSStatus has_input(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  passer *this = data;
  if (bus != 1 || list != NULL || (time->mFlags & 3) != 3) this->wrong++;
  buffers all = no_memory(2);
  if (AudioUnitRender(this->unit, flags, time, 1, frames, &all.list) != noErr) this->wrong++;
  if (all.list.mBuffers[0].mDataByteSize != 4 * frames) this->wrong++;
  this->inputs++;
  return noErr;
}

static OSStatus pass_on(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                        UInt32 bus, UInt32 frames, AudioBufferList *list) {
  passer *this = data;
  (void)bus;
  OSStatus status = AudioUnitRender(this->unit, flags, time, 1, frames, list);
  if (status != noErr || *flags & kAudioUnitRenderAction_OutputIsSilence) this->wrong++;
  this->calls++;
  return status;
}

static void thru(cue_capture *card, cue_emitter *emitter) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  passer this = {.unit = unit};
  EQUAL(number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1), 0);
  EQUAL(number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0), 1);
  EQUAL(number(unit, kAudioOutputUnitProperty_HasIO, kAudioUnitScope_Input, 1), 1);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 1);
  AURenderCallbackStruct input = {has_input, &this};
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_SetInputCallback,
                             kAudioUnitScope_Output, 0, &input, sizeof input));
  set_callback(unit, 0, pass_on, &this);
  set_format(unit, kAudioUnitScope_Output, 1, planar(RATE, 2));
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  UInt32 period = number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0);
  CHECK(period > 0);
  WORKS(AudioUnitInitialize(unit));
  AudioTimeStamp time = at_frame(0);
  buffers all = no_memory(2);
  GIVES(AudioUnitRender(unit, NULL, &time, 1, 64, &all.list),
        kAudioUnitErr_CannotDoInCurrentContext);
  WORKS(AudioOutputUnitStart(unit));
  for (int i = 1; i <= 2; i++) {
    char from[100], to[200];
    snprintf(from, sizeof from, "emitter:out_%d", i);
    snprintf(to, sizeof to, "%s:in_%d", client, i);
    int result = jack_connect(cue_emitter_client(emitter), from, to);
    CHECK(result == 0 || result == EEXIST);
  }
  int begun = this.calls;
  WAIT(this.calls > begun + 8);
  cue_capture_arm(card);
  record(card, 40000);
  cue_capture_disarm(card);
  WORKS(AudioOutputUnitStop(unit));
  CHECK(this.inputs > 0);
  EQUAL(this.wrong, 0);
  // No frame is added.
  uint32_t first = cue_capture_first_frame(card) - (uint32_t)card_delay(card);
  for (unsigned channel = 0; channel < 2; channel++)
    for (uint32_t i = 0; i < 40000; i++)
      EQUAL(cue_capture_samples(card, channel)[i], cue_emitter_sample(first + i, channel));
  // The connections that the emitter has made are there again when the unit is started again.
  jack_client_t *jack = cue_emitter_client(emitter);
  jack_port_t *source = jack_port_by_name(jack, "emitter:out_1");
  char own[200];
  snprintf(own, sizeof own, "%s:in_1", client);
  EQUAL(jack_port_connected_to(source, own), 0);
  WORKS(AudioOutputUnitStart(unit));
  EQUAL(jack_port_connected_to(source, own), 1);
  // Another unit, in the other direction or in both, leaves them.
  AudioUnit second = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  set_callback(second, 0, pass_on, &this);
  WORKS(AudioUnitInitialize(second));
  WORKS(AudioOutputUnitStart(second));
  EQUAL(jack_port_connected_to(source, own), 1);
  WORKS(AudioComponentInstanceDispose(second));
  EQUAL(jack_port_connected_to(source, own), 1);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("thru");
}

// MARK: The device

static _Atomic int told_frames;

static void frames_changed(void *data, AudioUnit unit, AudioUnitPropertyID property,
                           AudioUnitScope scope, AudioUnitElement element) {
  (void)data, (void)unit;
  CHECK(property == kAudioDevicePropertyBufferFrameSize);
  // The address with which the property was set.
  CHECK(scope == kAudioUnitScope_Output && element == 3);
  told_frames++;
}

static void device(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  AudioDeviceID id =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  CHECK(id != kAudioObjectUnknown);
  // Any scope, element 0 or 1; the device that it has already.
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Output,
                             1, &id, sizeof id));
  AudioDeviceID none = 77777;
  GIVES(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global,
                             0, &none, sizeof none),
        kAudioUnitErr_InvalidPropertyValue);
  Float64 rate = 0;
  UInt32 size = sizeof rate;
  WORKS(AudioUnitGetProperty(unit, kAudioDevicePropertyNominalSampleRate, kAudioUnitScope_Global, 0,
                             &rate, &size));
  EQUAL(rate, RATE);
  Boolean writable = false;
  WORKS(AudioUnitGetPropertyInfo(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Output,
                                 3, &size, &writable));
  CHECK(size == 4 && writable);
  WORKS(AudioUnitAddPropertyListener(unit, kAudioDevicePropertyBufferFrameSize, frames_changed,
                                     NULL));
  UInt32 before = number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0);
  set_number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Output, 3, before / 2);
  WAIT(told_frames == 1);
  EQUAL(number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0), before / 2);
  set_number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Output, 3, before);
  WAIT(told_frames == 2);
  WORKS(AudioUnitRemovePropertyListenerWithUserData(unit, kAudioDevicePropertyBufferFrameSize,
                                                    frames_changed, NULL));
  // Calls of no more frames than the unit's maximum.
  player this = {.unit = unit, .length = 20000};
  set_callback(unit, 0, play, &this);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0, 100);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(this.played == this.length);
  WORKS(AudioOutputUnitStop(unit));
  CHECK(this.frames <= 100 && this.wrong == 0);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("the device");
}

// MARK: A callback that does not return

static _Atomic int blocked, released;

static OSStatus block(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                      UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus, (void)frames, (void)list;
  blocked = 1;
  while (!released)
    usleep(1000);
  return noErr;
}

/// Disposes of a unit while its callback blocks. The memory that the callback's cycle goes on to
/// use must stay.
static void blocks(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  set_callback(unit, 0, block, NULL);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(blocked);
  WORKS(AudioComponentInstanceDispose(unit));
  released = 1;
  let_time_pass();
  passed("a callback that does not return");
}

int main(int count, char **arguments) {
  snprintf(client, sizeof client, "%s", strrchr(arguments[0], '/') + 1);
  components();
  if (count > 1) {
    // The unit is kept for good: the leak check of the program's end would find it.
    blocks();
    _exit(0);
  }
  properties();
  renders();
  formats();
  rates();
  mixers();
  cue_capture *card = open_card(10);
  output(card, kAudioUnitSubType_DefaultOutput);
  output(card, kAudioUnitSubType_RemoteIO);
  volume_and_channels(card);
  at_another_rate(card);
  jack_status_t status;
  cue_emitter *emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 2, &status);
  CHECK(emitter != NULL);
  thru(card, emitter);
  cue_emitter_close(emitter);
  device();
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
