// A ring of MIDI messages from the process thread to another one.
#pragma once

#include "CRealTime.h"
#include "cue_events.h"

#pragma clang assume_nonnull begin

/// A MIDI message of up to three bytes, and its device frame.
typedef struct cue_midi_message {
  int64_t frame;
  uint8_t bytes[3];
  uint8_t count;
} cue_midi_message;

/// Messages that a ring holds: a power of two.
#define CUE_MIDI_TAP_MESSAGES 1024

/// A ring with one producer, the process thread, and one consumer.
typedef struct cue_midi_tap {
  /// URID of MIDI events.
  uint32_t type;
  /// Messages written and read so far.
  uint64_t written, read;
  /// Messages lost because the ring was full.
  uint64_t lost;
  /// CUE_MIDI_TAP_MESSAGES of them, in memory that the creator owns.
  cue_midi_message *messages;
} cue_midi_tap;

/// Copies the MIDI messages of the block's first event input into the ring. `context` is a
/// `cue_midi_tap`. Longer messages are left out. Process thread.
static inline void cue_rt_tap_midi(void *context, const cue_block *block) CUE_REALTIME {
  cue_midi_tap *tap = (cue_midi_tap *)context;
  if (!block->event_inputs) return;
  const void *sequence = block->event_inputs[0];
  uint64_t written = __atomic_load_n(&tap->written, __ATOMIC_RELAXED);
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(sequence, offset))) {
    offset = cue_rt_event_after(event, offset);
    uint32_t count = event->body.size;
    if (event->body.type != tap->type || count < 1 || count > 3) continue;
    if (written - __atomic_load_n(&tap->read, __ATOMIC_ACQUIRE) >= CUE_MIDI_TAP_MESSAGES) {
      __atomic_store_n(&tap->lost, tap->lost + 1, __ATOMIC_RELAXED);
      continue;
    }
    cue_midi_message *message = &tap->messages[written % CUE_MIDI_TAP_MESSAGES];
    const uint8_t *bytes = (const uint8_t *)(event + 1);
    message->frame = block->frame + event->time.frames;
    message->count = (uint8_t)count;
    for (uint32_t i = 0; i < 3; i++)
      message->bytes[i] = i < count ? bytes[i] : 0;
    written++;
    __atomic_store_n(&tap->written, written, __ATOMIC_RELEASE);
  }
}

/// Removes the oldest message; false if there is none. The consumer.
static inline bool cue_take_midi(cue_midi_tap *tap, cue_midi_message *message) {
  uint64_t read = __atomic_load_n(&tap->read, __ATOMIC_RELAXED);
  if (read == __atomic_load_n(&tap->written, __ATOMIC_ACQUIRE)) return false;
  *message = tap->messages[read % CUE_MIDI_TAP_MESSAGES];
  __atomic_store_n(&tap->read, read + 1, __ATOMIC_RELEASE);
  return true;
}

#pragma clang assume_nonnull end
