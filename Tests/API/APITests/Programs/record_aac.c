// The AAC recorder of Apple's guide, also with constant-size packets. The recording has the length
// and the sound of the input.
#include "packets.h"

enum {
  /// Frames of the tone.
  TONE = RATE / 2
};

static jack_client_t *graph;
static cue_capture *card;
static sound take;
static _Atomic int played_buffers;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  played_buffers++;
}

static double tone(long frame) {
  return 0.5 * sin(2 * M_PI * 1000 * (double)frame / RATE);
}

/// Creates a queue that plays half a second of a tone.
static AudioQueueRef new_source(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  AudioQueueBufferRef buffer = new_buffer(queue, TONE);
  float *samples = (float *)buffer->mAudioData;
  for (long i = 0; i < TONE; i++)
    samples[2 * i] = samples[2 * i + 1] = (float)tone(i);
  buffer->mAudioDataByteSize = TONE * FRAME_BYTES;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  return queue;
}

/// Returns the level of the tone, in any phase, over everything else in decibels.
static double signal_to_noise(const float *samples, long frames) {
  double c = 0, s = 0, all = 0;
  for (long i = 0; i < frames; i++) {
    c += samples[i] * cos(2 * M_PI * 1000 * (double)i / RATE);
    s += samples[i] * sin(2 * M_PI * 1000 * (double)i / RATE);
    all += (double)samples[i] * samples[i];
  }
  double signal = 2 * (c * c + s * s) / (double)frames;
  return 10 * log10(signal / (all - signal));
}

/// Records the tone and the silence around it.
static void record_tone(AudioFormatID id, Float64 rate) {
  AudioQueueRef queue = new_recorder(id, 0, rate, 0.25, &take), source = new_source();
  feed(graph, source, queue);
  played_buffers = 0;
  WORKS(AudioQueueStart(queue, NULL));
  play_to_end(source);
  EQUAL(played_buffers, 1);
  Float64 end = time_of(queue);
  WAIT(time_of(queue) > end + 2048);
  end_take(queue, &take);
  int calls = take.calls;
  UInt32 value = 99, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ConverterError, &value, &size));
  EQUAL(value, 0);
  EQUAL(take.holes, 0);
  EQUAL(take.frames, (Float64)take.count * take.format.mFramesPerPacket);
  CHECK(take.frames >= TONE + 2048);
  let_time_pass();
  EQUAL(take.calls, calls);
  WORKS(AudioQueueDispose(source, true));
  WORKS(AudioQueueDispose(queue, true));
}

/// Plays the recording in one buffer and checks the capture.
static void hear_tone(double least) {
  AudioQueueRef queue = NULL;
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueNewOutput(&take.format, played, NULL, NULL, NULL, 0, &queue));
  if (take.cookie_size > 0)
    WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, take.cookie,
                                take.cookie_size));
  WORKS(AudioQueueAllocateBuffer(queue, (UInt32)take.byte_count, &buffer));
  memcpy(buffer->mAudioData, take.bytes, (size_t)take.byte_count);
  buffer->mAudioDataByteSize = (UInt32)take.byte_count;
  bool is_described = take.format.mBytesPerPacket == 0;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, is_described ? take.count : 0,
                                is_described ? take.packets : NULL));
  played_buffers = 0;
  cue_capture_arm(card);
  play_to_end(queue);
  EQUAL(played_buffers, 1);
  end_recording(card);
  // From the first loud sample of the tone on.
  const float *left = cue_capture_samples(card, 0);
  size_t at = 0, frames = cue_capture_frames(card);
  while (at < frames && fabsf(left[at]) < 0.25)
    at++;
  CHECK(at + TONE - 2000 < frames);
  CHECK(signal_to_noise(left + at + 1000, TONE - 4000) > least);
  CHECK(signal_to_noise(cue_capture_samples(card, 1) + at + 1000, TONE - 4000) > least);
  WORKS(AudioQueueDispose(queue, true));
}

static void aac(void) {
  record_tone(kAudioFormatMPEG4AAC, 0);
  EQUAL(take.format.mFormatID, kAudioFormatMPEG4AAC);
  EQUAL(take.format.mFramesPerPacket, 1024);
  EQUAL(take.format.mBytesPerPacket, 0);
  EQUAL(take.format.mChannelsPerFrame, 2);
  CHECK(take.cookie_size > 2);
  CHECK(take.count > 23 && take.byte_count < 40000);
  hear_tone(30);
  passed("AAC");
}

static void packets_of_one_size(void) {
  record_tone(kAudioFormatULaw, RATE);
  EQUAL(take.format.mBytesPerPacket, 2);
  EQUAL(take.format.mFramesPerPacket, 1);
  hear_tone(30);
  record_tone(kAudioFormatAppleIMA4, RATE);
  EQUAL(take.format.mBytesPerPacket, 68);
  EQUAL(take.format.mFramesPerPacket, 64);
  EQUAL(take.byte_count, 68 * take.count);
  hear_tone(20);
  passed("packets of one size");
}

static void results(void) {
  AudioQueueRef queue = new_recorder(kAudioFormatMPEG4AAC, 0, RATE, 0.25, &take);
  AudioQueueBufferRef buffer = NULL;
  // Too small for a packet.
  WORKS(AudioQueueAllocateBuffer(queue, packet_size(queue) - 1, &buffer));
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);
  WORKS(AudioQueueFreeBuffer(queue, buffer));
  // The encoder sets the cookie.
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, "cookie", 6),
        kAudioQueueErr_Permissions);
  // A buffer limited to two packets by its descriptions.
  WORKS(AudioQueueAllocateBufferWithPacketDescriptions(queue, 100000, 2, &buffer));
  EQUAL(buffer->mPacketDescriptionCapacity, 2);
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(take.calls > BUFFERS);
  EQUAL(buffer->mPacketDescriptionCount, 2);
  EQUAL(buffer->mPacketDescriptions[0].mStartOffset, 0);
  EQUAL(buffer->mPacketDescriptions[1].mStartOffset, buffer->mPacketDescriptions[0].mDataByteSize);
  EQUAL(buffer->mAudioDataByteSize, buffer->mPacketDescriptions[0].mDataByteSize +
                                        buffer->mPacketDescriptions[1].mDataByteSize);
  end_take(queue, &take);
  WORKS(AudioQueueDispose(queue, true));

  AudioStreamBasicDescription format = {0};
  format.mSampleRate = RATE;
  format.mChannelsPerFrame = 2;
  const AudioFormatID none[] = {kAudioFormatMPEG4AAC_HE, 'QDM2'};
  for (int i = 0; i < 2; i++) {
    format.mFormatID = none[i];
    GIVES(AudioQueueNewInput(&format, packets_came, &take, NULL, NULL, 0, &queue),
          kAudioQueueErr_CodecNotFound);
  }
  format.mFormatID = kAudioFormatMPEG4AAC;
  format.mChannelsPerFrame = 0;
  GIVES(AudioQueueNewInput(&format, packets_came, &take, NULL, NULL, 0, &queue),
        kAudioFormatUnsupportedDataFormatError);
  passed("results");
}

int main(void) {
  card = open_card(MOST_SECONDS + 5);
  graph = open_graph();
  aac();
  packets_of_one_size();
  results();
  jack_client_close(graph);
  cue_capture_close(card);
  return 0;
}
