public import CAudioToolbox

// The functions of AudioHardwareDeprecated.h: older names of those of AudioHardware.h.

/// A property as these functions name it.
private struct OldProperty {
  let id: AudioObjectID
  let address: AudioObjectPropertyAddress
  /// The failure if the number is not that of a device or a stream; nil for the system object.
  let missing: HardwareError?

  static func system(_ selector: AudioHardwarePropertyID) -> OldProperty {
    OldProperty(AudioObjectID(kAudioObjectSystemObject), selector, nil)
  }

  static func device(
    _ id: AudioDeviceID, _ channel: UInt32, _ isInput: Bool, _ selector: AudioDevicePropertyID
  ) -> OldProperty {
    OldProperty(
      id, selector, .noSuchDevice(id), channel,
      isInput ? kAudioObjectPropertyScopeInput : kAudioObjectPropertyScopeOutput)
  }

  static func stream(_ id: AudioStreamID, _ channel: UInt32, _ selector: AudioDevicePropertyID)
    -> OldProperty
  {
    OldProperty(id, selector, .noSuchStream(id), channel)
  }

  private init(
    _ id: AudioObjectID, _ selector: AudioObjectPropertySelector, _ missing: HardwareError?,
    _ channel: UInt32 = 0, _ scope: AudioObjectPropertyScope = kAudioObjectPropertyScopeGlobal
  ) {
    self.id = id
    self.missing = missing
    address = AudioObjectPropertyAddress(mSelector: selector, mScope: scope, mElement: channel)
  }

  private func check() throws(HardwareError) {
    switch HardwareObjects.shared.object(id) {
    case .device, .stream: return
    case .system, nil: if let missing { throw missing }
    }
  }

  /// Stores the size and whether the property can be set, where the caller wants them.
  func putInfo(_ size: UnsafeMutablePointer<UInt32>?, _ isWritable: UnsafeMutablePointer<Bool>?)
    throws(HardwareError)
  {
    try check()
    let request = unsafe HardwareRequest(id, address)
    let bytes = try request.value().byteCount
    unsafe size?.pointee = UInt32(bytes)
    let isSettable = try request.isSettable
    unsafe isWritable?.pointee = isSettable
  }

  func copy(_ size: UnsafeMutablePointer<UInt32>, _ data: UnsafeMutableRawPointer)
    throws(HardwareError)
  {
    try check()
    if unsafe hasNull([UnsafeRawPointer(size), UnsafeRawPointer(data)]) {
      throw .badArgument("a pointer is NULL")
    }
    try unsafe HardwareRequest(id, address, data: data, dataBytes: size.pointee).copy(size)
  }

  func set(_ size: UInt32, _ data: UnsafeRawPointer?) throws(HardwareError) {
    try check()
    try unsafe HardwareRequest(id, address, data: data, dataBytes: size).set()
  }

  func add(_ function: String, _ callback: HardwareListeners.Callback) -> OSStatus {
    answer(function) { () throws(HardwareError) in
      try callback.check()
      try check()
      try HardwareListeners.shared.add(callback, to: id, address)
    }
  }

  func remove(_ function: String, _ callback: HardwareListeners.Callback) -> OSStatus {
    answer(function) { () throws(HardwareError) in
      try callback.check()
      try check()
      try HardwareListeners.shared.remove(callback, from: id, address)
    }
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
    try unsafe OldProperty.system(inPropertyID).putInfo(outSize, outWritable)
  }
}

/// Copies the value of a property of the system.
@c @implementation
public func AudioHardwareGetProperty(
  _ inPropertyID: AudioHardwarePropertyID, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  answer("AudioHardwareGetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.system(inPropertyID).copy(ioPropertyDataSize, outPropertyData)
  }
}

/// Sets a property of the system.
@c @implementation
public func AudioHardwareSetProperty(
  _ inPropertyID: AudioHardwarePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioHardwareSetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.system(inPropertyID).set(inPropertyDataSize, inPropertyData)
  }
}

/// Adds a function to call after changes of a property of the system.
@c @implementation
public func AudioHardwareAddPropertyListener(
  _ inPropertyID: AudioHardwarePropertyID, _ inProc: @escaping AudioHardwarePropertyListenerProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe OldProperty.system(inPropertyID).add(
    "AudioHardwareAddPropertyListener", .hardware(inProc, inClientData))
}

/// Removes a function that is called after changes of a property of the system.
@c @implementation
public func AudioHardwareRemovePropertyListener(
  _ inPropertyID: AudioHardwarePropertyID, _ inProc: @escaping AudioHardwarePropertyListenerProc
) -> OSStatus {
  unsafe OldProperty.system(inPropertyID).remove(
    "AudioHardwareRemovePropertyListener", .hardware(inProc, nil))
}

// MARK: Devices

/// Returns the size of a property of a device, and whether it can be set.
@c @implementation
public func AudioDeviceGetPropertyInfo(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ outSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioDeviceGetPropertyInfo") { () throws(HardwareError) in
    try unsafe OldProperty.device(inDevice, inChannel, isInput, inPropertyID).putInfo(
      outSize, outWritable)
  }
}

/// Copies the value of a property of a device.
@c @implementation
public func AudioDeviceGetProperty(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  answer("AudioDeviceGetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.device(inDevice, inChannel, isInput, inPropertyID).copy(
      ioPropertyDataSize, outPropertyData)
  }
}

/// Sets a property of a device.
@c @implementation
public func AudioDeviceSetProperty(
  _ inDevice: AudioDeviceID, _ inWhen: UnsafePointer<AudioTimeStamp>?, _ inChannel: UInt32,
  _ isInput: Bool, _ inPropertyID: AudioDevicePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioDeviceSetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.device(inDevice, inChannel, isInput, inPropertyID).set(
      inPropertyDataSize, inPropertyData)
  }
}

/// Adds a function to call after changes of a property of a device.
@c @implementation
public func AudioDeviceAddPropertyListener(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ inProc: @escaping AudioDevicePropertyListenerProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe OldProperty.device(inDevice, inChannel, isInput, inPropertyID).add(
    "AudioDeviceAddPropertyListener", .device(inProc, inClientData))
}

/// Removes a function that is called after changes of a property of a device.
@c @implementation
public func AudioDeviceRemovePropertyListener(
  _ inDevice: AudioDeviceID, _ inChannel: UInt32, _ isInput: Bool,
  _ inPropertyID: AudioDevicePropertyID, _ inProc: @escaping AudioDevicePropertyListenerProc
) -> OSStatus {
  unsafe OldProperty.device(inDevice, inChannel, isInput, inPropertyID).remove(
    "AudioDeviceRemovePropertyListener", .device(inProc, nil))
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
    try unsafe OldProperty.stream(inStream, inChannel, inPropertyID).putInfo(outSize, outWritable)
  }
}

/// Copies the value of a property of a stream.
@c @implementation
public func AudioStreamGetProperty(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  answer("AudioStreamGetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.stream(inStream, inChannel, inPropertyID).copy(
      ioPropertyDataSize, outPropertyData)
  }
}

/// Sets a property of a stream.
@c @implementation
public func AudioStreamSetProperty(
  _ inStream: AudioStreamID, _ inWhen: UnsafePointer<AudioTimeStamp>?, _ inChannel: UInt32,
  _ inPropertyID: AudioDevicePropertyID, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer?
) -> OSStatus {
  answer("AudioStreamSetProperty") { () throws(HardwareError) in
    try unsafe OldProperty.stream(inStream, inChannel, inPropertyID).set(
      inPropertyDataSize, inPropertyData)
  }
}

/// Adds a function to call after changes of a property of a stream.
@c @implementation
public func AudioStreamAddPropertyListener(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ inProc: @escaping AudioStreamPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe OldProperty.stream(inStream, inChannel, inPropertyID).add(
    "AudioStreamAddPropertyListener", .stream(inProc, inClientData))
}

/// Removes a function that is called after changes of a property of a stream.
@c @implementation
public func AudioStreamRemovePropertyListener(
  _ inStream: AudioStreamID, _ inChannel: UInt32, _ inPropertyID: AudioDevicePropertyID,
  _ inProc: @escaping AudioStreamPropertyListenerProc
) -> OSStatus {
  unsafe OldProperty.stream(inStream, inChannel, inPropertyID).remove(
    "AudioStreamRemovePropertyListener", .stream(inProc, nil))
}
