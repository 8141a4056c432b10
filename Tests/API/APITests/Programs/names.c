// Functions and macros that programs for Apple's systems use around sound: assertions, names of
// result codes, references to files, threads, workgroups, and the older forms of functions.
// names.md says which name is tested where.
#include "check.h"

#include <ApplicationServices/ApplicationServices.h>
#include <AudioToolbox/AudioToolbox.h>
#include <IOKit/audio/IOAudioTypes.h>
#include <errno.h>
#include <os/workgroup.h>
#include <sched.h>
#include <sys/syscall.h>

// MARK: Assertions

static int evaluated;

static OSStatus result(OSStatus status) {
  evaluated++;
  return status;
}

static int requirements(int wanted, OSStatus status) {
  int actions = 0;
  require(wanted != 0, zero);
  require_action(wanted != 1, one, actions += 10);
  require_quiet(wanted != 2, one);
  require_noerr(result(status), failed);
  require_noerr_action_quiet(result(wanted == 4), failed, actions += 20);
  nrequire(wanted == 5, zero);
  require_string(wanted != 6, zero, "six is no number");
  return 1000;
zero:
  return 100;
one:
  return actions + 1;
failed:
  return actions + 2;
}

static void assertions(void) {
  // What is told goes to standard error.
  EQUAL(requirements(0, noErr), 100);
  EQUAL(requirements(1, noErr), 11);
  EQUAL(requirements(2, noErr), 1);
  evaluated = 0;
  EQUAL(requirements(3, paramErr), 2);
  EQUAL(evaluated, 1);
  EQUAL(requirements(4, noErr), 22);
  EQUAL(requirements(5, noErr), 100);
  EQUAL(requirements(6, noErr), 100);
  EQUAL(requirements(7, noErr), 1000);
  evaluated = 0;
  int actions = 0;
  verify_noerr(result(paramErr));
  verify_noerr(result(noErr));
  verify_action(evaluated == 0, actions++);
  __Verify_noErr(result(noErr));
  verify(result(noErr) == noErr);
  check(evaluated == 4);
  check_noerr(noErr);
  EQUAL(evaluated, 4);
  EQUAL(actions, 1);
  passed("assertions");
}

static void result_codes(void) {
  CHECK(strcmp(GetMacOSStatusErrorString(paramErr), "paramErr") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(fnfErr), "fnfErr") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(noErr), "noErr") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(kAudioQueueErr_InvalidBuffer),
               "kAudioQueueErr_InvalidBuffer") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(kAudioHardwareBadDeviceError),
               "kAudioHardwareBadDeviceError") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(kExtAudioFileError_InvalidSeek),
               "kExtAudioFileError_InvalidSeek") == 0);
  CHECK(strcmp(GetMacOSStatusErrorString(123456789), "") == 0);
  CHECK(strlen(GetMacOSStatusCommentString(kAudioUnitErr_Uninitialized)) > 5);
  CHECK(strcmp(GetMacOSStatusCommentString(123456789), "") == 0);
  passed("result codes");
}

static void fixed_numbers(void) {
  EQUAL(FixedToFloat(0x00018000), 1.5);
  EQUAL(FloatToFixed(-0.25), -0x4000);
  EQUAL(FixedToInt(IntToFixed(-7)), -7);
  EQUAL(Fix2X(X2Fix(48000.5 / 4)), 48000.5 / 4);
  EQUAL(kIOAudioOutputPortSubTypeHeadphones, 'hdpn');
  passed("fixed numbers");
}

// MARK: Files

static AudioStreamBasicDescription stereo(void) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = 44100;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = 4;
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = 2;
  format.mBitsPerChannel = 16;
  return format;
}

static void references(void) {
  char folder[] = "/tmp/cuejack-names-XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  FSRef parent, file, again;
  Boolean is_folder = false;
  WORKS(FSPathMakeRef((const UInt8 *)folder, &parent, &is_folder));
  CHECK(is_folder);
  char path[200];
  snprintf(path, sizeof path, "%s/s\xC3\xA4nger.wav", folder);
  GIVES(FSPathMakeRef((const UInt8 *)path, &file, NULL), fnfErr);
  AudioStreamBasicDescription format = stereo();
  AudioFileID sound = NULL;
  CFStringRef name = CFStringCreateWithCString(NULL, "s\xC3\xA4nger.wav", kCFStringEncodingUTF8);
  WORKS(AudioFileCreate(&parent, name, kAudioFileWAVEType, &format, 0, &file, &sound));
  SInt16 samples[200];
  for (int i = 0; i < 200; i++)
    samples[i] = (SInt16)(i * 100);
  UInt32 size = sizeof samples;
  WORKS(AudioFileWriteBytes(sound, false, 0, &size, samples));
  WORKS(AudioFileClose(sound));
  // A file of that name is there.
  CHECK(AudioFileCreate(&parent, name, kAudioFileWAVEType, &format, 0, NULL, &sound) != noErr);
  ExtAudioFileRef extended = NULL;
  CHECK(ExtAudioFileCreateNew(&parent, name, kAudioFileWAVEType, &format, NULL, &extended) !=
        noErr);

  // The same file by its path, by its URL, and back.
  UInt8 found[200];
  WORKS(FSRefMakePath(&file, found, sizeof found));
  CHECK(strcmp((char *)found, path) == 0);
  GIVES(FSRefMakePath(&file, found, 5), memFullErr);
  WORKS(FSPathMakeRef((const UInt8 *)path, &again, &is_folder));
  CHECK(!is_folder);
  GIVES(FSCompareFSRefs(&file, &again), noErr);
  GIVES(FSCompareFSRefs(&file, &parent), errFSRefsDifferent);
  CFURLRef url = CFURLCreateFromFSRef(NULL, &file);
  CHECK(url != NULL);
  memset(&again, 0, sizeof again);
  GIVES(FSRefMakePath(&again, found, sizeof found), paramErr);
  CHECK(CFURLGetFSRef(url, &again));
  GIVES(FSCompareFSRefs(&file, &again), noErr);
  CFRelease(url);

  WORKS(AudioFileOpen(&file, fsRdPerm, 0, &sound));
  memset(samples, 0, sizeof samples);
  WORKS(AudioFileReadBytes(sound, false, 0, &size, samples));
  EQUAL(samples[199], 19900);
  WORKS(AudioFileClose(sound));
  WORKS(ExtAudioFileOpen(&file, &extended));
  SInt64 frames = 0;
  size = sizeof frames;
  WORKS(ExtAudioFileGetProperty(extended, kExtAudioFileProperty_FileLengthFrames, &size, &frames));
  EQUAL(frames, 100);
  WORKS(ExtAudioFileDispose(extended));
  // Empties it.
  WORKS(AudioFileInitialize(&file, kAudioFileAIFFType,
                            &(AudioStreamBasicDescription){
                                .mSampleRate = 8000,
                                .mFormatID = kAudioFormatLinearPCM,
                                .mFormatFlags = kAudioFormatFlagIsSignedInteger |
                                                kAudioFormatFlagIsPacked |
                                                kAudioFormatFlagIsBigEndian,
                                .mBytesPerPacket = 2,
                                .mBytesPerFrame = 2,
                                .mFramesPerPacket = 1,
                                .mChannelsPerFrame = 1,
                                .mBitsPerChannel = 16,
                            },
                            0, &sound));
  UInt64 packets = 1;
  size = sizeof packets;
  WORKS(AudioFileGetProperty(sound, kAudioFilePropertyAudioDataPacketCount, &size, &packets));
  EQUAL(packets, 0);
  WORKS(AudioFileClose(sound));
  CHECK(remove(path) == 0);
  GIVES(FSRefMakePath(&file, found, sizeof found), fnfErr);
  CHECK(AudioFileOpen(&file, fsRdPerm, 0, &sound) != noErr);
  CFStringRef other = CFSTR("other.caf");
  WORKS(ExtAudioFileCreateNew(&parent, other, kAudioFileCAFType, &format, NULL, &extended));
  WORKS(ExtAudioFileDispose(extended));
  snprintf(path, sizeof path, "%s/other.caf", folder);
  CHECK(remove(path) == 0 && rmdir(folder) == 0);
  CFRelease(name);
  passed("references");
}

// MARK: Threads

static void *number_of_self(void *data) {
  uint64_t *numbers = data;
  numbers[0] = (uint64_t)syscall(SYS_gettid);
  CHECK(pthread_threadid_np(0, &numbers[1]) == 0);
  return NULL;
}

static void threads(void) {
  uint64_t numbers[2] = {0}, own = 0;
  pthread_t thread;
  CHECK(pthread_threadid_np(pthread_self(), &own) == 0);
  EQUAL(own, (uint64_t)getpid());
  CHECK(pthread_threadid_np(0, NULL) == EINVAL);
  pthread_create(&thread, NULL, number_of_self, numbers);
  pthread_join(thread, NULL);
  EQUAL(numbers[0], numbers[1]);
  CHECK(numbers[1] != own);
  char *memory = malloc(10);
  strcpy(memory, "abc");
  memory = reallocf(memory, 1000000);
  CHECK(memory != NULL && strcmp(memory, "abc") == 0);
#if __has_feature(address_sanitizer)
  // It would tell of a size that nothing has.
  free(memory);
#else
  volatile size_t too_much = SIZE_MAX / 2;
  CHECK(reallocf(memory, too_much) == NULL);
#endif
  passed("threads");
}

static void workgroups(void) {
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal,
                                        kAudioObjectPropertyElementMain};
  AudioDeviceID device = kAudioObjectUnknown;
  UInt32 size = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  address.mSelector = kAudioDevicePropertyIOThreadOSWorkgroup;
  os_workgroup_t group = NULL;
  size = sizeof group;
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &group));
  CHECK(group != NULL);
  EQUAL(size, sizeof group);
  CHECK(os_workgroup_max_parallel_threads(group, NULL) >= 1);
  int policy;
  struct sched_param before, after;
  pthread_getschedparam(pthread_self(), &policy, &before);
  os_workgroup_join_token_s token, second;
  EQUAL(os_workgroup_join(group, &token), 0);
  EQUAL(os_workgroup_join(group, &second), EALREADY);
  os_workgroup_leave(group, &token);
  int restored;
  pthread_getschedparam(pthread_self(), &restored, &after);
  EQUAL(restored, policy);
  EQUAL(after.sched_priority, before.sched_priority);
  os_retain(group);
  os_release(group);
  os_workgroup_cancel(group);
  CHECK(os_workgroup_testcancel(group));
  EQUAL(os_workgroup_join(group, &token), EINVAL);
  os_release(group);

  os_workgroup_interval_t own = AudioWorkIntervalCreate("own", OS_CLOCK_MACH_ABSOLUTE_TIME, NULL);
  CHECK(own != NULL);
  EQUAL(os_workgroup_interval_start(own, 1, 2, NULL), EPERM);
  EQUAL(os_workgroup_join(own, &token), 0);
  EQUAL(os_workgroup_interval_finish(own, NULL), EINVAL);
  EQUAL(os_workgroup_interval_start(own, 2, 2, NULL), EINVAL);
  EQUAL(os_workgroup_interval_start(own, 1, 2, NULL), 0);
  EQUAL(os_workgroup_interval_start(own, 1, 2, NULL), EBUSY);
  EQUAL(os_workgroup_interval_update(own, 3, NULL), 0);
  EQUAL(os_workgroup_interval_finish(own, NULL), 0);
  os_workgroup_leave(own, &token);
  os_release(own);
  os_workgroup_parallel_t parallel = os_workgroup_parallel_create("side by side", NULL);
  CHECK(parallel != NULL);
  os_release(parallel);
  // Objects of libdispatch.
  dispatch_queue_t queue = dispatch_queue_create("queue", NULL);
  os_retain(queue);
  os_release(queue);
  os_release(queue);
  passed("workgroups");
}

// MARK: Converters

typedef struct {
  SInt16 samples[1000];
  UInt32 next;
} source;

static OSStatus supply(AudioConverterRef converter, UInt32 *size, void **data, void *user) {
  source *this = user;
  (void)converter;
  UInt32 left = (1000 - this->next) * (UInt32)sizeof(SInt16);
  // A part of what is wanted.
  if (*size > 300) *size = 300;
  if (*size > left) *size = left;
  *data = this->samples + this->next;
  this->next += *size / (UInt32)sizeof(SInt16);
  return noErr;
}

static void fill_buffer(void) {
  AudioStreamBasicDescription from = stereo(), to;
  from.mChannelsPerFrame = 1;
  from.mBytesPerFrame = from.mBytesPerPacket = 2;
  to = from;
  to.mFormatFlags = kAudioFormatFlagIsFloat | kAudioFormatFlagIsPacked;
  to.mBytesPerFrame = to.mBytesPerPacket = 4;
  to.mBitsPerChannel = 32;
  AudioConverterRef converter = NULL;
  WORKS(AudioConverterNew(&from, &to, &converter));
  static source input;
  for (int i = 0; i < 1000; i++)
    input.samples[i] = (SInt16)(i * 32);
  float output[1000];
  UInt32 all = 0;
  for (;;) {
    UInt32 size = 400 * sizeof(float) + 3;
    WORKS(AudioConverterFillBuffer(converter, supply, &input, &size, output));
    if (size == 0) break;
    for (UInt32 i = 0; i < size / sizeof(float); i++)
      EQUAL(output[i], (float)((all + i) * 32) / 32768);
    all += size / (UInt32)sizeof(float);
  }
  EQUAL(all, 1000);
  WORKS(AudioConverterDispose(converter));
  // Packets of AAC vary in size.
  to.mFormatID = kAudioFormatMPEG4AAC;
  to.mFormatFlags = to.mBytesPerFrame = to.mBytesPerPacket = to.mBitsPerChannel = 0;
  to.mFramesPerPacket = 1024;
  WORKS(AudioConverterNew(&from, &to, &converter));
  UInt32 size = sizeof output;
  GIVES(AudioConverterFillBuffer(converter, supply, &input, &size, output),
        kAudioConverterErr_RequiresPacketDescriptionsError);
  WORKS(AudioConverterDispose(converter));
  passed("AudioConverterFillBuffer");
}

static UInt32 noise_state = 1;

static OSStatus noise(AudioConverterRef converter, UInt32 *packets, AudioBufferList *list,
                      AudioStreamPacketDescription **descriptions, void *user) {
  static SInt16 samples[1024];
  (void)converter, (void)descriptions;
  int *left = user;
  if (*left == 0) {
    *packets = 0;
    return noErr;
  }
  (*left)--;
  for (int i = 0; i < 1024; i++) {
    noise_state = noise_state * 1664525 + 1013904223;
    samples[i] = (SInt16)(noise_state >> 18);
  }
  list->mBuffers[0].mData = samples;
  list->mBuffers[0].mDataByteSize = sizeof samples;
  *packets = 1024;
  return noErr;
}

/// Returns the bytes of 20 packets of noise.
static UInt32 encoded(AudioConverterRef converter) {
  static UInt8 bytes[8192];
  int left = 40;
  UInt32 all = 0;
  for (int i = 0; i < 20; i++) {
    UInt32 packets = 1;
    AudioBufferList list = {1, {{1, sizeof bytes, bytes}}};
    AudioStreamPacketDescription description;
    WORKS(AudioConverterFillComplexBuffer(converter, noise, &left, &packets, &list, &description));
    EQUAL(packets, 1);
    all += description.mDataByteSize;
  }
  return all;
}

static void bit_rate_modes(void) {
  AudioStreamBasicDescription from = stereo(), to = {0};
  from.mChannelsPerFrame = 1;
  from.mBytesPerFrame = from.mBytesPerPacket = 2;
  to.mFormatID = kAudioFormatMPEG4AAC;
  to.mSampleRate = from.mSampleRate;
  to.mChannelsPerFrame = 1;
  AudioConverterRef converter = NULL;
  UInt32 mode = 9, size = sizeof mode, rate = 0;
  WORKS(AudioConverterNew(&from, &to, &converter));
  WORKS(AudioConverterGetProperty(converter, kAudioCodecPropertyBitRateControlMode, &size, &mode));
  EQUAL(mode, kAudioCodecBitRateControlMode_LongTermAverage);
  for (UInt32 other = 0; other < 4; other++) {
    bool is_there = other == kAudioCodecBitRateControlMode_LongTermAverage ||
                    other == kAudioCodecBitRateControlMode_Variable;
    OSStatus status = AudioConverterSetProperty(converter, kAudioCodecPropertyBitRateControlMode,
                                                sizeof other, &other);
    CHECK((status == noErr) == is_there);
    WORKS(
        AudioConverterGetProperty(converter, kAudioCodecPropertyBitRateControlMode, &size, &mode));
    if (is_there) EQUAL(mode, other);
  }
  // The quality decides about the size; there is no bit rate.
  GIVES(AudioConverterGetProperty(converter, kAudioConverterEncodeBitRate, &size, &rate),
        kAudioConverterErr_PropertyNotSupported);
  UInt32 quality = 10;
  WORKS(AudioConverterSetProperty(converter, kAudioCodecPropertySoundQualityForVBR, sizeof quality,
                                  &quality));
  UInt32 small = encoded(converter);
  quality = 100;
  WORKS(AudioConverterSetProperty(converter, kAudioCodecPropertySoundQualityForVBR, sizeof quality,
                                  &quality));
  UInt32 large = encoded(converter);
  CHECK(large > small + small / 2);
  quality = 128;
  CHECK(AudioConverterSetProperty(converter, kAudioCodecPropertySoundQualityForVBR, sizeof quality,
                                  &quality) != noErr);
  GIVES(
      AudioConverterGetProperty(converter, kAudioCodecPropertyPacketSizeLimitForVBR, &size, &rate),
      kAudioConverterErr_PropertyNotSupported);
  WORKS(AudioConverterDispose(converter));

  to.mFormatID = kAudioFormatAppleLossless;
  to.mFormatFlags = kAppleLosslessFormatFlag_16BitSourceData;
  WORKS(AudioConverterNew(&from, &to, &converter));
  WORKS(AudioConverterGetProperty(converter, kAudioCodecPropertyBitRateControlMode, &size, &mode));
  EQUAL(mode, kAudioCodecBitRateControlMode_Variable);
  GIVES(AudioConverterSetProperty(converter, kAudioCodecPropertyBitRateControlMode, sizeof mode,
                                  &mode),
        kAudioConverterErr_PropertyNotSupported);
  GIVES(AudioConverterGetProperty(converter, kAudioCodecPropertySoundQualityForVBR, &size, &mode),
        kAudioConverterErr_PropertyNotSupported);
  WORKS(AudioConverterDispose(converter));
  passed("bit-rate modes");
}

// MARK: Layouts

static void layouts(void) {
  // The layout of a tag, channel by channel.
  AudioChannelLayoutTag tag = kAudioChannelLayoutTag_CICP_20;
  UInt32 size = 0;
  WORKS(AudioFormatGetPropertyInfo(kAudioFormatProperty_ChannelLayoutForTag, sizeof tag, &tag,
                                   &size));
  AudioChannelLayout *layout = malloc(size);
  WORKS(AudioFormatGetProperty(kAudioFormatProperty_ChannelLayoutForTag, sizeof tag, &tag, &size,
                               layout));
  EQUAL(layout->mNumberChannelDescriptions, 14);
  EQUAL(layout->mChannelDescriptions[6].mChannelLabel, kAudioChannelLabel_LeftSideSurround);
  EQUAL(layout->mChannelDescriptions[13].mChannelLabel, kAudioChannelLabel_RightEdgeOfScreen);
  free(layout);
  EQUAL(kAudioChannelLayoutTag_Ogg_5_1, (213 << 16) | 6);
  EQUAL(kAudioChannelLayoutTag_MPEG_7_1_D, (219 << 16) | 8);
  CFStringRef name = NULL;
  AudioChannelDescription description = {.mChannelLabel = kAudioChannelLabel_LeftEdgeOfScreen};
  size = sizeof name;
  WORKS(AudioFormatGetProperty(kAudioFormatProperty_ChannelName, sizeof description, &description,
                               &size, &name));
  CHECK(CFStringCompare(name, CFSTR("Left Edge of Screen"), 0) == kCFCompareEqualTo);
  CFRelease(name);
  passed("layouts");
}

int main(void) {
  assertions();
  result_codes();
  fixed_numbers();
  references();
  threads();
  workgroups();
  fill_buffer();
  bit_rate_modes();
  layouts();
  return 0;
}
