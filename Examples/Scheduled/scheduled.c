// Repeats sound files on exact frames: every file has a queue, and all queues start on one frame.
//
// Usage: scheduled [-n TIMES] [-e SECONDS] FILE ...
//
//   -n  how often each file is played; default: 4
//   -e  seconds from the beginning of a sound to its next beginning; default: 1
//
// Build it with make. Run it on a JACK server, for example: ./scheduled -n 8 -e 0.5 kick.wav
// hat.wav
//
// Each queue is a JACK client of its own. They get the same host time to start at, which is the
// same frame for all of them. Every buffer has a start time in its queue's own time, which counts
// frames from the start of the queue. A sound that is longer than the interval is cut where it
// begins again.

#include <AudioToolbox/AudioToolbox.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  /// One plays while the other waits for its start time.
  BUFFER_COUNT = 2,
  MOST_FILES = 16
};

/// Time from the call of AudioQueueStart to the first frame, in seconds.
static const double LEAD = 0.5;

/// A sound and its queue. The callbacks run on the run loop of the main thread, so no lock is
/// needed.
struct track {
  const char *path;
  AudioStreamBasicDescription format;
  float *samples;
  UInt32 frames;
  AudioQueueRef queue;
  /// Frames from one beginning to the next.
  SInt64 interval;
  /// How often the sound has been enqueued, and how often it shall be.
  long enqueued, times;
  bool has_ended;
};

static struct track tracks[MOST_FILES];
static int track_count;

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "scheduled: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: The file

/// Reads a whole file as floats, at its own rate and with its own channels.
static void read_file(struct track *track) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)track->path,
                                                         (CFIndex)strlen(track->path), false);
  ExtAudioFileRef file;
  OSStatus status = ExtAudioFileOpenURL(url, &file);
  CFRelease(url);
  if (status != noErr) fail(track->path, status);
  AudioStreamBasicDescription stored;
  UInt32 size = sizeof stored;
  TRY(ExtAudioFileGetProperty, file, kExtAudioFileProperty_FileDataFormat, &size, &stored);
  UInt32 frame_bytes = stored.mChannelsPerFrame * (UInt32)sizeof(float);
  track->format = (AudioStreamBasicDescription){
      .mSampleRate = stored.mSampleRate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = frame_bytes,
      .mFramesPerPacket = 1,
      .mBytesPerFrame = frame_bytes,
      .mChannelsPerFrame = stored.mChannelsPerFrame,
      .mBitsPerChannel = 32,
  };
  TRY(ExtAudioFileSetProperty, file, kExtAudioFileProperty_ClientDataFormat, sizeof track->format,
      &track->format);
  UInt32 room = 0;
  for (;;) {
    if (track->frames == room) {
      room += (UInt32)stored.mSampleRate;
      track->samples = realloc(track->samples, (size_t)room * frame_bytes);
      if (!track->samples) fail("memory", kAudio_MemFullError);
    }
    UInt32 count = room - track->frames;
    float *end = track->samples + (size_t)track->frames * stored.mChannelsPerFrame;
    AudioBufferList list = {1, {{stored.mChannelsPerFrame, count * frame_bytes, end}}};
    TRY(ExtAudioFileRead, file, &count, &list);
    if (count == 0) break;
    track->frames += count;
  }
  TRY(ExtAudioFileDispose, file);
  if (track->frames == 0) fail(track->path, kAudioFileEndOfFileError);
}

// MARK: The queue

/// Enqueues the sound once more, to begin one interval after its last beginning. The queue calls
/// this when it has played a buffer.
static void enqueue(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct track *track = data;
  if (track->enqueued == track->times) return;
  AudioTimeStamp start = {.mSampleTime = (Float64)(track->enqueued * track->interval),
                          .mFlags = kAudioTimeStampSampleTimeValid};
  bool is_last = ++track->enqueued == track->times;
  UInt32 excess = 0;
  if (!is_last && track->frames > track->interval) excess = track->frames - (UInt32)track->interval;
  TRY(AudioQueueEnqueueBufferWithParameters, queue, buffer, 0, NULL, 0, excess, 0, NULL, &start,
      NULL);
  // Everything is enqueued: the queue stops after its last frame.
  if (is_last) TRY(AudioQueueStop, queue, false);
}

/// Ends the run loop when the last queue has played its last frame.
static void running_changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  struct track *track = data;
  UInt32 is_running, size = sizeof is_running;
  TRY(AudioQueueGetProperty, queue, property, &is_running, &size);
  if (is_running) return;
  track->has_ended = true;
  for (int i = 0; i < track_count; i++)
    if (!tracks[i].has_ended) return;
  CFRunLoopStop(CFRunLoopGetCurrent());
}

static void make_queue(struct track *track, double seconds) {
  track->interval = llround(seconds * track->format.mSampleRate);
  TRY(AudioQueueNewOutput, &track->format, enqueue, track, CFRunLoopGetCurrent(),
      kCFRunLoopCommonModes, 0, &track->queue);
  TRY(AudioQueueAddPropertyListener, track->queue, kAudioQueueProperty_IsRunning, running_changed,
      track);
  UInt32 bytes = track->frames * track->format.mBytesPerFrame;
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY(AudioQueueAllocateBuffer, track->queue, bytes, &buffer);
    memcpy(buffer->mAudioData, track->samples, bytes);
    buffer->mAudioDataByteSize = bytes;
    enqueue(track, track->queue, buffer);
  }
  // Opens the JACK client, and converts the first frames if the rate is not the server's.
  TRY(AudioQueuePrime, track->queue, 0, NULL);
}

static int explain(void) {
  fprintf(stderr, "usage: scheduled [-n TIMES] [-e SECONDS] FILE ...\n");
  return 64;
}

int main(int argc, char **argv) {
  long times = 4;
  double seconds = 1;
  int option;
  while ((option = getopt(argc, argv, "n:e:")) != -1) {
    if (option == 'n')
      times = atol(optarg);
    else if (option == 'e')
      seconds = atof(optarg);
    else
      return explain();
  }
  track_count = argc - optind;
  if (track_count < 1 || track_count > MOST_FILES || times < 1 || !(seconds > 0)) return explain();

  for (int i = 0; i < track_count; i++) {
    tracks[i].path = argv[optind + i];
    tracks[i].times = times;
    read_file(&tracks[i]);
    make_queue(&tracks[i], seconds);
  }
  // Far enough ahead that every queue has been told before the first frame.
  AudioTimeStamp start = {.mHostTime = AudioGetCurrentHostTime() +
                                       AudioConvertNanosToHostTime((UInt64)(LEAD * 1e9)),
                          .mFlags = kAudioTimeStampHostTimeValid};
  for (int i = 0; i < track_count; i++)
    TRY(AudioQueueStart, tracks[i].queue, &start);
  CFRunLoopRun();
  for (int i = 0; i < track_count; i++) {
    TRY(AudioQueueDispose, tracks[i].queue, true);
    free(tracks[i].samples);
  }
  printf("played %d files %ld times\n", track_count, times);
  return 0;
}
