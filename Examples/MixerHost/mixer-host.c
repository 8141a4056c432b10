// Mixes two loops, one stereo and one mono, in a graph of audio units, and obeys typed commands.
//
// Usage: mixer-host STEREO-FILE MONO-FILE
//
// Commands, a line each; bus 0 plays the stereo file, bus 1 the mono file:
//   start, stop        starts and stops the graph; the loops keep their places
//   enable BUS 0|1     switches a bus off and on
//   gain BUS GAIN      sets the gain of a bus, from 0 to 1
//   output GAIN        sets the gain of the mix, from 0 to 1
//   quit               ends the program, as the end of the input does
//
// Build it with make. Run it on a JACK server: ./mixer-host guitar.wav beats.wav
//
// The files are read into memory, at the sample rate of the device. A MultiChannelMixer asks a
// render callback for the frames of each bus, and RemoteIO asks the mixer for the mix. All this
// happens on JACK's process thread, so the callback only copies. Commands set parameters of the
// mixer, which takes them over in its next render, without a click.

#include <AudioToolbox/AudioToolbox.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  STEREO_BUS,
  MONO_BUS,
  BUS_COUNT,
  MOST_CHANNELS = 2
};

/// A file in memory, with a plane of samples for each channel. The render callback alone uses
/// `next`.
struct loop {
  float *planes[MOST_CHANNELS];
  UInt32 channels, frames, next;
};

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "mixer-host: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: Loops

/// Describes floats with a buffer for each channel, as audio units pass them to each other.
static AudioStreamBasicDescription planar_floats(Float64 rate, UInt32 channels) {
  return (AudioStreamBasicDescription){
      .mSampleRate = rate,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved,
      .mBytesPerPacket = sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = sizeof(float),
      .mChannelsPerFrame = channels,
      .mBitsPerChannel = 32,
  };
}

/// Reads a whole file at a sample rate. A stereo loop has a mono file on both channels, a mono loop
/// the first channel of a stereo file.
static void read_loop(struct loop *loop, const char *path, Float64 rate, UInt32 channels) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  ExtAudioFileRef file;
  OSStatus status = ExtAudioFileOpenURL(url, &file);
  CFRelease(url);
  if (status != noErr) fail(path, status);
  loop->channels = channels;
  AudioStreamBasicDescription format = planar_floats(rate, channels);
  TRY(ExtAudioFileSetProperty, file, kExtAudioFileProperty_ClientDataFormat, sizeof format,
      &format);
  // A list with room for two buffers.
  struct {
    AudioBufferList list;
    AudioBuffer second;
  } buffers;
  AudioBufferList *list = &buffers.list;
  list->mNumberBuffers = channels;
  UInt32 room = 0;
  for (;;) {
    if (loop->frames == room) {
      room += (UInt32)rate;
      for (UInt32 i = 0; i < channels; i++) {
        loop->planes[i] = realloc(loop->planes[i], room * sizeof(float));
        if (!loop->planes[i]) fail("memory", kAudio_MemFullError);
      }
    }
    UInt32 count = room - loop->frames;
    for (UInt32 i = 0; i < channels; i++)
      list->mBuffers[i] =
          (AudioBuffer){1, count * (UInt32)sizeof(float), loop->planes[i] + loop->frames};
    TRY(ExtAudioFileRead, file, &count, list);
    if (count == 0) break;
    loop->frames += count;
  }
  TRY(ExtAudioFileDispose, file);
  if (loop->frames == 0) fail(path, kAudioFileEndOfFileError);
}

/// Gives the mixer the next frames of a bus's loop, from its beginning again after its end.
static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time;
  struct loop *loop = &((struct loop *)data)[bus];
  for (UInt32 done = 0; done < frames;) {
    UInt32 count = loop->frames - loop->next;
    if (count > frames - done) count = frames - done;
    for (UInt32 i = 0; i < loop->channels; i++)
      memcpy((float *)list->mBuffers[i].mData + done, loop->planes[i] + loop->next,
             count * sizeof(float));
    done += count;
    loop->next = (loop->next + count) % loop->frames;
  }
  return noErr;
}

// MARK: The graph

/// The graph, and the mixer in it, whose parameters the commands set.
struct host {
  AUGraph graph;
  AudioUnit mixer;
  struct loop loops[BUS_COUNT];
};

static AUNode add_node(AUGraph graph, OSType type, OSType subtype) {
  AudioComponentDescription description = {type, subtype, kAudioUnitManufacturer_Apple, 0, 0};
  AUNode node;
  TRY(AUGraphAddNode, graph, &description, &node);
  return node;
}

/// Makes the graph: loops → mixer → output.
static void make_graph(struct host *host, char **paths) {
  TRY(NewAUGraph, &host->graph);
  AUNode mixer = add_node(host->graph, kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AUNode output = add_node(host->graph, kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  TRY(AUGraphConnectNodeInput, host->graph, mixer, 0, output, 0);
  TRY(AUGraphOpen, host->graph);
  AudioUnit output_unit;
  TRY(AUGraphNodeInfo, host->graph, mixer, NULL, &host->mixer);
  TRY(AUGraphNodeInfo, host->graph, output, NULL, &output_unit);

  // Everything runs at the rate of the device.
  AudioStreamBasicDescription device;
  UInt32 size = sizeof device, buses = BUS_COUNT;
  TRY(AudioUnitGetProperty, output_unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Output, 0,
      &device, &size);
  Float64 rate = device.mSampleRate;
  TRY(AudioUnitSetProperty, host->mixer, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0,
      &buses, sizeof buses);
  TRY(AudioUnitSetProperty, host->mixer, kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0,
      &rate, sizeof rate);
  for (UInt32 bus = 0; bus < BUS_COUNT; bus++) {
    UInt32 channels = bus == STEREO_BUS ? 2 : 1;
    read_loop(&host->loops[bus], paths[bus], rate, channels);
    AudioStreamBasicDescription format = planar_floats(rate, channels);
    TRY(AudioUnitSetProperty, host->mixer, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input,
        bus, &format, sizeof format);
    AURenderCallbackStruct callback = {render, host->loops};
    TRY(AUGraphSetNodeInputCallback, host->graph, mixer, bus, &callback);
  }
  TRY(AUGraphInitialize, host->graph);
}

static void set(struct host *host, AudioUnitParameterID parameter, AudioUnitScope scope, UInt32 bus,
                float value) {
  TRY(AudioUnitSetParameter, host->mixer, parameter, scope, bus, value, 0);
}

/// Obeys a command. Returns false if there is no such command.
static bool obey(struct host *host, const char *line) {
  UInt32 bus;
  float value;
  char rest;
  if (strcmp(line, "start") == 0)
    TRY(AUGraphStart, host->graph);
  else if (strcmp(line, "stop") == 0)
    TRY(AUGraphStop, host->graph);
  else if (sscanf(line, "enable %u %f %c", &bus, &value, &rest) == 2 && bus < BUS_COUNT)
    set(host, kMultiChannelMixerParam_Enable, kAudioUnitScope_Input, bus, value != 0);
  else if (sscanf(line, "gain %u %f %c", &bus, &value, &rest) == 2 && bus < BUS_COUNT)
    set(host, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, bus, value);
  else if (sscanf(line, "output %f %c", &value, &rest) == 1)
    set(host, kMultiChannelMixerParam_Volume, kAudioUnitScope_Output, 0, value);
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  if (argc != 1 + BUS_COUNT) {
    fprintf(stderr, "usage: mixer-host STEREO-FILE MONO-FILE\n");
    return 64;
  }
  static struct host host;
  make_graph(&host, argv + 1);
  char line[100];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "quit") == 0) break;
    if (line[0] != '\0' && !obey(&host, line))
      fprintf(stderr, "mixer-host: there is no command “%s”\n", line);
  }
  TRY(AUGraphStop, host.graph);
  TRY(DisposeAUGraph, host.graph);
  for (UInt32 bus = 0; bus < BUS_COUNT; bus++)
    for (UInt32 i = 0; i < host.loops[bus].channels; i++)
      free(host.loops[bus].planes[i]);
  return 0;
}
