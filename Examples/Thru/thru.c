// Plays what it records, in the same cycle, and shows it as an oscilloscope and as a spectrum.
//
// Usage: thru
//
// Commands, a line each:
//   mute              switches the output off, and on again
//   filter            switches a filter that removes DC on, and off again
//   scope [FILE]      shows the first channel's wave, or writes the picture to a PNG file
//   spectrum [FILE]   the same with its spectrum: from 20 Hz to half the sample rate, 0 to -100 dB
//   quit              ends the program, as the end of the input does
//
// On a terminal the latest picture is drawn again and again. An empty line ends that.
//
// Build it with make; it needs libpng for the pictures, and libavutil for the Fourier transform.
// Run it on a JACK server: ./thru
//
// RemoteIO has two elements: element 0 plays, element 1 records. The render callback of element 0
// renders element 1 into the very buffers that are played. Both belong to one JACK client, so the
// sound is not later than JACK's own latency. The callback runs on JACK's process thread: it
// neither allocates nor locks. The rest of the program sets its atomic switches, and reads frames
// of the history that it does not write at the time.

#include <AudioToolbox/AudioToolbox.h>

#include <libavutil/mem.h>
#include <libavutil/tx.h>
#include <math.h>
#include <png.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  CHANNELS = 2,
  /// Frames of the oscilloscope and of the transform.
  SCOPE_FRAMES = 640,
  SPECTRUM_FRAMES = 8192,
  /// Frames that are kept: twice as many as are read, so that the callback does not overtake a
  /// reader.
  HISTORY = 2 * SPECTRUM_FRAMES
};

/// Pole of the filter: it passes half the power at 38 Hz, at a sample rate of 48 kHz.
static const float POLE = 0.995f;
static const double LOWEST_HERTZ = 20, LOWEST_DECIBELS = -100;

/// The render callback's state. Other threads use the atomic members, and read the history.
struct thru {
  AudioUnit unit;
  Float64 rate;
  atomic_bool is_muted, filters;
  /// The latest input and output of the filter of each channel.
  float inputs[CHANNELS], outputs[CHANNELS];
  /// The latest frames of the first channel; the frame number n is at n modulo HISTORY.
  float history[HISTORY];
  atomic_ulong frames;
};

/// A grey picture, with the first line at the top.
struct picture {
  int width, height;
  unsigned char *pixels;
};

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "thru: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: The unit

/// Removes DC: the difference of neighbouring samples, summed up by a leaky integrator.
static void remove_dc(struct thru *thru, int channel, float *samples, UInt32 frames) {
  float input = thru->inputs[channel], output = thru->outputs[channel];
  for (UInt32 i = 0; i < frames; i++) {
    output = samples[i] - input + POLE * output;
    input = samples[i];
    samples[i] = output;
  }
  thru->inputs[channel] = input;
  thru->outputs[channel] = output;
}

/// Renders the input into the buffers of the output.
static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)bus;
  struct thru *thru = data;
  OSStatus status = AudioUnitRender(thru->unit, flags, time, 1, frames, list);
  if (status != noErr) return status;
  bool filters = atomic_load(&thru->filters), is_muted = atomic_load(&thru->is_muted);
  for (int channel = 0; filters && channel < CHANNELS; channel++)
    remove_dc(thru, channel, list->mBuffers[channel].mData, frames);
  unsigned long number = atomic_load(&thru->frames);
  const float *first = list->mBuffers[0].mData;
  for (UInt32 i = 0; i < frames; i++)
    thru->history[(number + i) % HISTORY] = first[i];
  atomic_store(&thru->frames, number + frames);
  for (int channel = 0; is_muted && channel < CHANNELS; channel++)
    memset(list->mBuffers[channel].mData, 0, frames * sizeof(float));
  return noErr;
}

static void make_unit(struct thru *thru) {
  AudioComponentDescription description = {kAudioUnitType_Output, kAudioUnitSubType_RemoteIO,
                                           kAudioUnitManufacturer_Apple, 0, 0};
  AudioComponent component = AudioComponentFindNext(NULL, &description);
  TRY(AudioComponentInstanceNew, component, &thru->unit);
  UInt32 yes = 1, size = sizeof thru->rate;
  TRY(AudioUnitSetProperty, thru->unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1,
      &yes, sizeof yes);
  // Both directions at the device's rate, with a buffer for each channel: nothing is converted.
  TRY(AudioUnitGetProperty, thru->unit, kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0,
      &thru->rate, &size);
  AudioStreamBasicDescription format = {
      .mSampleRate = thru->rate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved,
      .mBytesPerPacket = sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = sizeof(float),
      .mChannelsPerFrame = CHANNELS,
      .mBitsPerChannel = 32,
  };
  TRY(AudioUnitSetProperty, thru->unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0,
      &format, sizeof format);
  TRY(AudioUnitSetProperty, thru->unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Output, 1,
      &format, sizeof format);
  AURenderCallbackStruct callback = {render, thru};
  TRY(AudioUnitSetProperty, thru->unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input,
      0, &callback, sizeof callback);
  TRY(AudioUnitInitialize, thru->unit);
  TRY(AudioOutputUnitStart, thru->unit);
}

// MARK: Pictures

/// Copies the latest frames of the first channel.
static void copy_latest(struct thru *thru, float *samples, unsigned long count) {
  unsigned long end = atomic_load(&thru->frames);
  for (unsigned long i = 0; i < count; i++)
    samples[i] = thru->history[(end - count + i) % HISTORY];
}

/// Lights the pixels of a column between two lines.
static void draw_column(struct picture *picture, int column, double from, double to) {
  int first = (int)fmax(0, from), last = (int)fmin(picture->height - 1, to);
  for (int line = first; line <= last; line++)
    picture->pixels[line * picture->width + column] = 255;
}

/// Draws the wave, from -1 to 1. It begins where the wave rises through 0, so that it stands still.
static void draw_scope(struct picture *picture, struct thru *thru) {
  float samples[2 * SCOPE_FRAMES];
  copy_latest(thru, samples, 2 * SCOPE_FRAMES);
  int start = 1;
  while (start < SCOPE_FRAMES - 1 && !(samples[start - 1] < 0 && samples[start] >= 0))
    start++;
  for (int column = 0; column < picture->width; column++) {
    // A column reaches to the first frame of the next one, so that the curve has no gaps.
    int frame = start + column * SCOPE_FRAMES / picture->width;
    int end = start + (column + 1) * SCOPE_FRAMES / picture->width;
    float lowest = samples[frame], highest = samples[frame];
    for (; frame <= end; frame++) {
      lowest = fminf(lowest, samples[frame]);
      highest = fmaxf(highest, samples[frame]);
    }
    double scale = (picture->height - 1) / 2.0;
    draw_column(picture, column, (1 - highest) * scale, (1 - lowest) * scale);
  }
}

/// Computes the amplitude of each frequency, so that a sine has its own amplitude.
static void transform(struct thru *thru, float *amplitudes) {
  static AVTXContext *context;
  static av_tx_fn run;
  static float *samples, *values;
  if (!context) {
    float scale = 1;
    if (av_tx_init(&context, &run, AV_TX_FLOAT_RDFT, 0, SPECTRUM_FRAMES, &scale, 0) < 0)
      fail("av_tx_init", kAudio_UnimplementedError);
    samples = av_malloc(SPECTRUM_FRAMES * sizeof(float));
    values = av_malloc((SPECTRUM_FRAMES + 2) * sizeof(float));
    if (!samples || !values) fail("memory", kAudio_MemFullError);
  }
  copy_latest(thru, samples, SPECTRUM_FRAMES);
  // A Hann window, whose mean is a half.
  for (int i = 0; i < SPECTRUM_FRAMES; i++)
    samples[i] *= (float)(0.5 - 0.5 * cos(2 * M_PI * i / SPECTRUM_FRAMES));
  run(context, values, samples, sizeof(float));
  for (int i = 0; i <= SPECTRUM_FRAMES / 2; i++)
    amplitudes[i] = hypotf(values[2 * i], values[2 * i + 1]) * 4 / SPECTRUM_FRAMES;
}

/// Draws a bar for each frequency range. The frequencies' logarithms are equally far from each
/// other.
static void draw_spectrum(struct picture *picture, struct thru *thru) {
  static float amplitudes[SPECTRUM_FRAMES / 2 + 1];
  transform(thru, amplitudes);
  double octaves = log2(thru->rate / 2 / LOWEST_HERTZ);
  for (int column = 0; column < picture->width; column++) {
    // Each column shows the largest amplitude of its frequencies, the nearest one at least.
    double bins = SPECTRUM_FRAMES / thru->rate * LOWEST_HERTZ;
    int bin = (int)lround(bins * exp2(octaves * column / picture->width));
    int end = (int)lround(bins * exp2(octaves * (column + 1) / picture->width));
    float largest = amplitudes[bin];
    for (; bin < end; bin++)
      largest = fmaxf(largest, amplitudes[bin]);
    double decibels = 20 * log10(largest);
    if (decibels > LOWEST_DECIBELS)
      draw_column(picture, column, decibels / LOWEST_DECIBELS * picture->height, picture->height);
  }
}

/// Draws a picture for the terminal, or into a PNG file.
static void show(struct thru *thru, void (*draw)(struct picture *, struct thru *),
                 const char *file) {
  unsigned char pixels[640 * 240] = {0};
  struct picture picture = {file ? 640 : 76, file ? 240 : 20, pixels};
  draw(&picture, thru);
  if (file) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)picture.width,
                       .height = (png_uint_32)picture.height,
                       .format = PNG_FORMAT_GRAY};
    if (!png_image_write_to_file(&image, file, 0, pixels, 0, NULL))
      fprintf(stderr, "thru: %s: %s\n", file, image.message);
    return;
  }
  // Moves to the upper left corner and clears the screen.
  if (isatty(STDOUT_FILENO)) printf("\033[H\033[2J");
  for (int line = 0; line < picture.height; line++) {
    for (int column = 0; column < picture.width; column++)
      putchar(pixels[line * picture.width + column] ? '#' : ' ');
    putchar('\n');
  }
  fflush(stdout);
}

// MARK: Commands

static void toggle(atomic_bool *value) {
  atomic_store(value, !atomic_load(value));
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc != 1) {
    fprintf(stderr, "usage: thru\n");
    return 64;
  }
  static struct thru thru;
  make_unit(&thru);
  // Lines are read as they come, not ahead, so that poll knows of each.
  setvbuf(stdin, NULL, _IONBF, 0);
  void (*live)(struct picture *, struct thru *) = NULL;
  for (;;) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, live ? 50 : -1) == 0) {
      show(&thru, live, NULL);
      continue;
    }
    char line[1000], command[16] = "", file[1000] = "";
    if (!fgets(line, sizeof line, stdin)) break;
    sscanf(line, "%15s %999[^\n]", command, file);
    live = NULL;
    if (strcmp(command, "quit") == 0) {
      break;
    } else if (strcmp(command, "mute") == 0) {
      toggle(&thru.is_muted);
    } else if (strcmp(command, "filter") == 0) {
      toggle(&thru.filters);
    } else if (strcmp(command, "scope") == 0 || strcmp(command, "spectrum") == 0) {
      void (*draw)(struct picture *, struct thru *) =
          command[1] == 'c' ? draw_scope : draw_spectrum;
      show(&thru, draw, file[0] ? file : NULL);
      if (!file[0] && isatty(STDOUT_FILENO)) live = draw;
    } else if (command[0] != '\0') {
      fprintf(stderr, "thru: there is no command “%s”\n", command);
    }
  }
  TRY(AudioOutputUnitStop, thru.unit);
  TRY(AudioComponentInstanceDispose, thru.unit);
  return 0;
}
