public import CAudioToolbox

// The functions of AudioHardwareService.h: older names of those of AudioHardware.h.

/// Returns whether an object has a property.
@c @implementation
public func AudioHardwareServiceHasProperty(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>
) -> Bool {
  unsafe AudioObjectHasProperty(inObjectID, inAddress)
}

/// Returns whether a property can be set.
@c @implementation
public func AudioHardwareServiceIsPropertySettable(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ outIsSettable: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe AudioObjectIsPropertySettable(inObjectID, inAddress, outIsSettable)
}

/// Returns the size of a property's value in bytes.
@c @implementation
public func AudioHardwareServiceGetPropertyDataSize(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?,
  _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe AudioObjectGetPropertyDataSize(
    inObjectID, inAddress, inQualifierDataSize, inQualifierData, outDataSize)
}

/// Copies a property's value.
@c @implementation
public func AudioHardwareServiceGetPropertyData(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?,
  _ ioDataSize: UnsafeMutablePointer<UInt32>, _ outData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe AudioObjectGetPropertyData(
    inObjectID, inAddress, inQualifierDataSize, inQualifierData, ioDataSize, outData)
}

/// Sets a property.
@c @implementation
public func AudioHardwareServiceSetPropertyData(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inQualifierDataSize: UInt32, _ inQualifierData: UnsafeRawPointer?, _ inDataSize: UInt32,
  _ inData: UnsafeRawPointer?
) -> OSStatus {
  unsafe AudioObjectSetPropertyData(
    inObjectID, inAddress, inQualifierDataSize, inQualifierData, inDataSize, inData)
}

/// Adds a function to call after changes.
@c @implementation
public func AudioHardwareServiceAddPropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe AudioObjectAddPropertyListener(inObjectID, inAddress, inListener, inClientData)
}

/// Removes such a function.
@c @implementation
public func AudioHardwareServiceRemovePropertyListener(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inListener: @escaping AudioObjectPropertyListenerProc, _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe AudioObjectRemovePropertyListener(inObjectID, inAddress, inListener, inClientData)
}
