// The atom that tells plugins about JACK's transport. Nothing here is exported.
#pragma once

#include "CRealTime.h"
#include "cue_urids.h"

#include <lv2/atom/atom.h>

#pragma clang assume_nonnull begin

/// A property of an atom, of at most eight bytes.
typedef struct cue_property {
  uint32_t key, context, bytes, type;
  union {
    int64_t long_value;
    int32_t int_value;
    float float_value;
    double double_value;
    uint32_t urid;
  } value;
} cue_property;

/// The atom time:Position.
typedef struct cue_position {
  LV2_Atom_Object object;
  cue_property frame, speed, bar, bar_beat, beat_unit, beats_per_bar, beats_per_minute;
} cue_position;

/// Prepares a position. `urids` is a cue_urids.
CUE_HIDDEN void cue_position_initialize(cue_position *position, void *urids);

/// Writes the transport state to `position`, without what is not known.
CUE_HIDDEN void cue_position_set(cue_position *position, const cue_transport *now) CUE_REALTIME;

#pragma clang assume_nonnull end
