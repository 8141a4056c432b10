// Events in a cycle: LV2 atom sequences whose times are frames, and their conversion from and to
// JACK's MIDI ports.
#pragma once

#include "CRealTime.h"

#include <jack/midiport.h>
#include <lv2/atom/atom.h>
#include <string.h>

#pragma clang assume_nonnull begin

/// URIDs of the atom types that a graph itself reads and writes.
typedef struct cue_event_types {
  uint32_t sequence, chunk, midi;
} cue_event_types;

/// Makes `sequence` an empty sequence.
static inline void cue_rt_clear_events(void *sequence, uint32_t type) CUE_REALTIME {
  LV2_Atom_Sequence *s = (LV2_Atom_Sequence *)sequence;
  s->atom.size = sizeof(LV2_Atom_Sequence_Body);
  s->atom.type = type;
  s->body.unit = 0;
  s->body.pad = 0;
}

/// Prepares `sequence`, in memory of `capacity` bytes, as a chunk for a node to write to.
static inline void cue_rt_offer_events(void *sequence, uint32_t capacity,
                                       uint32_t type) CUE_REALTIME {
  LV2_Atom *atom = (LV2_Atom *)sequence;
  atom->size = capacity - (uint32_t)sizeof(LV2_Atom);
  atom->type = type;
}

/// Makes the chunk that a node was offered an empty sequence, and returns the bytes of its memory.
static inline uint32_t cue_rt_begin_events(void *chunk, uint32_t type) CUE_REALTIME {
  uint32_t capacity = ((const LV2_Atom *)chunk)->size + (uint32_t)sizeof(LV2_Atom);
  cue_rt_clear_events(chunk, type);
  return capacity;
}

/// The data of an event that moves a control of a plugin.
typedef struct cue_control_move {
  uint32_t control;
  float value;
  /// Frames of a ramp to the value.
  uint32_t ramp;
} cue_control_move;

/// Returns true if a node wrote a sequence that ends within `capacity` bytes.
static inline bool cue_rt_is_sequence(const void *sequence, uint32_t capacity,
                                      uint32_t type) CUE_REALTIME {
  const LV2_Atom *atom = (const LV2_Atom *)sequence;
  return atom->type == type && atom->size >= sizeof(LV2_Atom_Sequence_Body) &&
         atom->size <= capacity - sizeof(LV2_Atom);
}

/// Returns the event at `offset` in the body of `sequence`; NULL if the sequence ends before.
static inline const LV2_Atom_Event *_Nullable cue_rt_event_at(const void *sequence,
                                                              uint32_t offset) CUE_REALTIME {
  const LV2_Atom_Sequence *s = (const LV2_Atom_Sequence *)sequence;
  if ((uint64_t)offset + sizeof(LV2_Atom_Event) > s->atom.size) return NULL;
  const LV2_Atom_Event *event =
      (const LV2_Atom_Event *)(const void *)((const char *)&s->body + offset);
  if ((uint64_t)offset + sizeof(LV2_Atom_Event) + event->body.size > s->atom.size) return NULL;
  return event;
}

/// Returns the offset of a sequence's first event.
static inline uint32_t cue_rt_first_event(void) CUE_REALTIME {
  return (uint32_t)sizeof(LV2_Atom_Sequence_Body);
}

/// Returns the offset of the event after `event`, which is at `offset`.
static inline uint32_t cue_rt_event_after(const LV2_Atom_Event *event,
                                          uint32_t offset) CUE_REALTIME {
  return offset + (uint32_t)sizeof(LV2_Atom_Event) + ((event->body.size + 7u) & ~7u);
}

/// Appends an event at `frame` with `size` bytes of data.
///
/// Returns false if memory of `capacity` bytes has no room for it.
static inline bool cue_rt_add_event(void *sequence, uint32_t capacity, int64_t frame, uint32_t type,
                                    uint32_t size, const void *data) CUE_REALTIME {
  LV2_Atom_Sequence *s = (LV2_Atom_Sequence *)sequence;
  uint32_t offset = (s->atom.size + 7u) & ~7u;
  uint64_t end = (uint64_t)offset + sizeof(LV2_Atom_Event) + (((uint64_t)size + 7u) & ~7ull);
  if (end > capacity - sizeof(LV2_Atom)) return false;
  LV2_Atom_Event *event = (LV2_Atom_Event *)(void *)((char *)&s->body + offset);
  event->time.frames = frame;
  event->body.size = size;
  event->body.type = type;
  memcpy(event + 1, data, size);
  s->atom.size = (uint32_t)end;
  return true;
}

/// Inserts an event at `frame` behind those of the same frame and of earlier ones. The sequence is
/// in order of time.
///
/// Returns false if memory of `capacity` bytes has no room for it.
static inline bool cue_rt_insert_event(void *sequence, uint32_t capacity, int64_t frame,
                                       uint32_t type, uint32_t size,
                                       const void *data) CUE_REALTIME {
  LV2_Atom_Sequence *s = (LV2_Atom_Sequence *)sequence;
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(s, offset)) && event->time.frames <= frame)
    offset = cue_rt_event_after(event, offset);
  uint32_t bytes = (uint32_t)sizeof(LV2_Atom_Event) + ((size + 7u) & ~7u);
  if (offset >= s->atom.size) return cue_rt_add_event(s, capacity, frame, type, size, data);
  if ((uint64_t)s->atom.size + bytes > capacity - sizeof(LV2_Atom)) return false;
  char *place = (char *)&s->body + offset;
  memmove(place + bytes, place, s->atom.size - offset);
  LV2_Atom_Event *inserted = (LV2_Atom_Event *)(void *)place;
  inserted->time.frames = frame;
  inserted->body.size = size;
  inserted->body.type = type;
  memcpy(inserted + 1, data, size);
  s->atom.size += bytes;
  return true;
}

/// Appends events at frame 0 that end all notes on all MIDI channels: pedal off (64), all notes off
/// (123).
static inline void cue_rt_add_note_ends(void *sequence, uint32_t capacity,
                                        uint32_t type) CUE_REALTIME {
  for (uint32_t channel = 0; channel < 16; channel++) {
    const uint8_t pedal[] = {(uint8_t)(0xb0 | channel), 64, 0};
    const uint8_t notes[] = {(uint8_t)(0xb0 | channel), 123, 0};
    cue_rt_add_event(sequence, capacity, 0, type, sizeof pedal, pedal);
    cue_rt_add_event(sequence, capacity, 0, type, sizeof notes, notes);
  }
}

/// Removes the events of `sequence` before `offset`, and moves the others `frames` frames earlier.
static inline void cue_rt_advance_events(void *sequence, uint32_t offset,
                                         int64_t frames) CUE_REALTIME {
  LV2_Atom_Sequence *s = (LV2_Atom_Sequence *)sequence;
  uint32_t first = cue_rt_first_event();
  if (offset > first) {
    uint32_t left = s->atom.size > offset ? s->atom.size - offset : 0;
    memmove((char *)&s->body + first, (char *)&s->body + offset, left);
    s->atom.size = first + left;
  }
  offset = first;
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(s, offset))) {
    ((LV2_Atom_Event *)event)->time.frames -= frames;
    offset = cue_rt_event_after(event, offset);
  }
}

/// Moves the events of `waiting` that are before frame `frames` to `due`, whose old content is
/// dropped. The others come `frames` frames earlier. Both sequences have memory of `capacity`
/// bytes.
static inline void cue_rt_move_due_events(void *waiting, void *due, uint32_t capacity,
                                          uint32_t type, int64_t frames) CUE_REALTIME {
  cue_rt_clear_events(due, type);
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(waiting, offset)) && event->time.frames < frames) {
    cue_rt_add_event(due, capacity, event->time.frames, event->body.type, event->body.size,
                     event + 1);
    offset = cue_rt_event_after(event, offset);
  }
  cue_rt_advance_events(waiting, offset, frames);
}

/// Appends the MIDI events that fall into `frames` frames of the cycle from frame `first` on.
///
/// Returns the number of events that `sequence` had no room for.
static inline uint32_t cue_rt_read_midi(void *buffer, uint32_t first, uint32_t frames,
                                        void *sequence, uint32_t capacity,
                                        uint32_t type) CUE_REALTIME {
  uint32_t lost = 0;
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; reads the port's memory.
      uint32_t count = jack_midi_get_event_count(buffer);
  for (uint32_t i = 0; i < count; i++) {
    jack_midi_event_t event;
    if (jack_midi_event_get(&event, buffer, i) != 0) continue;
    if (event.time < first || event.time - first >= frames) continue;
    if (!cue_rt_add_event(sequence, capacity, event.time - first, type, (uint32_t)event.size,
                          event.buffer))
      lost++;
  }
  CUE_TRUST_END
  return lost;
}

/// Empties a MIDI port's buffer. Call it in each cycle before the first write.
static inline void cue_rt_clear_midi(void *buffer) CUE_REALTIME {
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback.
      jack_midi_clear_buffer(buffer);
  CUE_TRUST_END
}

/// Writes the MIDI events of `sequence` to a port, `first` frames later.
///
/// Returns the number of events that the port refused.
static inline uint32_t cue_rt_write_midi(void *buffer, uint32_t first, uint32_t frames,
                                         const void *sequence, uint32_t type) CUE_REALTIME {
  uint32_t lost = 0;
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(sequence, offset))) {
    offset = cue_rt_event_after(event, offset);
    if (event->body.type != type) continue;
    int64_t frame = event->time.frames < 0 ? 0 : event->time.frames;
    if (frame >= frames) frame = frames - 1;
    CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; writes to the port's
                    // memory.
        if (jack_midi_event_write(buffer, first + (uint32_t)frame,
                                  (const jack_midi_data_t *)(event + 1), event->body.size) != 0)
            lost++;
    CUE_TRUST_END
  }
  return lost;
}

#pragma clang assume_nonnull end
