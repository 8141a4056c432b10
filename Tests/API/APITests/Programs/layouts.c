// Channel layouts in files and conversions: they are written and read, and channels go to the right
// place.
#include "extaudiofile.h"

/// A frame of six channels: left, right, centre, LFE, left and right surround.
static const SInt16 in_file[6] = {1000, 2000, 3000, 4000, 5000, 6000};
/// The same frame in the order of kAudioChannelLayoutTag_MPEG_5_1_D.
static const SInt16 in_client[6] = {3000, 1000, 2000, 5000, 6000, 4000};

static AudioChannelLayout layout_of(AudioChannelLayoutTag tag) {
  AudioChannelLayout layout;
  memset(&layout, 0, sizeof layout);
  layout.mChannelLayoutTag = tag;
  return layout;
}

static ExtAudioFileRef create_with(const char *name, AudioFileTypeID type, AudioFormatFlags flags,
                                   AudioChannelLayoutTag tag, OSStatus expected) {
  AudioStreamBasicDescription format = int16(RATE, 6, flags);
  AudioChannelLayout layout = layout_of(tag);
  CFURLRef url = url_of(name);
  ExtAudioFileRef file = NULL;
  GIVES(ExtAudioFileCreateWithURL(url, type, &format, &layout, kAudioFileFlags_EraseFile, &file),
        expected);
  CFRelease(url);
  return file;
}

static OSStatus set_layout(ExtAudioFileRef file, ExtAudioFilePropertyID id,
                           AudioChannelLayoutTag tag) {
  AudioChannelLayout layout = layout_of(tag);
  return ExtAudioFileSetProperty(file, id, sizeof layout, &layout);
}

/// Returns the tag of a layout, whether given as a tag or as descriptions.
static AudioChannelLayoutTag tag_of(const void *layout, UInt32 size) {
  AudioChannelLayoutTag tag = 0;
  UInt32 bytes = sizeof tag;
  WORKS(
      AudioFormatGetProperty(kAudioFormatProperty_TagForChannelLayout, size, layout, &bytes, &tag));
  return tag;
}

static AudioChannelLayoutTag get_layout(ExtAudioFileRef file, ExtAudioFilePropertyID id) {
  char bytes[1000];
  UInt32 size = sizeof bytes;
  WORKS(ExtAudioFileGetProperty(file, id, &size, bytes));
  return tag_of(bytes, size);
}

static void write_frame(ExtAudioFileRef file, const SInt16 *frame) {
  write_some(file, frame, 1, 6, 12);
}

static void expect_frame(ExtAudioFileRef file, const SInt16 *expected, UInt32 channels) {
  SInt16 frame[6] = {0};
  EQUAL(read_some(file, frame, 1, channels, 2 * channels), 1);
  for (UInt32 i = 0; i < channels; i++)
    EQUAL(frame[i], expected[i]);
}

static const struct {
  const char *name;
  AudioFileTypeID type;
  AudioFormatFlags flags;
} kinds[] = {{"six.caf", kAudioFileCAFType, 0},
             {"six.wav", kAudioFileWAVEType, 0},
             {"six.aiff", kAudioFileAIFFType, kAudioFormatFlagIsBigEndian}};

static void new_files(void) {
  for (int k = 0; k < 3; k++) {
    ExtAudioFileRef file = create_with(kinds[k].name, kinds[k].type, kinds[k].flags,
                                       kAudioChannelLayoutTag_MPEG_5_1_A, noErr);
    // Without a client layout, the client has the file's layout.
    EQUAL(get_layout(file, kExtAudioFileProperty_FileChannelLayout),
          kAudioChannelLayoutTag_MPEG_5_1_A);
    EQUAL(get_layout(file, kExtAudioFileProperty_ClientChannelLayout),
          kAudioChannelLayoutTag_MPEG_5_1_A);
    set_client(file, int16(RATE, 6, 0));
    write_frame(file, in_file);
    WORKS(ExtAudioFileDispose(file));

    CFURLRef url = url_of(kinds[k].name);
    AudioFileID id = NULL;
    char bytes[1000];
    UInt32 size = sizeof bytes;
    WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &id));
    CFRelease(url);
    WORKS(AudioFileGetProperty(id, kAudioFilePropertyChannelLayout, &size, bytes));
    EQUAL(tag_of(bytes, size), kAudioChannelLayoutTag_MPEG_5_1_A);
    WORKS(AudioFileClose(id));
  }
  // A layout with another channel count, and one that the file cannot store: no file is created.
  create_with("none.caf", kAudioFileCAFType, 0, kAudioChannelLayoutTag_Stereo,
              kExtAudioFileError_InvalidChannelMap);
  create_with("none.wav", kAudioFileWAVEType, 0, kAudioChannelLayoutTag_MPEG_5_1_D,
              kAudioFileOperationNotSupportedError);
  // An existing file is not lost.
  FILE *old = fopen(path_of("kept.wav"), "w");
  CHECK(old && fputs("still here", old) >= 0 && fclose(old) == 0);
  create_with("kept.wav", kAudioFileWAVEType, 0, kAudioChannelLayoutTag_MPEG_5_1_D,
              kAudioFileOperationNotSupportedError);
  struct stat kept;
  CHECK(stat(path_of("kept.wav"), &kept) == 0 && kept.st_size == 10);
  CHECK(access(path_of("none.caf"), F_OK) != 0);
  CHECK(access(path_of("none.wav"), F_OK) != 0);
  passed("new files");
}

static void layouts_that_are_set(void) {
  ExtAudioFileRef file =
      create("later.caf", kAudioFileCAFType, int16(RATE, 6, 0), kAudioFileFlags_EraseFile);
  Boolean writable = false;
  WORKS(
      ExtAudioFileGetPropertyInfo(file, kExtAudioFileProperty_FileChannelLayout, NULL, &writable));
  CHECK(writable);
  GIVES(set_layout(file, kExtAudioFileProperty_FileChannelLayout, kAudioChannelLayoutTag_Stereo),
        kExtAudioFileError_InvalidChannelMap);
  WORKS(
      set_layout(file, kExtAudioFileProperty_FileChannelLayout, kAudioChannelLayoutTag_MPEG_5_1_A));
  EQUAL(get_layout(file, kExtAudioFileProperty_FileChannelLayout),
        kAudioChannelLayoutTag_MPEG_5_1_A);
  // The client's channels go to the file's order.
  set_client(file, int16(RATE, 6, 0));
  WORKS(set_layout(file, kExtAudioFileProperty_ClientChannelLayout,
                   kAudioChannelLayoutTag_MPEG_5_1_D));
  EQUAL(get_layout(file, kExtAudioFileProperty_ClientChannelLayout),
        kAudioChannelLayoutTag_MPEG_5_1_D);
  write_frame(file, in_client);
  WORKS(ExtAudioFileDispose(file));

  file = open_file("later.caf");
  EQUAL(get_layout(file, kExtAudioFileProperty_FileChannelLayout),
        kAudioChannelLayoutTag_MPEG_5_1_A);
  expect_frame(file, in_file, 6);
  WORKS(ExtAudioFileDispose(file));
  // The layouts may be set in any order.
  file = open_file("later.caf");
  WORKS(set_layout(file, kExtAudioFileProperty_ClientChannelLayout,
                   kAudioChannelLayoutTag_MPEG_5_1_D));
  set_client(file, int16(RATE, 6, 0));
  expect_frame(file, in_client, 6);
  WORKS(ExtAudioFileDispose(file));
  // When reading, the client sets the layout to assume.
  file = open_file("later.caf");
  WORKS(set_layout(file, kExtAudioFileProperty_ClientChannelLayout,
                   kAudioChannelLayoutTag_MPEG_5_1_D));
  WORKS(
      set_layout(file, kExtAudioFileProperty_FileChannelLayout, kAudioChannelLayoutTag_MPEG_5_1_D));
  expect_frame(file, in_file, 6);
  WORKS(ExtAudioFileDispose(file));
  passed("layouts that are set");
}

static void other_numbers_of_channels(void) {
  // Without mixing, only the common channels are copied.
  ExtAudioFileRef file = open_file("six.wav");
  set_client(file, int16(RATE, 2, 0));
  WORKS(set_layout(file, kExtAudioFileProperty_ClientChannelLayout, kAudioChannelLayoutTag_Stereo));
  expect_frame(file, in_file, 2);
  WORKS(ExtAudioFileDispose(file));

  // The converter mixes the other channels in.
  file = open_file("six.wav");
  set_client(file, int16(RATE, 2, 0));
  WORKS(set_layout(file, kExtAudioFileProperty_ClientChannelLayout, kAudioChannelLayoutTag_Stereo));
  AudioConverterRef converter = NULL;
  UInt32 size = sizeof converter, one = 1;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_AudioConverter, &size, &converter));
  WORKS(AudioConverterSetProperty(converter, kAudioConverterPropertyPerformDownmix, 4, &one));
  AudioChannelLayout six = layout_of(kAudioChannelLayoutTag_MPEG_5_1_A);
  AudioChannelLayout two = layout_of(kAudioChannelLayoutTag_Stereo);
  const void *both[2] = {&six, &two};
  Float32 factors[12];
  size = sizeof factors;
  WORKS(
      AudioFormatGetProperty(kAudioFormatProperty_MatrixMixMap, sizeof both, both, &size, factors));
  SInt16 frame[2];
  EQUAL(read_some(file, frame, 1, 2, 4), 1);
  for (int side = 0; side < 2; side++) {
    double expected = 0;
    for (int i = 0; i < 6; i++)
      expected += (double)factors[2 * i + side] * in_file[i];
    CHECK(fabs(frame[side] - expected) <= 1);
  }
  WORKS(ExtAudioFileDispose(file));
  passed("other numbers of channels");
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  new_files();
  layouts_that_are_set();
  other_numbers_of_channels();
  run("rm -r \"$PWD\"");
  return 0;
}
