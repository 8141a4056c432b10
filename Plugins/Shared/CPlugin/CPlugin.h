// LV2's core header and the C functions that a running plugin calls. They are functions of libm,
// which only compute, and are marked as neither blocking nor allocating.
#pragma once

#include <lv2/core/lv2.h>
#include <math.h>
#include <stdlib.h>

#define CUE_REALTIME __attribute__((nonblocking, swift_attr("@_noLocks")))

#define CUE_MATH(name)                                                                             \
  static inline double cue_rt_##name(double x) CUE_REALTIME {                                      \
    return __builtin_##name(x);                                                                    \
  }

CUE_MATH(cos)
CUE_MATH(exp)
CUE_MATH(floor)
CUE_MATH(log10)
CUE_MATH(rint)
CUE_MATH(sin)
CUE_MATH(sqrt)
CUE_MATH(tan)

static inline double cue_rt_power(double base, double exponent) CUE_REALTIME {
  return __builtin_pow(base, exponent);
}

/// Returns the amplitude factor for a level in decibels.
static inline double cue_rt_amplitude(double decibels) CUE_REALTIME {
  return cue_rt_power(10, decibels / 20);
}
