// Edits of a graph that plays, from two threads at random: nodes that come and go, connections and
// render callbacks. The argument is the seed; "stopped" stops the program now and then, as a busy
// machine does, for longer than a fade takes.
#include "units.h"
#include <signal.h>
#include <sys/wait.h>

enum {
  /// Inputs of the mixer. The first one stays as it is; each thread edits half of the others.
  BUSES = 13,
  THREADS = 2,
  EDITS = 500,
  /// Nodes that a thread has at most.
  NODES = 6,
  /// Room of the recording.
  SECONDS = 90
};

/// The level of each source: sums of them are exact.
#define LEVEL 0.0625f

static AUGraph graph;
static AUNode output_node, mixer_node;
static _Atomic long calls;

/// A source of one level in any number of channels.
static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++) {
    EQUAL(list->mBuffers[i].mDataByteSize, frames * 4);
    for (UInt32 f = 0; f < frames; f++)
      ((float *)list->mBuffers[i].mData)[f] = LEVEL;
  }
  calls++;
  return noErr;
}

static const AURenderCallbackStruct callback = {give, NULL};

static AUNode add(OSType type, OSType subtype) {
  AudioComponentDescription description = describe(type, subtype);
  AUNode node = 0;
  WORKS(AUGraphAddNode(graph, &description, &node));
  return node;
}

static AudioUnit unit_of(AUNode node) {
  AudioUnit unit = NULL;
  WORKS(AUGraphNodeInfo(graph, node, NULL, &unit));
  CHECK(unit != NULL);
  return unit;
}

/// An editing thread: its part of the graph, and how many edits of each kind it has made.
typedef struct {
  unsigned seed;
  /// The first of its inputs of the mixer, and the one behind the last.
  UInt32 first, end;
  AUNode nodes[NODES];
  /// The node that supplies the input of a node; 0 for none, -1 for the callback.
  AUNode supplies[NODES];
  /// The same for the inputs of the mixer.
  AUNode buses[BUSES];
  /// Nodes, connections, disconnections, callbacks, removals, updates.
  int counts[6];
} editor;

static int pick(editor *this, int count) {
  return rand_r(&this->seed) % count;
}

/// Returns the place of one of the thread's nodes; -1 if it has none.
static int any_node(editor *this) {
  int first = pick(this, NODES);
  for (int i = 0; i < NODES; i++)
    if (this->nodes[(first + i) % NODES]) return (first + i) % NODES;
  return -1;
}

static int place(const editor *this, AUNode node) {
  for (int i = 0; i < NODES; i++)
    if (this->nodes[i] == node) return i;
  return -1;
}

/// Returns true if the sound of a node goes to another one, or they are the same.
static bool comes_before(const editor *this, AUNode node, AUNode other) {
  while (other > 0) {
    if (node == other) return true;
    other = this->supplies[place(this, other)];
  }
  return false;
}

/// Takes a node's sound away from what it supplies.
static void forget(editor *this, AUNode node) {
  for (UInt32 b = this->first; b < this->end; b++)
    if (this->buses[b] == node) this->buses[b] = 0;
  for (int i = 0; i < NODES; i++)
    if (this->supplies[i] == node) this->supplies[i] = 0;
}

/// Adds a converter, or removes one if there is no room.
static void add_or_remove(editor *this) {
  int free = place(this, 0);
  if (free >= 0 && pick(this, 2) == 0) {
    AUNode node = add(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
    // Of one channel or of two: the inputs of the mixer follow.
    AudioStreamBasicDescription format = planar(RATE, 1 + (UInt32)pick(this, 2));
    set_format(unit_of(node), kAudioUnitScope_Input, 0, planar(RATE, 2));
    set_format(unit_of(node), kAudioUnitScope_Output, 0, format);
    WORKS(AUGraphSetNodeInputCallback(graph, node, 0, &callback));
    this->nodes[free] = node;
    this->supplies[free] = -1;
    this->counts[0]++;
    return;
  }
  int i = any_node(this);
  if (i < 0) return;
  forget(this, this->nodes[i]);
  WORKS(AUGraphRemoveNode(graph, this->nodes[i]));
  this->nodes[i] = this->supplies[i] = 0;
  this->counts[4]++;
}

/// Disconnects a node from what it supplies: it has one consumer.
static void detach(editor *this, AUNode node) {
  for (UInt32 b = this->first; b < this->end; b++)
    if (this->buses[b] == node) WORKS(AUGraphDisconnectNodeInput(graph, mixer_node, b));
  for (int i = 0; i < NODES; i++)
    if (this->supplies[i] == node) WORKS(AUGraphDisconnectNodeInput(graph, this->nodes[i], 0));
  forget(this, node);
}

/// Connects a node to the mixer, or to another node.
static void connect_node(editor *this) {
  int i = any_node(this), other = any_node(this);
  if (i < 0) return;
  AUNode node = this->nodes[i];
  if (pick(this, 3) == 0 && !comes_before(this, this->nodes[other], node)) {
    detach(this, node);
    WORKS(AUGraphConnectNodeInput(graph, node, 0, this->nodes[other], 0));
    this->supplies[other] = node;
  } else {
    UInt32 bus = this->first + (UInt32)pick(this, (int)(this->end - this->first));
    detach(this, node);
    WORKS(AUGraphConnectNodeInput(graph, node, 0, mixer_node, bus));
    this->buses[bus] = node;
  }
  this->counts[1]++;
}

static void disconnect(editor *this) {
  int i = any_node(this);
  if (i >= 0 && pick(this, 3) == 0) {
    WORKS(AUGraphDisconnectNodeInput(graph, this->nodes[i], 0));
    this->supplies[i] = 0;
  } else {
    UInt32 bus = this->first + (UInt32)pick(this, (int)(this->end - this->first));
    WORKS(AUGraphDisconnectNodeInput(graph, mixer_node, bus));
    this->buses[bus] = 0;
  }
  this->counts[2]++;
}

static void set_source(editor *this) {
  int i = any_node(this);
  if (i >= 0 && pick(this, 3) == 0) {
    WORKS(AUGraphSetNodeInputCallback(graph, this->nodes[i], 0, &callback));
    this->supplies[i] = -1;
  } else {
    UInt32 bus = this->first + (UInt32)pick(this, (int)(this->end - this->first));
    WORKS(AUGraphSetNodeInputCallback(graph, mixer_node, bus, &callback));
    this->buses[bus] = -1;
  }
  this->counts[3]++;
}

static void *edit(void *data) {
  editor *this = data;
  for (int i = 0; i < EDITS; i++) {
    switch (pick(this, 8)) {
    case 0:
    case 1:
      add_or_remove(this);
      break;
    case 2:
    case 3:
      connect_node(this);
      break;
    case 4:
      disconnect(this);
      break;
    case 5:
    case 6:
      set_source(this);
      break;
    default: {
      Boolean is_updated = false;
      WORKS(AUGraphUpdate(graph, &is_updated));
      this->counts[5]++;
    }
    }
  }
  return NULL;
}

/// Returns the number of a thread's inputs of the mixer that sound.
static int sounding(const editor *this) {
  int count = 0;
  for (UInt32 b = this->first; b < this->end; b++) {
    AUNode node = this->buses[b];
    while (node > 0)
      node = this->supplies[place(this, node)];
    if (node < 0) count++;
  }
  return count;
}

/// Edits the graph while it plays. Returns false if JACK left out cycles meanwhile and the sound
/// has a step: a fade is torn where its frames are missing.
static bool plays(cue_capture *card, unsigned seed) {
  WORKS(NewAUGraph(&graph));
  output_node = add(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  mixer_node = add(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  WORKS(AUGraphConnectNodeInput(graph, mixer_node, 0, output_node, 0));
  WORKS(AUGraphOpen(graph));
  AudioUnit mixer = unit_of(mixer_node);
  set_number(mixer, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, BUSES);
  set_format(mixer, kAudioUnitScope_Output, 0, planar(RATE, 2));
  for (UInt32 i = 0; i < BUSES; i++)
    set_format(mixer, kAudioUnitScope_Input, i, planar(RATE, 2));
  WORKS(AUGraphSetNodeInputCallback(graph, mixer_node, 0, &callback));
  WORKS(AUGraphInitialize(graph));
  cue_capture_arm(card);
  WORKS(AUGraphStart(graph));
  WAIT(calls > 4);

  editor editors[THREADS] = {{.seed = seed, .first = 1, .end = 7},
                             {.seed = seed + 1, .first = 7, .end = 13}};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, edit, &editors[i]) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  WORKS(AUGraphUpdate(graph, NULL));
  record(card, 8192);
  WORKS(AUGraphStop(graph));
  end_recording(card);

  int counts[6] = {0}, buses = 1, nodes = 2;
  for (int i = 0; i < THREADS; i++) {
    for (int k = 0; k < 6; k++)
      counts[k] += editors[i].counts[k];
    buses += sounding(&editors[i]);
    for (int k = 0; k < NODES; k++)
      nodes += editors[i].nodes[k] != 0;
  }
  fprintf(
      stderr,
      "edits: %d nodes, %d connections, %d disconnections, %d callbacks, %d removals, %d updates\n",
      counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]);
  for (int k = 0; k < 6; k++)
    CHECK(counts[k] > 20);
  UInt32 count = 0;
  WORKS(AUGraphGetNodeCount(graph, &count));
  EQUAL(count, nodes);

  // The first source is always heard, and no step is larger than that of all others that fade at
  // once within a cycle of 256 frames.
  const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
  size_t start = find_sound(card, 0), end = cue_capture_frames(card);
  while (end > start && left[end - 1] == 0)
    end--;
  CHECK(end < SECONDS * RATE);
  const float most = (BUSES - 1) * LEVEL / 256 + 1e-6f;
  float largest = 0, least = 1;
  for (size_t i = start; i + 1 < end; i++) {
    largest = fmaxf(largest, fmaxf(fabsf(left[i + 1] - left[i]), fabsf(right[i + 1] - right[i])));
    least = fminf(least, fminf(left[i], right[i]));
  }
  unsigned gaps = cue_capture_gap_count(card);
  fprintf(stderr,
          "edits: %zu frames, the largest step is %g of %g, the lowest sample %g, %u gaps\n",
          end - start, (double)largest, (double)most, (double)least, gaps);
  bool is_whole = gaps == 0 || largest <= most;
  if (is_whole) CHECK(largest <= most);
  CHECK(least >= LEVEL);
  // The last level is that of the connections which both threads have left.
  EQUAL(left[end - 2048], (float)buses * LEVEL);
  EQUAL(right[end - 2048], (float)buses * LEVEL);
  WORKS(DisposeAUGraph(graph));
  return is_whole;
}

/// Starts a process that stops this one twelve times for a quarter of a second.
static pid_t start_stopping(void) {
  pid_t program = getpid(), child = fork();
  if (child != 0) return child;
  for (int i = 0; i < 12; i++) {
    usleep(200000);
    kill(program, SIGSTOP);
    usleep(250000);
    kill(program, SIGCONT);
  }
  _exit(0);
}

int main(int count, char **arguments) {
  bool is_stopped = count > 1 && strcmp(arguments[1], "stopped") == 0;
  unsigned seed = count > 1 && !is_stopped ? (unsigned)strtoul(arguments[1], NULL, 10) : 1;
  pid_t stopping = is_stopped ? start_stopping() : 0;
  cue_capture *card = open_card(SECONDS);
  for (int i = 0; !plays(card, seed); i++)
    CHECK(i < 10);
  if (is_stopped) EQUAL(waitpid(stopping, NULL, 0), stopping);
  passed("edits");
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
