import Synchronization

/// The latest handle of all tables.
private let lastHandle = Atomic<UInt>(0)

/// A table of objects by the handles that C programs hold. May be used on any thread.
///
/// A handle is a number that no table uses twice. A stale, foreign or invented handle is therefore
/// detected and never dereferenced.
final class HandleTable<Object: Sendable>: Sendable {
  private let objects = Mutex<[UInt: Object]>([:])

  /// Adds the object that `make` creates for a new handle. Handles are never 0 and look like
  /// aligned pointers.
  @discardableResult
  func add<E: Error>(_ make: (UInt) throws(E) -> Object) throws(E) -> UInt {
    let handle = lastHandle.add(16, ordering: .relaxed).newValue
    let object = try make(handle)
    objects.withLock { $0[handle] = object }
    return handle
  }

  /// Returns the object of a handle, or nil if there is none.
  func object(_ handle: UInt) -> Object? { objects.withLock { $0[handle] } }

  /// All handles with their objects.
  var entries: [(handle: UInt, object: Object)] {
    objects.withLock { $0.map { ($0.key, $0.value) } }
  }

  /// Replaces the object of a handle, if the handle is in the table.
  func replace(_ handle: UInt, with object: Object) {
    objects.withLock { if $0[handle] != nil { $0[handle] = object } }
  }

  /// Removes a handle and returns its object. Calls in progress on other threads keep the object
  /// alive.
  @discardableResult
  func remove(_ handle: UInt) -> Object? {
    objects.withLock { $0.removeValue(forKey: handle) }
  }
}
