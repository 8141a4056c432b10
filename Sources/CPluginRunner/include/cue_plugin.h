// An LV2 plugin as a graph node. The host owns all memory; nothing here is exported.
#pragma once

#include "cue_position.h"
#include "cue_ring.h"
#include "cue_urids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The frame of a change or message that applies as soon as possible.
#define CUE_NOW INT64_MIN

/// Frames of one step of a ramp.
#define CUE_RAMP_STEP 32

/// A control input of the plugin.
typedef struct cue_plugin_control {
  /// The value that the plugin reads.
  float value;
  /// The value to which a trigger returns after a run.
  float usual;
  bool is_trigger, is_ramping;
  /// The active ramp: its first and last value, its first device frame, and its length in frames.
  float from, to;
  int64_t start;
  uint32_t length;
  /// The latest value that a controller set.
  uint64_t moved;
} cue_plugin_control;

/// A control output of the plugin.
typedef struct cue_plugin_readout {
  /// The value that the plugin writes.
  float value;
  /// The bits of `value` after the latest run. Any thread reads it by cue_plugin_shown.
  uint32_t shown;
} cue_plugin_readout;

/// A change of a control, queued for the process thread.
typedef struct cue_control_change {
  /// Device frame, or CUE_NOW.
  int64_t frame;
  uint32_t control;
  float value;
  /// Frames of a ramp to the value, in steps of CUE_RAMP_STEP.
  uint32_t ramp;
} cue_control_change;

/// Header of an atom in the ring of messages and in that of replies. `port` is the number of an
/// event port.
typedef struct cue_message_head {
  /// Device frame, or CUE_NOW.
  int64_t frame;
  uint32_t port;
  /// Bytes of the atom that follows, its header included.
  uint32_t bytes;
} cue_message_head;

/// Header of a text in the ring of log entries.
typedef struct cue_log_head {
  uint32_t type, bytes;
} cue_log_head;

/// An atom port of the plugin.
typedef struct cue_event_port {
  /// The plugin's port index.
  uint32_t index;
  /// Buffer for the sequence of a part of a block.
  void *buffer;
  uint32_t buffer_bytes;
  /// The sequence that the port is connected to.
  const void *connected;
  /// Used during a run only.
  uint32_t capacity, used;
} cue_event_port;

/// One plugin, as a cycle uses it. The host initializes it; its address is fixed.
typedef struct cue_plugin {
  // The fields that every run uses come first. Other programs have used the caches since the last
  // cycle, and a run waits for each cache line.

  // The plugin instance. Without a run function the node is silent.
  void *handle;
  void (*run)(void *handle, uint32_t frames);
  void (*connect_port)(void *handle, uint32_t port, void *data);
  /// NULL if the plugin has none.
  void (*end_run)(void *handle);
  void (*work_response)(void *handle, uint32_t bytes, const void *body);

  // Its ports: audio and CV ports by index, with the buffers that they are connected to; the others
  // below.
  const uint32_t *inputs, *outputs;
  const void **connected_inputs, **connected_outputs;
  uint32_t input_count, output_count, event_input_count, event_output_count;
  uint32_t control_count, readout_count;
  /// Index of the control for freewheeling and of the readout for latency; -1 for none.
  int32_t freewheeling_control, latency_readout;
  /// The event input that receives time positions, or -1.
  int32_t position_port;

  // Changes of controls: their ring, and the number that wait for their frame.
  uint32_t pending_capacity, pending_count, ramping_count;
  cue_ring *changes;
  /// MIDI controllers: the bindings that the host last offered.
  struct cue_bindings *offered;
  /// Responses of the worker, and responses to work requested while a state was restored.
  cue_ring *responses, *restored;
  /// The thread that runs the plugin now, or 0.
  uintptr_t runner;
  uint32_t staged_used;
  /// Set if the plugin never runs in real time: the node may always wait.
  bool is_offline;
  /// Set if the node may wait in this run.
  bool is_synchronous;
  /// Set if runs are never split.
  bool has_fixed_blocks;
  /// Set if one of the controls is a trigger.
  bool has_triggers;
  /// Set if this run sends the transport state to the plugin.
  bool tells_position;
  /// Set if the run left data for the host: requests, log entries, replies.
  bool wants_signal;

  cue_plugin_control *controls;
  cue_plugin_readout *readouts;
  cue_event_port *event_inputs, *event_outputs;
  /// Changes that wait for their frame, by frame.
  cue_control_change *pending;

  // Atoms for event inputs: the ring, and the atoms that wait for their frame, by frame. Replies:
  // atoms from event outputs for the host.
  cue_ring *messages, *replies;
  void *staged;
  uint32_t staged_bytes;
  /// The latest frame that a staged atom waits for.
  int64_t staged_last;

  // The bindings in use, and the latest learned controller.
  struct cue_bindings *bindings;
  uint64_t learned;

  /// Number of the transport state that the plugin was last told, the frame after its latest block,
  /// and the message.
  uint64_t told_transport;
  int64_t next_frame;
  cue_position position;

  /// The worker's requests, and memory for its largest response.
  cue_ring *requests;
  void *response;
  /// Does all queued requests on the calling thread. Called only while the node may wait.
  void (*work_now)(void *context);

  // Log messages: the ring for those of a run, and the function for all others.
  cue_ring *log;
  void (*log_now)(void *context, uint32_t type, const char *text);

  /// Argument of the two functions.
  void *context;
  /// Posted after a run that left data for the host.
  cue_signal *signal;

  uint32_t urid_sequence, urid_chunk, urid_object, urid_patch_set, urid_patch_put;
  uint32_t urid_midi, urid_float, urid_double;
  /// Type of events with a cue_control_move.
  uint32_t urid_move;

  /// Number of events, replies and requests that found no room. Any thread, by atomic loads.
  uint64_t lost;
} cue_plugin;

/// The `run` of the plugin's cue_node; `plugin` is a cue_plugin.
CUE_HIDDEN void cue_plugin_run(void *plugin, const cue_block *block) CUE_REALTIME;

/// Returns `plugin` as a graph runs it.
static inline cue_node cue_plugin_node(cue_plugin *plugin) {
  cue_node node = {cue_plugin_run, plugin, offsetof(cue_plugin, controls)};
  return node;
}

/// Applies all changes that wait for no frame, and delivers all responses. Not real-time safe; only
/// while no cycle runs the plugin.
CUE_HIDDEN void cue_plugin_settle(cue_plugin *plugin);

/// Settles a plugin, and runs it for no frames. So the host learns the values of its control
/// outputs before the first frame (see LV2_Descriptor::run). `block` has the planes and no frames.
/// Not real-time safe; only while no cycle runs the plugin.
CUE_HIDDEN void cue_plugin_preroll(cue_plugin *plugin, const cue_block *block);

/// Returns the value that the latest run wrote to a readout. Any thread.
static inline float cue_plugin_shown(const cue_plugin_readout *readout) {
  uint32_t bits = __atomic_load_n(&readout->shown, __ATOMIC_RELAXED);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns the number of events, replies and requests that found no room. Any thread.
static inline uint64_t cue_plugin_lost(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->lost, __ATOMIC_RELAXED);
}

/// Queues a change of a control until its frame; false if there is no room. During a run.
CUE_HIDDEN bool cue_plugin_await(cue_plugin *plugin, const cue_control_change *change) CUE_REALTIME;

/// Moves a control: the `set` of a cue_control_setter; `plugin` is a cue_plugin. The thread that
/// runs the plugin, before a run.
CUE_HIDDEN bool cue_plugin_move(void *plugin, uint32_t control, float value, int64_t frame,
                                uint32_t ramp) CUE_REALTIME;

/// Queues a message of `head->bytes` bytes until its frame; false if there is no room. During a
/// run.
CUE_HIDDEN bool cue_plugin_stage(cue_plugin *plugin, const cue_message_head *head,
                                 const LV2_Atom *atom) CUE_REALTIME;

/// LV2's schedule_work, for runs: `plugin` is a cue_plugin. Process thread.
CUE_HIDDEN uint32_t cue_plugin_schedule(void *plugin, uint32_t bytes,
                                        const void *body) CUE_REALTIME;

/// LV2's respond function of the worker: `plugin` is a cue_plugin. The thread that does the work.
CUE_HIDDEN uint32_t cue_plugin_respond(void *plugin, uint32_t bytes, const void *body);

/// The same for work that was requested while a state was restored.
CUE_HIDDEN uint32_t cue_plugin_respond_restored(void *plugin, uint32_t bytes, const void *body);

/// The feature log:log, laid out as LV2_Log_Log.
typedef struct cue_plugin_log {
  void *plugin;
  int (*print)(void *plugin, uint32_t type, const char *format, ...);
  int (*vprint)(void *plugin, uint32_t type, const char *format, __builtin_va_list arguments);
} cue_plugin_log;

/// Initializes a log whose messages go to `plugin`, a cue_plugin.
CUE_HIDDEN void cue_plugin_log_initialize(cue_plugin_log *log, void *plugin);
