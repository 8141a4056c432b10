// Shared code of the test programs: checks that end the program, waiting, samples that identify
// their frame, and a capture client that acts as the sound card. C and C++.
#ifndef CHECK_H
#define CHECK_H

#ifdef __cplusplus
extern "C" {
#endif
#include "CTestSupport.h"
#ifdef __cplusplus
}
#endif

#include <AudioToolbox/AudioToolbox.h>
#include <mach/mach_time.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma clang diagnostic ignored "-Wunused-function"

// MARK: Checks

static inline void fail(const char *file, int line, const char *what) {
  printf("%s:%d: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what);
  fflush(stdout);
  _exit(1);
}

static inline void check_status(const char *file, int line, const char *call, OSStatus status,
                                OSStatus expected) {
  if (status == expected) return;
  char text[500];
  snprintf(text, sizeof text, "%s gave %d, not %d", call, (int)status, (int)expected);
  fail(file, line, text);
}

static inline void check_equal(const char *file, int line, const char *what, double value,
                               double expected) {
  if (value == expected) return;
  char text[500];
  snprintf(text, sizeof text, "%s is %.17g, not %.17g", what, value, expected);
  fail(file, line, text);
}

/// Fails unless the expression is true.
#define CHECK(what)           ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))
#define EQUAL(what, expected) check_equal(__FILE__, __LINE__, #what, (what), (expected))
/// Fails unless the call returns this status.
#define GIVES(call, status) check_status(__FILE__, __LINE__, #call, (call), (status))
#define WORKS(call)         GIVES(call, noErr)

/// Timeout of waits in seconds.
#define PATIENCE 60

static inline double seconds_now(void) {
  return (double)mach_absolute_time() / 1e9;
}

/// Waits until the condition holds.
#define WAIT(condition)                                                                            \
  do {                                                                                             \
    double end_ = seconds_now() + PATIENCE;                                                        \
    while (!(condition)) {                                                                         \
      if (seconds_now() > end_) fail(__FILE__, __LINE__, "waited in vain for " #condition);        \
      usleep(1000);                                                                                \
    }                                                                                              \
  } while (0)

/// Waits until the condition holds, while running the thread's run loop.
#define RUN_LOOP_UNTIL(condition)                                                                  \
  do {                                                                                             \
    double end_ = seconds_now() + PATIENCE;                                                        \
    while (!(condition)) {                                                                         \
      if (seconds_now() > end_) fail(__FILE__, __LINE__, "ran in vain for " #condition);           \
      CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true);                                       \
    }                                                                                              \
  } while (0)

/// Prints that a part of the program has passed.
static inline void passed(const char *what) {
  printf("ok %s\n", what);
  fflush(stdout);
}

/// Waits a few dozen cycles, in which nothing unexpected may happen.
static inline void let_time_pass(void) {
  usleep(200000);
}

/// Sample rate of the test's server in Hz.
#define RATE 48000
/// Frames after which silenced sound has died away: a few cycles of the server.
#define SETTLED 4096

// MARK: Sound

/// Returns an interleaved format of 32-bit floats.
static inline AudioStreamBasicDescription float_format(double rate, UInt32 channels) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = rate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagIsFloat | kAudioFormatFlagIsPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = channels * (UInt32)sizeof(float);
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = channels;
  format.mBitsPerChannel = 32;
  return format;
}

/// Returns the sample of a frame, counted from 0: exact, never 0, and unique within a test.
static inline float wave(long frame) {
  return (float)(frame + 1) / 16777216.0f;
}

/// Returns the frame number of a sample; -1 for silence.
static inline long wave_frame(float sample) {
  return lroundf(sample * 16777216.0f) - 1;
}

/// Fills a buffer of the float format with frames from `first` on. The right channel is negative.
static inline void fill_with_wave(AudioQueueBufferRef buffer, long first, long frames) {
  float *samples = (float *)buffer->mAudioData;
  for (long i = 0; i < frames; i++) {
    samples[2 * i] = wave(first + i);
    samples[2 * i + 1] = -wave(first + i);
  }
  buffer->mAudioDataByteSize = (UInt32)(frames * 2 * (long)sizeof(float));
}

#define FRAME_BYTES (2 * (UInt32)sizeof(float))

static inline AudioQueueBufferRef new_buffer(AudioQueueRef queue, long frames) {
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueAllocateBuffer(queue, (UInt32)frames * FRAME_BYTES, &buffer));
  CHECK(buffer != NULL);
  return buffer;
}

static inline void enqueue_wave(AudioQueueRef queue, AudioQueueBufferRef buffer, long first,
                                long frames) {
  fill_with_wave(buffer, first, frames);
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
}

// MARK: Queues

static inline UInt32 is_running(AudioQueueRef queue) {
  UInt32 value = 99, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_IsRunning, &value, &size));
  return value;
}

/// Returns the queue's time in frames; -1 before the first start.
static inline double time_of(AudioQueueRef queue) {
  AudioTimeStamp time;
  memset(&time, 0x55, sizeof time);
  OSStatus status = AudioQueueGetCurrentTime(queue, NULL, &time, NULL);
  if (status == kAudioQueueErr_InvalidRunState) return -1;
  WORKS(status);
  CHECK(time.mFlags & kAudioTimeStampSampleTimeValid);
  return time.mSampleTime;
}

/// Returns the device's time in frames. The queue's client must be open.
static inline double device_time_of(AudioQueueRef queue) {
  AudioTimeStamp time;
  WORKS(AudioQueueDeviceGetCurrentTime(queue, &time));
  CHECK(time.mFlags & kAudioTimeStampSampleTimeValid);
  return time.mSampleTime;
}

/// Copies the name of the queue's client, which it opens.
static inline void client_of(AudioQueueRef queue, char *name, size_t room) {
  Float64 rate = 0;
  UInt32 size = sizeof rate;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &rate, &size));
  char device[200];
  CFStringRef uid = NULL;
  size = sizeof uid;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, &size));
  CHECK(CFStringGetCString(uid, device, sizeof device, kCFStringEncodingUTF8));
  CFRelease(uid);
  snprintf(name, room, "%s", strrchr(device, '/') + 1);
}

// MARK: Recording

/// Returns true if the JACK library is PipeWire's. Device time is a count of Cuejack's own there,
/// not a driver's frame counter.
static inline bool is_pipewire(void) {
  return strstr(jack_get_version_string(), "PipeWire") != NULL;
}

/// Returns the two output ports that the card records, separated by a comma: the monitor of
/// PipeWire's sink. NULL if queues connect to the card itself.
static inline const char *card_sources(void) {
  return getenv("CARD_SOURCES");
}

/// Opens a capture client that acts as the sound card: it records all queues from their first frame
/// on. It has room for `seconds` of sound, and for the silence of one wait until its timeout. If
/// CARD_IS_PASSIVE is set, its connections do not wake an idle sink.
static inline cue_capture *open_card(double seconds) {
  cue_jack_silence();
  jack_status_t status;
  // The library reads it when a client opens.
  const bool is_passive = getenv("CARD_IS_PASSIVE") != NULL;
  if (is_passive) setenv("PIPEWIRE_LINK_PASSIVE", "true", 1);
  cue_capture *card =
      cue_capture_open(getenv("JACK_DEFAULT_SERVER"), "card", 2,
                       (size_t)((seconds + PATIENCE) * RATE), card_sources() == NULL, &status);
  CHECK(card != NULL);
  if (card_sources()) {
    char left[200];
    snprintf(left, sizeof left, "%s", card_sources());
    char *right = strchr(left, ',');
    CHECK(right != NULL);
    *right++ = 0;
    CHECK(jack_connect(cue_capture_client(card), left, "card:in_1") == 0);
    CHECK(jack_connect(cue_capture_client(card), right, "card:in_2") == 0);
  }
  if (is_passive) unsetenv("PIPEWIRE_LINK_PASSIVE");
  cue_capture_arm(card);
  return card;
}

/// Returns the delay, in frames, from a queue's cycle to the card's recording of it.
static inline size_t card_delay(const cue_capture *card) {
  return card_sources() ? jack_get_buffer_size(cue_capture_client(card)) : 0;
}

/// Returns the host time, in nanoseconds, at which a queue played the recorded frame `at`. Call it
/// after the recording, which must have no gap after `at`.
static inline double host_time_at(const cue_capture *card, size_t at) {
  double frames = (double)(cue_capture_frames(card) - at + card_delay(card));
  return (double)cue_capture_end_time(card) * 1e3 - frames / RATE * 1e9;
}

/// Returns the first recorded frame from `at` on with sound on the left, or the number of recorded
/// frames if there is none.
static inline size_t find_sound(const cue_capture *card, size_t at) {
  const float *left = cue_capture_samples(card, 0);
  while (at < cue_capture_frames(card) && left[at] == 0)
    at++;
  return at;
}

/// Checks that the capture contains frames `first`, `first + 1` … of the wave from `at` on, on both
/// channels.
static inline size_t hear_wave(const char *file, int line, const cue_capture *card, size_t at,
                               long first, long frames) {
  const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
  char text[200];
  for (long i = 0; i < frames; i++) {
    size_t index = at + (size_t)i;
    if (index < cue_capture_frames(card) && left[index] == wave(first + i) &&
        right[index] == -left[index])
      continue;
    snprintf(text, sizeof text, "heard frame %ld, not %ld, at %zu",
             index < cue_capture_frames(card) ? wave_frame(left[index]) : -2L, first + i, index);
    fail(file, line, text);
  }
  return at + (size_t)frames;
}

#define HEAR(card, at, first, frames) hear_wave(__FILE__, __LINE__, card, at, first, frames)

/// Checks that the capture is silent from `at` on.
static inline void hear_silence(const char *file, int line, const cue_capture *card, size_t at) {
  size_t sound = find_sound(card, at);
  if (sound >= cue_capture_frames(card)) return;
  char text[200];
  snprintf(text, sizeof text, "heard frame %ld at %zu, not silence from %zu on to %zu",
           wave_frame(cue_capture_samples(card, 0)[sound]), sound, at, cue_capture_frames(card));
  fail(file, line, text);
}

#define HEAR_SILENCE(card, at) hear_silence(__FILE__, __LINE__, card, at)

/// Waits until `frames` more frames are captured.
static inline void record(const cue_capture *card, size_t frames) {
  size_t end = cue_capture_frames(card) + frames;
  WAIT(cue_capture_frames(card) >= end);
}

/// Ends the capture with the current cycle. The capture client runs after the queues in a cycle, so
/// a queue may report its last frame before it is captured.
static inline void end_recording(cue_capture *card) {
  record(card, 1 + 2 * card_delay(card));
  cue_capture_disarm(card);
}

#endif
