import Synchronization

/// A function that one part sets and another one calls. Any thread that is not real time.
///
/// The lock guards a structure: Swift 6.3 without optimisation puts a function that stands alone in a Mutex into one
/// more closure whenever it is read, so that calls become slower without end.
package struct Hook<Function: Sendable>: ~Copyable, Sendable {
  private struct Held {
    var function: Function?
  }
  private let held = Mutex(Held())

  package init() {}

  package var function: Function? { held.withLock { $0.function } }

  /// Sets the function; nil for none.
  package func set(_ function: Function?) { held.withLock { $0.function = function } }
}
