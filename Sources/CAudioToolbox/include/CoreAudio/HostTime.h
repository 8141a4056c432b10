// Host clock: CLOCK_MONOTONIC, in nanoseconds. Any thread may call these functions, real-time
// threads included.
#ifndef CUEJACK_HOSTTIME_H
#define CUEJACK_HOSTTIME_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Returns the present host time.
extern UInt64 AudioGetCurrentHostTime(void);

/// Returns the ticks of host time per second.
extern Float64 AudioGetHostClockFrequency(void);

/// Returns the smallest difference, in ticks, between two different readings of host time.
extern UInt32 AudioGetHostClockMinimumTimeDelta(void);

/// Converts a host time to nanoseconds.
extern UInt64 AudioConvertHostTimeToNanos(UInt64 inHostTime);

/// Converts nanoseconds to a host time.
extern UInt64 AudioConvertNanosToHostTime(UInt64 inNanos);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
