// Checks of the app's callbacks in a cycle: which functions each one called that a cycle must not
// call, and how long it took.
#pragma once

#pragma clang assume_nonnull begin

enum {
  /// Most functions that the checks know, and most callbacks that they keep records of.
  cue_checked_function_limit = 80,
  cue_check_record_count = 256
};

/// A call of a callback that is checked, in the memory of its caller.
typedef struct cue_check {
  /// Calls of each function that a cycle must not call. CCallbackChecks counts them; it relies on
  /// this field being the first.
  uint32_t calls[cue_checked_function_limit];
  /// The callback's address; NULL if this call is not checked.
  const void *_Nullable callback;
  /// The check of the callback that led to this call; NULL if there is none.
  struct cue_check *_Nullable outer;
  /// Host time of the beginning, and nanoseconds that callbacks inside this one took.
  uint64_t start, nested;
} cue_check;

/// The counts of a callback since the previous report. Times are in microseconds.
typedef struct cue_check_report {
  uintptr_t callback;
  uint32_t calls[cue_checked_function_limit];
  /// Calls that took longer than they may, the time of the longest one, and the time that it had.
  uint32_t late, longest, allowed;
} cue_check_report;

/// Set while callbacks are checked. It never changes back.
extern CUE_HIDDEN bool cue_checks_callbacks;

/// The check of the callback that the thread runs; NULL outside of one.
extern CUE_HIDDEN _Thread_local cue_check *_Nullable cue_thread_check
    __attribute__((tls_model("initial-exec")));

/// Begins the checks. Call it once, on any thread.
void cue_start_checks(void) CUE_HIDDEN;

/// Leaves out of the checks what this thread does, until `cue_resume_check` gets the result.
cue_check *_Nullable cue_suspend_check(void) CUE_HIDDEN;
void cue_resume_check(cue_check *_Nullable check) CUE_HIDDEN;

/// Moves the counts of record `index` to `report`. Any thread that is not real time.
///
/// Returns false if there are none.
bool cue_take_report(uint32_t index, cue_check_report *report) CUE_HIDDEN;

// The inline functions below call these three while callbacks are checked.
void cue_rt_open_check(cue_check *check, const void *callback) CUE_REALTIME CUE_HIDDEN;
void cue_rt_close_check(cue_check *check) CUE_REALTIME CUE_HIDDEN;
void cue_rt_set_allowed_time(uint64_t nanoseconds) CUE_REALTIME CUE_HIDDEN;

/// Keeps the check of a call out of its caller's stack frame. It is larger than the frame of a
/// render, and renders lie within renders.
#define CUE_OWN_FRAME __attribute__((noinline))

/// Begins a call of the app's function at `callback`. Does nothing outside a cycle.
static inline void cue_rt_begin_check(cue_check *check,
                                      const void *_Nullable callback) CUE_REALTIME {
  check->callback = NULL;
  if (__builtin_expect(cue_checks_callbacks, false) && callback)
    cue_rt_open_check(check, (const void *)callback);
}

/// Ends the call, and records what the function did.
static inline void cue_rt_end_check(cue_check *check) CUE_REALTIME {
  if (__builtin_expect(check->callback != NULL, false)) cue_rt_close_check(check);
}

/// Begins the part of a cycle that calls the app. Each callback may take `nanoseconds`; UINT64_MAX
/// for no limit.
static inline void cue_rt_begin_checked_calls(uint64_t nanoseconds) CUE_REALTIME {
  if (__builtin_expect(cue_checks_callbacks, false)) cue_rt_set_allowed_time(nanoseconds);
}

/// Ends that part.
static inline void cue_rt_end_checked_calls(void) CUE_REALTIME {
  if (__builtin_expect(cue_checks_callbacks, false)) cue_rt_set_allowed_time(0);
}

#pragma clang assume_nonnull end
