// What runs a plugin of another process in a cycle, and what runs it there: two sides of memory
// that both processes have. Nothing here is exported.
#pragma once

#include "CRealTime.h"

/// A signal between two processes: posts wake the one thread that waits.
///
/// Not a semaphore of the C library: that one reads how it is to wake, and whom, from memory that
/// the other process can write, and ends or stops this process if it finds nonsense there.
typedef struct cue_shared_signal {
  /// 1 if it was posted since the latest wait ended.
  uint32_t is_posted;
  /// 1 while a thread waits.
  uint32_t is_awaited;
} cue_shared_signal;

/// Wakes the waiting thread. A system call only if one waits.
CUE_HIDDEN void cue_shared_signal_post(cue_shared_signal *signal) CUE_REALTIME;

/// Waits for a post, for at most that many milliseconds. Not real time.
CUE_HIDDEN void cue_shared_signal_wait(cue_shared_signal *signal, uint32_t milliseconds);

/// How much the two sides have to share. Both find the same places from it.
typedef struct cue_shared_shape {
  uint32_t inputs, outputs, event_inputs, event_outputs, readouts;
  /// Frames of the longest block, by which what comes back comes later.
  uint32_t maximum_frames;
  /// Bytes that every event sequence has room for.
  uint32_t event_bytes;
} cue_shared_shape;

/// What both sides tell each other all the time. It stays where it is.
typedef struct cue_shared_head {
  /// Posted with each block, and after each block that is waited for.
  cue_shared_signal is_given, is_done;
  char gap[64];
  /// Bytes of blocks that the host has given, and of events that it has heard.
  uint64_t given, heard;
  char other_gap[64];
  /// Bytes of blocks that are done, and of events that the plugin's process has told.
  uint64_t taken, told;
  /// Position of the first frame that is not done.
  int64_t done;
  /// Events and messages that found no room on the plugin's side.
  uint64_t lost;
} cue_shared_head;

/// One side's view of the memory.
typedef struct cue_shared {
  cue_shared_shape shape;
  cue_shared_head *head;
  /// A ring of samples for each input and output; a power of two of frames.
  float *inputs, *outputs;
  uint32_t ring_frames;
  /// Rings of bytes, powers of two: blocks with their events, and what the plugin's outputs tell.
  char *blocks, *events;
  uint32_t blocks_bytes, events_bytes;
  /// The bits of what each control output showed after the latest block.
  uint32_t *shown;
} cue_shared;

/// Bytes of memory that the shape needs, the head not counted.
CUE_HIDDEN size_t cue_shared_bytes(const cue_shared_shape *shape);

/// Finds the places in `memory`, which has as many bytes as the shape needs, all zero at first.
CUE_HIDDEN void cue_shared_find(cue_shared *shared, const cue_shared_shape *shape,
                                cue_shared_head *head, void *memory);

/// Forgets all blocks and events. While neither side uses them.
static inline void cue_shared_reset(cue_shared_head *head) {
  head->given = head->heard = head->taken = head->told = 0;
  head->done = 0;
}

/// Bytes of blocks that the plugin's process says are done. Any thread of either side.
static inline uint64_t cue_shared_taken(const cue_shared_head *head) {
  return __atomic_load_n(&head->taken, __ATOMIC_ACQUIRE);
}

/// Position of the first frame that is not done. Any thread of either side.
static inline int64_t cue_shared_done(const cue_shared_head *head) {
  return __atomic_load_n(&head->done, __ATOMIC_ACQUIRE);
}

/// Events and messages that found no room on the plugin's side. Any thread.
static inline uint64_t cue_shared_lost(const cue_shared_head *head) {
  return __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
}

/// What a control output showed last. Any thread.
static inline float cue_shared_shown(const cue_shared *shared, uint32_t readout) {
  uint32_t bits = __atomic_load_n(&shared->shown[readout], __ATOMIC_RELAXED);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// The host's side of one plugin, as a cycle sees it. Prepared by the host; never moves.
///
/// What comes back is `maximum_frames` frames late, always. Frames that have not come back in time
/// are bridged by the input, as late as the plugin's sound would have come.
typedef struct cue_isolated {
  cue_shared shared;
  /// What came in: a ring for each input.
  float *dry;
  uint32_t dry_frames;
  /// The latest sample of each output, and what is added where the sound went over to the input.
  float *last, *offsets;
  /// Frames that going over takes.
  uint32_t fade_frames;
  /// What each event output of the block has room for, and room for one event.
  uint32_t *capacities;
  void *event;
  uint32_t urid_sequence;
  /// Which readout is the plugin's latency; -1 for none.
  int32_t latency_readout;
  /// Waiting is always allowed.
  bool is_offline;

  // The cycle's own.
  /// Of the next block's first frame, counted from the first block on.
  int64_t position;
  /// Up to there blocks are missing that found no room.
  int64_t gap_end;
  uint64_t heard;
  /// Bits of the latency that the host was told of.
  uint32_t latency_bits;
  /// Frames by which the plugin itself is late, as far as its input is kept.
  uint32_t dry_delay;
  /// Frames since the sound went over to the plugin's, and since it went over to the input.
  uint32_t fade, glide;
  bool is_dry;

  // Any thread, by atomic loads and stores.
  /// Bytes of blocks that were given. The process cannot write it, as it can what is shared.
  uint64_t given;
  /// The plugin's process does nothing any more.
  bool is_gone;
  /// How often the sound went over to the input, for how many frames, and events that had no room.
  uint64_t late, missing, lost;
} cue_isolated;

/// Begins anew, with nothing kept. While no cycle runs it.
CUE_HIDDEN void cue_isolated_reset(cue_isolated *node);

/// The `run` of the cue_node; `node` is a cue_isolated. It waits only if the block says so.
CUE_HIDDEN void cue_isolated_run(void *node, const cue_block *block) CUE_REALTIME;

/// `node` as a graph runs it.
static inline cue_node cue_isolated_node(cue_isolated *node) {
  cue_node made = {cue_isolated_run, node};
  return made;
}

/// Has cycles do without the plugin, and a waiting one go on. Any thread but a cycle's.
static inline void cue_isolated_give_up(cue_isolated *node) {
  __atomic_store_n(&node->is_gone, true, __ATOMIC_RELEASE);
  cue_shared_signal_post(&node->shared.head->is_done);
}

/// Bytes of blocks that were given so far. Any thread.
static inline uint64_t cue_isolated_given(const cue_isolated *node) {
  return __atomic_load_n(&node->given, __ATOMIC_RELAXED);
}

/// Any thread.
static inline uint64_t cue_isolated_late(const cue_isolated *node) {
  return __atomic_load_n(&node->late, __ATOMIC_RELAXED);
}

/// Any thread.
static inline uint64_t cue_isolated_missing(const cue_isolated *node) {
  return __atomic_load_n(&node->missing, __ATOMIC_RELAXED);
}

/// Any thread.
static inline uint64_t cue_isolated_lost(const cue_isolated *node) {
  return __atomic_load_n(&node->lost, __ATOMIC_RELAXED);
}

/// The plugin's side. Its memory is whoever's makes it.
typedef struct cue_isolated_host {
  cue_shared shared;
  cue_plugin *plugin;
  /// A plane of `maximum_frames` frames for each input and output, and a sequence for each event
  /// input, for controllers after these, and for each event output.
  const float *const *inputs;
  float *const *outputs;
  void *const *event_inputs;
  void *const *event_outputs;
  /// How far each event output has been told, and room for one event.
  uint32_t *told;
  void *event;
} cue_isolated_host;

/// Shows what the plugin's control outputs are now.
CUE_HIDDEN void cue_isolated_host_show(cue_isolated_host *host) CUE_REALTIME;

/// Has the plugin work on the next block that was given.
///
/// Returns false if there is none.
CUE_HIDDEN bool cue_isolated_host_run(cue_isolated_host *host) CUE_REALTIME;
