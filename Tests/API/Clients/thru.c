// Plays what it records: two queues with a pool of buffers between them, until SIGINT.
//
// Usage: thru
#include <AudioToolbox/AudioToolbox.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_BUFFERS  8
#define OUT_BUFFERS 16
#define FRAMES      2048
#define BYTES       (FRAMES * 8)
/// Buffers that are recorded before playback starts.
#define CUSHION 4

typedef struct {
  AudioQueueRef input, output;
  AudioQueueBufferRef pool[OUT_BUFFERS];
  int free_count;
  int cushion;
  volatile int started;
  int dropped;
  pthread_mutex_t lock;
} through;

static volatile sig_atomic_t ended;

static void end(int number) {
  (void)number;
  ended = 1;
}

#define CHECKED(call)                                                                              \
  do {                                                                                             \
    OSStatus code = (call);                                                                        \
    if (code != 0) fprintf(stderr, "thru: " #call " gives %d\n", (int)code), exit(1);              \
  } while (0)

/// Describes interleaved stereo floats.
static AudioStreamBasicDescription stereo_floats(double rate) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = rate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagsNativeFloatPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = 8;
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = 2;
  format.mBitsPerChannel = 32;
  return format;
}

static void played(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue;
  through *t = (through *)user;
  pthread_mutex_lock(&t->lock);
  t->pool[t->free_count++] = buffer;
  pthread_mutex_unlock(&t->lock);
}

static void recorded(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *time, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)time, (void)packets, (void)descriptions;
  through *t = (through *)user;
  // A stop returns the buffers that nothing was recorded to.
  if (buffer->mAudioDataByteSize == 0) return;
  AudioQueueBufferRef to = NULL;
  pthread_mutex_lock(&t->lock);
  if (t->free_count > 0) to = t->pool[--t->free_count];
  pthread_mutex_unlock(&t->lock);
  if (!to) {
    t->dropped++;
  } else {
    memcpy(to->mAudioData, buffer->mAudioData, buffer->mAudioDataByteSize);
    to->mAudioDataByteSize = buffer->mAudioDataByteSize;
    CHECKED(AudioQueueEnqueueBuffer(t->output, to, 0, NULL));
    if (++t->cushion == CUSHION) {
      CHECKED(AudioQueueStart(t->output, NULL));
      t->started = 1;
    }
  }
  if (!ended) CHECKED(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
}

int main(void) {
  static through t;
  pthread_mutex_init(&t.lock, NULL);
  signal(SIGINT, end);
  AudioStreamBasicDescription format = stereo_floats(48000);
  CHECKED(AudioQueueNewOutput(&format, played, &t, NULL, NULL, 0, &t.output));
  CHECKED(AudioQueueNewInput(&format, recorded, &t, NULL, NULL, 0, &t.input));
  for (; t.free_count < OUT_BUFFERS; t.free_count++)
    CHECKED(AudioQueueAllocateBuffer(t.output, BYTES, &t.pool[t.free_count]));
  for (int i = 0; i < IN_BUFFERS; i++) {
    AudioQueueBufferRef buffer;
    CHECKED(AudioQueueAllocateBuffer(t.input, BYTES, &buffer));
    CHECKED(AudioQueueEnqueueBuffer(t.input, buffer, 0, NULL));
  }
  CHECKED(AudioQueueStart(t.input, NULL));
  while (!t.started)
    usleep(10000);
  printf("recording\n");
  fflush(stdout);
  while (!ended)
    usleep(10000);
  CHECKED(AudioQueueStop(t.input, true));
  // Everything that was recorded is played before the program ends.
  CHECKED(AudioQueueStop(t.output, false));
  UInt32 running = 1, size = sizeof running;
  while (running) {
    usleep(10000);
    CHECKED(AudioQueueGetProperty(t.output, kAudioQueueProperty_IsRunning, &running, &size));
  }
  CHECKED(AudioQueueDispose(t.input, true));
  CHECKED(AudioQueueDispose(t.output, true));
  printf("dropped %d buffers\n", t.dropped);
  return 0;
}
