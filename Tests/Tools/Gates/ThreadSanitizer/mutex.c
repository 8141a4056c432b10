// Tells ThreadSanitizer of Swift's Mutex. The fast ways of its functions are atomics that are
// compiled into each caller; the slow ones lie in libswiftSynchronization, which is not
// instrumented: without these functions every memory behind a contended Mutex counts as raced for.
// A program that is linked with this file has them instead.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT    __attribute__((swiftcall))
#define SELF     __attribute__((swift_context)) void *self
#define LOCK     "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK   "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slowly(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_to_lock_slowly(SELF) __asm__(TRY_LOCK);
SWIFT void unlock_slowly(SELF) __asm__(UNLOCK);

SWIFT void lock_slowly(uint32_t thread, SELF) {
  SWIFT void (*swift)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
  swift(thread, self);
  __tsan_acquire(self);
}

SWIFT bool try_to_lock_slowly(SELF) {
  SWIFT bool (*swift)(SELF) = dlsym(RTLD_NEXT, TRY_LOCK);
  bool is_locked = swift(self);
  if (is_locked) __tsan_acquire(self);
  return is_locked;
}

SWIFT void unlock_slowly(SELF) {
  SWIFT void (*swift)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
  __tsan_release(self);
  swift(self);
}
