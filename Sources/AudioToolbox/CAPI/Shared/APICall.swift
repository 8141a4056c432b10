import AudioQueue
import CAudioToolbox
import CFork
import Logging
import System

/// Runs the body of a C function. A failure becomes the result code and a line in the log. A forked process that must
/// not use the library gets the code of an invalid argument.
func answer<Failure: APIFailure>(
  _ function: String, _ body: () throws(Failure) -> Void
) -> OSStatus {
  guard cue_fork_may_call() else { return Failure.badArgument("").status }
  do throws(Failure) {
    try body()
    return noErr
  } catch {
    log.log(level: error.level, "\(function): \(error.reason)")
    return error.status
  }
}

/// Runs the body of a C function that needs non-NULL pointers. The headers declare the pointers as
/// nonnull, but C programs may pass NULL.
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

/// Creates an object with `make` and stores its handle in `destination`. Stores NULL if `make` throws.
func putHandle<Object, Failure: APIFailure>(
  in destination: UnsafeMutablePointer<OpaquePointer?>?, of table: HandleTable<Object>,
  _ make: () throws(Failure) -> Object
) throws(Failure) {
  guard let destination = unsafe destination, UInt(bitPattern: destination) != 0 else {
    throw .badArgument("there is nowhere to put what was made")
  }
  unsafe destination.pointee = nil
  let handle = try table.add { (_) throws(Failure) in try make() }
  unsafe destination.pointee = OpaquePointer(bitPattern: handle)
}

/// Copies bytes from the caller's memory. Returns an empty array for a count of 0, nil for NULL
/// with any other count.
func copyBytes(at start: UnsafeRawPointer?, count: UInt32) -> [UInt8]? {
  if count == 0 { return [] }
  guard UInt(bitPattern: start) != 0 else { return nil }
  return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
}

/// Runs the body of a C function with the queue behind `reference`.
func withQueue(
  _ reference: AudioQueueRef, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (QueueHandle) throws(QueueError) -> Void
) -> OSStatus {
  answer(function) { () throws(QueueError) in
    // NULL needs no check of its own: it is never in the table.
    guard let handle = QueueHandle.all.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such queue")
    }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try handle.queue.checkNotDisposed()
    try body(handle)
  }
}
