// Two threads make one call each at the same time on a handle, and both begin or end something.
// Every pair of calls of a family has its turn. Arguments: the rounds of each pair, and the family;
// all families without one.
//
// No call of a pair may crash or hang. After a Dispose or Close has returned, no callback comes any
// more.
#include "units.h"

#include <stdatomic.h>

enum {
  FRAMES = 256,
  SLOTS = 64
};

// MARK: Callbacks

/// What a handle's callbacks get. A round's memory is used again only after many more rounds.
typedef struct {
  atomic_int calls;
  atomic_bool is_over;
} context;

static context contexts[SLOTS];
static context *now;

static void called(void *data) {
  context *mine = data;
  mine->calls++;
  CHECK(!mine->is_over);
}

static void silence(AudioBufferList *list) {
  for (UInt32 i = 0; list && i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
}

static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus, (void)frames;
  called(data);
  silence(list);
  return noErr;
}

static OSStatus io(AudioDeviceID device, const AudioTimeStamp *time, const AudioBufferList *input,
                   const AudioTimeStamp *input_time, AudioBufferList *output,
                   const AudioTimeStamp *output_time, void *data) {
  (void)device, (void)time, (void)input, (void)input_time, (void)output_time;
  called(data);
  silence(output);
  return noErr;
}

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  called(data);
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)start, (void)packets, (void)descriptions;
  called(data);
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

static void changed(void *data, AudioUnit unit, AudioUnitPropertyID property, AudioUnitScope scope,
                    AudioUnitElement element) {
  (void)unit, (void)property, (void)scope, (void)element;
  called(data);
}

static void told(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)queue, (void)property;
  called(data);
}

static float zeros[2 * FRAMES];

static OSStatus supply(AudioConverterRef converter, UInt32 *packets, AudioBufferList *list,
                       AudioStreamPacketDescription **descriptions, void *data) {
  (void)converter, (void)descriptions;
  called(data);
  *packets = FRAMES;
  list->mBuffers[0].mData = zeros;
  list->mBuffers[0].mDataByteSize = sizeof zeros;
  return noErr;
}

// MARK: Families

/// A call of a family. Returns true if it ends the handle.
typedef bool (*action)(void);

typedef struct {
  const char *name;
  void (*make)(void);
  action actions[16];
  /// Ends the handle if no call of the pair has ended it.
  void (*end)(void);
  /// Families without a JACK client have so many times the rounds.
  int factor;
  /// One thread at a time may use the handle, and any may end it, by the last of the actions.
  bool is_lent;
} family;

static AudioUnit unit;
static AUGraph graph;
static AUNode nodes[2];
static AudioQueueRef queue;
static AudioQueueBufferRef buffers_of_queue[2];
static AudioDeviceID device;
static AudioDeviceIOProcID procedure;
static AudioConverterRef converter;
static AudioFileID file;
static ExtAudioFileRef extended;
static AudioFileStreamID stream;
static char path[200];

#define DOES(name, call)                                                                           \
  static bool name(void) {                                                                         \
    (void)(call);                                                                                  \
    return false;                                                                                  \
  }
#define ENDS(name, call)                                                                           \
  static bool name(void) {                                                                         \
    return (call) == noErr;                                                                        \
  }
#define END(name, call)                                                                            \
  static void name(void) {                                                                         \
    WORKS(call);                                                                                   \
  }

static OSStatus set(AudioUnitPropertyID property, AudioUnitScope scope, UInt32 element,
                    const void *value, UInt32 size) {
  return AudioUnitSetProperty(unit, property, scope, element, value, size);
}

static OSStatus enable(AudioUnitScope scope, UInt32 element, UInt32 on) {
  return set(kAudioOutputUnitProperty_EnableIO, scope, element, &on, sizeof on);
}

static OSStatus set_rate(double rate) {
  AudioStreamBasicDescription format = planar(rate, 2);
  return set(kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0, &format, sizeof format);
}

static OSStatus set_device(void) {
  return set(kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0, &device,
             sizeof device);
}

static void make_output(void) {
  unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  set_callback(unit, 0, render, now);
  AURenderCallbackStruct input = {render, now};
  WORKS(set(kAudioOutputUnitProperty_SetInputCallback, kAudioUnitScope_Global, 0, &input,
            sizeof input));
  WORKS(AudioUnitAddPropertyListener(unit, kAudioOutputUnitProperty_IsRunning, changed, now));
  WORKS(AudioUnitInitialize(unit));
}

DOES(start_unit, AudioOutputUnitStart(unit))
DOES(stop_unit, AudioOutputUnitStop(unit))
DOES(initialize_unit, AudioUnitInitialize(unit))
DOES(uninitialize_unit, AudioUnitUninitialize(unit))
DOES(reset_unit, AudioUnitReset(unit, kAudioUnitScope_Global, 0))
DOES(record_too, enable(kAudioUnitScope_Input, 1, 1))
DOES(record_no_more, enable(kAudioUnitScope_Input, 1, 0))
DOES(play_no_more, enable(kAudioUnitScope_Output, 0, 0))
DOES(another_rate, set_rate(32000))
DOES(same_device, set_device())
ENDS(dispose_unit, AudioComponentInstanceDispose(unit))
END(end_unit, AudioComponentInstanceDispose(unit))

static OSStatus render_once(void) {
  static _Atomic unsigned long frame;
  buffers list = no_memory(2);
  AudioTimeStamp time = at_frame((double)(frame += FRAMES));
  AudioUnitRenderActionFlags flags = 0;
  return AudioUnitRender(unit, &flags, &time, 0, FRAMES, &list.list);
}

static OSStatus set_maximum(UInt32 frames) {
  return set(kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0, &frames,
             sizeof frames);
}

static void make_mixer(void) {
  unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_callback(unit, 0, render, now);
  WORKS(AudioUnitInitialize(unit));
}

DOES(render_unit, render_once())
DOES(change_maximum, set_maximum(4096))

static void make_graph(void) {
  AudioComponentDescription output = describe(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  AudioComponentDescription mixer =
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AURenderCallbackStruct callback = {render, now};
  WORKS(NewAUGraph(&graph));
  WORKS(AUGraphAddNode(graph, &output, &nodes[0]));
  WORKS(AUGraphAddNode(graph, &mixer, &nodes[1]));
  WORKS(AUGraphOpen(graph));
  WORKS(AUGraphConnectNodeInput(graph, nodes[1], 0, nodes[0], 0));
  WORKS(AUGraphSetNodeInputCallback(graph, nodes[1], 0, &callback));
  WORKS(AUGraphInitialize(graph));
}

DOES(start_graph, AUGraphStart(graph))
DOES(stop_graph, AUGraphStop(graph))
DOES(initialize_graph, AUGraphInitialize(graph))
DOES(uninitialize_graph, AUGraphUninitialize(graph))
DOES(open_graph, AUGraphOpen(graph))
DOES(close_graph, AUGraphClose(graph))
DOES(update_graph, AUGraphUpdate(graph, NULL))
DOES(disconnect_node, AUGraphDisconnectNodeInput(graph, nodes[0], 0))
DOES(remove_node, AUGraphRemoveNode(graph, nodes[1]))
ENDS(dispose_graph, DisposeAUGraph(graph))
END(end_graph, DisposeAUGraph(graph))

static void fill_queue(void) {
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, told, now));
  for (int i = 0; i < 2; i++) {
    buffers_of_queue[i] = new_buffer(queue, FRAMES);
    buffers_of_queue[i]->mAudioDataByteSize = FRAMES * FRAME_BYTES;
    WORKS(AudioQueueEnqueueBuffer(queue, buffers_of_queue[i], 0, NULL));
  }
}

static void make_player(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  WORKS(AudioQueueNewOutput(&format, played, now, NULL, NULL, 0, &queue));
  fill_queue();
}

/// Its sound passes a converter and a worker thread.
static void make_converting_player(void) {
  AudioStreamBasicDescription format = float_format(32000, 2);
  WORKS(AudioQueueNewOutput(&format, played, now, NULL, NULL, 0, &queue));
  fill_queue();
}

static void make_recorder(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  WORKS(AudioQueueNewInput(&format, recorded, now, NULL, NULL, 0, &queue));
  fill_queue();
}

DOES(start_queue, AudioQueueStart(queue, NULL))
DOES(pause_queue, AudioQueuePause(queue))
DOES(stop_queue, AudioQueueStop(queue, true))
DOES(drain_queue, AudioQueueStop(queue, false))
DOES(reset_queue, AudioQueueReset(queue))
DOES(flush_queue, AudioQueueFlush(queue))
DOES(prime_queue, AudioQueuePrime(queue, 0, NULL))
DOES(free_buffer, AudioQueueFreeBuffer(queue, buffers_of_queue[0]))
ENDS(dispose_queue, AudioQueueDispose(queue, true))
ENDS(dispose_queue_later, AudioQueueDispose(queue, false))
END(end_queue, AudioQueueDispose(queue, true))

static void make_procedure(void) {
  WORKS(AudioDeviceCreateIOProcID(device, io, now, &procedure));
}

DOES(start_procedure, AudioDeviceStart(device, procedure))
DOES(stop_procedure, AudioDeviceStop(device, procedure))
ENDS(destroy_procedure, AudioDeviceDestroyIOProcID(device, procedure))
END(end_procedure, AudioDeviceDestroyIOProcID(device, procedure))

static void make_converter(void) {
  AudioStreamBasicDescription from = float_format(44100, 2), to = float_format(RATE, 2);
  WORKS(AudioConverterNew(&from, &to, &converter));
}

static OSStatus convert(void) {
  float samples[2 * FRAMES];
  AudioBufferList list = {1, {{2, sizeof samples, samples}}};
  UInt32 packets = FRAMES;
  return AudioConverterFillComplexBuffer(converter, supply, now, &packets, &list, NULL);
}

static OSStatus set_quality(UInt32 quality) {
  return AudioConverterSetProperty(converter, kAudioConverterSampleRateConverterQuality,
                                   sizeof quality, &quality);
}

DOES(fill_buffer, convert())
DOES(reset_converter, AudioConverterReset(converter))
DOES(change_quality, set_quality(kAudioConverterQuality_Max))
ENDS(dispose_converter, AudioConverterDispose(converter))
END(end_converter, AudioConverterDispose(converter))

static CFURLRef url(void) {
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

static void make_file(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  CFURLRef place = url();
  UInt32 size = sizeof zeros;
  WORKS(
      AudioFileCreateWithURL(place, kAudioFileCAFType, &format, kAudioFileFlags_EraseFile, &file));
  WORKS(AudioFileWriteBytes(file, false, 0, &size, zeros));
  CFRelease(place);
}

static OSStatus read_file(void) {
  float samples[2 * FRAMES];
  UInt32 size = sizeof samples;
  return AudioFileReadBytes(file, false, 0, &size, samples);
}

static OSStatus write_file(void) {
  UInt32 size = sizeof zeros;
  return AudioFileWriteBytes(file, false, sizeof zeros, &size, zeros);
}

static OSStatus count_packets(void) {
  UInt64 count;
  UInt32 size = sizeof count;
  return AudioFileGetProperty(file, kAudioFilePropertyAudioDataPacketCount, &size, &count);
}

DOES(read_bytes, read_file())
DOES(write_bytes, write_file())
DOES(packets_of_file, count_packets())
DOES(optimize_file, AudioFileOptimize(file))
ENDS(close_file, AudioFileClose(file))
END(end_file, AudioFileClose(file))

static OSStatus set_client_rate(double rate) {
  AudioStreamBasicDescription format = float_format(rate, 2);
  return ExtAudioFileSetProperty(extended, kExtAudioFileProperty_ClientDataFormat, sizeof format,
                                 &format);
}

static OSStatus read_frames(void) {
  float samples[2 * FRAMES];
  AudioBufferList list = {1, {{2, sizeof samples, samples}}};
  UInt32 frames = FRAMES;
  return ExtAudioFileRead(extended, &frames, &list);
}

static OSStatus write_frames(bool later) {
  AudioBufferList list = {1, {{2, sizeof zeros, zeros}}};
  return later ? ExtAudioFileWriteAsync(extended, FRAMES, &list)
               : ExtAudioFileWrite(extended, FRAMES, &list);
}

static void make_reader(void) {
  make_file();
  end_file();
  CFURLRef place = url();
  WORKS(ExtAudioFileOpenURL(place, &extended));
  CFRelease(place);
  WORKS(set_client_rate(44100));
}

static void make_writer(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  CFURLRef place = url();
  WORKS(ExtAudioFileCreateWithURL(place, kAudioFileCAFType, &format, NULL,
                                  kAudioFileFlags_EraseFile, &extended));
  CFRelease(place);
  WORKS(write_frames(true));
}

DOES(read_extended, read_frames())
DOES(seek_extended, ExtAudioFileSeek(extended, 0))
DOES(change_client, set_client_rate(32000))
DOES(write_extended, write_frames(false))
DOES(write_later, write_frames(true))
ENDS(dispose_extended, ExtAudioFileDispose(extended))
END(end_extended, ExtAudioFileDispose(extended))

static void property_found(void *data, AudioFileStreamID from, AudioFileStreamPropertyID property,
                           AudioFileStreamPropertyFlags *flags) {
  (void)from, (void)property, (void)flags;
  called(data);
}

static void packets_found(void *data, UInt32 bytes, UInt32 packets, const void *input,
                          AudioStreamPacketDescription *descriptions) {
  (void)bytes, (void)packets, (void)input, (void)descriptions;
  called(data);
}

static unsigned char image[4096];
static UInt32 image_size;

static void make_stream(void) {
  if (image_size == 0) {
    make_file();
    end_file();
    FILE *saved = fopen(path, "rb");
    CHECK(saved != NULL);
    image_size = (UInt32)fread(image, 1, sizeof image, saved);
    fclose(saved);
  }
  WORKS(AudioFileStreamOpen(now, property_found, packets_found, kAudioFileCAFType, &stream));
}

static OSStatus seek_stream(void) {
  SInt64 offset;
  AudioFileStreamSeekFlags flags = 0;
  return AudioFileStreamSeek(stream, 0, &offset, &flags);
}

DOES(parse_bytes, AudioFileStreamParseBytes(stream, image_size, image, 0))
DOES(find_packet, seek_stream())
ENDS(close_stream, AudioFileStreamClose(stream))
END(end_stream, AudioFileStreamClose(stream))

static const family families[] = {
    {"output units",
     make_output,
     {start_unit, stop_unit, initialize_unit, uninitialize_unit, reset_unit, record_too,
      record_no_more, play_no_more, another_rate, same_device, dispose_unit},
     end_unit},
    {"mixers",
     make_mixer,
     {render_unit, initialize_unit, uninitialize_unit, reset_unit, another_rate, change_maximum,
      dispose_unit},
     end_unit,
     10},
    {"graphs",
     make_graph,
     {start_graph, stop_graph, initialize_graph, uninitialize_graph, open_graph, close_graph,
      update_graph, disconnect_node, remove_node, dispose_graph},
     end_graph},
    {"players",
     make_player,
     {start_queue, pause_queue, stop_queue, drain_queue, reset_queue, flush_queue, prime_queue,
      free_buffer, dispose_queue, dispose_queue_later},
     end_queue},
    {"converting players",
     make_converting_player,
     {start_queue, pause_queue, stop_queue, drain_queue, reset_queue, flush_queue, prime_queue,
      free_buffer, dispose_queue, dispose_queue_later},
     end_queue},
    {"recorders",
     make_recorder,
     {start_queue, pause_queue, stop_queue, drain_queue, reset_queue, flush_queue, free_buffer,
      dispose_queue, dispose_queue_later},
     end_queue},
    {"IOProcs",
     make_procedure,
     {start_procedure, stop_procedure, destroy_procedure},
     end_procedure},
    {"converters",
     make_converter,
     {fill_buffer, reset_converter, change_quality, dispose_converter},
     end_converter,
     10},
    {"files",
     make_file,
     {read_bytes, write_bytes, packets_of_file, optimize_file, close_file},
     end_file,
     10},
    {"readers",
     make_reader,
     {read_extended, seek_extended, change_client, dispose_extended},
     end_extended,
     10},
    {"writers", make_writer, {write_extended, write_later, dispose_extended}, end_extended, 10},
    {"streams", make_stream, {parse_bytes, find_packet, close_stream}, end_stream, 10, true},
};

// MARK: Rounds

/// The threads that make the calls, and the call that each makes next.
static struct {
  pthread_t thread;
  action action;
  useconds_t delay;
  atomic_bool has_ended;
} callers[2];
static pthread_barrier_t begin;
static atomic_uint done;

static void *make_calls(void *number) {
  for (;;) {
    pthread_barrier_wait(&begin);
    int i = (int)(intptr_t)number;
    if (!callers[i].action) return NULL;
    if (callers[i].delay) usleep(callers[i].delay);
    callers[i].has_ended = callers[i].action();
    done++;
  }
}

/// Makes two calls at the same time; true if one of them has ended the handle.
static bool call_both(action one, action other) {
  callers[0].action = one;
  callers[1].action = other;
  done = 0;
  pthread_barrier_wait(&begin);
  if (!one) return false;
  WAIT(done == 2);
  return callers[0].has_ended || callers[1].has_ended;
}

static void run_family(const family *each, int rounds) {
  unsigned slot = 0;
  int number = 0;
  while (each->actions[number])
    number++;
  for (int i = 0; i < rounds * number * number * (each->factor ? each->factor : 1); i++) {
    // A pair has its turn once, in any order.
    int one = i % number, other = i / number % number;
    if (one < other || (each->is_lent && one < number - 1)) continue;
    int first = rand() % 2;
    now = &contexts[slot++ % SLOTS];
    memset(now, 0, sizeof *now);
    each->make();
    // One thread comes a little later than the other, or first what is to be stopped runs for a
    // while.
    callers[0].delay = (useconds_t)(rand() % 4 ? 0 : rand() % 400);
    callers[1].delay = (useconds_t)(rand() % 4 ? 0 : rand() % 2000);
    if (rand() % 2) each->actions[0]();
    if (!call_both(each->actions[first ? one : other], each->actions[first ? other : one]))
      each->end();
    now->is_over = true;
  }
  passed(each->name);
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 1;
  cue_jack_silence();
  snprintf(path, sizeof path, "%s/cuejack-pairs-XXXXXX",
           getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  CHECK(mkdtemp(path) != NULL);
  char folder[200];
  snprintf(folder, sizeof folder, "%s", path);
  snprintf(path + strlen(path), sizeof path - strlen(path), "/pairs.caf");
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  UInt32 size = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  CHECK(!pthread_barrier_init(&begin, NULL, 3));
  for (intptr_t i = 0; i < 2; i++)
    CHECK(!pthread_create(&callers[i].thread, NULL, make_calls, (void *)i));
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (count < 3 || strcmp(arguments[2], families[i].name) == 0) run_family(&families[i], rounds);
  call_both(NULL, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(callers[i].thread, NULL);
  unlink(path);
  rmdir(folder);
  return 0;
}
