// Packets of a lossless codec, recorded by one queue and played by another: every frame is
// preserved.
#include "packets.h"

static jack_client_t *graph;
static cue_capture *card;
static sound take;
static _Atomic int calls;

enum {
  FRAMES = RATE,
  PACKETS = 4
};

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

/// Returns the sample of a frame, counted from 0: exact in 24 bits, and never 0.
static float fine(long frame) {
  return wave(2 * frame + 1);
}

/// Checks that the capture contains frames `first`, `first + 1` … from `at` on, on both channels.
static void hear(size_t at, long first, long frames) {
  CHECK(at + (size_t)frames <= cue_capture_frames(card));
  for (long i = 0; i < frames; i++) {
    EQUAL(cue_capture_samples(card, 0)[at + (size_t)i], fine(first + i));
    EQUAL(cue_capture_samples(card, 1)[at + (size_t)i], -fine(first + i));
  }
}

/// Returns the number of the frame captured at `at`.
static long heard_frame(size_t at) {
  return (wave_frame(cue_capture_samples(card, 0)[at]) - 1) / 2;
}

/// Records a second of 24-bit sound.
static void record_sound(AudioFormatID id) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef source = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &source));
  AudioQueueBufferRef buffer = new_buffer(source, FRAMES);
  float *samples = (float *)buffer->mAudioData;
  for (long i = 0; i < FRAMES; i++)
    samples[2 * i] = fine(i), samples[2 * i + 1] = -fine(i);
  buffer->mAudioDataByteSize = FRAMES * FRAME_BYTES;
  WORKS(AudioQueueEnqueueBuffer(source, buffer, 0, NULL));
  AudioQueueRef queue =
      new_recorder(id, kAppleLosslessFormatFlag_24BitSourceData, RATE, 0.5, &take);
  EQUAL(take.format.mFormatFlags, kAppleLosslessFormatFlag_24BitSourceData);
  feed(graph, source, queue);
  calls = 0;
  WORKS(AudioQueueStart(queue, NULL));
  play_to_end(source);
  EQUAL(calls, 1);
  Float64 end = time_of(queue);
  WAIT(time_of(queue) > end + 2048);
  end_take(queue, &take);
  EQUAL(take.holes, 0);
  CHECK(take.cookie_size > 0);
  WORKS(AudioQueueDispose(source, true));
  WORKS(AudioQueueDispose(queue, true));
}

static AudioQueueRef new_player(void) {
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&take.format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(
      AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, take.cookie, take.cookie_size));
  UInt8 cookie[sizeof take.cookie];
  UInt32 size = sizeof cookie;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, &size));
  CHECK(size == take.cookie_size && memcmp(cookie, take.cookie, size) == 0);
  // Read far ahead: a busy machine may hold up the thread that decodes.
  UInt32 ahead = 16384;
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_DecodeBufferSizeFrames, &ahead,
                              sizeof ahead));
  calls = 0;
  return queue;
}

/// Fills a buffer with packets from `first` on. Their descriptions are in the buffer or in
/// `packets`.
static AudioQueueBufferRef fill(AudioQueueRef queue, UInt32 first, UInt32 count,
                                AudioStreamPacketDescription *packets, bool in_buffer) {
  AudioQueueBufferRef buffer = NULL;
  SInt64 start = take.packets[first].mStartOffset;
  SInt64 end =
      take.packets[first + count - 1].mStartOffset + take.packets[first + count - 1].mDataByteSize;
  WORKS(AudioQueueAllocateBufferWithPacketDescriptions(queue, (UInt32)(end - start),
                                                       in_buffer ? count : 0, &buffer));
  memcpy(buffer->mAudioData, take.bytes + start, (size_t)(end - start));
  buffer->mAudioDataByteSize = (UInt32)(end - start);
  for (UInt32 i = 0; i < count; i++) {
    packets[i] = take.packets[first + i];
    packets[i].mStartOffset -= start;
    if (in_buffer) buffer->mPacketDescriptions[i] = packets[i];
  }
  if (in_buffer) buffer->mPacketDescriptionCount = count;
  return buffer;
}

/// Plays all packets, several per buffer. Returns the capture index of the first sound.
static size_t play(AudioQueueRef queue, int in_buffer) {
  AudioStreamPacketDescription packets[PACKETS];
  int buffers = 0;
  for (UInt32 first = 0; first < take.count; first += PACKETS, buffers++) {
    UInt32 count = take.count - first < PACKETS ? take.count - first : PACKETS;
    AudioQueueBufferRef buffer = fill(queue, first, count, packets, in_buffer);
    // The buffer's own count may be 0 if the call gives the count.
    if (in_buffer > 1) buffer->mPacketDescriptionCount = 0;
    if (in_buffer)
      WORKS(AudioQueueEnqueueBuffer(queue, buffer, in_buffer > 1 ? count : 0, NULL));
    else
      WORKS(AudioQueueEnqueueBuffer(queue, buffer, count, packets));
    // The queue has copied the descriptions.
    memset(packets, 0xff, sizeof packets);
  }
  cue_capture_arm(card);
  play_to_end(queue);
  EQUAL(calls, buffers);
  end_recording(card);
  return find_sound(card, 0);
}

static void every_frame(AudioFormatID id, const char *name) {
  record_sound(id);
  for (int in_buffer = 0; in_buffer < 3; in_buffer++) {
    AudioQueueRef queue = new_player();
    size_t at = play(queue, in_buffer);
    hear(at, 0, FRAMES);
    HEAR_SILENCE(card, at + FRAMES);
    WORKS(AudioQueueDispose(queue, true));
  }
  passed(name);
}

static void trims(void) {
  AudioQueueRef queue = new_player();
  AudioStreamPacketDescription packets[2];
  // Packets without silence, from the middle.
  UInt32 first = take.count / 2, frames = 2 * take.format.mFramesPerPacket;
  AudioTimeStamp actual;
  for (int i = 0; i < 2; i++) {
    AudioQueueBufferRef buffer = fill(queue, first + 2 * (UInt32)i, 2, packets, false);
    WORKS(AudioQueueEnqueueBufferWithParameters(queue, buffer, 2, packets, i == 0 ? 1000 : 0,
                                                i == 0 ? 0 : 500, 0, NULL, NULL, &actual));
    EQUAL(actual.mSampleTime, i == 0 ? 0 : frames - 1000);
  }
  cue_capture_arm(card);
  WORKS(AudioQueuePrime(queue, 0, NULL));
  play_to_end(queue);
  EQUAL(calls, 2);
  end_recording(card);
  size_t at = find_sound(card, 0);
  hear(at, heard_frame(at), 2 * frames - 1500);
  HEAR_SILENCE(card, at + 2 * frames - 1500);
  WORKS(AudioQueueDispose(queue, true));
  passed("trims");
}

/// The data of the player in Apple's guide.
typedef struct {
  AudioFileID file;
  SInt64 packet;
  UInt32 packets_to_read;
  AudioStreamPacketDescription *packets;
  _Atomic bool is_over;
} file_player;

static void read_on(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  file_player *player = data;
  if (player->is_over) return;
  UInt32 bytes = buffer->mAudioDataBytesCapacity, packets = player->packets_to_read;
  WORKS(AudioFileReadPacketData(player->file, false, &bytes, player->packets, player->packet,
                                &packets, buffer->mAudioData));
  if (packets > 0) {
    buffer->mAudioDataByteSize = bytes;
    WORKS(AudioQueueEnqueueBuffer(queue, buffer, packets, player->packets));
    player->packet += packets;
  } else {
    WORKS(AudioQueueStop(queue, false));
    player->is_over = true;
  }
}

static CFURLRef url_of(const char *path) {
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

/// Writes the recording to a file and plays it like the guide.
static void play_file(AudioFileTypeID type, const char *extension) {
  char path[200];
  snprintf(path, sizeof path, "/tmp/play_packets-%d.%s", (int)getpid(), extension);
  CFURLRef url = url_of(path);
  AudioFileID file = NULL;
  UInt32 count = take.count, size = 0;
  WORKS(AudioFileCreateWithURL(url, type, &take.format, kAudioFileFlags_EraseFile, &file));
  WORKS(
      AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, take.cookie_size, take.cookie));
  WORKS(AudioFileWritePackets(file, false, (UInt32)take.byte_count, take.packets, 0, &count,
                              take.bytes));
  EQUAL(count, take.count);
  WORKS(AudioFileClose(file));

  file_player player = {0};
  WORKS(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &player.file));
  CFRelease(url);
  AudioStreamBasicDescription format;
  size = sizeof format;
  WORKS(AudioFileGetProperty(player.file, kAudioFilePropertyDataFormat, &size, &format));
  EQUAL(format.mFormatID, take.format.mFormatID);
  EQUAL(format.mFramesPerPacket, take.format.mFramesPerPacket);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, read_on, &player, NULL, NULL, 0, &queue));
  UInt32 most = 0, has_cookie = 0;
  size = sizeof most;
  WORKS(AudioFileGetProperty(player.file, kAudioFilePropertyPacketSizeUpperBound, &size, &most));
  WORKS(
      AudioFileGetPropertyInfo(player.file, kAudioFilePropertyMagicCookieData, &size, &has_cookie));
  UInt8 cookie[1000];
  CHECK(size > 0 && size <= sizeof cookie);
  WORKS(AudioFileGetProperty(player.file, kAudioFilePropertyMagicCookieData, &size, cookie));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, size));
  player.packets_to_read = 5;
  player.packets = calloc(player.packets_to_read, sizeof *player.packets);
  static _Atomic int changes;
  changes = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, count_change,
                                      (void *)&changes));
  for (int i = 0; i < BUFFERS; i++) {
    AudioQueueBufferRef buffer = NULL;
    WORKS(AudioQueueAllocateBuffer(queue, player.packets_to_read * most, &buffer));
    read_on(&player, queue, buffer);
  }
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(changes == 2);
  end_recording(card);
  size_t at = find_sound(card, 0);
  hear(at, 0, FRAMES);
  HEAR_SILENCE(card, at + FRAMES);
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioFileClose(player.file));
  free(player.packets);
  unlink(path);
}

static void files(void) {
  play_file(kAudioFileCAFType, "caf");
  play_file(kAudioFileM4AType, "m4a");
  passed("files");
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  UInt32 value = 0, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, property, &value, &size));
  EQUAL((OSStatus)value, kAudioQueueErr_InvalidCodecAccess);
  (*(_Atomic int *)data)++;
}

static void results(void) {
  AudioQueueRef queue = new_player();
  AudioStreamPacketDescription packets[2];
  AudioQueueBufferRef buffer = fill(queue, take.count / 2, 2, packets, false);
  // Packets of variable size need descriptions within the buffer.
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);
  // A buffer has at most as many descriptions as it was allocated with.
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, NULL), kAudio_ParamError);
  AudioStreamPacketDescription wrong[2] = {packets[0], packets[1]};
  wrong[1].mDataByteSize++;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, wrong), kAudio_ParamError);
  wrong[1] = packets[1];
  wrong[0].mStartOffset = -1;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, wrong), kAudio_ParamError);
  wrong[0].mStartOffset = INT64_MAX;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, wrong), kAudio_ParamError);
  GIVES(AudioQueueEnqueueBufferWithParameters(queue, buffer, 2, packets,
                                              2 * take.format.mFramesPerPacket + 1, 0, 0, NULL,
                                              NULL, NULL),
        kAudio_ParamError);
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, "cookie", 6),
        kAudioQueueErr_InvalidPropertyValue);
  // An undecodable packet keeps its length and is reported.
  _Atomic int errors = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_ConverterError, changed, &errors));
  memset((UInt8 *)buffer->mAudioData + packets[0].mStartOffset, 0xff, packets[0].mDataByteSize);
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 2, packets));
  cue_capture_arm(card);
  play_to_end(queue);
  EQUAL(calls, 1);
  end_recording(card);
  size_t at = find_sound(card, 0);
  UInt32 frames = take.format.mFramesPerPacket;
  hear(at, heard_frame(at), frames);
  HEAR_SILENCE(card, at + frames);
  WAIT(errors == 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("results");
}

int main(void) {
  card = open_card(25);
  graph = open_graph();
  every_frame(kAudioFormatFLAC, "FLAC");
  every_frame(kAudioFormatAppleLossless, "Apple Lossless");
  trims();
  files();
  results();
  jack_client_close(graph);
  cue_capture_close(card);
  return 0;
}
