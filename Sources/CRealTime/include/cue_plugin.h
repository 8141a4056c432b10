// What runs one LV2 plugin in a cycle. All memory is the host's; nothing here is exported.
#pragma once

#include "cue_ring.h"
#include "cue_transport.h"
#include "cue_urids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The frame of a change or a message that is to come as soon as possible.
#define CUE_NOW INT64_MIN

/// Frames of one step of a ramp.
#define CUE_RAMP_STEP 32

/// A control input of the plugin.
typedef struct cue_plugin_control {
  /// What the plugin reads.
  float value;
  /// To which a trigger returns after a run.
  float usual;
  bool is_trigger, is_ramping;
  /// The ramp that is under way: from where, to where, its first device frame, its frames.
  float from, to;
  int64_t start;
  uint32_t length;
  /// What a controller last set it to: a cue_moved.
  uint64_t moved;
} cue_plugin_control;

/// A control output of the plugin.
typedef struct cue_plugin_readout {
  /// What the plugin writes.
  float value;
  /// The bits of `value` after the latest run: for any thread, by cue_plugin_shown.
  uint32_t shown;
} cue_plugin_readout;

/// A change of a control, on its way to the cycle.
typedef struct cue_control_change {
  /// Device frame, or CUE_NOW.
  int64_t frame;
  uint32_t control;
  float value;
  /// Frames that the change takes, in steps of CUE_RAMP_STEP.
  uint32_t ramp;
} cue_control_change;

/// What comes before an atom in the ring of messages (an event port's number) and that of replies.
typedef struct cue_message_head {
  /// Device frame, or CUE_NOW.
  int64_t frame;
  uint32_t port;
  /// Bytes of the atom that follows, its own head included.
  uint32_t bytes;
} cue_message_head;

/// What comes before a text in the ring of log entries.
typedef struct cue_log_head {
  uint32_t type, bytes;
} cue_log_head;

/// An atom port of the plugin.
typedef struct cue_event_port {
  /// The plugin's number for it.
  uint32_t index;
  /// Sequences of a part of a block are made here.
  void *buffer;
  uint32_t buffer_bytes;
  /// What the plugin is connected to.
  const void *connected;
  /// Used in a run only.
  uint32_t capacity, used;
} cue_event_port;

/// One plugin, as a cycle sees it. Prepared by the host; never moves.
typedef struct cue_plugin {
  // What every run touches comes first: a cycle that finds other programs' memory in the caches
  // waits for each line of it.

  // The plugin; without a run function the node is silent.
  void *handle;
  void (*run)(void *handle, uint32_t frames);
  void (*connect_port)(void *handle, uint32_t port, void *data);
  /// NULL if it has none.
  void (*end_run)(void *handle);
  void (*work_response)(void *handle, uint32_t bytes, const void *body);

  // Its ports: audio and CV by their numbers, with what they are connected to; the others below.
  const uint32_t *inputs, *outputs;
  const void **connected_inputs, **connected_outputs;
  uint32_t input_count, output_count, event_input_count, event_output_count;
  uint32_t control_count, readout_count;
  /// Which control tells the plugin of freewheeling, and which readout is its latency; -1 for none.
  int32_t freewheeling_control, latency_readout;
  /// The event input that takes positions, or -1.
  int32_t position_port;

  // Changes of controls: the ring, and how many wait for their frame.
  uint32_t pending_capacity, pending_count, ramping_count;
  cue_ring *changes;
  /// MIDI controllers: the bindings that the host last offered.
  struct cue_bindings *offered;
  /// What the worker answers, and what restoring a state answers.
  cue_ring *responses, *restored;
  /// The thread that runs the plugin now, or 0.
  uintptr_t runner;
  uint32_t staged_used;
  /// Nothing ever runs in real time: waiting is always allowed.
  bool is_offline;
  /// Waiting is allowed in this run.
  bool is_synchronous;
  /// Runs are never split.
  bool has_fixed_blocks;
  /// One of the controls is a trigger.
  bool has_triggers;
  /// The plugin is to be told of the transport in this run.
  bool tells_position;
  /// The run left something for the host: requests, log entries, replies.
  bool wants_signal;

  cue_plugin_control *controls;
  cue_plugin_readout *readouts;
  cue_event_port *event_inputs, *event_outputs;
  /// Changes that wait for their frame, in their order.
  cue_control_change *pending;

  // Atoms for event inputs, those that wait for their frame, by frame, and those from event outputs
  // that are for the host.
  cue_ring *messages, *replies;
  void *staged;
  uint32_t staged_bytes;
  /// The latest frame that a staged one waits for.
  int64_t staged_last;

  // The bindings that the cycle goes by, and what it learned.
  struct cue_bindings *bindings;
  uint64_t learned;

  /// The number of the transport that the plugin was last told of, the message for that, and the
  /// frame after its latest block.
  uint64_t told_transport;
  int64_t next_frame;
  cue_position position;

  /// The worker's requests, and room for its largest response.
  cue_ring *requests;
  void *response;
  /// Does all requests that wait, in the calling thread. Called only while waiting is allowed.
  void (*work_now)(void *context);

  // The log: what the plugin says in a cycle, and where it says anything else.
  cue_ring *log;
  void (*log_now)(void *context, uint32_t type, const char *text);

  /// What the two functions are given.
  void *context;
  /// Posted after a run that left something for the host.
  cue_signal *signal;

  uint32_t urid_sequence, urid_chunk, urid_object, urid_patch_set, urid_patch_put;
  uint32_t urid_midi, urid_float, urid_double;

  /// Events, replies and requests that found no room. Any thread, by atomic loads.
  uint64_t lost;
} cue_plugin;

/// The `run` of the plugin's cue_node; `plugin` is a cue_plugin.
CUE_HIDDEN void cue_plugin_run(void *plugin, const cue_block *block) CUE_REALTIME;

/// Has the processor fetch what a run begins with. Any address will do.
static inline void cue_plugin_prefetch(const void *plugin) CUE_REALTIME {
  cue_rt_prefetch(plugin, offsetof(cue_plugin, controls));
}

/// `plugin` as a graph runs it.
static inline cue_node cue_plugin_node(cue_plugin *plugin) {
  cue_node node = {cue_plugin_run, plugin};
  return node;
}

/// Has the changes that wait for no frame take effect, and hands over all responses. Not real time,
/// and only while no cycle runs the plugin.
CUE_HIDDEN void cue_plugin_settle(cue_plugin *plugin);

/// Settles a plugin that tells of a latency, and has it run for no frames: so hosts learn it before
/// the first frame (see LV2_Descriptor::run). `block` has the planes, and no frames. Not real time,
/// and only while no cycle runs the plugin.
CUE_HIDDEN void cue_plugin_preroll(cue_plugin *plugin, const cue_block *block);

/// What the latest run wrote to a readout. Any thread.
static inline float cue_plugin_shown(const cue_plugin_readout *readout) {
  uint32_t bits = __atomic_load_n(&readout->shown, __ATOMIC_RELAXED);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// How many events, replies and requests found no room. Any thread.
static inline uint64_t cue_plugin_lost(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->lost, __ATOMIC_RELAXED);
}

/// Has a change of a control wait for its frame; false if there is no room. In a run.
CUE_HIDDEN bool cue_plugin_await(cue_plugin *plugin, const cue_control_change *change) CUE_REALTIME;

/// Has a message, of `head->bytes` bytes, wait for its frame; false if there is no room. In a run.
CUE_HIDDEN bool cue_plugin_stage(cue_plugin *plugin, const cue_message_head *head,
                                 const LV2_Atom *atom) CUE_REALTIME;

/// LV2's schedule_work, for runs: `plugin` is a cue_plugin. The cycle's thread.
CUE_HIDDEN uint32_t cue_plugin_schedule(void *plugin, uint32_t bytes,
                                        const void *body) CUE_REALTIME;

/// LV2's respond function of the worker: `plugin` is a cue_plugin. Whoever does the work.
CUE_HIDDEN uint32_t cue_plugin_respond(void *plugin, uint32_t bytes, const void *body);

/// The same for work that restoring a state asks for.
CUE_HIDDEN uint32_t cue_plugin_respond_restored(void *plugin, uint32_t bytes, const void *body);

/// The feature log:log, laid out as LV2_Log_Log.
typedef struct cue_plugin_log {
  void *plugin;
  int (*print)(void *plugin, uint32_t type, const char *format, ...);
  int (*vprint)(void *plugin, uint32_t type, const char *format, __builtin_va_list arguments);
} cue_plugin_log;

/// A log that goes to `plugin`, a cue_plugin.
CUE_HIDDEN void cue_plugin_log_initialize(cue_plugin_log *log, void *plugin);
