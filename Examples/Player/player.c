// Plays a sound file through an audio queue.
//
// Usage: player FILE [VOLUME]
//
// Whenever the queue has played a buffer, it returns the buffer to a callback, which refills it
// from the file. At the end of the file the callback stops the queue, which first plays its
// remaining buffers.

#include <AudioToolbox/AudioToolbox.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Enough buffers to refill one while the others play.
#define BUFFER_COUNT 3
/// Length of a buffer in seconds.
#define BUFFER_SECONDS 0.25

// MARK: State

/// The state of the callbacks. They run on the run loop of the thread that created the queue, so no
/// lock is needed.
struct player {
  AudioFileID file;
  AudioStreamBasicDescription format;
  AudioQueueRef queue;
  AudioQueueBufferRef buffers[BUFFER_COUNT];
  /// Maximum packets in a buffer.
  UInt32 packets_per_buffer;
  /// The next packet to read from the file.
  SInt64 next_packet;
  UInt64 buffers_filled;
  /// Set when the file has been read to its end, or cannot be read any further.
  bool is_at_end;
  /// Error in a callback, which has no caller to return it to.
  OSStatus error;
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
    fprintf(stderr, "player: %s: '%s'\n", call, text);
  else
    fprintf(stderr, "player: %s: %d\n", call, (int)status);
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

// MARK: Callbacks

/// Fills a buffer with the file's next packets, and enqueues it.
static OSStatus fill(struct player *player, AudioQueueBufferRef buffer) {
  UInt32 bytes = buffer->mAudioDataBytesCapacity;
  UInt32 packets = player->packets_per_buffer;
  TRY("AudioFileReadPacketData", AudioFileReadPacketData, player->file, false, &bytes,
      buffer->mPacketDescriptions, player->next_packet, &packets, buffer->mAudioData);
  if (packets == 0) {
    // All packets are read, but buffers may still be playing, so the stop is not immediate.
    player->is_at_end = true;
    TRY("AudioQueueStop", AudioQueueStop, player->queue, false);
    return noErr;
  }
  buffer->mAudioDataByteSize = bytes;
  buffer->mPacketDescriptionCount = buffer->mPacketDescriptions ? packets : 0;
  TRY("AudioQueueEnqueueBuffer", AudioQueueEnqueueBuffer, player->queue, buffer,
      buffer->mPacketDescriptionCount, buffer->mPacketDescriptions);
  player->next_packet += packets;
  player->buffers_filled++;
  return noErr;
}

/// Refills a buffer that the queue has played.
static void buffer_played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct player *player = data;
  if (player->is_at_end) return;
  OSStatus status = fill(player, buffer);
  if (status == noErr) return;
  player->error = status;
  player->is_at_end = true;
  AudioQueueStop(queue, true);
  // Before the queue starts, no property listener ends the run loop.
  CFRunLoopStop(CFRunLoopGetCurrent());
}

/// Ends the run loop when the queue has played its last frame, or on an error.
static void running_changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  struct player *player = data;
  UInt32 is_running = 0, size = sizeof is_running;
  OSStatus status = AudioQueueGetProperty(queue, property, &is_running, &size);
  if (status != noErr) {
    report("AudioQueueGetProperty(IsRunning)", status);
    player->error = status;
  }
  if (status != noErr || !is_running) CFRunLoopStop(CFRunLoopGetCurrent());
}

// MARK: Setting up

static OSStatus open_file(struct player *player, const char *path) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  if (!url) {
    report("CFURLCreateFromFileSystemRepresentation", kAudio_BadFilePathError);
    return kAudio_BadFilePathError;
  }
  OSStatus status = AudioFileOpenURL(url, kAudioFileReadPermission, 0, &player->file);
  CFRelease(url);
  if (status != noErr) {
    report("AudioFileOpenURL", status);
    return status;
  }
  UInt32 size = sizeof player->format;
  TRY("AudioFileGetProperty(DataFormat)", AudioFileGetProperty, player->file,
      kAudioFilePropertyDataFormat, &size, &player->format);
  return noErr;
}

/// Chooses the size of a buffer, and the number of packets read at a time.
///
/// If all packets have the same duration, a buffer holds BUFFER_SECONDS of sound; otherwise it has
/// a moderate size. It always has room for the largest packet.
static OSStatus choose_buffer_size(struct player *player, UInt32 *bytes) {
  enum {
    SMALLEST = 0x4000,
    USUAL = 0x10000,
    LARGEST = 0x50000
  };
  UInt32 packet = 0, size = sizeof packet;
  TRY("AudioFileGetProperty(PacketSizeUpperBound)", AudioFileGetProperty, player->file,
      kAudioFilePropertyPacketSizeUpperBound, &size, &packet);
  if (packet == 0) {
    report("AudioFileGetProperty(PacketSizeUpperBound)", kAudioFileInvalidFileError);
    return kAudioFileInvalidFileError;
  }

  double wanted = USUAL;
  const AudioStreamBasicDescription *format = &player->format;
  if (format->mFramesPerPacket > 0)
    wanted = format->mSampleRate * BUFFER_SECONDS / format->mFramesPerPacket * packet;
  if (wanted > LARGEST) wanted = LARGEST;
  if (wanted < SMALLEST) wanted = SMALLEST;
  if (wanted < packet) wanted = packet;
  player->packets_per_buffer = (UInt32)wanted / packet;
  *bytes = player->packets_per_buffer * packet;
  return noErr;
}

/// Passes the file's magic cookie to the queue's decoder. Linear PCM files have none.
static OSStatus copy_magic_cookie(struct player *player) {
  UInt32 size = 0;
  OSStatus status =
      AudioFileGetPropertyInfo(player->file, kAudioFilePropertyMagicCookieData, &size, NULL);
  if (status == kAudioFileUnsupportedPropertyError || (status == noErr && size == 0)) return noErr;
  if (status != noErr) {
    report("AudioFileGetPropertyInfo(MagicCookieData)", status);
    return status;
  }
  void *cookie = malloc(size);
  if (!cookie) {
    report("malloc", kAudio_MemFullError);
    return kAudio_MemFullError;
  }
  const char *call = "AudioFileGetProperty(MagicCookieData)";
  status = AudioFileGetProperty(player->file, kAudioFilePropertyMagicCookieData, &size, cookie);
  if (status == noErr) {
    call = "AudioQueueSetProperty(MagicCookie)";
    status = AudioQueueSetProperty(player->queue, kAudioQueueProperty_MagicCookie, cookie, size);
  }
  free(cookie);
  if (status != noErr) report(call, status);
  return status;
}

static OSStatus make_queue(struct player *player, float volume) {
  // The current run loop is the one that play() runs.
  TRY("AudioQueueNewOutput", AudioQueueNewOutput, &player->format, buffer_played, player,
      CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0, &player->queue);
  TRY("AudioQueueAddPropertyListener(IsRunning)", AudioQueueAddPropertyListener, player->queue,
      kAudioQueueProperty_IsRunning, running_changed, player);
  OSStatus status = copy_magic_cookie(player);
  if (status != noErr) return status;
  TRY("AudioQueueSetParameter(Volume)", AudioQueueSetParameter, player->queue,
      kAudioQueueParam_Volume, volume);

  // Formats with packets of variable size or duration need packet descriptions.
  const AudioStreamBasicDescription *format = &player->format;
  bool is_variable = format->mBytesPerPacket == 0 || format->mFramesPerPacket == 0;
  UInt32 bytes = 0;
  status = choose_buffer_size(player, &bytes);
  if (status != noErr) return status;
  for (int i = 0; i < BUFFER_COUNT; i++) {
    TRY("AudioQueueAllocateBuffer", AudioQueueAllocateBufferWithPacketDescriptions, player->queue,
        bytes, is_variable ? player->packets_per_buffer : 0, &player->buffers[i]);
  }
  return noErr;
}

// MARK: Playing

/// Fills every buffer so that the queue can start at once, and runs until everything has been
/// played.
static OSStatus play(struct player *player) {
  for (int i = 0; i < BUFFER_COUNT && !player->is_at_end; i++)
    buffer_played(player, player->queue, player->buffers[i]);
  if (player->error != noErr) return player->error;
  if (player->buffers_filled == 0) return noErr;
  TRY("AudioQueueStart", AudioQueueStart, player->queue, NULL);
  CFRunLoopRun();
  return player->error;
}

static void clean_up(struct player *player) {
  // Disposing of the queue frees its buffers.
  if (player->queue) {
    OSStatus status = AudioQueueDispose(player->queue, true);
    if (status != noErr) report("AudioQueueDispose", status);
  }
  if (player->file) {
    OSStatus status = AudioFileClose(player->file);
    if (status != noErr) report("AudioFileClose", status);
  }
}

static void print_format(const char *path, const AudioStreamBasicDescription *format) {
  UInt32 id = format->mFormatID;
  printf("%s: '%c%c%c%c'", path, (char)(id >> 24), (char)(id >> 16), (char)(id >> 8), (char)id);
  if (format->mBitsPerChannel > 0) printf(", %u bits", (unsigned)format->mBitsPerChannel);
  printf(", %u channels, %g Hz\n", (unsigned)format->mChannelsPerFrame, format->mSampleRate);
  fflush(stdout);
}

int main(int argc, char **argv) {
  float volume = 1;
  char *end = "";
  if (argc == 3) volume = strtof(argv[2], &end);
  if (argc < 2 || argc > 3 || *end != '\0' || end == argv[argc - 1]) {
    fprintf(stderr, "usage: player FILE [VOLUME]\n");
    return 2;
  }
  struct player player = {0};
  OSStatus status = open_file(&player, argv[1]);
  if (status == noErr) {
    print_format(argv[1], &player.format);
    status = make_queue(&player, volume);
  }
  if (status == noErr) status = play(&player);
  if (status == noErr)
    printf("played %lld packets in %llu buffers\n", (long long)player.next_packet,
           (unsigned long long)player.buffers_filled);
  clean_up(&player);
  return status == noErr ? 0 : 1;
}
