import Synchronization

/// The last handle that was given out, of any table.
private let lastHandle = Atomic<UInt>(0)

/// Objects by the handles that C programs hold. A handle is a number that is never used twice, in
/// whatever table, so that one which is stale, foreign or made up is recognised and never followed.
/// Any thread.
final class HandleTable<Object: Sendable>: Sendable {
  private let objects = Mutex<[UInt: Object]>([:])

  /// Adds what `make` makes for a new handle. Handles are never 0, and look like aligned pointers.
  @discardableResult
  func add<E: Error>(_ make: (UInt) throws(E) -> Object) throws(E) -> UInt {
    let handle = lastHandle.add(16, ordering: .relaxed).newValue
    let object = try make(handle)
    objects.withLock { $0[handle] = object }
    return handle
  }

  /// The object of a handle, or nil if there is none.
  func object(_ handle: UInt) -> Object? { objects.withLock { $0[handle] } }

  /// Forgets a handle and returns its object; calls under way on other threads keep it alive.
  @discardableResult
  func remove(_ handle: UInt) -> Object? {
    objects.withLock { $0.removeValue(forKey: handle) }
  }
}
