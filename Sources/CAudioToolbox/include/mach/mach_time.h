// Host time: CLOCK_MONOTONIC in nanoseconds, the same clock as AudioTimeStamp.mHostTime.
#ifndef CUEJACK_MACH_TIME_H
#define CUEJACK_MACH_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if !defined(CLOCK_MONOTONIC)
#error "Use the flags of the pkg-config file: -D_GNU_SOURCE is missing."
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int kern_return_t;
#ifndef KERN_SUCCESS
#define KERN_SUCCESS 0
#endif
#ifndef KERN_INVALID_ARGUMENT
#define KERN_INVALID_ARGUMENT 4
#endif

/// Ratio of host time to nanoseconds: host time * numer / denom.
struct mach_timebase_info {
  uint32_t numer;
  uint32_t denom;
};
typedef struct mach_timebase_info *mach_timebase_info_t;
typedef struct mach_timebase_info mach_timebase_info_data_t;

/// Sets the ratio to 1/1. KERN_INVALID_ARGUMENT if `info` is NULL. Any thread.
static inline kern_return_t mach_timebase_info(mach_timebase_info_t info) {
  if (info == NULL) return KERN_INVALID_ARGUMENT;
  info->numer = 1;
  info->denom = 1;
  return KERN_SUCCESS;
}

/// Returns the present host time in nanoseconds. Any thread, real time included.
static inline uint64_t mach_absolute_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#ifdef __cplusplus
}
#endif

#endif
