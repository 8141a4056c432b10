// Shows the levels of an input in the terminal, with the level meters of a recording queue.
//
// Usage: meters [-c CHANNELS] [-s SECONDS]
//
//   -c  the number of channels; default: 2
//   -s  ends after SECONDS; default: at Control-C
//
// Build it with make. Run it on a JACK server: ./meters
//
// A line for each channel has a bar for the RMS, a mark for the peak, and both in decibels. On a
// terminal the lines are drawn over the last ones. At the end the program prints the highest peaks.

#include <AudioToolbox/AudioToolbox.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  BUFFER_COUNT = 3,
  FRAMES_PER_BUFFER = 4096,
  MOST_CHANNELS = 64,
  /// Width of a bar in characters.
  BAR = 60
};

/// The level at the left end of a bar in decibels. The right end is 0 dB, full scale.
static const float LOWEST = -60;
/// Seconds from one picture to the next.
static const double INTERVAL = 0.05;

static volatile sig_atomic_t is_over;

static void interrupted(int signal) {
  (void)signal;
  is_over = 1;
}

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "meters: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: The queue

/// Enqueues a full buffer again. A program that only measures does not keep the sound.
static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)data, (void)start, (void)packets, (void)descriptions;
  OSStatus status = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
  // A queue that is being stopped rejects buffers.
  if (status != noErr && status != kAudioQueueErr_EnqueueDuringReset)
    fail("AudioQueueEnqueueBuffer", status);
}

static AudioQueueRef make_queue(UInt32 channels) {
  // A rate of 0 is the device's own.
  AudioStreamBasicDescription format = {
      .mSampleRate = 0,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = channels * (UInt32)sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = channels * (UInt32)sizeof(float),
      .mChannelsPerFrame = channels,
      .mBitsPerChannel = 32,
  };
  AudioQueueRef queue;
  // Without a run loop, the callback runs on a thread of the queue's own.
  TRY(AudioQueueNewInput, &format, recorded, NULL, NULL, NULL, 0, &queue);
  UInt32 yes = 1;
  TRY(AudioQueueSetProperty, queue, kAudioQueueProperty_EnableLevelMetering, &yes, sizeof yes);
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY(AudioQueueAllocateBuffer, queue, FRAMES_PER_BUFFER * format.mBytesPerFrame, &buffer);
    TRY(AudioQueueEnqueueBuffer, queue, buffer, 0, NULL);
  }
  return queue;
}

// MARK: The picture

/// Returns the place of a level on a bar.
static int place(float decibels) {
  if (decibels <= LOWEST) return 0;
  if (decibels >= 0) return BAR;
  return (int)((1 - decibels / LOWEST) * BAR);
}

/// Prints the meter of a channel: # up to the RMS, and | at the peak.
static void print_meter(UInt32 channel, AudioQueueLevelMeterState level) {
  char bar[BAR + 2];
  memset(bar, ' ', sizeof bar);
  memset(bar, '#', (size_t)place(level.mAveragePower));
  bar[place(level.mPeakPower)] = '|';
  bar[BAR + 1] = '\0';
  printf("%2u [%s] %6.1f dB, peak %6.1f dB\n", (unsigned)channel + 1, bar, level.mAveragePower,
         level.mPeakPower);
}

int main(int argc, char **argv) {
  UInt32 channels = 2;
  double seconds = 0;
  int option;
  bool is_wrong = false;
  while ((option = getopt(argc, argv, "c:s:")) != -1) {
    if (option == 'c')
      channels = (UInt32)atoi(optarg);
    else if (option == 's')
      seconds = atof(optarg);
    else
      is_wrong = true;
  }
  if (is_wrong || optind != argc || channels < 1 || channels > MOST_CHANNELS) {
    fprintf(stderr, "usage: meters [-c CHANNELS] [-s SECONDS]\n");
    return 64;
  }
  signal(SIGINT, interrupted);
  signal(SIGTERM, interrupted);
  AudioQueueRef queue = make_queue(channels);
  TRY(AudioQueueStart, queue, NULL);
  float highest[MOST_CHANNELS];
  for (UInt32 i = 0; i < channels; i++)
    highest[i] = -120;
  bool is_terminal = isatty(STDOUT_FILENO), is_first = true;
  for (double passed = 0; !is_over && (seconds == 0 || passed < seconds); passed += INTERVAL) {
    usleep((useconds_t)(INTERVAL * 1e6));
    AudioQueueLevelMeterState levels[MOST_CHANNELS];
    UInt32 size = channels * (UInt32)sizeof *levels;
    TRY(AudioQueueGetProperty, queue, kAudioQueueProperty_CurrentLevelMeterDB, levels, &size);
    // Moves the cursor back to the first line.
    if (is_terminal && !is_first) printf("\033[%uA", (unsigned)channels);
    is_first = false;
    for (UInt32 i = 0; i < channels; i++) {
      print_meter(i, levels[i]);
      if (levels[i].mPeakPower > highest[i]) highest[i] = levels[i].mPeakPower;
    }
    fflush(stdout);
  }
  TRY(AudioQueueStop, queue, true);
  TRY(AudioQueueDispose, queue, true);
  for (UInt32 i = 0; i < channels; i++)
    printf("channel %u: highest peak %.2f dB\n", (unsigned)i + 1, highest[i]);
  return 0;
}
