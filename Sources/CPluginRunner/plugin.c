#include "plugin_internal.h"

#include <lv2/atom/atom.h>
#include <lv2/log/log.h>
#include <lv2/worker/worker.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(cue_plugin_log) == sizeof(LV2_Log_Log), "laid out as LV2_Log_Log");

// MARK: The plugin's own functions, which are trusted: see lv2:hardRTCapable

static void connect_port(cue_plugin *plugin, uint32_t port, const void *data) CUE_REALTIME {
  CUE_TRUST_BEGIN
  plugin->connect_port(plugin->handle, port, (void *)data);
  CUE_TRUST_END
}

static void run(cue_plugin *plugin, uint32_t frames) CUE_REALTIME {
  CUE_TRUST_BEGIN
  plugin->run(plugin->handle, frames);
  CUE_TRUST_END
}

// MARK: Events

/// Returns the sequence that event input `number` reads for the part of `block` from `offset` on.
static const void *part_input(cue_plugin *plugin, const cue_block *block, uint32_t number,
                              uint32_t offset, uint32_t frames) CUE_REALTIME {
  cue_event_port *port = &plugin->event_inputs[number];
  const LV2_Atom_Sequence *whole = block->event_inputs ? block->event_inputs[number] : NULL;
  int64_t now = block->frame + offset;
  bool tells_position = plugin->tells_position && (int32_t)number == plugin->position_port;
  bool staged = cue_plugin_has_staged(plugin, number, now + frames);
  if (whole && !staged && !tells_position && frames == block->frames) return whole;
  LV2_Atom_Sequence *part = port->buffer;
  clear(plugin, part);
  uint32_t staged_offset = 0;
  if (tells_position) append(plugin, part, port->buffer_bytes, 0, &plugin->position.object.atom);
  if (whole) {
    const char *end = end_of(whole);
    for (LV2_Atom_Event *event = first_event(whole); (event = checked(event, end));
         event = next_event(event)) {
      int64_t time = event->time.frames - offset;
      if (time < 0) continue;
      if (time >= frames) break;
      cue_plugin_append_staged(plugin, number, &staged_offset, now, time, part, port->buffer_bytes);
      append(plugin, part, port->buffer_bytes, time, &event->body);
    }
  }
  cue_plugin_append_staged(plugin, number, &staged_offset, now, frames, part, port->buffer_bytes);
  return part;
}

/// Returns the chunk that event output `number` writes for a part of `block`.
static void *part_output(cue_plugin *plugin, const cue_block *block, uint32_t number,
                         uint32_t frames) CUE_REALTIME {
  cue_event_port *port = &plugin->event_outputs[number];
  bool direct = block->event_outputs && frames == block->frames;
  LV2_Atom *chunk = direct ? block->event_outputs[number] : port->buffer;
  chunk->size = direct ? port->capacity : port->buffer_bytes - (uint32_t)sizeof *chunk;
  chunk->type = plugin->urid_chunk;
  return chunk;
}

static bool is_for_host(const cue_plugin *plugin, const LV2_Atom *atom) CUE_REALTIME {
  if (atom->type != plugin->urid_object || atom->size < sizeof(LV2_Atom_Object_Body)) return false;
  uint32_t kind = ((const LV2_Atom_Object *)atom)->body.otype;
  return kind == plugin->urid_patch_set || kind == plugin->urid_patch_put;
}

/// Handles the plugin's output on event output `number` for the part from `offset` on: copies it to
/// the block, and replies to the host.
static void finish_output(cue_plugin *plugin, const cue_block *block, uint32_t number,
                          uint32_t offset, uint32_t frames) CUE_REALTIME {
  cue_event_port *port = &plugin->event_outputs[number];
  bool direct = block->event_outputs && frames == block->frames;
  LV2_Atom_Sequence *part = direct ? block->event_outputs[number] : port->buffer;
  uint32_t room = direct ? port->capacity : port->buffer_bytes - (uint32_t)sizeof(LV2_Atom);
  // A plugin that does not write to its port has no events.
  if (part->atom.type != plugin->urid_sequence || part->atom.size < sizeof part->body ||
      part->atom.size > room)
    clear(plugin, part);
  LV2_Atom_Sequence *whole = block->event_outputs ? block->event_outputs[number] : NULL;
  const char *end = end_of(part);
  for (LV2_Atom_Event *event = first_event(part); (event = checked(event, end));
       event = next_event(event)) {
    if (whole && !direct)
      append(plugin, whole, port->capacity + (uint32_t)sizeof(LV2_Atom),
             event->time.frames + offset, &event->body);
    if (is_for_host(plugin, &event->body)) {
      cue_message_head head = {block->frame + offset + event->time.frames, number,
                               (uint32_t)sizeof(LV2_Atom) + event->body.size};
      if (cue_ring_put(plugin->replies, &head, sizeof head, &event->body, head.bytes))
        plugin->wants_signal = true;
      else
        lose(plugin);
    }
  }
}

/// Connects the event ports for the `frames` frames of `block` from `offset` on.
__attribute__((noinline)) static void connect_events(cue_plugin *plugin, const cue_block *block,
                                                     uint32_t offset,
                                                     uint32_t frames) CUE_REALTIME {
  // Messages wait for the first frame.
  if (plugin->event_input_count > 0 && frames > 0) cue_plugin_stage_messages(plugin);
  for (uint32_t i = 0; i < plugin->event_input_count; ++i) {
    const void *sequence = part_input(plugin, block, i, offset, frames);
    if (plugin->event_inputs[i].connected == sequence) continue;
    plugin->event_inputs[i].connected = sequence;
    connect_port(plugin, plugin->event_inputs[i].index, sequence);
  }
  for (uint32_t i = 0; i < plugin->event_output_count; ++i) {
    void *chunk = part_output(plugin, block, i, frames);
    if (plugin->event_outputs[i].connected == chunk) continue;
    plugin->event_outputs[i].connected = chunk;
    connect_port(plugin, plugin->event_outputs[i].index, chunk);
  }
}

__attribute__((noinline)) static void finish_outputs(cue_plugin *plugin, const cue_block *block,
                                                     uint32_t offset,
                                                     uint32_t frames) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->event_output_count; ++i)
    finish_output(plugin, block, i, offset, frames);
}

// MARK: The worker

static void deliver_from(cue_plugin *plugin, cue_ring *ring) CUE_REALTIME {
  uint32_t bytes = 0;
  while (cue_ring_readable(ring) >= sizeof bytes) {
    cue_ring_take(ring, &bytes, sizeof bytes);
    cue_ring_take(ring, plugin->response, bytes);
    CUE_TRUST_BEGIN // worker.h: called in the cycle; the plugin's own function, like its run().
        if (plugin->work_response) plugin->work_response(plugin->handle, bytes, plugin->response);
    CUE_TRUST_END
  }
}

__attribute__((noinline)) static void deliver(cue_plugin *plugin) CUE_REALTIME {
  deliver_from(plugin, plugin->restored);
  deliver_from(plugin, plugin->responses);
  CUE_TRUST_BEGIN // worker.h: called in the cycle; the plugin's own function, like its run().
      if (plugin->end_run) plugin->end_run(plugin->handle);
  CUE_TRUST_END
}

uint32_t cue_plugin_schedule(void *plugin_, uint32_t bytes, const void *body) CUE_REALTIME {
  cue_plugin *plugin = plugin_;
  if (!cue_ring_put(plugin->requests, &bytes, sizeof bytes, body, bytes)) {
    lose(plugin);
    return LV2_WORKER_ERR_NO_SPACE;
  }
  CUE_TRUST_BEGIN // Waiting is allowed in a synchronous run.
      if (plugin->is_synchronous) plugin->work_now(plugin->context);
  else plugin->wants_signal = true;
  CUE_TRUST_END
  return LV2_WORKER_SUCCESS;
}

static uint32_t respond(cue_ring *ring, uint32_t bytes, const void *body) {
  return cue_ring_put(ring, &bytes, sizeof bytes, body, bytes) ? LV2_WORKER_SUCCESS
                                                               : LV2_WORKER_ERR_NO_SPACE;
}

uint32_t cue_plugin_respond(void *plugin_, uint32_t bytes, const void *body) {
  cue_plugin *plugin = plugin_;
  return respond(plugin->responses, bytes, body);
}

uint32_t cue_plugin_respond_restored(void *plugin_, uint32_t bytes, const void *body) {
  cue_plugin *plugin = plugin_;
  return respond(plugin->restored, bytes, body);
}

// MARK: The log

static int vprint(void *plugin_, uint32_t type, const char *format, va_list arguments) {
  cue_plugin *plugin = plugin_;
  char text[512];
  int length = vsnprintf(text, sizeof text, format, arguments);
  if (length < 0) return length;
  if (__atomic_load_n(&plugin->runner, __ATOMIC_RELAXED) != cue_rt_thread()) {
    plugin->log_now(plugin->context, type, text);
    return length;
  }
  cue_log_head head = {type, length < (int)sizeof text ? (uint32_t)length : sizeof text - 1};
  if (cue_ring_put(plugin->log, &head, sizeof head, text, head.bytes))
    plugin->wants_signal = true;
  else
    lose(plugin);
  return length;
}

static int print(void *plugin, uint32_t type, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vprint(plugin, type, format, arguments);
  va_end(arguments);
  return length;
}

void cue_plugin_log_initialize(cue_plugin_log *log, void *plugin) {
  log->plugin = plugin;
  log->print = print;
  log->vprint = vprint;
}

// MARK: A run

/// Runs the plugin on the `frames` frames of `block` from `offset` on.
static inline __attribute__((always_inline)) void run_part(cue_plugin *plugin,
                                                           const cue_block *block, uint32_t offset,
                                                           uint32_t frames) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->input_count; ++i) {
    const float *plane = block->inputs[i] + offset;
    if (plugin->connected_inputs[i] == plane) continue;
    plugin->connected_inputs[i] = plane;
    connect_port(plugin, plugin->inputs[i], plane);
  }
  for (uint32_t i = 0; i < plugin->output_count; ++i) {
    const float *plane = block->outputs[i] + offset;
    if (plugin->connected_outputs[i] == plane) continue;
    plugin->connected_outputs[i] = plane;
    connect_port(plugin, plugin->outputs[i], plane);
  }
  bool has_events = plugin->event_input_count + plugin->event_output_count > 0;
  if (has_events) connect_events(plugin, block, offset, frames);
  run(plugin, frames);
  plugin->tells_position = false;
  if (plugin->staged_used > 0 && frames > 0)
    cue_plugin_drop_staged(plugin, block->frame + offset + frames);
  if (has_events) finish_outputs(plugin, block, offset, frames);
  if (plugin->work_response || plugin->end_run) deliver(plugin);
  if (plugin->has_triggers && frames > 0) cue_plugin_reset_triggers(plugin);
}

static void be_silent(cue_plugin *plugin, const cue_block *block) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->output_count; ++i)
    memset(block->outputs[i], 0, block->frames * sizeof(float));
  for (uint32_t i = 0; i < plugin->event_output_count; ++i)
    if (block->event_outputs) clear(plugin, block->event_outputs[i]);
}

/// Sends the transport state with the first part of a block, if the plugin does not know it.
static void tell_position(cue_plugin *plugin, const cue_block *block) CUE_REALTIME {
  // A node that was left out for a while does not know it either.
  bool goes_on = block->frame == plugin->next_frame;
  plugin->next_frame = block->frame + block->frames;
  if (!block->transport || (goes_on && block->transport->number == plugin->told_transport)) return;
  plugin->told_transport = block->transport->number;
  plugin->tells_position = true;
  cue_position_set(&plugin->position, block->transport);
}

/// Shows what the last run wrote to the control outputs, and sets `attention` if the latency has
/// changed.
static void show_readouts(cue_plugin *plugin, bool *attention) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->readout_count; ++i) {
    cue_plugin_readout *readout = &plugin->readouts[i];
    uint32_t bits;
    memcpy(&bits, &readout->value, sizeof bits);
    if (plugin->latency_readout == (int32_t)i && bits != readout->shown && attention)
      *attention = true;
    __atomic_store_n(&readout->shown, bits, __ATOMIC_RELAXED);
  }
}

void cue_plugin_run(void *plugin_, const cue_block *block) CUE_REALTIME {
  cue_plugin *plugin = plugin_;
  if (!plugin->run) {
    be_silent(plugin, block);
    return;
  }
  __atomic_store_n(&plugin->runner, cue_rt_thread(), __ATOMIC_RELAXED);
  plugin->is_synchronous = plugin->is_offline || block->is_freewheeling;
  CUE_TRUST_BEGIN // Waiting is allowed in a synchronous run, and earlier requests come first.
      if (plugin->is_synchronous && cue_ring_readable(plugin->requests) > 0)
          plugin->work_now(plugin->context);
  CUE_TRUST_END
  if (plugin->freewheeling_control >= 0)
    plugin->controls[plugin->freewheeling_control].value = block->is_freewheeling ? 1 : 0;
  for (uint32_t i = 0; i < plugin->event_output_count; ++i) {
    if (!block->event_outputs) break;
    LV2_Atom_Sequence *whole = block->event_outputs[i];
    plugin->event_outputs[i].capacity = whole->atom.size;
  }
  if (cue_ring_readable(plugin->changes) > 0) cue_plugin_take_changes(plugin);
  if (block->controllers) cue_plugin_follow(plugin, block);
  if (__atomic_load_n(&plugin->offered, __ATOMIC_RELAXED)) cue_plugin_hear(plugin, block);
  if (plugin->position_port >= 0) tell_position(plugin, block);
  uint32_t offset = 0;
  bool is_split = false;
  while (offset < block->frames) {
    int64_t now = block->frame + offset;
    uint32_t frames = block->frames - offset;
    if (plugin->pending_count > 0)
      cue_plugin_begin_changes(plugin, plugin->has_fixed_blocks ? now + frames - 1 : now);
    if (plugin->pending_count > 0 && plugin->pending[0].frame - now < frames)
      frames = (uint32_t)(plugin->pending[0].frame - now);
    if (plugin->ramping_count > 0) frames = cue_plugin_step_ramps(plugin, now, frames);
    if (frames < block->frames && !is_split) {
      is_split = true;
      for (uint32_t i = 0; i < plugin->event_output_count; ++i)
        if (block->event_outputs) clear(plugin, block->event_outputs[i]);
    }
    run_part(plugin, block, offset, frames);
    offset += frames;
  }
  show_readouts(plugin, block->attention);
  __atomic_store_n(&plugin->runner, 0, __ATOMIC_RELAXED);
  if (plugin->wants_signal) {
    plugin->wants_signal = false;
    if (plugin->signal) cue_rt_signal_post(plugin->signal);
  }
}

void cue_plugin_preroll(cue_plugin *plugin, const cue_block *block) {
  cue_plugin_settle(plugin);
  if (!plugin->run || plugin->has_fixed_blocks) return;
  run_part(plugin, block, 0, 0);
  show_readouts(plugin, NULL);
}

void cue_plugin_settle(cue_plugin *plugin) {
  do {
    cue_plugin_take_changes(plugin);
    cue_plugin_begin_changes(plugin, CUE_NOW);
  } while (cue_ring_readable(plugin->changes) > 0 &&
           plugin->pending_count < plugin->pending_capacity);
  deliver_from(plugin, plugin->restored);
  deliver_from(plugin, plugin->responses);
}
