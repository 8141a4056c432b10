// Under a small limit of locked memory, as many queues play as JACK's library alone opens clients.
// The caller sets the limit.
#include "check.h"

enum {
  MOST = 12
};

static void refill(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  memset(buffer->mAudioData, 0, 4096);
  buffer->mAudioDataByteSize = 4096;
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

/// Opens clients until JACK's library refuses one, and returns their number.
static int count_clients(void) {
  jack_client_t *clients[MOST];
  int count = 0;
  // The server may have just been started.
  WAIT(clients[0] = jack_client_open("first", JackNoStartServer, NULL));
  for (count = 1; count < MOST; count++)
    if (!(clients[count] = jack_client_open("next", JackNoStartServer, NULL))) break;
  for (int i = 0; i < count; i++)
    jack_client_close(clients[i]);
  return count;
}

int main(void) {
  int clients = count_clients();
  CHECK(clients > 1 && clients < MOST);
  AudioStreamBasicDescription format = {
      .mSampleRate = 48000,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = 4,
      .mFramesPerPacket = 1,
      .mBytesPerFrame = 4,
      .mChannelsPerFrame = 1,
      .mBitsPerChannel = 32,
  };
  AudioQueueRef queues[MOST];
  int count = 0;
  for (; count < MOST; count++) {
    AudioQueueRef queue = NULL;
    WORKS(AudioQueueNewOutput(&format, refill, NULL, NULL, NULL, 0, &queue));
    for (int i = 0; i < 2; i++) {
      AudioQueueBufferRef buffer = NULL;
      WORKS(AudioQueueAllocateBuffer(queue, 4096, &buffer));
      refill(NULL, queue, buffer);
    }
    queues[count] = queue;
    if (AudioQueueStart(queue, NULL)) break;
  }
  EQUAL(count, clients);
  for (int i = 0; i < count; i++)
    WAIT(time_of(queues[i]) > 1000);
  puts("ok as many queues as clients");
  for (int i = 0; i <= count; i++)
    WORKS(AudioQueueDispose(queues[i], true));
  return 0;
}
