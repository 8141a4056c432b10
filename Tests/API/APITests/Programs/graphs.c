// Graphs of audio units: nodes, connections, states, renders, and changes of a graph that plays.
#include "units.h"

static AUNode add(AUGraph graph, OSType type, OSType subtype) {
  AudioComponentDescription description = describe(type, subtype);
  AUNode node = 0;
  WORKS(AUGraphAddNode(graph, &description, &node));
  CHECK(node > 0);
  return node;
}

static AudioUnit unit_of(AUGraph graph, AUNode node) {
  AudioUnit unit = NULL;
  AudioComponentDescription description;
  WORKS(AUGraphNodeInfo(graph, node, &description, &unit));
  return unit;
}

static Boolean answer(OSStatus (*question)(AUGraph, Boolean *), AUGraph graph) {
  Boolean value = 77;
  WORKS(question(graph, &value));
  return value;
}

static UInt32 count(AUGraph graph) {
  UInt32 value = 77;
  WORKS(AUGraphGetNumberOfInteractions(graph, &value));
  return value;
}

/// A source of one level.
typedef struct {
  float level;
  _Atomic int calls;
} constant;

static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  constant *this = data;
  (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    for (UInt32 f = 0; f < frames; f++)
      ((float *)list->mBuffers[i].mData)[f] = this->level;
  this->calls++;
  return noErr;
}

static void set_node_callback(AUGraph graph, AUNode node, UInt32 bus, constant *source) {
  AURenderCallbackStruct callback = {give, source};
  WORKS(AUGraphSetNodeInputCallback(graph, node, bus, &callback));
}

/// Returns what CAShow or CAShowFile prints of an object. The caller frees it.
static char *shown(void *object, bool to_file) {
  char *text = NULL;
  size_t size;
  if (to_file) {
    FILE *file = open_memstream(&text, &size);
    CAShowFile(object, file);
    fclose(file);
    return text;
  }
  FILE *file = tmpfile();
  fflush(stdout);
  int standard = dup(STDOUT_FILENO);
  CHECK(dup2(fileno(file), STDOUT_FILENO) >= 0);
  CAShow(object);
  fflush(stdout);
  CHECK(dup2(standard, STDOUT_FILENO) >= 0);
  close(standard);
  text = calloc(1, 4096);
  rewind(file);
  CHECK(fread(text, 1, 4095, file) > 0);
  fclose(file);
  return text;
}

/// Checks what is printed of a graph, of one of its units, and of neither.
static void check_shown(AUGraph graph, AUNode mixer, void *source) {
  char expected[4096];
  AudioUnit output = unit_of(graph, 1);
  snprintf(expected, sizeof expected,
           "AudioUnitGraph %p:\n"
           "  Member Nodes:\n"
           "    node 1: 'auou' 'genr' 'appl', instance %p O I\n"
           "    node 2: 'aumx' 'smxr' 'appl', instance %p O I\n"
           "    node 3: 'aufc' 'conv' 'appl', instance %p O I\n"
           "  Connections:\n"
           "    node 3 bus 0 => node 2 bus 3  [Linear PCM, 32 bit little-endian floating point, "
           "1 ch, 22050 Hz, deinterleaved]\n"
           "    node 2 bus 0 => node 1 bus 0  [Linear PCM, 32 bit little-endian floating point, "
           "2 ch, 48000 Hz, deinterleaved]\n"
           "  Input Callbacks:\n"
           "    {%p, %p} => node 3 bus 0  [Linear PCM, 32 bit little-endian floating point, 1 ch, "
           "22050 Hz, deinterleaved]\n"
           "  CurrentState:\n"
           "    isOpen=T, isInitialized=T, isRunning=T\n",
           (void *)graph, (void *)output, (void *)unit_of(graph, mixer), (void *)unit_of(graph, 3),
           (void *)give, source);
  for (int i = 0; i < 2; i++) {
    char *text = shown(graph, i == 0);
    CHECK(strcmp(text, expected) == 0);
    free(text);
  }
  snprintf(expected, sizeof expected,
           "AudioUnit %p: 'auou' 'genr' 'appl' Apple: GenericOutput, initialized\n"
           "  input 0: [Linear PCM, 32 bit little-endian floating point, 2 ch, 48000 Hz, "
           "deinterleaved]\n"
           "  output 0: [Linear PCM, 32 bit little-endian floating point, 2 ch, 44100 Hz, "
           "deinterleaved]\n",
           (void *)output);
  char *text = shown(output, true);
  CHECK(strcmp(text, expected) == 0);
  free(text);
  text = shown(&text, true);
  CHECK(strstr(text, "neither a graph nor an audio unit") != NULL);
  free(text);
  text = shown(NULL, true);
  CHECK(strncmp(text, "0x0 ", 4) == 0);
  free(text);
  FILE *volatile nowhere = NULL;
  CAShowFile(graph, nowhere);
}

// MARK: Nodes and connections

static void nodes(void) {
  AUGraph graph = NULL;
  WORKS(NewAUGraph(&graph));
  UInt32 number = 77;
  WORKS(AUGraphGetNodeCount(graph, &number));
  EQUAL(number, 0);
  AUNode output = add(graph, kAudioUnitType_Output, kAudioUnitSubType_GenericOutput);
  AUNode mixer = add(graph, kAudioUnitType_Mixer, kAudioUnitSubType_StereoMixer);
  AUNode converter = add(graph, kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  CHECK(output != mixer && mixer != converter);
  AudioComponentDescription other =
      describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  AUNode node = 0;
  GIVES(AUGraphAddNode(graph, &other, &node), kAUGraphErr_OutputNodeErr);
  other.componentSubType = 'none';
  GIVES(AUGraphAddNode(graph, &other, &node), kAudioComponentErr_UnsupportedType);
  WORKS(AUGraphGetNodeCount(graph, &number));
  EQUAL(number, 3);
  WORKS(AUGraphGetIndNode(graph, 1, &node));
  EQUAL(node, mixer);
  GIVES(AUGraphGetIndNode(graph, 3, &node), kAUGraphErr_NodeNotFound);
  CHECK(unit_of(graph, mixer) == NULL);
  GIVES(AUGraphNodeInfo(graph, 99, NULL, NULL), kAUGraphErr_NodeNotFound);

  WORKS(AUGraphConnectNodeInput(graph, converter, 0, mixer, 3));
  WORKS(AUGraphConnectNodeInput(graph, mixer, 0, output, 0));
  constant source = {.level = 0.5f};
  set_node_callback(graph, converter, 0, &source);
  GIVES(AUGraphConnectNodeInput(graph, mixer, 0, converter, 0), kAUGraphErr_InvalidConnection);
  GIVES(AUGraphConnectNodeInput(graph, mixer, 0, mixer, 0), kAUGraphErr_InvalidConnection);
  GIVES(AUGraphConnectNodeInput(graph, 99, 0, mixer, 0), kAUGraphErr_NodeNotFound);
  EQUAL(count(graph), 3);
  WORKS(AUGraphCountNodeInteractions(graph, mixer, &number));
  EQUAL(number, 2);
  AUNodeInteraction found[4];
  number = 4;
  WORKS(AUGraphGetNodeInteractions(graph, converter, &number, found));
  EQUAL(number, 2);
  EQUAL(found[0].nodeInteractionType, kAUNodeInteraction_Connection);
  EQUAL(found[0].nodeInteraction.connection.sourceNode, converter);
  EQUAL(found[0].nodeInteraction.connection.destNode, mixer);
  EQUAL(found[0].nodeInteraction.connection.destInputNumber, 3);
  EQUAL(found[1].nodeInteractionType, kAUNodeInteraction_InputCallback);
  CHECK(found[1].nodeInteraction.inputCallback.cback.inputProc == give);
  CHECK(found[1].nodeInteraction.inputCallback.cback.inputProcRefCon == &source);
  WORKS(AUGraphGetInteractionInfo(graph, 1, found));
  EQUAL(found[0].nodeInteraction.connection.destNode, output);
  GIVES(AUGraphGetInteractionInfo(graph, 3, found), kAUGraphErr_InvalidConnection);

  // States.
  GIVES(AUGraphInitialize(graph), kAUGraphErr_CannotDoInCurrentContext);
  GIVES(AUGraphStart(graph), kAudioUnitErr_Uninitialized);
  CHECK(!answer(AUGraphIsOpen, graph));
  WORKS(AUGraphOpen(graph));
  WORKS(AUGraphOpen(graph));
  CHECK(answer(AUGraphIsOpen, graph) && !answer(AUGraphIsInitialized, graph));
  GIVES(AUGraphConnectNodeInput(graph, converter, 0, mixer, 8), kAUGraphErr_InvalidConnection);
  GIVES(AUGraphConnectNodeInput(graph, converter, 1, mixer, 0), kAUGraphErr_InvalidConnection);
  // Formats that are set after the connections go along them.
  set_format(unit_of(graph, converter), kAudioUnitScope_Output, 0, planar(22050, 1));
  set_format(unit_of(graph, converter), kAudioUnitScope_Input, 0, planar(22050, 1));
  set_format(unit_of(graph, mixer), kAudioUnitScope_Output, 0, planar(RATE, 2));
  WORKS(AUGraphInitialize(graph));
  WORKS(AUGraphInitialize(graph));
  EQUAL(get_format(unit_of(graph, mixer), kAudioUnitScope_Input, 3).mSampleRate, 22050);
  EQUAL(get_format(unit_of(graph, mixer), kAudioUnitScope_Input, 3).mChannelsPerFrame, 1);
  EQUAL(get_format(unit_of(graph, output), kAudioUnitScope_Input, 0).mSampleRate, RATE);
  WORKS(AUGraphStart(graph));
  CHECK(answer(AUGraphIsRunning, graph));
  check_shown(graph, mixer, &source);

  // The app pulls.
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  time.mFlags = kAudioTimeStampSampleTimeValid;
  struct {
    AudioBufferList list;
    AudioBuffer second;
  } all = {{2, {{1, 0, NULL}}}, {1, 0, NULL}};
  set_format(unit_of(graph, output), kAudioUnitScope_Output, 0, planar(RATE, 2));
  for (int i = 0; i < 20; i++) {
    time.mSampleTime = 1000 * i;
    all.list.mBuffers[0].mData = all.list.mBuffers[1].mData = NULL;
    WORKS(AudioUnitRender(unit_of(graph, output), NULL, &time, 0, 1000, &all.list));
  }
  CHECK(fabsf(((float *)all.list.mBuffers[1].mData)[999] - 0.5f) < 1e-4f);
  CHECK(source.calls > 0);

  // A node joins, and another goes.
  AUNode second = add(graph, kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  CHECK(unit_of(graph, second) != NULL);
  constant more = {.level = 0.25f};
  set_node_callback(graph, second, 0, &more);
  WORKS(AUGraphConnectNodeInput(graph, second, 0, mixer, 4));
  WORKS(AUGraphRemoveNode(graph, converter));
  GIVES(AUGraphNodeInfo(graph, converter, NULL, NULL), kAUGraphErr_NodeNotFound);
  EQUAL(count(graph), 3);
  // It waits for the update. The sample rate converter takes what it needs in larger pieces.
  int calls = source.calls;
  for (int i = 0; i < 4; i++) {
    time.mSampleTime += 1000;
    all.list.mBuffers[0].mData = all.list.mBuffers[1].mData = NULL;
    WORKS(AudioUnitRender(unit_of(graph, output), NULL, &time, 0, 1000, &all.list));
  }
  CHECK(source.calls > calls && more.calls == 0);
  Boolean updated = false;
  WORKS(AUGraphUpdate(graph, &updated));
  CHECK(updated);
  calls = source.calls;
  for (int i = 0; i < 20; i++) {
    time.mSampleTime += 1000;
    all.list.mBuffers[0].mData = all.list.mBuffers[1].mData = NULL;
    WORKS(AudioUnitRender(unit_of(graph, output), NULL, &time, 0, 1000, &all.list));
  }
  EQUAL(source.calls, calls);
  CHECK(fabsf(((float *)all.list.mBuffers[1].mData)[999] - 0.25f) < 1e-4f);

  WORKS(AUGraphStop(graph));
  WORKS(AUGraphUninitialize(graph));
  CHECK(!answer(AUGraphIsInitialized, graph) && answer(AUGraphIsOpen, graph));
  WORKS(AUGraphClearConnections(graph));
  EQUAL(count(graph), 0);
  WORKS(AUGraphInitialize(graph));
  time.mSampleTime += 1000;
  all.list.mBuffers[0].mData = all.list.mBuffers[1].mData = NULL;
  GIVES(AudioUnitRender(unit_of(graph, output), NULL, &time, 0, 1000, &all.list),
        kAudioUnitErr_NoConnection);
  AudioUnit gone = unit_of(graph, output);
  WORKS(AUGraphClose(graph));
  CHECK(unit_of(graph, output) == NULL);
  GIVES(AudioUnitInitialize(gone), badComponentInstance);
  WORKS(DisposeAUGraph(graph));
  GIVES(AUGraphOpen(graph), kAudio_ParamError);
  WORKS(DisposeAUGraph(NULL));

  // The functions of before 10.5.
  WORKS(NewAUGraph(&graph));
  ComponentDescription old = describe(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  WORKS(AUGraphNewNode(graph, &old, 0, NULL, &node));
  WORKS(AUGraphOpen(graph));
  UInt32 size = 77;
  void *class_data = &size;
  AudioUnit unit = NULL;
  WORKS(AUGraphGetNodeInfo(graph, node, &old, &size, &class_data, &unit));
  CHECK(size == 0 && class_data == NULL && unit != NULL);
  EQUAL(old.componentSubType, kAudioUnitSubType_DefaultOutput);
  // Without a close.
  WORKS(DisposeAUGraph(graph));
  GIVES(AudioUnitInitialize(unit), badComponentInstance);
  passed("nodes");
}

// MARK: On a device

static OSStatus note(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)time, (void)bus, (void)frames, (void)list;
  ((_Atomic int *)data)[*flags & kAudioUnitRenderAction_PreRender ? 0 : 1]++;
  return noErr;
}

static void plays(cue_capture *card) {
  AUGraph graph = NULL;
  WORKS(NewAUGraph(&graph));
  AUNode output = add(graph, kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  AUNode mixer = add(graph, kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  WORKS(AUGraphConnectNodeInput(graph, mixer, 0, output, 0));
  WORKS(AUGraphOpen(graph));
  AudioUnit unit = unit_of(graph, mixer);
  UInt32 buses = 8;
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0,
                             &buses, sizeof buses));
  set_format(unit, kAudioUnitScope_Output, 0, planar(RATE, 2));
  for (UInt32 i = 0; i < buses; i++)
    set_format(unit, kAudioUnitScope_Input, i, planar(RATE, 2));
  static constant sources[8];
  for (int i = 0; i < 8; i++)
    sources[i].level = 0.125f;
  set_node_callback(graph, mixer, 0, &sources[0]);
  static _Atomic int notes[2];
  WORKS(AUGraphAddRenderNotify(graph, note, (void *)notes));
  WORKS(AUGraphInitialize(graph));
  cue_capture_arm(card);
  WORKS(AUGraphStart(graph));
  WORKS(AUGraphStart(graph));
  WAIT(sources[0].calls > 10);
  Float32 load = -1, most = -1;
  WORKS(AUGraphGetCPULoad(graph, &load));
  WORKS(AUGraphGetMaxCPULoad(graph, &most));
  CHECK(load > 0 && most >= load);
  CHECK(notes[0] > 0);
  // Changes at random: sources that come and go.
  unsigned seed = 7;
  bool is_on[8] = {true};
  for (int i = 0; i < 60; i++) {
    UInt32 bus = (UInt32)(rand_r(&seed) % 7) + 1;
    is_on[bus] = !is_on[bus];
    if (is_on[bus])
      set_node_callback(graph, mixer, bus, &sources[bus]);
    else
      WORKS(AUGraphDisconnectNodeInput(graph, mixer, bus));
    if (i % 3 == 0) WORKS(AUGraphUpdate(graph, NULL));
  }
  WORKS(AUGraphUpdate(graph, NULL));
  record(card, 8192);
  WORKS(AUGraphRemoveRenderNotify(graph, note, (void *)notes));
  int last = notes[0];
  WORKS(AUGraphStop(graph));
  WORKS(AUGraphStop(graph));
  CHECK(!answer(AUGraphIsRunning, graph));
  EQUAL(notes[0], last);
  end_recording(card);
  // No click and no hole: the first source is always heard, and no step is larger than that of
  // seven sources that fade within the shortest render.
  const float *left = cue_capture_samples(card, 0);
  size_t start = find_sound(card, 0), end = cue_capture_frames(card);
  while (end > start && left[end - 1] == 0)
    end--;
  CHECK(end - start > 8192);
  for (size_t i = start; i + 1 < end; i++) {
    CHECK(left[i] >= 0.125f);
    CHECK(fabsf(left[i + 1] - left[i]) <= 7 * 0.125f / 64 + 1e-6f);
  }
  float expected = 0;
  for (int i = 0; i < 8; i++)
    expected += is_on[i] ? 0.125f : 0;
  EQUAL(left[end - 4096], expected);
  GIVES(AUGraphRemoveNode(graph, 99), kAUGraphErr_NodeNotFound);
  WORKS(AUGraphStart(graph));
  GIVES(AUGraphRemoveNode(graph, output), kAUGraphErr_OutputNodeErr);
  WORKS(DisposeAUGraph(graph));
  int calls = sources[0].calls;
  let_time_pass();
  EQUAL(sources[0].calls, calls);
  passed("a graph that plays");
}

int main(void) {
  nodes();
  cue_capture *card = open_card(30);
  plays(card);
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
