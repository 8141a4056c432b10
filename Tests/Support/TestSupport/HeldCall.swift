import Dispatch
import Foundation
import Synchronization

/// A place at which one call is held, so that another can be made meanwhile. Any thread.
package final class HeldCall: Sendable {
  private let isArmed = Atomic<Bool>(false)
  private let arrivals = DispatchSemaphore(value: 0)
  private let departures = DispatchSemaphore(value: 0)

  package init() {}

  /// Holds the thread that comes first after `run(_:against:)` has begun.
  package func pass() {
    guard isArmed.exchange(false, ordering: .sequentiallyConsistent) else { return }
    arrivals.signal()
    departures.wait()
  }

  /// Runs `first` on another thread until it is held, then `second` on a third one. Lets `first` go on once
  /// `second` has returned, or waits for it.
  package func run(
    _ first: @escaping @Sendable () -> Void, against second: @escaping @Sendable () -> Void
  ) {
    isArmed.store(true, ordering: .sequentiallyConsistent)
    let both = DispatchGroup()
    let secondIsOver = DispatchSemaphore(value: 0)
    func start(_ body: @escaping @Sendable () -> Void) {
      both.enter()
      Thread.detachNewThread {
        body()
        both.leave()
      }
    }
    start(first)
    arrivals.wait()
    start {
      second()
      secondIsOver.signal()
    }
    // One that waits does so after a moment; nothing tells that it does.
    _ = secondIsOver.wait(timeout: .now() + 0.1)
    departures.signal()
    both.wait()
  }
}
