// The C calls that a cycle makes, each declared to neither block nor allocate. Everything here is
// inline or hidden: the library exports none of it.
#pragma once

#include <errno.h>
#include <jack/jack.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/// Marks a function that a cycle may call; clang and swiftc both check it.
#define CUE_REALTIME __attribute__((nonblocking, swift_attr("@_noLocks")))

/// Marks a function that is not visible outside the library.
#define CUE_HIDDEN __attribute__((visibility("hidden")))

/// Opens a region of C code whose real-time safety the compiler does not check. Each use states why
/// it is safe.
#define CUE_TRUST_BEGIN                                                                            \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wfunction-effects\"")
#define CUE_TRUST_END _Pragma("clang diagnostic pop")

#pragma clang assume_nonnull begin

/// Destination or source of one audio channel: a JACK port, or memory if the caller drives the
/// cycles. For memory, `connections` (if not NULL) is the number of connections to report.
typedef struct cue_port {
  jack_port_t *_Nullable port;
  float *_Nullable memory;
  const int32_t *_Nullable connections;
} cue_port;

/// Returns the samples of `port` for this cycle; NULL if it has neither port nor memory.
static inline float *_Nullable cue_rt_port_buffer(cue_port port, uint32_t frames) CUE_REALTIME {
  if (port.memory) return port.memory;
  CUE_TRUST_BEGIN // jack.h: call it in the process callback; reads shared memory only.
      return port.port
      ? (float *)jack_port_get_buffer(port.port, frames)
      : NULL;
  CUE_TRUST_END
}

/// Returns the number of connections of `port` in this cycle: those whose readers get this cycle's
/// samples.
static inline int32_t cue_rt_port_connections(cue_port port) CUE_REALTIME {
  if (port.connections) return __atomic_load_n(port.connections, __ATOMIC_ACQUIRE);
  CUE_TRUST_BEGIN // JACK2: on its process thread, a read of the present graph state. That state
                  // changes between cycles only, and jack_port_get_buffer mixes by it.
      return port.port
      ? jack_port_connected(port.port)
      : 0;
  CUE_TRUST_END
}

/// Start time of a cycle, the same for every client of a server.
typedef struct cue_cycle_time {
  /// Frame counter at its first frame.
  uint32_t counter;
  /// JACK's clock in microseconds, at this cycle's first frame and at the next cycle's.
  uint64_t microseconds, next_microseconds;
} cue_cycle_time;

/// Returns the times of this cycle.
static inline cue_cycle_time cue_rt_cycle_time(const jack_client_t *client) CUE_REALTIME {
  cue_cycle_time time = {0, 0, 0};
  float period = 0;
  jack_nframes_t counter = 0;
  jack_time_t now = 0, next = 0;
  CUE_TRUST_BEGIN // jack.h: call it in the process callback.
      if (jack_get_cycle_times(client, &counter, &now, &next, &period) == 0) {
    time.counter = counter;
    time.microseconds = now;
    time.next_microseconds = next;
  }
  else time.counter = jack_last_frame_time(client);
  CUE_TRUST_END
  return time;
}

/// Returns the sample rate of this cycle in Hz. PipeWire may change it from one cycle to the next.
static inline uint32_t cue_rt_sample_rate(jack_client_t *client) CUE_REALTIME {
  CUE_TRUST_BEGIN // Both libraries read it from shared memory.
      return jack_get_sample_rate(client);
  CUE_TRUST_END
}

/// Sleeps for 200 microseconds. For freewheel only, where no cycle has a deadline.
static inline void cue_freewheel_nap(void) CUE_REALTIME {
  const struct timespec nap = {0, 200000};
  CUE_TRUST_BEGIN // In freewheel JACK starts a cycle as soon as the last one is over, so a cycle
                  // may take any time.
      nanosleep(&nap, NULL);
  CUE_TRUST_END
}

/// Lets other threads run that are ready. For freewheel only, where no cycle has a deadline.
static inline void cue_freewheel_yield(void) CUE_REALTIME {
  CUE_TRUST_BEGIN // It does not sleep, and in freewheel a cycle may take any time.
  sched_yield();
  CUE_TRUST_END
}

/// A semaphore that a cycle posts and one thread waits for.
typedef struct cue_signal {
  sem_t semaphore;
} cue_signal;

static inline void cue_signal_initialize(cue_signal *signal) {
  sem_init(&signal->semaphore, 0, 0);
}

static inline void cue_signal_destroy(cue_signal *signal) {
  sem_destroy(&signal->semaphore);
}

/// Wakes the waiting thread. Makes a system call only if a thread waits.
static inline void cue_rt_signal_post(cue_signal *signal) CUE_REALTIME {
  CUE_TRUST_BEGIN // POSIX: sem_post is async-signal-safe and does not block.
      sem_post(&signal->semaphore);
  CUE_TRUST_END
}

/// Waits for a post. Not real-time safe.
static inline void cue_signal_wait(cue_signal *signal) {
  while (sem_wait(&signal->semaphore) == -1 && errno == EINTR) {
  }
}

// glibc declares it only for _GNU_SOURCE, which Swift's importer does not define.
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

/// Waits for a post, for at most `milliseconds`. Changes of the system clock have no effect. Not
/// real-time safe.
static inline void cue_signal_wait_for(cue_signal *signal, uint32_t milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  uint64_t nanoseconds = (uint64_t)end.tv_nsec + milliseconds * 1000000ull;
  end.tv_sec += (time_t)(nanoseconds / 1000000000);
  end.tv_nsec = (long)(nanoseconds % 1000000000);
  while (sem_clockwait(&signal->semaphore, CLOCK_MONOTONIC, &end) == -1 && errno == EINTR) {
  }
}

/// Makes this thread treat denormals as zero: they cost a hundred times an ordinary sample.
static inline void cue_rt_flush_denormals(void) CUE_REALTIME {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zero
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | (1 << 24)));
#endif
}

/// Returns this thread's floating-point mode: rounding and denormals.
static inline uint32_t cue_rt_float_mode(void) CUE_REALTIME {
#if defined(__SSE__)
  return _mm_getcsr() & ~0x3fu; // without the exception flags
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (uint32_t)fpcr;
#else
  return 0;
#endif
}

/// Sets this thread's floating-point mode to that of another thread.
static inline void cue_rt_set_float_mode(uint32_t mode) CUE_REALTIME {
#if defined(__SSE__)
  _mm_setcsr(mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)mode));
#endif
}

// RealtimeSanitizer's enter and exit functions, present only in a program that was linked with it.
void __rtsan_realtime_enter(void) __attribute__((weak, nonblocking));
void __rtsan_realtime_exit(void) __attribute__((weak, nonblocking));

/// Begins the part of a cycle that RealtimeSanitizer checks, if it is linked.
static inline void cue_rt_enter(void) CUE_REALTIME {
  if (__rtsan_realtime_enter) __rtsan_realtime_enter();
}

/// Ends what cue_rt_enter began.
static inline void cue_rt_leave(void) CUE_REALTIME {
  if (__rtsan_realtime_exit) __rtsan_realtime_exit();
}

/// Arguments of one call of a graph node. The graph owns the arrays and the memory that they point
/// to.
typedef struct cue_block {
  /// Frames of each plane: 1 to the graph's block length.
  uint32_t frames;
  /// Set in freewheel, where a cycle has no deadline: the node may wait.
  bool is_freewheeling;
  /// Device frame of the block's first frame.
  int64_t frame;
  /// Host time of that frame in nanoseconds, on the clock that times cycles; 0 if unknown.
  uint64_t host_time;
  /// Nanoseconds for each frame of this cycle, as measured by the server; 0 if unknown.
  double nanoseconds_per_frame;
  /// A plane of samples for each audio or CV input.
  const float *_Nonnull const *_Nullable inputs;
  /// A plane for each audio or CV output; none shares memory with an input. The node must write all
  /// frames of each, because the memory holds another node's samples.
  float *_Nonnull const *_Nullable outputs;
  /// An LV2 atom sequence for each event input. Its times are frames from the block's first.
  const void *_Nonnull const *_Nullable event_inputs;
  /// An LV2 atom chunk for each event output, with its size set to its capacity. The node turns it
  /// into a sequence.
  void *_Nonnull const *_Nullable event_outputs;
  /// If not NULL, the node sets it to make the host query its latency again.
  bool *_Nullable attention;
  /// MIDI event sequence by which the host moves the node's controls; NULL if there is none.
  const void *_Nullable controllers;
  /// Transport state at the block's first frame. Only set for the first block of a cycle, because
  /// the transport changes between cycles only.
  const struct cue_transport *_Nullable transport;
} cue_block;

/// A node's process function with its context.
typedef struct cue_node {
  void (*run)(void *context, const cue_block *block);
  void *context;
  /// Bytes from `context` on that every run reads. The graph prefetches them.
  size_t prefetched_bytes;
} cue_node;

/// Runs `node` on `block`.
static inline void cue_rt_run_node(cue_node node, const cue_block *block) CUE_REALTIME {
  CUE_TRUST_BEGIN // Cuejack's own nodes are checked where they are written; a plugin's run() is
                  // trusted: see lv2:hardRTCapable.
      node.run(node.context, block);
  CUE_TRUST_END
}

/// Prefetches `bytes` bytes that are read soon. The address need not be valid.
static inline void cue_rt_prefetch(const void *address, size_t bytes) CUE_REALTIME {
  for (size_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)address + i);
}

/// Returns the time of CLOCK_MONOTONIC in nanoseconds.
static inline uint64_t cue_rt_nanoseconds(void) CUE_REALTIME {
  struct timespec now;
  CUE_TRUST_BEGIN // It reads memory that the kernel shares, without a system call.
      clock_gettime(CLOCK_MONOTONIC, &now);
  CUE_TRUST_END
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Tells the processor that this thread waits for another one in a loop.
static inline void cue_rt_pause(void) CUE_REALTIME {
#if defined(__SSE__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline float cue_rt_sqrt(float x) CUE_REALTIME {
  return __builtin_sqrtf(x);
}

#pragma clang assume_nonnull end

#include "cue_check.h"
#include "cue_events.h"
#include "cue_io.h"
#include "cue_transport.h"
#include "cue_foreign.h"
#include "cue_midi.h"
#include "cue_loop.h"
#include "cue_midi_tap.h"
#include "cue_midi_track.h"
#include "cue_samples.h"
#include "cue_sync.h"
#include "cue_tempo.h"
#include "cue_unit.h"
