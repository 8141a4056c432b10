import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioToolbox

/// Listeners are called as long as they are in the list, and a removal waits for calls of other threads.
@Suite struct ListenerListTests {
  private let list = ListenerList<String>("a listener of a test")

  @Test func listenersHaveTheOrderInWhichTheyWereAdded() {
    for name in ["b", "a", "c", "a"] { expectTrue(list.add(name)) }
    expectEqual(list.entries { _ in true }.map(\.listener), ["b", "a", "c", "a"])
    expectEqual(list.entries { $0 == "a" }.map(\.number), [1, 3])
  }

  @Test func aSuperfluousListenerIsNotAdded() {
    expectTrue(list.add("a") { $0 == "a" })
    expectTrue(!list.add("a") { $0 == "a" })
    expectTrue(list.add("b") { $0 == "b" })
    expectEqual(list.entries { _ in true }.map(\.listener), ["a", "b"])
  }

  @Test func removedListenersAreNotCalled() {
    for name in ["a", "b", "a", "c"] { list.add(name) }
    let entries = list.entries { _ in true }
    expectEqual(list.remove { $0 == "a" }, ["a", "a"])
    var called: [String] = []
    for entry in entries { list.call(entry.number) { called.append($0) } }
    expectEqual(called, ["b", "c"])
    expectTrue(list.remove { $0 == "a" }.isEmpty)
    // A number is not used again.
    list.add("a")
    expectEqual(list.entries { $0 == "a" }.map(\.number), [4])
  }

  @Test func ofEqualListenersTheLastIsRemoved() {
    for name in ["a", "b", "a"] { list.add(name) }
    expectTrue(list.removeLast { $0 == "a" })
    expectEqual(list.entries { _ in true }.map(\.number), [0, 1])
    expectTrue(list.removeLast { $0 == "a" })
    expectTrue(!list.removeLast { $0 == "a" })
  }

  @Test func aClosedListTakesNoListener() {
    list.add("a")
    let number = list.entries { _ in true }[0].number
    expectEqual(list.close(), ["a"])
    expectTrue(!list.add("b"))
    list.call(number) { Issue.record("\($0) was called") }
    expectTrue(list.entries { _ in true }.isEmpty)
  }

  @Test func aListenerMayRemoveItselfAndOthers() {
    for name in ["a", "b", "c"] { list.add(name) }
    var called: [String] = []
    for entry in list.entries(where: { _ in true }) {
      list.call(entry.number) { listener in
        called.append(listener)
        // Nothing waits for the call that this one is part of.
        list.remove { $0 == "a" || $0 == "b" }
      }
    }
    expectEqual(called, ["a", "c"])
  }

  /// A way in which a listener leaves the list.
  enum Removal: CaseIterable {
    case remove, removeLast, close
  }

  private func remove(_ removal: Removal) {
    switch removal {
    case .remove: list.remove { _ in true }
    case .removeLast: _ = list.removeLast { _ in true }
    case .close: list.close()
    }
  }

  /// Calls the only listener on a thread of its own. Returns when the call has begun.
  private func callElsewhere(_ body: @escaping @Sendable () -> Void) {
    list.add("a")
    let number = list.entries { _ in true }[0].number
    let hasBegun = DispatchSemaphore(value: 0)
    let list = list
    Thread {
      list.call(number) { _ in
        hasBegun.signal()
        body()
      }
    }.start()
    hasBegun.wait()
  }

  @Test(arguments: Removal.allCases)
  func aRemovalWaitsForACallOfAnotherThread(removal: Removal) {
    let hasEnded = Atomic(false)
    callElsewhere {
      usleep(100_000)
      hasEnded.store(true, ordering: .sequentiallyConsistent)
    }
    remove(removal)
    let isOver = hasEnded.load(ordering: .sequentiallyConsistent)
    expectTrue(isOver)
  }

  /// The call may need a lock of the thread that removes the listener.
  @Test func aCallThatDoesNotReturnIsNotWaitedForForGood() {
    let mayEnd = DispatchSemaphore(value: 0)
    callElsewhere { mayEnd.wait() }
    remove(.remove)
    mayEnd.signal()
  }

  /// A list that is closed waits for the call of a listener that had been removed before.
  @Test func closingWaitsForRemovedListeners() {
    let hasEnded = Atomic(false)
    let mayEnd = DispatchSemaphore(value: 0)
    callElsewhere {
      mayEnd.wait()
      usleep(100_000)
      hasEnded.store(true, ordering: .sequentiallyConsistent)
    }
    remove(.remove)
    mayEnd.signal()
    remove(.close)
    let isOver = hasEnded.load(ordering: .sequentiallyConsistent)
    expectTrue(isOver)
  }
}
