// Numbers that no sound has, in every argument, structure and property that takes one. Each call
// may succeed or fail, but the program goes on.
#include "soundfiles.h"
#include "units.h"

#include <AudioToolbox/AUGraph.h>
#include <signal.h>
#include <sys/resource.h>

static const double Doubles[] = {
    NAN,    INFINITY, -INFINITY, 1e19,    -1e19,   1e300,         -1e300, -1,     -0.0,
    5e-324, -5e-324,  1e-300,    0x1p31,  -0x1p31, 0x1p32,        0x1p53, 0x1p60, 0x1p62,
    0x1p63, -0x1p63,  0x1p64,    0.49999, 3e9,     1.7976931e308, 0};
static const UInt32 Words[] = {0,          1,          2,          255,        256,       0x10000,
                               0x7FFFFFFF, 0x80000000, 0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF};
static const SInt64 Longs[] = {
    0, 1, -1, INT64_MIN, INT64_MAX, INT64_MAX - 1, 1ll << 32, 1ll << 62, -(1ll << 62), 0xFFFFFFFF};

#define COUNT(list)           ((int)(sizeof(list) / sizeof *(list)))
#define EACH(list, i)         for (int i = 0; i < COUNT(list); i++)
#define EACH_STAMP(stamp)     for (int n_ = 0; next_stamp(&stamp, n_); n_++)
#define EACH_PATTERN(pattern) for (int n_ = first(); next_pattern(&pattern, n_); n_ += stride())

static const char *present = "";

/// The long proof takes every pattern, the gate each twelfth.
static int stride(void) {
  static int found;
  if (!found) found = getenv("CUEJACK_PROOF") ? 1 : 12;
  return found;
}

/// Each loop begins one pattern later, so that the gate takes all of them, too, with some size or
/// id.
static int first(void) {
  static int loops;
  return loops++ % stride();
}

/// Prints the call that crashed.
static void crashed(int number) {
  char text[500];
  int length = snprintf(text, sizeof text, "signal %d in %s\n", number, present);
  if (write(STDOUT_FILENO, text, (size_t)length) < 0) _exit(3);
  _exit(2);
}

/// Makes a call whose status does not matter.
#define TRY(call) (present = #call, (void)(call))

// MARK: Values

/// Stores the stamp with number `n`: each sample time and each host time, alone and together.
static bool next_stamp(AudioTimeStamp *stamp, int n) {
  memset(stamp, 0, sizeof *stamp);
  int doubles = COUNT(Doubles), longs = COUNT(Longs);
  if (n < doubles) {
    stamp->mSampleTime = Doubles[n];
    stamp->mRateScalar = Doubles[doubles - 1 - n];
    stamp->mFlags = kAudioTimeStampSampleTimeValid | kAudioTimeStampRateScalarValid;
  } else if (n < doubles + longs) {
    stamp->mHostTime = (UInt64)Longs[n - doubles];
    stamp->mFlags = kAudioTimeStampHostTimeValid;
  } else if (n < doubles + 2 * longs) {
    stamp->mSampleTime = Doubles[n % doubles];
    stamp->mHostTime = (UInt64)Longs[n - doubles - longs];
    stamp->mFlags = 0xFFFFFFFF;
  } else {
    return false;
  }
  return true;
}

/// Bytes that repeat one number.
typedef union {
  double doubles[32];
  Float32 floats[64];
  UInt32 words[64];
  SInt64 longs[32];
  char bytes[256];
} Pattern;

static bool next_pattern(Pattern *pattern, int n) {
  int doubles = COUNT(Doubles), words = COUNT(Words), longs = COUNT(Longs);
  if (n < doubles) {
    for (int i = 0; i < 32; i++)
      pattern->doubles[i] = Doubles[n];
  } else if ((n -= doubles) < doubles) {
    for (int i = 0; i < 64; i++)
      pattern->floats[i] = (Float32)Doubles[n];
  } else if ((n -= doubles) < words) {
    for (int i = 0; i < 64; i++)
      pattern->words[i] = Words[n];
  } else if ((n -= words) < longs) {
    for (int i = 0; i < 32; i++)
      pattern->longs[i] = Longs[n];
  } else {
    return false;
  }
  return true;
}

/// Sizes of values: of a number, of structures, and none that a value has.
static const UInt32 Sizes[] = {0, 1, 4, 8, 12, 16, 20, 24, 32, 40, 64, 256};

/// Formats with one number changed.
static bool next_format(AudioStreamBasicDescription *format, int n) {
  static const AudioFormatID ids[] = {kAudioFormatLinearPCM, kAudioFormatMPEG4AAC,
                                      kAudioFormatAppleLossless, kAudioFormatAppleIMA4};
  int doubles = COUNT(Doubles), words = COUNT(Words), each = doubles + 5 * words;
  if (n >= each * COUNT(ids)) return false;
  *format = float_format(44100, 2);
  if (n / each > 0) *format = named(ids[n / each], 44100, 2);
  n %= each;
  if (n < doubles) {
    format->mSampleRate = Doubles[n];
    return true;
  }
  n -= doubles;
  UInt32 *fields[] = {&format->mFormatFlags, &format->mBytesPerPacket, &format->mFramesPerPacket,
                      &format->mChannelsPerFrame, &format->mBitsPerChannel};
  *fields[n / words] = Words[n % words];
  if (fields[n / words] == &format->mBytesPerPacket) format->mBytesPerFrame = Words[n % words];
  return true;
}

// MARK: Queues

static void taken(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 count,
                     const AudioStreamPacketDescription *packets) {
  (void)data, (void)queue, (void)buffer, (void)start, (void)count, (void)packets;
}

static AudioQueueRef output_queue(double rate) {
  AudioStreamBasicDescription format = float_format(rate, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, taken, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static void test_queue_times(double rate) {
  AudioQueueRef queue = output_queue(rate);
  UInt32 on = 1;
  AudioQueueSetProperty(queue, kAudioQueueProperty_EnableTimePitch, &on, sizeof on);
  AudioQueueBufferRef buffer = new_buffer(queue, 512);
  AudioTimeStamp stamp, out;
  EACH_STAMP(stamp) {
    fill_with_wave(buffer, 0, 512);
    AudioTimeStamp found = stamp;
    TRY(AudioQueueDeviceGetNearestStartTime(queue, &found, 0));
    TRY(AudioQueueDeviceTranslateTime(queue, &stamp, &out));
    TRY(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 0, NULL, &stamp, &out));
    TRY(AudioQueueStart(queue, &stamp));
    TRY(AudioQueueGetCurrentTime(queue, NULL, &out, NULL));
    found = stamp;
    TRY(AudioQueueDeviceGetNearestStartTime(queue, &found, 0));
    TRY(AudioQueueDeviceTranslateTime(queue, &stamp, &out));
    TRY(AudioQueueStop(queue, true));
  }
  WORKS(AudioQueueStart(queue, NULL));
  EACH_STAMP(stamp) {
    TRY(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 0, NULL, &stamp, &out));
    TRY(AudioQueueReset(queue));
  }
  // Not a number is an error, not "now".
  stamp = at_frame(NAN);
  GIVES(AudioQueueDeviceTranslateTime(queue, &stamp, &out), kAudio_ParamError);
  WORKS(AudioQueueStop(queue, true));
  GIVES(AudioQueueStart(queue, &stamp), kAudio_ParamError);
  WORKS(AudioQueueDispose(queue, true));
}

static void test_queue_parameters(void) {
  AudioQueueRef queue = output_queue(44100);
  UInt32 on = 1;
  AudioQueueSetProperty(queue, kAudioQueueProperty_EnableTimePitch, &on, sizeof on);
  AudioQueueBufferRef buffer = new_buffer(queue, 512);
  static const AudioQueueParameterID ids[] = {
      kAudioQueueParam_Volume, kAudioQueueParam_PlayRate, kAudioQueueParam_Pitch,
      kAudioQueueParam_VolumeRampTime, kAudioQueueParam_Pan};
  WORKS(AudioQueueStart(queue, NULL));
  EACH(ids, i) EACH(Doubles, k) {
    AudioQueueParameterEvent event = {ids[i], (Float32)Doubles[k]};
    TRY(AudioQueueSetParameter(queue, ids[i], (Float32)Doubles[k]));
    fill_with_wave(buffer, 0, 512);
    TRY(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 1, &event, NULL, NULL));
    TRY(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, k & 1));
    Float32 value = NAN;
    WORKS(AudioQueueGetParameter(queue, ids[i], &value));
    CHECK(value == value);
    TRY(AudioQueueReset(queue));
  }
  EACH(Words, i) EACH(Words, k) {
    TRY(AudioQueueEnqueueBufferWithParameters(queue, buffer, Words[i] & 0xFF, NULL, Words[i],
                                              Words[k], 0, NULL, NULL, NULL));
    TRY(AudioQueueSetParameter(queue, Words[i], 1));
    buffer->mAudioDataByteSize = Words[k];
    TRY(AudioQueueEnqueueBuffer(queue, buffer, Words[i] & 0xFF, NULL));
    buffer->mAudioDataByteSize = 4096;
    TRY(AudioQueueReset(queue));
    TRY(AudioQueueFreeBuffer(queue, (AudioQueueBufferRef)(uintptr_t)Words[k]));
  }
  EACH(Words, i) {
    UInt32 ready;
    TRY(AudioQueuePrime(queue, Words[i], &ready));
    TRY(AudioQueueDeviceGetNearestStartTime(queue, &(AudioTimeStamp){.mFlags = 1}, Words[i]));
  }
  WORKS(AudioQueueDispose(queue, true));
}

static void test_queue_packets(void) {
  AudioStreamBasicDescription format = named(kAudioFormatMPEG4AAC, 44100, 2);
  format.mFramesPerPacket = 1024;
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, taken, NULL, NULL, NULL, 0, &queue));
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueAllocateBufferWithPacketDescriptions(queue, 512, 4, &buffer));
  EACH(Longs, i) EACH(Words, k) EACH(Words, m) {
    AudioStreamPacketDescription packets[2] = {{Longs[i], Words[m], Words[k]},
                                               {Longs[i], Words[k], Words[m]}};
    buffer->mAudioDataByteSize = 512;
    TRY(AudioQueueEnqueueBuffer(queue, buffer, 2, packets));
    memcpy(buffer->mPacketDescriptions, packets, sizeof packets);
    buffer->mPacketDescriptionCount = m & 1 ? 2 : Words[k];
    TRY(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
    TRY(AudioQueueReset(queue));
  }
  WORKS(AudioQueueDispose(queue, true));
}

/// Memory that nobody fills is not taken.
static void test_queue_sizes(void) {
  AudioQueueRef queue = output_queue(RATE);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 4; i++)
    EACH(Words, k) {
      AudioQueueBufferRef buffer = NULL;
      TRY(AudioQueueAllocateBuffer(queue, Words[k], &buffer));
      TRY(AudioQueueAllocateBufferWithPacketDescriptions(queue, 64, Words[k], &buffer));
      TRY(AudioQueueAllocateBufferWithPacketDescriptions(queue, Words[k], Words[k], &buffer));
    }
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < 1 << 18);
  WORKS(AudioQueueDispose(queue, true));
}

static void test_queue_properties(void) {
  static const AudioQueuePropertyID ids[] = {kAudioQueueProperty_IsRunning,
                                             kAudioQueueDeviceProperty_SampleRate,
                                             kAudioQueueDeviceProperty_NumberChannels,
                                             kAudioQueueProperty_MagicCookie,
                                             kAudioQueueProperty_MaximumOutputPacketSize,
                                             kAudioQueueProperty_StreamDescription,
                                             kAudioQueueProperty_ChannelLayout,
                                             kAudioQueueProperty_EnableLevelMetering,
                                             kAudioQueueProperty_CurrentLevelMeter,
                                             kAudioQueueProperty_CurrentLevelMeterDB,
                                             kAudioQueueProperty_EnableTimePitch,
                                             kAudioQueueProperty_TimePitchAlgorithm,
                                             kAudioQueueProperty_TimePitchBypass,
                                             kAudioQueueProperty_DecodeBufferSizeFrames,
                                             kAudioQueueProperty_ConverterError,
                                             kAudioQueueProperty_HardwareCodecPolicy,
                                             kAudioConverterEncodeBitRate,
                                             kAudioConverterPropertyMaximumOutputPacketSize};
  AudioStreamBasicDescription format = named(kAudioFormatMPEG4AAC, 44100, 2);
  AudioQueueRef queues[2] = {output_queue(44100)};
  TRY(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 0, &queues[1]));
  Pattern pattern, copy;
  EACH(queues, q) EACH(ids, i) EACH(Sizes, s) EACH_PATTERN(pattern) {
    UInt32 size = Sizes[s];
    TRY(AudioQueueSetProperty(queues[q], ids[i], &pattern, size));
    copy = pattern;
    TRY(AudioQueueGetProperty(queues[q], ids[i], &copy, &size));
  }
  EACH(queues, q) TRY(AudioQueueDispose(queues[q], true));
}

static void test_queue_formats(void) {
  AudioStreamBasicDescription format;
  for (int n = 0; next_format(&format, n); n++) {
    AudioQueueRef queue = NULL;
    AudioQueueBufferRef buffer = NULL;
    TRY(AudioQueueNewOutput(&format, taken, NULL, NULL, NULL, Words[n % COUNT(Words)], &queue));
    if (queue) {
      TRY(AudioQueueAllocateBuffer(queue, 4096, &buffer));
      TRY(AudioQueueSetOfflineRenderFormat(queue, &format, NULL));
      TRY(AudioQueueDispose(queue, true));
    }
    queue = NULL;
    TRY(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 0, &queue));
    if (queue) TRY(AudioQueueDispose(queue, true));
  }
}

static void test_offline(void) {
  AudioQueueRef queue = output_queue(44100);
  AudioStreamBasicDescription format = float_format(48000, 2);
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, NULL));
  AudioQueueBufferRef result = NULL;
  WORKS(AudioQueueAllocateBuffer(queue, 4096, &result));
  AudioQueueBufferRef buffer = new_buffer(queue, 512);
  WORKS(AudioQueueStart(queue, NULL));
  AudioTimeStamp stamp;
  EACH_STAMP(stamp) {
    fill_with_wave(buffer, 0, 512);
    TRY(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 0, NULL, &stamp, NULL));
    TRY(AudioQueueOfflineRender(queue, &stamp, result, Words[n_ % COUNT(Words)]));
    TRY(AudioQueueReset(queue));
  }
  WORKS(AudioQueueDispose(queue, true));
}

// MARK: Units

/// Properties whose values hold no pointers.
static const AudioUnitPropertyID UnitNumbers[] = {kAudioUnitProperty_SampleRate,
                                                  kAudioUnitProperty_CPULoad,
                                                  kAudioUnitProperty_StreamFormat,
                                                  kAudioUnitProperty_ElementCount,
                                                  kAudioUnitProperty_Latency,
                                                  kAudioUnitProperty_SupportedNumChannels,
                                                  kAudioUnitProperty_MaximumFramesPerSlice,
                                                  kAudioUnitProperty_AudioChannelLayout,
                                                  kAudioUnitProperty_TailTime,
                                                  kAudioUnitProperty_BypassEffect,
                                                  kAudioUnitProperty_LastRenderError,
                                                  kAudioUnitProperty_RenderQuality,
                                                  kAudioUnitProperty_InPlaceProcessing,
                                                  kAudioUnitProperty_SupportedChannelLayoutTags,
                                                  kAudioUnitProperty_OfflineRender,
                                                  kAudioUnitProperty_ShouldAllocateBuffer,
                                                  kAudioUnitProperty_MakeConnection,
                                                  kAudioUnitProperty_MatrixLevels,
                                                  kAudioUnitProperty_MeteringMode,
                                                  kAudioUnitProperty_MatrixDimensions,
                                                  kAudioUnitProperty_ScheduleStartTimeStamp,
                                                  kAudioUnitProperty_CurrentPlayTime,
                                                  kAudioUnitProperty_ScheduledFileIDs,
                                                  kAudioUnitProperty_ScheduledFilePrime,
                                                  kAudioUnitProperty_ScheduledFileBufferSizeFrames,
                                                  kAudioUnitProperty_ScheduledFileNumberBuffers,
                                                  kAUNBandEQProperty_NumberOfBands,
                                                  kAUNBandEQProperty_MaxNumberOfBands,
                                                  kAudioUnitProperty_3DMixerDistanceParams,
                                                  kAudioOutputUnitProperty_ChannelMap,
                                                  kAudioOutputUnitProperty_EnableIO,
                                                  kAudioOutputUnitProperty_StartTimestampsAtZero,
                                                  kAudioOutputUnitProperty_CurrentDevice,
                                                  kAudioOutputUnitProperty_IsRunning};

static AudioTimeStamp present_stamp;
static UInt32 asked_frames;

/// A host whose times are no times.
static OSStatus no_beat(void *data, Float64 *beat, Float64 *tempo) {
  *beat = *(double *)data;
  *tempo = *(double *)data;
  return noErr;
}

static OSStatus no_meter(void *data, UInt32 *frames, Float32 *beats, UInt32 *unit, Float64 *down) {
  *frames = 0xFFFFFFFF;
  *beats = (Float32) * (double *)data;
  *unit = 0xFFFFFFFF;
  *down = *(double *)data;
  return noErr;
}

static OSStatus no_transport(void *data, Boolean *plays, Boolean *changed, Float64 *frame,
                             Boolean *cycles, Float64 *start, Float64 *end) {
  *plays = true;
  *changed = *cycles = false;
  *frame = *start = *end = *(double *)data;
  return noErr;
}

static void render(AudioUnit unit) {
  buffers all = no_memory(2);
  AudioUnitRenderActionFlags flags = 0;
  TRY(AudioUnitRender(unit, &flags, &present_stamp, 0, asked_frames, &all.list));
}

/// Lets a unit render again.
static void set_usual(AudioUnit unit) {
  AudioStreamBasicDescription format = planar(RATE, 2);
  UInt32 frames = 512;
  AudioUnitSetProperty(unit, kAudioUnitProperty_MaximumFramesPerSlice, 0, 0, &frames,
                       sizeof frames);
  for (UInt32 scope = kAudioUnitScope_Input; scope <= kAudioUnitScope_Output; scope++)
    AudioUnitSetProperty(unit, kAudioUnitProperty_StreamFormat, scope, 0, &format, sizeof format);
}

static void test_unit(AudioComponent component) {
  AudioUnit unit = NULL;
  AudioComponentDescription kind;
  WORKS(AudioComponentGetDescription(component, &kind));
  // Each change of one that is ready takes a tenth of a second.
  bool is_slow = kind.componentSubType == kAudioUnitSubType_NewTimePitch ||
                 kind.componentSubType == kAudioUnitSubType_TimePitch;
  TRY(AudioComponentInstanceNew(component, &unit));
  if (!unit) return;
  static const AudioUnitScope scopes[] = {kAudioUnitScope_Global, kAudioUnitScope_Input,
                                          kAudioUnitScope_Output, 99};
  static const UInt32 elements[] = {0, 1, 0xFFFFFFFF};
  Pattern pattern, copy;
  double number = 0;
  HostCallbackInfo host = {&number, no_beat, no_meter, no_transport, NULL};
  present_stamp = at_frame(0);
  asked_frames = 64;
  TRY(AudioUnitSetProperty(unit, kAudioUnitProperty_HostCallbacks, 0, 0, &host, sizeof host));
  for (int is_ready = 0; is_ready < (is_slow ? 1 : 2); is_ready++) {
    if (is_ready) TRY(AudioUnitInitialize(unit));
    // Once the unit is ready, its kernel takes what comes with each render.
    EACH(UnitNumbers, i) EACH(scopes, s) EACH(elements, e) {
      UInt32 size = 0;
      Boolean writable = false;
      present = "AudioUnitGetPropertyInfo";
      if (AudioUnitGetPropertyInfo(unit, UnitNumbers[i], scopes[s], elements[e], &size, &writable))
        continue;
      if (size > sizeof pattern) continue;
      UInt32 wanted = size;
      EACH_PATTERN(pattern) {
        // Each change of a unit that is ready takes time.
        if (is_ready && n_ % 5) continue;
        if (writable)
          TRY(AudioUnitSetProperty(unit, UnitNumbers[i], scopes[s], elements[e], &pattern, wanted));
        copy = pattern;
        size = wanted;
        TRY(AudioUnitGetProperty(unit, UnitNumbers[i], scopes[s], elements[e], &copy, &size));
        if (is_ready) render(unit);
      }
      // Conversions of rates take long to prepare.
      if (UnitNumbers[i] < kAudioUnitProperty_TailTime) set_usual(unit);
    }
    AudioStreamBasicDescription format;
    for (int n = 0; !is_ready && n < 80 && next_format(&format, n); n++)
      TRY(AudioUnitSetProperty(unit, kAudioUnitProperty_StreamFormat,
                               n & 1 ? kAudioUnitScope_Input : kAudioUnitScope_Output, 0, &format,
                               sizeof format));
    set_usual(unit);
  }
  TRY(AudioUnitInitialize(unit));
  AudioTimeStamp stamp;
  EACH_STAMP(stamp) {
    present_stamp = stamp;
    number = Doubles[n_ % COUNT(Doubles)];
    render(unit);
    TRY(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleStartTimeStamp, 0, 0, &stamp,
                             sizeof stamp));
    render(unit);
    buffers all = no_memory(2);
    float samples[2][64] = {{0}};
    for (int i = 0; i < 2; i++)
      all.list.mBuffers[i] = (AudioBuffer){1, 256, samples[i]};
    AudioUnitRenderActionFlags flags = 0;
    TRY(AudioUnitProcess(unit, &flags, &stamp, 64, &all.list));
  }
  present_stamp = at_frame(0);
  EACH(Words, i) {
    asked_frames = Words[i];
    render(unit);
    buffers all = no_memory(Words[i] & 3);
    AudioUnitRenderActionFlags flags = Words[i];
    TRY(AudioUnitRender(unit, &flags, &present_stamp, Words[i], 64, &all.list));
    EACH(Words, k) {
      TRY(MusicDeviceMIDIEvent(unit, Words[i], Words[k], Words[i], Words[k]));
      TRY(MusicDeviceMIDIEvent(unit, 0x90, Words[k], Words[i], Words[k]));
    }
    TRY(AudioUnitReset(unit, Words[i], Words[i]));
  }
  asked_frames = 64;
  UInt32 size = 0;
  UInt32 ids[64] = {0};
  if (AudioUnitGetPropertyInfo(unit, kAudioUnitProperty_ParameterList, 0, 0, &size, NULL) ||
      size > sizeof ids)
    size = sizeof ids;
  AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterList, 0, 0, ids, &size);
  for (UInt32 p = 0; p < (is_slow ? 1 : 6); p++)
    EACH(Doubles, k) {
      Float32 value = (Float32)Doubles[k];
      UInt32 id = p < size / 4 ? ids[p] : Words[k % COUNT(Words)];
      UInt32 word = Words[k % COUNT(Words)];
      TRY(AudioUnitSetParameter(unit, id, 0, 0, value, 0));
      render(unit);
      TRY(AudioUnitSetParameter(unit, id, word & 3, word, value, word));
      AudioUnitParameterEvent events[2];
      memset(events, 0, sizeof events);
      events[0].parameter = events[1].parameter = id;
      events[0].eventType = kParameterEvent_Ramped;
      events[0].eventValues.ramp.startBufferOffset = (SInt32)word;
      events[0].eventValues.ramp.durationInFrames = Words[(k + 3) % COUNT(Words)];
      events[0].eventValues.ramp.startValue = value;
      events[0].eventValues.ramp.endValue = -value;
      events[1].eventType = kParameterEvent_Immediate;
      events[1].eventValues.immediate.bufferOffset = word;
      events[1].eventValues.immediate.value = value;
      TRY(AudioUnitScheduleParameters(unit, events, 2));
      render(unit);
      Float32 found = 0;
      present = "AudioUnitGetParameter";
      if (AudioUnitGetParameter(unit, id, 0, 0, &found) == noErr) CHECK(found == found);
    }
  TRY(AudioUnitUninitialize(unit));
  TRY(AudioComponentInstanceDispose(unit));
}

static void test_units(void) {
  // One of each kind.
  static const OSType subtypes[] = {kAudioUnitSubType_RemoteIO,
                                    kAudioUnitSubType_GenericOutput,
                                    kAudioUnitSubType_AUConverter,
                                    kAudioUnitSubType_Varispeed,
                                    kAudioUnitSubType_TimePitch,
                                    kAudioUnitSubType_MultiChannelMixer,
                                    kAudioUnitSubType_MatrixMixer,
                                    kAudioUnitSubType_3DMixer,
                                    kAudioUnitSubType_NBandEQ,
                                    kAudioUnitSubType_AUiPodEQ,
                                    kAudioUnitSubType_Delay,
                                    kAudioUnitSubType_AudioFilePlayer,
                                    kAudioUnitSubType_ScheduledSoundPlayer};
  EACH(subtypes, i) {
    AudioComponentDescription wanted = describe(0, subtypes[i]);
    AudioComponent component = AudioComponentFindNext(NULL, &wanted);
    CHECK(component != NULL);
    test_unit(component);
  }
}

static void test_slices(void) {
  AudioUnit unit = make(kAudioUnitType_Generator, kAudioUnitSubType_ScheduledSoundPlayer);
  WORKS(AudioUnitInitialize(unit));
  static float samples[2][512];
  static ScheduledAudioSlice slices[100];
  static buffers all;
  all = no_memory(2);
  for (int i = 0; i < 2; i++)
    all.list.mBuffers[i] = (AudioBuffer){1, sizeof samples[i], samples[i]};
  AudioTimeStamp stamp = at_frame(-1);
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleStartTimeStamp, 0, 0, &stamp,
                             sizeof stamp));
  asked_frames = 64;
  EACH_STAMP(stamp) {
    slices[n_].mTimeStamp = stamp;
    slices[n_].mNumberFrames = n_ & 1 ? 512 : 0;
    slices[n_].mBufferList = &all.list;
    TRY(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleAudioSlice, 0, 0, &slices[n_],
                             sizeof slices[n_]));
    present_stamp = at_frame(64 * n_);
    render(unit);
    present_stamp = stamp;
    render(unit);
  }
  WORKS(AudioUnitReset(unit, 0, 0));
  stamp = at_frame(NAN);
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleStartTimeStamp, 0, 0, &stamp,
                             sizeof stamp),
        kAudioUnitErr_InvalidPropertyValue);
  WORKS(AudioComponentInstanceDispose(unit));
}

static int events_heard;
static void heard(void *data, void *object, const AudioUnitEvent *event, UInt64 time,
                  Float32 value) {
  (void)data, (void)object, (void)event, (void)time, (void)value;
  events_heard++;
}

static void heard_value(void *data, void *object, const AudioUnitParameter *parameter,
                        Float32 value) {
  (void)data, (void)object, (void)parameter, (void)value;
}

static void test_listeners(void) {
  AudioUnit unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  WORKS(AudioUnitInitialize(unit));
  AudioUnitParameter volume = {unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0};
  AudioUnitEvent event;
  memset(&event, 0, sizeof event);
  event.mEventType = kAudioUnitEvent_ParameterValueChange;
  event.mArgument.mParameter = volume;
  EACH(Doubles, i) EACH(Doubles, k) {
    AUEventListenerRef listener = NULL;
    WORKS(AUEventListenerCreate(heard, NULL, NULL, NULL, (Float32)Doubles[i], (Float32)Doubles[k],
                                &listener));
    WORKS(AUEventListenerAddEventType(listener, NULL, &event));
    for (int n = 0; n < 3; n++)
      TRY(AUParameterSet(NULL, NULL, &volume, 0.1f * (Float32)n, 0));
    WORKS(AUListenerDispose(listener));
    WORKS(AUListenerCreate(heard_value, NULL, NULL, NULL, (Float32)Doubles[k], &listener));
    WORKS(AUListenerAddParameter(listener, NULL, &volume));
    TRY(AUParameterSet(NULL, NULL, &volume, (Float32)Doubles[k], Words[i % COUNT(Words)]));
    WORKS(AUListenerDispose(listener));
  }
  // All changes within an endless granularity are one event.
  AUEventListenerRef listener = NULL;
  WORKS(AUEventListenerCreate(heard, NULL, NULL, NULL, 0.1f, INFINITY, &listener));
  WORKS(AUEventListenerAddEventType(listener, NULL, &event));
  events_heard = 0;
  for (int n = 0; n < 10; n++)
    WORKS(AUParameterSet(NULL, NULL, &volume, 0.01f * (Float32)n, 0));
  WAIT(events_heard > 0);
  WORKS(AUListenerDispose(listener));
  EQUAL(events_heard, 1);
  WORKS(AudioComponentInstanceDispose(unit));
}

static void test_graphs(void) {
  AUGraph graph = NULL;
  WORKS(NewAUGraph(&graph));
  AudioComponentDescription mixer =
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AUNode nodes[2];
  for (int i = 0; i < 2; i++)
    WORKS(AUGraphAddNode(graph, &mixer, &nodes[i]));
  WORKS(AUGraphOpen(graph));
  EACH(Words, i) EACH(Words, k) {
    AUNode node;
    UInt32 count = Words[k] & 0xFF;
    AUNodeInteraction interaction;
    TRY(AUGraphConnectNodeInput(graph, nodes[0], Words[i], nodes[1], Words[k]));
    TRY(AUGraphConnectNodeInput(graph, (AUNode)Words[i], 0, (AUNode)Words[k], 0));
    TRY(AUGraphDisconnectNodeInput(graph, nodes[1], Words[k]));
    TRY(AUGraphGetIndNode(graph, Words[i], &node));
    TRY(AUGraphGetInteractionInfo(graph, Words[i], &interaction));
    TRY(AUGraphCountNodeInteractions(graph, (AUNode)Words[i], &count));
    TRY(AUGraphRemoveNode(graph, (AUNode)Words[i] | 0x100));
    TRY(AUGraphSetNodeInputCallback(graph, nodes[0], Words[i], &(AURenderCallbackStruct){NULL}));
  }
  WORKS(DisposeAUGraph(graph));
}

// MARK: Converters

static UInt32 given_packets, given_bytes;
static OSStatus supply(AudioConverterRef converter, UInt32 *count, AudioBufferList *list,
                       AudioStreamPacketDescription **packets, void *data) {
  static char bytes[4096];
  (void)converter, (void)data;
  if (packets) *packets = NULL;
  *count = given_packets;
  list->mBuffers[0].mData = bytes;
  list->mBuffers[0].mDataByteSize = given_bytes;
  return noErr;
}

static void test_converters(void) {
  static const AudioConverterPropertyID ids[] = {
      'mibs', 'mobs', 'xips', 'xops', 'cibs', 'cobs', 'srca', 'srcq', 'dith', 'dbit', 'cdqu',
      'prmm', 'prim', 'chmp', 'dmgc', 'cmgc', 'brat', 'ajsr', 'icl ', 'ocl ', 'aebr', 'vebr',
      'aecl', 'aesr', 'vesr', 'acod', 'acid', 'acbd', 'flst', 'dmix', 'mmap', 'crfi'};
  AudioStreamBasicDescription format, plain = float_format(48000, 2);
  for (int n = 0; next_format(&format, n); n++) {
    AudioConverterRef converter = NULL;
    TRY(AudioConverterNew(&format, &plain, &converter));
    if (converter) TRY(AudioConverterDispose(converter));
    converter = NULL;
    TRY(AudioConverterNew(&plain, &format, &converter));
    if (converter) TRY(AudioConverterDispose(converter));
  }
  AudioStreamBasicDescription kinds[] = {float_format(44100, 2), int16(48000, 2, 0),
                                         named(kAudioFormatMPEG4AAC, 48000, 2)};
  static char bytes[8192];
  EACH(kinds, i) {
    AudioConverterRef converter = NULL;
    WORKS(AudioConverterNew(&plain, &kinds[i], &converter));
    Pattern pattern, copy;
    EACH(ids, p) EACH(Sizes, s) EACH_PATTERN(pattern) {
      if ((n_ + s) % 4) continue;
      UInt32 size = Sizes[s];
      TRY(AudioConverterSetProperty(converter, ids[p], size, &pattern));
      copy = pattern;
      TRY(AudioConverterGetProperty(converter, ids[p], &size, &copy));
    }
    EACH(Words, k) EACH(Words, m) {
      buffers all = no_memory(1);
      all.list.mBuffers[0] = (AudioBuffer){2, m & 1 ? Words[m] & 0x1FFF : sizeof bytes, bytes};
      UInt32 count = Words[k];
      AudioStreamPacketDescription packets[64];
      if (count > 64 && i == 2) count = 64;
      given_packets = Words[m];
      given_bytes = Words[m] & 0xFFF;
      TRY(AudioConverterFillComplexBuffer(converter, supply, NULL, &count, &all.list, packets));
      UInt32 size = Words[m] & 0x1FFF;
      TRY(AudioConverterConvertBuffer(converter, Words[k] & 0xFFF, bytes, &size, bytes + 4096));
      TRY(AudioConverterReset(converter));
    }
    WORKS(AudioConverterDispose(converter));
  }
}

// MARK: Files

static SInt64 wrong_size;
static UInt32 wrong_count;
static OSStatus read_wrongly(void *data, SInt64 position, UInt32 count, void *buffer,
                             UInt32 *actual) {
  (void)data, (void)position;
  memset(buffer, 0, count);
  *actual = wrong_count;
  return noErr;
}

static SInt64 size_wrongly(void *data) {
  (void)data;
  return wrong_size;
}

static void test_file(AudioFileTypeID type, AudioStreamBasicDescription format) {
  CFURLRef url = url_of("numbers");
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, type, &format, kAudioFileFlags_EraseFile, &file));
  static char bytes[4096];
  static const AudioFilePropertyID ids[] = {'ffmt', 'dfmt', 'flst', 'optm', 'mgic', 'bcnt', 'pcnt',
                                            'psze', 'doff', 'cmap', 'dszu', 'pkfr', 'frpk', 'rrap',
                                            'nind', 'pkby', 'bypk', 'chid', 'pnfo', 'pkub', 'rsrv',
                                            'edur', 'brat', 'sbtd', 'atct', 'uatk'};
  Pattern pattern, copy;
  for (int is_written = 0; is_written < 2; is_written++) {
    EACH(ids, p) EACH(Sizes, s) EACH_PATTERN(pattern) {
      UInt32 size = Sizes[s];
      // These are the numbers of packets and bytes that a file is to get: 4 GB are no error.
      if (ids[p] != 'bcnt' && ids[p] != 'pcnt' && ids[p] != 'rsrv')
        TRY(AudioFileSetProperty(file, ids[p], size, &pattern));
      copy = pattern;
      TRY(AudioFileGetProperty(file, ids[p], &size, &copy));
    }
    AudioFileMarkerList markers;
    EACH(Doubles, i) {
      memset(&markers, 0, sizeof markers);
      markers.mNumberMarkers = 1;
      markers.mMarkers[0].mFramePosition = Doubles[i];
      markers.mMarkers[0].mMarkerID = (SInt32)Words[i % COUNT(Words)];
      TRY(AudioFileSetProperty(file, kAudioFilePropertyMarkerList, sizeof markers, &markers));
      markers.mNumberMarkers = Words[i % COUNT(Words)];
      TRY(AudioFileSetProperty(file, kAudioFilePropertyMarkerList, sizeof markers, &markers));
    }
    EACH(Longs, i) EACH(Words, k) {
      UInt32 size = sizeof bytes, count = Words[k];
      AudioStreamPacketDescription packets[16];
      TRY(AudioFileReadPacketData(file, false, &size, packets, Longs[i],
                                  &(UInt32){count > 16 ? 16 : count}, bytes));
      size = Words[k] & 0xFFF;
      TRY(AudioFileReadBytes(file, false, Longs[i], &size, bytes));
      // Where the first packet of a file cannot be written, nothing is: far ones would make holes.
      if (Longs[i] <= 0) {
        count = Words[k] & 0xFF;
        TRY(AudioFileWritePackets(file, false, Words[k] & 0xFFF, NULL, Longs[i], &count, bytes));
        size = Words[k] & 0xFFF;
        TRY(AudioFileWriteBytes(file, false, Longs[i], &size, bytes));
      } else {
        count = 1;
        TRY(AudioFileWritePackets(file, false, Words[k], NULL, INT64_MAX - k, &count, bytes));
      }
      TRY(AudioFileGetUserData(file, Words[k], Words[k], &size, bytes));
      TRY(AudioFileSetUserData(file, Words[k], Words[k], 0, bytes));
    }
    UInt32 count = 64;
    TRY(AudioFileWritePackets(file, false, 64 * format.mBytesPerPacket, NULL, 0, &count, bytes));
  }
  TRY(AudioFileClose(file));
  AudioStreamBasicDescription wrong;
  for (int n = 0; next_format(&wrong, n); n++) {
    file = NULL;
    TRY(AudioFileCreateWithURL(url, type, &wrong, kAudioFileFlags_EraseFile, &file));
    if (file) TRY(AudioFileClose(file));
  }
  CFRelease(url);
}

static void test_files(void) {
  test_file(kAudioFileWAVEType, int16(44100, 2, 0));
  test_file(kAudioFileCAFType, int16(44100, 2, 0));
  test_file(kAudioFileAIFFType, int16(44100, 2, kAudioFormatFlagIsBigEndian));
  EACH(Longs, i) EACH(Words, k) {
    wrong_size = Longs[i];
    wrong_count = Words[k];
    AudioFileID file = NULL;
    TRY(AudioFileOpenWithCallbacks(&wrong_size, read_wrongly, NULL, size_wrongly, NULL,
                                   Words[k] & 1 ? kAudioFileWAVEType : 0, &file));
    if (file) TRY(AudioFileClose(file));
  }
}

static void test_extended_files(void) {
  CFURLRef url = url_of("extended.wav");
  AudioStreamBasicDescription format = int16(44100, 2, 0), client;
  ExtAudioFileRef file = NULL;
  WORKS(ExtAudioFileCreateWithURL(url, kAudioFileWAVEType, &format, NULL, kAudioFileFlags_EraseFile,
                                  &file));
  static float samples[2048];
  buffers all = no_memory(1);
  all.list.mBuffers[0] = (AudioBuffer){2, sizeof samples, samples};
  for (int is_read = 0; is_read < 2; is_read++) {
    for (int n = 0; next_format(&client, n); n++)
      TRY(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                  &client));
    static const ExtAudioFilePropertyID ids[] = {'ffmt', 'fclo', 'cclo', 'cman', 'fmps',
                                                 'cmps', '#frm', 'iobs', 'xpti'};
    Pattern pattern, copy;
    EACH(ids, p) EACH(Sizes, s) EACH_PATTERN(pattern) {
      UInt32 size = Sizes[s];
      TRY(ExtAudioFileSetProperty(file, ids[p], size, &pattern));
      copy = pattern;
      TRY(ExtAudioFileGetProperty(file, ids[p], &size, &copy));
    }
    client = float_format(48000, 2);
    WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                  &client));
    EACH(Longs, i) {
      TRY(ExtAudioFileSeek(file, Longs[i]));
      SInt64 at;
      TRY(ExtAudioFileTell(file, &at));
      EACH(Words, k) {
        all.list.mBuffers[0].mDataByteSize = sizeof samples;
        UInt32 frames = Words[k];
        if (is_read) TRY(ExtAudioFileRead(file, &frames, &all.list));
        all.list.mBuffers[0].mDataByteSize = 64;
        if (!is_read) TRY(ExtAudioFileWrite(file, Words[k], &all.list));
        if (!is_read) TRY(ExtAudioFileWriteAsync(file, Words[k], &all.list));
      }
    }
    all.list.mBuffers[0].mDataByteSize = sizeof samples;
    if (!is_read) TRY(ExtAudioFileWrite(file, 1024, &all.list));
    TRY(ExtAudioFileDispose(file));
    file = NULL;
    if (!is_read) WORKS(ExtAudioFileOpenURL(url, &file));
  }
  CFRelease(url);
}

static void no_packets(void *data, UInt32 bytes, UInt32 count, const void *input,
                       AudioStreamPacketDescription *packets) {
  (void)data, (void)bytes, (void)count, (void)input, (void)packets;
}

static void no_property(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID property,
                        AudioFileStreamPropertyFlags *flags) {
  (void)data, (void)stream, (void)property, (void)flags;
}

static void test_streams(void) {
  // A WAVE file whose header has these numbers.
  EACH(Words, i) for (int field = 0; field < 8; field++) {
    struct {
      UInt32 riff, size;
      UInt32 wave, head;
      UInt32 length;
      UInt16 tag, channels;
      UInt32 rate, bytes_a_second;
      UInt16 block, bits;
      UInt32 data, data_size;
      char samples[4096];
    } file = {CFSwapInt32('RIFF'),
              4132,
              CFSwapInt32('WAVE'),
              CFSwapInt32('fmt '),
              16,
              1,
              2,
              44100,
              176400,
              4,
              16,
              CFSwapInt32('data'),
              4096,
              {0}};
    switch (field) {
    case 0:
      file.size = Words[i];
      break;
    case 1:
      file.length = Words[i];
      break;
    case 2:
      file.channels = (UInt16)Words[i];
      break;
    case 3:
      file.rate = Words[i];
      break;
    case 4:
      file.bytes_a_second = Words[i];
      break;
    case 5:
      file.block = (UInt16)Words[i];
      break;
    case 6:
      file.bits = (UInt16)Words[i];
      break;
    default:
      file.data_size = Words[i];
      break;
    }
    AudioFileStreamID stream = NULL;
    WORKS(AudioFileStreamOpen(NULL, no_property, no_packets, 0, &stream));
    TRY(AudioFileStreamParseBytes(stream, sizeof file, &file, Words[i]));
    EACH(Longs, k) {
      SInt64 offset;
      AudioFileStreamSeekFlags flags = 0;
      TRY(AudioFileStreamSeek(stream, Longs[k], &offset, &flags));
      static const AudioFileStreamPropertyID ids[] = {'pkfr', 'frpk', 'pkby', 'bypk', 'brat',
                                                      'pnfo', 'bcnt', 'pcnt', 'edur'};
      EACH(ids, p) {
        Pattern pattern;
        for (int n = 0; n < 32; n++)
          pattern.longs[n] = Longs[k];
        UInt32 size = sizeof pattern;
        TRY(AudioFileStreamGetProperty(stream, ids[p], &size, &pattern));
      }
    }
    TRY(AudioFileStreamClose(stream));
    FILE *out = fopen(path_of("header.wav"), "wb");
    CHECK(out && fwrite(&file, sizeof file, 1, out) == 1);
    fclose(out);
    CFURLRef url = url_of("header.wav");
    AudioFileID opened = NULL;
    TRY(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &opened));
    if (opened) {
      Pattern pattern;
      UInt32 size = 8;
      TRY(AudioFileGetProperty(opened, 'edur', &size, &pattern));
      size = 4;
      TRY(AudioFileGetProperty(opened, 'brat', &size, &pattern));
      UInt32 count = 64;
      size = sizeof pattern;
      TRY(AudioFileReadPacketData(opened, false, &size, NULL, 0, &count, &pattern));
      TRY(AudioFileClose(opened));
    }
    ExtAudioFileRef extended = NULL;
    TRY(ExtAudioFileOpenURL(url, &extended));
    if (extended) {
      AudioStreamBasicDescription client = float_format(48000, 2);
      TRY(ExtAudioFileSetProperty(extended, 'cfmt', sizeof client, &client));
      static float samples[2048];
      buffers all = no_memory(1);
      all.list.mBuffers[0] = (AudioBuffer){2, sizeof samples, samples};
      UInt32 frames = 1024;
      TRY(ExtAudioFileRead(extended, &frames, &all.list));
      TRY(ExtAudioFileDispose(extended));
    }
    CFRelease(url);
  }
}

// MARK: Formats, devices, the session

static void test_formats(void) {
  static const AudioFormatPropertyID ids[] = {
      'fmti', 'acof', 'acif', 'flst', 'ofls', 'fpfl', 'fvbr', 'fexf', 'aven', 'avde', 'aebr',
      'aesr', 'avnc', 'aecl', 'chha', 'bmtg', 'nchm', 'vacl', 'cmpl', 'cmpt', 'cmpb', 'tagc'};
  AudioStreamBasicDescription format;
  static char bytes[4096];
  Pattern pattern;
  EACH(ids, i) {
    for (int n = 0; next_format(&format, n); n++) {
      memset(bytes, 0, sizeof bytes);
      memcpy(bytes, &format, sizeof format);
      UInt32 size = sizeof bytes;
      TRY(AudioFormatGetProperty(ids[i], sizeof format, &format, &size, bytes));
      TRY(AudioFormatGetPropertyInfo(ids[i], sizeof format, &format, &size));
    }
    // These two take a structure with a pointer.
    if (ids[i] == 'flst' || ids[i] == 'ofls') continue;
    EACH(Sizes, s) EACH_PATTERN(pattern) {
      if ((n_ + s) % 4) continue;
      UInt32 size = sizeof bytes;
      TRY(AudioFormatGetProperty(ids[i], Sizes[s], &pattern, &size, bytes));
    }
  }
}

static void test_devices(void) {
  AudioObjectID device = 0;
  UInt32 size = sizeof device;
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  AudioTimeStamp stamp;
  EACH_STAMP(stamp) {
    AudioTimeStamp out = {.mFlags = Words[n_ % COUNT(Words)]}, found = stamp;
    TRY(AudioDeviceTranslateTime(device, &stamp, &out));
    TRY(AudioDeviceGetNearestStartTime(device, &found, 0));
  }
  static const AudioObjectPropertySelector selectors[] = {
      kAudioDevicePropertyBufferFrameSize, kAudioDevicePropertyNominalSampleRate,
      kAudioDevicePropertyVolumeScalar,    kAudioDevicePropertyStreamFormat,
      kAudioDevicePropertyBufferSize,      kAudioDevicePropertyLatency,
      kAudioDevicePropertyIOCycleUsage};
  Pattern pattern;
  EACH(selectors, i) EACH(Words, k) EACH(Sizes, s) EACH_PATTERN(pattern) {
    AudioObjectPropertyAddress wanted = {selectors[i], kAudioDevicePropertyScopeOutput,
                                         k % 4 ? Words[k] : 0};
    // A server follows each period and rate that it can have.
    if (selectors[i] == kAudioDevicePropertyVolumeScalar ||
        selectors[i] == kAudioDevicePropertyIOCycleUsage || Sizes[s] == 8)
      TRY(AudioObjectSetPropertyData(device, &wanted, 0, NULL, Sizes[s], &pattern));
    size = Sizes[s];
    TRY(AudioObjectGetPropertyData(device, &wanted, 0, NULL, &size, &pattern));
    TRY(AudioObjectGetPropertyData(Words[k], &wanted, 0, NULL, &size, &pattern));
    if (n_ > 20) break;
  }
}

static void test_session(void) {
  static const AudioSessionPropertyID ids[] = {'hwsr', 'iobd', 'acat', 'chsr', 'chbd',
                                               'ovrd', 'cmix', 'cspk', 'mode', 'igsc'};
  TRY(AudioSessionInitialize(NULL, NULL, NULL, NULL));
  Pattern pattern;
  EACH(ids, i) EACH(Sizes, s) EACH_PATTERN(pattern) {
    // A period that the server can have is no wrong number.
    if (ids[i] == 'iobd' && pattern.floats[0] > 0 && pattern.floats[0] < 1) continue;
    TRY(AudioSessionSetProperty(ids[i], Sizes[s], &pattern));
    UInt32 size = Sizes[s];
    TRY(AudioSessionGetProperty(ids[i], &size, &pattern));
  }
  EACH(Words, i) {
    UInt32 flag = Words[i], size = sizeof flag;
    TRY(AudioServicesGetProperty(Words[i], size, &flag, &size, &flag));
    TRY(AudioServicesDisposeSystemSoundID(Words[i] | 0x100));
    TRY(AudioSessionSetActiveWithFlags(false, Words[i]));
  }
}

int main(int count, char **arguments) {
  signal(SIGILL, crashed);
  signal(SIGTRAP, crashed);
  signal(SIGFPE, crashed);
  signal(SIGSEGV, crashed);
  signal(SIGABRT, crashed);
  CHECK(count == 2 && mkdtemp(folder) != NULL);
  const char *part = arguments[1];
  if (strcmp(part, "queues") == 0) {
    test_queue_times(RATE);
    test_queue_times(44100);
    test_queue_parameters();
    test_queue_packets();
    test_queue_sizes();
    test_queue_properties();
    test_queue_formats();
    test_offline();
  } else if (strcmp(part, "units") == 0) {
    test_units();
    test_slices();
    test_listeners();
    test_graphs();
  } else if (strcmp(part, "converters") == 0) {
    test_converters();
    test_formats();
  } else if (strcmp(part, "files") == 0) {
    test_files();
    test_extended_files();
    test_streams();
  } else {
    test_devices();
    test_session();
  }
  passed(part);
  run("rm -r \"$PWD\"");
  return 0;
}
