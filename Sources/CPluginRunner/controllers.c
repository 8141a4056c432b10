#include "plugin_internal.h"

#include <lv2/atom/atom.h>
#include <lv2/patch/patch.h>
#include <string.h>

void cue_set_message_initialize(cue_set_message *message, void *urids, const char *parameter,
                                const char *type) {
  memset(message, 0, sizeof *message);
  message->object.atom.size = (uint32_t)(sizeof *message - sizeof(LV2_Atom));
  message->object.atom.type = cue_urids_map(urids, LV2_ATOM__Object);
  message->object.body.otype = cue_urids_map(urids, LV2_PATCH__Set);
  message->property.key = cue_urids_map(urids, LV2_PATCH__property);
  message->property.type = cue_urids_map(urids, LV2_ATOM__URID);
  message->property.bytes = 4;
  message->property.value.urid = cue_urids_map(urids, parameter);
  bool is_long = strcmp(type, LV2_ATOM__Long) == 0 || strcmp(type, LV2_ATOM__Double) == 0;
  message->value.key = cue_urids_map(urids, LV2_PATCH__value);
  message->value.type = cue_urids_map(urids, type);
  message->value.bytes = is_long ? 8 : 4;
}

/// Sets the message's value, converted to the value's type.
static void set_value(cue_plugin *plugin, cue_set_message *message, float value) CUE_REALTIME {
  cue_property *to = &message->value;
  int64_t whole = cue_rt_held((double)value);
  if (to->type == plugin->urid_float)
    to->value.float_value = value;
  else if (to->type == plugin->urid_double)
    to->value.double_value = value;
  else if (to->bytes == 8)
    to->value.long_value = whole;
  else
    to->value.int_value = whole > INT32_MAX   ? INT32_MAX
                          : whole < INT32_MIN ? INT32_MIN
                                              : (int32_t)whole;
}

/// Sets a binding's control or parameter to the value for `data`, at device frame `frame`.
static void move(cue_plugin *plugin, cue_binding *binding, uint8_t data,
                 int64_t frame) CUE_REALTIME {
  if (binding->is_trigger && data < 64) return;
  float value = binding->values[data];
  if (binding->is_parameter) {
    set_value(plugin, &binding->message, value);
    cue_message_head head = {frame, binding->port, sizeof binding->message};
    if (!cue_plugin_stage(plugin, &head, &binding->message.object.atom)) return;
  } else {
    cue_control_change change = {frame, binding->control, value, binding->ramp};
    if (!cue_plugin_await(plugin, &change)) return;
  }
  cue_plugin_note_move(binding->moved, value);
}

void cue_plugin_follow(cue_plugin *plugin, const cue_block *block) CUE_REALTIME {
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(block->controllers, offset))) {
    offset = cue_rt_event_after(event, offset);
    if (event->body.type != plugin->urid_move || event->body.size != sizeof(cue_control_move))
      continue;
    cue_control_move move;
    memcpy(&move, event + 1, sizeof move);
    if (move.control < plugin->control_count)
      cue_plugin_move(plugin, move.control, move.value, block->frame + event->time.frames,
                      move.ramp);
  }
}

/// Assigns a controller to the entry that is learning.
static void learn(cue_bindings *bindings, uint8_t channel, uint8_t number) CUE_REALTIME {
  bindings->entries[bindings->learning].channel = channel;
  bindings->entries[bindings->learning].number = number;
  if (bindings->replaced >= 0) bindings->entries[bindings->replaced].number = CUE_NO_CONTROLLER;
  bindings->learning = -1;
}

void cue_plugin_hear(cue_plugin *plugin, const cue_block *block) CUE_REALTIME {
  cue_bindings *bindings = __atomic_load_n(&plugin->offered, __ATOMIC_ACQUIRE);
  if (bindings != plugin->bindings) {
    __atomic_store_n(&plugin->bindings, bindings, __ATOMIC_RELEASE);
    // The host wrote these bindings before it knew of a controller learned meanwhile.
    uint64_t learned = plugin->learned;
    if (bindings->learning >= 0 && learned >> 32 == bindings->generation)
      learn(bindings, (uint8_t)(learned >> 8), (uint8_t)learned);
  }
  if (!block->controllers) return;
  uint32_t offset = cue_rt_first_event();
  const LV2_Atom_Event *event;
  while ((event = cue_rt_event_at(block->controllers, offset))) {
    offset = cue_rt_event_after(event, offset);
    const uint8_t *bytes = (const uint8_t *)(event + 1);
    // Numbers from 120 on are channel mode messages, not controllers.
    if (event->body.type != plugin->urid_midi || event->body.size != 3 ||
        (bytes[0] & 0xf0) != 0xb0 || bytes[1] >= 120 || bytes[2] > 127)
      continue;
    uint8_t channel = bytes[0] & 0x0f;
    int64_t time = event->time.frames < 0 ? 0 : event->time.frames;
    if (time >= block->frames) time = block->frames - 1;
    bool is_passed = bytes[1] == bindings->passed_number && channel == bindings->passed_channel;
    if (bindings->learning >= 0 && !is_passed) {
      learn(bindings, channel, bytes[1]);
      uint64_t learned = (uint64_t)bindings->generation << 32 | (uint32_t)channel << 8 | bytes[1];
      __atomic_store_n(&plugin->learned, learned, __ATOMIC_RELEASE);
      plugin->wants_signal = true;
    }
    for (uint32_t i = 0; i < bindings->count; ++i) {
      cue_binding *binding = &bindings->entries[i];
      if (binding->number == bytes[1] &&
          (binding->channel == CUE_ANY_CHANNEL || binding->channel == channel))
        move(plugin, binding, bytes[2], block->frame + time);
    }
  }
}
