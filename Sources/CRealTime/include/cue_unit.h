// Renders of audio units: what units and render callbacks hand to each other. The layouts are those
// of the C API.
#pragma once

#pragma clang assume_nonnull begin

/// Samples of one or more channels, as an AudioBuffer.
typedef struct cue_buffer {
  uint32_t channels;
  uint32_t bytes;
  void *_Nullable data;
} cue_buffer;

/// Buffers, as an AudioBufferList. `first` is followed by the others.
typedef struct cue_buffer_list {
  uint32_t count;
  cue_buffer first;
} cue_buffer_list;

/// Returns the buffers of a list.
static inline cue_buffer *cue_rt_buffers(cue_buffer_list *list) CUE_REALTIME {
  return &list->first;
}

/// Flags of a time stamp: the fields that are valid.
enum {
  cue_time_has_sample = 1,
  cue_time_has_host = 2,
  cue_time_has_rate = 4
};

/// A time, as an AudioTimeStamp.
typedef struct cue_time_stamp {
  double sample_time;
  uint64_t host_time;
  double rate_scalar;
  uint64_t word_clock_time;
  uint64_t smpte[3];
  uint32_t flags;
  uint32_t reserved;
} cue_time_stamp;

/// A render callback, as an AURenderCallback.
typedef int32_t (*cue_render_proc)(void *_Nullable data, uint32_t *flags,
                                   const cue_time_stamp *time, uint32_t bus, uint32_t frames,
                                   cue_buffer_list *_Nullable list);

/// Returns an address in the stack of the caller.
static inline uintptr_t cue_rt_stack(void) CUE_REALTIME {
  return (uintptr_t)__builtin_frame_address(0);
}

/// Flags of a render.
enum {
  cue_render_is_before = 1 << 2,
  cue_render_is_after = 1 << 3,
  cue_render_is_silent = 1 << 4,
  cue_render_has_failed = 1 << 8
};

/// Calls a render callback.
CUE_OWN_FRAME static inline int32_t
cue_rt_call_render(cue_render_proc proc, void *_Nullable data, uint32_t *flags,
                   const cue_time_stamp *time, uint32_t bus, uint32_t frames,
                   cue_buffer_list *_Nullable list) CUE_REALTIME {
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)proc);
  CUE_TRUST_BEGIN // A function of the app, by the rules of render callbacks.
      status = proc(data, flags, time, bus, frames, list);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

/// A render of a unit, for its kernel.
typedef struct cue_unit_call {
  /// The unit's setup.
  void *setup;
  const cue_time_stamp *time;
  uint32_t frames;
  uint32_t *flags;
  /// How often the unit was reset.
  uint64_t resets;
} cue_unit_call;

/// The function that makes a unit's outputs from its inputs, with its context. Returns an error of
/// the C API, or 0.
typedef struct cue_unit_kernel {
  int32_t (*run)(void *context, const cue_unit_call *call);
  void *context;
} cue_unit_kernel;

/// Calls a kernel.
static inline int32_t cue_rt_run_kernel(cue_unit_kernel kernel,
                                        const cue_unit_call *call) CUE_REALTIME {
  CUE_TRUST_BEGIN // A function of RealTime, which the compiler checks where it is defined.
      return kernel.run(kernel.context, call);
  CUE_TRUST_END
}

/// A sample rate converter: it takes `*taken` of `count` frames and gives `*given` of at most
/// `room`. `run` is NULL for none.
typedef struct cue_resampler {
  void (*_Nullable run)(void *context, float *_Nonnull const *_Nonnull input, uint32_t count,
                        uint32_t *taken, float *_Nonnull const *_Nonnull output, uint32_t room,
                        uint32_t *given);
  /// Sets how many input frames make an output frame, and by how much frequencies, in cycles per
  /// frame, are multiplied. NULL for a converter whose ratio is fixed. One that resamples ignores
  /// `pitch`.
  void (*_Nullable set)(void *context, double ratio, double pitch);
  void *_Nullable context;
} cue_resampler;

/// Sets ratio and pitch of a converter that can change them.
static inline void cue_rt_set_ratio(cue_resampler resampler, double ratio,
                                    double pitch) CUE_REALTIME {
  if (!resampler.set) return;
  CUE_TRUST_BEGIN // soxr and Rubber Band only compute there.
      resampler.set((void *)resampler.context, ratio, pitch);
  CUE_TRUST_END
}

/// Calls a sample rate converter.
static inline void cue_rt_resample(cue_resampler resampler, float *_Nonnull const *_Nonnull input,
                                   uint32_t count, uint32_t *taken,
                                   float *_Nonnull const *_Nonnull output, uint32_t room,
                                   uint32_t *given) CUE_REALTIME {
  CUE_TRUST_BEGIN // soxr and Rubber Band allocate nothing once their buffers have had their largest
                  // contents, which RateConverter.swift of AudioUnits sees to.
      resampler.run((void *)resampler.context, input, count, taken, output, room, given);
  CUE_TRUST_END
}

static inline double cue_rt_asinh(double value) CUE_REALTIME {
  CUE_TRUST_BEGIN // libm: computes.
      return __builtin_asinh(value);
  CUE_TRUST_END
}

static inline double cue_rt_log10(double value) CUE_REALTIME {
  CUE_TRUST_BEGIN // libm: computes.
      return __builtin_log10(value);
  CUE_TRUST_END
}

static inline double cue_rt_sine(double angle) CUE_REALTIME {
  CUE_TRUST_BEGIN // libm: computes.
      return __builtin_sin(angle);
  CUE_TRUST_END
}

static inline double cue_rt_power(double base, double exponent) CUE_REALTIME {
  CUE_TRUST_BEGIN // libm: computes.
      return __builtin_pow(base, exponent);
  CUE_TRUST_END
}

/// Functions of the app that tell of its beat and transport, as a HostCallbackInfo. Any may be
/// NULL. Each returns 0, or an error.
typedef struct cue_host_callbacks {
  void *_Nullable data;
  int32_t (*_Nullable beat_and_tempo)(void *_Nullable data, double *_Nullable beat,
                                      double *_Nullable tempo);
  int32_t (*_Nullable musical_time)(void *_Nullable data, uint32_t *_Nullable frames_to_beat,
                                    float *_Nullable beats, uint32_t *_Nullable unit,
                                    double *_Nullable down_beat);
  int32_t (*_Nullable transport_state)(void *_Nullable data, bool *_Nullable is_playing,
                                       bool *_Nullable has_changed, double *_Nullable frame,
                                       bool *_Nullable is_cycling, double *_Nullable cycle_start,
                                       double *_Nullable cycle_end);
  void *_Nullable transport_state_2;
} cue_host_callbacks;

/// Asks the app for its transport state.
CUE_OWN_FRAME static inline cue_transport cue_rt_ask_host(const cue_host_callbacks *host,
                                                          double sample_rate) CUE_REALTIME {
  cue_transport now = {.frames_per_second = sample_rate};
  double beat = 0, tempo = 0, frame = 0, down_beat = 0, cycle_start, cycle_end;
  float beats = 4;
  uint32_t unit = 4, frames_to_beat;
  bool has_changed, is_cycling;
  cue_check check;
  cue_rt_begin_check(&check, (const void *)host->transport_state);
  CUE_TRUST_BEGIN // Functions of the app, by the rules of render callbacks.
      if (host->transport_state &&
          host->transport_state(host->data, &now.is_rolling, &has_changed, &frame, &is_cycling,
                                &cycle_start, &cycle_end) != 0) now.is_rolling = false;
  cue_rt_end_check(&check);
  cue_rt_begin_check(&check, (const void *)host->beat_and_tempo);
  if (host->beat_and_tempo && host->beat_and_tempo(host->data, &beat, &tempo) == 0)
    now.has_beats = true;
  cue_rt_end_check(&check);
  cue_rt_begin_check(&check, (const void *)host->musical_time);
  if (host->musical_time &&
      host->musical_time(host->data, &frames_to_beat, &beats, &unit, &down_beat) != 0) {
    beats = 4;
    unit = 4;
    down_beat = 0;
  }
  CUE_TRUST_END
  cue_rt_end_check(&check);
  now.frame = cue_rt_held(frame);
  now.has_beats = now.has_beats && cue_rt_are_beats(tempo, beats, unit) &&
                  __builtin_isfinite(beat) && __builtin_isfinite(down_beat);
  if (!now.has_beats) return now;
  now.beat_unit = (int32_t)unit;
  now.beats_per_bar = beats;
  now.beats_per_minute = tempo;
  now.bar = cue_rt_held(__builtin_floor(down_beat / (double)beats + 1e-9));
  now.bar_beat = beat - (double)now.bar * (double)beats;
  now.beat_slack = 1e-3;
  return now;
}

/// A node's function that moves one of its controls, on the thread that runs it and before it does:
/// at device frame `frame`, over `ramp` frames. False if too many changes wait.
typedef struct cue_control_setter {
  bool (*_Nullable set)(void *_Nullable context, uint32_t control, float value, int64_t frame,
                        uint32_t ramp);
} cue_control_setter;

/// Moves a control of a node.
static inline bool cue_rt_set_control(cue_control_setter setter, void *context, uint32_t control,
                                      float value, int64_t frame, uint32_t ramp) CUE_REALTIME {
  if (!setter.set) return false;
  CUE_TRUST_BEGIN // A function of CPluginRunner, which the compiler checks where it is defined.
      return setter.set(context, control, value, frame, ramp);
  CUE_TRUST_END
}

// MARK: Handles

/// A unit by the number that the app holds. A number is never used twice.
typedef struct cue_unit_gate {
  uintptr_t handle;
  void *_Nullable unit;
  /// Calls in progress.
  int32_t inside;
} cue_unit_gate;

enum {
  cue_unit_gate_count = 4096
};
extern CUE_HIDDEN cue_unit_gate cue_unit_gates[cue_unit_gate_count];

static inline cue_unit_gate *cue_rt_unit_gate(uintptr_t handle) CUE_REALTIME {
  return &cue_unit_gates[(handle >> 4) % cue_unit_gate_count];
}

/// Lets a handle stand for a unit.
static inline void cue_open_unit_gate(uintptr_t handle, void *unit) {
  cue_unit_gate *gate = cue_rt_unit_gate(handle);
  gate->unit = unit;
  __atomic_store_n(&gate->handle, handle, __ATOMIC_SEQ_CST);
}

/// Lets it stand for none. The unit may go once `cue_unit_calls` was 0.
static inline void cue_close_unit_gate(uintptr_t handle) {
  __atomic_store_n(&cue_rt_unit_gate(handle)->handle, 0, __ATOMIC_SEQ_CST);
}

/// Returns the number of calls in progress with a handle.
static inline int32_t cue_unit_calls(uintptr_t handle) {
  return __atomic_load_n(&cue_rt_unit_gate(handle)->inside, __ATOMIC_SEQ_CST);
}

/// Returns the unit of a handle, which stays until `cue_rt_leave_unit`; NULL if there is none.
static inline void *_Nullable cue_rt_enter_unit(uintptr_t handle) CUE_REALTIME {
  cue_unit_gate *gate = cue_rt_unit_gate(handle);
  __atomic_add_fetch(&gate->inside, 1, __ATOMIC_SEQ_CST);
  if (handle != 0 && __atomic_load_n(&gate->handle, __ATOMIC_SEQ_CST) == handle) return gate->unit;
  __atomic_sub_fetch(&gate->inside, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static inline void cue_rt_leave_unit(uintptr_t handle) CUE_REALTIME {
  __atomic_sub_fetch(&cue_rt_unit_gate(handle)->inside, 1, __ATOMIC_SEQ_CST);
}

#pragma clang assume_nonnull end
