// The host's clock: CLOCK_MONOTONIC, in nanoseconds. Every function may be called on any thread, a
// real-time one included.
#ifndef CUEJACK_HOSTTIME_H
#define CUEJACK_HOSTTIME_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// The host time now.
extern UInt64 AudioGetCurrentHostTime(void);

/// Ticks of host time in a second.
extern Float64 AudioGetHostClockFrequency(void);

/// The least number of ticks by which two readings of host time that differ do so.
extern UInt32 AudioGetHostClockMinimumTimeDelta(void);

/// Nanoseconds that a host time stands for.
extern UInt64 AudioConvertHostTimeToNanos(UInt64 inHostTime);

/// The host time that nanoseconds stand for.
extern UInt64 AudioConvertNanosToHostTime(UInt64 inNanos);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
