import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioQueue

/// The threads that many queues share for their callbacks.
@Suite struct SharedThreadsTests {
  private final class Log: Sendable {
    let calls = Atomic<Int>(0)
    let inside = Atomic<Int>(0)
    let overlaps = Atomic<Int>(0)
    let threads = Mutex<Set<UInt>>([])

    func call(_ body: () -> Void = {}) {
      if inside.add(1, ordering: .sequentiallyConsistent).newValue > 1 {
        overlaps.add(1, ordering: .sequentiallyConsistent)
      }
      _ = threads.withLock { $0.insert(UInt(pthread_self())) }
      body()
      inside.subtract(1, ordering: .sequentiallyConsistent)
      calls.add(1, ordering: .sequentiallyConsistent)
    }
  }

  /// Waits far longer than any callback needs.
  private func come(_ semaphore: DispatchSemaphore, _ count: Int = 1) -> Bool {
    (0..<count).allSatisfy { _ in semaphore.wait(timeout: .now() + 60) == .success }
  }

  @Test("a callback that waits for another queue's callback gets it, even if no thread is left")
  func blockedCallbacks() {
    let threads = SharedThreads(prompt: 1)
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let waiting = (0..<5).map { _ in
      SharedThreadContext(
        {
          if gate.wait(timeout: .now() + 60) == .success { done.signal() }
        }, on: threads)
    }
    let last = SharedThreadContext({ for _ in 0..<5 { gate.signal() } }, on: threads)
    for context in waiting { context.wake() }
    last.wake()
    expectTrue(come(done, 5))
  }

  @Test("the queues after the sixteenth call back as well, whatever the others wait for")
  func manyQueues() {
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let contexts = (0..<40).map { i in
      makeCallbackContext(.ownThread) {
        if i == 39 {
          for _ in 0..<39 { gate.signal() }
        } else if gate.wait(timeout: .now() + 60) == .success {
          done.signal()
        }
      }
    }
    for context in contexts { context.wake() }
    expectTrue(come(done, 39))
    for context in contexts { context.invalidate() }
  }

  @Test("deliveries of one queue never overlap, and each wake-up is followed by one")
  func oneAtATime() {
    let threads = SharedThreads(prompt: 4)
    let (log, done) = (Log(), DispatchSemaphore(value: 0))
    let context = SharedThreadContext(
      {
        log.call { sched_yield() }
        done.signal()
      }, on: threads)
    for _ in 0..<2000 {
      context.wake()
      sched_yield()
    }
    // Wake-ups that meet one that has not begun share its delivery; the last one is followed by one.
    expectTrue(come(done))
    context.wake()
    expectTrue(come(done))
    expectEqual(log.overlaps.load(ordering: .sequentiallyConsistent), 0)
  }

  @Test("a wake-up during a delivery brings another one, and none comes after the end")
  func wakesDuringADelivery() {
    let threads = SharedThreads(prompt: 1)
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let log = Log()
    let context = SharedThreadContext(
      {
        log.call {
          begun.signal()
          gate.wait()
        }
      }, on: threads)
    context.wake()
    expectTrue(come(begun))
    for _ in 0..<10 { context.wake() }
    gate.signal()
    expectTrue(come(begun))
    context.invalidate()
    context.wake()
    gate.signal()
    // Deliveries are in order: once another queue has had its own, the first one had all of them.
    let other = DispatchSemaphore(value: 0)
    SharedThreadContext({ other.signal() }, on: threads).wake()
    expectTrue(come(other))
    expectEqual(begun.wait(timeout: .now()), .timedOut)
    expectEqual(log.overlaps.load(ordering: .sequentiallyConsistent), 0)
  }

  @Test("a thousand queues that call back together do so on a few threads")
  func fewThreads() {
    let threads = SharedThreads(prompt: 4)
    let (log, done) = (Log(), DispatchSemaphore(value: 0))
    let contexts = (0..<1000).map { _ in
      SharedThreadContext(
        {
          log.threads.withLock { _ = $0.insert(UInt(pthread_self())) }
          done.signal()
        }, on: threads)
    }
    for context in contexts { context.wake() }
    expectTrue(come(done, 1000))
    // A busy machine may let the standby thread add some.
    expectTrue(log.threads.withLock { $0.count } < 100)
  }
}
