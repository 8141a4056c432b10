// Buffers that are converted come back when their last frame has been heard, so that programs which
// stop after the last callback lose nothing.
#include "check.h"

#define QUEUE_RATE 44100
#define LEVEL      0.5f

// A program that refills its buffers in the callback, and stops after the last one.

/// Frames of each buffer, and frames of the sound that are still to be enqueued.
static long size, left;
static _Atomic int enqueued;
/// The fewest buffers that were enqueued when a callback came, the sound's last ones aside.
static _Atomic int fewest;
static _Atomic bool is_over;

static void fill(AudioQueueRef queue, AudioQueueBufferRef buffer) {
  long frames = left < size ? left : size;
  if (frames == 0) return;
  float *samples = (float *)buffer->mAudioData;
  for (long i = 0; i < 2 * frames; i++)
    samples[i] = LEVEL;
  buffer->mAudioDataByteSize = (UInt32)frames * FRAME_BYTES;
  left -= frames;
  enqueued++;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
}

static void done(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  int others = --enqueued;
  if (left > 0 && others < fewest) fewest = others;
  fill(queue, buffer);
  if (enqueued == 0) is_over = true;
}

/// Plays a sound of `frames` frames, stops after the last callback, and checks that all of it was
/// heard.
static void play(int buffers, long frames_of_each, long frames) {
  AudioStreamBasicDescription format = float_format(QUEUE_RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, done, NULL, NULL, NULL, 0, &queue));
  cue_capture *card = open_card((double)frames / QUEUE_RATE + 5);
  size = frames_of_each;
  left = frames;
  enqueued = 0;
  fewest = buffers;
  is_over = false;
  for (int i = 0; i < buffers; i++)
    fill(queue, new_buffer(queue, frames_of_each));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_over);
  WORKS(AudioQueueStop(queue, true));
  end_recording(card);

  // On a busy machine there may be silence in between, and each joint may round by one frame.
  const float *heard = cue_capture_samples(card, 0);
  long sounding = 0;
  for (size_t i = 0; i < cue_capture_frames(card); i++)
    sounding += heard[i] != 0;
  long expected = lround((double)frames * RATE / QUEUE_RATE);
  if (labs(sounding - expected) > 5) {
    char text[200];
    snprintf(text, sizeof text, "heard %ld of %ld frames", sounding, expected);
    fail(__FILE__, __LINE__, text);
  }
  cue_capture_close(card);
  WORKS(AudioQueueDispose(queue, true));
}

int main(void) {
  play(1, 4410, 4410);
  play(2, 4410, 13230);
  play(3, 1024, 441);
  passed("short sounds");
  play(8, 1024, 3 * QUEUE_RATE);
  CHECK(fewest > 0);
  passed("some buffer is always enqueued");
  return 0;
}
