#include "CPluginRunner.h"

bool cue_ring_put(cue_ring *ring, const void *head, uint32_t head_bytes, const void *body,
                  uint32_t body_bytes) CUE_REALTIME {
  uint64_t at = ring->written;
  // The acquire makes sure that the reader has finished with the bytes below `read`.
  uint64_t used = at - __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE);
  if ((uint64_t)head_bytes + body_bytes > ring->size - used) return false;
  cue_ring_copy_in(ring->bytes, ring->size, at, head, head_bytes);
  if (body_bytes > 0) cue_ring_copy_in(ring->bytes, ring->size, at + head_bytes, body, body_bytes);
  __atomic_store_n(&ring->written, at + head_bytes + body_bytes, __ATOMIC_RELEASE);
  return true;
}

void cue_ring_peek(const cue_ring *ring, void *data, uint32_t bytes) CUE_REALTIME {
  cue_ring_copy_out(ring->bytes, ring->size, ring->read, data, bytes);
}

void cue_ring_take(cue_ring *ring, void *data, uint32_t bytes) CUE_REALTIME {
  cue_ring_peek(ring, data, bytes);
  __atomic_store_n(&ring->read, ring->read + bytes, __ATOMIC_RELEASE);
}

void cue_ring_clear(cue_ring *ring) CUE_REALTIME {
  __atomic_store_n(&ring->read, __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE),
                   __ATOMIC_RELEASE);
}
