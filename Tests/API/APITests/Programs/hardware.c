// The hardware API: objects, properties, listeners, and IOProcs that play and record.
#include "check.h"

#include <errno.h>

static AudioDeviceID device;
static char client[100];

static AudioObjectPropertyAddress at(AudioObjectPropertySelector selector,
                                     AudioObjectPropertyScope scope) {
  AudioObjectPropertyAddress address = {selector, scope, kAudioObjectPropertyElementMain};
  return address;
}

#define GLOBAL(selector) at(selector, kAudioObjectPropertyScopeGlobal)
#define OUTPUT(selector) at(selector, kAudioObjectPropertyScopeOutput)
#define INPUT(selector)  at(selector, kAudioObjectPropertyScopeInput)

static OSStatus get(AudioObjectID object, AudioObjectPropertyAddress address, void *data,
                    UInt32 size) {
  UInt32 told = 0;
  OSStatus status = AudioObjectGetPropertyDataSize(object, &address, 0, NULL, &told);
  if (status != noErr) return status;
  UInt32 copied = size;
  status = AudioObjectGetPropertyData(object, &address, 0, NULL, &copied, data);
  if (status == noErr) EQUAL(copied, told < size ? told : size);
  return status;
}

static OSStatus set(AudioObjectID object, AudioObjectPropertyAddress address, const void *data,
                    UInt32 size) {
  return AudioObjectSetPropertyData(object, &address, 0, NULL, size, data);
}

static UInt32 number(AudioObjectID object, AudioObjectPropertyAddress address) {
  UInt32 value = 0xABCDEF01;
  WORKS(get(object, address, &value, sizeof value));
  return value;
}

static void text(AudioObjectID object, AudioObjectPropertyAddress address, char *buffer,
                 CFIndex room) {
  CFStringRef string = NULL;
  WORKS(get(object, address, &string, sizeof string));
  CHECK(string != NULL && CFStringGetCString(string, buffer, room, kCFStringEncodingUTF8));
  CFRelease(string);
}

// MARK: Objects

static void objects(void) {
  EQUAL(number(kAudioObjectSystemObject, GLOBAL(kAudioObjectPropertyClass)),
        kAudioSystemObjectClassID);
  AudioDeviceID devices[64];
  AudioObjectPropertyAddress list = GLOBAL(kAudioHardwarePropertyDevices);
  UInt32 size = sizeof devices;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &list, 0, NULL, &size, devices));
  CHECK(size >= sizeof *devices && size % sizeof *devices == 0);
  device = number(kAudioObjectSystemObject, GLOBAL(kAudioHardwarePropertyDefaultOutputDevice));
  EQUAL(device, devices[0]);
  EQUAL(device, number(kAudioObjectSystemObject, GLOBAL(kAudioHardwarePropertyDefaultInputDevice)));
  EQUAL(device,
        number(kAudioObjectSystemObject, GLOBAL(kAudioHardwarePropertyDefaultSystemOutputDevice)));
  // Setting it to itself is no error.
  WORKS(set(kAudioObjectSystemObject, GLOBAL(kAudioHardwarePropertyDefaultOutputDevice), &device,
            sizeof device));
  AudioDeviceID other = device + 77;
  GIVES(set(kAudioObjectSystemObject, GLOBAL(kAudioHardwarePropertyDefaultOutputDevice), &other,
            sizeof other),
        kAudioHardwareIllegalOperationError);

  char uid[200], expected[200];
  text(device, GLOBAL(kAudioDevicePropertyDeviceUID), uid, sizeof uid);
  const char *server = getenv("JACK_DEFAULT_SERVER");
  snprintf(expected, sizeof expected, "jack:%s", server ? server : "default");
  CHECK(strcmp(uid, expected) == 0);
  CFStringRef name = CFStringCreateWithCString(NULL, uid, kCFStringEncodingUTF8);
  AudioObjectPropertyAddress translate = GLOBAL(kAudioHardwarePropertyTranslateUIDToDevice);
  AudioDeviceID found = 0;
  size = sizeof found;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &translate, sizeof name, &name, &size,
                                   &found));
  EQUAL(found, device);
  found = 0;
  AudioValueTranslation translation = {(void *)&name, sizeof name, &found, sizeof found};
  size = sizeof translation;
  WORKS(AudioHardwareGetProperty(kAudioHardwarePropertyDeviceForUID, &size, &translation));
  EQUAL(found, device);
  CFRelease(name);
  name = CFSTR("jack:nowhere");
  size = sizeof found;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &translate, sizeof name, &name, &size,
                                   &found));
  EQUAL(found, kAudioObjectUnknown);

  AudioStreamID streams[8];
  size = sizeof streams;
  AudioObjectPropertyAddress owned = GLOBAL(kAudioObjectPropertyOwnedObjects);
  WORKS(AudioObjectGetPropertyData(device, &owned, 0, NULL, &size, streams));
  EQUAL(size, 2 * sizeof *streams);
  const AudioClassID classes[] = {kAudioPlugInClassID};
  size = sizeof streams;
  WORKS(AudioObjectGetPropertyData(device, &owned, sizeof classes, classes, &size, streams));
  EQUAL(size, 0);
  size = sizeof streams;
  AudioObjectPropertyAddress outputs = OUTPUT(kAudioDevicePropertyStreams);
  WORKS(AudioObjectGetPropertyData(device, &outputs, 0, NULL, &size, streams));
  EQUAL(size, sizeof *streams);
  EQUAL(number(streams[0], GLOBAL(kAudioStreamPropertyDirection)), 0);
  EQUAL(number(streams[0], GLOBAL(kAudioObjectPropertyOwner)), device);
  EQUAL(number(number(device, INPUT(kAudioDevicePropertyStreams)),
               GLOBAL(kAudioStreamPropertyDirection)),
        1);
  // A queue takes the device's UID.
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, (AudioQueueOutputCallback)abort, NULL, NULL, NULL, 0, &queue));
  CFStringRef own = NULL;
  WORKS(get(device, GLOBAL(kAudioDevicePropertyDeviceUID), &own, sizeof own));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_CurrentDevice, &own, sizeof own));
  CFRelease(own);
  WORKS(AudioQueueDispose(queue, true));
  passed("objects");
}

// MARK: Properties

static void properties(void) {
  Float64 rate = 0;
  WORKS(get(device, GLOBAL(kAudioDevicePropertyNominalSampleRate), &rate, sizeof rate));
  EQUAL(rate, RATE);
  AudioValueRange range = {0, 0};
  WORKS(get(device, GLOBAL(kAudioDevicePropertyAvailableNominalSampleRates), &range, sizeof range));
  CHECK(range.mMinimum == RATE && range.mMaximum == RATE);
  WORKS(set(device, GLOBAL(kAudioDevicePropertyNominalSampleRate), &rate, sizeof rate));
  rate = 44100;
  GIVES(set(device, GLOBAL(kAudioDevicePropertyNominalSampleRate), &rate, sizeof rate),
        kAudioDeviceUnsupportedFormatError);
  WORKS(get(device, GLOBAL(kAudioDevicePropertyBufferFrameSizeRange), &range, sizeof range));
  CHECK(range.mMinimum == 16 && range.mMaximum == 4096);

  AudioStreamBasicDescription format;
  WORKS(get(device, OUTPUT(kAudioDevicePropertyStreamFormat), &format, sizeof format));
  CHECK(format.mSampleRate == RATE && format.mFormatID == kAudioFormatLinearPCM &&
        format.mFormatFlags == kAudioFormatFlagsNativeFloatPacked &&
        format.mChannelsPerFrame == 2 && format.mBytesPerFrame == 8);
  WORKS(set(device, OUTPUT(kAudioDevicePropertyStreamFormat), &format, sizeof format));
  AudioStreamID stream = number(device, OUTPUT(kAudioDevicePropertyStreams));
  AudioStreamRangedDescription ranged;
  WORKS(get(stream, GLOBAL(kAudioStreamPropertyAvailablePhysicalFormats), &ranged, sizeof ranged));
  CHECK(ranged.mFormat.mChannelsPerFrame == 2 && ranged.mSampleRateRange.mMaximum == RATE);
  format.mSampleRate = 96000;
  GIVES(set(stream, GLOBAL(kAudioStreamPropertyPhysicalFormat), &format, sizeof format),
        kAudioDeviceUnsupportedFormatError);

  AudioBufferList list;
  WORKS(get(device, OUTPUT(kAudioDevicePropertyStreamConfiguration), &list, sizeof list));
  CHECK(list.mNumberBuffers == 1 && list.mBuffers[0].mNumberChannels == 2);
  UInt32 stereo[2];
  WORKS(get(device, OUTPUT(kAudioDevicePropertyPreferredChannelsForStereo), stereo, sizeof stereo));
  CHECK(stereo[0] == 1 && stereo[1] == 2);
  AudioChannelLayout layout;
  WORKS(get(device, OUTPUT(kAudioDevicePropertyPreferredChannelLayout), &layout, sizeof layout));
  EQUAL(layout.mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);

  char name[100], old[100], port[100];
  text(device, GLOBAL(kAudioObjectPropertyName), name, sizeof name);
  CHECK(strlen(name) > 3);
  UInt32 size = sizeof old;
  WORKS(AudioDeviceGetProperty(device, 0, false, kAudioDevicePropertyDeviceName, &size, old));
  CHECK(strcmp(name, old) == 0 && size == strlen(name) + 1);
  AudioObjectPropertyAddress channel = {kAudioObjectPropertyElementName,
                                        kAudioObjectPropertyScopeOutput, 2};
  text(device, channel, port, sizeof port);
  CHECK(strchr(port, ':') != NULL);

  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceIsAlive)), 1);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceIsRunning)), 0);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertySafetyOffset)), 0);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyTransportType)),
        kAudioDeviceTransportTypeUnknown);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceCanBeDefaultDevice)), 1);
  const UInt32 source = number(device, OUTPUT(kAudioDevicePropertyDataSource));
  CFStringRef source_name = NULL;
  AudioValueTranslation translation = {(void *)&source, sizeof source, &source_name,
                                       sizeof source_name};
  size = sizeof translation;
  WORKS(AudioDeviceGetProperty(device, 0, false, kAudioDevicePropertyDataSourceNameForIDCFString,
                               &size, &translation));
  CHECK(source_name != NULL && CFStringGetLength(source_name) > 3);
  CFRelease(source_name);

  // Any element means the same, and qualifiers are not read.
  AudioObjectPropertyAddress odd = {kAudioDevicePropertyNominalSampleRate, 'what', 17};
  size = sizeof rate;
  WORKS(AudioObjectGetPropertyData(device, &odd, 8, (const void *)16, &size, &rate));
  EQUAL(rate, RATE);
  // Larger memory is fine, and of an array comes as much as fits.
  char room[100];
  size = sizeof room;
  AudioObjectPropertyAddress address = GLOBAL(kAudioDevicePropertyDeviceIsAlive);
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, room));
  EQUAL(size, 4);
  size = 3;
  GIVES(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, room),
        kAudioHardwareBadPropertySizeError);
  address = GLOBAL(kAudioObjectPropertyOwnedObjects);
  size = 7;
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, room));
  EQUAL(size, 4);

  pid_t hog = 0;
  WORKS(get(device, GLOBAL(kAudioDevicePropertyHogMode), &hog, sizeof hog));
  EQUAL(hog, -1);
  WORKS(set(device, GLOBAL(kAudioDevicePropertyHogMode), &hog, sizeof hog));
  WORKS(get(device, GLOBAL(kAudioDevicePropertyHogMode), &hog, sizeof hog));
  EQUAL(hog, getpid());
  WORKS(set(device, GLOBAL(kAudioDevicePropertyHogMode), &hog, sizeof hog));
  WORKS(get(device, GLOBAL(kAudioDevicePropertyHogMode), &hog, sizeof hog));
  EQUAL(hog, -1);
  CFRunLoopRef loop = NULL;
  AudioObjectPropertyAddress run_loop = GLOBAL(kAudioHardwarePropertyRunLoop);
  WORKS(set(kAudioObjectSystemObject, run_loop, &loop, sizeof loop));
  passed("properties");
}

static void mistakes(void) {
  AudioObjectPropertyAddress address = GLOBAL('none');
  UInt32 value = 0, size = sizeof value;
  Boolean settable = true;
  CHECK(!AudioObjectHasProperty(device, &address));
  GIVES(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &value),
        kAudioHardwareUnknownPropertyError);
  GIVES(AudioObjectIsPropertySettable(device, &address, &settable),
        kAudioHardwareUnknownPropertyError);
  GIVES(set(device, address, &value, sizeof value), kAudioHardwareUnknownPropertyError);
  address = GLOBAL(kAudioDevicePropertyDeviceIsAlive);
  CHECK(AudioObjectHasProperty(device, &address));
  WORKS(AudioObjectIsPropertySettable(device, &address, &settable));
  CHECK(!settable);
  GIVES(set(device, address, &value, sizeof value), kAudioHardwareIllegalOperationError);
  for (AudioObjectID id = 2; id < 5000; id += 577)
    GIVES(AudioObjectGetPropertyData(id, &address, 0, NULL, &size, &value),
          kAudioHardwareBadObjectError);
  size = sizeof value;
  GIVES(AudioDeviceGetProperty(7, 0, false, kAudioDevicePropertyDeviceIsAlive, &size, &value),
        kAudioHardwareBadDeviceError);
  GIVES(AudioStreamGetProperty(7, 0, kAudioStreamPropertyDirection, &size, &value),
        kAudioHardwareBadStreamError);
  // A volume is of the output.
  address = INPUT(kAudioDevicePropertyVolumeScalar);
  CHECK(!AudioObjectHasProperty(device, &address));
  AudioObjectID aggregate = 7;
  CFDictionaryRef description = CFDictionaryCreate(NULL, NULL, NULL, 0, NULL, NULL);
  GIVES(AudioHardwareCreateAggregateDevice(description, &aggregate),
        kAudioHardwareUnsupportedOperationError);
  CFRelease(description);
  EQUAL(aggregate, kAudioObjectUnknown);
  GIVES(AudioDeviceStart(device, (AudioDeviceIOProcID)mistakes),
        kAudioHardwareIllegalOperationError);
  value = 15;
  GIVES(set(device, GLOBAL(kAudioDevicePropertyBufferFrameSize), &value, sizeof value),
        kAudioHardwareIllegalOperationError);
  passed("mistakes");
}

// MARK: IOProcs

/// A player of the wave, and what its calls have shown.
typedef struct {
  UInt32 frames; // of each call
  long length;   // of the wave; silence follows
  _Atomic long played;
  double first, next; // sample times
  _Atomic int calls;
  _Atomic int wrong;
  float gain;
  long stops_at; // the call that stops its own IOProc; 0 for none
  AudioDeviceIOProcID id;
} player;

static bool are_finite(const AudioTimeStamp *time) {
  return (time->mFlags & 3) == 3 && isfinite(time->mSampleTime) && time->mHostTime > 0;
}

static OSStatus play(AudioObjectID in_device, const AudioTimeStamp *now,
                     const AudioBufferList *input, const AudioTimeStamp *input_time,
                     AudioBufferList *output, const AudioTimeStamp *output_time, void *data) {
  player *this = (player *)data;
  int call = ++this->calls;
  if (this->stops_at > 0 && call > this->stops_at) this->wrong++;
  if (in_device != device || !are_finite(now) || !are_finite(output_time)) this->wrong++;
  if (call == 1) this->first = this->next = output_time->mSampleTime;
  if (output_time->mSampleTime != this->next) this->wrong++;
  this->next += this->frames;
  // The present is not after the moment when the sound leaves, nor before the input came.
  if (output_time->mHostTime + 1000000 < now->mHostTime) this->wrong++;
  if (input->mNumberBuffers > 0 && input_time->mHostTime > now->mHostTime) this->wrong++;
  if (input->mNumberBuffers > 0 &&
      input->mBuffers[0].mDataByteSize != this->frames * input->mBuffers[0].mNumberChannels * 4)
    this->wrong++;
  if (output->mNumberBuffers != 1 || output->mBuffers[0].mNumberChannels != 2 ||
      output->mBuffers[0].mDataByteSize != this->frames * FRAME_BYTES) {
    this->wrong++;
    return noErr;
  }
  float *samples = (float *)output->mBuffers[0].mData;
  UInt32 count = 0;
  for (; count < this->frames && this->played < this->length; count++, this->played++) {
    samples[2 * count] = wave(this->played) * this->gain;
    samples[2 * count + 1] = -samples[2 * count];
  }
  // Samples behind mDataByteSize are not heard.
  for (UInt32 i = count; i < this->frames; i++)
    samples[2 * i] = 0.7f;
  output->mBuffers[0].mDataByteSize = count * FRAME_BYTES;
  if (call == this->stops_at) AudioDeviceStop(device, this->id);
  return noErr;
}

static UInt32 buffer_frames(void) {
  return number(device, GLOBAL(kAudioDevicePropertyBufferFrameSize));
}

/// Frames that calls of `frames` frames add.
static UInt32 added(UInt32 frames, UInt32 period) {
  UInt32 a = frames, b = period;
  while (b > 0) {
    UInt32 rest = a % b;
    a = b;
    b = rest;
  }
  return frames - a;
}

static void plays(cue_capture *card, UInt32 frames, const char *name) {
  UInt32 period = jack_get_buffer_size(cue_capture_client(card));
  const UInt32 size = sizeof frames;
  if (frames == 0)
    frames = buffer_frames();
  else
    WORKS(set(device, GLOBAL(kAudioDevicePropertyBufferFrameSize), &frames, size));
  EQUAL(buffer_frames(), frames);
  UInt32 latency = number(device, OUTPUT(kAudioDevicePropertyLatency));
  CHECK(latency >= added(frames, period));
  player this = {frames, 20000, 0, 0, 0, 0, 0, 1, 0, NULL};
  WORKS(AudioDeviceCreateIOProcID(device, play, &this, &this.id));
  CHECK(this.id != NULL);
  cue_capture_arm(card);
  WORKS(AudioDeviceStart(device, this.id));
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceIsRunning)), 1);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceIsRunningSomewhere)), 1);
  WAIT(this.played == this.length);
  record(card, 2 * frames + 2 * period);
  AudioTimeStamp now;
  WORKS(AudioDeviceGetCurrentTime(device, &now));
  CHECK((now.mFlags & 3) == 3 && now.mSampleTime + 2 * period >= this.next - frames);
  AudioTimeStamp time = now, back = now;
  time.mFlags = kAudioTimeStampHostTimeValid;
  back.mFlags = kAudioTimeStampSampleTimeValid;
  WORKS(AudioDeviceTranslateTime(device, &time, &back));
  CHECK(fabs(back.mSampleTime - now.mSampleTime) <= 1);
  WORKS(AudioDeviceGetNearestStartTime(device, &now, 0));
  CHECK(now.mSampleTime >= back.mSampleTime);
  WORKS(AudioDeviceStop(device, this.id));
  int calls = this.calls;
  let_time_pass();
  EQUAL(this.calls, calls);
  WORKS(AudioDeviceDestroyIOProcID(device, this.id));
  end_recording(card);
  EQUAL(this.wrong, 0);
  size_t start = find_sound(card, 0);
  HEAR_SILENCE(card, HEAR(card, start, 0, this.length));
  // The first frame is heard on the frame that its time stamp names.
  if (!is_pipewire())
    EQUAL((uint32_t)(cue_capture_first_frame(card) + start), (uint32_t)(int64_t)this.first);
  passed(name);
}

static void several(cue_capture *card) {
  UInt32 frames = buffer_frames();
  player a = {frames, 8192, 0, 0, 0, 0, 0, 1, 0, NULL};
  player b = {frames, 8192, 0, 0, 0, 0, 0, 1, 0, NULL};
  WORKS(AudioDeviceCreateIOProcID(device, play, &a, &a.id));
  WORKS(AudioDeviceCreateIOProcID(device, play, &b, &b.id));
  CHECK(a.id != b.id);
  cue_capture_arm(card);
  // They hold a lock that their functions do not need; starting again has no effect.
  WORKS(AudioDeviceStart(device, a.id));
  WAIT(a.played > 0);
  WORKS(AudioDeviceStart(device, b.id));
  WORKS(AudioDeviceStart(device, b.id));
  WAIT(a.played == a.length && b.played == b.length);
  WORKS(AudioDeviceStop(device, a.id));
  WORKS(AudioDeviceStop(device, b.id));
  int calls = b.calls;
  let_time_pass();
  EQUAL(b.calls, calls);
  EQUAL(number(device, GLOBAL(kAudioDevicePropertyDeviceIsRunning)), 0);
  end_recording(card);
  size_t start = find_sound(card, 0), shift = (size_t)(b.first - a.first);
  const float *left = cue_capture_samples(card, 0);
  for (size_t i = 0; i < 8192 + shift; i++) {
    float expected = (i < 8192 ? wave((long)i) : 0) + (i >= shift ? wave((long)(i - shift)) : 0);
    EQUAL(left[start + i], expected);
  }
  // It stops itself, and is not called again.
  player c = {frames, 100000, 0, 0, 0, 0, 0, 1, 3, NULL};
  WORKS(AudioDeviceCreateIOProcID(device, play, &c, &c.id));
  WORKS(AudioDeviceStart(device, c.id));
  WAIT(c.calls == 3);
  let_time_pass();
  EQUAL(c.calls, 3);
  // It starts again, and goes while it runs.
  c.stops_at = 0;
  WORKS(AudioDeviceStart(device, c.id));
  WAIT(c.calls > 5);
  WORKS(AudioDeviceDestroyIOProcID(device, c.id));
  calls = c.calls;
  let_time_pass();
  EQUAL(c.calls, calls);
  GIVES(AudioDeviceStop(device, c.id), kAudioHardwareIllegalOperationError);
  WORKS(AudioDeviceDestroyIOProcID(device, a.id));
  WORKS(AudioDeviceDestroyIOProcID(device, b.id));
  EQUAL(a.wrong + b.wrong, 0);

  // The older functions: the function's address stands for it.
  player d = {frames, 100000, 0, 0, 0, 0, 0, 1, 0, NULL};
  WORKS(AudioDeviceAddIOProc(device, play, &d));
  WORKS(AudioDeviceStart(device, play));
  WAIT(d.calls > 2);
  WORKS(AudioDeviceStop(device, play));
  WORKS(AudioDeviceRemoveIOProc(device, play));
  WORKS(AudioDeviceStart(device, NULL));
  WORKS(AudioDeviceStop(device, NULL));
  passed("several, and stops");
}

static void returned(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue, (void)buffer;
  ++*(_Atomic int *)data;
}

static void volume(cue_capture *card) {
  Float32 value = 0.5f;
  WORKS(set(device, OUTPUT(kAudioDevicePropertyVolumeScalar), &value, sizeof value));
  WORKS(get(device, OUTPUT(kAudioDevicePropertyVolumeDecibels), &value, sizeof value));
  CHECK(fabsf(value + 6.0206f) < 1e-3f);
  AudioObjectPropertyAddress virtual_volume =
      OUTPUT(kAudioHardwareServiceDeviceProperty_VirtualMasterVolume);
  UInt32 size = sizeof value;
  WORKS(AudioHardwareServiceGetPropertyData(device, &virtual_volume, 0, NULL, &size, &value));
  EQUAL(value, 0.5f);
  player this = {buffer_frames(), 20000, 0, 0, 0, 0, 0, 2, 0, NULL};
  WORKS(AudioDeviceCreateIOProcID(device, play, &this, &this.id));
  cue_capture_arm(card);
  WORKS(AudioDeviceStart(device, this.id));
  WAIT(this.played == this.length);
  record(card, 4 * buffer_frames());
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, this.length);
  // It is that of queues, too.
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  _Atomic int returns = 0;
  WORKS(AudioQueueNewOutput(&format, returned, (void *)&returns, NULL, NULL, 0, &queue));
  AudioQueueBufferRef buffer = new_buffer(queue, 20000);
  fill_with_wave(buffer, 0, 20000);
  for (int i = 0; i < 40000; i++)
    ((float *)buffer->mAudioData)[i] *= 2;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueStop(queue, false));
  WAIT(returns == 1);
  record(card, 4 * buffer_frames());
  end_recording(card);
  HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, 20000));
  WORKS(AudioQueueDispose(queue, true));
  UInt32 mute = 1;
  WORKS(set(device, OUTPUT(kAudioDevicePropertyMute), &mute, sizeof mute));
  // The first cycle after that fades out.
  int calls = this.calls;
  WAIT(this.calls > calls + 2);
  this.played = 0;
  cue_capture_arm(card);
  WAIT(this.played == this.length);
  record(card, 4 * buffer_frames());
  end_recording(card);
  HEAR_SILENCE(card, 0);
  WORKS(AudioDeviceDestroyIOProcID(device, this.id));
  mute = 0;
  WORKS(set(device, OUTPUT(kAudioDevicePropertyMute), &mute, sizeof mute));
  value = 0;
  WORKS(set(device, OUTPUT(kAudioDevicePropertyVolumeDecibels), &value, sizeof value));
  WORKS(get(device, OUTPUT(kAudioDevicePropertyVolumeScalar), &value, sizeof value));
  EQUAL(value, 1);
  passed("volume");
}

// MARK: A function that does not return

static _Atomic int blocked, released;

static OSStatus block(AudioObjectID in_device, const AudioTimeStamp *now,
                      const AudioBufferList *input, const AudioTimeStamp *input_time,
                      AudioBufferList *output, const AudioTimeStamp *output_time, void *data) {
  (void)in_device, (void)now, (void)input, (void)input_time, (void)output_time, (void)data;
  blocked = 1;
  while (!released)
    usleep(1000);
  output->mBuffers[0].mDataByteSize = 0;
  return noErr;
}

/// Destroys an IOProc while it is being called. What the call still uses must stay.
static void blocks(void) {
  AudioDeviceIOProcID proc = NULL;
  WORKS(AudioDeviceCreateIOProcID(device, block, NULL, &proc));
  WORKS(AudioDeviceStart(device, proc));
  WAIT(blocked);
  WORKS(AudioDeviceStop(device, proc));
  WORKS(AudioDeviceDestroyIOProcID(device, proc));
  released = 1;
  let_time_pass();
  passed("a function that does not return");
}

// MARK: Recording

static OSStatus pass_on(AudioObjectID in_device, const AudioTimeStamp *now,
                        const AudioBufferList *input, const AudioTimeStamp *input_time,
                        AudioBufferList *output, const AudioTimeStamp *output_time, void *data) {
  (void)in_device, (void)now, (void)input_time, (void)output_time;
  ++*(_Atomic int *)data;
  CHECK(input->mNumberBuffers == 1 && output->mNumberBuffers == 1);
  CHECK(input->mBuffers[0].mDataByteSize == output->mBuffers[0].mDataByteSize);
  memcpy(output->mBuffers[0].mData, input->mBuffers[0].mData, output->mBuffers[0].mDataByteSize);
  return noErr;
}

static void connect_emitter(cue_emitter *emitter) {
  for (int i = 1; i <= 2; i++) {
    char from[100], to[200];
    snprintf(from, sizeof from, "emitter:out_%d", i);
    snprintf(to, sizeof to, "%s:in_%d", client, i);
    int result = jack_connect(cue_emitter_client(emitter), from, to);
    CHECK(result == 0 || result == EEXIST);
  }
}

static void thru(cue_capture *card, cue_emitter *emitter, UInt32 frames, const char *name) {
  UInt32 period = jack_get_buffer_size(cue_capture_client(card));
  WORKS(set(device, GLOBAL(kAudioDevicePropertyBufferFrameSize), &frames, sizeof frames));
  _Atomic int calls = 0;
  AudioDeviceIOProcID proc = NULL;
  WORKS(AudioDeviceCreateIOProcID(device, pass_on, (void *)&calls, &proc));
  WORKS(AudioDeviceStart(device, proc));
  connect_emitter(emitter);
  int begun = calls;
  WAIT(calls > begun + 8);
  cue_capture_arm(card);
  record(card, 40000);
  cue_capture_disarm(card);
  WORKS(AudioDeviceStop(device, proc));
  WORKS(AudioDeviceDestroyIOProcID(device, proc));
  // The emitter's samples pass in the cycle in which they come in, and later by what the lengths of
  // calls and cycles add.
  uint32_t first =
      cue_capture_first_frame(card) - added(frames, period) - (uint32_t)card_delay(card);
  for (unsigned channel = 0; channel < 2; channel++)
    for (uint32_t i = 0; i < 40000; i++)
      EQUAL(cue_capture_samples(card, channel)[i], cue_emitter_sample(first + i, channel));
  passed(name);
}

// MARK: Listeners

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int told, told_by_block, told_running, told_old;
static pthread_t teller;

static OSStatus changed(AudioObjectID object, UInt32 count,
                        const AudioObjectPropertyAddress *addresses, void *data) {
  CHECK(object == device && count == 1 && data == &told);
  CHECK(addresses[0].mSelector == kAudioDevicePropertyBufferFrameSize);
  // The caller of Set holds it: the call must come from another thread.
  pthread_mutex_lock(&lock);
  teller = pthread_self();
  pthread_mutex_unlock(&lock);
  AudioObjectPropertyAddress address = addresses[0];
  if (++told == 2) WORKS(AudioObjectRemovePropertyListener(object, &address, changed, data));
  return noErr;
}

static OSStatus running_changed(AudioObjectID object, UInt32 count,
                                const AudioObjectPropertyAddress *addresses, void *data) {
  (void)object, (void)count, (void)addresses, (void)data;
  told_running++;
  return noErr;
}

static OSStatus old_changed(AudioDeviceID in_device, UInt32 channel, Boolean is_input,
                            AudioDevicePropertyID property, void *data) {
  (void)channel, (void)data;
  CHECK(in_device == device && !is_input && property == kAudioDevicePropertyBufferFrameSize);
  told_old++;
  return noErr;
}

static void set_frames(UInt32 frames) {
  pthread_mutex_lock(&lock);
  WORKS(set(device, GLOBAL(kAudioDevicePropertyBufferFrameSize), &frames, sizeof frames));
  pthread_mutex_unlock(&lock);
}

static void listeners(void) {
  AudioObjectPropertyAddress address = GLOBAL(kAudioDevicePropertyBufferFrameSize);
  set_frames(512);
  WORKS(AudioObjectAddPropertyListener(device, &address, changed, (void *)&told));
  WORKS(AudioObjectAddPropertyListener(device, &address, changed, (void *)&told));
  AudioObjectPropertyAddress wildcard = {kAudioObjectPropertySelectorWildcard,
                                         kAudioObjectPropertyScopeWildcard,
                                         kAudioObjectPropertyElementWildcard};
  dispatch_queue_t queue = dispatch_queue_create("listeners", NULL);
  AudioObjectPropertyListenerBlock block =
      ^(UInt32 count, const AudioObjectPropertyAddress *addresses) {
        if (count == 1 && addresses[0].mSelector == kAudioDevicePropertyBufferFrameSize)
          told_by_block++;
      };
  WORKS(AudioObjectAddPropertyListenerBlock(device, &wildcard, queue, block));
  WORKS(AudioDeviceAddPropertyListener(device, 0, false, kAudioDevicePropertyBufferFrameSize,
                                       old_changed, NULL));
  set_frames(256);
  WAIT(told == 1 && told_by_block == 1 && told_old == 1);
  CHECK(!pthread_equal(teller, pthread_self()));
  // The same value is no change.
  set_frames(256);
  set_frames(128);
  WAIT(told == 2 && told_by_block == 2 && told_old == 2);
  set_frames(512);
  WAIT(told_by_block == 3 && told_old == 3);
  EQUAL(told, 2);
  WORKS(AudioObjectRemovePropertyListenerBlock(device, &wildcard, queue, block));
  WORKS(AudioDeviceRemovePropertyListener(device, 0, false, kAudioDevicePropertyBufferFrameSize,
                                          old_changed));
  // Removing it again is no error.
  WORKS(AudioObjectRemovePropertyListener(device, &address, changed, (void *)&told));
  dispatch_release(queue);
  set_frames(1024);
  let_time_pass();
  CHECK(told == 2 && told_by_block == 3 && told_old == 3);

  AudioObjectPropertyAddress running = GLOBAL(kAudioDevicePropertyDeviceIsRunning);
  WORKS(AudioObjectAddPropertyListener(device, &running, running_changed, NULL));
  player this = {1024, 100000, 0, 0, 0, 0, 0, 1, 0, NULL};
  WORKS(AudioDeviceCreateIOProcID(device, play, &this, &this.id));
  WORKS(AudioDeviceStart(device, this.id));
  WAIT(told_running == 1);
  WORKS(AudioDeviceStop(device, this.id));
  WAIT(told_running == 2);
  WORKS(AudioDeviceDestroyIOProcID(device, this.id));
  WORKS(AudioObjectRemovePropertyListener(device, &running, running_changed, NULL));
  WORKS(AudioHardwareUnload());
  passed("listeners");
}

// MARK: Reading

/// Reads input without a function, as programs of 2001 do.
static void reads(cue_emitter *emitter) {
  static float samples[2 * 4000];
  AudioBufferList list = {1, {{2, sizeof samples, samples}}};
  AudioTimeStamp time;
  WORKS(AudioDeviceGetCurrentTime(device, &time));
  GIVES(AudioDeviceRead(device, &time, &list), kAudioHardwareIllegalOperationError);
  WORKS(AudioDeviceStart(device, NULL));
  WORKS(AudioDeviceRead(device, &time, &list));
  connect_emitter(emitter);
  // The clock of the device is JACK's, whose frames the emitter's samples name.
  WORKS(AudioDeviceGetCurrentTime(device, &time));
  time.mSampleTime += 24000;
  time.mFlags = kAudioTimeStampSampleTimeValid;
  uint32_t expected = 0;
  for (int round = 0; round < 20; round++) {
    list.mBuffers[0].mDataByteSize = sizeof samples;
    WORKS(AudioDeviceRead(device, &time, &list));
    EQUAL(list.mBuffers[0].mDataByteSize, sizeof samples);
    // On PipeWire device time is a count of its own.
    uint32_t next = is_pipewire() ? (uint32_t)samples[0] : (uint32_t)(SInt64)time.mSampleTime;
    if (round > 0) EQUAL(next & 0x3fffff, expected & 0x3fffff);
    EQUAL(cue_emitter_wrong(samples, 4000, 2, next), 0);
    expected = next + 4000;
    time.mSampleTime += 4000;
  }
  time.mSampleTime -= 400000;
  GIVES(AudioDeviceRead(device, &time, &list), kAudioHardwareIllegalOperationError);
  WORKS(AudioDeviceStop(device, NULL));
  GIVES(AudioDeviceRead(device, &time, &list), kAudioHardwareIllegalOperationError);
  passed("reads");
}

int main(int count, char **arguments) {
  snprintf(client, sizeof client, "%s", strrchr(arguments[0], '/') + 1);
  cue_capture *card = open_card(10);
  objects();
  if (count > 1) {
    // The memory of the call is kept for good: the leak check of the program's end would find it.
    blocks();
    _exit(0);
  }
  properties();
  mistakes();
  plays(card, 0, "an IOProc");
  plays(card, 256, "shorter calls");
  plays(card, 480, "calls of another length");
  plays(card, 4096, "longer calls");
  UInt32 period = jack_get_buffer_size(cue_capture_client(card));
  WORKS(set(device, GLOBAL(kAudioDevicePropertyBufferFrameSize), &period, sizeof period));
  several(card);
  volume(card);
  jack_status_t status;
  cue_emitter *emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 2, &status);
  CHECK(emitter != NULL);
  thru(card, emitter, period, "thru");
  thru(card, emitter, 480, "thru by calls of another length");
  reads(emitter);
  cue_emitter_close(emitter);
  listeners();
  cue_capture_close(card);
  return 0;
}
