// Converters as programs use them: linear PCM in every format, channels, sample rates, the input
// callback, and properties.
#include "check.h"

static AudioStreamBasicDescription pcm(double rate, UInt32 channels, UInt32 bits, UInt32 bytes,
                                       AudioFormatFlags flags) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  UInt32 together = flags & kAudioFormatFlagIsNonInterleaved ? 1 : channels;
  format.mSampleRate = rate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = flags | (bits == 8 * bytes ? kAudioFormatFlagIsPacked : 0);
  format.mBytesPerPacket = format.mBytesPerFrame = bytes * together;
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = channels;
  format.mBitsPerChannel = bits;
  return format;
}

enum {
  Signed = kAudioFormatFlagIsSignedInteger,
  Float = kAudioFormatFlagIsFloat,
  Planar = kAudioFormatFlagIsNonInterleaved
};

/// An invalid pointer.
static void *nowhere = NULL;

static AudioConverterRef converter(AudioStreamBasicDescription from,
                                   AudioStreamBasicDescription to) {
  AudioConverterRef made = NULL;
  WORKS(AudioConverterNew(&from, &to, &made));
  CHECK(made != NULL);
  return made;
}

// MARK: Integers

static void integers_stay_exact(void) {
  // 32-bit samples keep their value in the other byte order, and are rounded to the nearest 16-bit
  // value.
  enum {
    Count = 6
  };
  static const SInt32 samples[Count] = {0, 1, -1, INT32_MAX, INT32_MIN, 0x12345678};
  AudioConverterRef swap = converter(pcm(48000, 1, 32, 4, Signed),
                                     pcm(48000, 1, 32, 4, Signed | kAudioFormatFlagIsBigEndian));
  SInt32 swapped[Count];
  UInt32 size = sizeof swapped;
  WORKS(AudioConverterConvertBuffer(swap, sizeof samples, samples, &size, swapped));
  EQUAL(size, sizeof swapped);
  for (int i = 0; i < Count; i++)
    CHECK((SInt32)__builtin_bswap32((UInt32)swapped[i]) == samples[i]);
  size = sizeof swapped - 1;
  GIVES(AudioConverterConvertBuffer(swap, sizeof samples, samples, &size, swapped),
        kAudioConverterErr_InvalidOutputSize);
  size = sizeof swapped;
  GIVES(AudioConverterConvertBuffer(swap, sizeof samples - 1, samples, &size, swapped),
        kAudioConverterErr_InvalidInputSize);
  WORKS(AudioConverterDispose(swap));

  AudioConverterRef narrow = converter(pcm(48000, 1, 32, 4, Signed), pcm(48000, 1, 16, 2, Signed));
  static const SInt32 wide[Count] = {0x00008000, 0x00018000, 0x00008001,
                                     INT32_MAX,  INT32_MIN,  -0x8001};
  static const SInt16 expected[Count] = {0, 2, 1, INT16_MAX, INT16_MIN, -1};
  SInt16 nearest[Count];
  size = sizeof nearest;
  WORKS(AudioConverterConvertBuffer(narrow, sizeof wide, wide, &size, nearest));
  for (int i = 0; i < Count; i++)
    EQUAL(nearest[i], expected[i]);
  WORKS(AudioConverterDispose(narrow));
  GIVES(AudioConverterDispose(narrow), kAudio_ParamError);
  passed("integers");
}

// MARK: Buffers

/// An AudioBufferList for two buffers.
typedef struct {
  UInt32 count;
  AudioBuffer buffers[2];
} two_buffers;

static void buffers_of_channels(void) {
  enum {
    Frames = 5000
  };
  static SInt16 samples[2 * Frames];
  static float left[Frames], right[Frames];
  for (int i = 0; i < 2 * Frames; i++)
    samples[i] = (SInt16)(i * 7919);
  AudioConverterRef apart =
      converter(pcm(44100, 2, 16, 2, Signed), pcm(44100, 2, 32, 4, Float | Planar));
  AudioBufferList input = {1, {{2, sizeof samples, samples}}};
  two_buffers output = {2, {{1, sizeof left, left}, {1, sizeof right, right}}};
  AudioBufferList *list = (AudioBufferList *)&output;
  WORKS(AudioConverterConvertComplexBuffer(apart, Frames, &input, list));
  for (int i = 0; i < Frames; i++)
    CHECK(left[i] == samples[2 * i] / 32768.0f && right[i] == samples[2 * i + 1] / 32768.0f);
  GIVES(AudioConverterConvertComplexBuffer(apart, Frames + 1, &input, list),
        kAudioConverterErr_InvalidInputSize);
  output.buffers[1].mDataByteSize = 4;
  GIVES(AudioConverterConvertComplexBuffer(apart, Frames, &input, list),
        kAudioConverterErr_InvalidOutputSize);
  output.count = 1;
  GIVES(AudioConverterConvertComplexBuffer(apart, Frames, &input, list), kAudio_ParamError);
  UInt32 size = sizeof left;
  GIVES(AudioConverterConvertBuffer(apart, 4, samples, &size, left), kAudio_ParamError);
  output = (two_buffers){2, {{1, sizeof left, left}, {1, sizeof right, right}}};

  // The opposite direction, with swapped channels.
  AudioConverterRef together =
      converter(pcm(44100, 2, 32, 4, Float | Planar), pcm(44100, 2, 16, 2, Signed));
  static SInt16 back[2 * Frames];
  AudioBufferList result = {1, {{2, sizeof back, back}}};
  SInt32 map[2] = {1, 0};
  WORKS(AudioConverterSetProperty(together, kAudioConverterChannelMap, sizeof map, map));
  WORKS(AudioConverterConvertComplexBuffer(together, Frames, list, &result));
  for (int i = 0; i < Frames; i++)
    CHECK(back[2 * i] == samples[2 * i + 1] && back[2 * i + 1] == samples[2 * i]);
  map[0] = -1;
  WORKS(AudioConverterSetProperty(together, kAudioConverterChannelMap, sizeof map, map));
  WORKS(AudioConverterConvertComplexBuffer(together, Frames, list, &result));
  for (int i = 0; i < Frames; i++)
    CHECK(back[2 * i] == 0 && back[2 * i + 1] == samples[2 * i]);
  SInt32 seen[2] = {9, 9};
  size = sizeof seen;
  WORKS(AudioConverterGetProperty(together, kAudioConverterChannelMap, &size, seen));
  CHECK(size == sizeof seen && seen[0] == -1 && seen[1] == 0);
  map[0] = 2;
  GIVES(AudioConverterSetProperty(together, kAudioConverterChannelMap, sizeof map, map),
        kAudio_ParamError);
  GIVES(AudioConverterSetProperty(together, kAudioConverterChannelMap, 4, map),
        kAudioConverterErr_BadPropertySizeError);
  WORKS(AudioConverterDispose(apart));
  WORKS(AudioConverterDispose(together));
  passed("buffers");
}

static void channels_that_differ(void) {
  SInt16 one[2] = {100, -200}, two[4] = {9, 9, 9, 9};
  AudioConverterRef wider = converter(pcm(8000, 1, 16, 2, Signed), pcm(8000, 2, 16, 2, Signed));
  UInt32 size = sizeof two;
  WORKS(AudioConverterConvertBuffer(wider, sizeof one, one, &size, two));
  CHECK(two[0] == 100 && two[1] == 0 && two[2] == -200 && two[3] == 0);
  SInt32 both[2] = {0, 0};
  WORKS(AudioConverterSetProperty(wider, kAudioConverterChannelMap, sizeof both, both));
  WORKS(AudioConverterConvertBuffer(wider, sizeof one, one, &size, two));
  CHECK(two[0] == 100 && two[1] == 100 && two[2] == -200 && two[3] == -200);
  WORKS(AudioConverterDispose(wider));

  AudioConverterRef narrower = converter(pcm(8000, 2, 16, 2, Signed), pcm(8000, 1, 16, 2, Signed));
  size = sizeof one;
  SInt16 pair[4] = {100, 50, -200, 0};
  WORKS(AudioConverterConvertBuffer(narrower, sizeof pair, pair, &size, one));
  CHECK(one[0] == 100 && one[1] == -200);
  UInt32 mixes = 1;
  WORKS(AudioConverterSetProperty(narrower, kAudioConverterPropertyPerformDownmix, sizeof mixes,
                                  &mixes));
  WORKS(AudioConverterConvertBuffer(narrower, sizeof pair, pair, &size, one));
  CHECK(one[0] == 75 && one[1] == -100);
  float factors[2] = {0.25f, 1};
  WORKS(AudioConverterSetProperty(narrower, kAudioConverterPropertyChannelMixMap, sizeof factors,
                                  factors));
  WORKS(AudioConverterConvertBuffer(narrower, sizeof pair, pair, &size, one));
  CHECK(one[0] == 75 && one[1] == -50);
  WORKS(AudioConverterDispose(narrower));
  passed("channels");
}

// MARK: The callback

typedef struct {
  const float *samples;
  /// Available frames, frames already provided, and the maximum per call.
  UInt32 frames, given, most;
  /// The result after the last frame.
  OSStatus end;
  UInt32 calls;
  Boolean asksForMore;
} feed;

static OSStatus give(AudioConverterRef converter, UInt32 *packets, AudioBufferList *data,
                     AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter;
  CHECK(descriptions == NULL);
  feed *from = user;
  from->calls++;
  CHECK(*packets > 0 && data->mNumberBuffers == 1 && data->mBuffers[0].mNumberChannels == 1);
  UInt32 count = from->frames - from->given;
  if (count > from->most) count = from->most;
  if (!from->asksForMore && count > *packets) count = *packets;
  *packets = count;
  data->mBuffers[0].mData = (void *)(from->samples + from->given);
  data->mBuffers[0].mDataByteSize = count * (UInt32)sizeof(float);
  from->given += count;
  return count == 0 ? from->end : noErr;
}

static UInt32 fill(AudioConverterRef made, feed *from, void *out, UInt32 bytes, UInt32 packets,
                   OSStatus status) {
  AudioBufferList list = {1, {{1, bytes, out}}};
  GIVES(AudioConverterFillComplexBuffer(made, give, from, &packets, &list, NULL), status);
  CHECK(list.mBuffers[0].mDataByteSize <= bytes);
  return packets;
}

static void the_callback(void) {
  enum {
    Frames = 1000
  };
  static float samples[Frames], out[4 * Frames];
  for (int i = 0; i < Frames; i++)
    samples[i] = wave(i);
  AudioConverterRef same = converter(pcm(48000, 1, 32, 4, Float), pcm(48000, 1, 32, 4, Float));
  // The callback provides more than requested. The converter returns the rest in later calls
  // without asking again.
  feed from = {samples, Frames, 0, Frames, noErr, 0, true};
  UInt32 got = 0;
  for (int i = 0; i < 10; i++)
    got += fill(same, &from, out + got, 100 * sizeof(float), 500, noErr);
  EQUAL(got, Frames);
  EQUAL(from.calls, 1);
  CHECK(memcmp(samples, out, sizeof samples) == 0);
  EQUAL(fill(same, &from, out, 400, 100, noErr), 0);

  // An error of the callback is returned after the earlier frames, and the stream continues.
  from = (feed){samples, 150, 0, 150, 'wait', 0, false};
  EQUAL(fill(same, &from, out, 400, 100, noErr), 100);
  EQUAL(fill(same, &from, out, 400, 100, 'wait'), 50);
  CHECK(out[0] == wave(100));
  from.frames = 160;
  EQUAL(fill(same, &from, out, 400, 100, 'wait'), 10);
  GIVES(AudioConverterFillComplexBuffer(same, give, NULL, nowhere, nowhere, NULL),
        kAudio_ParamError);
  WORKS(AudioConverterDispose(same));
  passed("the callback");
}

/// Blocks for a moment, and gives half of the frames that it says.
static OSStatus give_half(AudioConverterRef converter, UInt32 *packets, AudioBufferList *data,
                          AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter, (void)descriptions;
  feed *from = user;
  usleep(10000);
  UInt32 count = *packets / 2;
  if (count > from->frames - from->given) count = from->frames - from->given;
  data->mBuffers[0].mData = (void *)(from->samples + from->given);
  data->mBuffers[0].mDataByteSize = count * (UInt32)sizeof(float);
  from->given += count;
  from->calls++;
  return noErr;
}

/// Bytes count, not packets.
static void fewer_bytes(void) {
  enum {
    Frames = 1000
  };
  static float samples[Frames], out[2 * Frames];
  for (int i = 0; i < Frames; i++)
    samples[i] = wave(i);
  AudioConverterRef same = converter(pcm(48000, 1, 32, 4, Float), pcm(48000, 1, 32, 4, Float));
  feed from = {samples, Frames, 0, Frames, noErr, 0, false};
  UInt32 got = 0;
  for (int i = 0; i < 100 && got < Frames; i++) {
    UInt32 packets = 100;
    AudioBufferList list = {1, {{1, 100 * sizeof(float), out + got}}};
    WORKS(AudioConverterFillComplexBuffer(same, give_half, &from, &packets, &list, NULL));
    EQUAL(list.mBuffers[0].mDataByteSize, packets * sizeof(float));
    got += packets;
  }
  EQUAL(got, Frames);
  CHECK(from.calls > 1);
  CHECK(memcmp(samples, out, sizeof samples) == 0);
  WORKS(AudioConverterDispose(same));
  passed("fewer bytes");
}

// MARK: Rates

static void rates(void) {
  enum {
    Frames = 10007
  };
  static float samples[Frames], whole[3 * Frames], parts[3 * Frames];
  for (int i = 0; i < Frames; i++)
    samples[i] = (float)sin(i * 0.05);
  static const double outputs[] = {8000, 44100, 48000, 96000, 22050};
  for (int o = 0; o < 5; o++) {
    double ratio = outputs[o] / 44100;
    UInt32 expected = (UInt32)lround(Frames * ratio);
    AudioConverterRef made =
        converter(pcm(44100, 1, 32, 4, Float), pcm(outputs[o], 1, 32, 4, Float));
    feed from = {samples, Frames, 0, Frames, noErr, 0, true};
    EQUAL(fill(made, &from, whole, sizeof whole, 3 * Frames, noErr), expected);
    // The end of the stream lasts until a reset.
    EQUAL(fill(made, &from, whole + expected, 400, 100, noErr), 0);
    for (UInt32 i = expected / 4; i < expected / 4 * 3; i++)
      if (fabs(whole[i] - sin(i / ratio * 0.05)) > 1e-4) EQUAL(whole[i], sin(i / ratio * 0.05));
    WORKS(AudioConverterReset(made));
    // Small pieces on both sides give the same result.
    from = (feed){samples, Frames, 0, 77, noErr, 0, false};
    UInt32 got = 0, more;
    while ((more = fill(made, &from, parts + got, 333 * sizeof(float), 333, noErr)) > 0)
      got += more;
    EQUAL(got, expected);
    CHECK(memcmp(whole, parts, expected * sizeof(float)) == 0);
    UInt32 size = 400;
    GIVES(AudioConverterConvertBuffer(made, 400, samples, &size, parts),
          outputs[o] == 44100 ? noErr : kAudioConverterErr_OperationNotSupported);
    WORKS(AudioConverterDispose(made));
  }
  passed("rates");
}

static void priming(void) {
  static float samples[1000], out[4000];
  for (int i = 0; i < 1000; i++)
    samples[i] = (float)sin(i * 0.05);
  AudioConverterRef made = converter(pcm(24000, 1, 32, 4, Float), pcm(48000, 1, 32, 4, Float));
  AudioConverterPrimeInfo info = {100, 50};
  WORKS(AudioConverterSetProperty(made, kAudioConverterPrimeInfo, sizeof info, &info));
  static const UInt32 frames[3] = {1800, 2000, 2100};
  static const int offsets[3] = {200, 0, -100};
  for (UInt32 method = 0; method < 3; method++) {
    WORKS(AudioConverterSetProperty(made, kAudioConverterPrimeMethod, sizeof method, &method));
    feed from = {samples, 1000, 0, 1000, noErr, 0, false};
    EQUAL(fill(made, &from, out, sizeof out, 4000, noErr), frames[method]);
    for (int i = 300; i < 1700; i++)
      CHECK(fabs(out[i] - sin((i + offsets[method]) / 2.0 * 0.05)) < 1e-3);
  }
  WORKS(AudioConverterDispose(made));
  passed("priming");
}

// MARK: Properties

static UInt32 number(AudioConverterRef made, AudioConverterPropertyID id, UInt32 value) {
  UInt32 size = sizeof value;
  WORKS(AudioConverterGetProperty(made, id, &size, &value));
  EQUAL(size, sizeof value);
  return value;
}

static void properties(void) {
  AudioConverterRef made =
      converter(pcm(44100, 2, 16, 2, Signed), pcm(88200, 2, 32, 4, Float | Planar));
  EQUAL(number(made, kAudioConverterPropertyMinimumInputBufferSize, 0), 4);
  EQUAL(number(made, kAudioConverterPropertyMinimumOutputBufferSize, 0), 4);
  EQUAL(number(made, kAudioConverterPropertyMaximumInputPacketSize, 0), 4);
  EQUAL(number(made, kAudioConverterPropertyMaximumOutputPacketSize, 0), 4);
  EQUAL(number(made, kAudioConverterPropertyCalculateInputBufferSize, 800), 400);
  CHECK(number(made, kAudioConverterPropertyCalculateOutputBufferSize, 400) >= 800);
  EQUAL(number(made, kAudioConverterPropertyCanResumeFromInterruption, 0), 1);
  EQUAL(number(made, kAudioConverterSampleRateConverterQuality, 0), kAudioConverterQuality_Max);
  EQUAL(number(made, kAudioConverterPrimeMethod, 9), kConverterPrimeMethod_Normal);

  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  WORKS(AudioConverterGetProperty(made, kAudioConverterCurrentOutputStreamDescription, &size,
                                  &format));
  CHECK(format.mSampleRate == 88200 && format.mBytesPerFrame == 4 && format.mChannelsPerFrame == 2);
  CHECK(format.mFormatFlags & kAudioFormatFlagIsNonInterleaved);
  Boolean writable = true;
  WORKS(AudioConverterGetPropertyInfo(made, kAudioConverterCurrentInputStreamDescription, &size,
                                      &writable));
  CHECK(size == sizeof format && !writable);
  WORKS(AudioConverterGetPropertyInfo(made, kAudioConverterChannelMap, &size, &writable));
  CHECK(size == 8 && writable);

  UInt32 value = kAudioConverterQuality_Low;
  WORKS(AudioConverterSetProperty(made, kAudioConverterSampleRateConverterQuality, 4, &value));
  EQUAL(number(made, kAudioConverterSampleRateConverterQuality, 0), kAudioConverterQuality_Low);
  value = kAudioConverterSampleRateConverterComplexity_Linear;
  WORKS(AudioConverterSetProperty(made, kAudioConverterSampleRateConverterComplexity, 4, &value));
  value = 'none';
  GIVES(AudioConverterSetProperty(made, kAudioConverterSampleRateConverterComplexity, 4, &value),
        kAudio_ParamError);
  GIVES(AudioConverterSetProperty(made, kAudioConverterSampleRateConverterQuality, 3, &value),
        kAudioConverterErr_BadPropertySizeError);
  GIVES(AudioConverterSetProperty(made, kAudioConverterPropertyMaximumOutputPacketSize, 4, &value),
        kAudioConverterErr_PropertyNotSupported);
  GIVES(AudioConverterSetProperty(made, 'none', 4, &value),
        kAudioConverterErr_PropertyNotSupported);
  WORKS(AudioConverterGetPropertyInfo(made, kAudioConverterInputChannelLayout, &size, NULL));
  EQUAL(size, 0);
  size = 3;
  GIVES(AudioConverterGetProperty(made, kAudioConverterPrimeMethod, &size, &value),
        kAudioConverterErr_BadPropertySizeError);
  AudioChannelLayout layout = {kAudioChannelLayoutTag_Stereo, 0, 0, {{0, 0, {0, 0, 0}}}};
  WORKS(AudioConverterSetProperty(made, kAudioConverterInputChannelLayout, sizeof layout, &layout));
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_Mono;
  GIVES(AudioConverterSetProperty(made, kAudioConverterInputChannelLayout, sizeof layout, &layout),
        kAudio_ParamError);
  WORKS(AudioConverterDispose(made));
  GIVES(AudioConverterReset(made), kAudio_ParamError);
  passed("properties");
}

static void what_cannot_be(void) {
  AudioStreamBasicDescription good = pcm(48000, 2, 16, 2, Signed), bad = good;
  AudioConverterRef made = (AudioConverterRef)&good;
  bad.mSampleRate = -1;
  GIVES(AudioConverterNew(&bad, &good, &made), kAudioConverterErr_InputSampleRateOutOfRange);
  CHECK(made == NULL);
  bad.mSampleRate = 1e9;
  GIVES(AudioConverterNew(&good, &bad, &made), kAudioConverterErr_OutputSampleRateOutOfRange);
  bad.mSampleRate = 8;
  GIVES(AudioConverterNew(&bad, &good, &made), kAudioConverterErr_OutputSampleRateOutOfRange);
  bad = good;
  bad.mFormatID = 'none';
  GIVES(AudioConverterNew(&good, &bad, &made), kAudioConverterErr_FormatNotSupported);
  bad = good;
  bad.mBytesPerFrame = 3;
  GIVES(AudioConverterNew(&bad, &good, &made), kAudioConverterErr_FormatNotSupported);
  GIVES(AudioConverterNew(nowhere, &good, &made), kAudio_ParamError);
  GIVES(AudioConverterDispose(nowhere), kAudio_ParamError);
  passed("what cannot be");
}

// MARK: Packets

enum {
  MostPackets = 100000,
  MostBytes = 1 << 21,
  Sound = 50021
};

/// An encoded stream.
static struct {
  AudioStreamBasicDescription format;
  UInt8 bytes[MostBytes], cookie[10000];
  AudioStreamPacketDescription packets[MostPackets];
  UInt32 count, size, cookie_size, next;
  AudioConverterPrimeInfo priming;
} coded;

typedef struct {
  const SInt16 *samples;
  UInt32 given;
} sound_feed;

static OSStatus give_sound(AudioConverterRef converter, UInt32 *packets, AudioBufferList *data,
                           AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter;
  CHECK(descriptions == NULL);
  sound_feed *from = user;
  UInt32 count = Sound - from->given;
  if (count > *packets) count = *packets;
  if (count > 777) count = 777;
  *packets = count;
  data->mBuffers[0].mData = (void *)(from->samples + 2 * from->given);
  data->mBuffers[0].mDataByteSize = 4 * count;
  from->given += count;
  return noErr;
}

static void encode(AudioFormatID id, UInt32 flags, const SInt16 *samples) {
  memset(&coded, 0, sizeof coded);
  AudioStreamBasicDescription to;
  memset(&to, 0, sizeof to);
  to.mFormatID = id;
  to.mFormatFlags = flags;
  to.mChannelsPerFrame = 2;
  to.mSampleRate = 48000;
  AudioConverterRef made = converter(pcm(48000, 2, 16, 2, Signed), to);
  UInt32 most = number(made, kAudioConverterPropertyMaximumOutputPacketSize, 0);
  CHECK(most > 0 && most < 100000);
  sound_feed from = {samples, 0};
  for (;;) {
    UInt32 packets = 10;
    CHECK(coded.count + packets <= MostPackets && coded.size + packets * most <= MostBytes);
    AudioBufferList list = {1, {{2, packets * most, coded.bytes + coded.size}}};
    AudioStreamPacketDescription *descriptions = coded.packets + coded.count;
    WORKS(AudioConverterFillComplexBuffer(made, give_sound, &from, &packets, &list, descriptions));
    if (packets == 0) break;
    UInt32 bytes = 0;
    for (UInt32 i = 0; i < packets; i++) {
      EQUAL(descriptions[i].mStartOffset, bytes);
      CHECK(descriptions[i].mDataByteSize > 0 && descriptions[i].mDataByteSize <= most);
      bytes += descriptions[i].mDataByteSize;
      descriptions[i].mStartOffset += coded.size;
    }
    EQUAL(list.mBuffers[0].mDataByteSize, bytes);
    coded.size += bytes;
    coded.count += packets;
  }
  UInt32 size = sizeof coded.format;
  WORKS(AudioConverterGetProperty(made, kAudioConverterCurrentOutputStreamDescription, &size,
                                  &coded.format));
  size = sizeof coded.priming;
  WORKS(AudioConverterGetProperty(made, kAudioConverterPrimeInfo, &size, &coded.priming));
  coded.cookie_size = sizeof coded.cookie;
  OSStatus status = AudioConverterGetProperty(made, kAudioConverterCompressionMagicCookie,
                                              &coded.cookie_size, coded.cookie);
  if (status == kAudioConverterErr_PropertyNotSupported)
    coded.cookie_size = 0;
  else
    WORKS(status);
  if (coded.format.mFramesPerPacket > 0)
    EQUAL(coded.count * coded.format.mFramesPerPacket,
          Sound + coded.priming.leadingFrames + coded.priming.trailingFrames);
  WORKS(AudioConverterDispose(made));
}

static OSStatus give_packets(AudioConverterRef converter, UInt32 *packets, AudioBufferList *data,
                             AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter;
  (void)user;
  UInt32 count = coded.count - coded.next;
  if (count > *packets) count = *packets;
  if (count > 7) count = 7;
  *packets = count;
  if (count == 0) return noErr;
  AudioStreamPacketDescription *first = coded.packets + coded.next, *last = first + count - 1;
  if (coded.format.mBytesPerPacket == 0) {
    CHECK(descriptions != NULL);
    *descriptions = first;
    data->mBuffers[0].mData = coded.bytes;
    data->mBuffers[0].mDataByteSize = coded.size;
  } else {
    CHECK(descriptions == NULL);
    data->mBuffers[0].mData = coded.bytes + first->mStartOffset;
    data->mBuffers[0].mDataByteSize =
        (UInt32)(last->mStartOffset - first->mStartOffset) + last->mDataByteSize;
  }
  coded.next += count;
  return noErr;
}

static void round_trip(const char *name, AudioFormatID id, UInt32 flags, const SInt16 *samples,
                       double least) {
  encode(id, flags, samples);
  AudioConverterRef made = converter(coded.format, pcm(48000, 2, 16, 2, Signed));
  if (coded.cookie_size > 0)
    WORKS(AudioConverterSetProperty(made, kAudioConverterDecompressionMagicCookie,
                                    coded.cookie_size, coded.cookie));
  WORKS(AudioConverterSetProperty(made, kAudioConverterPrimeInfo, sizeof coded.priming,
                                  &coded.priming));
  static SInt16 out[2 * Sound + 20000];
  // Twice, because a reset restarts the stream.
  for (int turn = 0; turn < 2; turn++) {
    coded.next = 0;
    UInt32 got = 0;
    for (;;) {
      UInt32 frames = 1000;
      CHECK(2 * got + 2 * frames <= sizeof out / 2);
      AudioBufferList list = {1, {{2, frames * 4, out + 2 * got}}};
      WORKS(AudioConverterFillComplexBuffer(made, give_packets, NULL, &frames, &list, NULL));
      if (frames == 0) break;
      got += frames;
    }
    double signal = 0, noise = 0;
    for (UInt32 i = 0; i < 2 * Sound; i++) {
      signal += (double)samples[i] * samples[i];
      noise += ((double)samples[i] - out[i]) * ((double)samples[i] - out[i]);
    }
    double ratio = noise == 0 ? INFINITY : 10 * log10(signal / noise);
    if (got != Sound || ratio < least) {
      printf("%s: %u frames of %u, %g dB\n", name, got, Sound, ratio);
      exit(1);
    }
    WORKS(AudioConverterReset(made));
  }
  WORKS(AudioConverterDispose(made));
}

static void packets(void) {
  static SInt16 samples[2 * Sound];
  for (int i = 0; i < Sound; i++) {
    samples[2 * i] = (SInt16)(12000 * sin(i * 0.05) + 3000 * sin(i * 0.31));
    samples[2 * i + 1] = (SInt16)(9000 * sin(i * 0.021) + i % 50);
  }
  round_trip("ALAC", kAudioFormatAppleLossless, 0, samples, INFINITY);
  round_trip("FLAC", kAudioFormatFLAC, 0, samples, INFINITY);
  round_trip("AAC", kAudioFormatMPEG4AAC, 0, samples, 25);
  round_trip("MP3", kAudioFormatMPEGLayer3, 0, samples, 25);
  round_trip("Opus", kAudioFormatOpus, 0, samples, 15);
  round_trip("IMA4", kAudioFormatAppleIMA4, 0, samples, 20);
  round_trip("µ-law", kAudioFormatULaw, 0, samples, 30);
  round_trip("A-law", kAudioFormatALaw, 0, samples, 30);
  round_trip("AC-3", kAudioFormatAC3, 0, samples, 20);
  passed("packets");
}

static void properties_of_codecs(void) {
  AudioStreamBasicDescription to;
  memset(&to, 0, sizeof to);
  to.mFormatID = kAudioFormatMPEG4AAC;
  AudioConverterRef made = converter(pcm(44100, 2, 16, 2, Signed), to);
  UInt32 rate = 96000, size;
  WORKS(AudioConverterSetProperty(made, kAudioConverterEncodeBitRate, sizeof rate, &rate));
  EQUAL(number(made, kAudioConverterEncodeBitRate, 0), 96000);
  AudioValueRange ranges[100];
  static const AudioConverterPropertyID lists[] = {
      kAudioConverterApplicableEncodeBitRates, kAudioConverterAvailableEncodeBitRates,
      kAudioConverterApplicableEncodeSampleRates, kAudioConverterAvailableEncodeSampleRates};
  for (int i = 0; i < 4; i++) {
    Boolean writable = true;
    WORKS(AudioConverterGetPropertyInfo(made, lists[i], &size, &writable));
    CHECK(size > sizeof *ranges && size % sizeof *ranges == 0 && !writable);
    size = sizeof ranges;
    WORKS(AudioConverterGetProperty(made, lists[i], &size, ranges));
    CHECK(ranges[0].mMinimum > 0 && ranges[0].mMinimum <= ranges[0].mMaximum);
  }
  Float64 adjusted = 22050;
  WORKS(AudioConverterSetProperty(made, kAudioConverterEncodeAdjustableSampleRate, 8, &adjusted));
  AudioStreamBasicDescription format;
  size = sizeof format;
  WORKS(AudioConverterGetProperty(made, kAudioConverterCurrentOutputStreamDescription, &size,
                                  &format));
  CHECK(format.mSampleRate == 22050 && format.mFramesPerPacket == 1024);
  AudioFormatListItem items[4];
  size = sizeof items;
  WORKS(AudioConverterGetProperty(made, kAudioConverterPropertyFormatList, &size, items));
  CHECK(size == sizeof *items && items[0].mASBD.mFormatID == kAudioFormatMPEG4AAC);
  CHECK(items[0].mChannelLayoutTag == kAudioChannelLayoutTag_Stereo);
  AudioConverterPrimeInfo info = {1, 1};
  GIVES(AudioConverterSetProperty(made, kAudioConverterPrimeInfo, sizeof info, &info),
        kAudioConverterErr_PropertyNotSupported);
  // A packet that does not fit is kept.
  static SInt16 samples[2 * Sound];
  sound_feed from = {samples, 0};
  UInt8 bytes[2000];
  UInt32 count = 1;
  AudioBufferList list = {1, {{2, 1, bytes}}};
  GIVES(AudioConverterFillComplexBuffer(made, give_sound, &from, &count, &list, NULL),
        kAudioConverterErr_InvalidOutputSize);
  EQUAL(count, 0);
  count = 1;
  list.mBuffers[0].mDataByteSize = sizeof bytes;
  WORKS(AudioConverterFillComplexBuffer(made, give_sound, &from, &count, &list, NULL));
  EQUAL(count, 1);
  WORKS(AudioConverterDispose(made));

  AudioClassDescription classes[2] = {
      {kAudioEncoderComponentType, kAudioFormatMPEG4AAC, kAppleHardwareAudioCodecManufacturer},
      {kAudioEncoderComponentType, kAudioFormatMPEG4AAC, kAppleSoftwareAudioCodecManufacturer}};
  AudioStreamBasicDescription source = pcm(44100, 2, 16, 2, Signed);
  GIVES(AudioConverterNewSpecific(&source, &to, 1, classes, &made),
        kAudioConverterErr_FormatNotSupported);
  WORKS(AudioConverterNewSpecific(&source, &to, 2, classes, &made));
  WORKS(AudioConverterDispose(made));

  // Apple Lossless cannot be decoded without its cookie, and garbage cannot be decoded at all.
  AudioStreamBasicDescription lossless = source;
  memset(&lossless, 0, sizeof lossless);
  lossless.mFormatID = kAudioFormatAppleLossless;
  lossless.mSampleRate = 44100;
  lossless.mChannelsPerFrame = 2;
  lossless.mFramesPerPacket = 4096;
  made = converter(lossless, source);
  encode(kAudioFormatAppleLossless, 0, samples);
  count = 100;
  SInt16 out[200];
  AudioBufferList sound = {1, {{2, sizeof out / 2, out}}};
  GIVES(AudioConverterFillComplexBuffer(made, give_packets, NULL, &count, &sound, NULL),
        kAudioConverterErr_FormatNotSupported);
  WORKS(AudioConverterSetProperty(made, kAudioConverterDecompressionMagicCookie, coded.cookie_size,
                                  coded.cookie));
  memset(coded.bytes, 0xA5, coded.size);
  count = 100;
  coded.next = 0;
  sound.mBuffers[0].mDataByteSize = sizeof out / 2;
  GIVES(AudioConverterFillComplexBuffer(made, give_packets, NULL, &count, &sound, NULL),
        kAudioCodecBadDataError);
  coded.packets[0].mDataByteSize = coded.size + 1;
  WORKS(AudioConverterReset(made));
  coded.next = 0;
  count = 100;
  sound.mBuffers[0].mDataByteSize = sizeof out / 2;
  GIVES(AudioConverterFillComplexBuffer(made, give_packets, NULL, &count, &sound, NULL),
        kAudioConverterErr_InvalidInputSize);
  WORKS(AudioConverterDispose(made));
  passed("properties of codecs");
}

int main(void) {
  integers_stay_exact();
  buffers_of_channels();
  channels_that_differ();
  the_callback();
  fewer_bytes();
  rates();
  priming();
  properties();
  packets();
  properties_of_codecs();
  what_cannot_be();
  return 0;
}
