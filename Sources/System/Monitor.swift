import CDispatch
import Glibc

/// A value protected by a mutex, with a condition variable that threads wait on.
///
/// Not for real-time threads. Timed waits use CLOCK_MONOTONIC.
///
/// `change` and `read` are inlinable: code that does not know the type of the value would copy all of it for each
/// reader. They are public, because the compiler inlines no `package` function in other modules.
@safe
public final class Monitor<Value>: @unchecked Sendable {
  /// Begins a piece of memory with `waiting` and `value`, whose first bytes a processor's cache reads together with it.
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  /// Number of threads that wait for the condition, under the lock: without one, a change tells nobody.
  private let waiting: UnsafeMutablePointer<Int>
  @usableFromInline let value: UnsafeMutablePointer<Value>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init(_ value: Value) {
    let waitingOffset = unsafe MemoryLayout<pthread_mutex_t>.stride
    let alignment = MemoryLayout<Value>.alignment
    let valueOffset =
      (waitingOffset + MemoryLayout<Int>.stride + alignment - 1) / alignment * alignment
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: valueOffset + MemoryLayout<Value>.stride, alignment: max(64, alignment))
    unsafe lock = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
    unsafe waiting = (memory + waitingOffset).bindMemory(to: Int.self, capacity: 1)
    unsafe waiting.initialize(to: 0)
    unsafe self.value = (memory + valueOffset).bindMemory(to: Value.self, capacity: 1)
    unsafe self.value.initialize(to: value)
    unsafe lock.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(lock, nil)
    unsafe condition = .allocate(capacity: 1)
    unsafe condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
    unsafe value.deinitialize(count: 1)
    unsafe pthread_mutex_destroy(lock)
    unsafe UnsafeMutableRawPointer(lock).deallocate()
  }

  /// Runs `body` with the value under the lock and wakes all waiting threads.
  @discardableResult
  @inlinable public func change<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave(telling: true) }
    return try unsafe body(&value.pointee)
  }

  /// Runs `body` with the value under the lock.
  @inlinable public func read<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave(telling: false) }
    return try unsafe body(value.pointee)
  }

  @usableFromInline func enter() { unsafe pthread_mutex_lock(lock) }

  @usableFromInline func leave(telling others: Bool) {
    if others, unsafe waiting.pointee > 0 { unsafe pthread_cond_broadcast(condition) }
    unsafe pthread_mutex_unlock(lock)
  }

  /// Waits until `body` returns a value. Returns nil after `seconds`.
  package func wait<R>(seconds: Double, for body: (inout Value) -> R?) -> R? {
    let end = HostTime.now + UInt64(seconds * 1e9)
    var deadline = timespec(
      tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
    beginWaiting()
    defer { endWaiting() }
    while true {
      if let result = unsafe body(&value.pointee) { return result }
      if unsafe pthread_cond_timedwait(condition, lock, &deadline) == ETIMEDOUT {
        return unsafe body(&value.pointee)
      }
    }
  }

  /// Waits without a time limit until `body` returns a value.
  package func wait<R>(for body: (inout Value) -> R?) -> R {
    beginWaiting()
    defer { endWaiting() }
    while true {
      if let result = unsafe body(&value.pointee) { return result }
      unsafe pthread_cond_wait(condition, lock)
    }
  }

  private func beginWaiting() {
    enter()
    unsafe waiting.pointee += 1
  }

  private func endWaiting() {
    unsafe waiting.pointee -= 1
    leave(telling: false)
  }
}
