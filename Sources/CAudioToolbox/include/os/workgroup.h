// Groups of threads that work for one cycle. A thread that joins the workgroup of a device
// (kAudioDevicePropertyIOThreadOSWorkgroup) gets the scheduling of the thread that calls the
// device's functions.
//
// Any thread may call these functions, but not from a cycle.
#ifndef CUEJACK_WORKGROUP_H
#define CUEJACK_WORKGROUP_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A workgroup. os_retain and os_release keep and free it.
typedef struct os_workgroup_s *os_workgroup_t;
/// A workgroup whose threads work in intervals that the program tells, or side by side.
typedef os_workgroup_t os_workgroup_interval_t;
typedef os_workgroup_t os_workgroup_parallel_t;

/// Attributes of a new workgroup. There are none here.
struct os_workgroup_attr_opaque_s {
  uint32_t sig;
  char opaque[60];
};
typedef struct os_workgroup_attr_opaque_s os_workgroup_attr_s;
typedef struct os_workgroup_attr_opaque_s *os_workgroup_attr_t;
#define OS_WORKGROUP_ATTR_INITIALIZER_DEFAULT                                                      \
  {                                                                                                \
    0, {                                                                                           \
      0                                                                                            \
    }                                                                                              \
  }

/// The record of a join: os_workgroup_join writes it, os_workgroup_leave reads it.
struct os_workgroup_join_token_opaque_s {
  uint32_t sig;
  char opaque[36];
};
typedef struct os_workgroup_join_token_opaque_s os_workgroup_join_token_s;
typedef struct os_workgroup_join_token_opaque_s *os_workgroup_join_token_t;

struct os_workgroup_interval_data_opaque_s {
  uint32_t sig;
  char opaque[56];
};
typedef struct os_workgroup_interval_data_opaque_s os_workgroup_interval_data_s;
typedef struct os_workgroup_interval_data_opaque_s *os_workgroup_interval_data_t;
#define OS_WORKGROUP_INTERVAL_DATA_INITIALIZER                                                     \
  {                                                                                                \
    0, {                                                                                           \
      0                                                                                            \
    }                                                                                              \
  }

struct os_workgroup_max_parallel_threads_attr_s {
  uint32_t sig;
  char opaque[60];
};
typedef struct os_workgroup_max_parallel_threads_attr_s os_workgroup_mpt_attr_s;
typedef struct os_workgroup_max_parallel_threads_attr_s *os_workgroup_mpt_attr_t;

/// Keeps a workgroup or an object of libdispatch.
extern void *os_retain(void *object);
/// Frees a workgroup or an object of libdispatch that was kept or made.
extern void os_release(void *object);

/// The calling thread joins a workgroup. It gets the real-time priority of the device's cycles; if
/// these have none, or for a workgroup that the program made, its scheduling stays.
///
/// - token_out: receives what os_workgroup_leave needs.
/// - Returns: 0; EALREADY if the thread has joined one; EINVAL if the workgroup is cancelled or not
/// valid, or the system
///   does not permit the priority.
extern int os_workgroup_join(os_workgroup_t wg, os_workgroup_join_token_t token_out);

/// The calling thread leaves the workgroup that it joined last, and gets the scheduling back that
/// it had before.
extern void os_workgroup_leave(os_workgroup_t wg, os_workgroup_join_token_t token);

/// Cancels a workgroup: no further thread can join it. Those that have joined go on.
extern void os_workgroup_cancel(os_workgroup_t wg);
extern bool os_workgroup_testcancel(os_workgroup_t wg);

/// Returns the number of processors that the process may use.
extern int os_workgroup_max_parallel_threads(os_workgroup_t wg,
                                             os_workgroup_mpt_attr_t _Nullable attr);

/// Creates a workgroup for threads that work side by side.
extern os_workgroup_parallel_t _Nullable os_workgroup_parallel_create(
    const char *_Nullable name, os_workgroup_attr_t _Nullable attr);

/// An interval of work begins, is given another deadline, and ends; times are host times. Linux
/// schedules no thread by such deadlines: these functions check the order of the calls only.
///
/// - Returns: 0; EINVAL if the deadline does not lie after the start or no interval has begun;
/// EBUSY if one has; EPERM
///   if the calling thread has not joined the workgroup.
extern int os_workgroup_interval_start(os_workgroup_interval_t wg, uint64_t start,
                                       uint64_t deadline,
                                       os_workgroup_interval_data_t _Nullable data);
extern int os_workgroup_interval_update(os_workgroup_interval_t wg, uint64_t deadline,
                                        os_workgroup_interval_data_t _Nullable data);
extern int os_workgroup_interval_finish(os_workgroup_interval_t wg,
                                        os_workgroup_interval_data_t _Nullable data);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
