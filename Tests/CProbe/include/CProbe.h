// Counts what a piece of code costs: allocations, frees, locks, reference counts and system calls.
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
  uint32_t calls;    // of the system, save wakes; where they are watched
  uint32_t wakes;    // FUTEX_WAKE, as sem_post makes it if a thread waits; where they are watched
} cue_probe_counts;

/// False where the probe is compiled out.
bool cue_probe_works(void);
/// Starts to count what the calling thread does. Marks do not nest.
void cue_probe_enter(void);
/// Stops counting; what was counted since cue_probe_enter. Same thread.
cue_probe_counts cue_probe_leave(void);

// MARK: Memory

/// Fills the memory that any thread allocates from now on with zeros, or no longer does. So plugins
/// that read what they never wrote always read the same. Memory that realloc adds is left as it is.
/// Does nothing where the probe is compiled out.
void cue_probe_zero_memory(bool on);

// MARK: System calls

/// Has the system calls of the calling thread counted, too, from now on. They are made as before,
/// but the thread may start no other thread, and its signal mask stays as it is. False where that
/// is not possible: it takes seccomp.
///
/// Each call traps, by a filter of the thread's own, into a handler that counts it and makes it.
bool cue_probe_watch_calls(void);

// MARK: JACK's cycles

/// What process callbacks cost, all cycles together.
typedef struct {
  uint64_t cycles;
  cue_probe_counts counts;
  bool has_watched_calls;
} cue_probe_cycles;

/// Has process callbacks that this process sets from now on run between marks, their system calls
/// watched if possible; or no longer those that it sets then.
void cue_probe_watch_cycles(bool on);
/// What the watched callbacks have cost so far; starts anew.
cue_probe_cycles cue_probe_take_cycles(void);
