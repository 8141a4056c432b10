#include "CSoundFont.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct cue_fluid_functions cue_fluid;

static char fault[256];
// Held while FluidSynth is loaded or loads a SoundFont: its messages are one list for the process.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t loading_thread;
static bool is_loading;

// Keeps the first message of a load. FluidSynth calls this function on any thread.
static void keep(int level, const char *message, void *data) {
  (void)level, (void)data;
  if (is_loading && pthread_equal(pthread_self(), loading_thread) && !*fault)
    snprintf(fault, sizeof fault, "%s", message);
}

static void load(void) {
  static const char name[] = "libfluidsynth.so.3";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  bool is_complete = library;
#define FUNCTION(result, name, parameters)                                                         \
  is_complete = is_complete && (cue_fluid.name = (__typeof__(cue_fluid.name))dlsym(library, #name))
#include "CSoundFont/functions.inc"
#define CALL(name, parameters, arguments)                                                          \
  is_complete =                                                                                    \
      is_complete &&                                                                               \
      (cue_fluid.name = (__typeof__(cue_fluid.name))dlsym(library, "fluid_synth_" #name));
  CUE_SYNTH_CALLS(CALL)
  if (!is_complete) {
    const char *reason = dlerror();
    snprintf(fault, sizeof fault, "%s", reason ? reason : name);
    cue_fluid.new_fluid_synth = NULL;
    return;
  }
  cue_leave_openmp(name);
  // Panics and errors are kept; warnings and below are dropped: a cycle must not write them.
  for (int level = 0; level < 5; level++)
    cue_fluid.fluid_set_log_function(level, level < 2 ? keep : NULL, NULL);
  const char *none[] = {NULL};
  cue_fluid.fluid_audio_driver_register(none);
}

static struct cue_bank *make(const struct cue_mailbox *mailbox, const char *path, int polyphony) {
  struct cue_bank *bank = calloc(1, sizeof *bank + strlen(path) + 1);
  if (!bank) return NULL;
  strcpy(bank->path, path);
  bank->polyphony = polyphony;
  bank->settings = cue_fluid.new_fluid_settings();
  if (bank->settings) {
    cue_fluid.fluid_settings_setnum(bank->settings, "synth.sample-rate", mailbox->rate);
    cue_fluid.fluid_settings_setnum(bank->settings, "synth.gain", 1);
    cue_fluid.fluid_settings_setint(bank->settings, "synth.polyphony", polyphony);
    // One thread calls at a time.
    cue_fluid.fluid_settings_setint(bank->settings, "synth.threadsafe-api", 0);
    cue_fluid.fluid_settings_setint(bank->settings, "synth.cpu-cores", 1);
    cue_fluid.fluid_settings_setint(bank->settings, "synth.dynamic-sample-loading", 0);
    bank->synth = cue_fluid.new_fluid_synth(bank->settings);
  }
  bank->font = bank->synth ? cue_fluid.fluid_synth_sfload(bank->synth, path, 1) : -1;
  if (bank->font >= 0) return bank;
  cue_unload(bank);
  return NULL;
}

struct cue_loaded cue_load(const struct cue_mailbox *mailbox, const char *path,
                           struct cue_settings settings) {
  pthread_mutex_lock(&lock);
  if (!cue_fluid.new_fluid_synth) load();
  pthread_mutex_unlock(&lock);
  if (!cue_fluid.new_fluid_synth) {
    cue_complain(mailbox, "FluidSynth cannot be loaded: %s (Debian package libfluidsynth3)\n",
                 fault);
    return (struct cue_loaded){NULL, CUE_BANK_NO_SYNTH};
  }
  if (!*path) {
    cue_complain(mailbox,
                 "there is no SoundFont: the Debian package timgm6mb-soundfont brings one, "
                 "and CUEJACK_SOUNDFONT names one\n");
    return (struct cue_loaded){NULL, CUE_BANK_NONE};
  }
  pthread_mutex_lock(&lock);
  *fault = 0;
  loading_thread = pthread_self();
  is_loading = true;
  struct cue_bank *bank = make(mailbox, path, (int)settings.first);
  is_loading = false;
  if (!bank)
    cue_complain(mailbox, "cannot load the SoundFont %s: %s\n", path,
                 *fault ? fault : "FluidSynth gives no reason");
  pthread_mutex_unlock(&lock);
  return (struct cue_loaded){bank, bank ? CUE_BANK_LOADED : CUE_BANK_BROKEN};
}

void cue_unload(void *content) {
  struct cue_bank *bank = content;
  if (!bank) return;
  if (bank->synth) cue_fluid.delete_fluid_synth(bank->synth);
  if (bank->settings) cue_fluid.delete_fluid_settings(bank->settings);
  free(bank);
}
