// LV2's own header, and the few C functions that a plugin calls while it runs, each marked with the
// promise that it neither blocks nor allocates: libm's, which only compute.
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
CUE_MATH(log10)
CUE_MATH(sin)
CUE_MATH(tan)

static inline double cue_rt_power(double base, double exponent) CUE_REALTIME {
  return __builtin_pow(base, exponent);
}

/// The factor of an amplitude that is `decibels` up or down.
static inline double cue_rt_amplitude(double decibels) CUE_REALTIME {
  return cue_rt_power(10, decibels / 20);
}
