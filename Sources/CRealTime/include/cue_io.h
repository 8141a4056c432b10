// Calls of I/O functions: functions of the app that a cycle calls with input and output together.
#pragma once

#pragma clang assume_nonnull begin

/// Arguments of one call of an I/O function. Samples are interleaved.
typedef struct cue_io {
  uint32_t frames;
  uint32_t input_channels, output_channels;
  /// Samples of the sound card's inputs; NULL if there are no input channels.
  const float *_Nullable input;
  /// Memory for the outputs' samples, silent before the call; NULL if there are no output channels.
  float *_Nullable output;
  /// Device frames: of the cycle's first frame, of the first frame of the input and of the output.
  int64_t now_frame, input_frame, output_frame;
  /// Host times in nanoseconds: of the cycle's first frame, of the moment when the input's first
  /// frame came in at the sound card, and when the output's first frame leaves it; 0 if unknown.
  uint64_t now_time, input_time, output_time;
  /// Measured length of a frame divided by its nominal length; 0 if unknown.
  double rate_scalar;
  /// The same length in nanoseconds; 0 if unknown.
  double nanoseconds_per_frame;
  /// Nanoseconds after which a callback of the app is late; UINT64_MAX for no limit.
  uint64_t allowed_time;
  /// Transport state at the cycle's first frame; NULL if unknown.
  const struct cue_transport *_Nullable transport;
  /// The IOSlot of the function, which tells whether it has been stopped.
  const void *_Nullable slot;
} cue_io;

/// An I/O function with its context.
typedef struct cue_io_function {
  void (*run)(void *context, const cue_io *io);
  void *context;
} cue_io_function;

/// Calls an I/O function.
static inline void cue_rt_run_io(cue_io_function function, const cue_io *io) CUE_REALTIME {
  cue_rt_begin_checked_calls(io->allowed_time);
  CUE_TRUST_BEGIN // A function of the app, by the rules of render callbacks.
      function.run(function.context, io);
  CUE_TRUST_END
  cue_rt_end_checked_calls();
}

/// An I/O function as C programs write it: device, present time, input, its time, output, its time,
/// the app's data.
typedef int32_t (*cue_io_proc)(uint32_t device, const void *now, const void *input,
                               const void *input_time, void *output, const void *output_time,
                               void *_Nullable data);

/// Calls a C program's I/O function.
static inline void cue_rt_call_io_proc(cue_io_proc proc, uint32_t device, const void *now,
                                       const void *input, const void *input_time, void *output,
                                       const void *output_time, void *_Nullable data) CUE_REALTIME {
  cue_check check;
  cue_rt_begin_check(&check, (const void *)proc);
  CUE_TRUST_BEGIN // As above.
      (void) proc(device, now, input, input_time, output, output_time, data);
  CUE_TRUST_END
  cue_rt_end_check(&check);
}

/// Returns a number that identifies the calling thread.
static inline uintptr_t cue_rt_thread(void) CUE_REALTIME {
  return (uintptr_t)__builtin_thread_pointer();
}

#pragma clang assume_nonnull end
