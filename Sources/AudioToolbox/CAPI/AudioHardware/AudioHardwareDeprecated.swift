public import CAudioToolbox

// The functions of AudioHardwareDeprecated.h: older names of those of AudioHardware.h.

private func address(
  _ selector: AudioObjectPropertySelector, _ element: UInt32 = 0, isInput: Bool? = nil
) -> AudioObjectPropertyAddress {
  let scope =
    switch isInput {
    case nil: kAudioObjectPropertyScopeGlobal
    case false?: kAudioObjectPropertyScopeOutput
    case true?: kAudioObjectPropertyScopeInput
    }
  return AudioObjectPropertyAddress(mSelector: selector, mScope: scope, mElement: element)
}

/// Stores a property's size and whether it can be set, where the caller wants them.
private func putInfo(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress,
  _ size: UnsafeMutablePointer<UInt32>?, _ isWritable: UnsafeMutablePointer<Bool>?
) throws(HardwareError) {
  let bytes = try hardwareSize(id, address)
  unsafe size?.pointee = UInt32(bytes)
  let isSettable = try isHardwareValueSettable(id, address)
  unsafe isWritable?.pointee = isSettable
}

/// Copies a property's value.
private func copyValue(
  _ function: String, _ id: AudioObjectID, _ address: AudioObjectPropertyAddress,
  _ size: UnsafeMutablePointer<UInt32>, _ data: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer(function, needs: size, data) { () throws(HardwareError) in
    try unsafe copyHardwareValue(id, address, 0, nil, size, data)
  }
}

// MARK: The system

/// Returns the size of a property of the system, and whether it can be set.
@c @implementation
public func AudioHardwareGetPropertyInfo(
  _ inPropertyID: AudioHardwarePropertyID, _ outSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioHardwareGetPropertyInfo") { () throws(HardwareError) in
    try unsafe putInfo(
      AudioObjectID(kAudioObjectSystemObject), address(inPropertyID), outSize, outWritable)
  }
}

/// Copies the value of a property of the system.
@c @implementation
public func AudioHardwareGetProperty(
  _ inPropertyID: AudioHardwarePropertyID, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe copyValue(
    "AudioHardwareGetProperty", AudioObjectID(kAudioObjectSystemObject), address(inPropertyID),
    ioPropertyDataSize, outPropertyData)
}

/// Sets a property of the system.
@c @implementation
public func AudioHardwareSetProperty(
  _ inPropertyID: AudioHardwarePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioHardwareSetProperty") { () throws(HardwareError) in
    try unsafe setHardwareValue(
      AudioObjectID(kAudioObjectSystemObject), address(inPropertyID), inPropertyDataSize,
      inPropertyData)
  }
}

/// Adds a function to call after changes of a property of the system.
@c @implementation
public func AudioHardwareAddPropertyListener(
  _ inPropertyID: AudioHardwarePropertyID, _ inProc: @escaping AudioHardwarePropertyListenerProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioHardwareAddPropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    unsafe HardwareListeners.shared.add(
      .hardware(inProc, inClientData), to: AudioObjectID(kAudioObjectSystemObject),
      address(inPropertyID))
  }
}

/// Removes a function that is called after changes of a property of the system.
@c @implementation
public func AudioHardwareRemovePropertyListener(
  _ inPropertyID: AudioHardwarePropertyID, _ inProc: @escaping AudioHardwarePropertyListenerProc
) -> OSStatus {
  unsafe answer(
    "AudioHardwareRemovePropertyListener",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    unsafe HardwareListeners.shared.remove(
      .hardware(inProc, nil), from: AudioObjectID(kAudioObjectSystemObject),
      address(inPropertyID), withAnyData: true)
  }
}

// MARK: Devices

/// Throws unless a number is that of a device or a stream.
private func check(_ id: AudioObjectID, isStream: Bool = false) throws(HardwareError) {
  switch HardwareObjects.shared.object(id) {
  case .device, .stream: return
  case .system, nil: throw isStream ? .noSuchStream(id) : .noSuchDevice(id)
  }
}

/// Returns the size of a property of a device, and whether it can be set.
@c @implementation
public func AudioDeviceGetPropertyInfo(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ outSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioDeviceGetPropertyInfo") { () throws(HardwareError) in
    try check(inDevice)
    try unsafe putInfo(
      inDevice, address(inPropertyID, inChannel, isInput: isInput), outSize, outWritable)
  }
}

/// Copies the value of a property of a device.
@c @implementation
public func AudioDeviceGetProperty(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  let status = answer("AudioDeviceGetProperty") { () throws(HardwareError) in try check(inDevice) }
  if status != noErr { return status }
  return unsafe copyValue(
    "AudioDeviceGetProperty", inDevice, address(inPropertyID, inChannel, isInput: isInput),
    ioPropertyDataSize, outPropertyData)
}

/// Sets a property of a device.
@c @implementation
public func AudioDeviceSetProperty(
  _ inDevice: AudioDeviceID, _ inWhen: UnsafePointer<AudioTimeStamp>?, _ inChannel: UInt32,
  _ isInput: Bool, _ inPropertyID: AudioDevicePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioDeviceSetProperty") { () throws(HardwareError) in
    try check(inDevice)
    try unsafe setHardwareValue(
      inDevice, address(inPropertyID, inChannel, isInput: isInput), inPropertyDataSize,
      inPropertyData)
  }
}

/// Adds a function to call after changes of a property of a device.
@c @implementation
public func AudioDeviceAddPropertyListener(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ inProc: @escaping AudioDevicePropertyListenerProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioDeviceAddPropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    try check(inDevice)
    unsafe HardwareListeners.shared.add(
      .device(inProc, inClientData), to: inDevice,
      address(inPropertyID, inChannel, isInput: isInput))
  }
}

/// Removes a function that is called after changes of a property of a device.
@c @implementation
public func AudioDeviceRemovePropertyListener(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ inProc: @escaping AudioDevicePropertyListenerProc
) -> OSStatus {
  unsafe answer(
    "AudioDeviceRemovePropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    try check(inDevice)
    unsafe HardwareListeners.shared.remove(
      .device(inProc, nil), from: inDevice, address(inPropertyID, inChannel, isInput: isInput),
      withAnyData: true)
  }
}

/// Adds a function to a device, or replaces its data.
@c @implementation
public func AudioDeviceAddIOProc(
  _ inDevice: AudioDeviceID, _ inProc: @escaping AudioDeviceIOProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioDeviceAddIOProc", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    let device = try HardwareObjects.shared.device(inDevice)
    let number = unsafe unsafeBitCast(inProc, to: UInt.self)
    do throws(HardwareError) { try IOProcs.shared.remove(number, of: device) } catch {}
    _ = unsafe IOProcs.shared.add(inProc, inClientData, to: device)
  }
}

/// Stops and removes a function of a device.
@c @implementation
public func AudioDeviceRemoveIOProc(
  _ inDevice: AudioDeviceID, _ inProc: @escaping AudioDeviceIOProc
) -> OSStatus {
  answer("AudioDeviceRemoveIOProc") { () throws(HardwareError) in
    let device = try HardwareObjects.shared.device(inDevice)
    try IOProcs.shared.remove(unsafe unsafeBitCast(inProc, to: UInt.self), of: device)
  }
}

// MARK: Streams

/// Returns the size of a property of a stream, and whether it can be set.
@c @implementation
public func AudioStreamGetPropertyInfo(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ outSize: UnsafeMutablePointer<UInt32>?, _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioStreamGetPropertyInfo") { () throws(HardwareError) in
    try check(inStream, isStream: true)
    try unsafe putInfo(inStream, address(inPropertyID, inChannel), outSize, outWritable)
  }
}

/// Copies the value of a property of a stream.
@c @implementation
public func AudioStreamGetProperty(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  let status = answer("AudioStreamGetProperty") { () throws(HardwareError) in
    try check(inStream, isStream: true)
  }
  if status != noErr { return status }
  return unsafe copyValue(
    "AudioStreamGetProperty", inStream, address(inPropertyID, inChannel), ioPropertyDataSize,
    outPropertyData)
}

/// Sets a property of a stream.
@c @implementation
public func AudioStreamSetProperty(
  _ inStream: AudioStreamID, _ inWhen: UnsafePointer<AudioTimeStamp>?, _ inChannel: UInt32,
  _ inPropertyID: AudioDevicePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioStreamSetProperty") { () throws(HardwareError) in
    try check(inStream, isStream: true)
    try unsafe setHardwareValue(
      inStream, address(inPropertyID, inChannel), inPropertyDataSize, inPropertyData)
  }
}

/// Adds a function to call after changes of a property of a stream.
@c @implementation
public func AudioStreamAddPropertyListener(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ inProc: @escaping AudioStreamPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioStreamAddPropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    try check(inStream, isStream: true)
    unsafe HardwareListeners.shared.add(
      .stream(inProc, inClientData), to: inStream, address(inPropertyID, inChannel))
  }
}

/// Removes a function that is called after changes of a property of a stream.
@c @implementation
public func AudioStreamRemovePropertyListener(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ inProc: @escaping AudioStreamPropertyListenerProc
) -> OSStatus {
  unsafe answer(
    "AudioStreamRemovePropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    try check(inStream, isStream: true)
    unsafe HardwareListeners.shared.remove(
      .stream(inProc, nil), from: inStream, address(inPropertyID, inChannel), withAnyData: true)
  }
}
