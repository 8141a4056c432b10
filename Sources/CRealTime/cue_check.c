#include "CRealTime.h"

#include <string.h>

bool cue_checks_callbacks;
_Thread_local cue_check *cue_thread_check;

/// Nanoseconds that a callback may take in the cycle that the thread runs; 0 outside a cycle.
static _Thread_local uint64_t allowed_time __attribute__((tls_model("initial-exec")));

/// The counts of a callback, added by cycles. Records are never freed.
typedef struct record {
  uintptr_t callback;
  uint32_t calls[cue_checked_function_limit];
  uint32_t late;
  /// Time of the longest late call and the time that it had, in microseconds: upper and lower half.
  uint64_t longest;
} record;

static record records[cue_check_record_count];

/// Returns the record of a callback, new if there is none; NULL if all are in use.
static record *find_record(uintptr_t callback) CUE_REALTIME {
  for (uint32_t i = 0; i < cue_check_record_count; i++) {
    record *found = &records[((callback >> 4) + i) % cue_check_record_count];
    uintptr_t present = 0;
    if (__atomic_compare_exchange_n(&found->callback, &present, callback, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        present == callback)
      return found;
  }
  return NULL;
}

static uint64_t microseconds(uint64_t nanoseconds) CUE_REALTIME {
  return nanoseconds / 1000 < UINT32_MAX ? nanoseconds / 1000 : UINT32_MAX;
}

void cue_start_checks(void) {
  __atomic_store_n(&cue_checks_callbacks, true, __ATOMIC_RELEASE);
}

void cue_rt_set_allowed_time(uint64_t nanoseconds) CUE_REALTIME {
  CUE_TRUST_BEGIN // In the block that each thread has from its beginning: no memory is allocated.
      allowed_time = nanoseconds;
  CUE_TRUST_END
}

void cue_rt_open_check(cue_check *check, const void *callback) CUE_REALTIME {
  CUE_TRUST_BEGIN // As above.
      if (allowed_time == 0) return;
  memset(check, 0, sizeof *check);
  check->callback = callback;
  check->outer = cue_thread_check;
  check->start = cue_rt_nanoseconds();
  cue_thread_check = check;
  CUE_TRUST_END
}

void cue_rt_close_check(cue_check *check) CUE_REALTIME {
  uint64_t passed = cue_rt_nanoseconds() - check->start, allowed;
  CUE_TRUST_BEGIN // As above.
      cue_thread_check = check->outer;
  allowed = allowed_time;
  CUE_TRUST_END
  if (check->outer) check->outer->nested += passed;
  uint64_t own = passed - check->nested;
  bool is_late = own > allowed;
  uint32_t sum = is_late;
  for (uint32_t i = 0; i < cue_checked_function_limit; i++)
    sum |= check->calls[i];
  if (sum == 0) return;
  record *record = find_record((uintptr_t)check->callback);
  if (!record) return;
  for (uint32_t i = 0; i < cue_checked_function_limit; i++)
    if (check->calls[i]) __atomic_add_fetch(&record->calls[i], check->calls[i], __ATOMIC_RELAXED);
  if (!is_late) return;
  uint64_t time = microseconds(own) << 32 | microseconds(allowed);
  uint64_t longest = __atomic_load_n(&record->longest, __ATOMIC_RELAXED);
  while (longest < time && !__atomic_compare_exchange_n(&record->longest, &longest, time, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  __atomic_add_fetch(&record->late, 1, __ATOMIC_RELEASE);
}

cue_check *cue_suspend_check(void) {
  cue_check *present = cue_thread_check;
  cue_thread_check = NULL;
  return present;
}

void cue_resume_check(cue_check *check) {
  cue_thread_check = check;
}

bool cue_take_report(uint32_t index, cue_check_report *report) {
  record *record = &records[index % cue_check_record_count];
  memset(report, 0, sizeof *report);
  report->callback = __atomic_load_n(&record->callback, __ATOMIC_ACQUIRE);
  if (!report->callback) return false;
  report->late = __atomic_exchange_n(&record->late, 0, __ATOMIC_ACQUIRE);
  uint32_t sum = report->late;
  if (report->late) {
    uint64_t longest = __atomic_exchange_n(&record->longest, 0, __ATOMIC_RELAXED);
    report->longest = (uint32_t)(longest >> 32);
    report->allowed = (uint32_t)longest;
  }
  for (uint32_t i = 0; i < cue_checked_function_limit; i++)
    sum |= report->calls[i] = __atomic_exchange_n(&record->calls[i], 0, __ATOMIC_RELAXED);
  return sum != 0;
}
