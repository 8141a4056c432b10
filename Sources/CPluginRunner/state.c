#include "cue_state.h"

#include <string.h>

static _Thread_local struct {
  LV2_Descriptor descriptor;
  const LV2_Descriptor *real;
  LV2_State_Interface interface;
  const LV2_State_Interface *real_interface;
  LV2_State_Status status;
} watch;

static LV2_State_Status save(LV2_Handle instance, LV2_State_Store_Function store,
                             LV2_State_Handle handle, uint32_t flags,
                             const LV2_Feature *const *features) {
  watch.status = watch.real_interface->save(instance, store, handle, flags, features);
  return watch.status;
}

static const void *extension_data(const char *uri) {
  const void *data = watch.real->extension_data ? watch.real->extension_data(uri) : NULL;
  if (!data || strcmp(uri, LV2_STATE__interface) != 0) return data;
  watch.real_interface = data;
  watch.interface = *watch.real_interface;
  if (watch.interface.save) watch.interface.save = save;
  return &watch.interface;
}

const LV2_Descriptor *cue_state_watch(const LV2_Descriptor *real) {
  watch.real = real;
  watch.descriptor = *real;
  watch.descriptor.extension_data = extension_data;
  watch.status = LV2_STATE_SUCCESS;
  return &watch.descriptor;
}

LV2_State_Status cue_state_status(void) {
  return watch.status;
}
