// A game engine's sound device: one mutex round every call, which the callback takes, too.
//
// Usage: engine MUSIC
//
// The callback only marks buffers as free. The engine's frame loop refills them, 60 times a second.
// When the music has been handed over, the engine sleeps for the rest of it and shuts down.
#include <AudioToolbox/AudioToolbox.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_BUFFERS 5

typedef struct {
  pthread_mutex_t mutex;
  AudioQueueRef queue;
  AudioFileID music;
  AudioStreamBasicDescription format;
  AudioStreamPacketDescription *descriptions;
  AudioQueueBufferRef idle[STREAM_BUFFERS];
  UInt32 packetsPerBuffer, bytesPerBuffer;
  SInt64 nextPacket;
  int idleCount;
  bool initialized, finished;
} SoundDevice;

static SoundDevice device;

#define LOCKED_CALL(function, ...)                                                                 \
  do {                                                                                             \
    pthread_mutex_lock(&device.mutex);                                                             \
    OSStatus result = function(__VA_ARGS__);                                                       \
    pthread_mutex_unlock(&device.mutex);                                                           \
    if (result != noErr) {                                                                         \
      fprintf(stderr, "engine: " #function " returned %d\n", (int)result);                         \
      return false;                                                                                \
    }                                                                                              \
  } while (0)

static void S_BufferDone(void *unused, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)unused, (void)queue;
  pthread_mutex_lock(&device.mutex);
  device.idle[device.idleCount++] = buffer;
  pthread_mutex_unlock(&device.mutex);
}

static bool S_SetCookie(void) {
  UInt32 size = 0;
  if (AudioFileGetPropertyInfo(device.music, kAudioFilePropertyMagicCookieData, &size, NULL) ||
      size == 0)
    return true;
  UInt8 *cookie = (UInt8 *)malloc(size);
  if (AudioFileGetProperty(device.music, kAudioFilePropertyMagicCookieData, &size, cookie) == noErr)
    LOCKED_CALL(AudioQueueSetProperty, device.queue, kAudioQueueProperty_MagicCookie, cookie, size);
  free(cookie);
  return true;
}

static bool S_Init(const char *path) {
  pthread_mutex_init(&device.mutex, NULL);
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  LOCKED_CALL(AudioFileOpenURL, url, kAudioFileReadPermission, 0, &device.music);
  CFRelease(url);
  UInt32 size = sizeof device.format;
  LOCKED_CALL(AudioFileGetProperty, device.music, kAudioFilePropertyDataFormat, &size,
              &device.format);
  UInt32 bound = 0;
  size = sizeof bound;
  LOCKED_CALL(AudioFileGetProperty, device.music, kAudioFilePropertyPacketSizeUpperBound, &size,
              &bound);
  UInt32 frames = device.format.mFramesPerPacket ? device.format.mFramesPerPacket : 1;
  device.packetsPerBuffer = (UInt32)(device.format.mSampleRate * 0.1 / frames) + 1;
  device.bytesPerBuffer = bound * device.packetsPerBuffer;
  if (device.format.mBytesPerPacket == 0)
    device.descriptions = (AudioStreamPacketDescription *)calloc(device.packetsPerBuffer,
                                                                 sizeof *device.descriptions);
  LOCKED_CALL(AudioQueueNewOutput, &device.format, S_BufferDone, NULL, NULL, NULL, 0,
              &device.queue);
  if (!S_SetCookie()) return false;
  for (int i = 0; i < STREAM_BUFFERS; i++)
    LOCKED_CALL(AudioQueueAllocateBuffer, device.queue, device.bytesPerBuffer, &device.idle[i]);
  device.idleCount = STREAM_BUFFERS;
  LOCKED_CALL(AudioQueueSetParameter, device.queue, kAudioQueueParam_Volume, 0.5f);
  device.initialized = true;
  return true;
}

/// Refills the idle buffers.
static bool S_Update(void) {
  for (;;) {
    AudioQueueBufferRef buffer = NULL;
    pthread_mutex_lock(&device.mutex);
    if (device.idleCount > 0 && !device.finished) {
      buffer = device.idle[0];
      memmove(device.idle, device.idle + 1, (size_t)--device.idleCount * sizeof device.idle[0]);
    }
    pthread_mutex_unlock(&device.mutex);
    if (!buffer) return true;
    UInt32 bytes = device.bytesPerBuffer, packets = device.packetsPerBuffer;
    LOCKED_CALL(AudioFileReadPacketData, device.music, false, &bytes, device.descriptions,
                device.nextPacket, &packets, buffer->mAudioData);
    if (packets == 0) {
      device.finished = true;
      return true;
    }
    device.nextPacket += packets;
    buffer->mAudioDataByteSize = bytes;
    LOCKED_CALL(AudioQueueEnqueueBuffer, device.queue, buffer, device.descriptions ? packets : 0,
                device.descriptions);
  }
}

static bool S_Start(void) {
  LOCKED_CALL(AudioQueuePrime, device.queue, 0, NULL);
  LOCKED_CALL(AudioQueueStart, device.queue, NULL);
  return true;
}

static bool S_Time(Float64 *frames) {
  AudioTimeStamp now;
  LOCKED_CALL(AudioQueueGetCurrentTime, device.queue, NULL, &now, NULL);
  *frames = now.mSampleTime;
  return true;
}

static bool S_Shutdown(void) {
  if (!device.initialized) return true;
  // Not under the lock: the callbacks that return the buffers take it.
  if (AudioQueueStop(device.queue, true) != noErr) return false;
  if (AudioQueueDispose(device.queue, true) != noErr) return false;
  LOCKED_CALL(AudioFileClose, device.music);
  pthread_mutex_destroy(&device.mutex);
  free(device.descriptions);
  return true;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: engine MUSIC\n");
    return 2;
  }
  if (!S_Init(argv[1]) || !S_Update() || !S_Start()) return 1;
  while (!device.finished) {
    usleep(1000000 / 60);
    if (!S_Update()) return 1;
  }
  // The queue's time stands for what has been heard.
  Float64 length = (Float64)device.nextPacket * device.format.mFramesPerPacket, now = 0;
  while (now < length) {
    if (!S_Time(&now)) return 1;
    if (now < length) usleep((useconds_t)((length - now) / device.format.mSampleRate * 1e6) + 1000);
  }
  if (!S_Shutdown()) return 1;
  printf("%lld packets\n", (long long)device.nextPacket);
  return 0;
}
