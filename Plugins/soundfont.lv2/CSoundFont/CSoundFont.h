// FluidSynth, as Swift sees it.
//
// The plugin is not linked to FluidSynth: the first instance loads the library, version 2.2 or
// later. The functions are declared here because the package with FluidSynth's headers brings those
// of 40 others.
#pragma once
#include "CFile.h"

typedef struct fluid_synth fluid_synth;
typedef struct fluid_voice fluid_voice;
typedef void (*fluid_log_function)(int level, const char *message, void *data);

// MARK: Calls of a cycle

// FluidSynth allows these calls in the thread that renders. With the settings of `cue_bank_new`
// they neither allocate nor lock, which a test measures.
#define CUE_SYNTH_CALLS(CALL)                                                                      \
  CALL(noteon, (fluid_synth * synth, int channel, int key, int velocity),                          \
       (synth, channel, key, velocity))                                                            \
  CALL(noteoff, (fluid_synth * synth, int channel, int key), (synth, channel, key))                \
  CALL(cc, (fluid_synth * synth, int channel, int controller, int value),                          \
       (synth, channel, controller, value))                                                        \
  CALL(get_cc, (fluid_synth * synth, int channel, int controller, int *value),                     \
       (synth, channel, controller, value))                                                        \
  CALL(sysex,                                                                                      \
       (fluid_synth * synth, const char *bytes, int count, char *answer, int *answered,            \
        int *handled, int tries),                                                                  \
       (synth, bytes, count, answer, answered, handled, tries))                                    \
  CALL(pitch_bend, (fluid_synth * synth, int channel, int value), (synth, channel, value))         \
  CALL(get_pitch_bend, (fluid_synth * synth, int channel, int *value), (synth, channel, value))    \
  CALL(pitch_wheel_sens, (fluid_synth * synth, int channel, int value), (synth, channel, value))   \
  CALL(get_pitch_wheel_sens, (fluid_synth * synth, int channel, int *value),                       \
       (synth, channel, value))                                                                    \
  CALL(channel_pressure, (fluid_synth * synth, int channel, int value), (synth, channel, value))   \
  CALL(key_pressure, (fluid_synth * synth, int channel, int key, int value),                       \
       (synth, channel, key, value))                                                               \
  CALL(program_change, (fluid_synth * synth, int channel, int program), (synth, channel, program)) \
  CALL(program_select, (fluid_synth * synth, int channel, int font, int bank, int program),        \
       (synth, channel, font, bank, program))                                                      \
  CALL(get_program, (fluid_synth * synth, int channel, int *font, int *bank, int *program),        \
       (synth, channel, font, bank, program))                                                      \
  CALL(system_reset, (fluid_synth * synth), (synth))                                               \
  CALL(set_gen, (fluid_synth * synth, int channel, int generator, float value),                    \
       (synth, channel, generator, value))                                                         \
  CALL(set_interp_method, (fluid_synth * synth, int channel, int method),                          \
       (synth, channel, method))                                                                   \
  CALL(reverb_on, (fluid_synth * synth, int group, int on), (synth, group, on))                    \
  CALL(set_reverb_group_roomsize, (fluid_synth * synth, int group, double value),                  \
       (synth, group, value))                                                                      \
  CALL(set_reverb_group_damp, (fluid_synth * synth, int group, double value),                      \
       (synth, group, value))                                                                      \
  CALL(set_reverb_group_width, (fluid_synth * synth, int group, double value),                     \
       (synth, group, value))                                                                      \
  CALL(set_reverb_group_level, (fluid_synth * synth, int group, double value),                     \
       (synth, group, value))                                                                      \
  CALL(chorus_on, (fluid_synth * synth, int group, int on), (synth, group, on))                    \
  CALL(set_chorus_group_nr, (fluid_synth * synth, int group, int count), (synth, group, count))    \
  CALL(set_chorus_group_level, (fluid_synth * synth, int group, double value),                     \
       (synth, group, value))                                                                      \
  CALL(set_chorus_group_speed, (fluid_synth * synth, int group, double value),                     \
       (synth, group, value))                                                                      \
  CALL(set_chorus_group_depth, (fluid_synth * synth, int group, double value),                     \
       (synth, group, value))                                                                      \
  CALL(set_chorus_group_type, (fluid_synth * synth, int group, int type), (synth, group, type))    \
  CALL(get_active_voice_count, (fluid_synth * synth), (synth))                                     \
  CALL(write_float,                                                                                \
       (fluid_synth * synth, int frames, void *left, int left_first, int left_step, void *right,   \
        int right_first, int right_step),                                                          \
       (synth, frames, left, left_first, left_step, right, right_first, right_step))

// The functions of FluidSynth that the plugin calls.
struct cue_fluid_functions {
#define FUNCTION(result, name, parameters) result(*name) parameters
#include "functions.inc"
#undef FUNCTION
#define CALL(name, parameters, arguments) int(*name) parameters;
  CUE_SYNTH_CALLS(CALL)
#undef CALL
};
__attribute__((visibility("hidden"))) extern struct cue_fluid_functions cue_fluid;

// Lets the library with a name run its parallel regions in the thread that calls it.
__attribute__((visibility("hidden"))) void cue_leave_openmp(const char *library);

#define CALL(name, parameters, arguments)                                                          \
  static inline int cue_rt_##name parameters CUE_REALTIME {                                        \
    return cue_fluid.name arguments;                                                               \
  }
CUE_SYNTH_CALLS(CALL)
#undef CALL

// Writes samples from number `first` on, times a factor, to those of `to` from number `frame` on.
// `to` may be NULL.
static inline void cue_rt_scale(const void *from, int first, float factor, float *to, int frame,
                                int count) CUE_REALTIME {
  const float *restrict samples = (const float *)from + first;
  float *restrict scaled = to ? to + frame : NULL;
  for (int i = 0; scaled && i < count; i++)
    scaled[i] = samples[i] * factor;
}

// The generators that move the pitch of all notes of a channel, and of one voice, in cents
// (GEN_PITCH and GEN_FINETUNE), and the most voices.
enum {
  CUE_PITCH_GENERATOR = 59,
  CUE_FINE_GENERATOR = 52,
  CUE_MOST_VOICES = 1024
};

// Moves the pitch of the voices of a key: of all, or of those of the last note only.
static inline void cue_rt_shift(fluid_synth *synth, int channel, int key, float cents,
                                bool is_last) CUE_REALTIME {
  fluid_voice *voices[CUE_MOST_VOICES] = {0};
  unsigned last = 0;
  cue_fluid.fluid_synth_get_voicelist(synth, voices, CUE_MOST_VOICES, -1);
  for (int i = 0; is_last && i < CUE_MOST_VOICES && voices[i]; i++) {
    const unsigned id = cue_fluid.fluid_voice_get_id(voices[i]);
    if (id > last) last = id;
  }
  for (int i = 0; i < CUE_MOST_VOICES && voices[i]; i++) {
    if (is_last && cue_fluid.fluid_voice_get_id(voices[i]) != last) continue;
    if (cue_fluid.fluid_voice_get_channel(voices[i]) != channel) continue;
    if (cue_fluid.fluid_voice_get_key(voices[i]) != key) continue;
    cue_fluid.fluid_voice_gen_incr(voices[i], CUE_FINE_GENERATOR, cents);
    cue_fluid.fluid_voice_update_param(voices[i], CUE_FINE_GENERATOR);
  }
}

// MARK: SoundFonts

// The outcomes of loading a SoundFont: values of the port `status`.
enum cue_bank_status {
  CUE_BANK_NONE,
  CUE_BANK_LOADED,
  CUE_BANK_BROKEN,
  CUE_BANK_NO_SYNTH,
  CUE_BANK_NO_PROGRAM
};

// A SoundFont in a synthesizer of its own.
struct cue_bank {
  void *settings;
  fluid_synth *synth;
  // FluidSynth's number of the SoundFont.
  int font;
  int polyphony;
  char path[];
};

static inline const char *cue_rt_path_of(const struct cue_bank *bank) CUE_REALTIME {
  return bank->path;
}
