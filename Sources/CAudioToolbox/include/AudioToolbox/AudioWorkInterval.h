// Workgroups of a program's own.
#ifndef CUEJACK_AUDIOWORKINTERVAL_H
#define CUEJACK_AUDIOWORKINTERVAL_H

#include "../os/workgroup.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// The clock of an interval.
typedef CF_ENUM(UInt32, os_clockid_t) {
  /// Host time.
  OS_CLOCK_MACH_ABSOLUTE_TIME = 32
};

/// Creates a workgroup for real-time threads of a program that work in intervals. The caller frees it with os_release.
extern os_workgroup_interval_t AudioWorkIntervalCreate(const char *name, os_clockid_t clock,
                                                       os_workgroup_attr_t _Nullable attr);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
