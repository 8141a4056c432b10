// The hooks that hooks.S defines.
#pragma once

#include "CCallbackChecks.h"
#include "CRealTime.h"

#include <stdlib.h>

typedef struct cue_hook {
  const char *name;
  uintptr_t hook;
} cue_hook;

extern CUE_HIDDEN const cue_hook cue_hooks[];
extern CUE_HIDDEN const uint32_t cue_hook_count;

_Static_assert(offsetof(cue_check, calls) == 0, "hooks.S counts at the beginning of a cue_check");
_Static_assert(cue_checked_function_limit == 80, "hooks.S has this number, too");
