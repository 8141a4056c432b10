// Audio units without a device: players of samples and files, mixers with meters and crossings,
// converters of speed, and units of the app itself. And, on a device, the transport that plugins
// follow.
#include "units.h"

#include "soundfiles.h"
#include <jack/jack.h>
#include <malloc.h>
#include <math.h>

enum {
  FRAMES = 256
};

static double now;

/// Renders the next frames of bus 0.
static buffers render(AudioUnit unit, UInt32 channels) {
  buffers out = no_memory(channels);
  AudioTimeStamp time = at_frame(now);
  WORKS(AudioUnitRender(unit, NULL, &time, 0, FRAMES, &out.list));
  now += FRAMES;
  return out;
}

static OSStatus give_ones(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus;
  for (UInt32 channel = 0; channel < list->mNumberBuffers; channel++) {
    float *samples = list->mBuffers[channel].mData;
    for (UInt32 i = 0; i < frames; i++)
      samples[i] = 1;
  }
  return noErr;
}

// MARK: Samples

static _Atomic int completed;
static ScheduledAudioSlice *latest;

static void complete(void *data, ScheduledAudioSlice *slice) {
  CHECK(data == &completed);
  CHECK(slice->mFlags & kScheduledAudioSliceFlag_Complete);
  latest = slice;
  completed++;
}

static ScheduledAudioSlice slice_of(AudioBufferList *list, double frame) {
  ScheduledAudioSlice slice;
  memset(&slice, 0, sizeof slice);
  slice.mTimeStamp = at_frame(frame);
  slice.mCompletionProc = complete;
  slice.mCompletionProcUserData = (void *)&completed;
  slice.mNumberFrames = 100;
  slice.mBufferList = list;
  return slice;
}

static void set_start(AudioUnit unit, double frame) {
  AudioTimeStamp start = at_frame(frame);
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleStartTimeStamp,
                             kAudioUnitScope_Global, 0, &start, sizeof start));
}

static double play_time(AudioUnit unit) {
  AudioTimeStamp time;
  UInt32 size = sizeof time;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_CurrentPlayTime, kAudioUnitScope_Global, 0,
                             &time, &size));
  return time.mSampleTime;
}

static void slices(void) {
  AudioUnit unit = make(kAudioUnitType_Generator, kAudioUnitSubType_ScheduledSoundPlayer);
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 1));
  WORKS(AudioUnitInitialize(unit));
  float samples[100];
  for (int i = 0; i < 100; i++)
    samples[i] = (float)(i + 1);
  AudioBufferList list = {1, {{1, sizeof samples, samples}}};
  ScheduledAudioSlice first = slice_of(&list, 20), second = slice_of(&list, 0);
  second.mTimeStamp.mFlags = 0;
  for (int i = 0; i < 2; i++)
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleAudioSlice, kAudioUnitScope_Global,
                               0, i == 0 ? &first : &second, sizeof first));
  EQUAL(play_time(unit), -1);
  now = 0;
  buffers out = render(unit, 1);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&out, 0)[i], 0);
  set_start(unit, now + 10);
  out = render(unit, 1);
  for (int i = 0; i < FRAMES; i++) {
    int frame = i - 30;
    EQUAL(plane(&out, 0)[i], frame < 0 || frame >= 200 ? 0 : frame % 100 + 1);
  }
  EQUAL(play_time(unit), FRAMES - 10);
  WAIT(completed == 2);
  CHECK(latest == &second);
  EQUAL(first.mFlags, kScheduledAudioSliceFlag_BeganToRender | kScheduledAudioSliceFlag_Complete);
  // A reset removes what waits, with the next render.
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleAudioSlice, kAudioUnitScope_Global, 0,
                             &first, sizeof first));
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  set_start(unit, -1);
  out = render(unit, 1);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&out, 0)[i], 0);
  WAIT(completed == 3);
  // Another start begins another timeline, without a reset.
  for (int i = 0; i < 2; i++) {
    first.mTimeStamp = at_frame(5);
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleAudioSlice, kAudioUnitScope_Global,
                               0, &first, sizeof first));
    set_start(unit, now + 100);
    EQUAL(play_time(unit), i == 0 ? FRAMES : FRAMES - 100);
    out = render(unit, 1);
    for (int n = 0; n < FRAMES; n++)
      EQUAL(plane(&out, 0)[n], n < 105 || n >= 205 ? 0 : n - 104);
    WAIT(completed == 4 + i);
  }
  set_start(unit, now + 1000);
  (void)render(unit, 1);
  EQUAL(play_time(unit), -1);
  // What is no slice.
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleAudioSlice, kAudioUnitScope_Global, 0,
                             &first, 8),
        kAudio_ParamError);
  AudioTimeStamp none;
  memset(&none, 0, sizeof none);
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduleStartTimeStamp,
                             kAudioUnitScope_Global, 0, &none, sizeof none),
        kAudioUnitErr_InvalidPropertyValue);
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_CurrentPlayTime, kAudioUnitScope_Global, 0,
                             &none, sizeof none),
        kAudioUnitErr_PropertyNotWritable);
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFilePrime, kAudioUnitScope_Global, 0,
                             &none, sizeof none),
        kAudioUnitErr_InvalidProperty);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("samples");
}

// MARK: Files

static _Atomic int regions_over;
static OSStatus region_result = 1;

static void region_over(void *data, ScheduledAudioFileRegion *region, OSStatus result) {
  CHECK(data == &regions_over && region->mLoopCount == 1);
  region_result = result;
  regions_over++;
}

static void schedule(AudioUnit unit, const ScheduledAudioFileRegion *region) {
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFileRegion, kAudioUnitScope_Global,
                             0, region, sizeof *region));
}

static void files(const char *path) {
  enum {
    LENGTH = 3000
  };
  AudioStreamBasicDescription format = float_format(RATE, 2);
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  AudioFileID file;
  WORKS(AudioFileCreateWithURL(url, kAudioFileCAFType, &format, kAudioFileFlags_EraseFile, &file));
  float samples[2 * LENGTH];
  for (int i = 0; i < LENGTH; i++) {
    samples[2 * i] = wave(i);
    samples[2 * i + 1] = -wave(i);
  }
  UInt32 bytes = sizeof samples;
  WORKS(AudioFileWriteBytes(file, false, 0, &bytes, samples));
  WORKS(AudioFileClose(file));
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file));
  CFRelease(url);

  AudioUnit unit = make(kAudioUnitType_Generator, kAudioUnitSubType_AudioFilePlayer);
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(unit));
  ScheduledAudioFileRegion region;
  memset(&region, 0, sizeof region);
  region.mTimeStamp = at_frame(50);
  region.mCompletionProc = region_over;
  region.mCompletionProcUserData = (void *)&regions_over;
  region.mAudioFile = file;
  region.mLoopCount = 1;
  region.mStartFrame = 200;
  region.mFramesToPlay = 500;
  // The file is to be named first.
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFileRegion, kAudioUnitScope_Global,
                             0, &region, sizeof region),
        kAudioUnitErr_FileNotSpecified);
  AudioFileID no_file = (AudioFileID)0x10;
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFileIDs, kAudioUnitScope_Global, 0,
                             &no_file, sizeof no_file),
        kAudioUnitErr_InvalidFile);
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFileIDs, kAudioUnitScope_Global, 0,
                             &file, sizeof file));
  AudioFileID known = NULL;
  UInt32 size = sizeof known;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ScheduledFileIDs, kAudioUnitScope_Global, 0,
                             &known, &size));
  CHECK(known == file);
  set_number(unit, kAudioUnitProperty_ScheduledFileBufferSizeFrames, kAudioUnitScope_Global, 0,
             4096);
  EQUAL(number(unit, kAudioUnitProperty_ScheduledFileBufferSizeFrames, 0, 0), 4096);
  EQUAL(number(unit, kAudioUnitProperty_ScheduledFileNumberBuffers, 0, 0), 4);
  schedule(unit, &region);
  set_number(unit, kAudioUnitProperty_ScheduledFilePrime, kAudioUnitScope_Global, 0, 0);
  set_start(unit, -1);
  now = 12345;
  for (int at = 0; at < 1200; at += FRAMES) {
    buffers out = render(unit, 2);
    for (int i = 0; i < FRAMES; i++) {
      int frame = at + i - 50;
      float expected = frame < 0 || frame >= 1000 ? 0 : wave(200 + frame % 500);
      EQUAL(plane(&out, 0)[i], expected);
      EQUAL(plane(&out, 1)[i], -expected);
    }
  }
  WAIT(regions_over == 1);
  EQUAL(region_result, noErr);
  // Another start, without a reset.
  region.mTimeStamp = at_frame(10);
  schedule(unit, &region);
  set_start(unit, now + 20);
  buffers next = render(unit, 2);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&next, 0)[i], i < 30 ? 0 : wave(200 + i - 30));
  // A reset ends the region, whose buffers do not keep the next one from its first frame.
  set_number(unit, kAudioUnitProperty_ScheduledFileNumberBuffers, kAudioUnitScope_Global, 0, 2);
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  region.mFramesToPlay = 2500;
  schedule(unit, &region);
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  region.mTimeStamp = at_frame(0);
  region.mFramesToPlay = 500;
  schedule(unit, &region);
  set_start(unit, -1);
  next = render(unit, 2);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&next, 0)[i], wave(200 + i));
  WAIT(regions_over == 3);
  EQUAL(region_result, userCanceledErr);
  // At another rate the length is that of the sound.
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  set_format(unit, kAudioUnitScope_Output, 0, planar(2 * RATE, 1));
  region.mTimeStamp.mFlags = 0;
  schedule(unit, &region);
  set_start(unit, -1);
  for (int at = 0; at < 2304; at += FRAMES) {
    next = render(unit, 1);
    // The first and the last frame that are looked at lie before the end of the repetition, and
    // behind it.
    if (at == 1536) CHECK(plane(&next, 0)[0] > 0);
    if (at == 2048) EQUAL(plane(&next, 0)[0], 0);
  }
  WAIT(regions_over == 5);
  EQUAL(region_result, noErr);
  // A reset ends a region.
  region.mLoopCount = 1;
  region.mTimeStamp = at_frame(0);
  schedule(unit, &region);
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  (void)render(unit, 1);
  set_number(unit, kAudioUnitProperty_ScheduledFilePrime, kAudioUnitScope_Global, 0, 0);
  WAIT(regions_over == 6);
  EQUAL(region_result, userCanceledErr);
  WORKS(AudioComponentInstanceDispose(unit));
  // A unit keeps its list of files no longer than it lives itself.
  static AudioFileID many[1 << 15];
  for (size_t i = 0; i < sizeof many / sizeof *many; i++)
    many[i] = file;
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (int i = 0; i < 8; i++) {
    unit = make(kAudioUnitType_Generator, kAudioUnitSubType_AudioFilePlayer);
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ScheduledFileIDs, kAudioUnitScope_Global, 0,
                               many, sizeof many));
    WORKS(AudioComponentInstanceDispose(unit));
  }
  CHECK(mallinfo2().uordblks + mallinfo2().hblkhd < before + 4 * sizeof many);
  WORKS(AudioFileClose(file));
  passed("files");
}

// MARK: Mixers

static float level(AudioUnit unit, AudioUnitParameterID id, AudioUnitScope scope, UInt32 element) {
  Float32 value = NAN;
  WORKS(AudioUnitGetParameter(unit, id, scope, element, &value));
  return value;
}

static void mixers(void) {
  AudioUnit matrix = make(kAudioUnitType_Mixer, kAudioUnitSubType_MatrixMixer);
  set_number(matrix, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, 2);
  set_number(matrix, kAudioUnitProperty_ElementCount, kAudioUnitScope_Output, 0, 1);
  for (UInt32 bus = 0; bus < 2; bus++) {
    set_format(matrix, kAudioUnitScope_Input, bus, planar(RATE, 2));
    set_callback(matrix, bus, give_ones, NULL);
  }
  set_format(matrix, kAudioUnitScope_Output, 0, planar(RATE, 2));
  UInt32 dimensions[2], size = sizeof dimensions;
  WORKS(AudioUnitGetProperty(matrix, kAudioUnitProperty_MatrixDimensions, kAudioUnitScope_Global, 0,
                             dimensions, &size));
  CHECK(dimensions[0] == 4 && dimensions[1] == 2);
  WORKS(AudioUnitSetParameter(matrix, kMatrixMixerParam_Volume, kAudioUnitScope_Global, 0xFFFFFFFF,
                              0.5f, 0));
  for (UInt32 input = 0; input < 4; input++)
    WORKS(AudioUnitSetParameter(matrix, kMatrixMixerParam_Volume, kAudioUnitScope_Global,
                                input << 16 | input % 2, 0.25f, 0));
  WORKS(AudioUnitSetParameter(matrix, kMatrixMixerParam_Volume, kAudioUnitScope_Input, 3, 0, 0));
  set_number(matrix, kAudioUnitProperty_MeteringMode, kAudioUnitScope_Input, 0, 1);
  EQUAL(number(matrix, kAudioUnitProperty_MeteringMode, kAudioUnitScope_Input, 0), 1);
  WORKS(AudioUnitInitialize(matrix));
  now = 0;
  buffers out = no_memory(2);
  for (int i = 0; i < 500; i++)
    out = render(matrix, 2);
  EQUAL(plane(&out, 0)[FRAMES - 1], 0.25f);
  EQUAL(plane(&out, 1)[FRAMES - 1], 0.125f);
  Float32 levels[5][3];
  size = sizeof levels;
  WORKS(AudioUnitGetProperty(matrix, kAudioUnitProperty_MatrixLevels, kAudioUnitScope_Global, 0,
                             levels, &size));
  EQUAL(size, sizeof levels);
  CHECK(levels[0][0] == 0.25f && levels[0][1] == 0 && levels[3][2] == 0 && levels[4][2] == 0.5f);
  CHECK(fabsf(level(matrix, kMatrixMixerParam_PreAveragePower, kAudioUnitScope_Input, 0)) < 0.1f);
  EQUAL(level(matrix, kMatrixMixerParam_PrePeakHoldLevel, kAudioUnitScope_Input, 1), -120);
  GIVES(AudioUnitSetParameter(matrix, kMatrixMixerParam_PreAveragePower, kAudioUnitScope_Input, 0,
                              0, 0),
        kAudioUnitErr_InvalidParameter);
  AudioUnitParameterInfo info;
  size = sizeof info;
  WORKS(AudioUnitGetProperty(matrix, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Input,
                             kMatrixMixerParam_PostPeakHoldLevel, &info, &size));
  CHECK(info.flags & kAudioUnitParameterFlag_MeterReadOnly);
  CHECK(!(info.flags & kAudioUnitParameterFlag_IsWritable));
  CFRelease(info.cfNameString);
  WORKS(AudioComponentInstanceDispose(matrix));

  // A matrix takes any number of channels, a mixer of places gives stereo.
  AudioUnit mixers[] = {make(kAudioUnitType_Mixer, kAudioUnitSubType_MatrixMixer),
                        make(kAudioUnitType_Mixer, kAudioUnitSubType_3DMixer)};
  for (int i = 0; i < 2; i++) {
    AudioChannelLayoutTag tags[8];
    for (AudioUnitScope scope = kAudioUnitScope_Input; scope <= kAudioUnitScope_Output; scope++) {
      size = sizeof tags;
      WORKS(AudioUnitGetProperty(mixers[i], kAudioUnitProperty_SupportedChannelLayoutTags, scope, 0,
                                 tags, &size));
      UInt32 last = size / sizeof *tags - 1;
      EQUAL(last + 1, i == 0 ? 3 : scope == kAudioUnitScope_Output ? 1 : 2);
      EQUAL(tags[last],
            i == 0 ? kAudioChannelLayoutTag_DiscreteInOrder : kAudioChannelLayoutTag_Stereo);
    }
    size = sizeof tags;
    GIVES(AudioUnitGetProperty(mixers[i], kAudioUnitProperty_SupportedChannelLayoutTags,
                               kAudioUnitScope_Input, 99, tags, &size),
          kAudioUnitErr_InvalidElement);
    GIVES(AudioUnitSetProperty(mixers[i], kAudioUnitProperty_SupportedChannelLayoutTags,
                               kAudioUnitScope_Input, 0, tags, sizeof *tags),
          kAudioUnitErr_PropertyNotWritable);
    WORKS(AudioComponentInstanceDispose(mixers[i]));
  }

  AudioUnit space = make(kAudioUnitType_Mixer, kAudioUnitSubType_3DMixer);
  MixerDistanceParams distance = {2, 50, 40}, found;
  WORKS(AudioUnitSetProperty(space, kAudioUnitProperty_3DMixerDistanceParams, kAudioUnitScope_Input,
                             3, &distance, sizeof distance));
  size = sizeof found;
  WORKS(AudioUnitGetProperty(space, kAudioUnitProperty_3DMixerDistanceParams, kAudioUnitScope_Input,
                             3, &found, &size));
  CHECK(found.mReferenceDistance == 2 && found.mMaxDistance == 50 && found.mMaxAttenuation == 40);
  distance.mMaxDistance = -1;
  GIVES(AudioUnitSetProperty(space, kAudioUnitProperty_3DMixerDistanceParams, kAudioUnitScope_Input,
                             3, &distance, sizeof distance),
        kAudioUnitErr_InvalidPropertyValue);
  WORKS(AudioComponentInstanceDispose(space));
  passed("mixers");
}

// MARK: Speed

static long asked;

static OSStatus count_frames(void *data, AudioUnitRenderActionFlags *flags,
                             const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                             AudioBufferList *list) {
  asked += frames;
  return give_ones(data, flags, time, bus, frames, list);
}

static void speeds(void) {
  AudioUnit unit = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_Varispeed);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  set_callback(unit, 0, count_frames, NULL);
  WORKS(AudioUnitInitialize(unit));
  for (int i = 0; i < 3; i++) {
    // The last one is held at four times the speed.
    float rate = i == 0 ? 2 : i == 1 ? 0.5f : 4;
    WORKS(AudioUnitSetParameter(unit, kVarispeedParam_PlaybackRate, kAudioUnitScope_Global, 0, rate,
                                0));
    WORKS(AudioUnitSetParameter(unit, kVarispeedParam_PlaybackCents, kAudioUnitScope_Global, 0,
                                i < 2 ? 0 : 2400, 0));
    (void)render(unit, 2);
    asked = 0;
    for (int n = 0; n < 200; n++)
      (void)render(unit, 2);
    CHECK(labs(asked - (long)(200 * FRAMES * rate)) <= 256);
  }
  EQUAL(number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0),
        kRenderQuality_High);
  set_number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0, kRenderQuality_Max);
  EQUAL(number(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0),
        kRenderQuality_Max);
  UInt32 quality = 128;
  GIVES(AudioUnitSetProperty(unit, kAudioUnitProperty_RenderQuality, kAudioUnitScope_Global, 0,
                             &quality, sizeof quality),
        kAudioUnitErr_InvalidPropertyValue);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("speeds");
}

// MARK: The app's own unit

/// A unit that multiplies what comes in by its parameter 0.
struct gain_unit {
  AudioComponentPlugInInterface interface;
  AudioComponentInstance instance;
  AURenderCallbackStruct input;
  AudioUnitConnection connection;
  AudioStreamBasicDescription format;
  float gain;
  bool is_initialized;
};
static int open_units;

static OSStatus open_unit(void *self, AudioComponentInstance instance) {
  ((struct gain_unit *)self)->instance = instance;
  open_units++;
  return noErr;
}

static OSStatus close_unit(void *self) {
  free(self);
  open_units--;
  return noErr;
}

static OSStatus initialize_unit(void *self) {
  ((struct gain_unit *)self)->is_initialized = true;
  return noErr;
}

static OSStatus get_unit_property(void *self, AudioUnitPropertyID id, AudioUnitScope scope,
                                  AudioUnitElement element, void *data, UInt32 *size) {
  struct gain_unit *unit = self;
  (void)scope, (void)element;
  if (id == kAudioUnitProperty_StreamFormat && *size >= sizeof unit->format) {
    memcpy(data, &unit->format, *size = sizeof unit->format);
    return noErr;
  }
  if (id == kAudioUnitProperty_ElementCount) {
    *(UInt32 *)data = 1;
    *size = 4;
    return noErr;
  }
  return kAudioUnitErr_InvalidProperty;
}

static OSStatus set_unit_property(void *self, AudioUnitPropertyID id, AudioUnitScope scope,
                                  AudioUnitElement element, const void *data, UInt32 size) {
  struct gain_unit *unit = self;
  (void)scope, (void)element;
  if (id == kAudioUnitProperty_StreamFormat && size >= sizeof unit->format)
    memcpy(&unit->format, data, sizeof unit->format);
  else if (id == kAudioUnitProperty_SetRenderCallback && size >= sizeof unit->input)
    memcpy(&unit->input, data, sizeof unit->input);
  else if (id == kAudioUnitProperty_MakeConnection && size >= sizeof unit->connection)
    memcpy(&unit->connection, data, sizeof unit->connection);
  else if (id != kAudioUnitProperty_MaximumFramesPerSlice)
    return kAudioUnitErr_InvalidProperty;
  return noErr;
}

static OSStatus get_unit_parameter(void *self, AudioUnitParameterID id, AudioUnitScope scope,
                                   AudioUnitElement element, float *value) {
  (void)scope, (void)element;
  if (id != 0) return kAudioUnitErr_InvalidParameter;
  *value = ((struct gain_unit *)self)->gain;
  return noErr;
}

static OSStatus set_unit_parameter(void *self, AudioUnitParameterID id, AudioUnitScope scope,
                                   AudioUnitElement element, float value, UInt32 frame) {
  (void)scope, (void)element, (void)frame;
  if (id != 0) return kAudioUnitErr_InvalidParameter;
  ((struct gain_unit *)self)->gain = value;
  return noErr;
}

static OSStatus render_unit(void *self, AudioUnitRenderActionFlags *flags,
                            const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                            AudioBufferList *list) {
  struct gain_unit *unit = self;
  if (!unit->is_initialized) return kAudioUnitErr_Uninitialized;
  OSStatus status;
  if (unit->input.inputProc)
    status = unit->input.inputProc(unit->input.inputProcRefCon, flags, time, bus, frames, list);
  else
    status = AudioUnitRender(unit->connection.sourceAudioUnit, flags, time,
                             unit->connection.sourceOutputNumber, frames, list);
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    for (UInt32 n = 0; n < frames; n++)
      ((float *)list->mBuffers[i].mData)[n] *= unit->gain;
  return status;
}

static AudioComponentMethod look_up(SInt16 selector) {
  switch (selector) {
  case kAudioUnitInitializeSelect:
    return (AudioComponentMethod)(void *)initialize_unit;
  case kAudioUnitGetPropertySelect:
    return (AudioComponentMethod)(void *)get_unit_property;
  case kAudioUnitSetPropertySelect:
    return (AudioComponentMethod)(void *)set_unit_property;
  case kAudioUnitGetParameterSelect:
    return (AudioComponentMethod)(void *)get_unit_parameter;
  case kAudioUnitSetParameterSelect:
    return (AudioComponentMethod)(void *)set_unit_parameter;
  case kAudioUnitRenderSelect:
    return (AudioComponentMethod)(void *)render_unit;
  default:
    return NULL;
  }
}

static AudioComponentPlugInInterface *make_gain(const AudioComponentDescription *description) {
  CHECK(description->componentSubType == 'gain');
  struct gain_unit *unit = calloc(1, sizeof *unit);
  unit->interface = (AudioComponentPlugInInterface){open_unit, close_unit, look_up, NULL};
  unit->format = planar(RATE, 2);
  unit->gain = 1;
  return &unit->interface;
}

static void own_units(void) {
  AudioComponentDescription description = {kAudioUnitType_Effect, 'gain', 'Test', 0, 0};
  AudioComponent component =
      AudioComponentRegister(&description, CFSTR("Test: Gain"), 0x10203, make_gain);
  CHECK(component != NULL && AudioComponentFindNext(NULL, &description) == component);
  UInt32 version;
  WORKS(AudioComponentGetVersion(component, &version));
  EQUAL(version, 0x10203);
  AudioComponentDescription none = {0, 'gain', 'Test', 0, 0};
  CHECK(AudioComponentRegister(&none, CFSTR("Test: None"), 0, make_gain) == NULL);

  // By itself: its input is a callback.
  AudioUnit unit = make_unit(description);
  EQUAL(open_units, 1);
  AudioTimeStamp time = at_frame(0);
  buffers out = no_memory(2);
  GIVES(AudioUnitRender(unit, NULL, &time, 0, FRAMES, &out.list), kAudioUnitErr_Uninitialized);
  WORKS(AudioUnitInitialize(unit));
  set_callback(unit, 0, give_ones, NULL);
  WORKS(AudioUnitSetParameter(unit, 0, kAudioUnitScope_Global, 0, 0.5f, 0));
  Float32 value = 0;
  WORKS(AudioUnitGetParameter(unit, 0, kAudioUnitScope_Global, 0, &value));
  EQUAL(value, 0.5f);
  GIVES(AudioUnitGetParameter(unit, 1, kAudioUnitScope_Global, 0, &value),
        kAudioUnitErr_InvalidParameter);
  UInt32 load, size = sizeof load;
  GIVES(AudioUnitGetProperty(unit, kAudioUnitProperty_CPULoad, 0, 0, &load, &size),
        kAudioUnitErr_InvalidProperty);
  // It has no such functions.
  GIVES(AudioUnitReset(unit, kAudioUnitScope_Global, 0), unimpErr);
  GIVES(AudioUnitAddRenderNotify(unit, give_ones, NULL), unimpErr);
  // Before a mixer of ours, and behind one.
  AudioUnit mixer = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_format(mixer, kAudioUnitScope_Output, 0, planar(RATE, 2));
  AudioUnitConnection connection = {unit, 0, 0};
  WORKS(AudioUnitSetProperty(mixer, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &connection, sizeof connection));
  WORKS(AudioUnitInitialize(mixer));
  AudioUnit last = make_unit(description);
  WORKS(AudioUnitInitialize(last));
  connection.sourceAudioUnit = mixer;
  WORKS(AudioUnitSetProperty(last, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &connection, sizeof connection));
  WORKS(AudioUnitSetParameter(last, 0, kAudioUnitScope_Global, 0, 0.25f, 0));
  now = 0;
  out = render(last, 2);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&out, 1)[i], 0.125f);
  WORKS(AudioComponentInstanceDispose(last));
  WORKS(AudioComponentInstanceDispose(mixer));
  WORKS(AudioComponentInstanceDispose(unit));
  EQUAL(open_units, 0);

  // In a graph.
  AUGraph graph;
  WORKS(NewAUGraph(&graph));
  AudioComponentDescription output =
      describe(kAudioUnitType_Output, kAudioUnitSubType_GenericOutput);
  AUNode gain, end;
  WORKS(AUGraphAddNode(graph, &description, &gain));
  WORKS(AUGraphAddNode(graph, &output, &end));
  WORKS(AUGraphConnectNodeInput(graph, gain, 0, end, 0));
  AURenderCallbackStruct callback = {give_ones, NULL};
  WORKS(AUGraphSetNodeInputCallback(graph, gain, 0, &callback));
  WORKS(AUGraphOpen(graph));
  AudioUnit end_unit;
  WORKS(AUGraphNodeInfo(graph, end, NULL, &end_unit));
  set_format(end_unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  WORKS(AUGraphInitialize(graph));
  now = 0;
  out = render(end_unit, 2);
  for (int i = 0; i < FRAMES; i++)
    EQUAL(plane(&out, 0)[i], 1);
  WORKS(DisposeAUGraph(graph));
  EQUAL(open_units, 0);
  passed("units of the app");
}

// MARK: Listeners

static _Atomic int parameter_calls, event_calls;
static float latest_value;
static AudioUnitEvent latest_event;

static void parameter_changed(void *data, void *object, const AudioUnitParameter *parameter,
                              AudioUnitParameterValue value) {
  CHECK(data == (void *)&parameter_calls && object == &latest_value);
  CHECK(parameter->mParameterID == kMultiChannelMixerParam_Volume);
  latest_value = value;
  parameter_calls++;
}

static void event_happened(void *data, void *object, const AudioUnitEvent *event, UInt64 time,
                           AudioUnitParameterValue value) {
  (void)data, (void)object, (void)value;
  CHECK(time > 0);
  latest_event = *event;
  event_calls++;
}

static void event_listeners(void) {
  AudioUnit unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AUParameterListenerRef listener;
  WORKS(AUListenerCreate(parameter_changed, (void *)&parameter_calls, NULL, NULL, 0, &listener));
  AudioUnitParameter volume = {unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0};
  WORKS(AUListenerAddParameter(listener, &latest_value, &volume));
  // Setting it by itself tells nobody.
  WORKS(AudioUnitSetParameter(unit, volume.mParameterID, volume.mScope, 0, 0.75f, 0));
  WORKS(AUParameterSet(NULL, NULL, &volume, 0.5f, 0));
  WAIT(parameter_calls == 1);
  EQUAL(latest_value, 0.5f);
  Float32 value = 0;
  WORKS(AudioUnitGetParameter(unit, volume.mParameterID, volume.mScope, 0, &value));
  EQUAL(value, 0.5f);
  // Not its sender, and not other parameters.
  WORKS(AUParameterSet(listener, &latest_value, &volume, 0.25f, 0));
  AudioUnitParameter pan = {unit, kMultiChannelMixerParam_Pan, kAudioUnitScope_Input, 0};
  WORKS(AUParameterSet(NULL, NULL, &pan, 0.25f, 0));
  // All parameters of the unit.
  AudioUnitParameter any = {unit, kAUParameterListener_AnyParameter, kAudioUnitScope_Input, 0};
  WORKS(AUParameterListenerNotify(NULL, NULL, &any));
  WAIT(parameter_calls == 2);

  AUEventListenerRef events;
  WORKS(AUEventListenerCreate(event_happened, NULL, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode,
                              0.01f, 0.01f, &events));
  AudioUnitEvent event;
  memset(&event, 0, sizeof event);
  event.mEventType = kAudioUnitEvent_PropertyChange;
  event.mArgument.mProperty = (AudioUnitProperty){unit, kAudioUnitProperty_MaximumFramesPerSlice,
                                                  kAudioUnitScope_Global, 0};
  WORKS(AUEventListenerAddEventType(events, NULL, &event));
  set_number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0, 512);
  RUN_LOOP_UNTIL(event_calls == 1);
  EQUAL(latest_event.mArgument.mProperty.mPropertyID, kAudioUnitProperty_MaximumFramesPerSlice);
  event.mEventType = kAudioUnitEvent_BeginParameterChangeGesture;
  event.mArgument.mParameter = volume;
  WORKS(AUEventListenerAddEventType(events, NULL, &event));
  WORKS(AUEventListenerNotify(NULL, NULL, &event));
  RUN_LOOP_UNTIL(event_calls == 2);
  EQUAL(latest_event.mEventType, kAudioUnitEvent_BeginParameterChangeGesture);
  WORKS(AUEventListenerRemoveEventType(events, NULL, &event));
  WORKS(AUEventListenerNotify(NULL, NULL, &event));
  WORKS(AUListenerRemoveParameter(listener, &latest_value, &volume));
  WORKS(AUParameterSet(NULL, NULL, &volume, 1, 0));
  WORKS(AUListenerDispose(events));
  WORKS(AUListenerDispose(listener));
  GIVES(AUListenerDispose(listener), kAudio_ParamError);
  EQUAL(parameter_calls, 2);
  EQUAL(event_calls, 2);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("listeners");
}

// MARK: Transport

static _Atomic int transport_calls;
static double beat, tempo, frame;
static Boolean is_rolling;

/// Asks JACK's transport in a render.
static OSStatus ask(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                    UInt32 bus, UInt32 frames, AudioBufferList *list) {
  const HostCallbackInfo *host = data;
  OSStatus status =
      host->transportStateProc(host->hostUserData, &is_rolling, NULL, &frame, NULL, NULL, NULL);
  CHECK(status == noErr);
  status = host->beatAndTempoProc(host->hostUserData, &beat, &tempo);
  CHECK(status == noErr || status == kAudioUnitErr_CannotDoInCurrentContext);
  transport_calls++;
  (void)flags, (void)time, (void)bus, (void)frames;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  return noErr;
}

static void transport(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  HostCallbackInfo host;
  UInt32 size = sizeof host;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_HostCallbacks, kAudioUnitScope_Global, 0,
                             &host, &size));
  EQUAL(size, sizeof host);
  // Outside a render nothing is known.
  GIVES(host.beatAndTempoProc(NULL, &beat, &tempo), kAudioUnitErr_CannotDoInCurrentContext);
  set_callback(unit, 0, ask, &host);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(transport_calls > 2);
  CHECK(!is_rolling);
  jack_client_t *client = jack_client_open("transport", JackNoStartServer, NULL);
  CHECK(client != NULL);
  // PipeWire's library has a transport for active clients only.
  CHECK(jack_activate(client) == 0);
  jack_transport_start(client);
  WAIT(is_rolling && frame > 0);
  jack_transport_stop(client);
  WAIT(!is_rolling);
  jack_client_close(client);
  Float32 load = -1;
  size = sizeof load;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_CPULoad, kAudioUnitScope_Global, 0, &load,
                             &size));
  CHECK(load >= 0);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("the transport");
}

// MARK: MIDI

static void midi(void) {
  MIDIEventList list;
  MIDIEventPacket *packet = MIDIEventListInit(&list, kMIDIProtocol_1_0);
  UInt32 note_on = 0x20904064, exclusive[2] = {0x30027E09, 0};
  packet = MIDIEventListAdd(&list, sizeof list, packet, 0, 1, &note_on);
  CHECK(packet != NULL);
  packet = MIDIEventListAdd(&list, sizeof list, packet, 0, 2, exclusive);
  CHECK(packet != NULL && list.numPackets == 2);
  UInt32 words[64];
  memset(words, 0, sizeof words);
  CHECK(MIDIEventListAdd(&list, sizeof list, packet, 0, 64, words) == NULL);
  EQUAL(list.numPackets, 2);
  // A mixer hears no MIDI.
  AudioUnit mixer = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  GIVES(MusicDeviceMIDIEventList(mixer, 0, &list), kAudioComponentErr_UnsupportedType);
  WORKS(AudioComponentInstanceDispose(mixer));
  passed("MIDI");
}

int main(int count, char **arguments) {
  (void)count;
  char path[4096];
  snprintf(path, sizeof path, "%s.caf", arguments[0]);
  slices();
  files(path);
  mixers();
  speeds();
  own_units();
  event_listeners();
  midi();
  transport();
  return 0;
}
