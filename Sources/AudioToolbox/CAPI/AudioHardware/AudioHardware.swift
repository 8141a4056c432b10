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
  return (try? unsafe HardwareRequest(inObjectID, inAddress.pointee).value()) != nil
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
    unsafe outIsSettable.pointee = try HardwareRequest(inObjectID, inAddress.pointee).isSettable
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
    let request = unsafe HardwareRequest(
      inObjectID, inAddress.pointee, qualifier: inQualifierData,
      qualifierBytes: inQualifierDataSize)
    unsafe outDataSize.pointee = UInt32(try request.value().byteCount)
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
    let request = unsafe HardwareRequest(
      inObjectID, inAddress.pointee, data: outData, dataBytes: ioDataSize.pointee,
      qualifier: inQualifierData, qualifierBytes: inQualifierDataSize)
    try unsafe request.copy(ioDataSize)
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
    try unsafe HardwareRequest(
      inObjectID, inAddress.pointee, data: inData, dataBytes: inDataSize
    ).set()
  }
}

// MARK: Listeners

/// Adds a function to call after changes.
@c @implementation
public func AudioObjectAddPropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer("AudioObjectAddPropertyListener", needs: inAddress) { () throws(HardwareError) in
    try unsafe HardwareListeners.shared.add(
      .object(inListener, inClientData), to: inObjectID, inAddress.pointee)
  }
}

/// Removes such a function.
@c @implementation
public func AudioObjectRemovePropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer("AudioObjectRemovePropertyListener", needs: inAddress) {
    () throws(HardwareError) in
    try unsafe HardwareListeners.shared.remove(
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
    try unsafe HardwareListeners.shared.add(
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
    try unsafe HardwareListeners.shared.remove(
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
  CallbackChecks.excepting {
    answer("AudioDeviceStart") { () throws(HardwareError) in
      let proc = try unsafe ioProc(inDevice, inProcID)
      let isStarted = try onServer(proc.device.start(proc.function))
      // Another thread has destroyed it meanwhile, or stopped the device if it stands for that alone.
      guard isStarted || proc.address == 0 else { throw .noSuchProc(inDevice) }
    }
  }
}

/// Stops an IOProc.
@c @implementation
public func AudioDeviceStop(
  _ inDevice: AudioObjectID, _ inProcID: AudioDeviceIOProcID?
) -> OSStatus {
  CallbackChecks.excepting {
    answer("AudioDeviceStop") { () throws(HardwareError) in
      let proc = try unsafe ioProc(inDevice, inProcID)
      proc.device.stop(proc.function)
      // Another thread may have stopped it, too.
      if proc.address == 0 {
        DeviceReader.end(of: inDevice)
        try? IOProcs.shared.remove(0, of: HardwareObjects.shared.device(inDevice))
      }
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
func openDevice(_ id: AudioObjectID) throws(HardwareError) -> Device {
  let object = try HardwareObjects.shared.device(id)
  do throws(ServerError) {
    let device = try object.device.open()
    if device.isLost { throw .lost(server: object.device.serverName) }
    return device
  } catch { throw .server(error) }
}

/// Returns the device frame of a time stamp.
func frame(of time: AudioTimeStamp, on device: Device) throws(HardwareError) -> Int64 {
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
