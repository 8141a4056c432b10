// Atomic operations, in their classic form. Functions whose names end in Barrier order all other
// memory accesses (sequentially consistent); the others order none. All are inline.
//
// Any thread may call them, real time included. OSSpinLockLock and the queues wait for the thread
// that holds the lock.
#ifndef CUEJACK_OSATOMIC_H
#define CUEJACK_OSATOMIC_H

#include "../CuejackBase.h"

#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A full memory barrier.
static inline void OSMemoryBarrier(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// MARK: Arithmetic. Each returns the new value.

static inline int32_t OSAtomicAdd32(int32_t amount, volatile int32_t *value) {
  return __atomic_add_fetch(value, amount, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicIncrement32(volatile int32_t *value) {
  return OSAtomicAdd32(1, value);
}

static inline int32_t OSAtomicDecrement32(volatile int32_t *value) {
  return OSAtomicAdd32(-1, value);
}

static inline int32_t OSAtomicAdd32Barrier(int32_t amount, volatile int32_t *value) {
  return __atomic_add_fetch(value, amount, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicIncrement32Barrier(volatile int32_t *value) {
  return OSAtomicAdd32Barrier(1, value);
}

static inline int32_t OSAtomicDecrement32Barrier(volatile int32_t *value) {
  return OSAtomicAdd32Barrier(-1, value);
}

static inline int64_t OSAtomicAdd64(int64_t amount, volatile int64_t *value) {
  return __atomic_add_fetch(value, amount, __ATOMIC_RELAXED);
}

static inline int64_t OSAtomicIncrement64(volatile int64_t *value) {
  return OSAtomicAdd64(1, value);
}

static inline int64_t OSAtomicDecrement64(volatile int64_t *value) {
  return OSAtomicAdd64(-1, value);
}

static inline int64_t OSAtomicAdd64Barrier(int64_t amount, volatile int64_t *value) {
  return __atomic_add_fetch(value, amount, __ATOMIC_SEQ_CST);
}

static inline int64_t OSAtomicIncrement64Barrier(volatile int64_t *value) {
  return OSAtomicAdd64Barrier(1, value);
}

static inline int64_t OSAtomicDecrement64Barrier(volatile int64_t *value) {
  return OSAtomicAdd64Barrier(-1, value);
}

// MARK: Bits. Each returns the new value; with Orig in its name, the old one.

static inline int32_t OSAtomicOr32(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_or_fetch(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicOr32Orig(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_or(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicOr32Barrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_or_fetch(value, mask, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicOr32OrigBarrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_or(value, mask, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicAnd32(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_and_fetch(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicAnd32Orig(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_and(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicAnd32Barrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_and_fetch(value, mask, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicAnd32OrigBarrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_and(value, mask, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicXor32(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_xor_fetch(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicXor32Orig(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_xor(value, mask, __ATOMIC_RELAXED);
}

static inline int32_t OSAtomicXor32Barrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_xor_fetch(value, mask, __ATOMIC_SEQ_CST);
}

static inline int32_t OSAtomicXor32OrigBarrier(uint32_t mask, volatile uint32_t *value) {
  return (int32_t)__atomic_fetch_xor(value, mask, __ATOMIC_SEQ_CST);
}

// Bit 0 is the most significant bit of the byte at `address`. Each returns the old bit.

static inline bool OSAtomicTestAndSet(uint32_t bit, volatile void *address) {
  const uint8_t mask = (uint8_t)(0x80u >> (bit & 7));
  return (__atomic_fetch_or((volatile uint8_t *)address + (bit >> 3), mask, __ATOMIC_RELAXED) &
          mask) != 0;
}

static inline bool OSAtomicTestAndClear(uint32_t bit, volatile void *address) {
  const uint8_t mask = (uint8_t)(0x80u >> (bit & 7));
  return (__atomic_fetch_and((volatile uint8_t *)address + (bit >> 3), (uint8_t)~mask,
                             __ATOMIC_RELAXED) &
          mask) != 0;
}

static inline bool OSAtomicTestAndSetBarrier(uint32_t bit, volatile void *address) {
  const uint8_t mask = (uint8_t)(0x80u >> (bit & 7));
  return (__atomic_fetch_or((volatile uint8_t *)address + (bit >> 3), mask, __ATOMIC_SEQ_CST) &
          mask) != 0;
}

static inline bool OSAtomicTestAndClearBarrier(uint32_t bit, volatile void *address) {
  const uint8_t mask = (uint8_t)(0x80u >> (bit & 7));
  return (__atomic_fetch_and((volatile uint8_t *)address + (bit >> 3), (uint8_t)~mask,
                             __ATOMIC_SEQ_CST) &
          mask) != 0;
}

// MARK: Compare and swap. Each returns true if the value was the old one, and is now the new one.

static inline bool OSAtomicCompareAndSwapInt(int old, int replacement, volatile int *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static inline bool OSAtomicCompareAndSwapIntBarrier(int old, int replacement, volatile int *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static inline bool OSAtomicCompareAndSwapLong(long old, long replacement, volatile long *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static inline bool OSAtomicCompareAndSwapLongBarrier(long old, long replacement,
                                                     volatile long *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static inline bool OSAtomicCompareAndSwapPtr(void *old, void *replacement, void *volatile *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static inline bool OSAtomicCompareAndSwapPtrBarrier(void *old, void *replacement,
                                                    void *volatile *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static inline bool OSAtomicCompareAndSwap32(int32_t old, int32_t replacement,
                                            volatile int32_t *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static inline bool OSAtomicCompareAndSwap32Barrier(int32_t old, int32_t replacement,
                                                   volatile int32_t *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static inline bool OSAtomicCompareAndSwap64(int64_t old, int64_t replacement,
                                            volatile int64_t *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static inline bool OSAtomicCompareAndSwap64Barrier(int64_t old, int64_t replacement,
                                                   volatile int64_t *value) {
  return __atomic_compare_exchange_n(value, &old, replacement, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

// MARK: Spin locks

// Core Foundation's headers define OSSpinLock, OS_SPINLOCK_INIT and two macros for their own locks.
#undef OSSpinLockLock
#undef OSSpinLockUnlock

/// Takes the lock if it is free. Returns false if another thread holds it.
static inline bool OSSpinLockTry(volatile OSSpinLock *lock) {
  return __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) == 0;
}

/// Waits until the lock is free and takes it.
static inline void OSSpinLockLock(volatile OSSpinLock *lock) {
  while (!OSSpinLockTry(lock))
    sched_yield();
}

static inline void OSSpinLockUnlock(volatile OSSpinLock *lock) {
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

// MARK: Queues. A lock in each keeps a few instructions together.

/// A list from which the element that was added last is taken first.
typedef struct {
  void *opaque1;
  long opaque2;
} OSQueueHead __attribute__((aligned(16)));
#define OS_ATOMIC_QUEUE_INIT                                                                       \
  { NULL, 0 }

/// A list from which the element that was added first is taken first.
typedef struct {
  void *opaque1;
  void *opaque2;
  int32_t opaque3;
} OSFifoQueueHead __attribute__((aligned(16)));
#define OS_ATOMIC_FIFO_QUEUE_INIT                                                                  \
  { NULL, NULL, 0 }

/// Returns the link to the next element, which is `offset` bytes behind the start of each element.
static inline void **cue_queue_link(void *element, size_t offset) {
  return (void **)(void *)((char *)element + offset);
}

/// Adds an element, whose link is `offset` bytes behind its start.
static inline void OSAtomicEnqueue(OSQueueHead *list, void *element, size_t offset) {
  while (__atomic_exchange_n(&list->opaque2, 1, __ATOMIC_ACQUIRE) != 0)
    sched_yield();
  *cue_queue_link(element, offset) = list->opaque1;
  list->opaque1 = element;
  __atomic_store_n(&list->opaque2, 0, __ATOMIC_RELEASE);
}

/// Takes the element that was added last; NULL if there is none.
static inline void *OSAtomicDequeue(OSQueueHead *list, size_t offset) {
  while (__atomic_exchange_n(&list->opaque2, 1, __ATOMIC_ACQUIRE) != 0)
    sched_yield();
  void *element = list->opaque1;
  if (element) list->opaque1 = *cue_queue_link(element, offset);
  __atomic_store_n(&list->opaque2, 0, __ATOMIC_RELEASE);
  return element;
}

/// Adds an element, whose link is `offset` bytes behind its start.
static inline void OSAtomicFifoEnqueue(OSFifoQueueHead *list, void *element, size_t offset) {
  *cue_queue_link(element, offset) = NULL;
  OSSpinLockLock(&list->opaque3);
  if (list->opaque2)
    *cue_queue_link(list->opaque2, offset) = element;
  else
    list->opaque1 = element;
  list->opaque2 = element;
  OSSpinLockUnlock(&list->opaque3);
}

/// Takes the element that was added first; NULL if there is none.
static inline void *OSAtomicFifoDequeue(OSFifoQueueHead *list, size_t offset) {
  OSSpinLockLock(&list->opaque3);
  void *element = list->opaque1;
  if (element) list->opaque1 = *cue_queue_link(element, offset);
  if (!list->opaque1) list->opaque2 = NULL;
  OSSpinLockUnlock(&list->opaque3);
  return element;
}

#ifdef __cplusplus
}
#endif

#endif
