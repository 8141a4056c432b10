// Sizes and counts as programs give them: lists shortened to the room, byte counts that disagree
// with packet counts, packet tables of new files, formats without a rate, variables that were never
// set.
#include "extaudiofile.h"

// MARK: Lists

static void lists(void) {
  // A program that wants one type of file for an extension.
  CFStringRef text = CFSTR("wav");
  UInt32 types[8] = {0}, size = sizeof types[0];
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_TypesForExtension, sizeof text, &text, &size,
                               types));
  CHECK(size == 4 && types[0] == kAudioFileWAVEType && types[1] == 0);
  // Whole items only.
  UInt32 all = 0;
  WORKS(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &all));
  CHECK(all > 11);
  size = 11;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size, types));
  CHECK(size == 8 && types[0] != 0 && types[1] != 0 && types[2] == 0);
  AudioFileTypeAndFormatID both = {kAudioFileAIFFType, kAudioFormatLinearPCM};
  AudioStreamBasicDescription formats[2];
  memset(formats, 0, sizeof formats);
  size = sizeof *formats + 39;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat,
                               sizeof both, &both, &size, formats));
  CHECK(size == sizeof *formats && formats[0].mBitsPerChannel == 16 && formats[1].mFormatID == 0);
  // No room for one item, and what is no list.
  size = 3;
  GIVES(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size, types),
        kAudioFileBadPropertySizeError);
  AudioFileTypeID type = kAudioFileAIFFType;
  size = sizeof text - 1;
  GIVES(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_FileTypeName, 4, &type, &size, &text),
        kAudioFileBadPropertySizeError);
  passed("lists");
}

// MARK: Packets of constant size

/// Writes 100 frames of stereo with a byte count of `bytes`, and checks that all are in the file.
static void write_with(UInt32 bytes) {
  SInt16 samples[200], back[200];
  for (int i = 0; i < 200; i++)
    samples[i] = (SInt16)(i * 100 + 1);
  AudioStreamBasicDescription format = int16(44100, 2, 0);
  CFURLRef url = url_of("counts.wav");
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileWAVEType, &format, kAudioFileFlags_EraseFile, &file));
  UInt32 packets = 100;
  WORKS(AudioFileWritePackets(file, false, bytes, NULL, 0, &packets, samples));
  EQUAL(packets, 100);
  UInt32 size = sizeof back;
  WORKS(AudioFileReadPacketData(file, false, &size, NULL, 0, &packets, back));
  CHECK(packets == 100 && size == sizeof back && memcmp(samples, back, sizeof back) == 0);
  UInt64 count = 0;
  size = sizeof count;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyAudioDataPacketCount, &size, &count));
  EQUAL(count, 100);
  WORKS(AudioFileClose(file));
  CFRelease(url);
}

static void counts(void) {
  // Right; frames for bytes; none; more than there are.
  write_with(400);
  write_with(100);
  write_with(0);
  write_with(4000);

  // Packets of a codec whose size is constant.
  UInt8 packets[3 * 34] = {0};
  AudioStreamBasicDescription format = named(kAudioFormatAppleIMA4, 44100, 1);
  format.mBytesPerPacket = 34;
  format.mFramesPerPacket = 64;
  CFURLRef url = url_of("counts.caf");
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileCAFType, &format, kAudioFileFlags_EraseFile, &file));
  UInt32 count = 3;
  WORKS(AudioFileWritePackets(file, false, 34, NULL, 0, &count, packets));
  EQUAL(count, 3);
  WORKS(AudioFileClose(file));
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file));
  UInt64 found = 0;
  UInt32 size = sizeof found;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyAudioDataPacketCount, &size, &found));
  EQUAL(found, 3);
  WORKS(AudioFileClose(file));
  CFRelease(url);
  passed("counts");
}

// MARK: Packet tables

enum {
  Sound = 20000
};
static SInt16 sound[Sound];
static UInt32 given;

static OSStatus give(AudioConverterRef converter, UInt32 *packets, AudioBufferList *data,
                     AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter, (void)descriptions, (void)user;
  if (*packets > Sound - given) *packets = Sound - given;
  data->mBuffers[0].mData = sound + given;
  data->mBuffers[0].mDataByteSize = 2 * *packets;
  data->mBuffers[0].mNumberChannels = 1;
  given += *packets;
  return noErr;
}

static AudioFilePacketTableInfo table_of(AudioFileID file) {
  AudioFilePacketTableInfo table = {-1, -1, -1};
  UInt32 size = 0, writable = 2;
  WORKS(AudioFileGetPropertyInfo(file, kAudioFilePropertyPacketTableInfo, &size, &writable));
  CHECK(size == sizeof table && writable == 1);
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyPacketTableInfo, &size, &table));
  EQUAL(size, sizeof table);
  return table;
}

static void check_table(AudioFileID file, SInt64 valid, UInt32 priming, UInt32 remainder) {
  AudioFilePacketTableInfo table = table_of(file);
  EQUAL(table.mNumberValidFrames, valid);
  EQUAL(table.mPrimingFrames, priming);
  EQUAL(table.mRemainderFrames, remainder);
}

/// Encodes the sound into a file in the manner of a converter program. With `first`, it copies the
/// priming from its converter before the first packet; without, after the last one.
static void encode(const char *name, AudioFileTypeID type, bool first) {
  AudioStreamBasicDescription from = int16(44100, 1, 0);
  AudioStreamBasicDescription format = named(kAudioFormatMPEG4AAC, 44100, 1);
  AudioConverterRef made = NULL;
  WORKS(AudioConverterNew(&from, &format, &made));
  UInt32 size = sizeof format;
  WORKS(AudioConverterGetProperty(made, kAudioConverterCurrentOutputStreamDescription, &size,
                                  &format));
  CFURLRef url = url_of(name);
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, type, &format, kAudioFileFlags_EraseFile, &file));
  check_table(file, 0, 0, 0);

  UInt8 cookie[1000];
  size = sizeof cookie;
  WORKS(AudioConverterGetProperty(made, kAudioConverterCompressionMagicCookie, &size, cookie));
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, size, cookie));
  // The encoder's priming is known before it has encoded anything.
  AudioConverterPrimeInfo primed = {0, 0};
  size = sizeof primed;
  WORKS(AudioConverterGetProperty(made, kAudioConverterPrimeInfo, &size, &primed));
  CHECK(primed.leadingFrames > 0);
  if (first) {
    AudioFilePacketTableInfo table = {0, (SInt32)primed.leadingFrames, 0};
    WORKS(AudioFileSetProperty(file, kAudioFilePropertyPacketTableInfo, sizeof table, &table));
    check_table(file, 0, primed.leadingFrames, 0);
  }

  SInt64 packet = 0;
  given = 0;
  for (;;) {
    UInt8 bytes[2048];
    AudioStreamPacketDescription description;
    AudioBufferList list = {1, {{1, sizeof bytes, bytes}}};
    UInt32 count = 1;
    WORKS(AudioConverterFillComplexBuffer(made, give, NULL, &count, &list, &description));
    if (count == 0) break;
    WORKS(AudioFileWritePackets(file, false, list.mBuffers[0].mDataByteSize, &description, packet,
                                &count, bytes));
    packet++;
  }
  SInt64 total = packet * 1024;
  const UInt32 known = first ? primed.leadingFrames : 0;
  check_table(file, total - known, known, 0);

  size = sizeof primed;
  WORKS(AudioConverterGetProperty(made, kAudioConverterPrimeInfo, &size, &primed));
  AudioFilePacketTableInfo table = table_of(file);
  total = table.mNumberValidFrames + table.mPrimingFrames + table.mRemainderFrames;
  EQUAL(total, packet * 1024);
  table.mPrimingFrames = (SInt32)primed.leadingFrames;
  table.mRemainderFrames = (SInt32)primed.trailingFrames;
  table.mNumberValidFrames = total - table.mPrimingFrames - table.mRemainderFrames;
  EQUAL(table.mNumberValidFrames, Sound);
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyPacketTableInfo, sizeof table, &table));
  check_table(file, Sound, primed.leadingFrames, primed.trailingFrames);
  WORKS(AudioFileClose(file));
  WORKS(AudioConverterDispose(made));

  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file));
  size = sizeof table;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyPacketTableInfo, &size, &table));
  CHECK(table.mNumberValidFrames == Sound && table.mPrimingFrames == (SInt32)primed.leadingFrames &&
        table.mRemainderFrames == (SInt32)primed.trailingFrames);
  WORKS(AudioFileClose(file));
  CFRelease(url);
}

static void tables(void) {
  for (int i = 0; i < Sound; i++)
    sound[i] = (SInt16)(8000 * sin(i * 0.05));
  encode("first.m4a", kAudioFileM4AType, true);
  encode("last.m4a", kAudioFileM4AType, false);
  encode("first.caf", kAudioFileCAFType, true);
  encode("last.caf", kAudioFileCAFType, false);

  // Linear PCM has none: both functions say so.
  AudioStreamBasicDescription format = int16(44100, 1, 0);
  CFURLRef url = url_of("none.caf");
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileCAFType, &format, kAudioFileFlags_EraseFile, &file));
  AudioFilePacketTableInfo table;
  UInt32 size = sizeof table;
  GIVES(AudioFileGetPropertyInfo(file, kAudioFilePropertyPacketTableInfo, &size, NULL),
        kAudioFileUnsupportedPropertyError);
  size = sizeof table;
  GIVES(AudioFileGetProperty(file, kAudioFilePropertyPacketTableInfo, &size, &table),
        kAudioFileUnsupportedPropertyError);
  WORKS(AudioFileClose(file));
  CFRelease(url);
  passed("tables");
}

// MARK: A rate of 0

static AudioStreamBasicDescription format_of(ExtAudioFileRef file) {
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format));
  return format;
}

static void rates(void) {
  static const double all[] = {48000, 22050};
  static const char *names[] = {"rate.m4a", "rate.caf"};
  static SInt16 back[Sound + 10];
  for (int i = 0; i < 2; i++) {
    AudioFileTypeID type = i == 0 ? kAudioFileM4AType : kAudioFileCAFType;
    ExtAudioFileRef file =
        create(names[i], type, named(kAudioFormatMPEG4AAC, 0, 1), kAudioFileFlags_EraseFile);
    EQUAL(format_of(file).mSampleRate, 0);
    UInt32 bytes = 65536;
    WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_IOBufferSizeBytes, 4, &bytes));
    // The last client format before the first write counts.
    set_client(file, int16(32000, 1, 0));
    set_client(file, int16(all[i], 1, 0));
    EQUAL(format_of(file).mSampleRate, all[i]);
    UInt32 size = sizeof bytes;
    WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_IOBufferSizeBytes, &size, &bytes));
    EQUAL(bytes, 65536);
    write_some(file, sound, Sound, 1, 2);
    WORKS(ExtAudioFileDispose(file));
    file = open_file(names[i]);
    EQUAL(format_of(file).mSampleRate, all[i]);
    set_client(file, int16(all[i], 1, 0));
    EQUAL(length_of(file), Sound);
    EQUAL(read_all(file, back, Sound + 10, 1, 2), Sound);
    WORKS(ExtAudioFileDispose(file));
  }
  // A rate that is given stays.
  ExtAudioFileRef file = create("given.m4a", kAudioFileM4AType,
                                named(kAudioFormatMPEG4AAC, 44100, 1), kAudioFileFlags_EraseFile);
  set_client(file, int16(48000, 1, 0));
  EQUAL(format_of(file).mSampleRate, 44100);
  WORKS(ExtAudioFileDispose(file));
  // Without a client format nothing can be written. A rate that the codec lacks is refused.
  file = create("without.m4a", kAudioFileM4AType, named(kAudioFormatMPEG4AAC, 0, 1),
                kAudioFileFlags_EraseFile);
  AudioBufferList list = {1, {{1, 2, sound}}};
  GIVES(ExtAudioFileWrite(file, 1, &list), kExtAudioFileError_InvalidOperationOrder);
  AudioStreamBasicDescription odd = int16(12345, 1, 0);
  CHECK(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof odd, &odd) !=
        noErr);
  set_client(file, int16(44100, 1, 0));
  EQUAL(format_of(file).mSampleRate, 44100);
  WORKS(ExtAudioFileDispose(file));
  // Linear PCM needs its rate at once.
  AudioStreamBasicDescription none = int16(0, 1, 0);
  CFURLRef url = url_of("none.wav");
  GIVES(ExtAudioFileCreateWithURL(url, kAudioFileWAVEType, &none, NULL, kAudioFileFlags_EraseFile,
                                  &file),
        kAudioFileUnsupportedDataFormatError);
  CFRelease(url);
  passed("rates");
}

// MARK: Queues

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void queues(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  UInt32 on = 1;
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_EnableLevelMetering, &on, sizeof on));

  // As many meters as there is room for.
  AudioQueueLevelMeterState states[3] = {{9, 9}, {9, 9}, {9, 9}};
  UInt32 size = sizeof states[0];
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentLevelMeter, states, &size));
  CHECK(size == sizeof states[0] && states[0].mPeakPower == 0 && states[1].mPeakPower == 9);
  states[0].mPeakPower = 9;
  size = 2 * sizeof states[0] - 1;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentLevelMeterDB, states, &size));
  CHECK(size == sizeof states[0] && states[0].mPeakPower == -120 && states[1].mPeakPower == 9);
  size = sizeof states;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentLevelMeter, states, &size));
  CHECK(size == 2 * sizeof states[0] && states[1].mPeakPower == 0 && states[2].mPeakPower == 9);
  size = sizeof states[0] - 1;
  GIVES(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentLevelMeter, states, &size),
        kAudioQueueErr_InvalidPropertySize);

  // More than needed is fine. Less is an error that writes nothing.
  UInt32 running[2] = {7, 7};
  size = sizeof running;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_IsRunning, running, &size));
  CHECK(size == 4 && running[0] == 0 && running[1] == 7);
  CFStringRef uid = NULL;
  size = sizeof uid - 1;
  GIVES(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, &size),
        kAudioQueueErr_InvalidPropertySize);
  CHECK(size == sizeof uid - 1 && uid == NULL);

  // A value of four bytes is copied whole, whatever size the program passes or has never set.
  const AudioQueuePropertyID words[] = {
      kAudioQueueProperty_IsRunning,
      kAudioQueueDeviceProperty_NumberChannels,
      kAudioQueueProperty_MaximumOutputPacketSize,
      kAudioQueueProperty_EnableLevelMetering,
      kAudioQueueProperty_ConverterError,
      kAudioQueueProperty_EnableTimePitch,
      kAudioQueueProperty_DecodeBufferSizeFrames,
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    UInt32 right = 0;
    size = sizeof right;
    WORKS(AudioQueueGetProperty(queue, words[i], &right, &size));
    for (UInt32 given = 0; given <= 9; given++) {
      UInt32 value[2] = {~right, 7};
      size = given < 9 ? given : 0xFFFFFFFF;
      WORKS(AudioQueueGetProperty(queue, words[i], value, &size));
      CHECK(size == 4 && value[0] == right && value[1] == 7);
    }
  }
  // What a queue does not have has no size either.
  GIVES(AudioQueueGetPropertySize(queue, kAudioConverterEncodeBitRate, &size),
        kAudioQueueErr_InvalidQueueType);

  // A program that waits for the end and never sets its size comes to an end.
  UInt32 still = 7, unset = 0;
  int turns = 0;
  do
    AudioQueueGetProperty(queue, kAudioQueueProperty_IsRunning, &still, &unset);
  while (still && ++turns < 100);
  CHECK(turns == 0 && still == 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("queues");
}

static void no_property(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID property,
                        AudioFileStreamPropertyFlags *flags) {
  (void)data, (void)stream, (void)property, (void)flags;
}

static void no_packets(void *data, UInt32 bytes, UInt32 packets, const void *sound,
                       AudioStreamPacketDescription *descriptions) {
  (void)data, (void)bytes, (void)packets, (void)sound, (void)descriptions;
}

/// Makes a call that copies a value of `bytes` bytes to `value` with each size up to 8 more: too
/// little room is the error `code`, and nothing is written; more is fine.
#define SIZES(bytes, code, call)                                                                   \
  for (UInt32 given = 0; given <= (bytes) + 8; given++) {                                          \
    bool fits = given >= (bytes);                                                                  \
    memset(value, 0x77, sizeof value);                                                             \
    UInt32 size = given;                                                                           \
    GIVES(call, fits ? noErr : (code));                                                            \
    EQUAL(size, fits ? (bytes) : given);                                                           \
    for (UInt32 at = fits ? (bytes) : 0; at < sizeof value; at++)                                  \
      EQUAL(value[at], 0x77);                                                                      \
  }

static void others(void) {
  UInt8 value[100];
  AudioStreamBasicDescription format = int16(44100, 2, 0), target = float_format(48000, 2);
  CFURLRef url = url_of("sizes.wav");
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileWAVEType, &format, kAudioFileFlags_EraseFile, &file));
  SIZES(4, kAudioFileBadPropertySizeError,
        AudioFileGetProperty(file, kAudioFilePropertyFileFormat, &size, value));
  SIZES(8, kAudioFileBadPropertySizeError,
        AudioFileGetProperty(file, kAudioFilePropertyAudioDataPacketCount, &size, value));
  ExtAudioFileRef extended = NULL;
  WORKS(ExtAudioFileWrapAudioFileID(file, true, &extended));
  SIZES(4, kExtAudioFileError_InvalidPropertySize,
        ExtAudioFileGetProperty(extended, kExtAudioFileProperty_FileMaxPacketSize, &size, value));
  SIZES(40, kExtAudioFileError_InvalidPropertySize,
        ExtAudioFileGetProperty(extended, kExtAudioFileProperty_FileDataFormat, &size, value));
  // Linear PCM has no packet table, which cannot be set either.
  UInt32 bytes = 0;
  Boolean is_writable = false;
  GIVES(ExtAudioFileGetPropertyInfo(extended, kExtAudioFileProperty_PacketTable, &bytes,
                                    &is_writable),
        kExtAudioFileError_InvalidProperty);
  WORKS(ExtAudioFileDispose(extended));
  WORKS(AudioFileClose(file));
  CFRelease(url);

  AudioConverterRef converter = NULL;
  WORKS(AudioConverterNew(&format, &target, &converter));
  SIZES(4, kAudioConverterErr_BadPropertySizeError,
        AudioConverterGetProperty(converter, kAudioConverterSampleRateConverterQuality, &size,
                                  value));
  SIZES(40, kAudioConverterErr_BadPropertySizeError,
        AudioConverterGetProperty(converter, kAudioConverterCurrentInputStreamDescription, &size,
                                  value));
  // A layout can be set before there is one; the priming of an encoder cannot.
  WORKS(AudioConverterGetPropertyInfo(converter, kAudioConverterInputChannelLayout, &bytes,
                                      &is_writable));
  CHECK(bytes == 0 && is_writable);
  WORKS(AudioConverterGetPropertyInfo(converter, kAudioConverterPrimeInfo, &bytes, &is_writable));
  CHECK(bytes == sizeof(AudioConverterPrimeInfo) && is_writable);
  WORKS(AudioConverterDispose(converter));
  target = named(kAudioFormatMPEG4AAC, 44100, 2);
  WORKS(AudioConverterNew(&format, &target, &converter));
  WORKS(AudioConverterGetPropertyInfo(converter, kAudioConverterPrimeInfo, &bytes, &is_writable));
  CHECK(bytes == sizeof(AudioConverterPrimeInfo) && !is_writable);
  WORKS(AudioConverterDispose(converter));

  AudioFileStreamID stream = NULL;
  WORKS(AudioFileStreamOpen(NULL, no_property, no_packets, kAudioFileWAVEType, &stream));
  SIZES(4, kAudioFileStreamError_BadPropertySize,
        AudioFileStreamGetProperty(stream, kAudioFileStreamProperty_ReadyToProducePackets, &size,
                                   value));
  WORKS(AudioFileStreamClose(stream));

  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  SIZES(4, kAudioHardwareBadPropertySizeError,
        AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, value));
  AudioObjectID device = 0;
  bytes = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &bytes, &device));
  address.mSelector = kAudioDevicePropertyNominalSampleRate;
  SIZES(8, kAudioHardwareBadPropertySizeError,
        AudioObjectGetPropertyData(device, &address, 0, NULL, &size, value));

  // A unit copies what there is room for: one byte tells whether it runs.
  AudioComponentDescription output = {kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput,
                                      kAudioUnitManufacturer_Apple, 0, 0};
  AudioUnit unit = NULL;
  WORKS(AudioComponentInstanceNew(AudioComponentFindNext(NULL, &output), &unit));
  for (UInt32 given = 0; given <= 9; given++) {
    memset(value, 0x77, sizeof value);
    bytes = given;
    WORKS(AudioUnitGetProperty(unit, kAudioOutputUnitProperty_IsRunning, 0, 0, value, &bytes));
    EQUAL(bytes, given < 4 ? given : 4);
    for (UInt32 at = 0; at < 9; at++)
      EQUAL(value[at], at < bytes ? 0 : 0x77);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  WORKS(AudioHardwareUnload());
  passed("others");
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  lists();
  counts();
  tables();
  rates();
  queues();
  others();
  run("rm -r \"$PWD\"");
  return 0;
}
