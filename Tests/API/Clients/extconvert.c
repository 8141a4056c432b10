// Converts a sound file with two ExtAudioFiles.
//
// Usage: extconvert IN OUT.{wav,aif,aifc,caf,m4a} [RATE]
#include <AudioToolbox/AudioToolbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096

static OSStatus last;

/// Runs a call and jumps to the end of the function if it fails.
#define FAILS(call) ((last = (call)) != noErr && fprintf(stderr, "extconvert: %s\n", #call))

static const char *extensionOf(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot ? dot + 1 : "";
}

static void describePCM(AudioStreamBasicDescription *format, Float64 rate, UInt32 channels,
                        UInt32 bits, AudioFormatFlags flags) {
  memset(format, 0, sizeof *format);
  format->mSampleRate = rate;
  format->mFormatID = kAudioFormatLinearPCM;
  format->mFormatFlags = flags | kAudioFormatFlagIsPacked;
  format->mChannelsPerFrame = channels;
  format->mBitsPerChannel = bits;
  format->mFramesPerPacket = 1;
  format->mBytesPerFrame = format->mBytesPerPacket = bits / 8 * channels;
}

static AudioFileTypeID describeOutput(const char *extension, AudioStreamBasicDescription *format,
                                      Float64 rate, UInt32 channels) {
  if (strcmp(extension, "wav") == 0) {
    describePCM(format, rate, channels, 32, kAudioFormatFlagIsFloat);
    return kAudioFileWAVEType;
  }
  if (strcmp(extension, "aif") == 0) {
    describePCM(format, rate, channels, 16,
                kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian);
    return kAudioFileAIFFType;
  }
  memset(format, 0, sizeof *format);
  format->mSampleRate = rate;
  format->mChannelsPerFrame = channels;
  AudioFileTypeID type = kAudioFileM4AType;
  format->mFormatID = kAudioFormatMPEG4AAC;
  if (strcmp(extension, "caf") == 0) {
    type = kAudioFileCAFType;
    format->mFormatID = kAudioFormatAppleLossless;
    format->mFormatFlags = kAppleLosslessFormatFlag_16BitSourceData;
    format->mFramesPerPacket = 4096;
  } else if (strcmp(extension, "aifc") == 0) {
    type = kAudioFileAIFCType;
    format->mFormatID = kAudioFormatAppleIMA4;
  }
  return type;
}

static bool convertFile(CFURLRef source, CFURLRef destination, const char *extension,
                        Float64 rate) {
  ExtAudioFileRef in = NULL, out = NULL;
  AudioStreamBasicDescription fileFormat, outFormat, client;
  UInt32 size = sizeof fileFormat;
  if (FAILS(ExtAudioFileOpenURL(source, &in))) return false;
  if (FAILS(ExtAudioFileGetProperty(in, kExtAudioFileProperty_FileDataFormat, &size, &fileFormat)))
    return false;
  if (rate == 0) rate = fileFormat.mSampleRate;
  AudioFileTypeID type = describeOutput(extension, &outFormat, rate, fileFormat.mChannelsPerFrame);
  if (FAILS(ExtAudioFileCreateWithURL(destination, type, &outFormat, NULL,
                                      kAudioFileFlags_EraseFile, &out)))
    return false;

  // Both sides use floats at the new rate: the reading side resamples.
  describePCM(&client, rate, fileFormat.mChannelsPerFrame, 32, kAudioFormatFlagIsFloat);
  if (FAILS(ExtAudioFileSetProperty(in, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                    &client)) ||
      FAILS(ExtAudioFileSetProperty(out, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                    &client)))
    return false;

  Float32 *samples = (Float32 *)malloc((size_t)CHUNK * client.mBytesPerFrame);
  long long total = 0;
  for (;;) {
    AudioBufferList list;
    list.mNumberBuffers = 1;
    list.mBuffers[0].mNumberChannels = client.mChannelsPerFrame;
    list.mBuffers[0].mDataByteSize = CHUNK * client.mBytesPerFrame;
    list.mBuffers[0].mData = samples;
    UInt32 frames = CHUNK;
    if (FAILS(ExtAudioFileRead(in, &frames, &list))) return false;
    if (frames == 0) break;
    if (FAILS(ExtAudioFileWrite(out, frames, &list))) return false;
    total += frames;
  }
  free(samples);
  if (FAILS(ExtAudioFileDispose(out)) || FAILS(ExtAudioFileDispose(in))) return false;
  printf("%lld frames\n", total);
  return true;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: extconvert IN OUT.{wav,aif,aifc,caf,m4a} [RATE]\n");
    return 2;
  }
  CFURLRef urls[2];
  for (int i = 0; i < 2; i++)
    urls[i] = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[i + 1],
                                                      (CFIndex)strlen(argv[i + 1]), false);
  bool converted =
      convertFile(urls[0], urls[1], extensionOf(argv[2]), argc > 3 ? atof(argv[3]) : 0);
  if (!converted) fprintf(stderr, "extconvert: error %d\n", (int)last);
  CFRelease(urls[0]);
  CFRelease(urls[1]);
  return converted ? 0 : 1;
}
