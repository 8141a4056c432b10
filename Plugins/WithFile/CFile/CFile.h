// A plugin's file: the messages that name it, the worker that loads it and the state that keeps its
// path; and the parts of LV2 that are macros, as Swift sees them.
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

struct cue_urids {
  LV2_URID object, blank, path, urid, midi, set, get, property, value, error, file;
};

// The values of controls with which a file is loaded: trim and pre-delay in milliseconds for an
// impulse response, and the polyphony for a SoundFont.
struct cue_settings {
  float first, second;
};

// The worker's answer to the process thread: the content of the file, NULL if it cannot be loaded,
// and a value of the port `status`.
struct cue_loaded {
  void *content;
  int status;
};

// The part of an instance that other threads of the host use while the instance runs.
struct cue_mailbox {
  double rate;
  LV2_Log_Log *log;
  struct cue_urids urids;
  // Loaded content that the next cycle takes in place of the present one. Process thread, as the
  // next two.
  void *incoming;
  int status;
  // True while the worker loads a file.
  bool is_loading;
  // The path for the state, which `save` may read at any time; empty for the default.
  void *lock;
  char wanted[4096];
};

// Creates the mailbox of a plugin whose file is the parameter with a URI. Returns NULL if there is
// no memory.
__attribute__((visibility("hidden"))) struct cue_mailbox *
cue_mailbox_new(double rate, LV2_URID_Map *map, LV2_Log_Log *log, const char *file);
__attribute__((visibility("hidden"))) void cue_mailbox_free(struct cue_mailbox *mailbox);

// Sets and copies the path for the state. Any thread that is not real time.
__attribute__((visibility("hidden"))) void cue_mailbox_want(struct cue_mailbox *mailbox,
                                                            const char *path);
__attribute__((visibility("hidden"))) void cue_mailbox_wanted(struct cue_mailbox *mailbox,
                                                              char path[4096]);

// Logs an error. Any thread that is not real time.
__attribute__((visibility("hidden"), format(printf, 2, 3))) void
cue_complain(const struct cue_mailbox *mailbox, const char *format, ...);

// MARK: Each bundle has its own

// Loads a file; logs the reason on failure. An empty path is that of the default. Any thread that
// is not real time.
__attribute__((visibility("hidden"))) struct cue_loaded
cue_load(const struct cue_mailbox *mailbox, const char *path, struct cue_settings settings);
__attribute__((visibility("hidden"))) void cue_unload(void *content);

// MARK: LV2

// A request of a cycle to the worker, followed by a path if it loads one.
struct cue_request {
  // The content to free; NULL to load a file.
  void *retired;
  struct cue_settings settings;
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

// Returns the path that a patch:Set message has for the file; NULL if the event is none.
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

// Returns whether the event is a patch:Get message for the file or for all parameters.
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

// Asks the worker to load a file, or to free what it has loaded.
static inline bool cue_rt_request(const LV2_Worker_Schedule *schedule, const char *path,
                                  struct cue_settings settings, void *retired) CUE_REALTIME {
  struct {
    struct cue_request request;
    char path[4096];
  } message = {{retired, settings}, ""};
  const size_t size = path ? __builtin_strlen(path) + 1 : 0;
  if (!schedule || size > sizeof message.path) return false;
  if (path) __builtin_memcpy(message.path, path, size);
  return schedule->schedule_work(schedule->handle,
                                 (uint32_t)(offsetof(__typeof__(message), path) + size),
                                 &message) == LV2_WORKER_SUCCESS;
}
