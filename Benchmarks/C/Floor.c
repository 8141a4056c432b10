#include "CBench.h"
#include <lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/urid/urid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define MOST_CHANNELS  8
#define MOST_URIS      4096
#define SEQUENCE_BYTES 32768

/// One plugin instance of the chain.
typedef struct {
  LilvInstance *instance;
  uint32_t inputs[MOST_CHANNELS], outputs[MOST_CHANNELS];
  float *planes[MOST_CHANNELS];
  uint32_t port_count;
  // A value for each port, and memory for each port that is not a control port.
  float *values;
  char **symbols;
  void **memory;
  // Event outputs, whose capacity is set before each run.
  LV2_Atom **events;
  uint32_t event_count;
} stage;

struct cue_floor {
  LilvWorld *world;
  stage *stages;
  unsigned count, channels;
  // Buffers that the ends of the chain are connected to.
  const void *source[MOST_CHANNELS], *sink[MOST_CHANNELS];
  char *uris[MOST_URIS];
  uint32_t uri_count;
  LV2_URID_Map map;
  LV2_URID_Unmap unmap;
  int32_t frames, least_frames, sequence_bytes;
  float rate;
  LV2_URID sequence, chunk;
  LV2_Options_Option options[6];
  LV2_Feature map_feature, unmap_feature, options_feature, bounded_feature;
  const LV2_Feature *features[5];
  jack_client_t *client;
  jack_port_t *ports[2][MOST_CHANNELS];
};

static LV2_URID map(void *handle, const char *uri) {
  cue_floor *floor = handle;
  for (uint32_t i = 0; i < floor->uri_count; i++)
    if (strcmp(floor->uris[i], uri) == 0) return i + 1;
  if (floor->uri_count == MOST_URIS) return 0;
  floor->uris[floor->uri_count] = strdup(uri);
  return ++floor->uri_count;
}

static const char *unmap(void *handle, LV2_URID urid) {
  cue_floor *floor = handle;
  return urid > 0 && urid <= floor->uri_count ? floor->uris[urid - 1] : NULL;
}

static void set_features(cue_floor *floor) {
  LV2_URID whole = map(floor, LV2_ATOM__Int);
  LV2_Options_Option options[6] = {
      {LV2_OPTIONS_INSTANCE, 0, map(floor, LV2_BUF_SIZE__minBlockLength), sizeof(int32_t), whole,
       &floor->least_frames},
      {LV2_OPTIONS_INSTANCE, 0, map(floor, LV2_BUF_SIZE__maxBlockLength), sizeof(int32_t), whole,
       &floor->frames},
      {LV2_OPTIONS_INSTANCE, 0, map(floor, LV2_BUF_SIZE__nominalBlockLength), sizeof(int32_t),
       whole, &floor->frames},
      {LV2_OPTIONS_INSTANCE, 0, map(floor, LV2_BUF_SIZE__sequenceSize), sizeof(int32_t), whole,
       &floor->sequence_bytes},
      {LV2_OPTIONS_INSTANCE, 0, map(floor, LV2_PARAMETERS__sampleRate), sizeof(float),
       map(floor, LV2_ATOM__Float), &floor->rate},
      {LV2_OPTIONS_INSTANCE, 0, 0, 0, 0, NULL},
  };
  memcpy(floor->options, options, sizeof options);
  floor->map = (LV2_URID_Map){floor, map};
  floor->unmap = (LV2_URID_Unmap){floor, unmap};
  floor->map_feature = (LV2_Feature){LV2_URID__map, &floor->map};
  floor->unmap_feature = (LV2_Feature){LV2_URID__unmap, &floor->unmap};
  floor->options_feature = (LV2_Feature){LV2_OPTIONS__options, floor->options};
  floor->bounded_feature = (LV2_Feature){LV2_BUF_SIZE__boundedBlockLength, NULL};
  floor->features[0] = &floor->map_feature;
  floor->features[1] = &floor->unmap_feature;
  floor->features[2] = &floor->options_feature;
  floor->features[3] = &floor->bounded_feature;
  floor->sequence = map(floor, LV2_ATOM__Sequence);
  floor->chunk = map(floor, LV2_ATOM__Chunk);
}

/// Allocates zeroed memory, aligned for vector instructions. Writing it makes its pages resident.
static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return memory ? memset(memory, 0, bytes) : NULL;
}

static bool prepare(cue_floor *floor, stage *stage, const char *uri) {
  LilvNode *node = lilv_new_uri(floor->world, uri);
  const LilvPlugin *plugin =
      lilv_plugins_get_by_uri(lilv_world_get_all_plugins(floor->world), node);
  lilv_node_free(node);
  if (!plugin) return false;
  stage->instance = lilv_plugin_instantiate(plugin, floor->rate, floor->features);
  if (!stage->instance) return false;
  LilvNode *audio = lilv_new_uri(floor->world, LV2_CORE__AudioPort);
  LilvNode *cv = lilv_new_uri(floor->world, LV2_CORE__CVPort);
  LilvNode *control = lilv_new_uri(floor->world, LV2_CORE__ControlPort);
  LilvNode *input = lilv_new_uri(floor->world, LV2_CORE__InputPort);
  uint32_t count = stage->port_count = lilv_plugin_get_num_ports(plugin);
  stage->values = calloc(count, sizeof *stage->values);
  stage->symbols = calloc(count, sizeof *stage->symbols);
  stage->memory = calloc(count, sizeof *stage->memory);
  stage->events = calloc(count, sizeof *stage->events);
  lilv_plugin_get_port_ranges_float(plugin, NULL, NULL, stage->values);
  unsigned ins = 0, outs = 0;
  for (uint32_t i = 0; i < count; i++) {
    const LilvPort *port = lilv_plugin_get_port_by_index(plugin, i);
    bool is_input = lilv_port_is_a(plugin, port, input);
    stage->symbols[i] = strdup(lilv_node_as_string(lilv_port_get_symbol(plugin, port)));
    if (lilv_port_is_a(plugin, port, control)) {
      // lilv returns NaN if there is no default.
      if (stage->values[i] != stage->values[i]) stage->values[i] = 0;
      lilv_instance_connect_port(stage->instance, i, stage->values + i);
      continue;
    }
    bool is_audio = lilv_port_is_a(plugin, port, audio);
    bool has_samples = is_audio || lilv_port_is_a(plugin, port, cv);
    void *memory = stage->memory[i] =
        allocate(has_samples ? (size_t)floor->frames * sizeof(float) : SEQUENCE_BYTES);
    lilv_instance_connect_port(stage->instance, i, memory);
    if (is_audio && is_input && ins < floor->channels) stage->inputs[ins++] = i;
    if (is_audio && !is_input && outs < floor->channels) {
      stage->planes[outs] = memory;
      stage->outputs[outs++] = i;
    }
    if (!has_samples && is_input)
      *(LV2_Atom *)memory = (LV2_Atom){sizeof(LV2_Atom_Sequence_Body), floor->sequence};
    if (!has_samples && !is_input) stage->events[stage->event_count++] = memory;
  }
  lilv_node_free(audio);
  lilv_node_free(cv);
  lilv_node_free(control);
  lilv_node_free(input);
  return ins == floor->channels && outs == floor->channels;
}

cue_floor *cue_floor_make(const char *const *uris, unsigned count, unsigned channels, double rate,
                          unsigned frames, unsigned *failed) {
  *failed = 0;
  cue_floor *floor = calloc(1, sizeof *floor);
  if (!floor) return NULL;
  floor->count = count;
  floor->channels = channels;
  floor->rate = (float)rate;
  floor->frames = (int32_t)frames;
  floor->least_frames = 1;
  floor->sequence_bytes = SEQUENCE_BYTES;
  floor->stages = calloc(count, sizeof *floor->stages);
  floor->world = lilv_world_new();
  lilv_world_load_all(floor->world);
  set_features(floor);
  if (channels > MOST_CHANNELS) goto failed;
  for (unsigned i = 0; i < count; i++) {
    *failed = i;
    if (!prepare(floor, floor->stages + i, uris[i])) goto failed;
    for (unsigned channel = 0; i > 0 && channel < channels; channel++)
      lilv_instance_connect_port(floor->stages[i].instance, floor->stages[i].inputs[channel],
                                 floor->stages[i - 1].planes[channel]);
  }
  for (unsigned i = 0; i < count; i++)
    lilv_instance_activate(floor->stages[i].instance);
  return floor;
failed:
  cue_floor_free(floor);
  return NULL;
}

bool cue_floor_set(cue_floor *floor, unsigned number, const char *symbol, float value) {
  stage *stage = floor->stages + number;
  for (uint32_t i = 0; i < stage->port_count; i++) {
    if (stage->memory[i] || strcmp(stage->symbols[i], symbol) != 0) continue;
    stage->values[i] = value;
    return true;
  }
  return false;
}

static void flush_denormals(void) {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | (1 << 24)));
#endif
}

void cue_floor_run(cue_floor *floor, float *const *inputs, float *const *outputs, unsigned frames) {
  flush_denormals();
  stage *first = floor->stages, *last = floor->stages + floor->count - 1;
  for (unsigned channel = 0; channel < floor->channels; channel++) {
    if (floor->source[channel] != inputs[channel]) {
      floor->source[channel] = inputs[channel];
      lilv_instance_connect_port(first->instance, first->inputs[channel], inputs[channel]);
    }
    if (floor->sink[channel] != outputs[channel]) {
      floor->sink[channel] = outputs[channel];
      lilv_instance_connect_port(last->instance, last->outputs[channel], outputs[channel]);
    }
  }
  for (unsigned i = 0; i < floor->count; i++) {
    stage *stage = floor->stages + i;
    for (uint32_t event = 0; event < stage->event_count; event++)
      *stage->events[event] = (LV2_Atom){SEQUENCE_BYTES - sizeof(LV2_Atom), floor->chunk};
    lilv_instance_run(stage->instance, frames);
  }
}

static int cycle(jack_nframes_t frames, void *argument) {
  cue_floor *floor = argument;
  float *planes[2][MOST_CHANNELS];
  for (unsigned side = 0; side < 2; side++)
    for (unsigned channel = 0; channel < floor->channels; channel++)
      planes[side][channel] = jack_port_get_buffer(floor->ports[side][channel], frames);
  cue_floor_run(floor, planes[0], planes[1], frames);
  return 0;
}

bool cue_floor_serve(cue_floor *floor, const char *server, const char *name) {
  jack_status_t status;
  floor->client = jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName,
                                   &status, server);
  if (!floor->client || jack_get_buffer_size(floor->client) > (jack_nframes_t)floor->frames)
    return false;
  jack_set_process_callback(floor->client, cycle, floor);
  for (unsigned side = 0; side < 2; side++)
    for (unsigned channel = 0; channel < floor->channels; channel++) {
      char port[16];
      snprintf(port, sizeof port, "%s_%u", side == 0 ? "in" : "out", channel + 1);
      floor->ports[side][channel] =
          jack_port_register(floor->client, port, JACK_DEFAULT_AUDIO_TYPE,
                             side == 0 ? JackPortIsInput : JackPortIsOutput, 0);
      if (!floor->ports[side][channel]) return false;
    }
  return jack_activate(floor->client) == 0;
}

void cue_floor_free(cue_floor *floor) {
  if (!floor) return;
  if (floor->client) jack_client_close(floor->client);
  for (unsigned i = 0; i < floor->count; i++) {
    stage *stage = floor->stages + i;
    if (stage->instance) lilv_instance_free(stage->instance);
    for (uint32_t port = 0; port < stage->port_count; port++) {
      free(stage->memory[port]);
      free(stage->symbols[port]);
    }
    free(stage->memory);
    free(stage->symbols);
    free(stage->events);
    free(stage->values);
  }
  for (uint32_t i = 0; i < floor->uri_count; i++)
    free(floor->uris[i]);
  free(floor->stages);
  lilv_world_free(floor->world);
  free(floor);
}
