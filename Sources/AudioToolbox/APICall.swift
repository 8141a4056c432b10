import AudioQueue
import CAudioToolbox
import Logging

let log = Logger(label: "cuejack")

/// Why a function of the C interface fails: a result code for the caller, a text for the log.
protocol APIFailure: Error {
  /// The documented result code.
  var status: OSStatus { get }
  var reason: String { get }
  /// How loud the log tells of it.
  var level: Logger.Level { get }
  /// An argument that cannot be.
  static func badArgument(_ reason: String) -> Self
}

extension APIFailure {
  var level: Logger.Level { .warning }
}

/// Runs the body of a C function: its failure becomes the result code and a line in the log.
func answer<Failure: APIFailure>(
  _ function: String, _ body: () throws(Failure) -> Void
) -> OSStatus {
  do throws(Failure) {
    try body()
    return noErr
  } catch {
    log.log(level: error.level, "\(function): \(error.reason)")
    return error.status
  }
}

/// The same for a function that can do nothing if one of these pointers is NULL. The headers promise
/// that they are not; C programs may not keep the promise.
func answer<Failure: APIFailure>(
  _ function: String, needs pointers: UnsafeRawPointer?...,
  body: () throws(Failure) -> Void
) -> OSStatus {
  answer(function) { () throws(Failure) in
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body()
  }
}

func hasNull(_ pointers: [UnsafeRawPointer?]) -> Bool {
  unsafe pointers.contains { UInt(bitPattern: $0) == 0 }
}

/// Gives out a handle for what `make` makes; NULL if that fails.
func putHandle<Object, Failure: APIFailure>(
  in place: UnsafeMutablePointer<OpaquePointer?>?, of table: HandleTable<Object>,
  _ make: () throws(Failure) -> Object
) throws(Failure) {
  guard let place = unsafe place, UInt(bitPattern: place) != 0 else {
    throw .badArgument("there is nowhere to put what was made")
  }
  unsafe place.pointee = nil
  let handle = try table.add { (_) throws(Failure) in try make() }
  unsafe place.pointee = OpaquePointer(bitPattern: handle)
}

/// Copies bytes of the caller's; none from NULL, nil if there should be some.
func copyBytes(at start: UnsafeRawPointer?, count: UInt32) -> [UInt8]? {
  if count == 0 { return [] }
  guard UInt(bitPattern: start) != 0 else { return nil }
  return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
}

/// Runs the body of a C function with the queue that `reference` stands for.
func withQueue(
  _ reference: AudioQueueRef, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (QueueHandle) throws(QueueError) -> Void
) -> OSStatus {
  answer(function) { () throws(QueueError) in
    // NULL too is only a number that was never given out.
    guard let handle = QueueHandle.all.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such queue")
    }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try handle.queue.checkNotDisposed()
    try body(handle)
  }
}
