// An output driver in the manner of audio libraries: open, write, drain, close. A write blocks
// until a buffer is free.
//
// Usage: push FILE
//
// The program around it decodes a file to 16-bit samples and writes them in pieces of odd sizes.
#include <AudioToolbox/AudioToolbox.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: The driver

#define AO_BUFFERS 6
#define AO_BYTES   12288

typedef struct {
  AudioQueueRef queue;
  AudioQueueBufferRef buffers[AO_BUFFERS];
  int head, free_count;
  UInt32 fill;
  int started, running;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} ao_device;

static void ao_done(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue, (void)buffer;
  ao_device *ao = (ao_device *)user;
  // Buffers come back in the order in which they were enqueued: a count is enough.
  pthread_mutex_lock(&ao->lock);
  ao->free_count++;
  pthread_cond_broadcast(&ao->changed);
  pthread_mutex_unlock(&ao->lock);
}

static int ao_open(ao_device *ao, double rate, unsigned channels) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = rate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kLinearPCMFormatFlagIsSignedInteger | kAudioFormatFlagsNativeEndian |
                        kLinearPCMFormatFlagIsPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = 2 * channels;
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = channels;
  format.mBitsPerChannel = 16;
  memset(ao, 0, sizeof *ao);
  pthread_mutex_init(&ao->lock, NULL);
  pthread_cond_init(&ao->changed, NULL);
  if (AudioQueueNewOutput(&format, ao_done, ao, NULL, NULL, 0, &ao->queue)) return -1;
  for (int i = 0; i < AO_BUFFERS; i++)
    if (AudioQueueAllocateBuffer(ao->queue, AO_BYTES, &ao->buffers[i])) return -1;
  ao->free_count = AO_BUFFERS;
  return 0;
}

/// Enqueues the buffer at the head. The queue starts when the first two are full.
static int ao_submit(ao_device *ao) {
  AudioQueueBufferRef buffer = ao->buffers[ao->head];
  buffer->mAudioDataByteSize = ao->fill;
  ao->fill = 0;
  ao->head = (ao->head + 1) % AO_BUFFERS;
  pthread_mutex_lock(&ao->lock);
  int start = --ao->free_count <= AO_BUFFERS - 2 && !ao->started;
  pthread_mutex_unlock(&ao->lock);
  if (AudioQueueEnqueueBuffer(ao->queue, buffer, 0, NULL)) return -1;
  if (start) {
    ao->started = 1;
    if (AudioQueueStart(ao->queue, NULL)) return -1;
  }
  return 0;
}

static int ao_write(ao_device *ao, const char *data, size_t bytes) {
  while (bytes > 0) {
    pthread_mutex_lock(&ao->lock);
    while (ao->free_count == 0)
      pthread_cond_wait(&ao->changed, &ao->lock);
    pthread_mutex_unlock(&ao->lock);
    UInt32 room = ao->buffers[ao->head]->mAudioDataBytesCapacity - ao->fill;
    UInt32 some = bytes < room ? (UInt32)bytes : room;
    memcpy((char *)ao->buffers[ao->head]->mAudioData + ao->fill, data, some);
    ao->fill += some;
    data += some;
    bytes -= some;
    if (some == room && ao_submit(ao)) return -1;
  }
  return 0;
}

/// Plays what has been written, and waits until all buffers are back.
static int ao_drain(ao_device *ao) {
  if (ao->fill > 0 && ao_submit(ao)) return -1;
  if (!ao->started && AudioQueueStart(ao->queue, NULL)) return -1;
  if (AudioQueueFlush(ao->queue)) return -1;
  pthread_mutex_lock(&ao->lock);
  while (ao->free_count < AO_BUFFERS)
    pthread_cond_wait(&ao->changed, &ao->lock);
  pthread_mutex_unlock(&ao->lock);
  return 0;
}

static void ao_close(ao_device *ao) {
  AudioQueueStop(ao->queue, true);
  AudioQueueDispose(ao->queue, true);
  pthread_mutex_destroy(&ao->lock);
  pthread_cond_destroy(&ao->changed);
}

// MARK: The program

#define TRY(call)                                                                                  \
  do {                                                                                             \
    int error = (int)(call);                                                                       \
    if (error) return fprintf(stderr, "push: %s: %d\n", #call, error), 1;                          \
  } while (0)

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: push FILE\n"), 2;
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[1],
                                                         (CFIndex)strlen(argv[1]), false);
  ExtAudioFileRef file;
  TRY(ExtAudioFileOpenURL(url, &file));
  CFRelease(url);
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  TRY(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format));
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kLinearPCMFormatFlagIsSignedInteger | kLinearPCMFormatFlagIsPacked;
  format.mBitsPerChannel = 16;
  format.mFramesPerPacket = 1;
  format.mBytesPerFrame = format.mBytesPerPacket = 2 * format.mChannelsPerFrame;
  TRY(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof format,
                              &format));
  ao_device device;
  TRY(ao_open(&device, format.mSampleRate, format.mChannelsPerFrame));
  UInt32 frames = 1;
  for (unsigned piece = 1;; piece = piece * 13 % 2003 + 1) {
    char samples[2004 * 2 * 8];
    AudioBufferList list;
    list.mNumberBuffers = 1;
    list.mBuffers[0].mNumberChannels = format.mChannelsPerFrame;
    list.mBuffers[0].mDataByteSize = piece * format.mBytesPerFrame;
    list.mBuffers[0].mData = samples;
    frames = piece;
    TRY(ExtAudioFileRead(file, &frames, &list));
    if (frames == 0) break;
    TRY(ao_write(&device, samples, (size_t)frames * format.mBytesPerFrame));
  }
  TRY(ao_drain(&device));
  ao_close(&device);
  TRY(ExtAudioFileDispose(file));
  return 0;
}
