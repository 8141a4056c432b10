// Hostile arguments, pools of handles that threads share, and the record of each thread's calls,
// for the program that makes random calls.
#ifndef CALLS_H
#define CALLS_H

#include "soundfiles.h"
#include "units.h"

#include <float.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

// MARK: Records

/// Calls of a thread that have not returned, the innermost last.
typedef struct {
  atomic_bool is_taken;
  atomic_int depth;
  struct {
    const char *call;
    long numbers[6];
    double begun;
  } calls[8];
} thread_record;

static thread_record records[256];
static _Thread_local thread_record *mine;
static pthread_key_t key_of_record;
static atomic_ulong calls_made;
static unsigned long long seed;

static void release_record(void *given) {
  thread_record *old = given;
  old->depth = 0;
  old->is_taken = false;
}

static void begin_call(const char *call, const long *numbers) {
  for (size_t i = 0; !mine; i = (i + 1) % COUNT(records)) {
    bool expected = false;
    if (!atomic_compare_exchange_strong(&records[i].is_taken, &expected, true)) continue;
    mine = &records[i];
    pthread_setspecific(key_of_record, mine);
  }
  int depth = mine->depth;
  if (depth < (int)COUNT(mine->calls)) {
    mine->calls[depth].call = call;
    memcpy(mine->calls[depth].numbers, numbers, sizeof mine->calls[depth].numbers);
    mine->calls[depth].begun = seconds_now();
  }
  mine->depth = depth + 1;
  calls_made++;
}

static void end_call(void) {
  mine->depth--;
}

/// Makes a call whose status does not matter, and records it with up to six of its numbers.
#define CALL(call, ...)                                                                            \
  ({                                                                                               \
    begin_call(#call, (const long[6]){__VA_ARGS__});                                               \
    __auto_type result_ = (call);                                                                  \
    end_call();                                                                                    \
    result_;                                                                                       \
  })

/// The same for a function without a result.
#define DO(call, ...) CALL((call, noErr), __VA_ARGS__)

/// Prints the calls that have not returned. Used in handlers of signals as well.
static void tell_calls(const char *reason, long number) {
  char text[1000];
  int length = snprintf(text, sizeof text, "seed %llu, call %lu: %s %ld\n", seed, calls_made,
                        reason, number);
  if (write(STDOUT_FILENO, text, (size_t)length) < 0) return;
  double now = seconds_now();
  for (size_t i = 0; i < COUNT(records); i++)
    for (int k = 0; k < records[i].depth && k < (int)COUNT(records[i].calls); k++) {
      const long *numbers = records[i].calls[k].numbers;
      length =
          snprintf(text, sizeof text, "%sthread %zu.%d, %.3f s: %.300s [%lx %lx %lx %lx %lx %lx]\n",
                   &records[i] == mine ? "this " : "", i, k, now - records[i].calls[k].begun,
                   records[i].calls[k].call, numbers[0], numbers[1], numbers[2], numbers[3],
                   numbers[4], numbers[5]);
      if (write(STDOUT_FILENO, text, (size_t)length) < 0) return;
    }
}

// MARK: Numbers

static _Thread_local unsigned long long state_of_thread;
static atomic_ulong threads_seen;

static UInt64 draw(void) {
  if (!state_of_thread) state_of_thread = (seed + ++threads_seen) * 0x9E3779B97F4A7C15 | 1;
  state_of_thread ^= state_of_thread << 13;
  state_of_thread ^= state_of_thread >> 7;
  state_of_thread ^= state_of_thread << 17;
  return state_of_thread * 0x2545F4914F6CDD1D >> 16;
}

static UInt32 below(UInt32 count) {
  return (UInt32)(draw() % count);
}

static bool one_in(UInt32 count) {
  return below(count) == 0;
}

#define ONE_OF(list) ((list)[below((UInt32)COUNT(list))])

/// Set while the thread draws numbers that a careful program passes.
static _Thread_local bool is_tame;

static UInt32 word(void) {
  if (is_tame) return below(3);
  static const UInt32 words[] = {0xFF,       0x100,      0xFFFF,     0x10000,    0x7FFFFFFF,
                                 0x80000000, 0x80000001, 0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF};
  switch (below(4)) {
  case 0:
    return ONE_OF(words);
  case 1:
    return (UInt32)draw() >> below(32);
  default:
    return below(8);
  }
}

/// A number that is small more often than not, as one of frames or bytes.
static UInt32 amount(void) {
  static const UInt32 usual[] = {0, 1, 16, 64, 256, 512, 1000, 1024, 4096};
  return one_in(3) && !is_tame ? word() : ONE_OF(usual);
}

static SInt64 whole(void) {
  static const SInt64 numbers[] = {-1,        INT64_MIN,    INT64_MIN + 1, INT64_MAX, INT64_MAX - 1,
                                   1ll << 32, 0x7FFFFFFFll, 1ll << 53,     1ll << 62, -(1ll << 62),
                                   -2,        -(1ll << 31)};
  return is_tame || one_in(2) ? (SInt64)amount() : one_in(4) ? (SInt64)draw() : ONE_OF(numbers);
}

static double real64(void) {
  static const double numbers[] = {NAN,     INFINITY, -INFINITY, 1e19,    -1e19,  1e300,   -1e300,
                                   -1,      -0.0,     5e-324,    -5e-324, 1e-300, 0x1p31,  -0x1p31,
                                   0x1p32,  0x1p53,   0x1p60,    0x1p62,  0x1p63, -0x1p63, 0x1p64,
                                   0.49999, 3e9,      DBL_MAX,   1e-38,   1e-45,  0};
  if (is_tame || one_in(2)) return (double)below(1001) / 1000;
  return one_in(2) ? ONE_OF(numbers) : (double)below(96000) - 100;
}

static Float32 real32(void) {
  return (Float32)real64();
}

static AudioTimeStamp stamp(void) {
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  time.mSampleTime = real64();
  time.mHostTime = one_in(2) ? mach_absolute_time() + (UInt64)below(1 << 26) : (UInt64)whole();
  time.mRateScalar = real64();
  time.mWordClockTime = draw();
  time.mSMPTETime.mSubframeDivisor = (SInt16)word();
  time.mFlags = one_in(4) ? word() : 1 + below(3);
  return time;
}

// MARK: Memory

enum {
  ROOM = 1 << 16
};

/// Returns `ROOM` bytes of memory that belongs to the calling thread, with random values in the
/// first 256.
static void *bytes(int which) {
  static _Thread_local char memory[4][ROOM];
  UInt64 *words = (UInt64 *)(void *)memory[which];
  int kind = (int)below(5);
  for (int i = 0; i < 32; i++) {
    double value = real64();
    Float32 halves[2] = {real32(), real32()};
    UInt32 pair[2] = {word(), word()};
    SInt64 large = whole();
    switch (kind) {
    case 0:
      memcpy(&words[i], &value, 8);
      break;
    case 1:
      memcpy(&words[i], halves, 8);
      break;
    case 2:
      memcpy(&words[i], pair, 8);
      break;
    case 3:
      memcpy(&words[i], &large, 8);
      break;
    default:
      words[i] = 0;
      break;
    }
  }
  return memory[which];
}

/// A size of a value, which `bytes` has room for.
static UInt32 size_within(UInt32 room) {
  static const UInt32 sizes[] = {0, 1, 2, 4, 4, 4, 8, 8, 12, 16, 20, 24, 32, 40, 64, 256, 4096};
  UInt32 size = is_tame ? (room < 4096 ? room : 4096) : one_in(8) ? below(room + 1) : ONE_OF(sizes);
  return size < room ? size : room;
}

static UInt32 size(void) {
  return size_within(ROOM);
}

/// A list of `count` buffers, at most eight, with `room` bytes each in the memory of the thread.
static AudioBufferList *list_of(UInt32 count, UInt32 channels, UInt32 room, bool has_memory) {
  static _Thread_local buffers lists[2];
  static _Thread_local char memory[2][8][8192];
  static _Thread_local int next;
  int now = next++ % 2;
  lists[now] = no_memory(count);
  for (UInt32 i = 0; i < count; i++)
    lists[now].list.mBuffers[i] =
        (AudioBuffer){channels, room < 8192 ? room : 8192, has_memory ? memory[now][i] : NULL};
  return &lists[now].list;
}

static AudioBufferList *list(void) {
  UInt32 count = one_in(4) ? below(9) : 1 + below(2);
  UInt32 channels = one_in(8) ? word() : 1 + below(2);
  UInt32 room = one_in(2) ? 8192 : size_within(8192);
  return list_of(count, channels, room, true);
}

// MARK: Formats and layouts

static AudioStreamBasicDescription format(void) {
  static const AudioFormatID ids[] = {
      kAudioFormatMPEG4AAC,    kAudioFormatAppleLossless, kAudioFormatAppleIMA4, kAudioFormatULaw,
      kAudioFormatALaw,        kAudioFormatMPEGLayer3,    kAudioFormatOpus,      kAudioFormatFLAC,
      kAudioFormatMPEG4AAC_HE, kAudioFormatMicrosoftGSM,  kAudioFormatAC3,       'ms\0\2'};
  static const double rates[] = {48000, 48000, 44100, 32000, 22050, 8000, 96000, 0};
  AudioStreamBasicDescription value;
  double rate = ONE_OF(rates);
  UInt32 channels = one_in(8) ? below(10) : 1 + below(2);
  switch (below(6)) {
  case 0:
    value = named(ONE_OF(ids), rate, channels);
    break;
  case 1:
    value = int16(rate, channels, one_in(4) ? kAudioFormatFlagIsBigEndian : 0);
    break;
  case 2:
    value = planar(rate, channels);
    break;
  case 3:
    value = int16(rate, channels, 0);
    value.mBitsPerChannel = 8 * (1 + below(8));
    value.mBytesPerPacket = value.mBytesPerFrame = channels * value.mBitsPerChannel / 8;
    break;
  default:
    value = float_format(rate, channels);
    break;
  }
  if (is_tame || one_in(2)) return value;
  switch (below(9)) {
  case 0:
    value.mSampleRate = real64();
    break;
  case 1:
    value.mFormatID = one_in(2) ? ONE_OF(ids) : word();
    break;
  case 2:
    value.mFormatFlags = one_in(2) ? value.mFormatFlags ^ 1u << below(32) : word();
    break;
  case 3:
    value.mBytesPerPacket = word();
    break;
  case 4:
    value.mFramesPerPacket = word();
    break;
  case 5:
    value.mBytesPerFrame = word();
    break;
  case 6:
    value.mChannelsPerFrame = word();
    break;
  case 7:
    value.mBitsPerChannel = word();
    break;
  default:
    memcpy(&value, bytes(3), sizeof value);
    break;
  }
  return value;
}

/// Stores a layout in at most `ROOM` bytes; its count may promise more. Returns the size to state.
static UInt32 layout(AudioChannelLayout *value) {
  static const AudioChannelLayoutTag tags[] = {kAudioChannelLayoutTag_UseChannelDescriptions,
                                               kAudioChannelLayoutTag_UseChannelBitmap,
                                               kAudioChannelLayoutTag_Mono,
                                               kAudioChannelLayoutTag_Stereo,
                                               kAudioChannelLayoutTag_MPEG_5_1_A,
                                               kAudioChannelLayoutTag_DiscreteInOrder | 2,
                                               kAudioChannelLayoutTag_DiscreteInOrder | 0xFFFF};
  memset(value, 0, 4096);
  value->mChannelLayoutTag = one_in(8) ? word() : ONE_OF(tags);
  value->mChannelBitmap = word();
  UInt32 count = below(9);
  value->mNumberChannelDescriptions = count;
  for (UInt32 i = 0; i < count; i++) {
    value->mChannelDescriptions[i].mChannelLabel = one_in(4) ? word() : below(20);
    value->mChannelDescriptions[i].mChannelFlags = word();
    value->mChannelDescriptions[i].mCoordinates[0] = real32();
  }
  return (UInt32)offsetof(AudioChannelLayout, mChannelDescriptions) +
         count * (UInt32)sizeof(AudioChannelDescription);
}

/// A layout whose size is stated: its count may promise more than there is.
static UInt32 sized_layout(AudioChannelLayout *value) {
  UInt32 stated = layout(value);
  if (one_in(4)) value->mNumberChannelDescriptions = word();
  return one_in(4) ? size_within(stated) : stated;
}

enum {
  PACKETS = 16
};

/// Descriptions of packets in memory of `room` bytes: some are right.
static AudioStreamPacketDescription *packets(UInt32 room) {
  static _Thread_local AudioStreamPacketDescription all[PACKETS];
  bool is_right = is_tame || one_in(2);
  for (UInt32 i = 0; i < PACKETS; i++)
    all[i] = is_right ? (AudioStreamPacketDescription){i * (room / PACKETS), 0, room / PACKETS}
                      : (AudioStreamPacketDescription){whole(), word(), word()};
  return all;
}

// MARK: Core Foundation

static CFStringRef strings[8];
static CFDictionaryRef dictionaries[4];

static void make_objects(void) {
  static const char *texts[] = {"",
                                "jack:default",
                                "wav",
                                "audio/wav",
                                "title",
                                "0.5",
                                "a name that is longer than most names are, and goes on",
                                "\xC3\xA9\xE2\x82\xAC"};
  for (size_t i = 0; i < COUNT(texts); i++)
    strings[i] = CFStringCreateWithCString(NULL, texts[i], kCFStringEncodingUTF8);
  for (size_t i = 0; i < COUNT(dictionaries); i++) {
    CFMutableDictionaryRef made = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks,
                                                            &kCFTypeDictionaryValueCallBacks);
    for (size_t k = 0; k < i * 2; k++)
      CFDictionarySetValue(made, strings[(i + k) % COUNT(strings)], strings[k % COUNT(strings)]);
    dictionaries[i] = made;
  }
}

static CFStringRef string(void) {
  return one_in(8) ? NULL : ONE_OF(strings);
}

static void release(const void *value) {
  CFTypeRef object;
  memcpy(&object, value, sizeof object);
  if (object) CFRelease(object);
}

/// True if the property's value is one object that the caller releases.
static bool is_object(UInt32 id) {
  static const UInt32 ids[] = {'aqcd', 'lnam', 'lmak', 'lmod', 'uid ', 'muid', 'lchn', 'lccn',
                               'lcnn', 'snum', 'fwvn', 'capp', 'bndl', 'fnam', 'lonm', 'cnam',
                               'csnm', 'info', 'fnme', 'aart', 'ftnm', 'alxt', 'auti', 'amim',
                               'fext', 'futi', 'fmim', 'rout', 'crar', 'accf'};
  for (size_t i = 0; i < COUNT(ids); i++)
    if (ids[i] == id) return true;
  return false;
}

/// The value of a property whose value is an object: some of the right type, or none.
static void put_object(void *value, UInt32 id) {
  bool is_dictionary = id == 'info' || id == 'accf';
  CFTypeRef object = is_dictionary ? (CFTypeRef)ONE_OF(dictionaries) : (CFTypeRef)ONE_OF(strings);
  if (one_in(8) || id == 'aart') object = NULL;
  memcpy(value, &object, sizeof object);
}

#endif
