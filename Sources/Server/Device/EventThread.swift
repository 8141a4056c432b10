package import CRealTime
import Glibc
import Synchronization
import System

/// A thread that calls a function after each post of its signal, such as a device's event thread.
///
/// It keeps nothing else alive, so the object that the function serves can be released while the
/// thread sleeps.
@safe
package final class EventThread: @unchecked Sendable {
  /// Posted by the process thread.
  package let signal: UnsafeMutablePointer<cue_signal>
  private let isOver = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let hasStarted = Atomic<Bool>(false)
  private let thread = Atomic<UInt>(0)
  private let name: String

  package init(named name: String = "cuejack-events") {
    self.name = name
    unsafe signal = .allocate(capacity: 1)
    unsafe signal.initialize(to: cue_signal())
    unsafe cue_signal_initialize(signal)
  }

  deinit {
    unsafe cue_signal_destroy(signal)
    unsafe signal.deallocate()
  }

  /// Starts the thread. Call once.
  ///
  /// - Parameter body: Returns the seconds after which to call it again even without a post; nil to
  ///   wait for a post.
  package func start(_ body: @escaping @Sendable () -> Double?) {
    hasStarted.store(true, ordering: .relaxed)
    startThread(named: name) { [self] in
      thread.store(pthread_self(), ordering: .relaxed)
      var patience: Double?
      while true {
        if let patience {
          unsafe cue_signal_wait_for(signal, UInt32(patience * 1000))
        } else {
          unsafe cue_signal_wait(signal)
        }
        if isOver.load(ordering: .acquiring) { break }
        patience = body()
      }
      hasEnded.store(true, ordering: .releasing)
    }
  }

  /// Wakes the thread. Any thread.
  package func post() { unsafe cue_rt_signal_post(signal) }

  /// True on the thread itself.
  package var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

  /// Ends the thread. Waits for that, for a second at most, unless called on the thread itself.
  /// `body` is not called again.
  package func end() {
    isOver.store(true, ordering: .releasing)
    post()
    guard hasStarted.load(ordering: .relaxed),
      !isCurrent
    else { return }
    // The thread may be waiting for a lock that the caller holds; it ends once it gets the lock.
    let deadline = HostTime.now + 1_000_000_000
    while !hasEnded.load(ordering: .acquiring) && HostTime.now < deadline { usleep(50) }
  }
}
