// Plays a sound file through a processing tap, which filters the sound and measures it.
//
// Usage: tap [-l HERTZ] FILE
//
//   -l  lets only frequencies up to about HERTZ pass, and measures what has passed
//
// Build it with make. Run it on a JACK server, for example: ./tap -l 800 voice.wav
//
// The tap stands between the queue's buffers and its ports. The queue's worker thread calls it
// ahead of time, never JACK's process thread: a tap may take its time. At the end the program
// prints the peak and the RMS of each channel.

#include <AudioToolbox/AudioToolbox.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  BUFFER_COUNT = 3,
  FRAMES_PER_BUFFER = 8192,
  MOST_CHANNELS = 8
};

/// A second-order low-pass filter, and the two latest inputs and outputs of each channel.
struct filter {
  double b0, b1, b2, a1, a2;
  double inputs[MOST_CHANNELS][2], outputs[MOST_CHANNELS][2];
};

/// What the tap does. Only the tap's thread uses it while the queue runs.
struct processor {
  bool filters;
  struct filter filter;
  UInt32 channels;
  UInt64 frames;
  double peaks[MOST_CHANNELS], squares[MOST_CHANNELS];
};

/// The file, which the queue's callback reads on the run loop's thread.
struct player {
  ExtAudioFileRef file;
  AudioStreamBasicDescription format;
  bool is_at_end;
};

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "tap: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: The filter

/// Computes the coefficients of a low-pass filter with the quality of a Butterworth filter.
static void set_low_pass(struct filter *filter, double hertz, double rate) {
  double angle = 2 * M_PI * hertz / rate, alpha = sin(angle) / (2 * M_SQRT1_2);
  double a0 = 1 + alpha;
  filter->b0 = filter->b2 = (1 - cos(angle)) / 2 / a0;
  filter->b1 = (1 - cos(angle)) / a0;
  filter->a1 = -2 * cos(angle) / a0;
  filter->a2 = (1 - alpha) / a0;
}

static float filtered(struct filter *filter, UInt32 channel, float input) {
  double *in = filter->inputs[channel], *out = filter->outputs[channel];
  double output = filter->b0 * input + filter->b1 * in[0] + filter->b2 * in[1] -
                  filter->a1 * out[0] - filter->a2 * out[1];
  in[1] = in[0];
  in[0] = input;
  out[1] = out[0];
  out[0] = output;
  return (float)output;
}

// MARK: The tap

/// Reads the queue's next frames, filters them in place, and measures the result.
static void process(void *data, AudioQueueProcessingTapRef tap, UInt32 frames, AudioTimeStamp *time,
                    AudioQueueProcessingTapFlags *flags, UInt32 *frames_read,
                    AudioBufferList *list) {
  struct processor *processor = data;
  TRY(AudioQueueProcessingTapGetSourceAudio, tap, frames, time, flags, frames_read, list);
  // A new run knows nothing of the sound before it.
  if (*flags & kAudioQueueProcessingTap_StartOfStream) {
    memset(processor->filter.inputs, 0, sizeof processor->filter.inputs);
    memset(processor->filter.outputs, 0, sizeof processor->filter.outputs);
  }
  for (UInt32 channel = 0; channel < list->mNumberBuffers; channel++) {
    float *samples = list->mBuffers[channel].mData;
    for (UInt32 i = 0; i < *frames_read; i++) {
      if (processor->filters) samples[i] = filtered(&processor->filter, channel, samples[i]);
      processor->squares[channel] += (double)samples[i] * samples[i];
      processor->peaks[channel] = fmax(processor->peaks[channel], fabs(samples[i]));
    }
  }
  processor->frames += *frames_read;
}

/// Adds the tap, before changes of rate and pitch.
static AudioQueueProcessingTapRef add_tap(AudioQueueRef queue, struct processor *processor,
                                          double hertz) {
  AudioQueueProcessingTapRef tap;
  AudioStreamBasicDescription format;
  UInt32 most_frames;
  TRY(AudioQueueProcessingTapNew, queue, process, processor, kAudioQueueProcessingTap_PreEffects,
      &most_frames, &format, &tap);
  // The format is that of floats, with a buffer for each channel.
  processor->channels = format.mChannelsPerFrame;
  processor->filters = hertz > 0;
  if (hertz > 0) set_low_pass(&processor->filter, hertz, format.mSampleRate);
  return tap;
}

// MARK: The queue

static void open_file(struct player *player, const char *path) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  OSStatus status = ExtAudioFileOpenURL(url, &player->file);
  CFRelease(url);
  if (status != noErr) fail(path, status);
  AudioStreamBasicDescription stored;
  UInt32 size = sizeof stored;
  TRY(ExtAudioFileGetProperty, player->file, kExtAudioFileProperty_FileDataFormat, &size, &stored);
  if (stored.mChannelsPerFrame > MOST_CHANNELS) fail(path, kAudioFormatUnsupportedDataFormatError);
  UInt32 frame_bytes = stored.mChannelsPerFrame * (UInt32)sizeof(float);
  player->format = (AudioStreamBasicDescription){
      .mSampleRate = stored.mSampleRate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = frame_bytes,
      .mFramesPerPacket = 1,
      .mBytesPerFrame = frame_bytes,
      .mChannelsPerFrame = stored.mChannelsPerFrame,
      .mBitsPerChannel = 32,
  };
  TRY(ExtAudioFileSetProperty, player->file, kExtAudioFileProperty_ClientDataFormat,
      sizeof player->format, &player->format);
}

/// Fills a buffer from the file and enqueues it; at the end of the file, stops the queue after its
/// last frame.
static void fill(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct player *player = data;
  if (player->is_at_end) return;
  UInt32 frames = FRAMES_PER_BUFFER;
  AudioBufferList list = {
      1, {{player->format.mChannelsPerFrame, buffer->mAudioDataBytesCapacity, buffer->mAudioData}}};
  TRY(ExtAudioFileRead, player->file, &frames, &list);
  if (frames == 0) {
    player->is_at_end = true;
    TRY(AudioQueueStop, queue, false);
    return;
  }
  buffer->mAudioDataByteSize = frames * player->format.mBytesPerFrame;
  TRY(AudioQueueEnqueueBuffer, queue, buffer, 0, NULL);
}

/// Ends the run loop when the queue has played its last frame.
static void running_changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data;
  UInt32 is_running, size = sizeof is_running;
  TRY(AudioQueueGetProperty, queue, property, &is_running, &size);
  if (!is_running) CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(int argc, char **argv) {
  double hertz = 0;
  int option;
  bool is_wrong = false;
  while ((option = getopt(argc, argv, "l:")) != -1) {
    if (option == 'l') hertz = atof(optarg);
    is_wrong |= option != 'l' || !(hertz > 0);
  }
  if (is_wrong || argc - optind != 1) {
    fprintf(stderr, "usage: tap [-l HERTZ] FILE\n");
    return 64;
  }
  struct player player = {0};
  open_file(&player, argv[optind]);
  AudioQueueRef queue;
  TRY(AudioQueueNewOutput, &player.format, fill, &player, CFRunLoopGetCurrent(),
      kCFRunLoopCommonModes, 0, &queue);
  TRY(AudioQueueAddPropertyListener, queue, kAudioQueueProperty_IsRunning, running_changed, NULL);
  static struct processor processor;
  AudioQueueProcessingTapRef tap = add_tap(queue, &processor, hertz);
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY(AudioQueueAllocateBuffer, queue, FRAMES_PER_BUFFER * player.format.mBytesPerFrame, &buffer);
    fill(&player, queue, buffer);
  }
  TRY(AudioQueueStart, queue, NULL);
  CFRunLoopRun();
  TRY(AudioQueueProcessingTapDispose, tap);
  TRY(AudioQueueDispose, queue, true);
  TRY(ExtAudioFileDispose, player.file);
  for (UInt32 i = 0; i < processor.channels; i++)
    printf("channel %u: peak %.6f, RMS %.6f\n", (unsigned)i + 1, processor.peaks[i],
           processor.frames > 0 ? sqrt(processor.squares[i] / (double)processor.frames) : 0);
  return 0;
}
