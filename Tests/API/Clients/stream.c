// Plays what a socket sends while it arrives.
//
// Usage: stream PORT [HOST]
//
// The parser's packets callback fills a ring of buffers. If the next buffer of the ring is still in
// use, it waits for the queue's callback to release it. The queue starts once the ring is full.
#include <AudioToolbox/AudioToolbox.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RING 6
/// Bytes of a buffer, unless a packet may be larger.
#define RING_BYTES   16384
#define RING_PACKETS 512

struct client {
  AudioFileStreamID parser;
  AudioQueueRef queue;
  AudioQueueBufferRef ring[RING];
  AudioStreamPacketDescription packets[RING_PACKETS];
  unsigned next;
  size_t capacity, filled, count;
  bool inUse[RING];
  bool started, stopped;
  unsigned long long played;
  pthread_mutex_t mutex;
  pthread_cond_t released, done;
};

static void must(OSStatus status, const char *call) {
  if (status == noErr) return;
  UInt32 s = (UInt32)status;
  fprintf(stderr, "stream: %s: %c%c%c%c (%d)\n", call, (char)(s >> 24), (char)(s >> 16),
          (char)(s >> 8), (char)s, (int)status);
  exit(1);
}

static void bufferReleased(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue;
  struct client *c = (struct client *)data;
  for (unsigned i = 0; i < RING; i++) {
    if (c->ring[i] != buffer) continue;
    pthread_mutex_lock(&c->mutex);
    c->inUse[i] = false;
    pthread_cond_signal(&c->released);
    pthread_mutex_unlock(&c->mutex);
    return;
  }
}

static void runningChanged(void *data, AudioQueueRef queue, AudioQueuePropertyID id) {
  struct client *c = (struct client *)data;
  UInt32 running = 0, size = sizeof running;
  if (AudioQueueGetProperty(queue, id, &running, &size) || running) return;
  pthread_mutex_lock(&c->mutex);
  c->stopped = true;
  pthread_cond_signal(&c->done);
  pthread_mutex_unlock(&c->mutex);
}

static void start(struct client *c) {
  if (c->started) return;
  must(AudioQueueStart(c->queue, NULL), "AudioQueueStart");
  c->started = true;
}

static void enqueueFilled(struct client *c) {
  c->inUse[c->next] = true;
  AudioQueueBufferRef buffer = c->ring[c->next];
  buffer->mAudioDataByteSize = (UInt32)c->filled;
  must(AudioQueueEnqueueBuffer(c->queue, buffer, (UInt32)c->count, c->count ? c->packets : NULL),
       "AudioQueueEnqueueBuffer");
  c->next = (c->next + 1) % RING;
  c->filled = c->count = 0;
  if (c->inUse[c->next]) start(c);
  pthread_mutex_lock(&c->mutex);
  while (c->inUse[c->next])
    pthread_cond_wait(&c->released, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
}

static void propertyFound(void *data, AudioFileStreamID parser, AudioFileStreamPropertyID id,
                          AudioFileStreamPropertyFlags *flags) {
  (void)flags;
  struct client *c = (struct client *)data;
  if (id != kAudioFileStreamProperty_ReadyToProducePackets) return;
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  must(AudioFileStreamGetProperty(parser, kAudioFileStreamProperty_DataFormat, &size, &format),
       "the data format");
  must(AudioQueueNewOutput(&format, bufferReleased, c, NULL, NULL, 0, &c->queue),
       "AudioQueueNewOutput");
  UInt32 bound = 0;
  size = sizeof bound;
  must(AudioFileStreamGetProperty(parser, kAudioFileStreamProperty_PacketSizeUpperBound, &size,
                                  &bound),
       "the largest packet");
  c->capacity = bound > RING_BYTES ? bound : RING_BYTES;
  for (int i = 0; i < RING; i++)
    must(AudioQueueAllocateBuffer(c->queue, (UInt32)c->capacity, &c->ring[i]),
         "AudioQueueAllocateBuffer");
  Boolean writable;
  if (AudioFileStreamGetPropertyInfo(parser, kAudioFileStreamProperty_MagicCookieData, &size,
                                     &writable) == noErr &&
      size > 0) {
    void *cookie = calloc(1, size);
    must(
        AudioFileStreamGetProperty(parser, kAudioFileStreamProperty_MagicCookieData, &size, cookie),
        "the cookie");
    must(AudioQueueSetProperty(c->queue, kAudioQueueProperty_MagicCookie, cookie, size),
         "setting the cookie");
    free(cookie);
  }
  must(AudioQueueAddPropertyListener(c->queue, kAudioQueueProperty_IsRunning, runningChanged, c),
       "AudioQueueAddPropertyListener");
}

static void packetsFound(void *data, UInt32 bytes, UInt32 count, const void *input,
                         AudioStreamPacketDescription *packets) {
  struct client *c = (struct client *)data;
  c->played += count;
  if (!packets) {
    // Packets of one size: fill buffers whatever the borders of the pieces are.
    const char *from = (const char *)input;
    UInt32 each = bytes / count;
    size_t room = c->capacity / each * each;
    while (bytes > 0) {
      size_t some = room - c->filled < bytes ? room - c->filled : bytes;
      memcpy((char *)c->ring[c->next]->mAudioData + c->filled, from, some);
      c->filled += some;
      from += some;
      bytes -= (UInt32)some;
      if (c->filled == room) enqueueFilled(c);
    }
    return;
  }
  for (UInt32 i = 0; i < count; i++) {
    UInt32 size = packets[i].mDataByteSize;
    if (c->filled + size > c->capacity || c->count == RING_PACKETS) enqueueFilled(c);
    memcpy((char *)c->ring[c->next]->mAudioData + c->filled,
           (const char *)input + packets[i].mStartOffset, size);
    c->packets[c->count] = packets[i];
    c->packets[c->count++].mStartOffset = (SInt64)c->filled;
    c->filled += size;
  }
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: stream PORT [HOST]\n");
    return 2;
  }
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)atoi(argv[1]));
  address.sin_addr.s_addr = inet_addr(argc > 2 ? argv[2] : "127.0.0.1");
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("stream: connect");
    return 1;
  }
  struct client *c = (struct client *)calloc(1, sizeof(struct client));
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->released, NULL);
  pthread_cond_init(&c->done, NULL);
  must(AudioFileStreamOpen(c, propertyFound, packetsFound, 0, &c->parser), "AudioFileStreamOpen");
  char piece[4096];
  ssize_t got;
  while ((got = recv(connection, piece, sizeof piece, 0)) > 0)
    must(AudioFileStreamParseBytes(c->parser, (UInt32)got, piece, 0), "AudioFileStreamParseBytes");
  if (!c->queue) {
    fprintf(stderr, "stream: nothing to play\n");
    return 1;
  }
  if (c->filled > 0) enqueueFilled(c);
  start(c);
  must(AudioQueueFlush(c->queue), "AudioQueueFlush");
  must(AudioQueueStop(c->queue, false), "AudioQueueStop");
  pthread_mutex_lock(&c->mutex);
  while (!c->stopped)
    pthread_cond_wait(&c->done, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
  must(AudioFileStreamClose(c->parser), "AudioFileStreamClose");
  must(AudioQueueDispose(c->queue, false), "AudioQueueDispose");
  close(connection);
  printf("%llu packets\n", c->played);
  free(c);
  return 0;
}
