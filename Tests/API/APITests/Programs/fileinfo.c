// Properties of files and global information about file types.
#include "soundfiles.h"

static AudioFileID open_named(const char *name) {
  CFURLRef url = url_of(name);
  AudioFileID file = NULL;
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file));
  CFRelease(url);
  return file;
}

static void format_lists(void) {
  // AAC-LC at 22,050 Hz with spectral band replication to 44,100 Hz, which old decoders ignore.
  static const UInt8 config[] = {0x13, 0x90, 0x56, 0xE5, 0xA0};
  AudioStreamBasicDescription format = named(kAudioFormatMPEG4AAC_HE, 44100, 2);
  AudioFileID file = NULL;
  CFURLRef url = url_of("he.caf");
  WORKS(AudioFileCreateWithURL(url, kAudioFileCAFType, &format, 0, &file));
  CFRelease(url);
  WORKS(AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, sizeof config, config));
  char packet[100] = {0};
  AudioStreamPacketDescription description = {0, 0, sizeof packet};
  UInt32 count = 1;
  WORKS(AudioFileWritePackets(file, false, sizeof packet, &description, 0, &count, packet));
  WORKS(AudioFileClose(file));

  file = open_named("he.caf");
  AudioFormatListItem items[4];
  UInt32 size = 0;
  WORKS(AudioFileGetPropertyInfo(file, kAudioFilePropertyFormatList, &size, NULL));
  EQUAL(size, 2 * sizeof *items);
  size = sizeof items;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyFormatList, &size, items));
  EQUAL(size, 2 * sizeof *items);
  CHECK(items[0].mASBD.mFormatID == kAudioFormatMPEG4AAC_HE && items[0].mASBD.mSampleRate == 44100);
  CHECK(items[1].mASBD.mFormatID == kAudioFormatMPEG4AAC && items[1].mASBD.mSampleRate == 22050);
  EQUAL(items[0].mChannelLayoutTag, kAudioChannelLayoutTag_Stereo);
  WORKS(AudioFileClose(file));

  format = int16(RATE, 2, 0);
  url = url_of("plain.wav");
  WORKS(AudioFileCreateWithURL(url, kAudioFileWAVEType, &format, 0, &file));
  CFRelease(url);
  UInt32 bytes = sizeof packet;
  WORKS(AudioFileWriteBytes(file, false, 0, &bytes, packet));
  size = sizeof items;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyFormatList, &size, items));
  EQUAL(size, sizeof *items);
  EQUAL(items[0].mASBD.mFormatID, kAudioFormatLinearPCM);
  WORKS(AudioFileClose(file));
  passed("format lists");
}

static void independent_packets(void) {
  AudioFileID file = open_named("plain.wav");
  AudioIndependentPacketTranslation translation = {.mPacket = 3,
                                                   .mIndependentlyDecodablePacket = 0};
  UInt32 size = sizeof translation;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyNextIndependentPacket, &size, &translation));
  CHECK(size == sizeof translation && translation.mPacket == 3 &&
        translation.mIndependentlyDecodablePacket == 4);
  // 25 packets: none follows the last.
  translation.mPacket = 24;
  WORKS(AudioFileGetProperty(file, kAudioFilePropertyNextIndependentPacket, &size, &translation));
  EQUAL(translation.mIndependentlyDecodablePacket, -1);
  translation.mPacket = -1;
  GIVES(AudioFileGetProperty(file, kAudioFilePropertyNextIndependentPacket, &size, &translation),
        kAudioFilePositionError);
  size = sizeof translation - 1;
  GIVES(AudioFileGetProperty(file, kAudioFilePropertyNextIndependentPacket, &size, &translation),
        kAudioFileBadPropertySizeError);
  WORKS(AudioFileClose(file));
  passed("independent packets");
}

static void artwork(void) {
  run("ffmpeg -v error -y -f lavfi -i color=red:s=8x8 -frames:v 1 cover.png"
      " && ffmpeg -v error -y -f lavfi -i sine -t 1 plain.mp3"
      " && for kind in mp3 m4a flac; do"
      " ffmpeg -v error -y -f lavfi -i sine -i cover.png -t 1 -map 0 -map 1 -c:v copy"
      " -disposition:v attached_pic cover.$kind; done");
  UInt8 expected[2000];
  FILE *cover = fopen(path_of("cover.png"), "rb");
  CHECK(cover != NULL);
  size_t bytes = fread(expected, 1, sizeof expected, cover);
  fclose(cover);
  CHECK(bytes > 50 && bytes < sizeof expected);
  static const char *const names[] = {"cover.mp3", "cover.m4a", "cover.flac"};
  for (int i = 0; i < 3; i++) {
    AudioFileID file = open_named(names[i]);
    CFDataRef data = NULL;
    UInt32 size = sizeof data;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyAlbumArtwork, &size, &data));
    EQUAL(CFDataGetLength(data), bytes);
    CHECK(memcmp(CFDataGetBytePtr(data), expected, bytes) == 0);
    CFRelease(data);
    // The audio data is unchanged.
    UInt64 packets = 0;
    size = sizeof packets;
    WORKS(AudioFileGetProperty(file, kAudioFilePropertyAudioDataPacketCount, &size, &packets));
    CHECK(packets > 5);
    WORKS(AudioFileClose(file));
  }
  AudioFileID file = open_named("plain.mp3");
  CFDataRef data = NULL;
  UInt32 size = sizeof data;
  GIVES(AudioFileGetProperty(file, kAudioFilePropertyAlbumArtwork, &size, &data),
        kAudioFileUnsupportedPropertyError);
  WORKS(AudioFileClose(file));
  passed("artwork");
}

static bool contains(const UInt32 *values, UInt32 bytes, UInt32 value) {
  for (UInt32 i = 0; i < bytes / sizeof value; i++)
    if (values[i] == value) return true;
  return false;
}

static void kinds_of_files(void) {
  UInt32 values[100], size = sizeof values;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_AllHFSTypeCodes, 0, NULL, &size, values));
  CHECK(contains(values, size, 'AIFF') && contains(values, size, 'WAVE'));
  CHECK(contains(values, size, 'caff') && contains(values, size, 'M4A '));
  AudioFileTypeID type = kAudioFileMP3Type;
  size = sizeof values;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_HFSTypeCodesForType, sizeof type, &type, &size,
                               values));
  CHECK(contains(values, size, 'MPG3') && contains(values, size, 'mp3!') == false);
  UInt32 code = 'ULAW';
  size = sizeof values;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_TypesForHFSTypeCode, sizeof code, &code, &size,
                               values));
  CHECK(size == 4 && values[0] == kAudioFileNextType);

  // A known type that can be neither read nor written.
  size = sizeof values;
  WORKS(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size, values));
  CHECK(!contains(values, size, kAudioFileSoundDesigner2Type));
  CFURLRef url = url_of("none.sd2");
  AudioFileID file = NULL;
  AudioStreamBasicDescription format = int16(RATE, 2, 0);
  GIVES(AudioFileCreateWithURL(url, kAudioFileSoundDesigner2Type, &format, 0, &file),
        kAudioFileUnsupportedFileTypeError);
  CFRelease(url);
  passed("kinds of files");
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  format_lists();
  independent_packets();
  artwork();
  kinds_of_files();
  run("rm -r \"$PWD\"");
  return 0;
}
