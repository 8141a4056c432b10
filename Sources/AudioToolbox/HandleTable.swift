import Synchronization

/// Objects by the handles that C programs hold. A handle is a number that is never used twice, so
/// that one which is stale or made up is recognised and never followed. Any thread.
final class HandleTable<Object: Sendable>: Sendable {
  private struct State {
    var lastHandle: UInt = 0
    var objects: [UInt: Object] = [:]
  }
  private let state = Mutex(State())

  /// Adds what `make` makes for a new handle. Handles are never 0, and look like aligned pointers.
  @discardableResult
  func add<E: Error>(_ make: (UInt) throws(E) -> Object) throws(E) -> UInt {
    let handle = state.withLock { state in
      state.lastHandle += 16
      return state.lastHandle
    }
    let object = try make(handle)
    state.withLock { $0.objects[handle] = object }
    return handle
  }

  /// The object of a handle, or nil if there is none.
  func object(_ handle: UInt) -> Object? { state.withLock { $0.objects[handle] } }

  /// Forgets a handle and returns its object; calls under way on other threads keep it alive.
  @discardableResult
  func remove(_ handle: UInt) -> Object? {
    state.withLock { $0.objects.removeValue(forKey: handle) }
  }
}
