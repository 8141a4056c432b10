// AudioFile as programs use it: files are created, written, read, changed and queried, by name and
// through callbacks in memory.
#include "soundfiles.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/// CFSTR accepts only ASCII here.
static CFStringRef umlauts(void) {
  static CFStringRef text;
  if (!text)
    text = CFStringCreateWithCString(NULL, "J\u00fcrgens zw\u00f6lf", kCFStringEncodingUTF8);
  return text;
}

static AudioStreamBasicDescription format(AudioFormatFlags flags, UInt32 bits, UInt32 channels) {
  AudioStreamBasicDescription format = {.mSampleRate = 48000,
                                        .mFormatID = kAudioFormatLinearPCM,
                                        .mFormatFlags = flags | kAudioFormatFlagIsPacked,
                                        .mBytesPerPacket = bits / 8 * channels,
                                        .mFramesPerPacket = 1,
                                        .mBytesPerFrame = bits / 8 * channels,
                                        .mChannelsPerFrame = channels,
                                        .mBitsPerChannel = bits,
                                        .mReserved = 0};
  return format;
}

static const AudioFormatFlags little = kAudioFormatFlagIsSignedInteger;
static const AudioFormatFlags big = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian;

static AudioFileID create(const char *name, AudioFileTypeID type,
                          AudioStreamBasicDescription description, AudioFileFlags flags) {
  CFURLRef url = url_of(name);
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, type, &description, flags, &file));
  CFRelease(url);
  return file;
}

static OSStatus try_open(const char *name, SInt8 permissions, AudioFileID *file) {
  CFURLRef url = url_of(name);
  OSStatus status = AudioFileOpenURL(url, permissions, 0, file);
  CFRelease(url);
  return status;
}

static AudioFileID open_file(const char *name, SInt8 permissions) {
  AudioFileID file = NULL;
  WORKS(try_open(name, permissions, &file));
  return file;
}

static UInt64 number64(AudioFileID file, AudioFilePropertyID property) {
  UInt64 value = 0;
  UInt32 size = sizeof value;
  WORKS(AudioFileGetProperty(file, property, &size, &value));
  EQUAL(size, sizeof value);
  return value;
}

static UInt32 number32(AudioFileID file, AudioFilePropertyID property) {
  UInt32 value = 0, size = sizeof value;
  WORKS(AudioFileGetProperty(file, property, &size, &value));
  EQUAL(size, sizeof value);
  return value;
}

static SInt16 samples[4000];

static void write_samples(AudioFileID file, SInt64 packet, UInt32 packets,
                          UInt32 bytes_per_packet) {
  UInt32 count = packets;
  WORKS(AudioFileWritePackets(file, false, packets * bytes_per_packet, NULL, packet, &count,
                              samples));
  EQUAL(count, packets);
}

// MARK: Writing and reading

static void check_kinds(void) {
  static const struct {
    AudioFileTypeID type;
    AudioFormatFlags flags;
  } kinds[] = {{kAudioFileAIFFType, big},      {kAudioFileAIFCType, little},
               {kAudioFileWAVEType, little},   {kAudioFileRF64Type, little},
               {kAudioFileCAFType, little},    {kAudioFileCAFType, big},
               {kAudioFileWave64Type, little}, {kAudioFileNextType, big}};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    AudioStreamBasicDescription wanted = format(kinds[kind].flags, 16, 2);
    AudioFileID file = create("kind", kinds[kind].type, wanted, kAudioFileFlags_EraseFile);
    // Written data can be read and overwritten at once.
    write_samples(file, 0, 1000, 4);
    UInt32 bytes = 6;
    WORKS(AudioFileWriteBytes(file, false, 2, &bytes, samples + 100));
    EQUAL(bytes, 6);
    EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 1000);
    WORKS(AudioFileClose(file));

    file = open_file("kind", fsRdPerm);
    EQUAL(number32(file, kAudioFilePropertyFileFormat), kinds[kind].type);
    AudioStreamBasicDescription got;
    UInt32 size = sizeof got;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &size, &got));
    CHECK(memcmp(&got, &wanted, sizeof got) == 0);
    EQUAL(number64(file, kAudioFilePropertyAudioDataByteCount), 4000);
    EQUAL(number64(file, kAudioFilePropertyDataOffset),
          kinds[kind].type == kAudioFileNextType ? 28 : 4096);
    SInt16 read[2000];
    UInt32 packets = 1000;
    bytes = sizeof read;
    WORKS(AudioFileReadPacketData(file, false, &bytes, NULL, 0, &packets, read));
    CHECK(packets == 1000 && bytes == 4000);
    CHECK(read[0] == samples[0] && memcmp(read + 1, samples + 100, 6) == 0);
    CHECK(memcmp(read + 4, samples + 4, 4000 - 8) == 0);
    // At the end there is nothing left, which is no error for packets.
    bytes = sizeof read;
    packets = 10;
    WORKS(AudioFileReadPacketData(file, false, &bytes, NULL, 1000, &packets, read));
    CHECK(packets == 0 && bytes == 0);
    bytes = 100;
    GIVES(AudioFileReadBytes(file, false, 3990, &bytes, read), kAudioFileEndOfFileError);
    EQUAL(bytes, 10);
    CHECK(memcmp(read, samples + 1995, 10) == 0);
    WORKS(AudioFileClose(file));
  }
}

static void check_going_on(void) {
  AudioFileID file = create("on\xE9.wav", kAudioFileWAVEType, format(little, 16, 1),
                            kAudioFileFlags_EraseFile | kAudioFileFlags_DontPageAlignAudioData);
  CHECK(number64(file, kAudioFilePropertyDataOffset) < 200);
  write_samples(file, 0, 100, 2);
  WORKS(AudioFileClose(file));
  file = open_file("on\xE9.wav", kAudioFileReadWritePermission);
  write_samples(file, 100, 100, 2);
  write_samples(file, 50, 10, 2);
  SInt16 read[200];
  UInt32 packets = 200, bytes = sizeof read;
  WORKS(AudioFileReadPackets(file, false, &bytes, NULL, 0, &packets, read));
  CHECK(packets == 200 && memcmp(read + 50, samples, 20) == 0 && memcmp(read, samples, 100) == 0);
  WORKS(AudioFileClose(file));

  // A write-only file, then a read-only one.
  file = open_file("on\xE9.wav", kAudioFileWritePermission);
  packets = 1;
  GIVES(AudioFileReadPackets(file, false, &bytes, NULL, 0, &packets, read),
        kAudioFilePermissionsError);
  write_samples(file, 200, 1, 2);
  WORKS(AudioFileClose(file));
  file = open_file("on\xE9.wav", kAudioFileReadPermission);
  EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 201);
  packets = 1;
  GIVES(AudioFileWritePackets(file, false, 2, NULL, 0, &packets, samples),
        kAudioFilePermissionsError);
  EQUAL(packets, 0);
  bytes = 2;
  GIVES(AudioFileWriteBytes(file, false, 0, &bytes, samples), kAudioFilePermissionsError);
  WORKS(AudioFileClose(file));
}

// MARK: Memory of the program's own

static void check_memory(void) {
  Memory memory = {.bytes = calloc(1, 100000), .size = 500, .room = 100000, .fault = noErr};
  AudioStreamBasicDescription description = format(big, 16, 2);
  AudioFileID file = NULL;
  WORKS(AudioFileInitializeWithCallbacks(&memory, memory_read, memory_write, memory_size,
                                         memory_set_size, kAudioFileAIFFType, &description, 0,
                                         &file));
  EQUAL(memory.size, 0);
  write_samples(file, 0, 1000, 4);
  WORKS(AudioFileClose(file));
  EQUAL(memory.size, 4096 + 4000);
  CHECK(memcmp(memory.bytes, "FORM", 4) == 0 && memcmp(memory.bytes + 8, "AIFF", 4) == 0);
  CHECK(memcmp(memory.bytes + 4096, samples, 4000) == 0);

  // Without write callbacks, it is read-only.
  WORKS(AudioFileOpenWithCallbacks(&memory, memory_read, NULL, memory_size, NULL, 0, &file));
  EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 1000);
  SInt16 read[20];
  UInt32 packets = 10, bytes = sizeof read;
  WORKS(AudioFileReadPacketData(file, false, &bytes, NULL, 500, &packets, read));
  CHECK(memcmp(read, samples + 1000, 40) == 0);
  GIVES(AudioFileWritePackets(file, false, 4, NULL, 0, &packets, samples),
        kAudioFilePermissionsError);
  // An error of the callbacks is returned unchanged.
  memory.fault = 1234;
  packets = 10;
  GIVES(AudioFileReadPackets(file, false, &bytes, NULL, 0, &packets, read), 1234);
  memory.fault = noErr;
  WORKS(AudioFileClose(file));

  // With little room, what fits is written.
  WORKS(AudioFileOpenWithCallbacks(&memory, memory_read, memory_write, memory_size, memory_set_size,
                                   0, &file));
  memory.room = memory.size + 1000;
  write_samples(file, 1000, 250, 4);
  packets = 100;
  GIVES(AudioFileWritePackets(file, false, 400, NULL, 1250, &packets, samples), dskFulErr);
  EQUAL(packets, 0);
  // A file without a name cannot be rewritten next to itself.
  memory.room = 100000;
  WORKS(AudioFileOptimize(file));
  WORKS(AudioFileSetUserData(file, 'test', 0, 8000, samples));
  GIVES(AudioFileOptimize(file), kAudioFileOperationNotSupportedError);
  WORKS(AudioFileClose(file));
  WORKS(AudioFileOpenWithCallbacks(&memory, memory_read, NULL, memory_size, NULL, 0, &file));
  EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 1250);
  WORKS(AudioFileClose(file));
  free(memory.bytes);
}

// MARK: Metadata

static void check_user_data(void) {
  static const AudioFileTypeID types[] = {kAudioFileAIFFType, kAudioFileWAVEType, kAudioFileCAFType,
                                          kAudioFileRF64Type, kAudioFileWave64Type};
  for (int kind = 0; kind < 5; kind++) {
    AudioFormatFlags flags = types[kind] == kAudioFileAIFFType ? big : little;
    AudioFileID file = create("data", types[kind], format(flags, 16, 1), kAudioFileFlags_EraseFile);
    UInt32 count = 9, size = 9;
    char got[10000];
    WORKS(AudioFileCountUserData(file, 'test', &count));
    EQUAL(count, 0);
    GIVES(AudioFileGetUserDataSize(file, 'test', 0, &size), kAudioFileInvalidChunkError);
    GIVES(AudioFileSetUserData(file, 'test', 1, 3, "abc"), kAudioFileInvalidChunkError);
    // Before and after the audio data is written; one chunk is too large for the room before the
    // data.
    WORKS(AudioFileSetUserData(file, 'test', 0, 3, "abc"));
    write_samples(file, 0, 101, 2);
    WORKS(AudioFileSetUserData(file, 'test', 1, 5, "defgh"));
    WORKS(AudioFileSetUserData(file, 'test', 2, 8000, samples));
    EQUAL(number32(file, kAudioFilePropertyIsOptimized), 0);
    write_samples(file, 101, 100, 2);
    WORKS(AudioFileClose(file));

    for (int round = 0; round < 2; round++) {
      file = open_file("data", kAudioFileReadWritePermission);
      WORKS(AudioFileCountUserData(file, 'test', &count));
      EQUAL(count, 3);
      WORKS(AudioFileGetUserDataSize(file, 'test', 1, &size));
      EQUAL(size, 5);
      size = sizeof got;
      WORKS(AudioFileGetUserData(file, 'test', 1, &size, got));
      CHECK(size == 5 && memcmp(got, "defgh", 5) == 0);
      size = sizeof got;
      WORKS(AudioFileGetUserData(file, 'test', 2, &size, got));
      CHECK(size == 8000 && memcmp(got, samples, 8000) == 0);
      size = 2;
      WORKS(AudioFileGetUserData(file, 'test', 0, &size, got));
      CHECK(size == 2 && memcmp(got, "ab", 2) == 0);
      GIVES(AudioFileGetUserData(file, 'test', 3, &size, got), kAudioFileInvalidChunkError);
      EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 201);
      UInt32 packets = 201, bytes = 0;
      WORKS(AudioFileReadPackets(file, false, &bytes, NULL, 0, &packets, got));
      CHECK(memcmp(got, samples, 202) == 0 && memcmp(got + 202, samples, 200) == 0);
      if (round == 0) {
        WORKS(AudioFileOptimize(file));
      }
      EQUAL(number32(file, kAudioFilePropertyIsOptimized), 1);
      WORKS(AudioFileClose(file));
    }

    file = open_file("data", kAudioFileReadWritePermission);
    WORKS(AudioFileRemoveUserData(file, 'test', 0));
    GIVES(AudioFileRemoveUserData(file, 'test', 2), kAudioFileInvalidChunkError);
    WORKS(AudioFileSetUserData(file, 'test', 0, 5, "12345"));
    UInt32 ids[20];
    size = sizeof ids;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyChunkIDs, &size, ids));
    UInt32 tests = 0;
    for (UInt32 i = 0; i < size / 4; i++)
      tests += ids[i] == 'test';
    EQUAL(tests, 2);
    WORKS(AudioFileClose(file));
    file = open_file("data", kAudioFileReadPermission);
    size = sizeof got;
    WORKS(AudioFileGetUserData(file, 'test', 0, &size, got));
    CHECK(size == 5 && memcmp(got, "12345", 5) == 0);
    EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 201);
    GIVES(AudioFileSetUserData(file, 'test', 0, 1, "x"), kAudioFilePermissionsError);
    WORKS(AudioFileClose(file));
  }
  // The chunks of the audio data are not user data, and AU files have no chunks.
  AudioFileID file = open_file("data", kAudioFileReadWritePermission);
  GIVES(AudioFileSetUserData(file, 'data', 0, 1, "x"), kAudioFileOperationNotSupportedError);
  GIVES(AudioFileRemoveUserData(file, 'fmt ', 0), kAudioFileOperationNotSupportedError);
  WORKS(AudioFileClose(file));
  file = create("data", kAudioFileNextType, format(big, 16, 1), kAudioFileFlags_EraseFile);
  GIVES(AudioFileSetUserData(file, 'test', 0, 1, "x"), kAudioFileOperationNotSupportedError);
  WORKS(AudioFileClose(file));
}

static void check_markers(void) {
  static const AudioFileTypeID types[] = {kAudioFileCAFType, kAudioFileWAVEType,
                                          kAudioFileAIFFType};
  for (int kind = 0; kind < 3; kind++) {
    AudioFormatFlags flags = types[kind] == kAudioFileAIFFType ? big : little;
    AudioFileID file =
        create("marks", types[kind], format(flags, 16, 1), kAudioFileFlags_EraseFile);
    write_samples(file, 0, 1000, 2);
    size_t bytes = NumAudioFileMarkersToNumBytes(2);
    EQUAL(NumBytesToNumAudioFileMarkers(bytes), 2);
    AudioFileMarkerList *list = calloc(1, bytes);
    list->mNumberMarkers = 2;
    list->mMarkers[0].mFramePosition = 10;
    list->mMarkers[0].mMarkerID = 1;
    list->mMarkers[0].mName = CFSTR("erster");
    list->mMarkers[1].mFramePosition = 500;
    list->mMarkers[1].mMarkerID = 2;
    list->mMarkers[1].mName = umlauts();
    WORKS(AudioFileSetProperty(file, kAudioFilePropertyMarkerList, (UInt32)bytes, list));
    GIVES(AudioFileSetProperty(file, kAudioFilePropertyMarkerList, (UInt32)bytes - 1, list),
          kAudioFileBadPropertySizeError);
    free(list);

    union {
      AudioFileRegionList list;
      char bytes[8 + 2 * sizeof(AudioFileRegion) + 2 * sizeof(AudioFileMarker)];
    } regions;
    memset(&regions, 0, sizeof regions);
    regions.list.mNumberRegions = 2;
    AudioFileRegion *region = regions.list.mRegions;
    for (int i = 0; i < 2; i++) {
      region->mRegionID = (UInt32)(7 + i);
      region->mName = i == 0 ? CFSTR("loop") : CFSTR("verse");
      region->mFlags =
          i == 0 ? kAudioFileRegionFlag_LoopEnable | kAudioFileRegionFlag_PlayForward : 0;
      region->mNumberMarkers = 2;
      region->mMarkers[0].mFramePosition = 100 + i;
      region->mMarkers[1].mFramePosition = 200 + i;
      region->mMarkers[0].mMarkerID = region->mMarkers[1].mMarkerID = 7 + i;
      region = NextAudioFileRegion(region);
    }
    UInt32 size = 0, writable = 9;
    OSStatus none = types[kind] == kAudioFileAIFFType ? kAudioFileUnsupportedPropertyError : noErr;
    GIVES(AudioFileSetProperty(file, kAudioFilePropertyRegionList, sizeof regions, &regions), none);
    WORKS(AudioFileClose(file));

    file = open_file("marks", kAudioFileReadPermission);
    WORKS(AudioFileGetPropertyInfo(file, kAudioFilePropertyMarkerList, &size, &writable));
    CHECK(size == bytes && writable == 0);
    list = malloc(size);
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyMarkerList, &size, list));
    EQUAL(list->mNumberMarkers, 2);
    EQUAL(list->mMarkers[0].mFramePosition, 10);
    EQUAL(list->mMarkers[1].mFramePosition, 500);
    EQUAL(list->mMarkers[1].mMarkerID, 2);
    CHECK(CFEqual(list->mMarkers[0].mName, CFSTR("erster")));
    CHECK(CFEqual(list->mMarkers[1].mName, umlauts()));
    for (int i = 0; i < 2; i++)
      CFRelease(list->mMarkers[i].mName);
    free(list);
    if (none == noErr) {
      WORKS(AudioFileGetPropertyInfo(file, kAudioFilePropertyRegionList, &size, NULL));
      EQUAL(size, sizeof regions);
      WORKS(AudioFileGetProperty(file, kAudioFilePropertyRegionList, &size, &regions));
      EQUAL(regions.list.mNumberRegions, 2);
      AudioFileRegion *region = regions.list.mRegions;
      int loops = 0;
      for (int i = 0; i < 2; i++) {
        int isLoop = (region->mFlags & kAudioFileRegionFlag_LoopEnable) != 0;
        loops += isLoop;
        EQUAL(region->mNumberMarkers, 2);
        EQUAL(region->mMarkers[0].mFramePosition, isLoop ? 100 : 101);
        EQUAL(region->mMarkers[1].mFramePosition, isLoop ? 200 : 201);
        EQUAL(region->mRegionID, isLoop ? 7 : 8);
        CHECK(CFEqual(region->mName, isLoop ? CFSTR("loop") : CFSTR("verse")));
        CFRelease(region->mName);
        for (UInt32 m = 0; m < 2; m++)
          if (region->mMarkers[m].mName) CFRelease(region->mMarkers[m].mName);
        region = NextAudioFileRegion(region);
      }
      EQUAL(loops, 1);
    }
    WORKS(AudioFileClose(file));
  }
}

static void check_info(void) {
  static const AudioFileTypeID types[] = {kAudioFileCAFType, kAudioFileWAVEType,
                                          kAudioFileAIFFType};
  for (int kind = 0; kind < 3; kind++) {
    AudioFormatFlags flags = types[kind] == kAudioFileAIFFType ? big : little;
    AudioFileID file = create("info", types[kind], format(flags, 16, 1), kAudioFileFlags_EraseFile);
    write_samples(file, 0, 480, 2);
    CFMutableDictionaryRef info = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks,
                                                            &kCFTypeDictionaryValueCallBacks);
    CFDictionarySetValue(info, CFSTR(kAFInfoDictionary_Title), CFSTR("Lied"));
    CFDictionarySetValue(info, CFSTR(kAFInfoDictionary_Artist), umlauts());
    WORKS(AudioFileSetProperty(file, kAudioFilePropertyInfoDictionary, sizeof info, &info));
    CFRelease(info);
    WORKS(AudioFileClose(file));
    file = open_file("info", kAudioFileReadPermission);
    CFDictionaryRef got = NULL;
    UInt32 size = sizeof got;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyInfoDictionary, &size, &got));
    CHECK(CFEqual(CFDictionaryGetValue(got, CFSTR("title")), CFSTR("Lied")));
    CHECK(CFEqual(CFDictionaryGetValue(got, CFSTR("artist")), umlauts()));
    CHECK(CFEqual(CFDictionaryGetValue(got, CFSTR("approximate duration in seconds")),
                  CFSTR("0.01")));
    CFRelease(got);
    CFStringRef name = NULL;
    size = sizeof name;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyDataFormatName, &size, &name));
    CHECK(CFStringGetLength(name) > 10);
    CFRelease(name);
    WORKS(AudioFileClose(file));
  }
}

static void check_properties(void) {
  AudioFileID file =
      create("props.wav", kAudioFileWAVEType, format(little, 24, 6), kAudioFileFlags_EraseFile);
  // The layout can be set before and after the first samples.
  AudioChannelLayout layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_A};
  UInt32 size = 0, writable = 0;
  WORKS(AudioFileGetPropertyInfo(file, kAudioFilePropertyChannelLayout, &size, &writable));
  CHECK(size == 0 && writable == 1);
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyChannelLayout, sizeof layout, &layout));
  write_samples(file, 0, 100, 18);
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyChannelLayout, sizeof layout, &layout));
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo;
  GIVES(AudioFileSetProperty(file, kAudioFilePropertyChannelLayout, sizeof layout, &layout),
        kAudio_ParamError);
  UInt32 defers = number32(file, kAudioFilePropertyDeferSizeUpdates);
  EQUAL(defers, 1);
  defers = 0;
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyDeferSizeUpdates, 4, &defers));
  EQUAL(number32(file, kAudioFilePropertyDeferSizeUpdates), 0);
  GIVES(AudioFileSetProperty(file, kAudioFilePropertyBitRate, 4, &defers),
        kAudioFileOperationNotSupportedError);
  GIVES(AudioFileSetProperty(file, 'nope', 4, &defers), kAudioFileUnsupportedPropertyError);
  GIVES(AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, 4, &defers),
        kAudioFileUnsupportedPropertyError);
  WORKS(AudioFileClose(file));

  file = open_file("props.wav", kAudioFileReadPermission);
  size = sizeof layout;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyChannelLayout, &size, &layout));
  EQUAL(layout.mChannelLayoutTag, kAudioChannelLayoutTag_MPEG_5_1_A);
  EQUAL(number32(file, kAudioFilePropertyMaximumPacketSize), 18);
  EQUAL(number32(file, kAudioFilePropertyPacketSizeUpperBound), 18);
  EQUAL(number32(file, kAudioFilePropertyBitRate), 48000 * 6 * 24);
  EQUAL((SInt32)number32(file, kAudioFilePropertySourceBitDepth), 24);
  EQUAL(number32(file, kAudioFilePropertyAudioTrackCount), 1);
  EQUAL(number32(file, kAudioFilePropertyUseAudioTrack), 0);
  EQUAL(number32(file, kAudioFilePropertyRestrictsRandomAccess), 0);
  AudioFormatListItem item;
  size = sizeof item;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyFormatList, &size, &item));
  CHECK(size == sizeof item && item.mASBD.mBitsPerChannel == 24);
  EQUAL(item.mChannelLayoutTag, kAudioChannelLayoutTag_MPEG_5_1_A);
  AudioFramePacketTranslation frames = {.mFrame = 30};
  size = sizeof frames;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyFrameToPacket, &size, &frames));
  CHECK(frames.mPacket == 30 && frames.mFrameOffsetInPacket == 0);
  AudioBytePacketTranslation bytes = {.mByte = 40};
  size = sizeof bytes;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyByteToPacket, &size, &bytes));
  CHECK(bytes.mPacket == 2 && bytes.mByteOffsetInPacket == 4 && bytes.mFlags == 0);
  bytes.mPacket = 7;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyPacketToByte, &size, &bytes));
  EQUAL(bytes.mByte, 126);
  GIVES(AudioFileSetProperty(file, kAudioFilePropertyDeferSizeUpdates, 4, &defers),
        kAudioFilePermissionsError);
  WORKS(AudioFileClose(file));
}

static void check_global_info(void) {
  UInt32 types[40], size = sizeof types, found = 0;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_WritableTypes, 0, NULL, &size, types));
  for (UInt32 i = 0; i < size / 4; i++)
    found += types[i] == kAudioFileAIFFType || types[i] == kAudioFileWAVEType;
  EQUAL(found, 2);
  UInt32 readable = 0;
  WORKS(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &readable));
  CHECK(readable >= size);
  CFStringRef text = CFSTR("wav");
  size = sizeof types;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_TypesForExtension, sizeof text, &text, &size,
                               types));
  CHECK(size >= 4 && types[0] == kAudioFileWAVEType);
  text = CFSTR("public.aiff-audio");
  size = sizeof types;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_TypesForUTI, sizeof text, &text, &size, types));
  CHECK(size == 4 && types[0] == kAudioFileAIFFType);
  text = CFSTR("audio/x-caf");
  size = sizeof types;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_TypesForMIMEType, sizeof text, &text, &size,
                               types));
  CHECK(size == 4 && types[0] == kAudioFileCAFType);
  AudioFileTypeID type = kAudioFileAIFFType;
  CFArrayRef names = NULL;
  size = sizeof names;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ExtensionsForType, 4, &type, &size, &names));
  CHECK(CFArrayGetCount(names) == 2 && CFEqual(CFArrayGetValueAtIndex(names, 0), CFSTR("aiff")));
  CFRelease(names);
  size = sizeof names;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_AllMIMETypes, 0, NULL, &size, &names));
  CHECK(CFArrayGetCount(names) > 20);
  CFRelease(names);
  size = sizeof text;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_FileTypeName, 4, &type, &size, &text));
  CHECK(CFEqual(text, CFSTR("AIFF")));
  CFRelease(text);
  AudioFileTypeAndFormatID both = {kAudioFileAIFFType, kAudioFormatLinearPCM};
  AudioStreamBasicDescription formats[20];
  size = sizeof formats;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat,
                               sizeof both, &both, &size, formats));
  EQUAL(size / sizeof *formats, 4);
  CHECK(formats[0].mBitsPerChannel == 16 && formats[0].mSampleRate == 0);
  CHECK(formats[0].mFormatFlags == (big | kAudioFormatFlagIsPacked));
  both.mFormatID = kAudioFormatMPEG4AAC;
  GIVES(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat,
                                   sizeof both, &both, &size),
        kAudioFileUnsupportedDataFormatError);
  size = 3;
  GIVES(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size, types),
        kAudioFileBadPropertySizeError);
  type = 'nope';
  GIVES(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_FileTypeName, 4, &type, &size),
        kAudioFileUnsupportedFileTypeError);
  GIVES(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_FileTypeName, 3, &type, &size),
        kAudio_ParamError);
  GIVES(AudioFileGetGlobalInfoSize('nope', 0, NULL, &size), kAudioFileUnsupportedPropertyError);
}

// MARK: Errors

static void check_mistakes(void) {
  AudioFileID file = NULL;
  AudioStreamBasicDescription description = format(little, 16, 2);
  CFURLRef url = url_of("a.wav");
  WORKS(AudioFileCreateWithURL(url, kAudioFileWAVEType, &description, 0, &file));
  WORKS(AudioFileClose(file));
  // An existing file is left untouched.
  GIVES(AudioFileCreateWithURL(url, kAudioFileWAVEType, &description, 0, &file),
        kAudioFilePermissionsError);
  CHECK(file == NULL);
  GIVES(AudioFileCreateWithURL(url, 'nope', &description, kAudioFileFlags_EraseFile, &file),
        kAudioFileUnsupportedFileTypeError);
  // AIFF has only big-endian samples. A WAVE file that is impossible is neither created nor
  // emptied.
  GIVES(AudioFileCreateWithURL(url, kAudioFileAIFFType, &description, kAudioFileFlags_EraseFile,
                               &file),
        kAudioFileUnsupportedDataFormatError);
  description.mBitsPerChannel = 13;
  GIVES(AudioFileCreateWithURL(url, kAudioFileWAVEType, &description, kAudioFileFlags_EraseFile,
                               &file),
        kAudioFileUnsupportedDataFormatError);
  GIVES(AudioFileOpenURL(url, 4, 0, &file), kAudio_ParamError);
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, kAudioFileWAVEType, &file));
  UInt32 count = 1;
  SInt16 sample[2];
  GIVES(AudioFileReadBytes(file, false, -1, &count, sample), kAudioFilePositionError);
  GIVES(AudioFileSetUserData(file, 'test', 0, 0, sample), kAudioFilePermissionsError);
  WORKS(AudioFileClose(file));
  GIVES(AudioFileClose(file), kAudioFileNotOpenError);
  GIVES(AudioFileOptimize(file), kAudioFileNotOpenError);
  CFRelease(url);
  url = url_of("none/a.wav");
  description = format(little, 16, 2);
  GIVES(AudioFileCreateWithURL(url, kAudioFileWAVEType, &description, 0, &file),
        kAudioFileUnspecifiedError);
  CFRelease(url);
  // Exceeds the maximum size of an AIFF file.
  file = create("a.aiff", kAudioFileAIFFType, format(big, 16, 2), kAudioFileFlags_EraseFile);
  count = 1;
  GIVES(AudioFileWritePackets(file, false, 4, NULL, 1 << 30, &count, samples),
        kAudioFileDoesNotAllow64BitDataSizeError);
  GIVES(AudioFileWritePackets(file, false, 3, NULL, 0, &count, samples), noErr);
  EQUAL(count, 0);
  count = 1;
  // The number of packets counts, not that of bytes.
  WORKS(AudioFileWritePackets(file, false, 3, NULL, 0, &count, samples));
  EQUAL(count, 1);
  count = 1;
  GIVES(AudioFileWritePackets(file, false, 4, NULL, 0, &count, NULL), kAudio_ParamError);
  WORKS(AudioFileClose(file));
}

// MARK: A program that is killed

static void check_kill(void) {
  int ready[2];
  CHECK(pipe(ready) == 0);
  pid_t child = fork();
  if (child == 0) {
    AudioFileID file =
        create("killed.wav", kAudioFileWAVEType, format(little, 16, 1), kAudioFileFlags_EraseFile);
    for (SInt64 packet = 0; packet < 4 * 48000; packet += 4000)
      write_samples(file, packet, 4000, 2);
    CHECK(write(ready[1], "x", 1) == 1);
    for (;;)
      pause();
  }
  char byte;
  CHECK(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  AudioFileID file = open_file("killed.wav", kAudioFileReadPermission);
  EQUAL(number64(file, kAudioFilePropertyAudioDataPacketCount), 4 * 48000);
  WORKS(AudioFileClose(file));
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  for (int i = 0; i < 4000; i++)
    samples[i] = (SInt16)(i * 7919);
  check_kinds();
  puts("ok every kind of file");
  check_going_on();
  puts("ok going on with a file");
  check_memory();
  puts("ok a file in memory");
  check_user_data();
  puts("ok user data");
  check_markers();
  puts("ok markers and regions");
  check_info();
  puts("ok an info dictionary");
  check_properties();
  puts("ok properties");
  check_global_info();
  puts("ok global info");
  check_mistakes();
  puts("ok mistakes");
  check_kill();
  puts("ok a program that is killed");
  static const char *const names[] = {"kind",      "on\xE9.wav", "data",   "marks",     "info",
                                      "props.wav", "a.wav",      "a.aiff", "killed.wav"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    unlink(path_of(names[i]));
  CHECK(rmdir(folder) == 0);
  return 0;
}
