// Writes what a queue would play to a sound file, as fast as the processor can: no server is
// needed.
//
// Usage: offline-export [-g GAIN] [-s SPEED] [-r RATE] IN OUT.wav
//
//   -g  the queue's volume, from 0 to 1; default: 1
//   -s  the speed, from 0.5 to 2, at the same pitch; default: 1
//   -r  the sample rate of OUT in Hz; default: that of IN
//
// Build it with make. Run it, for example: ./offline-export -s 0.8 take.flac slow.wav
//
// The program asks the queue for frames, and the queue calls back for buffers inside that call. So
// everything happens on one thread.

#include <AudioToolbox/AudioToolbox.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  BUFFER_COUNT = 2,
  FRAMES = 8192
};

struct settings {
  float gain, speed;
  double rate;
};

/// The file that the queue plays.
struct source {
  ExtAudioFileRef file;
  AudioStreamBasicDescription format;
  bool is_at_end;
};

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "offline-export: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

static CFURLRef url_of(const char *path) {
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

/// Describes interleaved floats.
static AudioStreamBasicDescription floats(double rate, UInt32 channels) {
  return (AudioStreamBasicDescription){
      .mSampleRate = rate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = channels * (UInt32)sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = channels * (UInt32)sizeof(float),
      .mChannelsPerFrame = channels,
      .mBitsPerChannel = 32,
  };
}

// MARK: The files

static void open_source(struct source *source, const char *path) {
  CFURLRef url = url_of(path);
  OSStatus status = ExtAudioFileOpenURL(url, &source->file);
  CFRelease(url);
  if (status != noErr) fail(path, status);
  AudioStreamBasicDescription stored;
  UInt32 size = sizeof stored;
  TRY(ExtAudioFileGetProperty, source->file, kExtAudioFileProperty_FileDataFormat, &size, &stored);
  source->format = floats(stored.mSampleRate, stored.mChannelsPerFrame);
  TRY(ExtAudioFileSetProperty, source->file, kExtAudioFileProperty_ClientDataFormat,
      sizeof source->format, &source->format);
}

/// Creates a WAVE file of floats.
static ExtAudioFileRef create_file(const char *path, const AudioStreamBasicDescription *format) {
  CFURLRef url = url_of(path);
  ExtAudioFileRef file;
  OSStatus status = ExtAudioFileCreateWithURL(url, kAudioFileWAVEType, format, NULL,
                                              kAudioFileFlags_EraseFile, &file);
  CFRelease(url);
  if (status != noErr) fail(path, status);
  return file;
}

// MARK: The queue

/// Fills a buffer from the file and enqueues it. At the end of the file, the queue stops after its
/// last frame.
static void fill(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct source *source = data;
  if (source->is_at_end) return;
  UInt32 frames = FRAMES;
  AudioBufferList list = {
      1, {{source->format.mChannelsPerFrame, buffer->mAudioDataBytesCapacity, buffer->mAudioData}}};
  TRY(ExtAudioFileRead, source->file, &frames, &list);
  if (frames == 0) {
    source->is_at_end = true;
    TRY(AudioQueueFlush, queue);
    TRY(AudioQueueStop, queue, false);
    return;
  }
  buffer->mAudioDataByteSize = frames * source->format.mBytesPerFrame;
  TRY(AudioQueueEnqueueBuffer, queue, buffer, 0, NULL);
}

static AudioQueueRef make_queue(struct source *source, const struct settings *settings,
                                const AudioStreamBasicDescription *rendered) {
  AudioQueueRef queue;
  TRY(AudioQueueNewOutput, &source->format, fill, source, NULL, NULL, 0, &queue);
  TRY(AudioQueueSetOfflineRenderFormat, queue, rendered, NULL);
  TRY(AudioQueueSetParameter, queue, kAudioQueueParam_Volume, settings->gain);
  if (settings->speed != 1) {
    UInt32 yes = 1;
    TRY(AudioQueueSetProperty, queue, kAudioQueueProperty_EnableTimePitch, &yes, sizeof yes);
    TRY(AudioQueueSetParameter, queue, kAudioQueueParam_PlayRate, settings->speed);
  }
  return queue;
}

/// Renders the whole source into a file. Returns the number of frames.
static UInt64 export(struct source *source, AudioQueueRef queue, ExtAudioFileRef file,
                     const AudioStreamBasicDescription *rendered) {
  // The queue fills this buffer. It must have the queue's own memory, too.
  AudioQueueBufferRef output;
  TRY(AudioQueueAllocateBuffer, queue, FRAMES * rendered->mBytesPerFrame, &output);
  AudioTimeStamp time = {.mSampleTime = 0, .mFlags = kAudioTimeStampSampleTimeValid};
  TRY(AudioQueueStart, queue, NULL);
  // A call for no frames sets the queue up.
  TRY(AudioQueueOfflineRender, queue, &time, output, 0);
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY(AudioQueueAllocateBuffer, queue, FRAMES * source->format.mBytesPerFrame, &buffer);
    fill(source, queue, buffer);
  }
  for (;;) {
    TRY(AudioQueueOfflineRender, queue, &time, output, FRAMES);
    UInt32 frames = output->mAudioDataByteSize / rendered->mBytesPerFrame;
    // No frames, and only then, mean the end.
    if (frames == 0) return (UInt64)time.mSampleTime;
    AudioBufferList list = {
        1, {{rendered->mChannelsPerFrame, output->mAudioDataByteSize, output->mAudioData}}};
    TRY(ExtAudioFileWrite, file, frames, &list);
    time.mSampleTime += frames;
  }
}

static int explain(void) {
  fprintf(stderr, "usage: offline-export [-g GAIN] [-s SPEED] [-r RATE] IN OUT.wav\n");
  return 64;
}

int main(int argc, char **argv) {
  struct settings settings = {.gain = 1, .speed = 1, .rate = 0};
  int option;
  while ((option = getopt(argc, argv, "g:s:r:")) != -1) {
    if (option == 'g')
      settings.gain = (float)atof(optarg);
    else if (option == 's')
      settings.speed = (float)atof(optarg);
    else if (option == 'r')
      settings.rate = atof(optarg);
    else
      return explain();
  }
  if (argc - optind != 2 || !(settings.speed >= 0.5 && settings.speed <= 2) || settings.rate < 0)
    return explain();
  struct source source = {0};
  open_source(&source, argv[optind]);
  AudioStreamBasicDescription rendered =
      floats(settings.rate > 0 ? settings.rate : source.format.mSampleRate,
             source.format.mChannelsPerFrame);
  AudioQueueRef queue = make_queue(&source, &settings, &rendered);
  ExtAudioFileRef file = create_file(argv[optind + 1], &rendered);
  UInt64 frames = export(&source, queue, file, &rendered);
  TRY(AudioQueueDispose, queue, true);
  TRY(ExtAudioFileDispose, source.file);
  // Disposing of the file completes it, so it can fail, too.
  TRY(ExtAudioFileDispose, file);
  printf("%llu frames are in %s\n", (unsigned long long)frames, argv[optind + 1]);
  return 0;
}
