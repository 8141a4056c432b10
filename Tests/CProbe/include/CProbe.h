// Counts what a piece of code costs: allocations, frees, locks and reference counts.
//
// The target defines malloc and its family, pthread_mutex_lock, and Swift's retain and release, so
// that every call of the test process to them passes through here. It counts those that the marked
// thread makes between the marks. Under a sanitizer, which defines malloc itself, it is compiled
// out and counts nothing.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t allocations; // malloc, calloc, realloc and the aligned ones
  uint32_t frees;
  uint32_t locks;    // pthread_mutex_lock; Swift's Mutex does not pass through it
  uint32_t retains;  // of Swift objects
  uint32_t releases; // of Swift objects
} cue_probe_counts;

/// False where the probe is compiled out.
bool cue_probe_works(void);
/// Starts to count what the calling thread does. Marks do not nest.
void cue_probe_enter(void);
/// Stops counting; what was counted since cue_probe_enter. Same thread.
cue_probe_counts cue_probe_leave(void);
