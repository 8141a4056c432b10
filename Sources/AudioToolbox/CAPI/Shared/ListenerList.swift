import Glibc
import Logging
import Synchronization
import System

/// Functions and blocks of the app that hear of changes. The app may remove one while a thread calls it. Any
/// thread that is not real time.
///
/// A removal waits for calls on other threads, for one second at most: such a call may need a lock that the
/// caller holds.
final class ListenerList<Listener: Sendable>: Sendable {
  /// A listener with its number in the list. No number is used twice.
  struct Entry: Sendable {
    let number: UInt64
    let listener: Listener
  }
  private struct State {
    var entries: [Entry] = []
    var next: UInt64 = 0
    /// The listeners that are being called, and the calling threads.
    var calls: [(number: UInt64, thread: pthread_t)] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let name: String

  /// - Parameter name: What the log calls a listener: "a property listener of an audio unit".
  init(_ name: String) { self.name = name }

  /// Adds a listener. A closed list takes none.
  ///
  /// - Parameter isSame: True for a listener that makes the new one superfluous.
  /// - Returns: False if the listener was not added.
  @discardableResult
  func add(_ listener: Listener, unless isSame: (Listener) -> Bool = { _ in false }) -> Bool {
    state.withLock { state in
      if state.isClosed || state.entries.contains(where: { isSame($0.listener) }) { return false }
      state.entries.append(Entry(number: state.next, listener: listener))
      state.next += 1
      return true
    }
  }

  /// Returns listeners in the order in which they were added.
  func entries(where isMeant: (Listener) -> Bool) -> [Entry] {
    state.withLock { state in state.entries.filter { isMeant($0.listener) } }
  }

  /// Calls a listener, unless it has been removed.
  ///
  /// - Parameter body: Calls the listener's function. The list holds no lock meanwhile.
  func call(_ number: UInt64, _ body: (Listener) -> Void) {
    let thread = pthread_self()
    let listener = state.withLock { state -> Listener? in
      guard let entry = state.entries.first(where: { $0.number == number }) else { return nil }
      state.calls.append((number, thread))
      return entry.listener
    }
    guard let listener else { return }
    body(listener)
    state.withLock { state in
      let i = state.calls.lastIndex { $0.number == number && $0.thread == thread }
      if let i { state.calls.remove(at: i) }
    }
  }

  /// Removes listeners. No call of them begins afterwards.
  ///
  /// - Returns: The removed listeners.
  @discardableResult
  func remove(where isMeant: (Listener) -> Bool) -> [Listener] {
    let removed = state.withLock { state in
      defer { state.entries.removeAll { isMeant($0.listener) } }
      return state.entries.filter { isMeant($0.listener) }
    }
    for entry in removed { awaitCalls(of: entry.number) }
    return removed.map(\.listener)
  }

  /// Removes the last listener of several. No call of it begins afterwards.
  ///
  /// - Returns: False if there is none.
  func removeLast(where isMeant: (Listener) -> Bool) -> Bool {
    let removed = state.withLock { state in
      state.entries.lastIndex { isMeant($0.listener) }.map { state.entries.remove(at: $0) }
    }
    if let removed { awaitCalls(of: removed.number) }
    return removed != nil
  }

  /// Removes all listeners for good, and waits for calls of removed ones as well.
  ///
  /// - Returns: The removed listeners.
  @discardableResult
  func close() -> [Listener] {
    let (removed, called) = state.withLock { state in
      state.isClosed = true
      defer { state.entries = [] }
      return (state.entries, state.calls.map(\.number))
    }
    for number in called { awaitCalls(of: number) }
    return removed.map(\.listener)
  }

  private func awaitCalls(of number: UInt64) {
    awaitReturn(of: name) {
      state.withLock { state in
        state.calls.contains { $0.number == number && $0.thread != pthread_self() }
      }
    }
  }
}

/// Waits while another thread calls a listener, for one second at most.
///
/// - Parameter name: What the log calls the listener if it has not returned by then.
func awaitReturn(of name: String, while isCalled: () -> Bool) {
  let deadline = HostTime.now + 1_000_000_000
  while isCalled() {
    if HostTime.now > deadline {
      log.warning("\(name) has not returned for one second")
      return
    }
    usleep(200)
  }
}
