import AudioQueue
public import CAudioToolbox
import CoreFoundation

// The property functions of AudioQueue.h.

/// Returns the size of a property's value in bytes.
@c @implementation
public func AudioQueueGetPropertySize(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetPropertySize", needs: outDataSize) {
    (handle) throws(QueueError) in
    let property = QueueProperty(handle: handle, input: PropertyInput(inID))
    guard let entry = try property.entry() else { throw .invalidProperty }
    unsafe outDataSize.pointee = UInt32(try entry.size)
  }
}

/// Copies a property's value.
@c @implementation
public func AudioQueueGetProperty(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ outData: UnsafeMutableRawPointer,
  _ ioDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetProperty", needs: outData, ioDataSize) {
    (handle) throws(QueueError) in
    let property = QueueProperty(handle: handle, input: PropertyInput(inID))
    guard let entry = try property.entry() else { throw .invalidProperty }
    let (size, room) = unsafe (try entry.size, ioDataSize.pointee)
    // A size that a program never set is often 0: if it asks again, it gets the value.
    if room == 0 { unsafe ioDataSize.pointee = UInt32(size) }
    // Programs that ask for IsRunning have often set no size at all.
    let output = unsafe PropertyInput<QueueError>(inID, outData, entry.isWord ? 4 : room)
    // Asked before the value is. A list of levels may be cut to one.
    guard output.byteCount >= min(size, MemoryLayout<AudioQueueLevelMeterState>.stride) else {
      throw .invalidPropertySize
    }
    try unsafe output.copy(entry, ioDataSize, missing: .invalidProperty)
  }
}

/// Sets a property.
@c @implementation
public func AudioQueueSetProperty(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ inData: UnsafeRawPointer,
  _ inDataSize: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetProperty") { (handle) throws(QueueError) in
    let input = try unsafe PropertyInput<QueueError>(inID, given: inData, inDataSize)
    guard let entry = try QueueProperty(handle: handle, input: input).entry() else {
      throw .invalidProperty
    }
    guard let write = entry.write else { throw .readOnly }
    try write()
  }
}

/// Throws for a property that no queue has.
private func checkKnown(_ id: AudioQueuePropertyID, _ handle: QueueHandle) throws(QueueError) {
  let property = QueueProperty(handle: handle, input: PropertyInput(id))
  if !property.isKnown { throw .invalidProperty }
}

/// Registers a function to be called when a property changes.
@c @implementation
public func AudioQueueAddPropertyListener(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID,
  _ inProc: @escaping AudioQueuePropertyListenerProc, _ inUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withQueue(
    inAQ, "AudioQueueAddPropertyListener",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { (handle) throws(QueueError) in
    try checkKnown(inID, handle)
    unsafe handle.addListener(inID, inProc, inUserData)
  }
}

/// Removes a listener.
@c @implementation
public func AudioQueueRemovePropertyListener(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID,
  _ inProc: @escaping AudioQueuePropertyListenerProc, _ inUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withQueue(
    inAQ, "AudioQueueRemovePropertyListener",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { (handle) throws(QueueError) in
    try checkKnown(inID, handle)
    guard unsafe handle.removeListener(inID, inProc, inUserData) else {
      throw .invalidPropertyValue
    }
  }
}
