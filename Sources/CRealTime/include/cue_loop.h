// A signal that is played on one port, and what comes back on another one.
#pragma once

#include "CRealTime.h"

#pragma clang assume_nonnull begin

/// The signal of a loop, and what is heard from its first frame on. The creator owns the memory.
typedef struct cue_loop {
  const float *signal;
  int64_t signal_frames;
  float *heard;
  int64_t capacity;
  /// Device frame of the signal's first frame. Set before the process thread may reach it.
  int64_t start;
  /// Frames up to which `heard` is complete.
  int64_t heard_frames;
} cue_loop;

/// The value of `start` while nothing is played.
#define CUE_LOOP_WAITS INT64_MAX

/// Writes a block of the signal to the first output. `context` is a `cue_loop`. Process thread.
static inline void cue_rt_play_loop(void *context, const cue_block *block) CUE_REALTIME {
  const cue_loop *loop = (const cue_loop *)context;
  int64_t start = __atomic_load_n(&loop->start, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < block->frames; i++) {
    int64_t at = start == CUE_LOOP_WAITS ? -1 : block->frame + i - start;
    block->outputs[0][i] = at >= 0 && at < loop->signal_frames ? loop->signal[at] : 0;
  }
}

/// Keeps a block of the first input. `context` is a `cue_loop`. Process thread.
static inline void cue_rt_hear_loop(void *context, const cue_block *block) CUE_REALTIME {
  cue_loop *loop = (cue_loop *)context;
  int64_t start = __atomic_load_n(&loop->start, __ATOMIC_ACQUIRE);
  if (start == CUE_LOOP_WAITS) return;
  int64_t first = block->frame - start;
  for (uint32_t i = 0; i < block->frames; i++)
    if (first + i >= 0 && first + i < loop->capacity) loop->heard[first + i] = block->inputs[0][i];
  if (first + block->frames > 0)
    __atomic_store_n(&loop->heard_frames, first + block->frames, __ATOMIC_RELEASE);
}

/// Plays the signal from a device frame on. Any thread.
static inline void cue_start_loop(cue_loop *loop, int64_t frame) {
  __atomic_store_n(&loop->start, frame, __ATOMIC_RELEASE);
}

/// Returns the frames up to which `heard` is complete. Any thread.
static inline int64_t cue_loop_heard(const cue_loop *loop) {
  return __atomic_load_n(&loop->heard_frames, __ATOMIC_ACQUIRE);
}

/// Sets `sums` to the sums of products of a signal and a sound, for `count` positions of the signal
/// in it. The sound has `frames + count - 1` frames.
static inline void cue_correlate(const float *signal, size_t frames, const float *sound,
                                 size_t count, float *restrict sums) {
  for (size_t position = 0; position < count; position++)
    sums[position] = 0;
  for (size_t i = 0; i < frames; i++) {
    const float sample = signal[i], *part = sound + i;
    for (size_t position = 0; position < count; position++)
      sums[position] += sample * part[position];
  }
}

#pragma clang assume_nonnull end
