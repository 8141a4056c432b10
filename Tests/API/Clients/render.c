// Renders a sound file offline, through a queue, to a CAF file of floats.
//
// Usage: render IN OUT.caf [RATE [VOLUME]]
#include <AudioToolbox/AudioToolbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kBuffers = 2,
  kFramesPerRender = 1000
};

typedef struct {
  AudioFileID source;
  AudioStreamBasicDescription format;
  AudioStreamPacketDescription *packets;
  SInt64 position;
  UInt32 packetsPerBuffer;
  Boolean flushed;
} Renderer;

static void fail(const char *what, OSStatus status) {
  UInt32 code = CFSwapInt32HostToBig((UInt32)status);
  fprintf(stderr, "render: %s: %d '%.4s'\n", what, (int)status, (const char *)&code);
  exit(EXIT_FAILURE);
}

#define XThrowIf(status, what)                                                                     \
  do {                                                                                             \
    OSStatus status__ = (status);                                                                  \
    if (status__) fail(what, status__);                                                            \
  } while (0)

/// Called from inside AudioQueueOfflineRender, and by hand before it.
static void refill(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  Renderer *my = (Renderer *)user;
  if (my->flushed) return;
  UInt32 bytes = buffer->mAudioDataBytesCapacity, count = my->packetsPerBuffer;
  OSStatus status = AudioFileReadPacketData(my->source, false, &bytes, my->packets, my->position,
                                            &count, buffer->mAudioData);
  if (status != noErr && status != kAudioFileEndOfFileError)
    fail("AudioFileReadPacketData", status);
  if (count > 0) {
    buffer->mAudioDataByteSize = bytes;
    XThrowIf(AudioQueueEnqueueBuffer(queue, buffer, my->packets ? count : 0, my->packets),
             "AudioQueueEnqueueBuffer");
    my->position += count;
  } else {
    my->flushed = true;
    XThrowIf(AudioQueueFlush(queue), "AudioQueueFlush");
    XThrowIf(AudioQueueStop(queue, false), "AudioQueueStop");
  }
}

static CFURLRef urlOf(const char *path) {
  CFStringRef string = CFStringCreateWithCString(NULL, path, kCFStringEncodingUTF8);
  CFURLRef url = CFURLCreateWithFileSystemPath(NULL, string, kCFURLPOSIXPathStyle, false);
  CFRelease(string);
  return url;
}

int main(int argc, char *argv[]) {
  if (argc < 3 || argc > 5) {
    fprintf(stderr, "usage: render IN OUT.caf [RATE [VOLUME]]\n");
    return 2;
  }
  Renderer my;
  memset(&my, 0, sizeof my);
  CFURLRef in = urlOf(argv[1]), out = urlOf(argv[2]);
  XThrowIf(AudioFileOpenURL(in, kAudioFileReadPermission, 0, &my.source), "AudioFileOpenURL");
  UInt32 size = sizeof my.format;
  XThrowIf(AudioFileGetProperty(my.source, kAudioFilePropertyDataFormat, &size, &my.format),
           "kAudioFilePropertyDataFormat");
  AudioQueueRef queue;
  XThrowIf(AudioQueueNewOutput(&my.format, refill, &my, CFRunLoopGetCurrent(),
                               kCFRunLoopCommonModes, 0, &queue),
           "AudioQueueNewOutput");

  // Buffers of a quarter of a second.
  UInt32 bound = 0;
  size = sizeof bound;
  XThrowIf(AudioFileGetProperty(my.source, kAudioFilePropertyPacketSizeUpperBound, &size, &bound),
           "kAudioFilePropertyPacketSizeUpperBound");
  UInt32 frames = my.format.mFramesPerPacket ? my.format.mFramesPerPacket : 1024;
  my.packetsPerBuffer = (UInt32)(my.format.mSampleRate / 4 / frames) + 1;
  if (my.format.mBytesPerPacket == 0 || my.format.mFramesPerPacket == 0)
    my.packets = (AudioStreamPacketDescription *)malloc(my.packetsPerBuffer *
                                                        sizeof(AudioStreamPacketDescription));
  OSStatus status =
      AudioFileGetPropertyInfo(my.source, kAudioFilePropertyMagicCookieData, &size, NULL);
  if (status == noErr && size > 0) {
    void *cookie = malloc(size);
    XThrowIf(AudioFileGetProperty(my.source, kAudioFilePropertyMagicCookieData, &size, cookie),
             "kAudioFilePropertyMagicCookieData");
    XThrowIf(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, size),
             "kAudioQueueProperty_MagicCookie");
    free(cookie);
  }
  if (argc > 4)
    XThrowIf(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, (Float32)atof(argv[4])),
             "kAudioQueueParam_Volume");
  AudioQueueBufferRef buffers[kBuffers];
  for (int i = 0; i < kBuffers; i++)
    XThrowIf(AudioQueueAllocateBuffer(queue, my.packetsPerBuffer * bound, &buffers[i]),
             "AudioQueueAllocateBuffer");

  AudioStreamBasicDescription pcm;
  memset(&pcm, 0, sizeof pcm);
  pcm.mSampleRate = argc > 3 ? atof(argv[3]) : my.format.mSampleRate;
  pcm.mFormatID = kAudioFormatLinearPCM;
  pcm.mFormatFlags = kAudioFormatFlagsNativeFloatPacked;
  pcm.mChannelsPerFrame = my.format.mChannelsPerFrame;
  pcm.mBitsPerChannel = 32;
  pcm.mFramesPerPacket = 1;
  pcm.mBytesPerFrame = pcm.mBytesPerPacket = 4 * pcm.mChannelsPerFrame;
  XThrowIf(AudioQueueSetOfflineRenderFormat(queue, &pcm, NULL), "AudioQueueSetOfflineRenderFormat");
  ExtAudioFileRef capture;
  XThrowIf(ExtAudioFileCreateWithURL(out, kAudioFileCAFType, &pcm, NULL, kAudioFileFlags_EraseFile,
                                     &capture),
           "ExtAudioFileCreateWithURL");
  XThrowIf(
      ExtAudioFileSetProperty(capture, kExtAudioFileProperty_ClientDataFormat, sizeof pcm, &pcm),
      "kExtAudioFileProperty_ClientDataFormat");
  AudioQueueBufferRef rendered;
  XThrowIf(AudioQueueAllocateBuffer(queue, kFramesPerRender * pcm.mBytesPerFrame, &rendered),
           "AudioQueueAllocateBuffer");

  XThrowIf(AudioQueueStart(queue, NULL), "AudioQueueStart");
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  time.mFlags = kAudioTimeStampSampleTimeValid;
  XThrowIf(AudioQueueOfflineRender(queue, &time, rendered, 0),
           "AudioQueueOfflineRender of nothing");
  for (int i = 0; i < kBuffers; i++)
    refill(&my, queue, buffers[i]);
  for (;;) {
    XThrowIf(AudioQueueOfflineRender(queue, &time, rendered, kFramesPerRender),
             "AudioQueueOfflineRender");
    AudioBufferList list;
    list.mNumberBuffers = 1;
    list.mBuffers[0].mNumberChannels = pcm.mChannelsPerFrame;
    list.mBuffers[0].mDataByteSize = rendered->mAudioDataByteSize;
    list.mBuffers[0].mData = rendered->mAudioData;
    UInt32 count = rendered->mAudioDataByteSize / pcm.mBytesPerFrame;
    if (count == 0 && my.flushed) break;
    XThrowIf(ExtAudioFileWrite(capture, count, &list), "ExtAudioFileWrite");
    time.mSampleTime += count;
  }
  printf("rendered %.0f frames\n", time.mSampleTime);
  XThrowIf(AudioQueueDispose(queue, true), "AudioQueueDispose");
  XThrowIf(AudioFileClose(my.source), "AudioFileClose");
  XThrowIf(ExtAudioFileDispose(capture), "ExtAudioFileDispose");
  CFRelease(in);
  CFRelease(out);
  free(my.packets);
  return 0;
}
