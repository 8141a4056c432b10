// Converts a sound file to another container, format, rate or number of channels.
//
// Usage: convert [-f FILETYPE] [-d FORMAT[@RATE]] [-c CHANNELS] [-b BITRATE] [-q QUALITY] IN OUT
//
//   -f  the container, as a four-character code; default: by the extension of OUT
//   -d  the format: a codec's four-character code such as aac or alac, or linear PCM as
//       [BE|LE](I|UI|F)BITS such as BEI16 or LEF32; optionally the rate in Hz.
//       Default: linear PCM of 16 bits at the rate of IN
//   -c  the number of channels: channels are mixed down or added as needed
//   -b  bits per second of the encoder
//   -q  quality of the sample rate conversion, from 0 to 127
//
// Both files are ExtAudioFiles. One decodes to a common format and the other encodes from it; both
// convert as necessary. This program only copies frames from one to the other.

#include <AudioToolbox/AudioToolbox.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Frames copied at a time.
#define FRAMES 8192

// MARK: Options

struct options {
  AudioFileTypeID type;
  /// Format of OUT. A rate or channel count of 0 means that of IN.
  AudioStreamBasicDescription format;
  UInt32 bit_rate;
  /// -1 for the best.
  long quality;
  const char *in;
  const char *out;
};

/// Parses a four-character code; a shorter one is padded with spaces.
static bool read_code(const char *text, size_t length, UInt32 *code) {
  if (length < 1 || length > 4) return false;
  *code = 0;
  for (size_t i = 0; i < 4; i++)
    *code = *code << 8 | (unsigned char)(i < length ? text[i] : ' ');
  return true;
}

/// Parses an integer that must be the whole text.
static bool read_number(const char *text, long least, long most, long *number) {
  char *end;
  *number = strtol(text, &end, 10);
  return end != text && *end == '\0' && *number >= least && *number <= most;
}

/// Parses linear PCM as [BE|LE](I|UI|F)BITS. BE must be given for containers with big-endian
/// samples.
static bool read_pcm(const char *text, size_t length, AudioStreamBasicDescription *format) {
  const char *end = text + length;
  UInt32 flags = kAudioFormatFlagIsPacked;
  if (length > 2 && strncmp(text, "BE", 2) == 0) flags |= kAudioFormatFlagIsBigEndian;
  if (length > 2 && (strncmp(text, "BE", 2) == 0 || strncmp(text, "LE", 2) == 0)) text += 2;
  if (*text == 'F')
    flags |= kAudioFormatFlagIsFloat;
  else if (*text == 'I')
    flags |= kAudioFormatFlagIsSignedInteger;
  else if (strncmp(text, "UI", 2) == 0)
    text++;
  else
    return false;
  long bits;
  char digits[4] = {0};
  text++;
  if (end - text < 1 || end - text > 3) return false;
  memcpy(digits, text, (size_t)(end - text));
  if (!read_number(digits, 8, 64, &bits) || bits % 8 != 0) return false;
  format->mFormatID = kAudioFormatLinearPCM;
  format->mFormatFlags = flags;
  format->mBitsPerChannel = (UInt32)bits;
  return true;
}

/// Parses FORMAT[@RATE].
static bool read_format(const char *text, AudioStreamBasicDescription *format) {
  size_t length = strcspn(text, "@");
  if (!read_pcm(text, length, format)) {
    memset(format, 0, sizeof *format);
    if (!read_code(text, length, &format->mFormatID)) return false;
  }
  if (text[length] == '\0') return true;
  long rate;
  if (!read_number(text + length + 1, 1, 1000000, &rate)) return false;
  format->mSampleRate = rate;
  return true;
}

/// Chooses the container by the extension of a file name.
static bool guess_type(const char *name, AudioFileTypeID *type) {
  static const struct {
    const char *end;
    AudioFileTypeID type;
  } ends[] = {{".wav", kAudioFileWAVEType},      {".aif", kAudioFileAIFFType},
              {".aiff", kAudioFileAIFFType},     {".aifc", kAudioFileAIFCType},
              {".caf", kAudioFileCAFType},       {".au", kAudioFileNextType},
              {".m4a", kAudioFileM4AType},       {".mp4", kAudioFileMPEG4Type},
              {".mp3", kAudioFileMP3Type},       {".aac", kAudioFileAAC_ADTSType},
              {".adts", kAudioFileAAC_ADTSType}, {".flac", kAudioFileFLACType},
              {".ac3", kAudioFileAC3Type}};
  const char *end = strrchr(name, '.');
  for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
    if (strcmp(end, ends[i].end) == 0) {
      *type = ends[i].type;
      return true;
    }
  return false;
}

static bool read_options(int count, char **words, struct options *options) {
  memset(options, 0, sizeof *options);
  options->quality = -1;
  options->format.mFormatID = kAudioFormatLinearPCM;
  options->format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked;
  options->format.mBitsPerChannel = 16;
  long channels = 0, number;
  int at = 1;
  for (; at + 1 < count && words[at][0] == '-' && strlen(words[at]) == 2; at += 2) {
    const char *value = words[at + 1];
    switch (words[at][1]) {
    case 'f':
      if (!read_code(value, strlen(value), &options->type)) return false;
      break;
    case 'd':
      if (!read_format(value, &options->format)) return false;
      break;
    case 'c':
      if (!read_number(value, 1, 64, &channels)) return false;
      break;
    case 'b':
      if (!read_number(value, 1, 10000000, &number)) return false;
      options->bit_rate = (UInt32)number;
      break;
    case 'q':
      if (!read_number(value, 0, 127, &options->quality)) return false;
      break;
    default:
      return false;
    }
  }
  if (count - at != 2) return false;
  options->format.mChannelsPerFrame = (UInt32)channels;
  options->in = words[at];
  options->out = words[at + 1];
  if (options->type == 0 && !guess_type(options->out, &options->type)) return false;
  // AIFF and NeXT files hold only big-endian linear PCM, whatever was requested.
  if (options->format.mFormatID == kAudioFormatLinearPCM &&
      (options->type == kAudioFileAIFFType || options->type == kAudioFileNextType))
    options->format.mFormatFlags |= kAudioFormatFlagIsBigEndian;
  return true;
}

// MARK: Errors

/// Prints the call that failed and its result: most results are four-character codes, others are
/// numbers.
static void report(const char *call, OSStatus status) {
  char text[5] = {(char)(status >> 24), (char)(status >> 16), (char)(status >> 8), (char)status};
  bool is_text = true;
  for (int i = 0; i < 4; i++)
    is_text = is_text && text[i] >= ' ' && text[i] <= '~';
  if (is_text)
    fprintf(stderr, "convert: %s: '%s'\n", call, text);
  else
    fprintf(stderr, "convert: %s: %d\n", call, (int)status);
}

/// Returns from the calling function if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) {                                                                        \
      report(#function, status_);                                                                  \
      return status_;                                                                              \
    }                                                                                              \
  } while (0)

// MARK: Converting

static CFURLRef url_of(const char *path) {
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

/// Returns the common linear PCM format: floats at the rate of IN, with the channels of OUT.
static AudioStreamBasicDescription meeting_format(const AudioStreamBasicDescription *in,
                                                  const AudioStreamBasicDescription *out) {
  AudioStreamBasicDescription format = {0};
  bool is_wide = in->mFormatID == kAudioFormatLinearPCM &&
                 out->mFormatID == kAudioFormatLinearPCM && in->mBitsPerChannel > 24 &&
                 out->mBitsPerChannel > 24;
  format.mSampleRate = in->mSampleRate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagsNativeFloatPacked;
  format.mChannelsPerFrame = out->mChannelsPerFrame;
  // 32-bit floats hold integers of up to 24 bits, 64-bit floats all of them.
  format.mBitsPerChannel = is_wide ? 64 : 32;
  format.mBytesPerFrame = format.mBitsPerChannel / 8 * format.mChannelsPerFrame;
  format.mBytesPerPacket = format.mBytesPerFrame;
  format.mFramesPerPacket = 1;
  return format;
}

/// Copies all frames and counts them.
static OSStatus copy(ExtAudioFileRef in, ExtAudioFileRef out,
                     const AudioStreamBasicDescription *format, UInt64 *frames) {
  UInt32 room = FRAMES * format->mBytesPerFrame;
  void *memory = malloc(room);
  if (!memory) return kAudio_MemFullError;
  OSStatus status;
  for (;;) {
    AudioBufferList list = {1, {{format->mChannelsPerFrame, room, memory}}};
    UInt32 count = FRAMES;
    status = ExtAudioFileRead(in, &count, &list);
    if (status != noErr) report("ExtAudioFileRead", status);
    if (status != noErr || count == 0) break;
    status = ExtAudioFileWrite(out, count, &list);
    if (status != noErr) report("ExtAudioFileWrite", status);
    if (status != noErr) break;
    *frames += count;
  }
  free(memory);
  return status;
}

/// Sets up the reader to mix channels, and the writer to convert the rate and encode.
static OSStatus set_up(const struct options *options, ExtAudioFileRef in, ExtAudioFileRef out,
                       const AudioStreamBasicDescription *meeting) {
  TRY(ExtAudioFileSetProperty, in, kExtAudioFileProperty_ClientDataFormat, sizeof *meeting,
      meeting);
  TRY(ExtAudioFileSetProperty, out, kExtAudioFileProperty_ClientDataFormat, sizeof *meeting,
      meeting);
  AudioConverterRef reading, writing;
  UInt32 size = sizeof reading;
  TRY(ExtAudioFileGetProperty, in, kExtAudioFileProperty_AudioConverter, &size, &reading);
  TRY(ExtAudioFileGetProperty, out, kExtAudioFileProperty_AudioConverter, &size, &writing);
  UInt32 yes = 1;
  AudioStreamBasicDescription source;
  size = sizeof source;
  TRY(ExtAudioFileGetProperty, in, kExtAudioFileProperty_FileDataFormat, &size, &source);
  if (source.mChannelsPerFrame != meeting->mChannelsPerFrame)
    TRY(AudioConverterSetProperty, reading, kAudioConverterPropertyPerformDownmix, sizeof yes,
        &yes);
  if (options->quality >= 0) {
    UInt32 quality = (UInt32)options->quality;
    TRY(AudioConverterSetProperty, writing, kAudioConverterSampleRateConverterQuality,
        sizeof quality, &quality);
  }
  if (options->bit_rate > 0)
    TRY(AudioConverterSetProperty, writing, kAudioConverterEncodeBitRate, sizeof options->bit_rate,
        &options->bit_rate);
  // Tells the file that its converter's settings have changed.
  CFPropertyListRef none = NULL;
  TRY(ExtAudioFileSetProperty, out, kExtAudioFileProperty_ConverterConfig, sizeof none, &none);
  return noErr;
}

static OSStatus convert(const struct options *options) {
  CFURLRef in_url = url_of(options->in), out_url = url_of(options->out);
  ExtAudioFileRef in = NULL, out = NULL;
  TRY(ExtAudioFileOpenURL, in_url, &in);
  CFRelease(in_url);
  AudioStreamBasicDescription from, to = options->format;
  UInt32 size = sizeof from;
  TRY(ExtAudioFileGetProperty, in, kExtAudioFileProperty_FileDataFormat, &size, &from);
  if (to.mSampleRate == 0) to.mSampleRate = from.mSampleRate;
  if (to.mChannelsPerFrame == 0) to.mChannelsPerFrame = from.mChannelsPerFrame;
  // Fills in the fields that follow from the others.
  size = sizeof to;
  TRY(AudioFormatGetProperty, kAudioFormatProperty_FormatInfo, 0, NULL, &size, &to);
  TRY(ExtAudioFileCreateWithURL, out_url, options->type, &to, NULL, kAudioFileFlags_EraseFile,
      &out);
  CFRelease(out_url);
  AudioStreamBasicDescription meeting = meeting_format(&from, &to);
  UInt64 frames = 0;
  OSStatus status = set_up(options, in, out, &meeting);
  if (status == noErr) status = copy(in, out, &meeting, &frames);
  ExtAudioFileDispose(in);
  // Disposing of the file writes the last frames, so it can fail too.
  OSStatus closed = ExtAudioFileDispose(out);
  if (status == noErr && closed != noErr) report("ExtAudioFileDispose", closed);
  if (status == noErr && closed == noErr)
    printf("%llu frames of %s are in %s\n", (unsigned long long)frames, options->in, options->out);
  return status != noErr ? status : closed;
}

int main(int argc, char **argv) {
  struct options options;
  if (!read_options(argc, argv, &options)) {
    fprintf(stderr, "usage: convert [-f FILETYPE] [-d FORMAT[@RATE]] [-c CHANNELS] [-b BITRATE] "
                    "[-q QUALITY] IN OUT\n");
    return 2;
  }
  return convert(&options) == noErr ? 0 : 1;
}
