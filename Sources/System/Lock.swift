import Glibc

/// A mutex without a value of its own. Not for real-time threads.
@safe
package final class Lock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package func lock() { unsafe pthread_mutex_lock(mutex) }

  package func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
