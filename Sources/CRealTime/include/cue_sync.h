// A client's part in the start of JACK's transport, which rolls once the client is ready.
#pragma once

#include "CRealTime.h"

#include <jack/transport.h>

#pragma clang assume_nonnull begin

/// Request and answer between JACK's sync callback and the thread that gets the client ready.
typedef struct cue_sync {
  const jack_client_t *client;
  /// Number of the latest request in the upper half, from 1; its transport frame in the lower half.
  uint64_t asked;
  /// Number of the request that is answered in the upper half. In the lower half the frame counter
  /// of the last cycle before the client plays.
  uint64_t answered;
  /// Set while JACK waits for the client. Process thread only.
  bool is_asking;
} cue_sync;

/// JACK's sync callback: returns nonzero in the cycle before the client plays, or if nothing needs
/// to be ready. `sync` is a `cue_sync`. Process thread.
static inline int cue_rt_sync(cue_sync *sync, jack_transport_state_t state,
                              const jack_position_t *position) CUE_REALTIME {
  if (state != JackTransportStarting) {
    sync->is_asking = false;
    return 1;
  }
  uint64_t asked = __atomic_load_n(&sync->asked, __ATOMIC_RELAXED);
  if (!sync->is_asking || (uint32_t)asked != position->frame) {
    asked = ((asked >> 32) + 1) << 32 | position->frame;
    __atomic_store_n(&sync->asked, asked, __ATOMIC_RELEASE);
    sync->is_asking = true;
    return 0;
  }
  uint64_t answered = __atomic_load_n(&sync->answered, __ATOMIC_ACQUIRE);
  if (answered >> 32 != asked >> 32) return 0;
  jack_nframes_t now;
  CUE_TRUST_BEGIN // jack.h: for the process thread; reads shared memory only.
      now = jack_last_frame_time(sync->client);
  CUE_TRUST_END
  if ((int32_t)(now - (uint32_t)answered) < 0) return 0;
  sync->is_asking = false;
  return 1;
}

/// Returns the latest request; its number is 0 if there was none. Any thread.
static inline uint64_t cue_sync_request(const cue_sync *sync) {
  return __atomic_load_n(&sync->asked, __ATOMIC_ACQUIRE);
}

/// Answers a request. `counter` is the frame counter of the last cycle before the client plays. Any
/// thread.
static inline void cue_sync_answer(cue_sync *sync, uint32_t number, uint32_t counter) {
  __atomic_store_n(&sync->answered, (uint64_t)number << 32 | counter, __ATOMIC_RELEASE);
}

#pragma clang assume_nonnull end
