// Byte rings for one writer and one reader. Nothing here is exported.
#pragma once

#include "CRealTime.h"

#include <string.h>

/// Copies into `ring`, of `size` bytes (a power of two), from byte `at` on. `at` counts from the
/// first byte ever written. `bytes` is at most `size`.
static inline void cue_ring_copy_in(char *ring, uint32_t size, uint64_t at, const void *data,
                                    uint32_t bytes) CUE_REALTIME {
  uint32_t offset = (uint32_t)at & (size - 1);
  uint32_t part = size - offset < bytes ? size - offset : bytes;
  memcpy(ring + offset, data, part);
  memcpy(ring, (const char *)data + part, bytes - part);
}

/// Copies out of such a ring.
static inline void cue_ring_copy_out(const char *ring, uint32_t size, uint64_t at, void *data,
                                     uint32_t bytes) CUE_REALTIME {
  uint32_t offset = (uint32_t)at & (size - 1);
  uint32_t part = size - offset < bytes ? size - offset : bytes;
  memcpy(data, ring + offset, part);
  memcpy((char *)data + part, ring, bytes - part);
}

/// A ring of messages in memory that the creator owns, for one writer and one reader.
///
/// One release store publishes a message: the reader sees all of it or nothing.
typedef struct cue_ring {
  char *bytes;
  /// A power of two.
  uint32_t size;
  /// Bytes written and bytes read since the beginning.
  uint64_t written, read;
} cue_ring;

/// Appends a message: a header and a body. Writer only.
///
/// Returns false, and writes nothing, if there is no room for the whole message.
CUE_HIDDEN bool cue_ring_put(cue_ring *ring, const void *head, uint32_t head_bytes,
                             const void *body, uint32_t body_bytes) CUE_REALTIME;

/// Returns the bytes of all unread messages. Reader only.
static inline uint64_t cue_ring_readable(const cue_ring *ring) CUE_REALTIME {
  return __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE) - ring->read;
}

/// Copies the next bytes, which stay in the ring. Precondition: that many are unread. Reader only.
CUE_HIDDEN void cue_ring_peek(const cue_ring *ring, void *data, uint32_t bytes) CUE_REALTIME;

/// Copies and removes the next bytes. Precondition: that many are unread. Reader only.
CUE_HIDDEN void cue_ring_take(cue_ring *ring, void *data, uint32_t bytes) CUE_REALTIME;

/// Discards all messages. Reader only.
CUE_HIDDEN void cue_ring_clear(cue_ring *ring) CUE_REALTIME;
