// Host time: CLOCK_MONOTONIC in nanoseconds, the same clock as AudioTimeStamp.mHostTime.
#ifndef CUEJACK_MACH_TIME_H
#define CUEJACK_MACH_TIME_H

// The C library's headers must not see it if a program defines __APPLE__.
#pragma push_macro("__APPLE__")
#undef __APPLE__
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#pragma pop_macro("__APPLE__")

#if !defined(CLOCK_MONOTONIC_COARSE)
#error                                                                                             \
    "Use the flags of the pkg-config file (pkg-config --cflags AudioToolbox): -D_GNU_SOURCE is missing."
#include "cuejack-needs-the-flags-of-pkg-config"
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

/// Returns the time of a clock of the system in nanoseconds.
static inline uint64_t cue_clock_nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Returns the present host time in nanoseconds. Any thread, real time included.
static inline uint64_t mach_absolute_time(void) {
  return cue_clock_nanoseconds(CLOCK_MONOTONIC);
}

/// Returns the host time of the system's last tick: faster to read, and a few milliseconds old. Any
/// thread, real time included.
static inline uint64_t mach_approximate_time(void) {
  return cue_clock_nanoseconds(CLOCK_MONOTONIC_COARSE);
}

/// Returns a time in nanoseconds that also goes on while the system sleeps. Any thread, real time
/// included.
static inline uint64_t mach_continuous_time(void) {
  return cue_clock_nanoseconds(CLOCK_BOOTTIME);
}

/// Waits until a host time, whatever signals arrive. Returns KERN_SUCCESS. Any thread that is not
/// real time.
static inline kern_return_t mach_wait_until(uint64_t deadline) {
  struct timespec end;
  end.tv_sec = (time_t)(deadline / 1000000000u);
  end.tv_nsec = (long)(deadline % 1000000000u);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
  }
  return KERN_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#endif
