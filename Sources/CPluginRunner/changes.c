#include "plugin_internal.h"

#include <string.h>

/// Queues a change until its frame. Precondition: there is room.
static void await_change(cue_plugin *plugin, const cue_control_change *change) CUE_REALTIME {
  // Changes for the same frame keep their order.
  uint32_t i = plugin->pending_count++;
  for (; i > 0 && plugin->pending[i - 1].frame > change->frame; --i)
    plugin->pending[i] = plugin->pending[i - 1];
  plugin->pending[i] = *change;
}

void cue_plugin_take_changes(cue_plugin *plugin) CUE_REALTIME {
  while (plugin->pending_count < plugin->pending_capacity &&
         cue_ring_readable(plugin->changes) >= sizeof(cue_control_change)) {
    cue_control_change change;
    cue_ring_take(plugin->changes, &change, sizeof change);
    await_change(plugin, &change);
  }
}

bool cue_plugin_await(cue_plugin *plugin, const cue_control_change *change) CUE_REALTIME {
  if (plugin->pending_count == plugin->pending_capacity) {
    lose(plugin);
    return false;
  }
  await_change(plugin, change);
  return true;
}

void cue_plugin_note_move(uint64_t *moved, float value) CUE_REALTIME {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t count = (__atomic_load_n(moved, __ATOMIC_RELAXED) >> 32) + 1;
  __atomic_store_n(moved, count << 32 | bits, __ATOMIC_RELEASE);
}

bool cue_plugin_move(void *plugin_, uint32_t control, float value, int64_t frame,
                     uint32_t ramp) CUE_REALTIME {
  cue_plugin *plugin = plugin_;
  cue_control_change change = {frame, control, value, ramp};
  if (!cue_plugin_await(plugin, &change)) return false;
  cue_plugin_note_move(&plugin->controls[control].moved, value);
  return true;
}

void cue_plugin_begin_changes(cue_plugin *plugin, int64_t now) CUE_REALTIME {
  uint32_t count = 0;
  while (count < plugin->pending_count && plugin->pending[count].frame <= now) {
    const cue_control_change *change = &plugin->pending[count++];
    cue_plugin_control *control = &plugin->controls[change->control];
    if (control->is_ramping) --plugin->ramping_count;
    control->is_ramping = change->ramp > 0;
    if (control->is_ramping) {
      ++plugin->ramping_count;
      control->from = control->value;
      control->to = change->value;
      control->start = now;
      control->length = change->ramp;
    } else {
      control->value = change->value;
    }
  }
  if (count > 0) {
    plugin->pending_count -= count;
    memmove(plugin->pending, plugin->pending + count,
            plugin->pending_count * sizeof *plugin->pending);
  }
}

uint32_t cue_plugin_step_ramps(cue_plugin *plugin, int64_t now, uint32_t frames) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->control_count; ++i) {
    cue_plugin_control *control = &plugin->controls[i];
    if (!control->is_ramping) continue;
    uint64_t elapsed = (uint64_t)now - (uint64_t)control->start;
    if (plugin->has_fixed_blocks) elapsed = (uint64_t)now + frames - 1 - (uint64_t)control->start;
    uint64_t end = (elapsed / CUE_RAMP_STEP + 1) * CUE_RAMP_STEP;
    if ((int64_t)elapsed < 0 || end >= control->length) {
      control->value = control->to;
      control->is_ramping = false;
      --plugin->ramping_count;
    } else {
      double part = (double)end / control->length;
      control->value = (float)(control->from + ((double)control->to - control->from) * part);
      if (!plugin->has_fixed_blocks && end - elapsed < frames) frames = (uint32_t)(end - elapsed);
    }
  }
  return frames;
}

void cue_plugin_reset_triggers(cue_plugin *plugin) CUE_REALTIME {
  for (uint32_t i = 0; i < plugin->control_count; ++i)
    if (plugin->controls[i].is_trigger) plugin->controls[i].value = plugin->controls[i].usual;
}
