// Output units: audio units that a device calls in its cycles.
#ifndef CUEJACK_AUDIOOUTPUTUNIT_H
#define CUEJACK_AUDIOOUTPUTUNIT_H

#include "AUComponent.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Starts an output unit that is initialised: the process's client on the server gets ports and
/// connects them, and each cycle calls the unit. Has no effect if it runs.
extern OSStatus AudioOutputUnitStart(AudioUnit ci);

/// Stops an output unit, however often it was started. When this returns, none of its callbacks
/// runs, unless one of them is the caller.
extern OSStatus AudioOutputUnitStop(AudioUnit ci);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
