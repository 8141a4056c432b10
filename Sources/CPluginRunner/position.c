#include "CPluginRunner.h"

#include <lv2/time/time.h>

_Static_assert(sizeof(cue_property) == 24, "laid out as LV2_Atom_Property_Body with a value");

static void prepare(cue_property *property, void *urids, const char *key, const char *type,
                    uint32_t bytes) {
  property->key = cue_urids_map(urids, key);
  property->context = 0;
  property->type = cue_urids_map(urids, type);
  property->bytes = bytes;
  property->value.long_value = 0;
}

void cue_position_initialize(cue_position *position, void *urids) {
  position->object.atom.type = cue_urids_map(urids, LV2_ATOM__Object);
  position->object.body.id = 0;
  position->object.body.otype = cue_urids_map(urids, LV2_TIME__Position);
  prepare(&position->frame, urids, LV2_TIME__frame, LV2_ATOM__Long, 8);
  prepare(&position->speed, urids, LV2_TIME__speed, LV2_ATOM__Float, 4);
  prepare(&position->bar, urids, LV2_TIME__bar, LV2_ATOM__Long, 8);
  prepare(&position->bar_beat, urids, LV2_TIME__barBeat, LV2_ATOM__Float, 4);
  prepare(&position->beat_unit, urids, LV2_TIME__beatUnit, LV2_ATOM__Int, 4);
  prepare(&position->beats_per_bar, urids, LV2_TIME__beatsPerBar, LV2_ATOM__Float, 4);
  prepare(&position->beats_per_minute, urids, LV2_TIME__beatsPerMinute, LV2_ATOM__Float, 4);
}

void cue_position_set(cue_position *position, const cue_transport *now) CUE_REALTIME {
  position->frame.value.long_value = now->frame;
  position->speed.value.float_value = now->is_rolling ? 1 : 0;
  const char *end = (const char *)&position->bar;
  if (now->has_beats) {
    position->bar.value.long_value = now->bar;
    position->bar_beat.value.float_value = (float)now->bar_beat;
    position->beat_unit.value.int_value = now->beat_unit;
    position->beats_per_bar.value.float_value = now->beats_per_bar;
    position->beats_per_minute.value.float_value = (float)now->beats_per_minute;
    end = (const char *)(position + 1);
  }
  position->object.atom.size =
      (uint32_t)(end - (const char *)position) - (uint32_t)sizeof(LV2_Atom);
}
