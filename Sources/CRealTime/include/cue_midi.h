// Messages of JACK's MIDI ports, one by one. Buffers are those of the present cycle.
#pragma once

#include "CRealTime.h"

#include <jack/midiport.h>

#pragma clang assume_nonnull begin

/// A message in the buffer of an input port: its frame in the cycle, and its bytes, which last as
/// long as the cycle.
typedef struct cue_port_message {
  uint32_t frame;
  uint32_t count;
  const uint8_t *_Nullable bytes;
} cue_port_message;

/// Returns the number of messages in the buffer of an input port.
static inline uint32_t cue_rt_message_count(void *buffer) CUE_REALTIME {
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; reads the port's memory.
      return jack_midi_get_event_count(buffer);
  CUE_TRUST_END
}

/// Returns the message of an index; one without bytes if there is none.
static inline cue_port_message cue_rt_message(void *buffer, uint32_t index) CUE_REALTIME {
  cue_port_message message = {0, 0, NULL};
  jack_midi_event_t event;
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; reads the port's memory.
      if (jack_midi_event_get(&event, buffer, index) == 0) {
    message.frame = event.time;
    message.count = (uint32_t)event.size;
    message.bytes = event.buffer;
  }
  CUE_TRUST_END
  return message;
}

/// Returns the bytes of the longest message that the buffer of an output port has room for.
static inline size_t cue_rt_message_room(void *buffer) CUE_REALTIME {
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; reads the port's memory.
      size_t room = jack_midi_max_event_size(buffer);
  CUE_TRUST_END
  // The longest message that PipeWire's library takes overwrites its own header (seen with 0.3.65).
  return room > 4 ? room - 1 : room;
}

/// Appends a message to the buffer of an output port. Frames must not decrease. Returns false if
/// there is no room.
static inline bool cue_rt_add_message(void *buffer, uint32_t frame, const uint8_t *bytes,
                                      size_t count) CUE_REALTIME {
  CUE_TRUST_BEGIN // jack/midiport.h: call it in the process callback; writes to the port's memory.
      return jack_midi_event_write(buffer, frame, bytes, count) == 0;
  CUE_TRUST_END
}

#pragma clang assume_nonnull end
