// Records to a sound file until SIGINT. The extension chooses the file type and the format.
//
// Usage: recorder FILE.{wav,aif,aifc,caf,m4a} [RATE]
#include <AudioToolbox/AudioToolbox.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BUFFERS 4

static volatile sig_atomic_t interrupted;

static struct {
  AudioQueueRef queue;
  AudioFileID file;
  AudioStreamBasicDescription format;
  SInt64 packet;
  volatile int running;
} rec;

#define REQUIRE(expression)                                                                        \
  do {                                                                                             \
    OSStatus err_ = (expression);                                                                  \
    if (err_) {                                                                                    \
      fprintf(stderr, "recorder: line %d: %s: %d\n", __LINE__, #expression, (int)err_);            \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static const struct {
  const char *extension;
  AudioFileTypeID type;
  AudioFormatID format;
  AudioFormatFlags flags;
  UInt32 bits;
} kinds[] = {
    {".wav", kAudioFileWAVEType, kAudioFormatLinearPCM,
     kLinearPCMFormatFlagIsSignedInteger | kLinearPCMFormatFlagIsPacked, 16},
    {".aif", kAudioFileAIFFType, kAudioFormatLinearPCM,
     kLinearPCMFormatFlagIsBigEndian | kLinearPCMFormatFlagIsSignedInteger |
         kLinearPCMFormatFlagIsPacked,
     24},
    {".aifc", kAudioFileAIFCType, kAudioFormatAppleIMA4, 0, 0},
    {".caf", kAudioFileCAFType, kAudioFormatAppleLossless, kAppleLosslessFormatFlag_16BitSourceData,
     0},
    {".m4a", kAudioFileM4AType, kAudioFormatMPEG4AAC, 0, 0},
};

static void onInterrupt(int number) {
  (void)number;
  interrupted = 1;
}

static void onBuffer(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)user, (void)start;
  if (packets == 0 && rec.format.mBytesPerPacket != 0)
    packets = buffer->mAudioDataByteSize / rec.format.mBytesPerPacket;
  if (packets > 0) {
    REQUIRE(AudioFileWritePackets(rec.file, false, buffer->mAudioDataByteSize, descriptions,
                                  rec.packet, &packets, buffer->mAudioData));
    rec.packet += packets;
  }
  if (rec.running) REQUIRE(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
}

/// Copies the encoder's cookie, which some encoders complete at the end only.
static void copyCookie(void) {
  UInt32 size = 0;
  if (AudioQueueGetPropertySize(rec.queue, kAudioQueueProperty_MagicCookie, &size) != noErr ||
      size == 0)
    return;
  void *cookie = malloc(size);
  if (AudioQueueGetProperty(rec.queue, kAudioQueueProperty_MagicCookie, cookie, &size) == noErr) {
    UInt32 settable = 0;
    if (AudioFileGetPropertyInfo(rec.file, kAudioFilePropertyMagicCookieData, NULL, &settable) ==
            noErr &&
        settable)
      REQUIRE(AudioFileSetProperty(rec.file, kAudioFilePropertyMagicCookieData, size, cookie));
  }
  free(cookie);
}

static UInt32 bufferBytes(Float64 seconds) {
  UInt32 frames = (UInt32)(rec.format.mSampleRate * seconds);
  if (rec.format.mBytesPerFrame > 0) return frames * rec.format.mBytesPerFrame;
  UInt32 largest = rec.format.mBytesPerPacket, size = sizeof largest;
  if (largest == 0)
    REQUIRE(AudioQueueGetProperty(rec.queue, kAudioQueueProperty_MaximumOutputPacketSize, &largest,
                                  &size));
  UInt32 packets = rec.format.mFramesPerPacket > 0 ? frames / rec.format.mFramesPerPacket : frames;
  return (packets ? packets : 1) * largest;
}

int main(int argc, char **argv) {
  const char *dot = argc == 2 || argc == 3 ? strrchr(argv[1], '.') : NULL;
  int kind = -1;
  for (int i = 0; dot && i < (int)(sizeof kinds / sizeof kinds[0]); i++)
    if (strcasecmp(dot, kinds[i].extension) == 0) kind = i;
  if (kind < 0) {
    fprintf(stderr, "usage: recorder FILE.{wav,aif,aifc,caf,m4a} [RATE]\n");
    return 2;
  }
  signal(SIGINT, onInterrupt);

  rec.format.mFormatID = kinds[kind].format;
  rec.format.mFormatFlags = kinds[kind].flags;
  rec.format.mChannelsPerFrame = 2;
  rec.format.mSampleRate = argc > 2 ? atof(argv[2]) : 48000;
  if (rec.format.mFormatID == kAudioFormatLinearPCM) {
    rec.format.mBitsPerChannel = kinds[kind].bits;
    rec.format.mFramesPerPacket = 1;
    rec.format.mBytesPerFrame = rec.format.mBytesPerPacket = kinds[kind].bits / 8 * 2;
  } else {
    UInt32 size = sizeof rec.format;
    REQUIRE(AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, NULL, &size, &rec.format));
  }
  REQUIRE(AudioQueueNewInput(&rec.format, onBuffer, NULL, NULL, NULL, 0, &rec.queue));
  // The queue knows the fields that were left open.
  UInt32 size = sizeof rec.format;
  REQUIRE(
      AudioQueueGetProperty(rec.queue, kAudioQueueProperty_StreamDescription, &rec.format, &size));

  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[1],
                                                         (CFIndex)strlen(argv[1]), false);
  REQUIRE(AudioFileCreateWithURL(url, kinds[kind].type, &rec.format, kAudioFileFlags_EraseFile,
                                 &rec.file));
  CFRelease(url);
  copyCookie();
  UInt32 bytes = bufferBytes(0.25);
  for (int i = 0; i < BUFFERS; i++) {
    AudioQueueBufferRef buffer = NULL;
    REQUIRE(AudioQueueAllocateBuffer(rec.queue, bytes, &buffer));
    REQUIRE(AudioQueueEnqueueBuffer(rec.queue, buffer, 0, NULL));
  }
  rec.running = 1;
  REQUIRE(AudioQueueStart(rec.queue, NULL));
  printf("recording\n");
  fflush(stdout);
  while (!interrupted)
    usleep(10000);
  rec.running = 0;
  REQUIRE(AudioQueueStop(rec.queue, true));
  copyCookie();
  REQUIRE(AudioQueueDispose(rec.queue, true));
  REQUIRE(AudioFileClose(rec.file));
  printf("%lld packets\n", (long long)rec.packet);
  return 0;
}
