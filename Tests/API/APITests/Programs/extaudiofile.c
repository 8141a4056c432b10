// ExtAudioFile: writes and reads linear PCM and packets as linear PCM of any format, and reads
// files of other programs with the same result as ffmpeg.
#include "extaudiofile.h"

#include <sys/stat.h>

// MARK: Linear PCM

enum {
  Frames = 30011
};
static SInt16 sound[2 * Frames];
static float floats[2 * Frames];

static void make_sound(void) {
  for (int i = 0; i < Frames; i++) {
    sound[2 * i] = (SInt16)(12000 * sin(i * 0.05) + 3000 * sin(i * 0.31));
    sound[2 * i + 1] = (SInt16)(9000 * sin(i * 0.021) + i % 50);
  }
  for (int i = 0; i < 2 * Frames; i++)
    floats[i] = sound[i] / 32768.0f;
}

static void linear_pcm(void) {
  static const struct {
    const char *name;
    AudioFileTypeID type;
    AudioFormatFlags flags;
  } kinds[] = {{"\xE9.wav", kAudioFileWAVEType, 0},
               {"a.aiff", kAudioFileAIFFType, kAudioFormatFlagIsBigEndian},
               {"a.caf", kAudioFileCAFType, 0}};
  static SInt16 back[2 * Frames + 100];
  for (int k = 0; k < 3; k++) {
    ExtAudioFileRef file = create(kinds[k].name, kinds[k].type, int16(44100, 2, kinds[k].flags), 0);
    set_client(file, float_format(44100, 2));
    for (UInt32 done = 0; done < Frames;) {
      UInt32 count = Frames - done < 1234 ? Frames - done : 1234;
      write_some(file, floats + 2 * done, count, 2, 8);
      done += count;
      EQUAL(position(file), done);
    }
    EQUAL(length_of(file), Frames);
    WORKS(ExtAudioFileDispose(file));

    // First in the file's own format.
    file = open_file(kinds[k].name);
    EQUAL(length_of(file), Frames);
    UInt32 got = read_all(file, back, Frames + 50, 2, 4);
    EQUAL(got, Frames);
    for (int i = 0; i < 2 * Frames; i++) {
      UInt16 raw = (UInt16)back[i];
      if (kinds[k].flags) raw = (UInt16)(raw << 8 | raw >> 8);
      EQUAL((SInt16)raw, sound[i]);
    }
    EQUAL(read_some(file, back, 10, 2, 4), 0);
    EQUAL(position(file), Frames);

    // In another format with a buffer per channel, from a position in the middle.
    AudioStreamBasicDescription planes = float_format(44100, 2);
    planes.mFormatFlags |= kAudioFormatFlagIsNonInterleaved;
    planes.mBytesPerPacket = planes.mBytesPerFrame = 4;
    set_client(file, planes);
    WORKS(ExtAudioFileSeek(file, 777));
    float left[100], right[100];
    struct {
      UInt32 count;
      AudioBuffer buffers[2];
    } list = {2, {{1, sizeof left, left}, {1, sizeof right, right}}};
    UInt32 frames = 100;
    WORKS(ExtAudioFileRead(file, &frames, (AudioBufferList *)&list));
    EQUAL(frames, 100);
    for (int i = 0; i < 100; i++)
      CHECK(left[i] == floats[2 * (777 + i)] && right[i] == floats[2 * (777 + i) + 1]);
    EQUAL(position(file), 877);
    GIVES(ExtAudioFileSeek(file, -1), kExtAudioFileError_InvalidSeek);
    GIVES(ExtAudioFileSeek(file, Frames + 1), kExtAudioFileError_InvalidSeek);
    WORKS(ExtAudioFileSeek(file, Frames));
    frames = 100;
    list.buffers[0].mDataByteSize = list.buffers[1].mDataByteSize = sizeof left;
    WORKS(ExtAudioFileRead(file, &frames, (AudioBufferList *)&list));
    EQUAL(frames, 0);
    WORKS(ExtAudioFileDispose(file));
  }
  passed("linear PCM");
}

static void another_rate(void) {
  // Written at half the sample rate and read at the double one: both have the correct number of
  // frames.
  ExtAudioFileRef file = create("half.wav", kAudioFileWAVEType, int16(22050, 2, 0), 0);
  set_client(file, float_format(44100, 2));
  write_some(file, floats, Frames, 2, 8);
  WORKS(ExtAudioFileDispose(file));
  file = open_file("half.wav");
  EQUAL(length_of(file), (Frames + 1) / 2);
  set_client(file, float_format(44100, 1));
  static float back[3 * Frames];
  EQUAL(read_all(file, back, 3 * Frames, 1, 4), Frames + 1);
  EQUAL(position(file), (Frames + 1) / 2);
  // The high frequencies of the sound are still below half the rate.
  for (int i = 1000; i < Frames - 1000; i++)
    CHECK(fabs(back[i] - floats[2 * i]) < 1e-3);
  WORKS(ExtAudioFileDispose(file));

  // A mono signal is copied to both channels.
  file = create("one.caf", kAudioFileCAFType, int16(8000, 1, 0), 0);
  write_some(file, sound, 100, 1, 2);
  WORKS(ExtAudioFileDispose(file));
  file = open_file("one.caf");
  set_client(file, int16(8000, 2, 0));
  SInt16 both[200];
  EQUAL(read_all(file, both, 100, 2, 4), 100);
  for (int i = 0; i < 100; i++)
    CHECK(both[2 * i] == sound[i] && both[2 * i + 1] == sound[i]);
  WORKS(ExtAudioFileDispose(file));
  passed("rates and channels");
}

static void asynchronously(void) {
  ExtAudioFileRef file = create("async.wav", kAudioFileWAVEType, int16(44100, 2, 0), 0);
  set_client(file, float_format(44100, 2));
  WORKS(ExtAudioFileWriteAsync(file, 0, NULL));
  for (UInt32 done = 0; done < Frames;) {
    UInt32 count = Frames - done < 512 ? Frames - done : 512;
    float copy[1024];
    memcpy(copy, floats + 2 * done, count * 8);
    AudioBufferList list = {1, {{2, count * 8, copy}}};
    OSStatus status = ExtAudioFileWriteAsync(file, count, &list);
    memset(copy, 0x55, sizeof copy);
    if (status == kExtAudioFileError_AsyncWriteBufferOverflow) {
      usleep(1000);
      continue;
    }
    WORKS(status);
    done += count;
  }
  AudioBufferList list = {1, {{2, 0xFFFFFFF8, floats}}};
  GIVES(ExtAudioFileWriteAsync(file, 0xFFFFFFF, &list), kExtAudioFileError_AsyncWriteTooLarge);
  // A synchronous write follows it.
  write_some(file, floats, 1, 2, 8);
  EQUAL(length_of(file), Frames + 1);
  WORKS(ExtAudioFileDispose(file));
  static SInt16 back[2 * Frames + 100];
  file = open_file("async.wav");
  EQUAL(read_all(file, back, Frames + 50, 2, 4), Frames + 1);
  CHECK(memcmp(back, sound, sizeof sound) == 0);
  WORKS(ExtAudioFileDispose(file));
  passed("asynchronously");
}

// MARK: Packets

enum {
  Most = 200000
};
static float theirs[2 * Most], ours[2 * Most];

/// Decodes a file with ffmpeg.
static UInt32 decoded_by_ffmpeg(const char *name) {
  char command[500];
  snprintf(command, sizeof command, "ffmpeg -v error -y -i %s -f f32le -c:a pcm_f32le theirs.raw",
           name);
  run(command);
  FILE *file = fopen(path_of("theirs.raw"), "rb");
  CHECK(file != NULL);
  size_t count = fread(theirs, 8, Most, file);
  fclose(file);
  return (UInt32)count;
}

static double ratio(const float *sound, const float *noisy, long samples) {
  double signal = 0, noise = 0;
  for (long i = 0; i < samples; i++) {
    signal += (double)sound[i] * sound[i];
    noise += ((double)sound[i] - noisy[i]) * ((double)sound[i] - noisy[i]);
  }
  return noise == 0 ? INFINITY : 10 * log10(signal / noise);
}

/// Reads a 44,100 Hz file, completely and from many positions.
static void read_theirs(const char *name, Boolean knows_length, double least,
                        double least_after_seek) {
  UInt32 frames = decoded_by_ffmpeg(name);
  if (frames < Frames || frames > Frames + 5000)
    printf("%s: ffmpeg gives %u frames\n", name, frames);
  CHECK(frames >= Frames && frames < Frames + 5000);
  // Some files state where the sound ends, but ffmpeg also returns what follows.
  if (knows_length) frames = Frames;
  ExtAudioFileRef file = open_file(name);
  UInt32 bytes = 2;
  GIVES(ExtAudioFileRead(file, &bytes, &(AudioBufferList){1, {{2, 8, ours}}}),
        kExtAudioFileError_InvalidOperationOrder);
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format));
  set_client(file, float_format(format.mSampleRate, 2));
  if (length_of(file) != frames) {
    printf("%s has %lld frames, not %u\n", name, (long long)length_of(file), frames);
    exit(1);
  }
  EQUAL(read_all(file, ours, Most, 2, 8), frames);
  EQUAL(position(file), frames);
  double found = ratio(theirs, ours, 2 * (long)frames);
  if (found < least) {
    printf("%s: %g dB\n", name, found);
    exit(1);
  }
  // Seeks to frames forwards and backwards.
  static float part[2 * 1000];
  for (UInt32 i = 0; i < 40; i++) {
    // Earlier frames may be decoder priming, which contains random noise.
    SInt64 frame = 2000 + i * 104729LL % (frames - 2700);
    WORKS(ExtAudioFileSeek(file, frame));
    EQUAL(position(file), frame);
    EQUAL(read_some(file, part, 500, 2, 8), 500);
    EQUAL(position(file), frame + 500);
    found = ratio(ours + 2 * frame, part, 1000);
    if (found < least_after_seek) {
      printf("%s from frame %lld: %g dB\n", name, (long long)frame, found);
      exit(1);
    }
  }
  WORKS(ExtAudioFileSeek(file, frames - 10));
  EQUAL(read_some(file, part, 500, 2, 8), 10);
  WORKS(ExtAudioFileDispose(file));
}

/// Reads a file that ffmpeg does not decode alike. Types without a format id are linear PCM.
static void read_decoded(const char *name, AudioFormatID id, UInt32 most, double least) {
  ExtAudioFileRef file = open_file(name);
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format));
  EQUAL(format.mFormatID, id);
  set_client(file, float_format(44100, 2));
  SInt64 frames = length_of(file);
  CHECK(frames >= Frames && frames <= most);
  EQUAL(read_all(file, ours, Most, 2, 8), frames);
  if (least > 0) CHECK(ratio(floats, ours, 2 * Frames) >= least);
  WORKS(ExtAudioFileDispose(file));
}

static void files_of_others(void) {
  ExtAudioFileRef file =
      create("source.wav", kAudioFileWAVEType, int16(44100, 2, 0), kAudioFileFlags_EraseFile);
  write_some(file, sound, Frames, 2, 4);
  WORKS(ExtAudioFileDispose(file));
  run("to() { ffmpeg -v error -y -i source.wav -c:a $1 $2; } && to aac x.m4a && to alac "
      "lossless.m4a"
      " && to 'aac -aac_pns 0' plain.m4a && to flac x.flac && to libmp3lame x.mp3 && to "
      "adpcm_ima_qt x.caf && to pcm_mulaw law.wav"
      " && to ac3 x.ac3 && to libopus x.opus && to aac x.aac && sox source.wav x.ogg"
      " && to wavpack x.wv && to tta x.tta && lame --quiet --freeformat -b 400 source.wav "
      "free.mp3");
  read_theirs("lossless.m4a", true, INFINITY, INFINITY);
  read_theirs("x.flac", true, INFINITY, INFINITY);
  read_theirs("law.wav", true, INFINITY, INFINITY);
  read_theirs("x.m4a", true, 90, 20);
  // Without synthesised noise the samples do not depend on the start of reading.
  read_theirs("plain.m4a", true, 90, 90);
  read_theirs("x.mp3", true, 90, 90);
  read_theirs("x.ogg", true, 90, 90);
  read_theirs("x.caf", false, 90, 30);
  read_theirs("x.aac", false, 90, 20);
  read_theirs("x.ac3", false, 90, 20);
  read_theirs("x.opus", false, 90, 20);
  read_decoded("x.wv", kAudioFormatLinearPCM, Frames, INFINITY);
  read_decoded("x.tta", kAudioFormatLinearPCM, Frames, INFINITY);
  read_decoded("free.mp3", kAudioFormatMPEGLayer3, Frames + 3000, 0);
  passed("files of others");
}

/// Writes the sound and reads it with ffmpeg and with Cuejack.
static void write_ours(const char *name, AudioFileTypeID type, AudioFormatID id, double rate,
                       UInt32 bit_rate, Boolean tells_length, double least) {
  ExtAudioFileRef file = create(name, type, named(id, rate, 2), kAudioFileFlags_EraseFile);
  set_client(file, float_format(44100, 2));
  if (bit_rate > 0) {
    AudioConverterRef inside = NULL;
    UInt32 size = sizeof inside;
    WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_AudioConverter, &size, &inside));
    WORKS(AudioConverterSetProperty(inside, kAudioConverterEncodeBitRate, sizeof bit_rate,
                                    &bit_rate));
    CFPropertyListRef none = NULL;
    WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ConverterConfig, sizeof none, &none));
  }
  for (UInt32 done = 0; done < Frames;) {
    UInt32 count = Frames - done < 4321 ? Frames - done : 4321;
    write_some(file, floats + 2 * done, count, 2, 8);
    done += count;
  }
  WORKS(ExtAudioFileDispose(file));

  UInt32 expected = (UInt32)lround(Frames * rate / 44100);
  UInt32 frames = decoded_by_ffmpeg(name);
  file = open_file(name);
  set_client(file, float_format(rate, 2));
  SInt64 length = length_of(file);
  UInt32 got = read_all(file, ours, Most, 2, 8);
  WORKS(ExtAudioFileDispose(file));
  if (got != length || (tells_length ? length != expected : length < expected) || frames < got) {
    printf("%s: %lld frames, %u read, %u by ffmpeg\n", name, (long long)length, got, frames);
    exit(1);
  }
  // In CAF files, ffmpeg ignores the priming.
  Boolean is_shifted = type == kAudioFileCAFType && least < INFINITY;
  double same = is_shifted ? INFINITY : ratio(theirs, ours, 2 * (long)got);
  double found = rate == 44100 && tells_length ? ratio(floats, ours, 2 * Frames) : INFINITY;
  if (same < 80 || found < least) {
    printf("%s: %g dB from ffmpeg's, %g dB from the sound\n", name, same, found);
    exit(1);
  }
}

static void files_of_packets(void) {
  static const double whole = INFINITY;
  write_ours("w.m4a", kAudioFileM4AType, kAudioFormatAppleLossless, 44100, 0, true, whole);
  write_ours("w.caf", kAudioFileCAFType, kAudioFormatAppleLossless, 44100, 0, true, whole);
  write_ours("w.flac", kAudioFileFLACType, kAudioFormatFLAC, 44100, 0, true, whole);
  write_ours("aac.m4a", kAudioFileM4AType, kAudioFormatMPEG4AAC, 44100, 160000, true, 20);
  write_ours("aac.caf", kAudioFileCAFType, kAudioFormatMPEG4AAC, 44100, 0, true, 20);
  write_ours("aac22.m4a", kAudioFileM4AType, kAudioFormatMPEG4AAC, 22050, 0, true, 20);
  write_ours("w.aac", kAudioFileAAC_ADTSType, kAudioFormatMPEG4AAC, 44100, 0, false, 20);
  write_ours("w.mp3", kAudioFileMP3Type, kAudioFormatMPEGLayer3, 44100, 0, true, 20);
  write_ours("w.ac3", kAudioFileAC3Type, kAudioFormatAC3, 44100, 0, false, 20);
  write_ours("ima.caf", kAudioFileCAFType, kAudioFormatAppleIMA4, 44100, 0, true, 20);
  write_ours("law.caf", kAudioFileCAFType, kAudioFormatULaw, 44100, 0, true, 30);
  write_ours("opus.ogg", kAudioFileOggType, kAudioFormatOpus, 48000, 0, true, 10);
  passed("files of packets");
}

// MARK: Errors

static void what_cannot_be(void) {
  CFURLRef none = url_of("none.wav");
  ExtAudioFileRef file = (ExtAudioFileRef)folder;
  GIVES(ExtAudioFileOpenURL(none, &file), kAudioFileFileNotFoundError);
  CHECK(file == NULL);
  AudioStreamBasicDescription format = int16(44100, 2, 0);
  GIVES(ExtAudioFileCreateWithURL(none, 'none', &format, NULL, 0, &file),
        kAudioFileUnsupportedFileTypeError);
  format.mBytesPerFrame = 3;
  GIVES(ExtAudioFileCreateWithURL(none, kAudioFileWAVEType, &format, NULL, 0, &file),
        kAudioFileUnsupportedDataFormatError);
  CFURLRef there = url_of("\xE9.wav");
  format = int16(44100, 2, 0);
  GIVES(ExtAudioFileCreateWithURL(there, kAudioFileWAVEType, &format, NULL, 0, &file),
        kAudioFilePermissionsError);
  CFRelease(none);
  CFRelease(there);
  GIVES(ExtAudioFileDispose(nowhere), kAudio_ParamError);

  file = open_file("\xE9.wav");
  AudioStreamBasicDescription aac = named(kAudioFormatMPEG4AAC, 44100, 2);
  GIVES(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof aac, &aac),
        kExtAudioFileError_NonPCMClientFormat);
  GIVES(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, 39, &aac),
        kExtAudioFileError_InvalidPropertySize);
  format.mBytesPerFrame = 3;
  GIVES(
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof format, &format),
      kExtAudioFileError_InvalidDataFormat);
  AudioChannelLayout layout;
  memset(&layout, 0, sizeof layout);
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_5_1_A;
  GIVES(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientChannelLayout, sizeof layout,
                                &layout),
        kExtAudioFileError_InvalidChannelMap);
  UInt32 value = 0, size = sizeof value;
  GIVES(ExtAudioFileGetProperty(file, 'none', &size, &value), kExtAudioFileError_InvalidProperty);
  GIVES(ExtAudioFileSetProperty(file, kExtAudioFileProperty_FileLengthFrames, 4, &value),
        kExtAudioFileError_InvalidProperty);
  GIVES(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileLengthFrames, &size, &value),
        kExtAudioFileError_InvalidPropertySize);
  AudioBufferList list = {1, {{2, 4, &value}}};
  GIVES(ExtAudioFileWrite(file, 1, &list), kExtAudioFileError_InvalidOperationOrder);
  GIVES(ExtAudioFileWriteAsync(file, 0, NULL), kExtAudioFileError_InvalidOperationOrder);
  WORKS(ExtAudioFileDispose(file));
  GIVES(ExtAudioFileDispose(file), kAudio_ParamError);

  // A format that is refused leaves the one before, and what its converter holds back.
  file = create("c.wav", kAudioFileWAVEType, int16(44100, 2, 0), 0);
  set_client(file, int16(48000, 2, 0));
  static SInt16 silence[2 * 4800];
  format = int16(1, 2, 0);
  for (int part = 0; part < 2; part++) {
    AudioBufferList tenth = {1, {{2, sizeof silence, silence}}};
    WORKS(ExtAudioFileWrite(file, 4800, &tenth));
    GIVES(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof format,
                                  &format),
          kAudioConverterErr_OutputSampleRateOutOfRange);
  }
  WORKS(ExtAudioFileDispose(file));
  file = open_file("c.wav");
  EQUAL(length_of(file), 8820);
  WORKS(ExtAudioFileDispose(file));

  file = create("b.wav", kAudioFileWAVEType, int16(44100, 2, 0), 0);
  UInt32 frames = 1;
  GIVES(ExtAudioFileRead(file, &frames, &list), kExtAudioFileError_InvalidOperationOrder);
  GIVES(ExtAudioFileSeek(file, 0), kExtAudioFileError_InvalidSeek);
  list.mBuffers[0].mDataByteSize = 3;
  GIVES(ExtAudioFileWrite(file, 1, &list), kAudio_ParamError);
  WORKS(ExtAudioFileDispose(file));
  passed("what cannot be");
}

static void properties(void) {
  ExtAudioFileRef file = open_file("\xE9.wav");
  set_client(file, float_format(44100, 2));
  UInt32 value = 0, size = sizeof value;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileMaxPacketSize, &size, &value));
  EQUAL(value, 4);
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_ClientMaxPacketSize, &size, &value));
  EQUAL(value, 8);
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_CodecManufacturer, &size, &value));
  EQUAL(value, kAppleSoftwareAudioCodecManufacturer);
  value = 1 << 16;
  WORKS(
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_IOBufferSizeBytes, sizeof value, &value));
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_IOBufferSizeBytes, &size, &value));
  EQUAL(value, 1 << 16);
  Boolean writable = false;
  WORKS(ExtAudioFileGetPropertyInfo(file, kExtAudioFileProperty_ConverterConfig, &size, &writable));
  CHECK(size == sizeof(CFPropertyListRef) && writable);
  CFPropertyListRef config = NULL;
  WORKS(
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_ConverterConfig, sizeof config, &config));

  // The converter has the usual properties.
  AudioConverterRef inside = NULL;
  size = sizeof inside;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_AudioConverter, &size, &inside));
  SInt32 crossed[2] = {1, 0};
  WORKS(AudioConverterSetProperty(inside, kAudioConverterChannelMap, sizeof crossed, crossed));
  float pair[2];
  EQUAL(read_some(file, pair, 1, 2, 8), 1);
  CHECK(pair[0] == floats[1] && pair[1] == floats[0]);
  // A change that restarts the converter's stream does not lose the position.
  value = kAudioConverterQuality_Low;
  WORKS(AudioConverterSetProperty(inside, kAudioConverterSampleRateConverterQuality, 4, &value));
  EQUAL(read_some(file, pair, 1, 2, 8), 1);
  CHECK(pair[0] == floats[3] && pair[1] == floats[2]);
  AudioFileID id = NULL;
  size = sizeof id;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_AudioFile, &size, &id));
  UInt64 count = 0;
  size = sizeof count;
  WORKS(AudioFileGetProperty(id, kAudioFilePropertyAudioDataPacketCount, &size, &count));
  EQUAL(count, Frames);
  WORKS(ExtAudioFileDispose(file));
  GIVES(AudioFileClose(id), kAudioFileNotOpenError);
  GIVES(AudioConverterReset(inside), kAudio_ParamError);

  // A file that the caller opened stays open.
  CFURLRef url = url_of("\xE9.wav");
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &id));
  CFRelease(url);
  WORKS(ExtAudioFileWrapAudioFileID(id, false, &file));
  set_client(file, float_format(44100, 2));
  EQUAL(read_some(file, pair, 1, 2, 8), 1);
  CHECK(pair[0] == floats[0] && pair[1] == floats[1]);
  WORKS(ExtAudioFileDispose(file));
  GIVES(ExtAudioFileWrapAudioFileID(id, true, &file), kAudioFilePermissionsError);
  WORKS(AudioFileClose(id));
  passed("properties");
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  make_sound();
  linear_pcm();
  another_rate();
  asynchronously();
  properties();
  files_of_others();
  files_of_packets();
  what_cannot_be();
  run("rm -r \"$PWD\"");
  return 0;
}
