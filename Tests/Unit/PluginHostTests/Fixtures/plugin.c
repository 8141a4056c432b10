// A plugin with one fault, or one that reports its host's behaviour. A macro of the build selects
// which.
#include <lv2/atom/atom.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOCK "http://lv2plug.in/ns/ext/buf-size#maxBlockLength"

enum {
  IN,
  OUT,
  ENABLED,
  FREEWHEELING,
  TRIGGER,
  WANTED,
  LATENCY,
  MAXIMUM,
  LONGEST,
  MADE,
  PORTS
};

typedef struct {
  float *ports[PORTS];
  LV2_URID_Map *map;
  LV2_Log_Log *log;
  LV2_Worker_Schedule *schedule;
  float maximum, longest, made;
  uint32_t ran;
} Plugin;

#if defined(BEARS_ONE_RATE)
static double alive_at = 0;
#endif

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
  (void)descriptor, (void)rate, (void)bundle;
#if defined(REFUSES)
  return NULL;
#elif defined(BEARS_ONE_RATE)
  if ((alive_at > 0 && rate != alive_at) || rate > 100000) return NULL;
  alive_at = rate;
#elif defined(BRINGS_A_LIBRARY)
  extern int brought_library_is_first(void);
  if (!brought_library_is_first()) return NULL;
#elif defined(CRASHES_AT_ONCE)
  *(volatile int *)8 = 1;
#elif defined(PRINTS)
  printf("a plugin prints\n");
  fflush(stdout);
#endif
  Plugin *plugin = calloc(1, sizeof *plugin);
  for (int i = 0; features[i]; ++i) {
    if (!strcmp(features[i]->URI, LV2_URID__map)) plugin->map = features[i]->data;
    if (!strcmp(features[i]->URI, LV2_LOG__log)) plugin->log = features[i]->data;
    if (!strcmp(features[i]->URI, LV2_WORKER__schedule)) plugin->schedule = features[i]->data;
  }
  for (int i = 0; features[i]; ++i) {
    if (strcmp(features[i]->URI, LV2_OPTIONS__options)) continue;
    const LV2_Options_Option *option = features[i]->data;
    for (; option->key; ++option)
      if (option->key == plugin->map->map(plugin->map->handle, MAX_BLOCK))
        plugin->maximum = (float)*(const int32_t *)option->value;
  }
#if defined(MAKES_FILES)
  for (int i = 0; features[i]; ++i) {
    if (strcmp(features[i]->URI, LV2_STATE__makePath)) continue;
    const LV2_State_Make_Path *paths = features[i]->data;
    char *path = paths->path(paths->handle, getenv("CUE_FIXTURE_FILE"));
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return NULL;
    fclose(file);
    free(path);
  }
#endif
  // A count that survives unloading of this library.
  const char *made = getenv("CUE_FIXTURES_MADE");
  plugin->made = made ? (float)atoi(made) + 1 : 1;
  char text[16];
  snprintf(text, sizeof text, "%d", (int)plugin->made);
  setenv("CUE_FIXTURES_MADE", text, 1);
  return plugin;
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data) {
  ((Plugin *)handle)->ports[port] = data;
}

static void run(LV2_Handle handle, uint32_t frames) {
  Plugin *plugin = handle;
#if defined(CRASHES_IN_RUN)
  abort();
#elif defined(HANGS)
  for (;;)
    pause();
#elif defined(SPINS)
  for (volatile int i = 0;; ++i) {
  }
#elif defined(CRASHES_LATER)
  if ((plugin->ran += frames) > 10000) abort();
#elif defined(HANGS_LATER)
  if ((plugin->ran += frames) > 10000) {
    fprintf(stderr, "it hangs\n");
    for (;;)
      pause();
  }
#elif defined(ECHOES)
  const LV2_Atom_Sequence *in = (const void *)plugin->ports[IN];
  LV2_Atom_Sequence *out = (void *)plugin->ports[OUT];
  const uint32_t capacity = out->atom.size;
  out->atom.type = plugin->map->map(plugin->map->handle, LV2_ATOM__Sequence);
  lv2_atom_sequence_clear(out);
  LV2_ATOM_SEQUENCE_FOREACH(in, event)
  if (event->time.frames >= 0 && event->time.frames < frames)
    lv2_atom_sequence_append_event(out, capacity, event);
  return;
#endif
  for (uint32_t i = 0; i < frames; ++i) {
#if defined(WRITES_NAN)
    plugin->ports[OUT][i] = i % 2 ? NAN : INFINITY;
#elif defined(LOOKS_FOR_A_PORT)
    plugin->ports[OUT][i] = plugin->ports[2] ? 1 : 0;
#elif defined(WITNESS)
    plugin->ports[OUT][i] =
        *plugin->ports[ENABLED] + 2 * *plugin->ports[FREEWHEELING] + 4 * *plugin->ports[TRIGGER];
#elif defined(ADDS)
    plugin->ports[OUT][i] = plugin->ports[IN][i] + *plugin->ports[2] + 2 * *plugin->ports[3];
#else
    plugin->ports[OUT][i] = plugin->ports[IN][i];
#endif
  }
#if defined(WITNESS)
  if (*plugin->ports[TRIGGER] > 0) {
    LV2_URID warning = plugin->map->map(plugin->map->handle, LV2_LOG__Warning);
    plugin->log->printf(plugin->log->handle, warning, "triggered in %d of %s\n", (int)frames,
                        "run");
    plugin->schedule->schedule_work(plugin->schedule->handle, 7, "worked");
  }
  *plugin->ports[LATENCY] = *plugin->ports[WANTED];
  *plugin->ports[MAXIMUM] = plugin->maximum;
  if (frames > plugin->longest) plugin->longest = (float)frames;
  *plugin->ports[LONGEST] = plugin->longest;
  *plugin->ports[MADE] = plugin->made;
#elif defined(IS_LATE)
  *plugin->ports[2] = 1e12f;
#endif
}

static void cleanup(LV2_Handle handle) {
  free(handle);
}

#if defined(WITNESS)
static LV2_Worker_Status work(LV2_Handle handle, LV2_Worker_Respond_Function respond,
                              LV2_Worker_Respond_Handle to, uint32_t size, const void *data) {
  Plugin *plugin = handle;
  LV2_URID note = plugin->map->map(plugin->map->handle, LV2_LOG__Warning);
  plugin->log->printf(plugin->log->handle, note, "%.*s outside", (int)size - 1, (const char *)data);
  return respond(to, size, data);
}

static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *body) {
  Plugin *plugin = handle;
  if (size == 7 && !strcmp(body, "worked")) plugin->maximum = -plugin->maximum;
  return LV2_WORKER_SUCCESS;
}

static uint32_t get_options(LV2_Handle handle, LV2_Options_Option *options) {
  (void)handle, (void)options;
  return LV2_OPTIONS_ERR_UNKNOWN;
}

static uint32_t set_options(LV2_Handle handle, const LV2_Options_Option *options) {
  Plugin *plugin = handle;
  for (; options->key; ++options)
    if (options->key == plugin->map->map(plugin->map->handle, MAX_BLOCK))
      plugin->maximum = (float)*(const int32_t *)options->value;
  return LV2_OPTIONS_SUCCESS;
}

static const void *extension_data(const char *uri) {
  static const LV2_Worker_Interface worker = {work, work_response, NULL};
  static const LV2_Options_Interface options = {get_options, set_options};
  if (!strcmp(uri, LV2_WORKER__interface)) return &worker;
  if (!strcmp(uri, LV2_OPTIONS__interface)) return &options;
  return NULL;
}
#elif defined(FORGETS)
// Stores a different state each time.
static LV2_State_Status save(LV2_Handle handle, LV2_State_Store_Function store,
                             LV2_State_Handle state, uint32_t flags,
                             const LV2_Feature *const *features) {
  (void)flags, (void)features;
  static int32_t asked = 0;
  ++asked;
  LV2_URID_Map *map = ((Plugin *)handle)->map;
  return store(state, map->map(map->handle, "urn:fixture:asked"), &asked, sizeof asked,
               map->map(map->handle, LV2_ATOM__Int), LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
}

static LV2_State_Status restore(LV2_Handle handle, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle state, uint32_t flags,
                                const LV2_Feature *const *features) {
  (void)handle, (void)retrieve, (void)state, (void)flags, (void)features;
  return LV2_STATE_SUCCESS;
}

static const void *extension_data(const char *uri) {
  static const LV2_State_Interface state = {save, restore};
  return strcmp(uri, LV2_STATE__interface) ? NULL : &state;
}
#else
static const void *extension_data(const char *uri) {
  (void)uri;
  return NULL;
}
#endif

#if defined(TELLS_MORE)
// The function that a dynamic manifest makes a host call.
LV2_SYMBOL_EXPORT int lv2_dyn_manifest_open(void **handle, const LV2_Feature *const *features) {
  (void)handle, (void)features;
  abort();
}
#endif

static const LV2_Descriptor descriptor = {"urn:fixture", instantiate, connect_port, NULL,
                                          run,           NULL,        cleanup,      extension_data};

#if !defined(HAS_NO_DESCRIPTOR)
LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
  return index == 0 ? &descriptor : NULL;
}
#endif
