// Plays sound from a socket or from standard input while it arrives.
//
// Usage: stream-player HOST PORT
//        stream-player < FILE
//
// The parser takes bytes in pieces of any size and returns packets: AAC in ADTS, MP3, and the other
// formats that it knows. The program copies them to the queue's buffers, and enqueues each full
// buffer. When all buffers are enqueued, it stops reading until the queue has played one. That
// throttles the sender, too.

#include <AudioToolbox/AudioToolbox.h>

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// Enough buffers to bridge short network interruptions.
#define BUFFER_COUNT 6
#define BUFFER_BYTES 8192
/// Maximum packets in a buffer, if their size varies.
#define PACKETS_PER_BUFFER 64

// MARK: State

/// The main thread reads, parses and enqueues. The queue's callback thread returns buffers. The
/// lock protects what both use.
struct player {
  AudioFileStreamID stream;
  AudioQueueRef queue;
  AudioStreamBasicDescription format;
  /// The buffer being filled.
  AudioQueueBufferRef current;
  UInt64 packets_played;
  /// The first error in a callback. Callbacks do nothing after it.
  OSStatus error;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  AudioQueueBufferRef free_buffers[BUFFER_COUNT];
  int free_count;
  bool is_started;
  bool is_over;
};

// MARK: Errors

/// Prints the call that failed and its result: most results are four-character codes, others are
/// numbers.
static void report(const char *call, OSStatus status) {
  char text[5] = {(char)(status >> 24), (char)(status >> 16), (char)(status >> 8), (char)status};
  bool is_text = true;
  for (int i = 0; i < 4; i++)
    is_text = is_text && text[i] >= ' ' && text[i] <= '~';
  if (is_text)
    fprintf(stderr, "stream-player: %s: '%s'\n", call, text);
  else
    fprintf(stderr, "stream-player: %s: %d\n", call, (int)status);
}

/// Returns from the calling function if the call fails.
#define TRY(call, function, ...)                                                                   \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) {                                                                        \
      report(call, status_);                                                                       \
      return status_;                                                                              \
    }                                                                                              \
  } while (0)

// MARK: The queue

/// Returns a played buffer to the free list. Runs on the queue's callback thread.
static void buffer_played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue;
  struct player *player = data;
  pthread_mutex_lock(&player->lock);
  player->free_buffers[player->free_count++] = buffer;
  pthread_cond_signal(&player->changed);
  pthread_mutex_unlock(&player->lock);
}

/// Wakes the main thread when the queue has played its last frame, or on an error.
static void running_changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  struct player *player = data;
  UInt32 is_running = 0, size = sizeof is_running;
  OSStatus status = AudioQueueGetProperty(queue, property, &is_running, &size);
  if (status == noErr && is_running) return;
  pthread_mutex_lock(&player->lock);
  player->is_over = true;
  pthread_cond_signal(&player->changed);
  pthread_mutex_unlock(&player->lock);
}

static AudioQueueBufferRef take_buffer(struct player *player) {
  pthread_mutex_lock(&player->lock);
  while (player->free_count == 0)
    pthread_cond_wait(&player->changed, &player->lock);
  AudioQueueBufferRef buffer = player->free_buffers[--player->free_count];
  pthread_mutex_unlock(&player->lock);
  buffer->mAudioDataByteSize = 0;
  buffer->mPacketDescriptionCount = 0;
  return buffer;
}

/// Creates the queue for the stream's format.
static OSStatus make_queue(struct player *player) {
  UInt32 size = sizeof player->format;
  TRY("AudioFileStreamGetProperty(DataFormat)", AudioFileStreamGetProperty, player->stream,
      kAudioFileStreamProperty_DataFormat, &size, &player->format);
  // Without a run loop, the queue calls back on its own thread.
  TRY("AudioQueueNewOutput", AudioQueueNewOutput, &player->format, buffer_played, player, NULL,
      NULL, 0, &player->queue);
  TRY("AudioQueueAddPropertyListener(IsRunning)", AudioQueueAddPropertyListener, player->queue,
      kAudioQueueProperty_IsRunning, running_changed, player);

  // The decoder's magic cookie, which many streams do not have.
  UInt8 cookie[4096];
  size = sizeof cookie;
  if (AudioFileStreamGetProperty(player->stream, kAudioFileStreamProperty_MagicCookieData, &size,
                                 cookie) == noErr)
    TRY("AudioQueueSetProperty(MagicCookie)", AudioQueueSetProperty, player->queue,
        kAudioQueueProperty_MagicCookie, cookie, size);

  // A buffer must have room for the largest packet.
  UInt32 bytes = 0;
  size = sizeof bytes;
  TRY("AudioFileStreamGetProperty(PacketSizeUpperBound)", AudioFileStreamGetProperty,
      player->stream, kAudioFileStreamProperty_PacketSizeUpperBound, &size, &bytes);
  if (bytes < BUFFER_BYTES) bytes = BUFFER_BYTES;
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY("AudioQueueAllocateBuffer", AudioQueueAllocateBufferWithPacketDescriptions, player->queue,
        bytes, PACKETS_PER_BUFFER, &buffer);
    player->free_buffers[player->free_count++] = buffer;
  }
  return noErr;
}

/// Enqueues the filled buffer. The queue starts once no buffer is free.
static OSStatus enqueue_current(struct player *player) {
  AudioQueueBufferRef buffer = player->current;
  player->current = NULL;
  if (!buffer || buffer->mAudioDataByteSize == 0) return noErr;
  TRY("AudioQueueEnqueueBuffer", AudioQueueEnqueueBuffer, player->queue, buffer,
      buffer->mPacketDescriptionCount, buffer->mPacketDescriptions);
  pthread_mutex_lock(&player->lock);
  bool starts = !player->is_started && player->free_count == 0;
  player->is_started = player->is_started || starts;
  pthread_mutex_unlock(&player->lock);
  if (starts) TRY("AudioQueueStart", AudioQueueStart, player->queue, NULL);
  return noErr;
}

/// Appends a packet to the current buffer, or to the next one if it does not fit. `description` is
/// NULL for packets of constant size.
static OSStatus add_packet(struct player *player, const UInt8 *packet, UInt32 bytes,
                           const AudioStreamPacketDescription *description) {
  AudioQueueBufferRef buffer = player->current;
  bool is_full = buffer && (buffer->mAudioDataBytesCapacity - buffer->mAudioDataByteSize < bytes ||
                            buffer->mPacketDescriptionCount == PACKETS_PER_BUFFER);
  if (is_full) {
    OSStatus status = enqueue_current(player);
    if (status != noErr) return status;
  }
  if (!player->current) player->current = take_buffer(player);
  buffer = player->current;
  memcpy((UInt8 *)buffer->mAudioData + buffer->mAudioDataByteSize, packet, bytes);
  if (description) {
    AudioStreamPacketDescription *own =
        &buffer->mPacketDescriptions[buffer->mPacketDescriptionCount];
    *own = *description;
    own->mStartOffset = buffer->mAudioDataByteSize;
    buffer->mPacketDescriptionCount++;
  }
  buffer->mAudioDataByteSize += bytes;
  player->packets_played++;
  return noErr;
}

// MARK: The parser's callbacks

static void property_found(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID property,
                           AudioFileStreamPropertyFlags *flags) {
  (void)stream;
  (void)flags;
  struct player *player = data;
  // At this property, all properties of the stream are known.
  if (property == kAudioFileStreamProperty_ReadyToProducePackets)
    player->error = make_queue(player);
}

static void packets_found(void *data, UInt32 bytes, UInt32 count, const void *input,
                          AudioStreamPacketDescription *descriptions) {
  struct player *player = data;
  const UInt8 *packets = input;
  for (UInt32 i = 0; i < count && player->error == noErr; i++) {
    if (descriptions)
      player->error = add_packet(player, packets + descriptions[i].mStartOffset,
                                 descriptions[i].mDataByteSize, &descriptions[i]);
    else
      player->error =
          add_packet(player, packets + (size_t)i * (bytes / count), bytes / count, NULL);
  }
}

// MARK: Playing

/// Reads to the end, and waits until everything has been played.
static OSStatus play(struct player *player, int input) {
  char bytes[4096];
  ssize_t count;
  while ((count = read(input, bytes, sizeof bytes)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      perror("stream-player: read");
      return kAudioFileStreamError_UnspecifiedError;
    }
    TRY("AudioFileStreamParseBytes", AudioFileStreamParseBytes, player->stream, (UInt32)count,
        bytes, 0);
    if (player->error != noErr) return player->error;
  }
  if (player->packets_played == 0) {
    fprintf(stderr, "stream-player: no sound came\n");
    return kAudioFileStreamError_InvalidFile;
  }
  OSStatus status = enqueue_current(player);
  if (status != noErr) return status;
  // A short stream did not fill all buffers, so the queue has not started yet.
  if (!player->is_started) TRY("AudioQueueStart", AudioQueueStart, player->queue, NULL);
  // The queue plays its remaining buffers before it stops.
  TRY("AudioQueueStop", AudioQueueStop, player->queue, false);
  pthread_mutex_lock(&player->lock);
  while (!player->is_over)
    pthread_cond_wait(&player->changed, &player->lock);
  pthread_mutex_unlock(&player->lock);
  return noErr;
}

/// Returns a connected socket, or -1.
static int connect_to(const char *host, const char *port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  int failure = getaddrinfo(host, port, &hints, &found);
  if (failure != 0) {
    fprintf(stderr, "stream-player: %s port %s: %s\n", host, port, gai_strerror(failure));
    return -1;
  }
  int result = -1;
  for (struct addrinfo *next = found; next && result < 0; next = next->ai_next) {
    result = socket(next->ai_family, next->ai_socktype, next->ai_protocol);
    if (result >= 0 && connect(result, next->ai_addr, next->ai_addrlen) != 0) {
      close(result);
      result = -1;
    }
  }
  if (result < 0) fprintf(stderr, "stream-player: %s port %s: %s\n", host, port, strerror(errno));
  freeaddrinfo(found);
  return result;
}

int main(int argc, char **argv) {
  if (argc != 1 && argc != 3) {
    fprintf(stderr, "usage: stream-player HOST PORT, or stream-player < FILE\n");
    return 2;
  }
  int input = argc == 3 ? connect_to(argv[1], argv[2]) : STDIN_FILENO;
  if (input < 0) return 1;
  struct player player = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  // Without a hint, the parser detects the container from the data.
  OSStatus status = AudioFileStreamOpen(&player, property_found, packets_found, 0, &player.stream);
  if (status != noErr) {
    report("AudioFileStreamOpen", status);
    return 1;
  }
  status = play(&player, input);
  UInt32 id = player.format.mFormatID;
  if (status == noErr)
    printf("played %llu packets of '%c%c%c%c', %u channels, %g Hz\n",
           (unsigned long long)player.packets_played, (char)(id >> 24), (char)(id >> 16),
           (char)(id >> 8), (char)id, (unsigned)player.format.mChannelsPerFrame,
           player.format.mSampleRate);
  // Disposing of the queue frees its buffers.
  if (player.queue) AudioQueueDispose(player.queue, true);
  AudioFileStreamClose(player.stream);
  if (input != STDIN_FILENO) close(input);
  return status == noErr ? 0 : 1;
}
