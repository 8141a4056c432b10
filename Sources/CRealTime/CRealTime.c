// Compiles the header by itself, so that clang checks the attributes in it.
#include "CRealTime.h"

cue_unit_gate cue_unit_gates[cue_unit_gate_count];
_Thread_local const cue_transport *cue_thread_transport;
