// A packet recorder that follows Apple's Audio Queue Services Programming Guide and records to
// memory.
#ifndef PACKETS_H
#define PACKETS_H

#include "check.h"

enum {
  BUFFERS = 3,
  /// A busy machine records for longer, but what was played is in the first seconds.
  MOST_SECONDS = 20,
  MOST_PACKETS = 4000,
  MOST_BYTES = 1 << 23
};

/// A recording.
typedef struct {
  AudioStreamBasicDescription format;
  UInt8 cookie[1000];
  UInt32 cookie_size;
  UInt8 bytes[MOST_BYTES];
  SInt64 byte_count;
  AudioStreamPacketDescription packets[MOST_PACKETS];
  _Atomic UInt32 count;
  _Atomic int calls, holes;
  /// Frames in the packets.
  Float64 frames;
  bool is_over;
} sound;

static inline UInt32 packet_size(AudioQueueRef queue) {
  UInt32 most = 0, size = sizeof most;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_MaximumOutputPacketSize, &most, &size));
  CHECK(most > 0);
  return most;
}

/// Reads the queue's cookie, as before and after a recording.
static inline void read_cookie(AudioQueueRef queue, sound *to) {
  WORKS(AudioQueueGetPropertySize(queue, kAudioQueueProperty_MagicCookie, &to->cookie_size));
  CHECK(to->cookie_size <= sizeof to->cookie);
  if (to->cookie_size > 0)
    WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_MagicCookie, to->cookie,
                                &to->cookie_size));
}

static inline void packets_came(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                                const AudioTimeStamp *start, UInt32 count,
                                const AudioStreamPacketDescription *packets) {
  sound *to = (sound *)data;
  const AudioStreamBasicDescription *format = &to->format;
  to->calls++;
  if (count > 0 && to->frames < MOST_SECONDS * RATE) {
    if (start->mSampleTime != to->frames) to->holes++;
    to->frames = start->mSampleTime;
    CHECK((packets == NULL) == (format->mBytesPerPacket > 0));
    CHECK(to->count + count <= MOST_PACKETS || packets == NULL);
    CHECK(to->byte_count + buffer->mAudioDataByteSize <= MOST_BYTES);
    if (packets == NULL) EQUAL(buffer->mAudioDataByteSize, count * format->mBytesPerPacket);
    SInt64 at = 0;
    for (UInt32 i = 0; packets != NULL && i < count; i++) {
      EQUAL(packets[i].mStartOffset, at);
      CHECK(packets[i].mDataByteSize > 0);
      at += packets[i].mDataByteSize;
      to->packets[to->count + i] = packets[i];
      to->packets[to->count + i].mStartOffset += to->byte_count;
    }
    if (packets != NULL) EQUAL(buffer->mAudioDataByteSize, at);
    memcpy(to->bytes + to->byte_count, buffer->mAudioData, buffer->mAudioDataByteSize);
    to->byte_count += buffer->mAudioDataByteSize;
    to->frames += count * (Float64)format->mFramesPerPacket;
    to->count += count;
  }
  if (!to->is_over) AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

/// Creates a queue that records packets, with buffers of `seconds` seconds, sized as in the guide.
static inline AudioQueueRef new_recorder(AudioFormatID id, AudioFormatFlags flags, Float64 rate,
                                         double seconds, sound *to) {
  memset(to, 0, sizeof *to);
  to->format.mSampleRate = rate;
  to->format.mFormatID = id;
  to->format.mFormatFlags = flags;
  to->format.mChannelsPerFrame = 2;
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewInput(&to->format, packets_came, to, NULL, NULL, 0, &queue));
  // The queue's own description is complete.
  UInt32 size = sizeof to->format;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_StreamDescription, &to->format, &size));
  EQUAL(size, sizeof to->format);
  EQUAL(to->format.mSampleRate, RATE);
  CHECK(to->format.mFramesPerPacket > 0);
  read_cookie(queue, to);
  UInt32 most = packet_size(queue);
  UInt32 bytes = (UInt32)(seconds * RATE / to->format.mFramesPerPacket) * most;
  if (bytes < most) bytes = most;
  for (int i = 0; i < BUFFERS; i++) {
    AudioQueueBufferRef buffer = NULL;
    WORKS(AudioQueueAllocateBuffer(queue, bytes, &buffer));
    WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  }
  return queue;
}

/// Connects the outputs of one queue to the inputs of another.
static inline void feed(jack_client_t *graph, AudioQueueRef player, AudioQueueRef recorder) {
  char from[100], to[100], output[200], input[200];
  client_of(player, from, sizeof from);
  client_of(recorder, to, sizeof to);
  for (int channel = 1; channel <= 2; channel++) {
    snprintf(output, sizeof output, "%s:out_%d", from, channel);
    snprintf(input, sizeof input, "%s:in_%d", to, channel);
    WAIT(jack_port_by_name(graph, output) && jack_port_by_name(graph, input));
    CHECK(jack_connect(graph, output, input) == 0);
  }
}

static inline jack_client_t *open_graph(void) {
  cue_jack_silence();
  jack_status_t status;
  jack_client_t *graph =
      jack_client_open("graph", (jack_options_t)(JackServerName | JackNoStartServer), &status,
                       getenv("JACK_DEFAULT_SERVER"));
  CHECK(graph != NULL);
  return graph;
}

static inline void count_change(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)queue, (void)property;
  (*(_Atomic int *)data)++;
}

/// Plays all enqueued buffers to the last frame. A buffer returns as soon as it is decoded.
static inline void play_to_end(AudioQueueRef queue) {
  static _Atomic int changes;
  changes = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, count_change,
                                      (void *)&changes));
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(changes == 2);
  WORKS(AudioQueueRemovePropertyListener(queue, kAudioQueueProperty_IsRunning, count_change,
                                         (void *)&changes));
}

/// Ends a recording. After the return it is complete.
static inline void end_take(AudioQueueRef queue, sound *to) {
  to->is_over = true;
  WORKS(AudioQueueStop(queue, true));
  read_cookie(queue, to);
}

#endif
