// AudioFormat's information about formats, codecs and channel layouts.
#include "check.h"

static UInt32 get(AudioFormatPropertyID id, const void *of, UInt32 of_size, void *value,
                  UInt32 room) {
  UInt32 size = room, told = 0;
  WORKS(AudioFormatGetProperty(id, of_size, of, &size, value));
  WORKS(AudioFormatGetPropertyInfo(id, of_size, of, &told));
  EQUAL(told, size);
  return size;
}

static UInt32 number(AudioFormatPropertyID id, const void *of, UInt32 of_size) {
  UInt32 value = 99;
  EQUAL(get(id, of, of_size, &value, sizeof value), 4);
  return value;
}

static AudioStreamBasicDescription named(AudioFormatID id) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mFormatID = id;
  return format;
}

static Boolean contains(const UInt32 *ids, UInt32 bytes, UInt32 id) {
  for (UInt32 i = 0; i < bytes / 4; i++)
    if (ids[i] == id) return true;
  return false;
}

static void check_text(AudioFormatPropertyID id, const void *of, UInt32 of_size, const char *text) {
  CFStringRef string = NULL;
  EQUAL(get(id, of, of_size, &string, sizeof string), sizeof string);
  char found[200];
  CHECK(CFStringGetCString(string, found, sizeof found, kCFStringEncodingUTF8));
  CFRelease(string);
  if (strcmp(found, text) != 0) fail(__FILE__, __LINE__, found);
}

static void formats(void) {
  AudioStreamBasicDescription aac = named(kAudioFormatMPEG4AAC);
  aac.mSampleRate = 44100;
  aac.mChannelsPerFrame = 2;
  get(kAudioFormatProperty_FormatInfo, NULL, 0, &aac, sizeof aac);
  EQUAL(aac.mFramesPerPacket, 1024);
  EQUAL(aac.mBytesPerPacket, 0);
  EQUAL(number(kAudioFormatProperty_FormatIsVBR, &aac, sizeof aac), 1);
  EQUAL(number(kAudioFormatProperty_FormatIsExternallyFramed, &aac, sizeof aac), 1);
  check_text(kAudioFormatProperty_FormatName, &aac, sizeof aac, "AAC, 2 ch, 44100 Hz");

  AudioStreamBasicDescription law = named(kAudioFormatULaw);
  law.mSampleRate = 8000;
  law.mChannelsPerFrame = 1;
  get(kAudioFormatProperty_FormatInfo, NULL, 0, &law, sizeof law);
  CHECK(law.mBytesPerPacket == 1 && law.mFramesPerPacket == 1);
  EQUAL(number(kAudioFormatProperty_FormatIsVBR, &law, sizeof law), 0);

  AudioStreamBasicDescription pcm = float_format(48000, 2);
  pcm.mBytesPerPacket = pcm.mBytesPerFrame = 0;
  get(kAudioFormatProperty_FormatInfo, NULL, 0, &pcm, sizeof pcm);
  CHECK(pcm.mBytesPerFrame == 8 && pcm.mBytesPerPacket == 8);
  check_text(kAudioFormatProperty_FormatName, &pcm, sizeof pcm,
             "Linear PCM, 32 bit little-endian floating point, 2 ch, 48000 Hz");

  AudioStreamBasicDescription none = named('none');
  UInt32 size = sizeof none;
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, NULL, &size, &none),
        kAudioFormatUnknownFormatError);
  size = sizeof none - 1;
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, NULL, &size, &aac),
        kAudioFormatBadPropertySizeError);
  GIVES(AudioFormatGetProperty('none', 0, NULL, &size, &aac), kAudioFormatUnsupportedPropertyError);
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_FormatIsVBR, 39, &aac, &size, &none),
        kAudioFormatBadSpecifierSizeError);
  passed("formats");
}

static void codecs(void) {
  UInt32 ids[100];
  UInt32 bytes = get(kAudioFormatProperty_EncodeFormatIDs, NULL, 0, ids, sizeof ids);
  CHECK(contains(ids, bytes, kAudioFormatLinearPCM) && contains(ids, bytes, kAudioFormatMPEG4AAC));
  CHECK(contains(ids, bytes, kAudioFormatAppleLossless));
  CHECK(!contains(ids, bytes, kAudioFormatMPEG4AAC_HE));
  bytes = get(kAudioFormatProperty_DecodeFormatIDs, NULL, 0, ids, sizeof ids);
  CHECK(contains(ids, bytes, kAudioFormatMPEG4AAC_HE) && contains(ids, bytes, kAudioFormatOpus));

  UInt32 id = kAudioFormatAppleLossless;
  AudioClassDescription classes[4];
  EQUAL(get(kAudioFormatProperty_Encoders, &id, sizeof id, classes, sizeof classes),
        sizeof *classes);
  CHECK(classes[0].mType == kAudioEncoderComponentType && classes[0].mSubType == id);
  CHECK(classes[0].mManufacturer == kAppleSoftwareAudioCodecManufacturer);
  id = kAudioFormatMPEG4AAC_HE;
  EQUAL(get(kAudioFormatProperty_Encoders, &id, sizeof id, classes, sizeof classes), 0);
  EQUAL(get(kAudioFormatProperty_Decoders, &id, sizeof id, classes, sizeof classes),
        sizeof *classes);

  // No codec is a hardware codec.
  AudioClassDescription wanted = {kAudioDecoderComponentType, kAudioFormatMPEG4AAC,
                                  kAppleHardwareAudioCodecManufacturer};
  EQUAL(number(kAudioFormatProperty_HardwareCodecCapabilities, &wanted, sizeof wanted), 0);

  AudioValueRange ranges[200];
  id = kAudioFormatMPEG4AAC;
  CHECK(get(kAudioFormatProperty_AvailableEncodeBitRates, &id, sizeof id, ranges, sizeof ranges) >
        0);
  bytes =
      get(kAudioFormatProperty_AvailableEncodeSampleRates, &id, sizeof id, ranges, sizeof ranges);
  Boolean found = false;
  for (UInt32 i = 0; i < bytes / sizeof *ranges; i++)
    found |= ranges[i].mMinimum <= 44100 && ranges[i].mMaximum >= 44100;
  CHECK(found);
  AudioStreamBasicDescription aac = named(id);
  bytes =
      get(kAudioFormatProperty_AvailableEncodeNumberChannels, &aac, sizeof aac, ids, sizeof ids);
  CHECK(contains(ids, bytes, 1) && contains(ids, bytes, 6) && !contains(ids, bytes, 0));

  static const AudioFormatPropertyID tags = kAudioFormatProperty_AvailableEncodeChannelLayoutTags;
  aac.mChannelsPerFrame = 0;
  bytes = get(tags, &aac, sizeof aac, ids, sizeof ids);
  CHECK(contains(ids, bytes, kAudioChannelLayoutTag_Mono));
  CHECK(contains(ids, bytes, kAudioChannelLayoutTag_MPEG_5_1_A));
  aac.mChannelsPerFrame = 2;
  EQUAL(get(tags, &aac, sizeof aac, ids, sizeof ids), sizeof *ids);
  EQUAL(ids[0], kAudioChannelLayoutTag_Stereo);
  aac = named(kAudioFormatMPEGLayer3);
  aac.mChannelsPerFrame = 6;
  EQUAL(get(tags, &aac, sizeof aac, ids, sizeof ids), 0);
  // A converter reports the same for its encoder.
  AudioStreamBasicDescription pcm = float_format(44100, 2);
  aac = named(kAudioFormatMPEG4AAC);
  AudioConverterRef converter = NULL;
  WORKS(AudioConverterNew(&pcm, &aac, &converter));
  UInt32 size = sizeof ids;
  WORKS(AudioConverterGetProperty(converter, kAudioConverterAvailableEncodeChannelLayoutTags, &size,
                                  ids));
  CHECK(contains(ids, size, kAudioChannelLayoutTag_MPEG_5_1_A));
  WORKS(AudioConverterDispose(converter));
  passed("codecs");
}

static void cookies(void) {
  // AAC-LC at 22,050 Hz with spectral band replication to 44,100 Hz, which old decoders ignore.
  static const UInt8 config[] = {0x13, 0x90, 0x56, 0xE5, 0xA0};
  static const UInt8 esds[] = {0x03, 0x1C, 0,    0,    0,    0x04, 0x14, 0x40, 0x15, 0,
                               0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                               0x05, 0x05, 0x13, 0x90, 0x56, 0xE5, 0xA0, 0x06, 1,    2};
  AudioFormatInfo info;
  memset(&info, 0, sizeof info);
  info.mASBD = named(kAudioFormatMPEG4AAC);
  info.mMagicCookie = config;
  info.mMagicCookieSize = sizeof config;
  AudioFormatListItem items[4];
  UInt32 bytes = get(kAudioFormatProperty_FormatList, &info, sizeof info, items, sizeof items);
  EQUAL(bytes, 2 * sizeof *items);
  CHECK(items[0].mASBD.mFormatID == kAudioFormatMPEG4AAC_HE && items[0].mASBD.mSampleRate == 44100);
  CHECK(items[0].mASBD.mFramesPerPacket == 2048 && items[1].mASBD.mFramesPerPacket == 1024);
  CHECK(items[1].mASBD.mFormatID == kAudioFormatMPEG4AAC && items[1].mASBD.mSampleRate == 22050);
  EQUAL(items[0].mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);
  EQUAL(number(kAudioFormatProperty_FirstPlayableFormatFromList, items, bytes), 0);
  AudioFormatListItem decoded[4];
  EQUAL(get(kAudioFormatProperty_OutputFormatList, &info, sizeof info, decoded, sizeof decoded),
        2 * sizeof *decoded);
  for (int i = 0; i < 2; i++) {
    CHECK(decoded[i].mASBD.mFormatID == kAudioFormatLinearPCM);
    EQUAL(decoded[i].mASBD.mSampleRate, items[i].mASBD.mSampleRate);
    EQUAL(decoded[i].mASBD.mBytesPerFrame, 8);
    EQUAL(decoded[i].mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);
  }
  items[0].mASBD.mFormatID = kAudioFormatMPEG4AAC_ELD;
  EQUAL(number(kAudioFormatProperty_FirstPlayableFormatFromList, items, bytes), 1);

  // Without a cookie, the description alone counts.
  info = (AudioFormatInfo){named(kAudioFormatMPEG4AAC), NULL, 0};
  info.mASBD.mSampleRate = 48000;
  info.mASBD.mChannelsPerFrame = 2;
  EQUAL(get(kAudioFormatProperty_FormatList, &info, sizeof info, items, sizeof items),
        sizeof *items);
  CHECK(items[0].mASBD.mFormatID == kAudioFormatMPEG4AAC && items[0].mASBD.mSampleRate == 48000);

  AudioStreamBasicDescription format;
  get(kAudioFormatProperty_ASBDFromESDS, esds, sizeof esds, &format, sizeof format);
  CHECK(format.mFormatID == kAudioFormatMPEG4AAC_HE && format.mChannelsPerFrame == 2);
  AudioChannelLayout layout;
  get(kAudioFormatProperty_ChannelLayoutFromESDS, esds, sizeof esds, &layout, sizeof layout);
  EQUAL(layout.mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);
  UInt32 size = sizeof format;
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_ASBDFromESDS, 1, "\x03", &size, &format),
        kAudioFormatUnsupportedDataFormatError);
  passed("cookies");
}

static void layouts(void) {
  UInt8 memory[1000];
  AudioChannelLayout *five = (AudioChannelLayout *)memory;
  AudioChannelLayoutTag tag = kAudioChannelLayoutTag_MPEG_5_1_A;
  UInt32 bytes =
      get(kAudioFormatProperty_ChannelLayoutForTag, &tag, sizeof tag, memory, sizeof memory);
  EQUAL(bytes, 12 + 6 * sizeof(AudioChannelDescription));
  EQUAL(five->mNumberChannelDescriptions, 6);
  static const AudioChannelLabel labels[6] = {
      kAudioChannelLabel_Left,         kAudioChannelLabel_Right,
      kAudioChannelLabel_Center,       kAudioChannelLabel_LFEScreen,
      kAudioChannelLabel_LeftSurround, kAudioChannelLabel_RightSurround};
  for (int i = 0; i < 6; i++)
    EQUAL(five->mChannelDescriptions[i].mChannelLabel, labels[i]);
  EQUAL(number(kAudioFormatProperty_TagForChannelLayout, five, bytes), tag);
  EQUAL(number(kAudioFormatProperty_NumberOfChannelsForLayout, five, bytes), 6);
  EQUAL(number(kAudioFormatProperty_ValidateChannelLayout, five, bytes), 1);
  EQUAL(number(kAudioFormatProperty_BitmapForLayoutTag, &tag, sizeof tag), 0x3F);
  check_text(kAudioFormatProperty_ChannelLayoutName, five, bytes, "5.1 (L R C LFE Ls Rs)");
  check_text(kAudioFormatProperty_ChannelName, five->mChannelDescriptions + 3,
             sizeof *five->mChannelDescriptions, "LFE Screen");
  check_text(kAudioFormatProperty_ChannelShortName, five->mChannelDescriptions + 4,
             sizeof *five->mChannelDescriptions, "Ls");
  // The same channels in another form.
  AudioChannelLayout tagged;
  memset(&tagged, 0, sizeof tagged);
  tagged.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_A;
  const UInt32 hash = number(kAudioFormatProperty_ChannelLayoutHash, five, bytes);
  EQUAL(number(kAudioFormatProperty_ChannelLayoutHash, &tagged, sizeof tagged), hash);
  tagged.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_B;
  CHECK(number(kAudioFormatProperty_ChannelLayoutHash, &tagged, sizeof tagged) != hash);
  AudioChannelBitmap bitmap = 0x3F;
  UInt8 other[1000];
  EQUAL(
      get(kAudioFormatProperty_ChannelLayoutForBitmap, &bitmap, sizeof bitmap, other, sizeof other),
      bytes);
  CHECK(memcmp(other, memory, bytes) == 0);
  UInt32 channels = 2, tags[200];
  bytes = get(kAudioFormatProperty_TagsForNumberOfChannels, &channels, 4, tags, sizeof tags);
  CHECK(contains(tags, bytes, kAudioChannelLayoutTag_Stereo) && !contains(tags, bytes, tag));

  AudioChannelLayout stereo, film;
  memset(&stereo, 0, sizeof stereo);
  stereo.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo;
  film = stereo;
  film.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_C; // L C R Ls Rs LFE
  const AudioChannelLayout *pair[2] = {five, &film};
  SInt32 map[6];
  get(kAudioFormatProperty_ChannelMap, pair, sizeof pair, map, sizeof map);
  static const SInt32 moved[6] = {0, 2, 1, 4, 5, 3};
  CHECK(memcmp(map, moved, sizeof map) == 0);
  EQUAL(number(kAudioFormatProperty_AreChannelLayoutsEquivalent, pair, sizeof pair), 0);
  pair[1] = &stereo;
  float mix[12];
  EQUAL(get(kAudioFormatProperty_MatrixMixMap, pair, sizeof pair, mix, sizeof mix), sizeof mix);
  double sum = 1 + sqrt(0.5) * 2;
  static const double left[6] = {1, 0, M_SQRT1_2, 0, M_SQRT1_2, 0};
  static const double right[6] = {0, 1, M_SQRT1_2, 0, 0, M_SQRT1_2};
  for (int i = 0; i < 6; i++)
    CHECK(fabs(mix[2 * i] - left[i] / sum) < 1e-6 && fabs(mix[2 * i + 1] - right[i] / sum) < 1e-6);
  pair[0] = NULL;
  UInt32 size = sizeof mix;
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_MatrixMixMap, sizeof pair, pair, &size, mix),
        kAudio_ParamError);
  // A table of as many rows and columns would take gigabytes.
  const AudioChannelLayout many = {.mChannelLayoutTag =
                                       kAudioChannelLayoutTag_DiscreteInOrder | 0xFFFF};
  pair[0] = pair[1] = &many;
  GIVES(AudioFormatGetPropertyInfo(kAudioFormatProperty_MatrixMixMap, sizeof pair, pair, &size),
        kAudio_ParamError);
  tag = 0x00C80002;
  size = sizeof memory;
  GIVES(AudioFormatGetProperty(kAudioFormatProperty_ChannelLayoutForTag, sizeof tag, &tag, &size,
                               memory),
        kAudioFormatUnknownFormatError);
  passed("layouts");
}

int main(void) {
  formats();
  codecs();
  cookies();
  layouts();
  return 0;
}
