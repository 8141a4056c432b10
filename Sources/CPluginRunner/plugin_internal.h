// Functions that plugin.c, changes.c and messages.c share: control changes, messages
// and sequences. The thread that runs the plugin calls them.
#pragma once

#include "CPluginRunner.h"

#include <lv2/atom/atom.h>
#include <string.h>

/// Counts an event, message or request that found no room.
static inline void lose(cue_plugin *plugin) CUE_REALTIME {
  __atomic_fetch_add(&plugin->lost, 1, __ATOMIC_RELAXED);
}

// MARK: Changes of controls

/// Takes the host's changes from the ring.
CUE_HIDDEN void cue_plugin_take_changes(cue_plugin *plugin) CUE_REALTIME;

/// Begins the changes whose frame is `now` or earlier.
CUE_HIDDEN void cue_plugin_begin_changes(cue_plugin *plugin, int64_t now) CUE_REALTIME;

/// Sets the value of each active ramp for the step that `now` lies in.
///
/// A step's value does not depend on how the frames are split into blocks.
///
/// - Returns: The number of the next `frames` frames for which the values hold.
CUE_HIDDEN uint32_t cue_plugin_step_ramps(cue_plugin *plugin, int64_t now,
                                          uint32_t frames) CUE_REALTIME;

/// Returns all triggers to their usual values.
CUE_HIDDEN void cue_plugin_reset_triggers(cue_plugin *plugin) CUE_REALTIME;

/// Notes a value that came from a controller or from a unit, for the host.
CUE_HIDDEN void cue_plugin_note_move(uint64_t *moved, float value) CUE_REALTIME;

// MARK: Messages

/// Moves the host's messages from the ring to the staged messages.
CUE_HIDDEN void cue_plugin_stage_messages(cue_plugin *plugin) CUE_REALTIME;

/// Discards the staged messages for frames before `end`.
CUE_HIDDEN void cue_plugin_drop_staged(cue_plugin *plugin, int64_t end) CUE_REALTIME;

/// Appends the staged messages for a port, from `*offset` on, that are due before `before`, in
/// frames from `now`.
CUE_HIDDEN void cue_plugin_append_staged(cue_plugin *plugin, uint32_t number, uint32_t *offset,
                                         int64_t now, int64_t before, LV2_Atom_Sequence *sequence,
                                         uint32_t bytes) CUE_REALTIME;

/// Returns true if a message for event input `number` is due before `end`.
CUE_HIDDEN bool cue_plugin_has_staged(const cue_plugin *plugin, uint32_t number,
                                      int64_t end) CUE_REALTIME;

// MARK: Sequences

static inline LV2_Atom_Event *first_event(const LV2_Atom_Sequence *sequence) CUE_REALTIME {
  return (LV2_Atom_Event *)(sequence + 1);
}

static inline uint32_t padded(uint32_t bytes) CUE_REALTIME {
  return (bytes + 7) & ~7u;
}

/// Returns `event` if it lies wholly before `end`, else NULL.
static inline LV2_Atom_Event *checked(LV2_Atom_Event *event, const char *end) CUE_REALTIME {
  if ((const char *)event + sizeof *event > end) return NULL;
  uint32_t room = (uint32_t)(end - (const char *)(event + 1));
  return event->body.size > room ? NULL : event;
}

static inline LV2_Atom_Event *next_event(LV2_Atom_Event *event) CUE_REALTIME {
  return (LV2_Atom_Event *)((char *)(event + 1) + padded(event->body.size));
}

static inline const char *end_of(const LV2_Atom_Sequence *sequence) CUE_REALTIME {
  return (const char *)&sequence->body + sequence->atom.size;
}

static inline void clear(cue_plugin *plugin, LV2_Atom_Sequence *sequence) CUE_REALTIME {
  sequence->atom.size = sizeof sequence->body;
  sequence->atom.type = plugin->urid_sequence;
  sequence->body.unit = 0;
  sequence->body.pad = 0;
}

/// Appends an event to a sequence in `bytes` bytes of memory.
static inline void append(cue_plugin *plugin, LV2_Atom_Sequence *sequence, uint32_t bytes,
                          int64_t frames, const LV2_Atom *atom) CUE_REALTIME {
  uint32_t used = (uint32_t)sizeof(LV2_Atom) + padded(sequence->atom.size);
  uint32_t needed = (uint32_t)sizeof(LV2_Atom_Event) + padded(atom->size);
  if (atom->size > bytes || used + needed > bytes) {
    lose(plugin);
    return;
  }
  LV2_Atom_Event *event = (LV2_Atom_Event *)((char *)sequence + used);
  event->time.frames = frames;
  memcpy(&event->body, atom, sizeof *atom + atom->size);
  sequence->atom.size = used + needed - (uint32_t)sizeof(LV2_Atom);
}
