// The C headers have the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CAudioToolbox
public import CoreFoundation

// The functions of Core MIDI that take or give strings, data and dictionaries, for Foundation's classes, and the names
// of properties, which are macros in C.

// MARK: Clients and ports

@discardableResult
public func MIDIClientCreate(
  _ name: CFString, _ notifyProc: MIDINotifyProc?, _ notifyRefCon: UnsafeMutableRawPointer?,
  _ outClient: UnsafeMutablePointer<MIDIClientRef>
) -> OSStatus { unsafe MIDIClientCreate(name._core, notifyProc, notifyRefCon, outClient) }

@discardableResult
public func MIDIClientCreateWithBlock(
  _ name: CFString, _ outClient: UnsafeMutablePointer<MIDIClientRef>,
  _ notifyBlock: MIDINotifyBlock?
) -> OSStatus { unsafe MIDIClientCreateWithBlock(name._core, outClient, notifyBlock) }

@discardableResult
public func MIDIInputPortCreate(
  _ client: MIDIClientRef, _ portName: CFString, _ readProc: @escaping MIDIReadProc,
  _ refCon: UnsafeMutableRawPointer?, _ outPort: UnsafeMutablePointer<MIDIPortRef>
) -> OSStatus { unsafe MIDIInputPortCreate(client, portName._core, readProc, refCon, outPort) }

@discardableResult
public func MIDIInputPortCreateWithBlock(
  _ client: MIDIClientRef, _ portName: CFString, _ outPort: UnsafeMutablePointer<MIDIPortRef>,
  _ readBlock: @escaping MIDIReadBlock
) -> OSStatus { unsafe MIDIInputPortCreateWithBlock(client, portName._core, outPort, readBlock) }

@discardableResult
public func MIDIInputPortCreateWithProtocol(
  _ client: MIDIClientRef, _ portName: CFString, _ protocol: MIDIProtocolID,
  _ outPort: UnsafeMutablePointer<MIDIPortRef>, _ receiveBlock: @escaping MIDIReceiveBlock
) -> OSStatus {
  unsafe MIDIInputPortCreateWithProtocol(
    client, portName._core, `protocol`, outPort, receiveBlock)
}

@discardableResult
public func MIDIOutputPortCreate(
  _ client: MIDIClientRef, _ portName: CFString, _ outPort: UnsafeMutablePointer<MIDIPortRef>
) -> OSStatus { unsafe MIDIOutputPortCreate(client, portName._core, outPort) }

// MARK: Virtual endpoints

@discardableResult
public func MIDIDestinationCreate(
  _ client: MIDIClientRef, _ name: CFString, _ readProc: @escaping MIDIReadProc,
  _ refCon: UnsafeMutableRawPointer?, _ outDest: UnsafeMutablePointer<MIDIEndpointRef>
) -> OSStatus { unsafe MIDIDestinationCreate(client, name._core, readProc, refCon, outDest) }

@discardableResult
public func MIDIDestinationCreateWithBlock(
  _ client: MIDIClientRef, _ name: CFString, _ outDest: UnsafeMutablePointer<MIDIEndpointRef>,
  _ readBlock: @escaping MIDIReadBlock
) -> OSStatus { unsafe MIDIDestinationCreateWithBlock(client, name._core, outDest, readBlock) }

@discardableResult
public func MIDIDestinationCreateWithProtocol(
  _ client: MIDIClientRef, _ name: CFString, _ protocol: MIDIProtocolID,
  _ outDest: UnsafeMutablePointer<MIDIEndpointRef>, _ readBlock: @escaping MIDIReceiveBlock
) -> OSStatus {
  unsafe MIDIDestinationCreateWithProtocol(client, name._core, `protocol`, outDest, readBlock)
}

@discardableResult
public func MIDISourceCreate(
  _ client: MIDIClientRef, _ name: CFString, _ outSrc: UnsafeMutablePointer<MIDIEndpointRef>
) -> OSStatus { unsafe MIDISourceCreate(client, name._core, outSrc) }

@discardableResult
public func MIDISourceCreateWithProtocol(
  _ client: MIDIClientRef, _ name: CFString, _ protocol: MIDIProtocolID,
  _ outSrc: UnsafeMutablePointer<MIDIEndpointRef>
) -> OSStatus { unsafe MIDISourceCreateWithProtocol(client, name._core, `protocol`, outSrc) }

// MARK: Properties

@discardableResult
public func MIDIObjectGetIntegerProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ outValue: UnsafeMutablePointer<Int32>
) -> OSStatus { unsafe MIDIObjectGetIntegerProperty(obj, propertyID._core, outValue) }

@discardableResult
public func MIDIObjectSetIntegerProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ value: Int32
) -> OSStatus { MIDIObjectSetIntegerProperty(obj, propertyID._core, value) }

@discardableResult
public func MIDIObjectGetStringProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ str: UnsafeMutablePointer<Unmanaged<CFString>?>
) -> OSStatus {
  var text: Unmanaged<CueString>?
  let status = unsafe MIDIObjectGetStringProperty(obj, propertyID._core, &text)
  unsafe str.pointee = retyped(text)
  return status
}

@discardableResult
public func MIDIObjectSetStringProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ str: CFString
) -> OSStatus { MIDIObjectSetStringProperty(obj, propertyID._core, str._core) }

@discardableResult
public func MIDIObjectGetDataProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ outData: UnsafeMutablePointer<Unmanaged<CFData>?>
) -> OSStatus {
  var data: Unmanaged<CueData>?
  let status = unsafe MIDIObjectGetDataProperty(obj, propertyID._core, &data)
  unsafe outData.pointee = retyped(data)
  return status
}

@discardableResult
public func MIDIObjectSetDataProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ data: CFData
) -> OSStatus { MIDIObjectSetDataProperty(obj, propertyID._core, data._core) }

@discardableResult
public func MIDIObjectGetDictionaryProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString,
  _ outDict: UnsafeMutablePointer<Unmanaged<CFDictionary>?>
) -> OSStatus {
  var dictionary: Unmanaged<CueDictionary>?
  let status = unsafe MIDIObjectGetDictionaryProperty(obj, propertyID._core, &dictionary)
  unsafe outDict.pointee = retyped(dictionary)
  return status
}

@discardableResult
public func MIDIObjectSetDictionaryProperty(
  _ obj: MIDIObjectRef, _ propertyID: CFString, _ dict: CFDictionary
) -> OSStatus { MIDIObjectSetDictionaryProperty(obj, propertyID._core, dict._core) }

@discardableResult
public func MIDIObjectRemoveProperty(_ obj: MIDIObjectRef, _ propertyID: CFString) -> OSStatus {
  MIDIObjectRemoveProperty(obj, propertyID._core)
}

// MARK: Thru connections

@_disfavoredOverload @discardableResult
public func MIDIThruConnectionCreate(
  _ inPersistentOwnerID: CFString?, _ inConnectionParams: CFData,
  _ outConnection: UnsafeMutablePointer<MIDIThruConnectionRef>
) -> OSStatus {
  unsafe MIDIThruConnectionCreate(
    inPersistentOwnerID?._core, inConnectionParams._core, outConnection)
}

@discardableResult
public func MIDIThruConnectionGetParams(
  _ connection: MIDIThruConnectionRef,
  _ outConnectionParams: UnsafeMutablePointer<Unmanaged<CFData>?>
) -> OSStatus {
  var data: Unmanaged<CueData>?
  let status = unsafe MIDIThruConnectionGetParams(connection, &data)
  unsafe outConnectionParams.pointee = retyped(data)
  return status
}

@discardableResult
public func MIDIThruConnectionSetParams(
  _ connection: MIDIThruConnectionRef, _ inConnectionParams: CFData
) -> OSStatus { MIDIThruConnectionSetParams(connection, inConnectionParams._core) }

@discardableResult
public func MIDIThruConnectionFind(
  _ inPersistentOwnerID: CFString, _ outConnectionList: UnsafeMutablePointer<Unmanaged<CFData>?>
) -> OSStatus {
  var data: Unmanaged<CueData>?
  let status = unsafe MIDIThruConnectionFind(inPersistentOwnerID._core, &data)
  unsafe outConnectionList.pointee = retyped(data)
  return status
}
