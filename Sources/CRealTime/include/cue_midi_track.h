// A row of MIDI messages that a graph plays.
#pragma once

#include "CRealTime.h"
#include "cue_events.h"

#pragma clang assume_nonnull begin

/// A message of a track: its frame from the track's beginning, and the place of its bytes.
typedef struct cue_midi_track_message {
  int64_t frame;
  uint32_t offset, size;
} cue_midi_track_message;

/// The frame of a track that has no beginning yet.
#define CUE_MIDI_TRACK_WAITS INT64_MAX

/// A track and how far it has been played.
typedef struct cue_midi_track {
  cue_event_types types;
  /// Device frame of the track's beginning, or CUE_MIDI_TRACK_WAITS. Any thread.
  int64_t start;
  /// Number of the next message. Process thread.
  uint64_t next;
  /// Messages that the sequence had no room for. Written by the process thread.
  uint64_t lost;
  uint64_t count;
  /// The messages in order of time, and their bytes, in memory that the creator owns.
  const cue_midi_track_message *messages;
  const uint8_t *bytes;
} cue_midi_track;

/// Lets a track begin at a device frame. Any thread.
static inline void cue_begin_track(cue_midi_track *track, int64_t frame) {
  __atomic_store_n(&track->start, frame, __ATOMIC_RELEASE);
}

/// Returns the number of messages lost so far. Any thread.
static inline uint64_t cue_lost_of_track(const cue_midi_track *track) {
  return __atomic_load_n(&track->lost, __ATOMIC_RELAXED);
}

/// Writes the messages of a block to the block's first event output. Messages whose time has passed
/// come on the block's first frame. `context` is a `cue_midi_track`. Process thread.
static inline void cue_rt_play_track(void *context, const cue_block *block) CUE_REALTIME {
  cue_midi_track *track = (cue_midi_track *)context;
  if (!block->event_outputs) return;
  void *sequence = block->event_outputs[0];
  uint32_t capacity = ((const LV2_Atom *)sequence)->size + (uint32_t)sizeof(LV2_Atom);
  cue_rt_clear_events(sequence, track->types.sequence);
  int64_t start = __atomic_load_n(&track->start, __ATOMIC_ACQUIRE);
  if (start == CUE_MIDI_TRACK_WAITS) return;
  int64_t end = block->frame - start + block->frames;
  while (track->next < track->count) {
    const cue_midi_track_message *message = &track->messages[track->next];
    if (message->frame >= end) return;
    int64_t frame = start + message->frame - block->frame;
    if (!cue_rt_add_event(sequence, capacity, frame < 0 ? 0 : frame, track->types.midi,
                          message->size, track->bytes + message->offset))
      __atomic_store_n(&track->lost, track->lost + 1, __ATOMIC_RELAXED);
    track->next++;
  }
}

#pragma clang assume_nonnull end
