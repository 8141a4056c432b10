// Output units and devices as programs from elsewhere use them: set up in any order and in odd
// scopes, in every format, with locks that their callbacks take, and ended from inside their
// callbacks. manners.md says which line is tested where.
#include "units.h"

#include <errno.h>

static char client[100];
static cue_emitter *emitter;

// MARK: Playing

enum {
  FRAMES = 4000
};

/// The sample of a frame: exact in 8 bits, and never 0.
static double step(long frame) {
  return (double)(frame % 100 + 1) / 128;
}

typedef struct {
  AudioStreamBasicDescription format;
  _Atomic long played;
  _Atomic int calls, wrong;
  UInt32 bus;
} player;

/// Writes a sample in a format of linear PCM.
static void store(const AudioStreamBasicDescription *format, UInt8 *bytes, double sample) {
  UInt32 width = format->mBitsPerChannel / 8;
  UInt8 native[8];
  if (format->mFormatFlags & kAudioFormatFlagIsFloat) {
    float narrow = (float)sample;
    if (width == 4)
      memcpy(native, &narrow, 4);
    else
      memcpy(native, &sample, 8);
  } else {
    SInt64 number = (SInt64)(sample * (double)(1LL << (format->mBitsPerChannel - 1)));
    // Numbers without a sign have silence in the middle.
    if (!(format->mFormatFlags & kAudioFormatFlagIsSignedInteger))
      number += 1LL << (format->mBitsPerChannel - 1);
    memcpy(native, &number, 8);
  }
  for (UInt32 i = 0; i < width; i++)
    bytes[i] = native[format->mFormatFlags & kAudioFormatFlagIsBigEndian ? width - 1 - i : i];
}

/// Plays the steps, the second channel negative; silence follows.
static OSStatus play(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  player *this = data;
  (void)flags, (void)time;
  this->calls++;
  if (bus != this->bus || list == NULL) {
    this->wrong++;
    return noErr;
  }
  bool is_planar = this->format.mFormatFlags & kAudioFormatFlagIsNonInterleaved;
  UInt32 channels = this->format.mChannelsPerFrame, width = this->format.mBitsPerChannel / 8;
  if (list->mNumberBuffers != (is_planar ? channels : 1)) this->wrong++;
  if (list->mBuffers[0].mDataByteSize != frames * this->format.mBytesPerFrame) this->wrong++;
  UInt32 count = 0;
  for (; count < frames && this->played < FRAMES; count++, this->played++)
    for (UInt32 channel = 0; channel < channels; channel++) {
      UInt8 *bytes = is_planar
                         ? (UInt8 *)list->mBuffers[channel].mData + count * width
                         : (UInt8 *)list->mBuffers[0].mData + (count * channels + channel) * width;
      store(&this->format, bytes, step(this->played) * (channel == 1 ? -1 : 1));
    }
  // The size may be lowered, to 0 as well: what lies behind it is not heard.
  for (UInt32 i = 0; i < list->mNumberBuffers; i++) {
    UInt8 *bytes = list->mBuffers[i].mData;
    memset(bytes + count * this->format.mBytesPerFrame, 0x55,
           (frames - count) * this->format.mBytesPerFrame);
    list->mBuffers[i].mDataByteSize = count * this->format.mBytesPerFrame;
  }
  return noErr;
}

/// Starts a unit, and checks that the steps are heard, and nothing after them.
static void hear_steps(cue_capture *card, AudioUnit unit, player *this) {
  this->played = 0;
  cue_capture_arm(card);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(this->played == FRAMES);
  record(card, SETTLED);
  WORKS(AudioOutputUnitStop(unit));
  end_recording(card);
  EQUAL(this->wrong, 0);
  size_t at = find_sound(card, 0);
  CHECK(at + FRAMES <= cue_capture_frames(card));
  const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
  // A single channel goes to both sides.
  float sign = this->format.mChannelsPerFrame == 1 ? 1 : -1;
  for (long i = 0; i < FRAMES; i++) {
    EQUAL(left[at + (size_t)i], (float)step(i));
    EQUAL(right[at + (size_t)i], sign * (float)step(i));
  }
  HEAR_SILENCE(card, at + FRAMES);
}

static void set_proc(AudioUnit unit, AudioUnitPropertyID property, AudioUnitScope scope,
                     AudioUnitElement element, AURenderCallback proc, void *data) {
  AURenderCallbackStruct callback = {proc, data};
  WORKS(AudioUnitSetProperty(unit, property, scope, element, &callback, sizeof callback));
}

static void any_order(cue_capture *card) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioUnitInitialize(unit));
  // All while it is initialised.
  AudioDeviceID id =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output; scope++)
    for (AudioUnitElement element = 0; element < 2; element++)
      set_number(unit, kAudioOutputUnitProperty_CurrentDevice, scope, element, id);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 1);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 0);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0, 1);
  player this = {.format = planar(RATE, 2)};
  set_proc(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, 0, play, &this);
  set_format(unit, kAudioUnitScope_Input, 0, this.format);
  hear_steps(card, unit, &this);
  for (int i = 0; i < 3; i++) {
    WORKS(AudioUnitUninitialize(unit));
    WORKS(AudioUnitUninitialize(unit));
    GIVES(AudioOutputUnitStart(unit), kAudioUnitErr_Uninitialized);
    WORKS(AudioUnitInitialize(unit));
  }
  hear_steps(card, unit, &this);
  // Uninitialised and disposed of while it runs.
  WORKS(AudioOutputUnitStart(unit));
  WORKS(AudioUnitUninitialize(unit));
  int calls = this.calls;
  let_time_pass();
  EQUAL(this.calls, calls);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  passed("any order");
}

static void any_format(cue_capture *card) {
  static const struct {
    UInt32 bits, channels;
    AudioFormatFlags flags;
  } cases[] = {
      {8, 1, kAudioFormatFlagIsSignedInteger},
      {8, 2, 0},
      {16, 2, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked},
      {16, 1, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian},
      {16, 2, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsNonInterleaved},
      {24, 2, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked},
      {24, 2, kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian},
      {32, 2, kAudioFormatFlagIsSignedInteger},
      {32, 2, kAudioFormatFlagIsFloat | kAudioFormatFlagIsBigEndian},
      {64, 2, kAudioFormatFlagIsFloat},
      {64, 1, kAudioFormatFlagIsFloat | kAudioFormatFlagIsNonInterleaved},
  };
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  AudioStreamBasicDescription format = get_format(unit, kAudioUnitScope_Input, 0);
  const AudioFormatFlags standard = kAudioFormatFlagIsFloat | kAudioFormatFlagIsNonInterleaved;
  CHECK((format.mFormatFlags & standard) == standard && format.mBitsPerChannel == 32);
  player this = {.calls = 0};
  set_proc(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, 0, play, &this);
  WORKS(AudioUnitInitialize(unit));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    format = float_format(RATE, cases[i].channels);
    format.mFormatFlags = cases[i].flags;
    format.mBitsPerChannel = cases[i].bits;
    format.mBytesPerFrame = format.mBytesPerPacket =
        cases[i].bits / 8 *
        (cases[i].flags & kAudioFormatFlagIsNonInterleaved ? 1 : cases[i].channels);
    format.mReserved = 0xABCD;
    this.format = format;
    set_format(unit, kAudioUnitScope_Input, 0, format);
    hear_steps(card, unit, &this);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("any format");
}

typedef struct {
  _Atomic int calls;
  double first;
} clock_reader;

static OSStatus note_time(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  clock_reader *this = data;
  (void)bus, (void)frames, (void)list;
  *flags |= kAudioUnitRenderAction_OutputIsSilence;
  if (this->calls == 0) this->first = time->mSampleTime;
  this->calls++;
  return noErr;
}

/// Time stamps count from the start, or are those of the device.
static void time_stamps(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  EQUAL(number(unit, kAudioOutputUnitProperty_StartTimestampsAtZero, kAudioUnitScope_Global, 0), 1);
  clock_reader this;
  set_callback(unit, 0, note_time, &this);
  WORKS(AudioUnitInitialize(unit));
  AudioDeviceID device =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  for (UInt32 from_zero = 2; from_zero-- > 0;) {
    set_number(unit, kAudioOutputUnitProperty_StartTimestampsAtZero, kAudioUnitScope_Global, 0,
               from_zero);
    memset(&this, 0, sizeof this);
    WORKS(AudioOutputUnitStart(unit));
    WAIT(this.calls > 4);
    AudioTimeStamp now;
    WORKS(AudioDeviceGetCurrentTime(device, &now));
    WORKS(AudioOutputUnitStop(unit));
    if (from_zero)
      EQUAL(this.first, 0);
    else
      CHECK(this.first > 0 && this.first <= now.mSampleTime);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("time stamps");
}

static void odd_scopes(cue_capture *card) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  player this = {.format = planar(RATE, 2)};
  set_format(unit, kAudioUnitScope_Input, 0, this.format);
  WORKS(AudioUnitInitialize(unit));
  for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output; scope++)
    for (AudioUnitElement element = 0; element < 2; element++) {
      set_proc(unit, kAudioUnitProperty_SetRenderCallback, scope, element, NULL, NULL);
      set_proc(unit, kAudioUnitProperty_SetRenderCallback, scope, element, play, &this);
      set_number(unit, kAudioUnitProperty_MaximumFramesPerSlice, scope, element, 2048 + element);
      EQUAL(number(unit, kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0),
            2048 + element);
      // It does not say which side it is for: stereo stays as it is.
      const SInt32 map[] = {1, -1};
      WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Global,
                                 element, map, sizeof map));
      hear_steps(card, unit, &this);
    }
  // There is no voice processing.
  UInt32 bypass = 1;
  GIVES(AudioUnitSetProperty(unit, kAUVoiceIOProperty_BypassVoiceProcessing, kAudioUnitScope_Global,
                             0, &bypass, sizeof bypass),
        kAudioUnitErr_InvalidProperty);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("odd scopes");
}

// MARK: Recording

/// What the input's callback has rendered, in the format of the unit's output side.
typedef struct {
  AudioUnit unit;
  AudioStreamBasicDescription format;
  _Atomic int calls, wrong;
  _Atomic UInt32 frames;
  UInt8 bytes[2][16 * FRAMES];
} recorder;

static OSStatus take(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  recorder *this = data;
  this->calls++;
  if (bus != 1 || list != NULL) this->wrong++;
  bool is_planar = this->format.mFormatFlags & kAudioFormatFlagIsNonInterleaved;
  buffers all = no_memory(is_planar ? this->format.mChannelsPerFrame : 1);
  if (AudioUnitRender(this->unit, flags, time, 1, frames, &all.list) != noErr) this->wrong++;
  UInt32 size = this->format.mBytesPerFrame;
  if (all.list.mBuffers[0].mDataByteSize != frames * size) this->wrong++;
  UInt32 count = frames < FRAMES - this->frames ? frames : FRAMES - this->frames;
  for (UInt32 i = 0; i < all.list.mNumberBuffers; i++)
    memcpy(this->bytes[i] + this->frames * size, all.list.mBuffers[i].mData, count * size);
  this->frames += count;
  return noErr;
}

static void connect_emitter(void) {
  for (int i = 1; i <= 2; i++) {
    char from[100], to[200];
    snprintf(from, sizeof from, "emitter:out_%d", i);
    snprintf(to, sizeof to, "%s:in_%d", client, i);
    int result = jack_connect(cue_emitter_client(emitter), from, to);
    CHECK(result == 0 || result == EEXIST);
  }
}

/// Records, with the input's callback set in a scope and element.
static void record_input(recorder *this, AudioUnitScope scope, AudioUnitElement element) {
  this->frames = 0;
  set_proc(this->unit, kAudioOutputUnitProperty_SetInputCallback, scope, element, take, this);
  int before = this->calls;
  WORKS(AudioOutputUnitStart(this->unit));
  connect_emitter();
  WAIT(this->calls > before + 8);
  // From here on the emitter is connected.
  this->frames = 0;
  WAIT(this->frames == FRAMES);
  WORKS(AudioOutputUnitStop(this->unit));
  EQUAL(this->wrong, 0);
}

/// Fails unless samples are those of the emitter's channel, all of them in a row.
static void are_emitted(const float *samples, size_t stride, unsigned channel) {
  uint32_t first = (uint32_t)samples[0];
  for (uint32_t i = 0; i < FRAMES; i++)
    EQUAL(samples[i * stride], cue_emitter_sample(first + i, channel));
}

static void inputs(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  static recorder this;
  this.unit = unit;
  WORKS(AudioUnitInitialize(unit));
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 1);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0, 0);
  // Everything but the rate is converted.
  this.format = planar(RATE, 2);
  set_format(unit, kAudioUnitScope_Output, 1, this.format);
  for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output; scope++)
    for (AudioUnitElement element = 0; element < 2; element++)
      record_input(&this, scope, element);
  are_emitted((const float *)this.bytes[0], 1, 0);
  are_emitted((const float *)this.bytes[1], 1, 1);

  this.format = float_format(RATE, 1);
  set_format(unit, kAudioUnitScope_Output, 1, this.format);
  record_input(&this, kAudioUnitScope_Global, 0);
  are_emitted((const float *)this.bytes[0], 1, 0);

  this.format = float_format(RATE, 2);
  this.format.mBitsPerChannel = 64;
  this.format.mBytesPerFrame = this.format.mBytesPerPacket = 16;
  set_format(unit, kAudioUnitScope_Output, 1, this.format);
  // The channels are exchanged by the map of the input.
  const SInt32 map[] = {1, 0};
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Input, 1,
                             map, sizeof map));
  record_input(&this, kAudioUnitScope_Global, 0);
  static float left[FRAMES], right[FRAMES];
  for (int i = 0; i < FRAMES; i++) {
    left[i] = (float)((const double *)this.bytes[0])[2 * i];
    right[i] = (float)((const double *)this.bytes[0])[2 * i + 1];
  }
  are_emitted(left, 1, 1);
  are_emitted(right, 1, 0);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("inputs");
}

// MARK: Locks, and ends from inside

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int entered, is_free;

/// Takes the lock that the app holds when it starts the unit.
static OSStatus lock_and_play(void *data, AudioUnitRenderActionFlags *flags,
                              const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                              AudioBufferList *list) {
  entered++;
  pthread_mutex_lock(&lock);
  OSStatus status = play(data, flags, time, bus, frames, list);
  pthread_mutex_unlock(&lock);
  return status;
}

static OSStatus block_once(void *data, AudioUnitRenderActionFlags *flags,
                           const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                           AudioBufferList *list) {
  entered++;
  while (!is_free)
    usleep(1000);
  return play(data, flags, time, bus, frames, list);
}

static void locks(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  player this = {.format = planar(RATE, 2)};
  set_format(unit, kAudioUnitScope_Input, 0, this.format);
  set_callback(unit, 0, lock_and_play, &this);
  WORKS(AudioUnitInitialize(unit));
  pthread_mutex_lock(&lock);
  WORKS(AudioOutputUnitStart(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(entered > 0);
  pthread_mutex_unlock(&lock);
  WAIT(this.played == FRAMES);
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioOutputUnitStop(unit));

  // While one callback blocks, other units are made, set up and disposed of.
  player that = {.format = planar(RATE, 2)};
  entered = 0;
  set_callback(unit, 0, block_once, &that);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(entered > 0);
  AudioUnit mixer = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  WORKS(AudioUnitInitialize(mixer));
  AudioUnit other = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  set_format(other, kAudioUnitScope_Input, 0, planar(RATE, 2));
  WORKS(AudioUnitInitialize(other));
  WORKS(AudioComponentInstanceDispose(other));
  WORKS(AudioComponentInstanceDispose(mixer));
  is_free = 1;
  WAIT(that.played == FRAMES);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("locks");
}

static _Atomic int changes;

/// Stops the unit as soon as it runs, and removes itself.
static void stop_in_listener(void *data, AudioUnit unit, AudioUnitPropertyID property,
                             AudioUnitScope scope, AudioUnitElement element) {
  (void)scope, (void)element;
  WORKS(AudioOutputUnitStart(unit));
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioUnitRemovePropertyListenerWithUserData(unit, property, stop_in_listener, data));
  changes++;
}

static OSStatus play_nothing(AudioObjectID device, const AudioTimeStamp *now,
                             const AudioBufferList *input, const AudioTimeStamp *input_time,
                             AudioBufferList *output, const AudioTimeStamp *output_time,
                             void *data) {
  (void)device, (void)now, (void)input, (void)input_time, (void)output, (void)output_time;
  ++*(_Atomic int *)data;
  return noErr;
}

static const AudioObjectPropertyAddress running = {kAudioDevicePropertyDeviceIsRunning,
                                                   kAudioObjectPropertyScopeGlobal, 0};

typedef struct {
  AudioDeviceIOProcID proc;
  _Atomic int calls, told;
} device_user;

/// Stops and destroys the IOProc, and removes itself.
static OSStatus end_in_listener(AudioObjectID device, UInt32 count,
                                const AudioObjectPropertyAddress *addresses, void *data) {
  (void)count, (void)addresses;
  device_user *this = data;
  WORKS(AudioDeviceStop(device, this->proc));
  WORKS(AudioDeviceDestroyIOProcID(device, this->proc));
  WORKS(AudioObjectRemovePropertyListener(device, &running, end_in_listener, data));
  this->told++;
  return noErr;
}

static void ends_in_listeners(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  player this = {.format = planar(RATE, 2)};
  set_format(unit, kAudioUnitScope_Input, 0, this.format);
  set_callback(unit, 0, play, &this);
  WORKS(AudioUnitAddPropertyListener(unit, kAudioOutputUnitProperty_IsRunning, stop_in_listener,
                                     NULL));
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(changes == 1);
  EQUAL(number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0), 0);
  int calls = this.calls;
  let_time_pass();
  EQUAL(this.calls, calls);
  AudioDeviceID device =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  WORKS(AudioComponentInstanceDispose(unit));
  EQUAL(changes, 1);

  device_user that = {.calls = 0};
  WORKS(AudioObjectAddPropertyListener(device, &running, end_in_listener, &that));
  WORKS(AudioDeviceCreateIOProcID(device, play_nothing, (void *)&that.calls, &that.proc));
  WORKS(AudioDeviceStart(device, that.proc));
  WAIT(that.told == 1);
  calls = that.calls;
  let_time_pass();
  EQUAL(that.calls, calls);
  EQUAL(that.told, 1);
  passed("ends in listeners");
}

// MARK: Devices without a card

/// Without ports of a sound card there are two channels: programs take the first buffer unchecked.
static void no_card(void) {
  AudioDeviceID device = kAudioObjectUnknown;
  UInt32 size = sizeof device;
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  CHECK(device != kAudioObjectUnknown);
  address.mSelector = kAudioDevicePropertyStreamConfiguration;
  address.mScope = kAudioObjectPropertyScopeOutput;
  WORKS(AudioObjectGetPropertyDataSize(device, &address, 0, NULL, &size));
  EQUAL(size, sizeof(AudioBufferList));
  AudioBufferList list = {.mNumberBuffers = 77};
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &list));
  CHECK(list.mNumberBuffers == 1 && list.mBuffers[0].mNumberChannels == 2);
  WORKS(AudioHardwareUnload());
  passed("no card");
}

int main(int count, char **arguments) {
  (void)count;
  snprintf(client, sizeof client, "%s", strrchr(arguments[0], '/') + 1);
  cue_jack_silence();
  no_card();
  cue_capture *card = open_card(5);
  any_order(card);
  any_format(card);
  odd_scopes(card);
  time_stamps();
  jack_status_t status;
  emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 2, &status);
  CHECK(emitter != NULL);
  inputs();
  cue_emitter_close(emitter);
  locks();
  ends_in_listeners();
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
