// LV2 plugins in a cycle: running an instance, its events, its controllers, its URIDs, and the
// memory that is shared with a plugin in another process. Nothing here is exported.
#pragma once

#include "cue_confinement.h"
#include "cue_controllers.h"
#include "cue_isolated.h"
#include "cue_plugin.h"
#include "cue_position.h"
#include "cue_ring.h"
#include "cue_state.h"
#include "cue_urids.h"
