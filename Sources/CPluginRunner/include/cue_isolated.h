// The two sides of a plugin that runs in another process: the host's node in a cycle, and the
// plugin's process. Both map the same memory. Nothing here is exported.
#pragma once

#include "CRealTime.h"

/// A signal between two processes: a post wakes the one thread that waits.
///
/// Not a semaphore of the C library. That one reads its wake-up parameters from memory that the
/// other process can write, and aborts or blocks this process if it finds nonsense there.
typedef struct cue_shared_signal {
  /// 1 if it was posted since the latest wait ended.
  uint32_t is_posted;
  /// 1 while a thread waits.
  uint32_t is_awaited;
} cue_shared_signal;

/// Wakes the waiting thread. Makes a system call only if a thread waits.
CUE_HIDDEN void cue_shared_signal_post(cue_shared_signal *signal) CUE_REALTIME;

/// Waits for a post, for at most `milliseconds`. Not real-time safe.
CUE_HIDDEN void cue_shared_signal_wait(cue_shared_signal *signal, uint32_t milliseconds);

/// Sizes of the shared memory. Both sides compute the same layout from them.
typedef struct cue_shared_shape {
  uint32_t inputs, outputs, event_inputs, event_outputs, readouts;
  /// Frames of the longest block, which is also the latency of the plugin's output.
  uint32_t maximum_frames;
  /// Capacity of every event sequence in bytes.
  uint32_t event_bytes;
} cue_shared_shape;

/// Counters and signals that both sides exchange. Has a fixed address.
typedef struct cue_shared_head {
  /// Posted with each block, and after each block that the host waits for.
  cue_shared_signal is_given, is_done;
  char gap[64];
  /// Bytes of blocks that the host has written, and bytes of events that it has read.
  uint64_t given, heard;
  char other_gap[64];
  /// Bytes of blocks that the plugin's process has finished, and bytes of events that it has
  /// written.
  uint64_t taken, told;
  /// Position of the first frame that is not processed.
  int64_t done;
  /// Events and messages that found no room in the plugin's process.
  uint64_t lost;
} cue_shared_head;

/// One side's view of the shared memory.
typedef struct cue_shared {
  cue_shared_shape shape;
  cue_shared_head *head;
  /// A ring of samples for each input and output, each `ring_frames` long: a power of two.
  float *inputs, *outputs;
  uint32_t ring_frames;
  /// Byte rings whose sizes are powers of two: blocks with their events, and events of the plugin's
  /// outputs.
  char *blocks, *events;
  uint32_t blocks_bytes, events_bytes;
  /// The bits of each control output after the latest block.
  uint32_t *shown;
} cue_shared;

/// Returns the bytes of memory that the shape needs, without the head.
CUE_HIDDEN size_t cue_shared_bytes(const cue_shared_shape *shape);

/// Computes the addresses in `memory`, which has as many bytes as the shape needs, initially zero.
CUE_HIDDEN void cue_shared_find(cue_shared *shared, const cue_shared_shape *shape,
                                cue_shared_head *head, void *memory);

/// Discards all blocks and events. Call it while neither side uses them.
static inline void cue_shared_reset(cue_shared_head *head) {
  head->given = head->heard = head->taken = head->told = 0;
  head->done = 0;
}

/// Returns the bytes of blocks that the plugin's process reports as finished. Any thread of either
/// side.
static inline uint64_t cue_shared_taken(const cue_shared_head *head) {
  return __atomic_load_n(&head->taken, __ATOMIC_ACQUIRE);
}

/// Returns the position of the first frame that is not processed. Any thread of either side.
static inline int64_t cue_shared_done(const cue_shared_head *head) {
  return __atomic_load_n(&head->done, __ATOMIC_ACQUIRE);
}

/// Returns the number of events and messages that found no room in the plugin's process. Any
/// thread.
static inline uint64_t cue_shared_lost(const cue_shared_head *head) {
  return __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
}

/// Returns the latest value of a control output. Any thread.
static inline float cue_shared_shown(const cue_shared *shared, uint32_t readout) {
  uint32_t bits = __atomic_load_n(&shared->shown[readout], __ATOMIC_RELAXED);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// The host's side of one isolated plugin, as a cycle uses it. The host initializes it; its address
/// is fixed.
///
/// Output is always `maximum_frames` frames late. Where the plugin's output does not arrive in
/// time, the input replaces it, delayed like the plugin's output.
typedef struct cue_isolated {
  cue_shared shared;
  /// Delayed inputs: a ring for each input.
  float *dry;
  uint32_t dry_frames;
  /// The latest sample of each output, and the offset that decays after a switch to the input.
  float *last, *offsets;
  /// Frames of a crossfade.
  uint32_t fade_frames;
  /// Capacity of each event output of the block, and memory for one event.
  uint32_t *capacities;
  void *event;
  uint32_t urid_sequence;
  /// Index of the readout that reports the plugin's latency; -1 for none.
  int32_t latency_readout;
  /// Set if the node may always wait.
  bool is_offline;

  // Process thread only.
  /// Position of the next block's first frame, counted from the first block on.
  int64_t position;
  /// Position up to which blocks were dropped for lack of room.
  int64_t gap_end;
  uint64_t heard;
  /// Bits of the latency that the host was last told.
  uint32_t latency_bits;
  /// The plugin's own latency in frames, at most what `dry` can hold.
  uint32_t dry_delay;
  /// Frames since the last switch to the plugin's output, and since the last switch to the input.
  uint32_t fade, glide;
  bool is_dry;

  // Any thread, by atomic loads and stores.
  /// Bytes of blocks written. Unlike the shared counter, the plugin's process cannot change it.
  uint64_t given;
  /// Set once the plugin's process has stopped working.
  bool is_gone;
  /// Number of switches to the input, number of frames that the input replaced, and number of
  /// events that found no room.
  uint64_t late, missing, lost;
} cue_isolated;

/// Resets the node and clears what it keeps. Call it while no cycle runs the node.
CUE_HIDDEN void cue_isolated_reset(cue_isolated *node);

/// The `run` of the cue_node; `node` is a cue_isolated. It waits only if the block or `is_offline`
/// allows it.
CUE_HIDDEN void cue_isolated_run(void *node, const cue_block *block) CUE_REALTIME;

/// Returns `node` as a graph runs it.
static inline cue_node cue_isolated_node(cue_isolated *node) {
  cue_node made = {cue_isolated_run, node, sizeof *node};
  return made;
}

/// Makes cycles run without the plugin, and wakes a cycle that waits for it. Any thread but the
/// process thread.
static inline void cue_isolated_give_up(cue_isolated *node) {
  __atomic_store_n(&node->is_gone, true, __ATOMIC_RELEASE);
  cue_shared_signal_post(&node->shared.head->is_done);
}

/// Returns the bytes of blocks written so far. Any thread.
static inline uint64_t cue_isolated_given(const cue_isolated *node) {
  return __atomic_load_n(&node->given, __ATOMIC_RELAXED);
}

/// Returns the number of switches to the input. Any thread.
static inline uint64_t cue_isolated_late(const cue_isolated *node) {
  return __atomic_load_n(&node->late, __ATOMIC_RELAXED);
}

/// Returns the number of frames that the input replaced. Any thread.
static inline uint64_t cue_isolated_missing(const cue_isolated *node) {
  return __atomic_load_n(&node->missing, __ATOMIC_RELAXED);
}

/// Returns the number of events that found no room. Any thread.
static inline uint64_t cue_isolated_lost(const cue_isolated *node) {
  return __atomic_load_n(&node->lost, __ATOMIC_RELAXED);
}

/// The side of the plugin's process. The creator owns the memory.
typedef struct cue_isolated_host {
  cue_shared shared;
  cue_plugin *plugin;
  /// A plane of `maximum_frames` frames for each input and output. A sequence for each event input,
  /// then one for controllers, and one for each event output.
  const float *const *inputs;
  float *const *outputs;
  void *const *event_inputs;
  void *const *event_outputs;
  /// Offset up to which each event output has been copied, and memory for one event.
  uint32_t *told;
  void *event;
} cue_isolated_host;

/// Publishes the present values of the plugin's control outputs.
CUE_HIDDEN void cue_isolated_host_show(cue_isolated_host *host) CUE_REALTIME;

/// Runs the plugin on the next block.
///
/// Returns false if there is none.
CUE_HIDDEN bool cue_isolated_host_run(cue_isolated_host *host) CUE_REALTIME;
