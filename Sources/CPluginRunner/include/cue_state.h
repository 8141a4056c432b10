// What a plugin's save function returns, which lilv does not pass on. Not for real-time threads.
#pragma once

#include <lv2/core/lv2.h>
#include <lv2/state/state.h>

// Returns a descriptor with which lilv saves the state of an instance of `real` on this thread. It
// is valid until the next call on the thread.
__attribute__((visibility("hidden"))) const LV2_Descriptor *
cue_state_watch(const LV2_Descriptor *real);

// Returns what the plugin's save function returned since `cue_state_watch` on this thread:
// LV2_STATE_SUCCESS also if it was not called.
__attribute__((visibility("hidden"))) LV2_State_Status cue_state_status(void);
