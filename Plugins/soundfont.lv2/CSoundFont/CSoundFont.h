// FluidSynth, and the parts of LV2 that are macros, as Swift sees them.
//
// The plugin is not linked to FluidSynth: the first instance loads the library, version 2.2 or
// later. The functions are declared here because the package with FluidSynth's headers brings those
// of 40 others.
#pragma once
#include "CPlugin.h"

#include <lv2/atom/atom.h>
#include <lv2/atom/forge.h>
#include <lv2/atom/util.h>
#include <lv2/log/log.h>
#include <lv2/midi/midi.h>
#include <lv2/patch/patch.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <string.h>
#include <unistd.h>

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

struct cue_urids {
  LV2_URID object, blank, path, urid, midi, set, get, property, value, error, file;
};

// The bank that the worker hands to the process thread; NULL if the SoundFont cannot be loaded.
struct cue_loaded {
  struct cue_bank *bank;
  enum cue_bank_status status;
};

static inline const char *cue_rt_path_of(const struct cue_bank *bank) CUE_REALTIME {
  return bank->path;
}

// The part of an instance that other threads of the host use while the instance runs.
struct cue_mailbox {
  double rate;
  LV2_Log_Log *log;
  struct cue_urids urids;
  // The bank that takes the place of the present one. Process thread, as the next two.
  struct cue_bank *incoming;
  enum cue_bank_status status;
  // True while the worker loads a SoundFont.
  bool is_loading;
  // The path for the state, which `save` may read at any time; empty for the default.
  void *lock;
  char wanted[4096];
};

__attribute__((visibility("hidden"))) struct cue_mailbox *
cue_mailbox_new(double rate, LV2_URID_Map *map, LV2_Log_Log *log);
__attribute__((visibility("hidden"))) void cue_mailbox_free(struct cue_mailbox *mailbox);

// Sets and copies the path for the state. Any thread that is not real time.
__attribute__((visibility("hidden"))) void cue_mailbox_want(struct cue_mailbox *mailbox,
                                                            const char *path);
__attribute__((visibility("hidden"))) void cue_mailbox_wanted(struct cue_mailbox *mailbox,
                                                              char path[4096]);

// Loads a SoundFont; an empty path is that of a default that is not there. Logs the reason on
// failure. Any thread that is not real time.
__attribute__((visibility("hidden"))) struct cue_loaded
cue_bank_new(const struct cue_mailbox *mailbox, const char *path, int polyphony);
__attribute__((visibility("hidden"))) void cue_bank_free(struct cue_bank *bank);

// MARK: LV2

// A request of a cycle to the worker, followed by a path if it loads one.
struct cue_request {
  // The bank to free; NULL to load one.
  struct cue_bank *retired;
  int polyphony;
};

// Returns the first event of a sequence, the next one, and NULL after the last.
static inline const LV2_Atom_Event *cue_rt_next(const LV2_Atom_Sequence *sequence,
                                                const LV2_Atom_Event *event) CUE_REALTIME {
  event = event ? lv2_atom_sequence_next(event) : lv2_atom_sequence_begin(&sequence->body);
  return lv2_atom_sequence_is_end(&sequence->body, sequence->atom.size, event) ? NULL : event;
}

static inline const uint8_t *cue_rt_bytes(const LV2_Atom_Event *event) CUE_REALTIME {
  return (const uint8_t *)(event + 1);
}

// Returns the path that a patch:Set message has for the SoundFont; NULL if the event is none.
static inline const char *cue_rt_path(const LV2_Atom_Event *event,
                                      const struct cue_urids *urids) CUE_REALTIME {
  const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
  if (event->body.type != urids->object && event->body.type != urids->blank) return NULL;
  if (object->body.otype != urids->set) return NULL;
  const LV2_Atom *property = NULL, *value = NULL;
  lv2_atom_object_get(object, urids->property, &property, urids->value, &value, 0);
  if (!property || property->type != urids->urid || property->size != 4) return NULL;
  if (((const LV2_Atom_URID *)property)->body != urids->file) return NULL;
  if (!value || value->type != urids->path || value->size == 0 || value->size > 4096) return NULL;
  const char *path = (const char *)(value + 1);
  return path[value->size - 1] == 0 ? path : NULL;
}

// Returns whether the event is a patch:Get message for the SoundFont or for all parameters.
static inline bool cue_rt_asks(const LV2_Atom_Event *event,
                               const struct cue_urids *urids) CUE_REALTIME {
  const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
  if (event->body.type != urids->object && event->body.type != urids->blank) return false;
  if (object->body.otype != urids->get) return false;
  const LV2_Atom *property = NULL;
  lv2_atom_object_get(object, urids->property, &property, 0);
  return !property || ((const LV2_Atom_URID *)property)->body == urids->file;
}

// Writes the sequence of the port `notify`: empty, or with a patch:Set message of a path.
static inline void cue_rt_notify(LV2_Atom_Sequence *port, LV2_Atom_Forge *forge,
                                 const struct cue_urids *urids, const char *path) CUE_REALTIME {
  const uint32_t capacity = port->atom.size;
  lv2_atom_forge_set_buffer(forge, (uint8_t *)port, capacity);
  LV2_Atom_Forge_Frame sequence, object;
  lv2_atom_forge_sequence_head(forge, &sequence, 0);
  const uint32_t size = path ? (uint32_t)__builtin_strlen(path) : 0;
  if (path && capacity >= size + 128) {
    lv2_atom_forge_frame_time(forge, 0);
    lv2_atom_forge_object(forge, &object, 0, urids->set);
    lv2_atom_forge_key(forge, urids->property);
    lv2_atom_forge_urid(forge, urids->file);
    lv2_atom_forge_key(forge, urids->value);
    lv2_atom_forge_path(forge, path, size);
    lv2_atom_forge_pop(forge, &object);
  }
  lv2_atom_forge_pop(forge, &sequence);
}

// Asks the worker to load a SoundFont, or to free a bank.
static inline bool cue_rt_request(const LV2_Worker_Schedule *schedule, const char *path,
                                  int polyphony, struct cue_bank *retired) CUE_REALTIME {
  struct {
    struct cue_request request;
    char path[4096];
  } message = {{retired, polyphony}, ""};
  const size_t size = path ? __builtin_strlen(path) + 1 : 0;
  if (!schedule || size > sizeof message.path) return false;
  if (path) __builtin_memcpy(message.path, path, size);
  return schedule->schedule_work(schedule->handle,
                                 (uint32_t)(offsetof(__typeof__(message), path) + size),
                                 &message) == LV2_WORKER_SUCCESS;
}
