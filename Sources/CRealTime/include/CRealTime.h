// The few C calls that a cycle makes, each marked with the promise that it neither blocks nor
// allocates. Everything here is inline or hidden: the library exports none of it.
#pragma once

#include <errno.h>
#include <jack/jack.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/// A function that a cycle may call: clang and swiftc both check it.
#define CUE_REALTIME __attribute__((nonblocking, swift_attr("@_noLocks")))

/// A function that stays inside the library.
#define CUE_HIDDEN __attribute__((visibility("hidden")))

/// Opens a region in which C code is trusted. Each use says why.
#define CUE_TRUST_BEGIN                                                                            \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wfunction-effects\"")
#define CUE_TRUST_END _Pragma("clang diagnostic pop")

#pragma clang assume_nonnull begin

/// Where one channel of audio goes: a JACK port, or memory if the cycle is driven by hand; then
/// `connections`, if it is there, is how many connections the port has.
typedef struct cue_port {
  jack_port_t *_Nullable port;
  float *_Nullable memory;
  const int32_t *_Nullable connections;
} cue_port;

/// The samples of `port` for this cycle.
static inline float *_Nullable cue_rt_port_buffer(cue_port port, uint32_t frames) CUE_REALTIME {
  if (port.memory) return port.memory;
  CUE_TRUST_BEGIN // jack.h: to be called in the process callback; reads shared memory only.
      return port.port
      ? (float *)jack_port_get_buffer(port.port, frames)
      : NULL;
  CUE_TRUST_END
}

/// How many connections `port` has in this cycle: those that its readers mix in the very same one.
static inline int32_t cue_rt_port_connections(cue_port port) CUE_REALTIME {
  if (port.connections) return __atomic_load_n(port.connections, __ATOMIC_ACQUIRE);
  CUE_TRUST_BEGIN // JACK2: in its process thread a read of the graph's present state, which changes
                  // between cycles only, and which jack_port_get_buffer mixes by.
      return port.port
      ? jack_port_connected(port.port)
      : 0;
  CUE_TRUST_END
}

/// When a cycle began, the same for every client of a server.
typedef struct cue_cycle_time {
  /// The frame counter at its first frame.
  uint32_t counter;
  /// CLOCK_MONOTONIC, in microseconds, at its first frame and at the next cycle's.
  uint64_t microseconds, next_microseconds;
} cue_cycle_time;

/// The times of this cycle.
static inline cue_cycle_time cue_rt_cycle_time(const jack_client_t *client) CUE_REALTIME {
  cue_cycle_time time = {0, 0, 0};
  float period = 0;
  jack_nframes_t counter = 0;
  jack_time_t now = 0, next = 0;
  CUE_TRUST_BEGIN // jack.h: to be called in the process callback.
      if (jack_get_cycle_times(client, &counter, &now, &next, &period) == 0) {
    time.counter = counter;
    time.microseconds = now;
    time.next_microseconds = next;
  }
  else time.counter = jack_last_frame_time(client);
  CUE_TRUST_END
  return time;
}

/// Frames per second of this cycle: PipeWire may change them from one cycle to the next.
static inline uint32_t cue_rt_sample_rate(jack_client_t *client) CUE_REALTIME {
  CUE_TRUST_BEGIN // Both libraries read it from shared memory.
      return jack_get_sample_rate(client);
  CUE_TRUST_END
}

/// Lets 200 microseconds pass. For freewheel only, where no cycle is due at any time.
static inline void cue_freewheel_nap(void) CUE_REALTIME {
  const struct timespec nap = {0, 200000};
  CUE_TRUST_BEGIN // JACK calls cycles in freewheel as soon as the one before is over: they may take
                  // any time.
      nanosleep(&nap, NULL);
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

/// Wakes the waiting thread. A system call only if one waits.
static inline void cue_rt_signal_post(cue_signal *signal) CUE_REALTIME {
  CUE_TRUST_BEGIN // POSIX: sem_post is async-signal-safe and does not block.
      sem_post(&signal->semaphore);
  CUE_TRUST_END
}

/// Waits for a post. Not real time.
static inline void cue_signal_wait(cue_signal *signal) {
  while (sem_wait(&signal->semaphore) == -1 && errno == EINTR) {
  }
}

// glibc declares it only for _GNU_SOURCE, which Swift's importer does not define.
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

/// Waits for a post, for at most that many milliseconds, whoever sets the clock meanwhile. Not real
/// time.
static inline void cue_signal_wait_for(cue_signal *signal, uint32_t milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  uint64_t nanoseconds = (uint64_t)end.tv_nsec + milliseconds * 1000000ull;
  end.tv_sec += (time_t)(nanoseconds / 1000000000);
  end.tv_nsec = (long)(nanoseconds % 1000000000);
  while (sem_clockwait(&signal->semaphore, CLOCK_MONOTONIC, &end) == -1 && errno == EINTR) {
  }
}

/// Has this thread treat denormals as zero: they cost a hundred times an ordinary sample.
static inline void cue_rt_flush_denormals(void) CUE_REALTIME {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zero
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | (1 << 24)));
#endif
}

/// How this thread computes: rounding, denormals.
static inline uint32_t cue_rt_float_mode(void) CUE_REALTIME {
#if defined(__SSE__)
  return _mm_getcsr() & ~0x3fu; // without what happened so far
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (uint32_t)fpcr;
#else
  return 0;
#endif
}

/// Has this thread compute as another does.
static inline void cue_rt_set_float_mode(uint32_t mode) CUE_REALTIME {
#if defined(__SSE__)
  _mm_setcsr(mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)mode));
#endif
}

// RealtimeSanitizer's brackets, present only in a program that was linked with it.
void __rtsan_realtime_enter(void) __attribute__((weak, nonblocking));
void __rtsan_realtime_exit(void) __attribute__((weak, nonblocking));

/// Begins the part of a cycle that RealtimeSanitizer watches, if it is there.
static inline void cue_rt_enter(void) CUE_REALTIME {
  if (__rtsan_realtime_enter) __rtsan_realtime_enter();
}

/// Ends what cue_rt_enter began.
static inline void cue_rt_leave(void) CUE_REALTIME {
  if (__rtsan_realtime_exit) __rtsan_realtime_exit();
}

/// What a node of a graph works on in one call. The arrays, and what they point to, are the
/// graph's.
typedef struct cue_block {
  /// Frames of each plane: 1 to the graph's block length.
  uint32_t frames;
  /// A cycle comes as soon as the one before is over: waiting is allowed.
  bool is_freewheeling;
  /// Device frame of the first one.
  int64_t frame;
  /// A plane of samples for each audio or CV input.
  const float *_Nonnull const *_Nullable inputs;
  /// A plane for each audio or CV output; none shares its memory with an input. The node writes all
  /// frames of each: what is there before is another node's.
  float *_Nonnull const *_Nullable outputs;
  /// An LV2 atom sequence for each event input, its times in frames from the block's first.
  const void *_Nonnull const *_Nullable event_inputs;
  /// An LV2 atom chunk, its size set to its capacity, for each event output: the node makes it a
  /// sequence.
  void *_Nonnull const *_Nullable event_outputs;
  /// If it is there, the node sets it to have the host ask for its latency anew.
  bool *_Nullable attention;
  /// A sequence of MIDI events that the host itself goes by, to move the node's controls.
  const void *_Nullable controllers;
  /// Where the music stands at the block's first frame. Only there for the first block of a cycle:
  /// within a cycle nothing happens to it.
  const struct cue_transport *_Nullable transport;
} cue_block;

/// What runs in the place of one node of a graph.
typedef struct cue_node {
  void (*run)(void *context, const cue_block *block);
  void *context;
} cue_node;

/// Has `node` work on `block`.
static inline void cue_rt_run_node(cue_node node, const cue_block *block) CUE_REALTIME {
  CUE_TRUST_BEGIN // Our own nodes are checked where they are written; a plugin's run() is trusted:
                  // see lv2:hardRTCapable.
      node.run(node.context, block);
  CUE_TRUST_END
}

/// Has the processor fetch `bytes` bytes that are soon to be read. They need not be there.
static inline void cue_rt_prefetch(const void *place, size_t bytes) CUE_REALTIME {
  for (size_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)place + i);
}

/// True if no sample is infinite or not a number.
static inline bool cue_rt_are_finite(const float *samples, uint32_t frames) CUE_REALTIME {
  // Of such a sample, and of no other, the upper half without its sign is 0x7f80 or more.
  typedef int16_t halves __attribute__((vector_size(32)));
  const halves mask = {0, 0x7fff, 0, 0x7fff, 0, 0x7fff, 0, 0x7fff,
                       0, 0x7fff, 0, 0x7fff, 0, 0x7fff, 0, 0x7fff};
  halves largest = {0};
  uint32_t i = 0;
  for (; i + 8 <= frames; i += 8) {
    halves part;
    __builtin_memcpy(&part, samples + i, sizeof part);
    largest = __builtin_elementwise_max(largest, part & mask);
  }
  if (i < frames) {
    halves part = {0};
    __builtin_memcpy(&part, samples + i, (frames - i) * sizeof *samples);
    largest = __builtin_elementwise_max(largest, part & mask);
  }
  return __builtin_reduce_max(largest) < 0x7f80;
}

static inline float cue_rt_sqrt(float x) CUE_REALTIME {
  return __builtin_sqrtf(x);
}

#pragma clang assume_nonnull end

#include "cue_events.h"
#include "cue_ring.h"
#include "cue_transport.h"
#include "cue_urids.h"

#include "cue_plugin.h"

#include "cue_controllers.h"
#include "cue_isolated.h"
