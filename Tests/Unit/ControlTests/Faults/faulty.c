// An LV2 effect, urn:faulty, that counts the states that it has saved, and misbehaves as its
// control says.
#include <lv2/atom/atom.h>
#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  crashes_in_run = 1,
  hangs_in_run,
  exits_in_run,
  prints_in_run,
  closes_files_in_run,
  crashes_in_save = 10,
  hangs_in_save,
  exits_in_save,
  refuses_to_save,
  is_slow_to_save,
};

typedef struct {
  const float *in, *mode;
  float *out;
  LV2_URID_Map *map;
  int count, is_done;
} faulty;

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
  (void)descriptor, (void)rate, (void)bundle;
  faulty *self = calloc(1, sizeof *self);
  for (; *features; features++)
    if (!strcmp((*features)->URI, LV2_URID__map)) self->map = (*features)->data;
  return self;
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data) {
  faulty *self = instance;
  if (port == 0) self->in = data;
  if (port == 1) self->out = data;
  if (port == 2) self->mode = data;
}

static void run(LV2_Handle instance, uint32_t frames) {
  faulty *self = instance;
  memmove(self->out, self->in, frames * sizeof(float));
  switch ((int)*self->mode) {
  case crashes_in_run:
    raise(SIGSEGV);
    break;
  case hangs_in_run:
    for (;;)
      pause();
  case exits_in_run:
    exit(0);
  case prints_in_run:
    // The end of a line may be an answer to the host, the next line has no end.
    if (self->is_done++) break;
    (void)!write(1, "{\"reply\":{\"done\":{}}}\nA", 24);
    (void)!write(0, "{\"reply\":{\"done\":{}}}\n", 23);
    break;
  case closes_files_in_run:
    if (self->is_done++) break;
    for (int file = 0; file < 3; file++)
      close(file);
    break;
  default:
    break;
  }
}

static LV2_URID key(const faulty *self) {
  return self->map->map(self->map->handle, "urn:faulty:count");
}

static LV2_State_Status save(LV2_Handle instance, LV2_State_Store_Function store,
                             LV2_State_Handle handle, uint32_t flags,
                             const LV2_Feature *const *features) {
  (void)flags, (void)features;
  faulty *self = instance;
  switch ((int)*self->mode) {
  case crashes_in_save:
    raise(SIGSEGV);
    break;
  case hangs_in_save:
    for (;;)
      pause();
  case exits_in_save:
    exit(0);
  case refuses_to_save:
    return LV2_STATE_ERR_UNKNOWN;
  case is_slow_to_save:
    sleep(3);
    break;
  default:
    break;
  }
  self->count++;
  static const size_t size = 20000;
  char *text = malloc(size);
  memset(text, '.', size);
  text[sprintf(text, "count-%d-", self->count)] = '.';
  strcpy(text + size - 4, "end");
  store(handle, key(self), text, size, self->map->map(self->map->handle, LV2_ATOM__String),
        LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
  free(text);
  return LV2_STATE_SUCCESS;
}

static LV2_State_Status restore(LV2_Handle instance, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle handle, uint32_t flags,
                                const LV2_Feature *const *features) {
  (void)flags, (void)features;
  faulty *self = instance;
  size_t size = 0;
  uint32_t type = 0, kind = 0;
  const char *text = retrieve(handle, key(self), &size, &type, &kind);
  if (text) sscanf(text, "count-%d-", &self->count);
  return LV2_STATE_SUCCESS;
}

static const void *extension_data(const char *uri) {
  static const LV2_State_Interface state = {save, restore};
  return strcmp(uri, LV2_STATE__interface) ? NULL : &state;
}

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
  static const LV2_Descriptor descriptor = {"urn:faulty", instantiate, connect_port,  NULL, run,
                                            NULL,         free,        extension_data};
  return index ? NULL : &descriptor;
}
