// The position in bars and beats that a timebase master gives JACK's transport.
#pragma once

#include "CRealTime.h"

#include <jack/transport.h>

#pragma clang assume_nonnull begin

/// A constant tempo and meter.
typedef struct cue_tempo {
  double beats_per_minute;
  double beats_per_bar;
  /// Note value of a beat: 4 for a quarter note.
  double beat_unit;
} cue_tempo;

/// Ticks of a beat.
#define CUE_TICKS_PER_BEAT 1920.0

/// Writes bar, beat and tick of `position->frame` into `position`. Process thread, in JACK's
/// timebase callback.
static inline void cue_rt_set_beats(const cue_tempo *tempo,
                                    jack_position_t *position) CUE_REALTIME {
  if (position->frame_rate == 0) return;
  double beats = position->frame * tempo->beats_per_minute / (60.0 * (double)position->frame_rate);
  double bar = __builtin_floor(beats / tempo->beats_per_bar);
  double beat = beats - bar * tempo->beats_per_bar;
  double whole = __builtin_floor(beat);
  position->valid = JackPositionBBT;
  position->bar = (int32_t)bar + 1;
  position->beat = (int32_t)whole + 1;
  position->tick = (int32_t)((beat - whole) * CUE_TICKS_PER_BEAT);
  position->bar_start_tick = bar * tempo->beats_per_bar * CUE_TICKS_PER_BEAT;
  position->beats_per_bar = (float)tempo->beats_per_bar;
  position->beat_type = (float)tempo->beat_unit;
  position->ticks_per_beat = CUE_TICKS_PER_BEAT;
  position->beats_per_minute = tempo->beats_per_minute;
}

#pragma clang assume_nonnull end
