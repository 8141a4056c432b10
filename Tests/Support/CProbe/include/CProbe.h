// Measures code: its allocations, frees, locks, reference counts and system calls.
//
// The target defines malloc and its family, pthread_mutex_lock, and Swift's retain and release, so
// that every call in the test process passes through it. It counts the calls of a marked thread
// between cue_probe_enter and cue_probe_leave. A sanitizer defines malloc itself; in such a build
// the probe is compiled out and counts nothing.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t allocations; // malloc, calloc, realloc and the aligned variants
  uint32_t frees;
  uint32_t locks;    // pthread_mutex_lock; Swift's Mutex does not call it
  uint32_t retains;  // of Swift objects
  uint32_t releases; // of Swift objects
  uint32_t calls;    // system calls without wakes, if they are counted
  uint32_t wakes;    // FUTEX_WAKE, which sem_post calls if a thread waits; if calls are counted
} cue_probe_counts;

/// Returns false if the probe is compiled out.
bool cue_probe_works(void);
/// Starts counting on the calling thread. Calls do not nest.
void cue_probe_enter(void);
/// Stops counting on the same thread and returns the counts since cue_probe_enter.
cue_probe_counts cue_probe_leave(void);

// MARK: Memory

/// Sets whether new allocations of all threads are filled with zeros. Plugins that read
/// uninitialised memory then give the same result each time. Memory that realloc adds is left as it
/// is. Does nothing if the probe is compiled out.
void cue_probe_zero_memory(bool on);

// MARK: System calls

/// Also counts the system calls of the calling thread from now on. The thread makes them as before,
/// but must not start a thread, and its signal mask stays as it is. Returns false if seccomp is not
/// available.
///
/// A seccomp filter of the thread traps each call into a handler that counts and makes it.
bool cue_probe_watch_calls(void);

// MARK: JACK's cycles

/// The cost of process callbacks, summed over all cycles.
typedef struct {
  uint64_t cycles;
  cue_probe_counts counts;
  bool has_watched_calls;
} cue_probe_cycles;

/// Sets whether process callbacks that this process registers from now on are measured, including
/// their system calls if possible.
void cue_probe_watch_cycles(bool on);
/// Returns the cost of the measured callbacks so far and resets it.
cue_probe_cycles cue_probe_take_cycles(void);
