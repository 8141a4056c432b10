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
    unsafe outDataSize.pointee = UInt32(try QueueProperty.named(inID).byteCount(handle))
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
    let property = try QueueProperty.named(inID)
    let size = unsafe ioDataSize.pointee
    // A size that a program never set is often 0: if it asks again, it gets the value.
    if size == 0 { unsafe ioDataSize.pointee = UInt32(try property.byteCount(handle)) }
    unsafe ioDataSize.pointee = UInt32(try property.read(handle, into: outData, size: size))
  }
}

/// Sets a property.
@c @implementation
public func AudioQueueSetProperty(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ inData: UnsafeRawPointer,
  _ inDataSize: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetProperty") { (handle) throws(QueueError) in
    guard let value = unsafe copyBytes(at: inData, count: inDataSize) else {
      throw .badArgument("the value is NULL")
    }
    try QueueProperty.named(inID).write(handle, from: value)
  }
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
    _ = try QueueProperty.named(inID)
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
    _ = try QueueProperty.named(inID)
    guard unsafe handle.removeListener(inID, inProc, inUserData) else {
      throw .invalidPropertyValue
    }
  }
}
