// Plays sound files in loops through a mixer and an equaliser with presets.
//
// Usage: mixer-eq [-p PRESET] [-s SECONDS] FILE[=GAIN] ...
//        mixer-eq -l
//
// The files are read into memory, at the device's rate. A graph of audio units asks a render
// callback for the frames of each file; the callback runs on the device's thread, so it only
// copies. GAIN is 0 to 1. Without SECONDS it plays until it is interrupted. -l lists the presets.

#include <AudioToolbox/AudioToolbox.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  CHANNELS = 2,
  MOST_FILES = 16
};

/// A file in memory: `frames` frames of interleaved stereo. The render callback alone uses `next`.
struct source {
  float *samples;
  UInt32 frames, next;
};

static volatile sig_atomic_t is_over;

static void interrupted(int signal) {
  (void)signal;
  is_over = 1;
}

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "mixer-eq: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: Files

/// Reads a whole file as interleaved stereo floats at a sample rate.
static struct source read_file(const char *path, Float64 rate) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  ExtAudioFileRef file;
  OSStatus status = ExtAudioFileOpenURL(url, &file);
  CFRelease(url);
  if (status != noErr) fail(path, status);
  AudioStreamBasicDescription format = {
      .mSampleRate = rate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = CHANNELS * sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = CHANNELS * sizeof(float),
      .mChannelsPerFrame = CHANNELS,
      .mBitsPerChannel = 32,
  };
  TRY(ExtAudioFileSetProperty, file, kExtAudioFileProperty_ClientDataFormat, sizeof format,
      &format);
  struct source source = {NULL, 0, 0};
  UInt32 room = 0;
  for (;;) {
    if (source.frames == room) {
      room += (UInt32)rate;
      source.samples = realloc(source.samples, (size_t)room * CHANNELS * sizeof(float));
      if (!source.samples) fail("memory", kAudio_MemFullError);
    }
    UInt32 count = room - source.frames;
    AudioBufferList list = {1,
                            {{CHANNELS, count * CHANNELS * (UInt32)sizeof(float),
                              source.samples + (size_t)source.frames * CHANNELS}}};
    TRY(ExtAudioFileRead, file, &count, &list);
    if (count == 0) break;
    source.frames += count;
  }
  TRY(ExtAudioFileDispose, file);
  if (source.frames == 0) fail(path, kAudioFileEndOfFileError);
  return source;
}

// MARK: The graph

/// Gives the next frames of a file, from its beginning again after its end.
static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus;
  struct source *source = data;
  float *left = list->mBuffers[0].mData, *right = list->mBuffers[1].mData;
  for (UInt32 i = 0; i < frames; i++) {
    left[i] = source->samples[CHANNELS * source->next];
    right[i] = source->samples[CHANNELS * source->next + 1];
    if (++source->next == source->frames) source->next = 0;
  }
  return noErr;
}

static AUNode add_node(AUGraph graph, OSType type, OSType subtype) {
  AudioComponentDescription description = {type, subtype, kAudioUnitManufacturer_Apple, 0, 0};
  AUNode node;
  TRY(AUGraphAddNode, graph, &description, &node);
  return node;
}

static AudioUnit unit_of(AUGraph graph, AUNode node) {
  AudioUnit unit;
  TRY(AUGraphNodeInfo, graph, node, NULL, &unit);
  return unit;
}

/// Selects the preset with a name; with no name, prints them all.
static void use_preset(AudioUnit equaliser, const char *name) {
  CFArrayRef presets;
  UInt32 size = sizeof presets;
  TRY(AudioUnitGetProperty, equaliser, kAudioUnitProperty_FactoryPresets, kAudioUnitScope_Global, 0,
      &presets, &size);
  bool is_known = false;
  for (CFIndex i = 0; i < CFArrayGetCount(presets); i++) {
    const AUPreset *preset = CFArrayGetValueAtIndex(presets, i);
    char text[100];
    CFStringGetCString(preset->presetName, text, sizeof text, kCFStringEncodingUTF8);
    if (!name) puts(text);
    if (!name || strcmp(text, name)) continue;
    is_known = true;
    TRY(AudioUnitSetProperty, equaliser, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global,
        0, preset, sizeof *preset);
  }
  CFRelease(presets);
  if (name && !is_known) {
    fprintf(stderr, "mixer-eq: there is no preset “%s”; -l lists them\n", name);
    exit(1);
  }
}

static int explain(void) {
  fprintf(stderr, "usage: mixer-eq [-p PRESET] [-s SECONDS] FILE[=GAIN] ...\n"
                  "       mixer-eq -l\n");
  return 64;
}

int main(int argc, char **argv) {
  const char *preset = "Flat";
  double seconds = 0;
  bool lists = false;
  int option;
  while ((option = getopt(argc, argv, "p:s:l")) != -1) {
    if (option == 'p')
      preset = optarg;
    else if (option == 's')
      seconds = atof(optarg);
    else if (option == 'l')
      lists = true;
    else
      return explain();
  }
  int count = argc - optind;
  if (lists ? count > 0 : count < 1 || count > MOST_FILES) return explain();

  AUGraph graph;
  TRY(NewAUGraph, &graph);
  AUNode mixer_node = add_node(graph, kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AUNode equaliser_node = add_node(graph, kAudioUnitType_Effect, kAudioUnitSubType_AUiPodEQ);
  AUNode output_node = add_node(graph, kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  TRY(AUGraphConnectNodeInput, graph, mixer_node, 0, equaliser_node, 0);
  TRY(AUGraphConnectNodeInput, graph, equaliser_node, 0, output_node, 0);
  TRY(AUGraphOpen, graph);
  AudioUnit mixer = unit_of(graph, mixer_node);
  AudioUnit equaliser = unit_of(graph, equaliser_node);
  use_preset(equaliser, lists ? NULL : preset);
  if (lists) return 0;

  // Everything runs at the rate of the device.
  AudioStreamBasicDescription device;
  UInt32 size = sizeof device;
  TRY(AudioUnitGetProperty, unit_of(graph, output_node), kAudioUnitProperty_StreamFormat,
      kAudioUnitScope_Output, 0, &device, &size);
  UInt32 buses = (UInt32)count;
  TRY(AudioUnitSetProperty, mixer, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0,
      &buses, sizeof buses);
  TRY(AudioUnitSetProperty, mixer, kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0,
      &device.mSampleRate, sizeof device.mSampleRate);
  static struct source sources[MOST_FILES];
  for (UInt32 bus = 0; bus < buses; bus++) {
    char *name = argv[optind + (int)bus], *gain = strrchr(name, '=');
    if (gain) *gain++ = 0;
    sources[bus] = read_file(name, device.mSampleRate);
    TRY(AudioUnitSetProperty, mixer, kAudioUnitProperty_SampleRate, kAudioUnitScope_Input, bus,
        &device.mSampleRate, sizeof device.mSampleRate);
    AURenderCallbackStruct callback = {render, &sources[bus]};
    TRY(AUGraphSetNodeInputCallback, graph, mixer_node, bus, &callback);
    TRY(AudioUnitSetParameter, mixer, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, bus,
        gain ? (float)atof(gain) : 1, 0);
  }

  signal(SIGINT, interrupted);
  signal(SIGTERM, interrupted);
  TRY(AUGraphInitialize, graph);
  TRY(AUGraphStart, graph);
  for (double passed = 0; !is_over && (seconds == 0 || passed < seconds); passed += 0.01)
    usleep(10000);
  TRY(AUGraphStop, graph);
  TRY(DisposeAUGraph, graph);
  for (UInt32 bus = 0; bus < buses; bus++)
    free(sources[bus].samples);
  return 0;
}
