// What MIDI controllers move: a table for each plugin, which the host makes and a cycle goes by.
#pragma once

#include "cue_plugin.h"

#pragma clang assume_nonnull begin

/// No controller has this number.
#define CUE_NO_CONTROLLER 255
/// Controllers of all channels.
#define CUE_ANY_CHANNEL 255

/// What a value of a control or a parameter, set by a controller, was last: how often one was set,
/// and the bits of the latest, as a float. The cycle writes it; any thread reads it.
typedef uint64_t cue_moved;

/// A patch:Set message for a number.
typedef struct cue_set_message {
  LV2_Atom_Object object;
  cue_property property, value;
} cue_set_message;

/// What one controller moves.
typedef struct cue_binding {
  /// From 0 to 15, or CUE_ANY_CHANNEL.
  uint8_t channel;
  /// From 0 to 119, or CUE_NO_CONTROLLER.
  uint8_t number;
  /// The lower half of the controller's range does nothing.
  bool is_trigger;
  /// It is no control, but a parameter: `message` goes to the event input `port`.
  bool is_parameter;
  uint32_t control, port;
  /// Frames that a change takes.
  uint32_t ramp;
  cue_moved *_Nullable moved;
  /// For each value of the controller what is set.
  float values[128];
  cue_set_message message;
} cue_binding;

/// The bindings of a plugin. From being offered on it is the cycle's, until another is taken.
typedef struct cue_bindings {
  cue_binding *_Nullable entries;
  uint32_t count;
  /// The entry that the next controller is to move, by its place, or -1; and which learning that
  /// is, from 1.
  int32_t learning;
  uint32_t generation;
  /// The controller that is not to be learned, if any.
  uint8_t passed_channel, passed_number;
  /// The entry that it takes the place of, or -1.
  int32_t replaced;
} cue_bindings;

/// Prepares a message that sets a parameter. `urids` is a cue_urids; `type` is the value's.
CUE_HIDDEN void cue_set_message_initialize(cue_set_message *message, void *urids,
                                           const char *parameter, const char *type);

/// Has the cycle go by `bindings` from its next run on. One host thread at a time.
static inline void cue_plugin_offer(cue_plugin *plugin, cue_bindings *bindings) {
  __atomic_store_n(&plugin->offered, bindings, __ATOMIC_RELEASE);
}

/// The bindings that the cycle goes by: no cycle sees those that were offered before. Any thread.
static inline const cue_bindings *_Nullable cue_plugin_bindings(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->bindings, __ATOMIC_ACQUIRE);
}

/// The latest thing learned, or 0: its generation, in the upper half, and the channel and the
/// number of the controller, in a byte each. Any thread.
static inline uint64_t cue_plugin_learned(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->learned, __ATOMIC_ACQUIRE);
}

/// Any thread.
static inline cue_moved cue_moved_now(const cue_moved *moved) {
  return __atomic_load_n(moved, __ATOMIC_ACQUIRE);
}

/// Has the controllers of a block move what they are bound to. `plugin` has bindings on offer.
CUE_HIDDEN void cue_plugin_hear(cue_plugin *plugin, const cue_block *block) CUE_REALTIME;

#pragma clang assume_nonnull end
