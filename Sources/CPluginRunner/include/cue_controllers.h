// MIDI controller bindings: a table for each plugin, which the host writes and a cycle applies.
#pragma once

#include "cue_plugin.h"

#pragma clang assume_nonnull begin

/// The number of a binding that has no controller.
#define CUE_NO_CONTROLLER 255
/// The channel of a binding that applies to all channels.
#define CUE_ANY_CHANNEL 255

/// The latest value that a controller set. The upper half counts the values set; the lower half is
/// the latest one as the bits of a float. The process thread writes it; any thread reads it.
typedef uint64_t cue_moved;

/// A patch:Set message for a number.
typedef struct cue_set_message {
  LV2_Atom_Object object;
  cue_property property, value;
} cue_set_message;

/// Binding of one controller to a control or parameter.
typedef struct cue_binding {
  /// MIDI channel, 0 to 15, or CUE_ANY_CHANNEL.
  uint8_t channel;
  /// Controller number, 0 to 119, or CUE_NO_CONTROLLER.
  uint8_t number;
  /// Set for a trigger: values below 64 do nothing.
  bool is_trigger;
  /// Set for a parameter rather than a control: the cycle sends `message` to the event input
  /// `port`.
  bool is_parameter;
  uint32_t control, port;
  /// Frames that a change takes.
  uint32_t ramp;
  cue_moved *_Nullable moved;
  /// The value to set for each value of the controller.
  float values[128];
  cue_set_message message;
} cue_binding;

/// The bindings of a plugin. Once offered, they belong to the process thread until it takes others.
typedef struct cue_bindings {
  cue_binding *_Nullable entries;
  uint32_t count;
  /// Index of the entry that learns the next controller, or -1; and the number of that learning,
  /// from 1.
  int32_t learning;
  uint32_t generation;
  /// The controller that is not learned, if there is one.
  uint8_t passed_channel, passed_number;
  /// Index of the entry that loses its controller when the learning entry gets one, or -1.
  int32_t replaced;
} cue_bindings;

/// Prepares a message that sets a parameter. `urids` is a cue_urids; `type` is the URI of the
/// value's type.
CUE_HIDDEN void cue_set_message_initialize(cue_set_message *message, void *urids,
                                           const char *parameter, const char *type);

/// Makes the plugin use `bindings` from its next run on. One host thread at a time.
static inline void cue_plugin_offer(cue_plugin *plugin, cue_bindings *bindings) {
  __atomic_store_n(&plugin->offered, bindings, __ATOMIC_RELEASE);
}

/// Returns the bindings in use: no cycle reads those offered before. Any thread.
static inline const cue_bindings *_Nullable cue_plugin_bindings(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->bindings, __ATOMIC_ACQUIRE);
}

/// Returns the latest learned controller, or 0. The upper half is its generation; the lower half
/// has its channel and its number in one byte each. Any thread.
static inline uint64_t cue_plugin_learned(const cue_plugin *plugin) {
  return __atomic_load_n(&plugin->learned, __ATOMIC_ACQUIRE);
}

/// Returns the latest value that a controller set. Any thread.
static inline cue_moved cue_moved_now(const cue_moved *moved) {
  return __atomic_load_n(moved, __ATOMIC_ACQUIRE);
}

/// Applies the moves of controls among the controllers of a block, which has some.
CUE_HIDDEN void cue_plugin_follow(cue_plugin *plugin, const cue_block *block) CUE_REALTIME;

/// Applies the controllers of a block to the bound controls and parameters. Precondition: bindings
/// were offered to `plugin`. Process thread.
CUE_HIDDEN void cue_plugin_hear(cue_plugin *plugin, const cue_block *block) CUE_REALTIME;

#pragma clang assume_nonnull end
