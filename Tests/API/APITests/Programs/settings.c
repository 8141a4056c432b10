// Every property: its size and its error cases; and the properties that an app sets.
#include "check.h"

static AudioStreamBasicDescription format;
static cue_capture *card;
static _Atomic int calls;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

static AudioQueueRef new_queue_on(CFRunLoopRef loop) {
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, loop, NULL, 0, &queue));
  return queue;
}

static AudioQueueRef new_queue(void) {
  return new_queue_on(NULL);
}

static OSStatus set_number(AudioQueueRef queue, AudioQueuePropertyID property, UInt32 value) {
  return AudioQueueSetProperty(queue, property, &value, sizeof value);
}

static UInt32 number_of(AudioQueueRef queue, AudioQueuePropertyID property) {
  UInt32 value = 0x77777777, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, property, &value, &size));
  return value;
}

// MARK: All of them

/// A property with its expected behaviour. Add a line here for each new property.
typedef struct {
  AudioQueuePropertyID id;
  UInt32 size;
  enum {
    READ_ONLY,
    WRITABLE,
    ANY_SIZE
  } kind;
  /// Minimum number of bytes that can be set.
  UInt32 least;
  /// Distance in bytes between CFStringRefs in the value; 0 for none.
  UInt32 reference_stride;
  /// An invalid value and the expected error; noErr if there is none.
  const void *wrong;
  OSStatus refusal;
} property;

static const AudioQueueChannelAssignment too_far[2] = {{NULL, 1}, {NULL, 3}};
static const AudioChannelLayout mono = {.mChannelLayoutTag = kAudioChannelLayoutTag_Mono};
static const CFStringRef no_device = NULL;
static const UInt32 five = 5;

static const property properties[] = {
    {kAudioQueueProperty_IsRunning, 4, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueDeviceProperty_SampleRate, 8, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueDeviceProperty_NumberChannels, 4, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueProperty_CurrentDevice, sizeof(CFStringRef), WRITABLE, sizeof(CFStringRef),
     sizeof(CFStringRef), &no_device, kAudioQueueErr_InvalidPropertyValue},
    {kAudioQueueProperty_ChannelAssignments, sizeof too_far, WRITABLE, sizeof too_far,
     sizeof *too_far, too_far, kAudioQueueErr_InvalidPropertyValue},
    {kAudioQueueProperty_MagicCookie, 3, ANY_SIZE, 0, 0, NULL, 0},
    {kAudioQueueProperty_MaximumOutputPacketSize, 4, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueProperty_StreamDescription, sizeof format, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueProperty_ChannelLayout, sizeof mono, WRITABLE,
     offsetof(AudioChannelLayout, mChannelDescriptions), 0, &mono,
     kAudioQueueErr_InvalidPropertyValue},
    {kAudioQueueProperty_EnableLevelMetering, 4, WRITABLE, 4, 0, NULL, 0},
    {kAudioQueueProperty_CurrentLevelMeter, 16, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueProperty_CurrentLevelMeterDB, 16, READ_ONLY, 0, 0, NULL, 0},
    {kAudioQueueProperty_HardwareCodecPolicy, 4, WRITABLE, 4, 0, &five,
     kAudioQueueErr_InvalidPropertyValue},
};

static void listen(void *data, AudioQueueRef queue, AudioQueuePropertyID id) {
  (void)data, (void)queue, (void)id;
}

static void release_references(const property *property, const char *value) {
  if (!property->reference_stride) return;
  for (UInt32 at = 0; at < property->size; at += property->reference_stride) {
    CFStringRef reference;
    memcpy(&reference, value + at, sizeof reference);
    CHECK(CFStringGetLength(reference) > 0);
    CFRelease(reference);
  }
}

static void every_property(void) {
  AudioQueueRef queue = new_queue();
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, "abc", 3));
  WORKS(set_number(queue, kAudioQueueProperty_EnableLevelMetering, 1));
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    const property *one = &properties[i];
    char value[200], again[200];
    UInt32 size = 0x77777777;
    WORKS(AudioQueueGetPropertySize(queue, one->id, &size));
    EQUAL(size, one->size);
    // Too small: nothing is written. A list of levels is shortened; a value of four bytes is whole.
    memset(value, 0x77, sizeof value);
    const bool is_levels = one->id == kAudioQueueProperty_CurrentLevelMeter ||
                           one->id == kAudioQueueProperty_CurrentLevelMeterDB;
    const bool is_word = one->size == 4 && one->kind != ANY_SIZE;
    const UInt32 least = is_levels ? sizeof(AudioQueueLevelMeterState) : is_word ? 0 : one->size;
    for (UInt32 little = 0; little < least; little++) {
      size = little;
      GIVES(AudioQueueGetProperty(queue, one->id, value, &size),
            kAudioQueueErr_InvalidPropertySize);
      EQUAL(size, little > 0 ? little : one->size);
      EQUAL(value[0], 0x77);
    }
    // Larger than needed: the actual size is returned, and nothing is written beyond the value.
    size = one->size + 9;
    WORKS(AudioQueueGetProperty(queue, one->id, value, &size));
    EQUAL(size, one->size);
    for (int j = 0; j < 9; j++)
      EQUAL(value[one->size + j], 0x77);
    // Exactly the required size.
    WORKS(AudioQueueGetProperty(queue, one->id, again, &size));
    EQUAL(size, one->size);
    if (!one->reference_stride) CHECK(memcmp(value, again, one->size) == 0);
    release_references(one, again);

    if (one->kind == READ_ONLY) {
      for (UInt32 bytes = 0; bytes < one->size + 9; bytes++)
        GIVES(AudioQueueSetProperty(queue, one->id, value, bytes), kAudioQueueErr_Permissions);
    } else {
      for (UInt32 bytes = 0; bytes < one->least; bytes++)
        GIVES(AudioQueueSetProperty(queue, one->id, value, bytes),
              kAudioQueueErr_InvalidPropertySize);
      // The property accepts its own value, also with excess bytes, unless its size is variable.
      WORKS(AudioQueueSetProperty(queue, one->id, value, one->size));
      WORKS(AudioQueueSetProperty(queue, one->id, value, one->size + 9));
      WORKS(AudioQueueGetPropertySize(queue, one->id, &size));
      EQUAL(size, one->size + (one->kind == ANY_SIZE ? 9 : 0));
    }
    release_references(one, value);
    if (one->wrong) {
      GIVES(AudioQueueSetProperty(queue, one->id, one->wrong, one->size), one->refusal);
    }
    WORKS(AudioQueueAddPropertyListener(queue, one->id, listen, &calls));
    WORKS(AudioQueueRemovePropertyListener(queue, one->id, listen, &calls));
  }
  const AudioQueuePropertyID unknown[] = {0, 'what', 'AQRN'};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    UInt32 value = 0, size = sizeof value;
    const OSStatus invalid = kAudioQueueErr_InvalidProperty;
    GIVES(AudioQueueGetPropertySize(queue, unknown[i], &size), invalid);
    GIVES(AudioQueueGetProperty(queue, unknown[i], &value, &size), invalid);
    GIVES(AudioQueueSetProperty(queue, unknown[i], &value, size), invalid);
    GIVES(AudioQueueAddPropertyListener(queue, unknown[i], listen, NULL), invalid);
    GIVES(AudioQueueRemovePropertyListener(queue, unknown[i], listen, NULL), invalid);
  }
  EQUAL(number_of(queue, kAudioQueueProperty_MaximumOutputPacketSize), 8);
  WORKS(AudioQueueDispose(queue, true));
  passed("every property");
}

// MARK: Levels

static OSStatus levels(AudioQueueRef queue, bool in_decibels, AudioQueueLevelMeterState *states) {
  UInt32 size = 2 * sizeof *states;
  return AudioQueueGetProperty(queue,
                               in_decibels ? kAudioQueueProperty_CurrentLevelMeterDB
                                           : kAudioQueueProperty_CurrentLevelMeter,
                               states, &size);
}

static void metering(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueLevelMeterState states[2] = {{9, 9}, {9, 9}};
  EQUAL(number_of(queue, kAudioQueueProperty_EnableLevelMetering), 0);
  GIVES(levels(queue, false, states), kAudioQueueErr_InvalidPropertyValue);
  GIVES(levels(queue, true, states), kAudioQueueErr_InvalidPropertyValue);
  EQUAL(states[0].mPeakPower, 9);
  WORKS(set_number(queue, kAudioQueueProperty_EnableLevelMetering, 1));
  EQUAL(number_of(queue, kAudioQueueProperty_EnableLevelMetering), 1);
  WORKS(levels(queue, false, states));
  EQUAL(states[0].mPeakPower, 0);
  WORKS(levels(queue, true, states));
  EQUAL(states[1].mAveragePower, -120);

  // Half of full scale on the left, twice full scale on the right: the level is limited to 1.
  AudioQueueBufferRef buffer = new_buffer(queue, 10 * RATE);
  float *samples = (float *)buffer->mAudioData;
  for (int i = 0; i < 10 * RATE; i++) {
    samples[2 * i] = i & 1 ? 0.5f : -0.5f;
    samples[2 * i + 1] = -2;
  }
  buffer->mAudioDataByteSize = 10 * RATE * FRAME_BYTES;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  record(card, SETTLED);
  for (int i = 0; i < 3; i++) {
    WORKS(levels(queue, false, states));
    EQUAL(states[0].mPeakPower, 0.5);
    EQUAL(states[0].mAveragePower, 0.5);
    EQUAL(states[1].mPeakPower, 1);
    EQUAL(states[1].mAveragePower, 1);
    WORKS(levels(queue, true, states));
    EQUAL(states[0].mPeakPower, (float)(20 * log10(0.5)));
    EQUAL(states[0].mAveragePower, (float)(20 * log10(0.5)));
    EQUAL(states[1].mPeakPower, 0);
  }
  WORKS(AudioQueuePause(queue));
  WORKS(levels(queue, true, states));
  EQUAL(states[0].mPeakPower, -120);
  WORKS(AudioQueueStart(queue, NULL));
  do
    WORKS(levels(queue, false, states));
  while (states[0].mPeakPower != 0.5);
  WORKS(AudioQueueStop(queue, true));
  WORKS(levels(queue, false, states));
  EQUAL(states[0].mPeakPower, 0);
  WORKS(set_number(queue, kAudioQueueProperty_EnableLevelMetering, 0));
  GIVES(levels(queue, false, states), kAudioQueueErr_InvalidPropertyValue);
  WORKS(AudioQueueDispose(queue, true));
  passed("metering");
}

// MARK: Layouts

static void layouts(void) {
  AudioQueueRef queue = new_queue();
  const AudioQueuePropertyID id = kAudioQueueProperty_ChannelLayout;
  const UInt32 head = offsetof(AudioChannelLayout, mChannelDescriptions);
  AudioChannelLayout layout, back;
  UInt32 size = sizeof back;
  // The default of two channels is stereo.
  WORKS(AudioQueueGetProperty(queue, id, &back, &size));
  EQUAL(back.mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);

  memset(&layout, 0, sizeof layout);
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_MidSide;
  WORKS(AudioQueueSetProperty(queue, id, &layout, head));
  WORKS(AudioQueueGetProperty(queue, id, &back, &size));
  CHECK(memcmp(&layout, &back, sizeof back) == 0);

  layout.mChannelLayoutTag = kAudioChannelLayoutTag_UseChannelBitmap;
  layout.mChannelBitmap = kAudioChannelBit_Center | kAudioChannelBit_LFEScreen;
  WORKS(AudioQueueSetProperty(queue, id, &layout, sizeof layout));
  WORKS(AudioQueueGetProperty(queue, id, &back, &size));
  CHECK(memcmp(&layout, &back, sizeof back) == 0);

  union {
    AudioChannelLayout layout;
    char bytes[sizeof(AudioChannelLayout) + sizeof(AudioChannelDescription)];
  } two, read;
  memset(&two, 0, sizeof two);
  two.layout.mNumberChannelDescriptions = 2;
  two.layout.mChannelDescriptions[0].mChannelLabel = kAudioChannelLabel_UseCoordinates;
  two.layout.mChannelDescriptions[0].mChannelFlags = kAudioChannelFlags_SphericalCoordinates;
  two.layout.mChannelDescriptions[0].mCoordinates[0] = -30;
  two.bytes[sizeof(AudioChannelLayout)] = kAudioChannelLabel_Right;
  WORKS(AudioQueueSetProperty(queue, id, &two, sizeof two));
  WORKS(AudioQueueGetPropertySize(queue, id, &size));
  EQUAL(size, sizeof two);
  WORKS(AudioQueueGetProperty(queue, id, &read, &size));
  CHECK(memcmp(&two, &read, sizeof two) == 0);
  // Descriptions beyond the given size.
  GIVES(AudioQueueSetProperty(queue, id, &two, sizeof two - 1), kAudioQueueErr_InvalidPropertySize);

  // Another channel count in each of the forms: the old layout stays.
  two.layout.mNumberChannelDescriptions = 1;
  GIVES(AudioQueueSetProperty(queue, id, &two, sizeof two), kAudioQueueErr_InvalidPropertyValue);
  layout.mChannelBitmap |= kAudioChannelBit_Left;
  GIVES(AudioQueueSetProperty(queue, id, &layout, head), kAudioQueueErr_InvalidPropertyValue);
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_A;
  GIVES(AudioQueueSetProperty(queue, id, &layout, head), kAudioQueueErr_InvalidPropertyValue);
  two.layout.mNumberChannelDescriptions = 2;
  WORKS(AudioQueueGetProperty(queue, id, &read, &size));
  CHECK(memcmp(&two, &read, sizeof two) == 0);

  WORKS(AudioQueueStart(queue, NULL));
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo;
  GIVES(AudioQueueSetProperty(queue, id, &layout, head), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueSetProperty(queue, id, &layout, head));
  WORKS(AudioQueueDispose(queue, true));
  passed("layouts");
}

// MARK: Assignments

static OSStatus assign(AudioQueueRef queue, CFStringRef device, UInt32 left, UInt32 right) {
  const AudioQueueChannelAssignment both[2] = {{device, left}, {device, right}};
  return AudioQueueSetProperty(queue, kAudioQueueProperty_ChannelAssignments, both, sizeof both);
}

static void check_assignments(AudioQueueRef queue, CFStringRef device, UInt32 left, UInt32 right) {
  AudioQueueChannelAssignment both[2] = {{NULL, 99}, {NULL, 99}};
  UInt32 size = sizeof both;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ChannelAssignments, both, &size));
  EQUAL(both[0].mChannelNumber, left);
  EQUAL(both[1].mChannelNumber, right);
  for (int i = 0; i < 2; i++) {
    CHECK(CFEqual(both[i].mDeviceUID, device));
    CFRelease(both[i].mDeviceUID);
  }
}

/// Plays 3000 frames of the wave.
static size_t play(AudioQueueRef queue, AudioQueueBufferRef buffer) {
  calls = 0;
  cue_capture_arm(card);
  enqueue_wave(queue, buffer, 0, 3000);
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1 && !is_running(queue));
  record(card, SETTLED);
  end_recording(card);
  size_t at = 0;
  while (at < cue_capture_frames(card) && cue_capture_samples(card, 0)[at] == 0 &&
         cue_capture_samples(card, 1)[at] == 0)
    at++;
  CHECK(at + 3000 < cue_capture_frames(card));
  return at;
}

static void assignments(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueBufferRef buffer = new_buffer(queue, 3000);
  Float64 rate;
  UInt32 size = sizeof rate;
  // Opens the device, so that its full name is known.
  WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &rate, &size));
  CFStringRef device = NULL;
  size = sizeof device;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &device, &size));
  CFStringRef server =
      CFStringCreateWithFormat(NULL, NULL, CFSTR("jack:%s"), getenv("JACK_DEFAULT_SERVER"));
  check_assignments(queue, device, 1, 2);
  WORKS(assign(queue, NULL, 2, 1));
  check_assignments(queue, device, 2, 1);
  size_t at = play(queue, buffer);
  const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
  for (long i = 0; i < 3000; i++) {
    EQUAL(left[at + (size_t)i], -wave(i));
    EQUAL(right[at + (size_t)i], wave(i));
  }
  // The right channel only.
  WORKS(assign(queue, server, 0, 2));
  check_assignments(queue, device, 0, 2);
  at = play(queue, buffer);
  for (long i = 0; i < 3000; i++) {
    EQUAL(left[at + (size_t)i], 0);
    EQUAL(right[at + (size_t)i], -wave(i));
  }
  const OSStatus wrong = kAudioQueueErr_InvalidPropertyValue;
  GIVES(assign(queue, NULL, 1, 3), wrong);
  GIVES(assign(queue, NULL, 0xFFFFFFFF, 1), wrong);
  GIVES(assign(queue, CFSTR("jack:no-such-server"), 1, 2), wrong);
  GIVES(assign(queue, CFSTR(""), 1, 2), wrong);
  WORKS(assign(queue, device, 1, 2));
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(assign(queue, NULL, 2, 1), kAudioQueueErr_InvalidRunState);
  check_assignments(queue, device, 1, 2);
  WORKS(AudioQueueDispose(queue, true));
  CFRelease(device);
  CFRelease(server);
  passed("assignments");
}

// MARK: Codecs

static void codec_policy(void) {
  AudioQueueRef queue = new_queue();
  const AudioQueuePropertyID id = kAudioQueueProperty_HardwareCodecPolicy;
  EQUAL(number_of(queue, id), kAudioQueueHardwareCodecPolicy_Default);
  const UInt32 good[] = {1, 3, 2, 0, 4};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    WORKS(set_number(queue, id, good[i]));
    EQUAL(number_of(queue, id), good[i]);
  }
  GIVES(set_number(queue, id, 5), kAudioQueueErr_InvalidPropertyValue);
  GIVES(set_number(queue, id, 0xFFFFFFFF), kAudioQueueErr_InvalidPropertyValue);
  EQUAL(number_of(queue, id), 4);
  // Primed frames were already decoded.
  enqueue_wave(queue, new_buffer(queue, 100), 0, 100);
  WORKS(set_number(queue, id, 1));
  WORKS(AudioQueuePrime(queue, 0, NULL));
  GIVES(set_number(queue, id, 3), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(set_number(queue, id, 3), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueuePause(queue));
  GIVES(set_number(queue, id, 3), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueStop(queue, true));
  WORKS(set_number(queue, id, 3));
  WORKS(AudioQueueDispose(queue, true));
  passed("codec policy");
}

// MARK: Listeners

static const AudioQueuePropertyID heard_ids[] = {
    kAudioQueueProperty_ChannelLayout,   kAudioQueueProperty_ChannelAssignments,
    kAudioQueueProperty_MagicCookie,     kAudioQueueProperty_EnableLevelMetering,
    kAudioQueueProperty_CurrentDevice,   kAudioQueueProperty_HardwareCodecPolicy,
    kAudioQueueDeviceProperty_SampleRate};
#define HEARD (sizeof heard_ids / sizeof *heard_ids)
static int heard[HEARD];
static UInt32 new_value;

static void hear_change(void *data, AudioQueueRef queue, AudioQueuePropertyID id) {
  CHECK(data == heard);
  for (size_t i = 0; i < HEARD; i++)
    heard[i] += id == heard_ids[i];
  if (id == kAudioQueueProperty_HardwareCodecPolicy) new_value = number_of(queue, id);
}

static void changes(void) {
  AudioQueueRef queue = new_queue_on(CFRunLoopGetCurrent());
  for (size_t i = 0; i < HEARD; i++)
    WORKS(AudioQueueAddPropertyListener(queue, heard_ids[i], hear_change, heard));
  const AudioChannelLayout layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_XY};
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_ChannelLayout, &layout, sizeof layout));
  WORKS(assign(queue, NULL, 2, 1));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, "abc", 3));
  WORKS(set_number(queue, kAudioQueueProperty_EnableLevelMetering, 1));
  // Setting the same value is no change.
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_ChannelLayout, &layout, sizeof layout));
  WORKS(assign(queue, NULL, 2, 1));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, "abc", 3));
  WORKS(set_number(queue, kAudioQueueProperty_EnableLevelMetering, 1));
  // A refused value is no change either.
  GIVES(set_number(queue, kAudioQueueProperty_HardwareCodecPolicy, 5),
        kAudioQueueErr_InvalidPropertyValue);
  WORKS(set_number(queue, kAudioQueueProperty_HardwareCodecPolicy, 3));
  // Never inside the call, and only on the run loop's thread.
  let_time_pass();
  for (size_t i = 0; i < HEARD; i++)
    EQUAL(heard[i], 0);
  RUN_LOOP_UNTIL(heard[5] == 1);
  EQUAL(new_value, 3);
  for (int i = 0; i < 20; i++)
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true);
  // The device got its client's name when it was opened; its rate has not changed.
  for (size_t i = 0; i < HEARD; i++)
    EQUAL(heard[i], heard_ids[i] == kAudioQueueDeviceProperty_SampleRate ? 0 : 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("changes");
}

int main(void) {
  format = float_format(RATE, 2);
  card = open_card(30);
  every_property();
  metering();
  layouts();
  assignments();
  codec_policy();
  changes();
  cue_capture_close(card);
  return 0;
}
