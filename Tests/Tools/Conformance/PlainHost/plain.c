#include "plain.h"
#include <dlfcn.h>
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/midi/midi.h>
#include <lv2/parameters/parameters.h>
#include <lv2/state/state.h>
#include <lv2/time/time.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// MARK: The worker

static void append(message **list, uint32_t bytes, const void *body) {
  message *added = malloc(sizeof *added + bytes);
  added->next = NULL;
  added->bytes = bytes;
  if (bytes > 0) memcpy(added->body, body, bytes);
  while (*list)
    list = &(*list)->next;
  *list = added;
}

static message *take(instance *it, message **list) {
  pthread_mutex_lock(&it->lock);
  message *first = *list;
  if (first) *list = first->next;
  pthread_mutex_unlock(&it->lock);
  return first;
}

static LV2_Worker_Status respond(LV2_Worker_Respond_Handle handle, uint32_t bytes,
                                 const void *body) {
  instance *it = handle;
  pthread_mutex_lock(&it->lock);
  append(&it->responses, bytes, body);
  pthread_mutex_unlock(&it->lock);
  return LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status work(instance *it, uint32_t bytes, const void *body) {
  if (!it->worker) return LV2_WORKER_ERR_UNKNOWN;
  pthread_mutex_lock(&it->work_lock);
  LV2_Worker_Status status =
      it->worker->work(lilv_instance_get_handle(it->instance), respond, it, bytes, body);
  pthread_mutex_unlock(&it->work_lock);
  return status;
}

static LV2_Worker_Status schedule_now(LV2_Worker_Schedule_Handle handle, uint32_t bytes,
                                      const void *body) {
  return work(handle, bytes, body);
}

static LV2_Worker_Status schedule(LV2_Worker_Schedule_Handle handle, uint32_t bytes,
                                  const void *body) {
  instance *it = handle;
  if (it->is_offline) return work(it, bytes, body);
  pthread_mutex_lock(&it->lock);
  append(&it->requests, bytes, body);
  pthread_cond_signal(&it->woken);
  pthread_mutex_unlock(&it->lock);
  return LV2_WORKER_SUCCESS;
}

static void do_all_work(instance *it) {
  message *request;
  while ((request = take(it, &it->requests))) {
    work(it, request->bytes, request->body);
    free(request);
  }
}

static void *work_on(void *handle) {
  instance *it = handle;
  while (true) {
    pthread_mutex_lock(&it->lock);
    while (!it->requests && !it->is_over)
      pthread_cond_wait(&it->woken, &it->lock);
    bool is_over = it->is_over;
    pthread_mutex_unlock(&it->lock);
    if (is_over) return NULL;
    do_all_work(it);
  }
}

static void deliver(instance *it) {
  if (!it->worker) return;
  message *response;
  while ((response = take(it, &it->responses))) {
    if (it->worker->work_response)
      it->worker->work_response(lilv_instance_get_handle(it->instance), response->bytes,
                                response->body);
    free(response);
  }
}

// MARK: An instance

static void set_lengths(instance *it, int32_t longest) {
  it->longest = longest;
  it->shortest = 1;
}

instance *make(plugin_facts *facts, double rate, int32_t longest, bool is_offline) {
  // Some libraries can be loaded only once.
  const char *binary = lilv_node_as_uri(lilv_plugin_get_library_uri(facts->plugin));
  char *path = binary ? lilv_file_uri_parse(binary, NULL) : NULL;
  if (path) dlopen(path, RTLD_NOW | RTLD_NODELETE);
  lilv_free(path);
  instance *it = calloc(1, sizeof *it);
  it->facts = facts;
  it->rate = rate;
  it->float_rate = (float)rate;
  it->is_offline = is_offline;
  it->event_bytes = EVENT_BYTES;
  it->noise = 1;
  set_lengths(it, longest);
  pthread_mutex_init(&it->lock, NULL);
  pthread_mutex_init(&it->work_lock, NULL);
  pthread_cond_init(&it->woken, NULL);
  it->schedule = (LV2_Worker_Schedule){it, schedule};
  it->schedule_restored = (LV2_Worker_Schedule){it, schedule_now};
  const char *lengths[] = {LV2_BUF_SIZE__minBlockLength, LV2_BUF_SIZE__maxBlockLength,
                           LV2_BUF_SIZE__nominalBlockLength, LV2_BUF_SIZE__sequenceSize};
  const int32_t *values[] = {&it->shortest, &it->longest, &it->longest, &it->event_bytes};
  for (int i = 0; i < 4; ++i)
    it->options[i] = (LV2_Options_Option){LV2_OPTIONS_INSTANCE, 0,        map(lengths[i]), 4,
                                          map(LV2_ATOM__Int),   values[i]};
  it->options[4] = (LV2_Options_Option){
      LV2_OPTIONS_INSTANCE, 0, map(LV2_PARAMETERS__sampleRate), 4, map(LV2_ATOM__Float),
      &it->float_rate};
  LV2_Feature features[] = {
      {LV2_URID__map, &map_feature},
      {LV2_URID__unmap, &unmap_feature},
      {LV2_OPTIONS__options, it->options},
      {LV2_BUF_SIZE__boundedBlockLength, NULL},
      {LV2_STATE__loadDefaultState, NULL},
      {LV2_STATE__threadSafeRestore, NULL},
      {LV2_CORE__isLive, NULL},
      {LV2_CORE__hardRTCapable, NULL},
      {LV2_CORE__inPlaceBroken, NULL},
      {LV2_WORKER__schedule, &it->schedule},
  };
  int count = sizeof features / sizeof *features;
  for (int i = 0; i < count; ++i) {
    it->storage[i] = features[i];
    it->features[i] = it->features_restored[i] = &it->storage[i];
  }
  it->schedule_feature = (LV2_Feature){LV2_WORKER__schedule, &it->schedule_restored};
  it->features_restored[count - 1] = &it->schedule_feature;
  it->instance = lilv_plugin_instantiate(facts->plugin, rate, it->features);
  if (!it->instance) return NULL;
  LilvNode *interface = lilv_new_uri(facts->world, LV2_WORKER__interface);
  if (lilv_plugin_has_extension_data(facts->plugin, interface))
    it->worker = lilv_instance_get_extension_data(it->instance, LV2_WORKER__interface);
  lilv_node_free(interface);

  it->controls = calloc(facts->count + 1, sizeof(float));
  it->buffers = calloc(facts->count + 1, sizeof(void *));
  for (uint32_t i = 0; i < facts->count; ++i) {
    const port *port = &facts->ports[i];
    float factor = port->is_in_rates ? (float)rate : 1;
    if (port->kind == CONTROL_IN)
      it->controls[i] = !isnan(port->usual) ? port->usual
                        : port->low > 0     ? port->low * factor
                        : port->high < 0    ? port->high * factor
                                            : 0;
    if (port->kind == SOUND_IN || port->kind == SOUND_OUT)
      it->buffers[i] = calloc(LONGEST_BLOCK, sizeof(float));
    if (port->kind == EVENTS_IN || port->kind == EVENTS_OUT)
      it->buffers[i] = calloc(1, EVENT_BYTES);
    bool is_control = port->kind == CONTROL_IN || port->kind == CONTROL_OUT;
    lilv_instance_connect_port(it->instance, i, is_control ? &it->controls[i] : it->buffers[i]);
  }
  LilvNode *usual = lilv_new_uri(facts->world, LV2_STATE__loadDefaultState);
  if (lilv_plugin_has_feature(facts->plugin, usual)) {
    LilvState *state =
        lilv_state_new_from_world(facts->world, &map_feature, lilv_plugin_get_uri(facts->plugin));
    if (state) restore(it, state);
    lilv_state_free(state);
  }
  lilv_node_free(usual);
  return it;
}

void activate(instance *it) {
  lilv_instance_activate(it->instance);
  it->is_active = true;
  if (it->worker) it->has_thread = !pthread_create(&it->thread, NULL, work_on, it);
}

void end(instance *it) {
  if (it->has_thread) {
    pthread_mutex_lock(&it->lock);
    it->is_over = true;
    pthread_cond_signal(&it->woken);
    pthread_mutex_unlock(&it->lock);
    pthread_join(it->thread, NULL);
  }
  do_all_work(it);
  deliver(it);
  if (it->is_active) lilv_instance_deactivate(it->instance);
  lilv_instance_free(it->instance);
  for (uint32_t i = 0; i < it->facts->count; ++i)
    free(it->buffers[i]);
  free(it->buffers);
  free(it->controls);
  free(it);
}

// MARK: A run

static void write_events(instance *it, const port *port, void *buffer, bool has_note) {
  LV2_Atom_Forge forge;
  LV2_Atom_Forge_Frame sequence, object;
  lv2_atom_forge_init(&forge, &map_feature);
  lv2_atom_forge_set_buffer(&forge, buffer, EVENT_BYTES);
  lv2_atom_forge_sequence_head(&forge, &sequence, 0);
  if (has_note && port->takes_position) {
    lv2_atom_forge_frame_time(&forge, 0);
    lv2_atom_forge_object(&forge, &object, 0, map(LV2_TIME__Position));
    lv2_atom_forge_key(&forge, map(LV2_TIME__frame));
    lv2_atom_forge_long(&forge, it->frame);
    lv2_atom_forge_key(&forge, map(LV2_TIME__speed));
    lv2_atom_forge_float(&forge, 1);
    lv2_atom_forge_key(&forge, map(LV2_TIME__beatsPerMinute));
    lv2_atom_forge_float(&forge, 120);
    lv2_atom_forge_pop(&forge, &object);
  }
  if (has_note && port->takes_midi) {
    uint8_t key = (uint8_t)(36 + it->frame / 64 % 60);
    for (int i = 0; i < 2; ++i) {
      const uint8_t midi[] = {i == 0 ? 0x90 : 0x80, key, i == 0 ? 100 : 0};
      lv2_atom_forge_frame_time(&forge, 16 * i);
      lv2_atom_forge_atom(&forge, sizeof midi, map(LV2_MIDI__MidiEvent));
      lv2_atom_forge_write(&forge, midi, sizeof midi);
    }
  }
  lv2_atom_forge_pop(&forge, &sequence);
}

void run_block(instance *it, uint32_t frames, bool has_note) {
  const plugin_facts *facts = it->facts;
  for (uint32_t i = 0; i < facts->count; ++i) {
    const port *port = &facts->ports[i];
    if (port->kind == SOUND_IN) {
      for (uint32_t j = 0; j < frames; ++j) {
        it->noise = it->noise * 6364136223846793005u + 1442695040888963407u;
        ((float *)it->buffers[i])[j] = (float)(int32_t)(it->noise >> 32) / 4294967296.0f;
      }
    } else if (port->kind == EVENTS_IN) {
      write_events(it, port, it->buffers[i], has_note && frames > 16);
    } else if (port->kind == EVENTS_OUT) {
      *(LV2_Atom *)it->buffers[i] = (LV2_Atom){EVENT_BYTES - 8, map(LV2_ATOM__Chunk)};
    }
  }
  lilv_instance_run(it->instance, frames);
  deliver(it);
  if (it->worker && it->worker->end_run)
    it->worker->end_run(lilv_instance_get_handle(it->instance));
  for (uint32_t i = 0; i < facts->count; ++i) {
    if (facts->ports[i].kind != SOUND_OUT) continue;
    for (uint32_t j = 0; j < frames; ++j)
      if (!isfinite(((float *)it->buffers[i])[j])) it->wrote_no_number = true;
  }
  it->frame += frames;
}

bool tell_length(instance *it, int32_t longest) {
  LilvNode *uri = lilv_new_uri(it->facts->world, LV2_OPTIONS__interface);
  const LV2_Options_Interface *interface =
      lilv_plugin_has_extension_data(it->facts->plugin, uri)
          ? lilv_instance_get_extension_data(it->instance, LV2_OPTIONS__interface)
          : NULL;
  lilv_node_free(uri);
  if (!interface || !interface->set) {
    if (!it->facts->cares_for_length) set_lengths(it, longest);
    return !it->facts->cares_for_length;
  }
  set_lengths(it, longest);
  LV2_Options_Option told[4] = {it->options[0], it->options[1], it->options[2], {0}};
  return interface->set(lilv_instance_get_handle(it->instance), told) == LV2_OPTIONS_SUCCESS;
}

// MARK: State

static const void *control_value(const char *symbol, void *handle, uint32_t *bytes,
                                 uint32_t *type) {
  instance *it = handle;
  for (uint32_t i = 0; i < it->facts->count; ++i) {
    if (it->facts->ports[i].kind != CONTROL_IN || strcmp(it->facts->ports[i].symbol, symbol))
      continue;
    *bytes = 4;
    *type = map(LV2_ATOM__Float);
    return &it->controls[i];
  }
  return NULL;
}

static void set_control(const char *symbol, void *handle, const void *value, uint32_t bytes,
                        uint32_t type) {
  instance *it = handle;
  for (uint32_t i = 0; i < it->facts->count; ++i) {
    if (it->facts->ports[i].kind != CONTROL_IN || strcmp(it->facts->ports[i].symbol, symbol))
      continue;
    if (type == map(LV2_ATOM__Float) && bytes == 4) it->controls[i] = *(const float *)value;
    if (type == map(LV2_ATOM__Int) && bytes == 4) it->controls[i] = (float)*(const int32_t *)value;
    if (type == map(LV2_ATOM__Bool) && bytes == 4) it->controls[i] = (float)*(const int32_t *)value;
    if (type == map(LV2_ATOM__Double) && bytes == 8)
      it->controls[i] = (float)*(const double *)value;
  }
}

LilvState *state_of(instance *it, const char *folder) {
  return lilv_state_new_from_instance(it->facts->plugin, it->instance, &map_feature,
                                      it->facts->folder, folder, folder, folder, control_value, it,
                                      0, it->features_restored);
}

void restore(instance *it, const LilvState *state) {
  lilv_state_restore(state, it->instance, set_control, it, 0, it->features_restored);
}
