// Converts a sound file with an AudioConverter, packets in and packets out.
//
// Usage: convert IN OUT.{wav,aif,aifc,caf,m4a} [RATE]
#include <AudioToolbox/AudioToolbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  AudioFileID file;
  AudioStreamBasicDescription format;
  SInt64 packet;
  char *bytes;
  UInt32 bytesPerPacket, packetsPerRead;
  AudioStreamPacketDescription *descriptions;
} Input;

#define EXIT_IF(condition, ...)                                                                    \
  do {                                                                                             \
    if (condition) {                                                                               \
      fprintf(stderr, "convert: " __VA_ARGS__);                                                    \
      fputc('\n', stderr);                                                                         \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
#define OK(call)                                                                                   \
  do {                                                                                             \
    OSStatus status = (call);                                                                      \
    EXIT_IF(status != noErr, "%s: %d", #call, (int)status);                                        \
  } while (0)

static CFURLRef makeURL(const char *path) {
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

/// Supplies the converter with the packets of the file.
static OSStatus readPackets(AudioConverterRef converter, UInt32 *count, AudioBufferList *data,
                            AudioStreamPacketDescription **descriptions, void *user) {
  (void)converter;
  Input *in = (Input *)user;
  if (*count > in->packetsPerRead) *count = in->packetsPerRead;
  UInt32 bytes = in->packetsPerRead * in->bytesPerPacket;
  OSStatus status = AudioFileReadPacketData(in->file, false, &bytes, in->descriptions, in->packet,
                                            count, in->bytes);
  if (status == kAudioFileEndOfFileError) status = noErr;
  in->packet += *count;
  data->mBuffers[0].mData = in->bytes;
  data->mBuffers[0].mDataByteSize = *count > 0 ? bytes : 0;
  data->mBuffers[0].mNumberChannels = in->format.mChannelsPerFrame;
  if (descriptions) *descriptions = in->descriptions;
  return status;
}

static UInt32 upperBound(AudioFileID file) {
  UInt32 bound = 0, size = sizeof bound;
  OK(AudioFileGetProperty(file, kAudioFilePropertyPacketSizeUpperBound, &size, &bound));
  return bound;
}

/// Gives the decoder the cookie of the file, and the frames that are not part of the sound.
static void prepareDecoder(AudioConverterRef converter, AudioFileID file) {
  UInt32 size = 0;
  if (AudioFileGetPropertyInfo(file, kAudioFilePropertyMagicCookieData, &size, NULL) == noErr &&
      size > 0) {
    void *cookie = malloc(size);
    OK(AudioFileGetProperty(file, kAudioFilePropertyMagicCookieData, &size, cookie));
    OK(AudioConverterSetProperty(converter, kAudioConverterDecompressionMagicCookie, size, cookie));
    free(cookie);
  }
  AudioFilePacketTableInfo table;
  size = sizeof table;
  if (AudioFileGetProperty(file, kAudioFilePropertyPacketTableInfo, &size, &table) == noErr) {
    AudioConverterPrimeInfo prime = {(UInt32)table.mPrimingFrames, (UInt32)table.mRemainderFrames};
    OK(AudioConverterSetProperty(converter, kAudioConverterPrimeInfo, sizeof prime, &prime));
  }
}

static void copyEncoderCookie(AudioConverterRef converter, AudioFileID file) {
  UInt32 size = 0;
  if (AudioConverterGetPropertyInfo(converter, kAudioConverterCompressionMagicCookie, &size,
                                    NULL) != noErr ||
      size == 0)
    return;
  void *cookie = malloc(size);
  OK(AudioConverterGetProperty(converter, kAudioConverterCompressionMagicCookie, &size, cookie));
  OK(AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, size, cookie));
  free(cookie);
}

/// Fills in the output's format and returns its file type.
static AudioFileTypeID chooseFormat(const char *path, const AudioStreamBasicDescription *in,
                                    AudioStreamBasicDescription *out) {
  const char *dot = strrchr(path, '.');
  EXIT_IF(!dot, "%s has no extension", path);
  AudioFileTypeID type;
  memset(out, 0, sizeof *out);
  out->mSampleRate = in->mSampleRate;
  out->mChannelsPerFrame = in->mChannelsPerFrame;
  out->mFormatID = kAudioFormatLinearPCM;
  out->mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked;
  out->mBitsPerChannel = 16;
  if (!strcmp(dot, ".wav")) {
    type = kAudioFileWAVEType;
    out->mFormatFlags = kAudioFormatFlagIsFloat | kAudioFormatFlagIsPacked;
    out->mBitsPerChannel = 32;
  } else if (!strcmp(dot, ".aif")) {
    type = kAudioFileAIFFType;
    out->mFormatFlags |= kAudioFormatFlagIsBigEndian;
  } else {
    out->mFormatFlags = out->mBitsPerChannel = 0;
    if (!strcmp(dot, ".aifc")) {
      type = kAudioFileAIFCType;
      out->mFormatID = kAudioFormatAppleIMA4;
    } else if (!strcmp(dot, ".caf")) {
      type = kAudioFileCAFType;
      out->mFormatID = kAudioFormatAppleLossless;
      out->mFormatFlags = kAppleLosslessFormatFlag_16BitSourceData;
    } else {
      type = kAudioFileM4AType;
      out->mFormatID = kAudioFormatMPEG4AAC;
    }
    UInt32 size = sizeof *out;
    OK(AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, NULL, &size, out));
    return type;
  }
  out->mFramesPerPacket = 1;
  out->mBytesPerFrame = out->mBytesPerPacket = out->mBitsPerChannel / 8 * out->mChannelsPerFrame;
  return type;
}

int main(int argc, char **argv) {
  EXIT_IF(argc != 3 && argc != 4, "usage: convert IN OUT.{wav,aif,aifc,caf,m4a} [RATE]");
  Input in;
  memset(&in, 0, sizeof in);
  CFURLRef from = makeURL(argv[1]), to = makeURL(argv[2]);
  OK(AudioFileOpenURL(from, kAudioFileReadPermission, 0, &in.file));
  UInt32 size = sizeof in.format;
  OK(AudioFileGetProperty(in.file, kAudioFilePropertyDataFormat, &size, &in.format));
  in.bytesPerPacket = upperBound(in.file);
  in.packetsPerRead = in.bytesPerPacket > 32768 ? 1 : 32768 / in.bytesPerPacket;
  in.bytes = (char *)malloc((size_t)in.packetsPerRead * in.bytesPerPacket);
  if (in.format.mBytesPerPacket == 0)
    in.descriptions = (AudioStreamPacketDescription *)calloc(in.packetsPerRead,
                                                             sizeof(AudioStreamPacketDescription));

  AudioStreamBasicDescription format;
  AudioFileTypeID type = chooseFormat(argv[2], &in.format, &format);
  if (argc == 4) format.mSampleRate = atof(argv[3]);
  AudioConverterRef converter = NULL;
  OK(AudioConverterNew(&in.format, &format, &converter));
  prepareDecoder(converter, in.file);
  // The converter completes the description.
  size = sizeof format;
  OK(AudioConverterGetProperty(converter, kAudioConverterCurrentOutputStreamDescription, &size,
                               &format));
  UInt32 packetBytes = format.mBytesPerPacket;
  if (packetBytes == 0) {
    size = sizeof packetBytes;
    OK(AudioConverterGetProperty(converter, kAudioConverterPropertyMaximumOutputPacketSize, &size,
                                 &packetBytes));
  }
  UInt32 perCall = packetBytes > 32768 ? 1 : 32768 / packetBytes;
  char *bytes = (char *)malloc((size_t)perCall * packetBytes);
  AudioStreamPacketDescription *packets = NULL;
  if (format.mBytesPerPacket == 0)
    packets = (AudioStreamPacketDescription *)calloc(perCall, sizeof(AudioStreamPacketDescription));
  AudioFileID out = NULL;
  OK(AudioFileCreateWithURL(to, type, &format, kAudioFileFlags_EraseFile, &out));
  if (format.mFormatID != kAudioFormatLinearPCM) copyEncoderCookie(converter, out);

  SInt64 written = 0;
  for (;;) {
    AudioBufferList list;
    list.mNumberBuffers = 1;
    list.mBuffers[0].mNumberChannels = format.mChannelsPerFrame;
    list.mBuffers[0].mDataByteSize = perCall * packetBytes;
    list.mBuffers[0].mData = bytes;
    UInt32 count = perCall;
    OK(AudioConverterFillComplexBuffer(converter, readPackets, &in, &count, &list, packets));
    if (count == 0) break;
    OK(AudioFileWritePackets(out, false, list.mBuffers[0].mDataByteSize, packets, written, &count,
                             bytes));
    written += count;
  }
  if (format.mFormatID != kAudioFormatLinearPCM) {
    copyEncoderCookie(converter, out);
    AudioConverterPrimeInfo prime;
    size = sizeof prime;
    UInt32 settable = 0;
    if (AudioConverterGetProperty(converter, kAudioConverterPrimeInfo, &size, &prime) == noErr &&
        AudioFileGetPropertyInfo(out, kAudioFilePropertyPacketTableInfo, NULL, &settable) ==
            noErr &&
        settable) {
      AudioFilePacketTableInfo table;
      table.mPrimingFrames = (SInt32)prime.leadingFrames;
      table.mRemainderFrames = (SInt32)prime.trailingFrames;
      table.mNumberValidFrames =
          written * format.mFramesPerPacket - prime.leadingFrames - prime.trailingFrames;
      OK(AudioFileSetProperty(out, kAudioFilePropertyPacketTableInfo, sizeof table, &table));
    }
  }
  OK(AudioConverterDispose(converter));
  OK(AudioFileClose(out));
  OK(AudioFileClose(in.file));
  printf("%lld packets\n", (long long)written);
  CFRelease(from);
  CFRelease(to);
  free(bytes);
  free(packets);
  free(in.bytes);
  free(in.descriptions);
  return 0;
}
