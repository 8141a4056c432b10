// JACK's transport state.
#pragma once

#include "CRealTime.h"

#include <jack/transport.h>
#include <string.h>

#pragma clang assume_nonnull begin

/// Transport state at the first frame of a cycle.
typedef struct cue_transport {
  /// Number of changes, from 1, that the state of the cycle before did not predict: starts, stops,
  /// jumps, changes of tempo. cue_rt_follow_transport sets it.
  uint64_t number;
  /// Transport frame: frames since the beginning of the piece.
  int64_t frame;
  double frames_per_second;
  bool is_rolling;
  /// Set while the transport waits for clients to get ready, and then rolls.
  bool is_starting;
  /// Set if the tempo and position in beats are known: all fields below.
  bool has_beats;
  /// Note value of a beat (4 for quarter notes), and beats in a bar.
  int32_t beat_unit;
  float beats_per_bar;
  double beats_per_minute;
  /// Bars since the beginning, and beats since the beginning of this bar.
  int64_t bar;
  double bar_beat;
  /// Possible error of `bar` and `bar_beat` in beats: JACK counts in whole ticks.
  double beat_slack;
} cue_transport;

/// A graph's record of the transport.
typedef struct cue_transport_course {
  cue_transport now;
  /// State when `number` last changed, and the frames since then.
  cue_transport changed;
  int64_t passed;
} cue_transport_course;

/// Returns the integer part of `value`, held to ±2^60. NaN becomes 0.
static inline int64_t cue_rt_held(double value) CUE_REALTIME {
  if (value != value) return 0;
  return value >= 0x1p60 ? 1ll << 60 : value <= -0x1p60 ? -(1ll << 60) : (int64_t)value;
}

/// Returns true if music can have this tempo and meter. They come from other clients and from apps.
static inline bool cue_rt_are_beats(double beats_per_minute, double beats_per_bar,
                                    double beat_unit) CUE_REALTIME {
  return beats_per_minute >= 1e-3 && beats_per_minute <= 1e6 && beats_per_bar >= 1e-3 &&
         beats_per_bar <= 1e6 && beat_unit >= 1 && beat_unit <= 1 << 20;
}

/// Returns the transport state that JACK's state and position tell.
static inline cue_transport cue_rt_read_transport(jack_transport_state_t state,
                                                  const jack_position_t *position) CUE_REALTIME {
  cue_transport now;
  memset(&now, 0, sizeof now);
  now.is_rolling = state == JackTransportRolling;
  now.is_starting = state == JackTransportStarting || state == JackTransportNetStarting;
  now.frame = position->frame;
  now.frames_per_second = position->frame_rate;
  if (!(position->valid & JackPositionBBT) ||
      !(position->ticks_per_beat >= 1 && position->ticks_per_beat <= 1e9) ||
      !cue_rt_are_beats(position->beats_per_minute, position->beats_per_bar, position->beat_type))
    return now;
  now.has_beats = true;
  now.beat_unit = (int32_t)position->beat_type;
  now.beats_per_bar = position->beats_per_bar;
  now.beats_per_minute = position->beats_per_minute;
  now.bar = (int64_t)position->bar - 1;
  now.bar_beat = position->beat - 1.0 + position->tick / position->ticks_per_beat;
  now.beat_slack = 2 / position->ticks_per_beat;
  // They may be valid for an earlier frame, `bbt_offset` frames before.
  if (position->valid & JackBBTFrameOffset && position->frame_rate > 0)
    now.bar_beat += position->bbt_offset * now.beats_per_minute / (60.0 * position->frame_rate);
  return now;
}

/// Returns JACK's transport state in this cycle.
static inline cue_transport cue_rt_transport(const jack_client_t *client) CUE_REALTIME {
  jack_position_t position;
  jack_transport_state_t state;
  position.valid = (jack_position_bits_t)0;
  CUE_TRUST_BEGIN // transport.h: real-time safe; on the process thread, valid for the whole cycle.
      state = jack_transport_query(client, &position);
  CUE_TRUST_END
  return cue_rt_read_transport(state, &position);
}

/// Returns true if the transport has only run on, or stood still, for `passed` frames of cycles
/// since `then`.
static inline bool cue_rt_goes_on(const cue_transport *then, int64_t passed,
                                  const cue_transport *now) CUE_REALTIME {
  if (!then->is_rolling) passed = 0;
  if (now->is_rolling != then->is_rolling || now->has_beats != then->has_beats ||
      now->frame != then->frame + passed)
    return false;
  if (!now->has_beats) return true;
  if (now->beats_per_minute != then->beats_per_minute ||
      now->beats_per_bar != then->beats_per_bar || now->beat_unit != then->beat_unit)
    return false;
  double beats = (double)(now->bar - then->bar) * now->beats_per_bar + now->bar_beat -
                 then->bar_beat -
                 (double)passed * now->beats_per_minute / (60 * now->frames_per_second);
  return __builtin_fabs(beats) <= now->beat_slack + 1e-6;
}

/// Stores the transport state of a cycle of `frames` frames, and counts it if `course` did not
/// predict it.
///
/// Returns the state in `course`, which stays valid until the next cycle.
static inline const cue_transport *cue_rt_follow_transport(cue_transport_course *course,
                                                           const cue_transport *now,
                                                           uint32_t frames) CUE_REALTIME {
  uint64_t number = course->now.number;
  bool goes_on = number > 0 && cue_rt_goes_on(&course->changed, course->passed, now);
  course->now = *now;
  course->now.number = goes_on ? number : number + 1;
  if (!goes_on) {
    course->changed = course->now;
    course->passed = 0;
  }
  course->passed += frames;
  return &course->now;
}

/// The transport state of the cycle that the thread runs; NULL outside a cycle.
extern CUE_HIDDEN _Thread_local const cue_transport *_Nullable cue_thread_transport
    __attribute__((tls_model("initial-exec")));

static inline const cue_transport *_Nullable cue_rt_thread_transport(void) CUE_REALTIME {
  CUE_TRUST_BEGIN // In the block that each thread has from its beginning: no memory is allocated.
      return cue_thread_transport;
  CUE_TRUST_END
}

/// Sets the transport state that this thread's renders see.
static inline void cue_rt_set_thread_transport(const cue_transport *_Nullable now) CUE_REALTIME {
  CUE_TRUST_BEGIN // As above.
      cue_thread_transport = now;
  CUE_TRUST_END
}

#pragma clang assume_nonnull end
