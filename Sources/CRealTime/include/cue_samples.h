// Conversion of samples between the memory of buffers and the planes of ports, and the check of a
// node's output, with wide vectors.
// Each function exists once for each instruction set that is worth it; the best one that the
// processor has is chosen when the program or library is loaded. All give the same bits.
#pragma once

#include "CRealTime.h"

#pragma clang assume_nonnull begin

/// Instruction sets, each wider than the one before. `cue_samples_baseline` is what every processor
/// of the architecture has: SSE2 on x86-64, NEON on aarch64.
typedef enum cue_samples_level {
  cue_samples_baseline,
  cue_samples_avx2,
  cue_samples_avx512,
  cue_samples_levels,
} cue_samples_level;

/// The functions for one instruction set. Memory needs no alignment. Integers are little-endian and
/// fill their bytes. `first` and `second` are factors that include the scale of the integers: the
/// second is that of the right channel, the first that of all others.
typedef struct cue_samples {
  void (*read_int16)(const void *source, size_t frames, float *out, float factor) CUE_REALTIME;
  void (*read_int16_stereo)(const void *source, size_t frames, float *left, float *right,
                            float first, float second) CUE_REALTIME;
  /// Reads eight neighbouring channels of frames that begin `stride` bytes apart. Plane `c` of
  /// `planes` is written from its frame `offset` on; `second` is the factor of plane 1.
  void (*read_int16_eight)(const void *source, size_t stride, size_t frames,
                           float *_Nonnull const *_Nonnull planes, size_t offset, float first,
                           float second) CUE_REALTIME;
  void (*read_int24)(const void *source, size_t frames, float *out, float factor) CUE_REALTIME;
  void (*read_int24_stereo)(const void *source, size_t frames, float *left, float *right,
                            float first, float second) CUE_REALTIME;
  void (*read_float_stereo)(const void *source, size_t frames, float *left, float *right,
                            float first, float second) CUE_REALTIME;
  /// Reads four neighbouring channels, as `read_int16_eight` does eight.
  void (*read_float_four)(const void *source, size_t stride, size_t frames,
                          float *_Nonnull const *_Nonnull planes, size_t offset, float first,
                          float second) CUE_REALTIME;
  /// Integers are the nearest ones, ties to even, clipped at full scale; NaN is 0.
  void (*store_int16)(void *target, size_t frames, const float *in) CUE_REALTIME;
  void (*store_int16_stereo)(void *target, size_t frames, const float *left,
                             const float *right) CUE_REALTIME;
  /// Writes eight neighbouring channels of frames that begin `stride` bytes apart. Plane `c` of
  /// `planes` is read from its frame `offset` on.
  void (*store_int16_eight)(void *target, size_t stride, size_t frames,
                            const float *_Nonnull const *_Nonnull planes,
                            size_t offset) CUE_REALTIME;
  void (*store_int24)(void *target, size_t frames, const float *in) CUE_REALTIME;
  void (*store_int24_stereo)(void *target, size_t frames, const float *left,
                             const float *right) CUE_REALTIME;
  void (*store_float_stereo)(void *target, size_t frames, const float *left,
                             const float *right) CUE_REALTIME;
  /// Writes four neighbouring channels, as `store_int16_eight` does eight.
  void (*store_float_four)(void *target, size_t stride, size_t frames,
                           const float *_Nonnull const *_Nonnull planes,
                           size_t offset) CUE_REALTIME;
  /// Returns true if no sample is infinite or NaN.
  bool (*are_finite)(const float *samples, size_t frames) CUE_REALTIME;
  /// Returns true if all samples are at least `low` and less than `high`.
  bool (*are_within)(const float *samples, size_t frames, float low, float high) CUE_REALTIME;
} cue_samples;

/// The functions in use. Set before `main`, and by tests.
CUE_HIDDEN extern const cue_samples *cue_samples_used;

/// Uses the functions of a level from now on, and returns true; false if the processor lacks it.
/// Called when the program is loaded, and by tests while no cycle runs.
CUE_HIDDEN bool cue_samples_use(cue_samples_level level);

// The functions in use, as a cycle calls them.

static inline void cue_rt_read_int16(const void *source, size_t frames, float *out,
                                     float factor) CUE_REALTIME {
  cue_samples_used->read_int16(source, frames, out, factor);
}
static inline void cue_rt_read_int16_stereo(const void *source, size_t frames, float *left,
                                            float *right, float first, float second) CUE_REALTIME {
  cue_samples_used->read_int16_stereo(source, frames, left, right, first, second);
}
static inline void cue_rt_read_int16_eight(const void *source, size_t stride, size_t frames,
                                           float *_Nonnull const *_Nonnull planes, size_t offset,
                                           float first, float second) CUE_REALTIME {
  cue_samples_used->read_int16_eight(source, stride, frames, planes, offset, first, second);
}
static inline void cue_rt_read_int24(const void *source, size_t frames, float *out,
                                     float factor) CUE_REALTIME {
  cue_samples_used->read_int24(source, frames, out, factor);
}
static inline void cue_rt_read_int24_stereo(const void *source, size_t frames, float *left,
                                            float *right, float first, float second) CUE_REALTIME {
  cue_samples_used->read_int24_stereo(source, frames, left, right, first, second);
}
static inline void cue_rt_read_float_stereo(const void *source, size_t frames, float *left,
                                            float *right, float first, float second) CUE_REALTIME {
  cue_samples_used->read_float_stereo(source, frames, left, right, first, second);
}
static inline void cue_rt_read_float_four(const void *source, size_t stride, size_t frames,
                                          float *_Nonnull const *_Nonnull planes, size_t offset,
                                          float first, float second) CUE_REALTIME {
  cue_samples_used->read_float_four(source, stride, frames, planes, offset, first, second);
}
static inline void cue_rt_store_int16(void *target, size_t frames, const float *in) CUE_REALTIME {
  cue_samples_used->store_int16(target, frames, in);
}
static inline void cue_rt_store_int16_stereo(void *target, size_t frames, const float *left,
                                             const float *right) CUE_REALTIME {
  cue_samples_used->store_int16_stereo(target, frames, left, right);
}
static inline void cue_rt_store_int16_eight(void *target, size_t stride, size_t frames,
                                            const float *_Nonnull const *_Nonnull planes,
                                            size_t offset) CUE_REALTIME {
  cue_samples_used->store_int16_eight(target, stride, frames, planes, offset);
}
static inline void cue_rt_store_int24(void *target, size_t frames, const float *in) CUE_REALTIME {
  cue_samples_used->store_int24(target, frames, in);
}
static inline void cue_rt_store_int24_stereo(void *target, size_t frames, const float *left,
                                             const float *right) CUE_REALTIME {
  cue_samples_used->store_int24_stereo(target, frames, left, right);
}
static inline void cue_rt_store_float_stereo(void *target, size_t frames, const float *left,
                                             const float *right) CUE_REALTIME {
  cue_samples_used->store_float_stereo(target, frames, left, right);
}
static inline void cue_rt_store_float_four(void *target, size_t stride, size_t frames,
                                           const float *_Nonnull const *_Nonnull planes,
                                           size_t offset) CUE_REALTIME {
  cue_samples_used->store_float_four(target, stride, frames, planes, offset);
}
/// Returns true if no sample is infinite or NaN.
static inline bool cue_rt_are_finite(const float *samples, uint32_t frames) CUE_REALTIME {
  return cue_samples_used->are_finite(samples, frames);
}
/// Returns true if all samples are at least `low` and less than `high`.
static inline bool cue_rt_are_within(const float *samples, uint32_t frames, float low,
                                     float high) CUE_REALTIME {
  return cue_samples_used->are_within(samples, frames, low, high);
}

#pragma clang assume_nonnull end
