public import CAudioToolbox
import Music
import Synchronization

// The functions of MusicPlayer.h for iterators. The header documents each function.

/// An iterator as C programs hold it.
final class IteratorHandle: Sendable {
  static let all = HandleTable<IteratorHandle>()

  let iterator: EventIterator
  /// The bytes of the event that was asked for last.
  @safe private struct Lent: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
  }
  private let lent = Mutex<Lent?>(nil)

  init(_ iterator: EventIterator) { self.iterator = iterator }

  deinit { unsafe lent.withLock { $0 }?.bytes.deallocate() }

  /// Returns memory with an event's structure, which stays until the next call.
  func lend(_ bytes: [UInt8]) -> UnsafeRawPointer? {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(16, bytes.count), alignment: 8)
    unsafe memory.copyBytes(from: bytes)
    let old = lent.withLock { lent in
      defer { lent = unsafe Lent(bytes: memory) }
      return lent
    }
    unsafe old?.bytes.deallocate()
    return UnsafeRawPointer(memory.baseAddress)
  }
}

/// Runs the body of a C function with an iterator.
private func withIterator(
  _ reference: MusicEventIterator?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (IteratorHandle) throws(MusicError) -> Void
) -> OSStatus {
  answer(function) { () throws(MusicFailure) in
    guard let handle = IteratorHandle.all.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such iterator")
    }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try onMusic { () throws(MusicError) in try body(handle) }
  }
}

/// Makes an iterator.
@c @implementation
public func NewMusicEventIterator(
  _ inTrack: MusicTrack, _ outIterator: UnsafeMutablePointer<MusicEventIterator?>
) -> OSStatus {
  answer("NewMusicEventIterator") { () throws(MusicFailure) in
    try unsafe putHandle(in: outIterator, of: IteratorHandle.all) { () throws(MusicFailure) in
      let track = try unsafe TrackHandle.find(inTrack).track
      return IteratorHandle(try onMusic { () throws(MusicError) in try EventIterator(track) })
    }
  }
}

/// Disposes of an iterator.
@c @implementation
public func DisposeMusicEventIterator(_ inIterator: MusicEventIterator) -> OSStatus {
  unsafe withIterator(inIterator, "DisposeMusicEventIterator") { _ in
    IteratorHandle.all.remove(UInt(bitPattern: inIterator))
  }
}

/// Goes to a time.
@c @implementation
public func MusicEventIteratorSeek(
  _ inIterator: MusicEventIterator, _ inTimeStamp: MusicTimeStamp
) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorSeek") { handle throws(MusicError) in
    try handle.iterator.seek(inTimeStamp)
  }
}

/// Goes to the next event.
@c @implementation
public func MusicEventIteratorNextEvent(_ inIterator: MusicEventIterator) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorNextEvent") { handle throws(MusicError) in
    try handle.iterator.next()
  }
}

/// Goes to the event before.
@c @implementation
public func MusicEventIteratorPreviousEvent(_ inIterator: MusicEventIterator) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorPreviousEvent") { handle throws(MusicError) in
    try handle.iterator.previous()
  }
}

/// Returns the event.
@c @implementation
public func MusicEventIteratorGetEventInfo(
  _ inIterator: MusicEventIterator, _ outTimeStamp: UnsafeMutablePointer<MusicTimeStamp>?,
  _ outEventType: UnsafeMutablePointer<MusicEventType>?,
  _ outEventData: UnsafeMutablePointer<UnsafeRawPointer?>?,
  _ outEventDataSize: UnsafeMutablePointer<UInt32>?
) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorGetEventInfo") { handle throws(MusicError) in
    let event = try handle.iterator.event
    let structure = event.content.structure
    unsafe outTimeStamp?.pointee = event.beat
    unsafe outEventType?.pointee = structure.type
    unsafe outEventData?.pointee = handle.lend(structure.bytes)
    unsafe outEventDataSize?.pointee = UInt32(structure.bytes.count)
  }
}

/// Replaces the event.
@c @implementation
public func MusicEventIteratorSetEventInfo(
  _ inIterator: MusicEventIterator, _ inEventType: MusicEventType, _ inEventData: UnsafeRawPointer
) -> OSStatus {
  answer("MusicEventIteratorSetEventInfo") { () throws(MusicFailure) in
    guard let handle = IteratorHandle.all.object(UInt(bitPattern: inIterator)) else {
      throw .badArgument("there is no such iterator")
    }
    if unsafe hasNull([inEventData]) { throw .badArgument("there is no event") }
    let content = try unsafe EventContent(inEventType, inEventData)
    try onMusic { () throws(MusicError) in try handle.iterator.replace(content) }
  }
}

/// Removes the event.
@c @implementation
public func MusicEventIteratorDeleteEvent(_ inIterator: MusicEventIterator) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorDeleteEvent") { handle throws(MusicError) in
    try handle.iterator.remove()
  }
}

/// Moves the event.
@c @implementation
public func MusicEventIteratorSetEventTime(
  _ inIterator: MusicEventIterator, _ inTimeStamp: MusicTimeStamp
) -> OSStatus {
  unsafe withIterator(inIterator, "MusicEventIteratorSetEventTime") { handle throws(MusicError) in
    try handle.iterator.move(to: inTimeStamp)
  }
}

/// Tells whether there is an event before.
@c @implementation
public func MusicEventIteratorHasPreviousEvent(
  _ inIterator: MusicEventIterator, _ outHasPrevEvent: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withIterator(
    inIterator, "MusicEventIteratorHasPreviousEvent", needs: outHasPrevEvent
  ) { handle throws(MusicError) in
    unsafe outHasPrevEvent.pointee = try handle.iterator.hasPrevious
  }
}

/// Tells whether there is an event behind.
@c @implementation
public func MusicEventIteratorHasNextEvent(
  _ inIterator: MusicEventIterator, _ outHasNextEvent: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withIterator(
    inIterator, "MusicEventIteratorHasNextEvent", needs: outHasNextEvent
  ) { handle throws(MusicError) in
    unsafe outHasNextEvent.pointee = try handle.iterator.hasNext
  }
}

/// Tells whether the iterator is on an event.
@c @implementation
public func MusicEventIteratorHasCurrentEvent(
  _ inIterator: MusicEventIterator, _ outHasCurEvent: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withIterator(
    inIterator, "MusicEventIteratorHasCurrentEvent", needs: outHasCurEvent
  ) { handle throws(MusicError) in
    unsafe outHasCurEvent.pointee = try handle.iterator.hasCurrent
  }
}
