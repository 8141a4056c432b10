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

__attribute__((format(printf, 2, 3))) static void complain(const struct cue_mailbox *mailbox,
                                                           const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (mailbox->log) {
    mailbox->log->vprintf(mailbox->log->handle, mailbox->urids.error, format, arguments);
  } else {
    vfprintf(stderr, format, arguments);
  }
  va_end(arguments);
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
  cue_bank_free(bank);
  return NULL;
}

struct cue_loaded cue_bank_new(const struct cue_mailbox *mailbox, const char *path, int polyphony) {
  pthread_mutex_lock(&lock);
  if (!cue_fluid.new_fluid_synth) load();
  pthread_mutex_unlock(&lock);
  if (!cue_fluid.new_fluid_synth) {
    complain(mailbox, "FluidSynth cannot be loaded: %s (Debian package libfluidsynth3)\n", fault);
    return (struct cue_loaded){NULL, CUE_BANK_NO_SYNTH};
  }
  if (!*path) {
    complain(mailbox, "there is no SoundFont: the Debian package timgm6mb-soundfont brings one, "
                      "and CUEJACK_SOUNDFONT names one\n");
    return (struct cue_loaded){NULL, CUE_BANK_NONE};
  }
  pthread_mutex_lock(&lock);
  *fault = 0;
  loading_thread = pthread_self();
  is_loading = true;
  struct cue_bank *bank = make(mailbox, path, polyphony);
  is_loading = false;
  if (!bank)
    complain(mailbox, "cannot load the SoundFont %s: %s\n", path,
             *fault ? fault : "FluidSynth gives no reason");
  pthread_mutex_unlock(&lock);
  return (struct cue_loaded){bank, bank ? CUE_BANK_LOADED : CUE_BANK_BROKEN};
}

void cue_bank_free(struct cue_bank *bank) {
  if (!bank) return;
  if (bank->synth) cue_fluid.delete_fluid_synth(bank->synth);
  if (bank->settings) cue_fluid.delete_fluid_settings(bank->settings);
  free(bank);
}

struct cue_mailbox *cue_mailbox_new(double rate, LV2_URID_Map *map, LV2_Log_Log *log) {
  struct cue_mailbox *mailbox = calloc(1, sizeof *mailbox);
  if (!mailbox) return NULL;
  mailbox->lock = malloc(sizeof(pthread_mutex_t));
  if (!mailbox->lock) {
    free(mailbox);
    return NULL;
  }
  pthread_mutex_init(mailbox->lock, NULL);
  mailbox->rate = rate;
  mailbox->log = log;
#define URID(uri) map->map(map->handle, uri)
  mailbox->urids = (struct cue_urids){
      .object = URID(LV2_ATOM__Object),
      .blank = URID(LV2_ATOM__Blank),
      .path = URID(LV2_ATOM__Path),
      .urid = URID(LV2_ATOM__URID),
      .midi = URID(LV2_MIDI__MidiEvent),
      .set = URID(LV2_PATCH__Set),
      .get = URID(LV2_PATCH__Get),
      .property = URID(LV2_PATCH__property),
      .value = URID(LV2_PATCH__value),
      .error = URID(LV2_LOG__Error),
      .file = URID("urn:cuejack:plugins:soundfont#file"),
  };
  return mailbox;
}

void cue_mailbox_free(struct cue_mailbox *mailbox) {
  cue_bank_free(mailbox->incoming);
  pthread_mutex_destroy(mailbox->lock);
  free(mailbox->lock);
  free(mailbox);
}

void cue_mailbox_want(struct cue_mailbox *mailbox, const char *path) {
  pthread_mutex_lock(mailbox->lock);
  snprintf(mailbox->wanted, sizeof mailbox->wanted, "%s", path);
  pthread_mutex_unlock(mailbox->lock);
}

void cue_mailbox_wanted(struct cue_mailbox *mailbox, char path[4096]) {
  pthread_mutex_lock(mailbox->lock);
  memcpy(path, mailbox->wanted, sizeof mailbox->wanted);
  pthread_mutex_unlock(mailbox->lock);
}
