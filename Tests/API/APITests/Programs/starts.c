// Units, graphs and IOProcs that one thread starts while another one ends them. After the end
// nothing of the app is called, whatever began beside it.
#include "units.h"

enum {
  ROUNDS = 2
};

static _Atomic long calls;

static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  // Freed with the unit's end.
  *(volatile char *)data += 1;
  (void)flags, (void)time, (void)bus, (void)frames, (void)list;
  calls++;
  return noErr;
}

static OSStatus play(AudioObjectID device, const AudioTimeStamp *now, const AudioBufferList *input,
                     const AudioTimeStamp *input_time, AudioBufferList *output,
                     const AudioTimeStamp *output_time, void *data) {
  *(volatile char *)data += 1;
  (void)device, (void)now, (void)input, (void)input_time, (void)output, (void)output_time;
  calls++;
  return noErr;
}

typedef struct {
  void (*call)(void *object);
  void *object;
  unsigned most;
} task;

static void *run(void *data) {
  task *this = data;
  usleep((unsigned)rand() % this->most);
  this->call(this->object);
  return NULL;
}

/// Makes two calls on two threads. The second one comes while the first goes on, or soon after it.
static void both(void (*first)(void *), void (*second)(void *), void *object) {
  task tasks[] = {{first, object, 300}, {second, object, 60000}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, run, &tasks[i]) == 0);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

/// Checks that nothing is called any more.
static void expect_silence(const char *what) {
  long before = calls;
  let_time_pass();
  EQUAL(calls, before);
  passed(what);
}

// MARK: Units

static void start(void *unit) {
  OSStatus status = AudioOutputUnitStart(unit);
  CHECK(status == noErr || status == badComponentInstance || status == kAudioUnitErr_Uninitialized);
}

static void stop(void *unit) {
  WORKS(AudioOutputUnitStop(unit));
}

static void uninitialize(void *unit) {
  WORKS(AudioUnitUninitialize(unit));
}

static void dispose(void *unit) {
  WORKS(AudioComponentInstanceDispose(unit));
}

static void enable_input(void *unit) {
  UInt32 on = 1;
  OSStatus status = AudioUnitSetProperty(unit, kAudioOutputUnitProperty_EnableIO,
                                         kAudioUnitScope_Input, 1, &on, sizeof on);
  CHECK(status == noErr || status == badComponentInstance);
}

static void units(void) {
  void (*const ends[])(void *) = {dispose, stop, uninitialize};
  for (int round = 0; round < 3 * ROUNDS; round++) {
    char *data = calloc(1, 1);
    AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
    set_callback(unit, 0, give, data);
    WORKS(AudioUnitInitialize(unit));
    void (*end)(void *) = ends[round % 3];
    bool enables = round % 6 > 2;
    if (enables) start(unit);
    both(enables ? enable_input : start, end, unit);
    if (end == dispose) {
      GIVES(AudioOutputUnitStart(unit), badComponentInstance);
    } else {
      // The start may have come last.
      UInt32 runs = number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0);
      CHECK(end == stop ? !enables || !runs : !runs);
      WORKS(AudioOutputUnitStop(unit));
      EQUAL(number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0), 0);
      dispose(unit);
    }
    free(data);
  }
  expect_silence("units");
}

// MARK: Graphs

static void start_graph(void *graph) {
  OSStatus status = AUGraphStart(graph);
  CHECK(status == noErr || status == kAudio_ParamError || status == kAudioUnitErr_Uninitialized ||
        status == kAUGraphErr_OutputNodeErr);
}

static void stop_graph(void *graph) {
  WORKS(AUGraphStop(graph));
}

static void close_graph(void *graph) {
  WORKS(AUGraphClose(graph));
}

static void dispose_graph(void *graph) {
  WORKS(DisposeAUGraph(graph));
}

static void graphs(void) {
  void (*const ends[])(void *) = {dispose_graph, close_graph, stop_graph};
  for (int round = 0; round < 2 * ROUNDS; round++) {
    char *data = calloc(1, 1);
    AUGraph graph = NULL;
    AUNode node = 0;
    AudioComponentDescription output =
        describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
    AURenderCallbackStruct callback = {give, data};
    WORKS(NewAUGraph(&graph));
    WORKS(AUGraphAddNode(graph, &output, &node));
    WORKS(AUGraphOpen(graph));
    WORKS(AUGraphSetNodeInputCallback(graph, node, 0, &callback));
    WORKS(AUGraphInitialize(graph));
    void (*end)(void *) = ends[round % 3];
    both(start_graph, end, graph);
    if (end == dispose_graph) {
      GIVES(AUGraphStart(graph), kAudio_ParamError);
    } else {
      Boolean runs = true;
      WORKS(AUGraphIsRunning(graph, &runs));
      CHECK(end == stop_graph || !runs);
      dispose_graph(graph);
    }
    free(data);
  }
  expect_silence("graphs");
}

// MARK: IOProcs

static AudioObjectID device;

static void start_proc(void *proc) {
  OSStatus status = AudioDeviceStart(device, (AudioDeviceIOProcID)proc);
  CHECK(status == noErr || status == kAudioHardwareIllegalOperationError);
}

static void stop_proc(void *proc) {
  WORKS(AudioDeviceStop(device, (AudioDeviceIOProcID)proc));
}

static void destroy_proc(void *proc) {
  WORKS(AudioDeviceDestroyIOProcID(device, (AudioDeviceIOProcID)proc));
}

static void procs(void) {
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  UInt32 size = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  for (int round = 0; round < 2 * ROUNDS; round++) {
    char *data = calloc(1, 1);
    AudioDeviceIOProcID proc = NULL;
    WORKS(AudioDeviceCreateIOProcID(device, play, data, &proc));
    bool stops = round % 2;
    both(start_proc, stops ? stop_proc : destroy_proc, (void *)proc);
    if (stops) destroy_proc((void *)proc);
    GIVES(AudioDeviceStart(device, proc), kAudioHardwareIllegalOperationError);
    free(data);
  }
  // The device itself, which no IOProc stands for.
  for (int round = 0; round < ROUNDS; round++)
    both(start_proc, stop_proc, NULL);
  WORKS(AudioDeviceStop(device, NULL));
  address.mSelector = kAudioDevicePropertyDeviceIsRunning;
  UInt32 runs = 7;
  size = sizeof runs;
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &runs));
  EQUAL(runs, 0);
  expect_silence("IOProcs");
}

int main(void) {
  units();
  graphs();
  procs();
  WORKS(AudioHardwareUnload());
  return 0;
}
