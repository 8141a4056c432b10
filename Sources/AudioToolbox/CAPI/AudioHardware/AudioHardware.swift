import AudioQueue
public import CAudioToolbox
import CFork
public import CoreFoundation
import Hardware
import Server
import System
import Timeline

// The functions of AudioHardware.h. The header documents each function and its units.

// MARK: Properties

/// Returns the object of a number.
private func object(_ id: AudioObjectID) throws(HardwareError) -> HardwareObject {
  guard let object = HardwareObjects.shared.object(id) else { throw .noSuchObject(id) }
  return object
}

extension HardwareRequest {
  init(
    _ address: AudioObjectPropertyAddress, qualifier: UnsafeRawPointer?, qualifierBytes: UInt32,
    data: UnsafeMutableRawPointer? = nil, dataBytes: UInt32 = 0
  ) {
    selector = address.mSelector
    scope = HardwareScope(address.mScope)
    element = address.mElement
    unsafe self.qualifier = UnsafeRawBufferPointer(
      start: qualifier, count: qualifier == nil ? 0 : Int(qualifierBytes))
    unsafe self.data = UnsafeMutableRawBufferPointer(
      start: data, count: data == nil ? 0 : Int(dataBytes))
  }
}

extension HardwareObject {
  /// Returns the value of a property.
  fileprivate func value(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue {
    switch self {
    case .system: try SystemProperties.value(request)
    case .device(let device): try DeviceProperties(device).value(request)
    case .stream(let device, let isInput):
      try DeviceProperties(device).streamValue(request, isInput: isInput)
    }
  }

  fileprivate func isSettable(_ selector: AudioObjectPropertySelector) -> Bool {
    switch self {
    case .system: SystemProperties.isSettable(selector)
    case .device: DeviceProperties.isSettable(selector)
    case .stream: DeviceProperties.isStreamPropertySettable(selector)
    }
  }

  fileprivate func set(_ request: HardwareRequest) throws(HardwareError) {
    switch self {
    case .system: try SystemProperties.set(request)
    case .device(let device): try DeviceProperties(device).set(request)
    case .stream(let device, let isInput):
      try DeviceProperties(device).setFormat(request, scope: isInput ? .input : .output)
    }
  }
}

/// Returns the size of a property's value in bytes.
func hardwareSize(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress, _ qualifierBytes: UInt32 = 0,
  _ qualifier: UnsafeRawPointer? = nil
) throws(HardwareError) -> Int {
  let request = unsafe HardwareRequest(
    address, qualifier: qualifier, qualifierBytes: qualifierBytes)
  return try object(id).value(request).byteCount
}

/// Copies a property's value, and stores the number of bytes.
func copyHardwareValue(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress, _ qualifierBytes: UInt32 = 0,
  _ qualifier: UnsafeRawPointer? = nil, _ size: UnsafeMutablePointer<UInt32>,
  _ data: UnsafeMutableRawPointer
) throws(HardwareError) {
  let request = unsafe HardwareRequest(
    address, qualifier: qualifier, qualifierBytes: qualifierBytes, data: data,
    dataBytes: size.pointee)
  let value = try object(id).value(request)
  guard let count = unsafe value.write(to: request.data) else {
    throw .wrongSize(
      address.mSelector, needed: value.byteCount, size: unsafe request.data.count)
  }
  unsafe size.pointee = UInt32(count)
}

/// Returns a property's value.
func hardwareValue(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress
) throws(HardwareError) -> CopiedValue {
  try object(id).value(unsafe HardwareRequest(address, qualifier: nil, qualifierBytes: 0))
}

func setHardwareValue(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress, _ size: UInt32,
  _ data: UnsafeRawPointer?
) throws(HardwareError) {
  let object = try object(id)
  let request = unsafe HardwareRequest(
    address, qualifier: nil, qualifierBytes: 0, data: UnsafeMutableRawPointer(mutating: data),
    dataBytes: size)
  guard object.isSettable(address.mSelector) else {
    _ = try object.value(unsafe HardwareRequest(address, qualifier: nil, qualifierBytes: 0))
    throw .notSettable(address.mSelector, id)
  }
  try object.set(request)
}

func isHardwareValueSettable(
  _ id: AudioObjectID, _ address: AudioObjectPropertyAddress
) throws(HardwareError) -> Bool {
  let object = try object(id)
  _ = try object.value(unsafe HardwareRequest(address, qualifier: nil, qualifierBytes: 0))
  return object.isSettable(address.mSelector)
}

func hasHardwareValue(_ id: AudioObjectID, _ address: AudioObjectPropertyAddress) -> Bool {
  do throws(HardwareError) {
    _ = try hardwareSize(id, address)
    return true
  } catch { return false }
}

/// Writes an object to standard output.
@c @implementation
public func AudioObjectShow(_ inObjectID: AudioObjectID) {
  switch HardwareObjects.shared.object(inObjectID) {
  case .system: print("AudioObjectID \(inObjectID): the system")
  case .device(let device): print("AudioObjectID \(inObjectID): device \(device.uid)")
  case .stream(let device, let isInput):
    print("AudioObjectID \(inObjectID): \(isInput ? "input" : "output") stream of \(device.uid)")
  case nil: print("AudioObjectID \(inObjectID): no object")
  }
}

/// Returns whether an object has a property.
@c @implementation
public func AudioObjectHasProperty(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>
) -> Bool {
  guard cue_fork_may_call(), unsafe !hasNull([inAddress]) else { return false }
  return unsafe hasHardwareValue(inObjectID, inAddress.pointee)
}

/// Returns whether a property can be set.
@c @implementation
public func AudioObjectIsPropertySettable(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ outIsSettable: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe answer("AudioObjectIsPropertySettable", needs: inAddress, outIsSettable) {
    () throws(HardwareError) in
    unsafe outIsSettable.pointee = false
    unsafe outIsSettable.pointee = try isHardwareValueSettable(inObjectID, inAddress.pointee)
  }
}

/// Returns the size of a property's value in bytes.
@c @implementation
public func AudioObjectGetPropertyDataSize(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?,
  _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioObjectGetPropertyDataSize", needs: inAddress, outDataSize) {
    () throws(HardwareError) in
    unsafe outDataSize.pointee = UInt32(
      try hardwareSize(inObjectID, inAddress.pointee, inQualifierDataSize, inQualifierData))
  }
}

/// Copies a property's value.
@c @implementation
public func AudioObjectGetPropertyData(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?,
  _ ioDataSize: UnsafeMutablePointer<UInt32>, _ outData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer("AudioObjectGetPropertyData", needs: inAddress, ioDataSize, outData) {
    () throws(HardwareError) in
    try unsafe copyHardwareValue(
      inObjectID, inAddress.pointee, inQualifierDataSize, inQualifierData, ioDataSize, outData)
  }
}

/// Sets a property.
@c @implementation
public func AudioObjectSetPropertyData(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?, _ inDataSize: UInt32,
  _ inData: UnsafeRawPointer?
) -> OSStatus {
  unsafe answer("AudioObjectSetPropertyData", needs: inAddress) { () throws(HardwareError) in
    try unsafe setHardwareValue(inObjectID, inAddress.pointee, inDataSize, inData)
  }
}

// MARK: Listeners

/// Adds a function to call after changes.
@c @implementation
public func AudioObjectAddPropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioObjectAddPropertyListener", needs: inAddress,
    unsafeBitCast(inListener, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    _ = try object(inObjectID)
    unsafe HardwareListeners.shared.add(
      .object(inListener, inClientData), to: inObjectID, inAddress.pointee)
  }
}

/// Removes such a function.
@c @implementation
public func AudioObjectRemovePropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(
    "AudioObjectRemovePropertyListener", needs: inAddress,
    unsafeBitCast(inListener, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    _ = try object(inObjectID)
    unsafe HardwareListeners.shared.remove(
      .object(inListener, inClientData), from: inObjectID, inAddress.pointee)
  }
}

/// Implements `AudioObjectAddPropertyListenerBlock`. A raw pointer replaces the block: a Swift closure would
/// not tell whether it is the same one again.
@c(AudioObjectAddPropertyListenerBlock)
public func addHardwareListenerBlock(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inDispatchQueue: dispatch_queue_t?, _ inListener: UnsafeRawPointer?
) -> OSStatus {
  unsafe answer("AudioObjectAddPropertyListenerBlock", needs: inAddress) {
    () throws(HardwareError) in
    guard let block = unsafe inListener else { throw .badArgument("the block is NULL") }
    _ = try object(inObjectID)
    unsafe HardwareListeners.shared.add(
      .block(
        unsafe CopiedBlock(block), on: inDispatchQueue.map { unsafe SerialQueue(targeting: $0) }),
      to: inObjectID,
      inAddress.pointee)
  }
}

/// Implements `AudioObjectRemovePropertyListenerBlock`, as above.
@c(AudioObjectRemovePropertyListenerBlock)
public func removeHardwareListenerBlock(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inDispatchQueue: dispatch_queue_t?, _ inListener: UnsafeRawPointer?
) -> OSStatus {
  unsafe answer("AudioObjectRemovePropertyListenerBlock", needs: inAddress) {
    () throws(HardwareError) in
    guard let block = unsafe inListener else { throw .badArgument("the block is NULL") }
    _ = try object(inObjectID)
    unsafe HardwareListeners.shared.remove(
      .block(unsafe CopiedBlock(block), on: nil), from: inObjectID, inAddress.pointee)
  }
}

// MARK: IOProcs

/// Adds a function to a device.
@c @implementation
public func AudioDeviceCreateIOProcID(
  _ inDevice: AudioObjectID, _ inProc: @escaping AudioDeviceIOProc,
  _ inClientData: UnsafeMutableRawPointer?,
  _ outIOProcID: UnsafeMutablePointer<AudioDeviceIOProcID?>
) -> OSStatus {
  unsafe answer(
    "AudioDeviceCreateIOProcID", needs: outIOProcID,
    unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { () throws(HardwareError) in
    unsafe outIOProcID.pointee = nil
    let device = try HardwareObjects.shared.device(inDevice)
    let handle = unsafe IOProcs.shared.add(inProc, inClientData, to: device)
    unsafe outIOProcID.pointee = unsafeBitCast(handle, to: AudioDeviceIOProcID?.self)
  }
}

/// Stops and removes an IOProc.
@c @implementation
public func AudioDeviceDestroyIOProcID(
  _ inDevice: AudioObjectID, _ inIOProcID: @escaping AudioDeviceIOProcID
) -> OSStatus {
  answer("AudioDeviceDestroyIOProcID") { () throws(HardwareError) in
    let device = try HardwareObjects.shared.device(inDevice)
    try IOProcs.shared.remove(unsafe unsafeBitCast(inIOProcID, to: UInt.self), of: device)
  }
}

/// Returns the IOProc that a start or a stop is for.
private func ioProc(
  _ device: AudioObjectID, _ id: AudioDeviceIOProcID?
) throws(HardwareError) -> IOProc {
  let object = try HardwareObjects.shared.device(device)
  let number = unsafe unsafeBitCast(id, to: UInt.self)
  return number == 0
    ? IOProcs.shared.idleProc(of: object) : try IOProcs.shared.proc(number, of: object)
}

/// Starts an IOProc.
@c @implementation
public func AudioDeviceStart(
  _ inDevice: AudioObjectID, _ inProcID: AudioDeviceIOProcID?
) -> OSStatus {
  answer("AudioDeviceStart") { () throws(HardwareError) in
    let proc = try unsafe ioProc(inDevice, inProcID)
    let isStarted: Bool
    do throws(ServerError) {
      isStarted = try proc.device.start(proc.function)
    } catch {
      throw .server(error)
    }
    // Another thread has destroyed it meanwhile, or stopped the device if it stands for that alone.
    guard isStarted || proc.address == 0 else { throw .noSuchProc(inDevice) }
  }
}

/// Stops an IOProc.
@c @implementation
public func AudioDeviceStop(
  _ inDevice: AudioObjectID, _ inProcID: AudioDeviceIOProcID?
) -> OSStatus {
  answer("AudioDeviceStop") { () throws(HardwareError) in
    let proc = try unsafe ioProc(inDevice, inProcID)
    proc.device.stop(proc.function)
    // Another thread may have stopped it, too.
    if proc.address == 0 {
      try? IOProcs.shared.remove(0, of: HardwareObjects.shared.device(inDevice))
    }
  }
}

// MARK: Time

extension AudioTimeStamp {
  fileprivate init(frame: Int64, of device: Device) {
    self.init()
    mSampleTime = Double(frame)
    mHostTime = device.hostTime(ofFrame: frame)
    mRateScalar = 1
    mFlags = [.sampleTimeValid, .hostTimeValid, .rateScalarValid]
  }
}

/// Returns the open device of a number.
private func openDevice(_ id: AudioObjectID) throws(HardwareError) -> Device {
  let object = try HardwareObjects.shared.device(id)
  do throws(ServerError) {
    let device = try object.device.open()
    if device.isLost { throw .lost(server: object.device.serverName) }
    return device
  } catch { throw .server(error) }
}

/// Returns the device frame of a time stamp.
private func frame(of time: AudioTimeStamp, on device: Device) throws(HardwareError) -> Int64 {
  switch StartTime(time) {
  case .frame(let frame): return frame
  case .hostTime(let hostTime): return device.frame(atHostTime: hostTime)
  case .atOnce: throw .badArgument("the time stamp has neither sample time nor host time")
  case nil: throw .badArgument("the sample time \(time.mSampleTime) is no time of a clock")
  }
}

/// Returns the device's time in frames, and the host time.
@c @implementation
public func AudioDeviceGetCurrentTime(
  _ inDevice: AudioObjectID, _ outTime: UnsafeMutablePointer<AudioTimeStamp>
) -> OSStatus {
  unsafe answer("AudioDeviceGetCurrentTime", needs: outTime) { () throws(HardwareError) in
    let device = try openDevice(inDevice)
    unsafe outTime.pointee = AudioTimeStamp(frame: device.now, of: device)
  }
}

/// Translates between the device's frames and host time.
@c @implementation
public func AudioDeviceTranslateTime(
  _ inDevice: AudioObjectID, _ inTime: UnsafePointer<AudioTimeStamp>,
  _ outTime: UnsafeMutablePointer<AudioTimeStamp>
) -> OSStatus {
  unsafe answer("AudioDeviceTranslateTime", needs: inTime, outTime) { () throws(HardwareError) in
    let device = try openDevice(inDevice)
    let time = AudioTimeStamp(frame: try frame(of: unsafe inTime.pointee, on: device), of: device)
    let wanted = unsafe outTime.pointee.mFlags.intersection(time.mFlags)
    unsafe outTime.pointee = time
    if !wanted.isEmpty { unsafe outTime.pointee.mFlags = wanted }
  }
}

/// Returns the earliest time at which a queue on the device can start.
@c @implementation
public func AudioDeviceGetNearestStartTime(
  _ inDevice: AudioObjectID, _ ioRequestedStartTime: UnsafeMutablePointer<AudioTimeStamp>,
  _ inFlags: UInt32
) -> OSStatus {
  unsafe answer("AudioDeviceGetNearestStartTime", needs: ioRequestedStartTime) {
    () throws(HardwareError) in
    let device = try openDevice(inDevice)
    let wanted = try frame(of: unsafe ioRequestedStartTime.pointee, on: device)
    let earliest = device.earliestStart ?? device.now
    unsafe ioRequestedStartTime.pointee = AudioTimeStamp(frame: max(wanted, earliest), of: device)
  }
}

// MARK: Aggregate devices

/// Refuses to create an aggregate device. A raw pointer replaces the CFDictionary, which Swift cannot
/// use in a function that it implements for C.
@c(AudioHardwareCreateAggregateDevice)
public func createAggregateDevice(
  _ inDescription: UnsafeRawPointer?, _ outDeviceID: UnsafeMutablePointer<AudioObjectID>?
) -> OSStatus {
  answer("AudioHardwareCreateAggregateDevice") { () throws(HardwareError) in
    unsafe outDeviceID?.pointee = AudioObjectID(kAudioObjectUnknown)
    throw .unsupported("JACK has no aggregate devices")
  }
}

/// Refuses to destroy an aggregate device: there is none.
@c @implementation
public func AudioHardwareDestroyAggregateDevice(_ inDeviceID: AudioObjectID) -> OSStatus {
  answer("AudioHardwareDestroyAggregateDevice") { () throws(HardwareError) in
    throw .unsupported("JACK has no aggregate devices")
  }
}

/// Closes the clients that nothing needs.
@c @implementation
public func AudioHardwareUnload() -> OSStatus {
  for object in HardwareObjects.shared.known { object.device.closeIfUnused() }
  return noErr
}
