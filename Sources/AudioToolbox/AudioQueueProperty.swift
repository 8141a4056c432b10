import AudioQueue
public import CAudioToolbox
import CoreFoundation

// The property functions of AudioQueue.h.

/// Bytes of a property's value.
private func size(of property: AudioQueuePropertyID, _ handle: QueueHandle) throws(QueueError)
  -> Int
{
  switch property {
  case kAudioQueueProperty_IsRunning, kAudioQueueDeviceProperty_NumberChannels:
    MemoryLayout<UInt32>.size
  case kAudioQueueDeviceProperty_SampleRate: MemoryLayout<Float64>.size
  case kAudioQueueProperty_CurrentDevice: MemoryLayout<CFString>.size
  case kAudioQueueProperty_MagicCookie: handle.magicCookie.count
  case kAudioQueueProperty_StreamDescription: MemoryLayout<AudioStreamBasicDescription>.size
  default: throw .invalidProperty
  }
}

/// Tells the size of a property's value, in bytes.
@c @implementation
public func AudioQueueGetPropertySize(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetPropertySize") { (handle) throws(QueueError) in
    unsafe outDataSize.pointee = UInt32(try size(of: inID, handle))
  }
}

/// Copies a property's value.
@c @implementation
public func AudioQueueGetProperty(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ outData: UnsafeMutableRawPointer,
  _ ioDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetProperty") { (handle) throws(QueueError) in
    let size = try size(of: inID, handle)
    guard unsafe ioDataSize.pointee >= size else { throw .invalidPropertySize }
    let queue = handle.queue
    switch inID {
    case kAudioQueueProperty_IsRunning:
      unsafe outData.storeBytes(of: queue.isRunning ? 1 : 0, as: UInt32.self)
    case kAudioQueueDeviceProperty_SampleRate:
      unsafe outData.storeBytes(of: try queue.deviceSampleRate(), as: Float64.self)
    case kAudioQueueDeviceProperty_NumberChannels:
      unsafe outData.storeBytes(of: UInt32(try queue.deviceChannels()), as: UInt32.self)
    case kAudioQueueProperty_CurrentDevice:
      // The caller releases it.
      let uid = unsafe Unmanaged.passRetained(queue.deviceUID.cfString).toOpaque()
      unsafe outData.storeBytes(of: uid, as: UnsafeMutableRawPointer.self)
    case kAudioQueueProperty_MagicCookie:
      let cookie = handle.magicCookie
      guard cookie.count == size else { throw .invalidPropertySize }
      unsafe outData.copyMemory(from: cookie, byteCount: size)
    default:
      unsafe outData.storeBytes(of: handle.description, as: AudioStreamBasicDescription.self)
    }
    unsafe ioDataSize.pointee = UInt32(size)
  }
}

/// Sets a property.
@c @implementation
public func AudioQueueSetProperty(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID, _ inData: UnsafeRawPointer,
  _ inDataSize: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetProperty") { (handle) throws(QueueError) in
    if inID == kAudioQueueProperty_MagicCookie {
      // Its size varies: all that is given is the cookie.
      handle.magicCookie = unsafe Array(
        UnsafeRawBufferPointer(start: inData, count: Int(inDataSize)))
      return
    }
    let size = try size(of: inID, handle)
    guard inDataSize >= size else { throw .invalidPropertySize }
    guard inID == kAudioQueueProperty_CurrentDevice else { throw .readOnly }
    guard let uid = unsafe inData.loadUnaligned(as: UnsafeRawPointer?.self) else {
      throw .invalidPropertyValue
    }
    let device = unsafe Unmanaged<CFString>.fromOpaque(uid).takeUnretainedValue()
    try handle.queue.setDeviceUID(device.string)
  }
}

/// Has a function called when a property changes.
@c @implementation
public func AudioQueueAddPropertyListener(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID,
  _ inProc: @escaping AudioQueuePropertyListenerProc, _ inUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueAddPropertyListener") { (handle) throws(QueueError) in
    _ = try size(of: inID, handle)
    unsafe handle.addListener(inID, inProc, inUserData)
  }
}

/// Takes a listener back.
@c @implementation
public func AudioQueueRemovePropertyListener(
  _ inAQ: AudioQueueRef, _ inID: AudioQueuePropertyID,
  _ inProc: @escaping AudioQueuePropertyListenerProc, _ inUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueRemovePropertyListener") { (handle) throws(QueueError) in
    _ = try size(of: inID, handle)
    guard unsafe handle.removeListener(inID, inProc, inUserData) else {
      throw .invalidPropertyValue
    }
  }
}
