public import CAudioToolbox
import CoreFoundation
import Foundation
import MIDI

// Properties of MIDIServices.h. The header documents each function.

/// Runs the body of a function that concerns a property, with the object and the property's name.
private func withProperty(
  _ function: String, _ object: MIDIObjectRef, _ name: UnsafeRawPointer?,
  _ body: (MIDIObject, String) throws(MIDIFailure) -> Void
) -> OSStatus {
  answer(function) { () throws(MIDIFailure) in
    try body(try findObject(object), try unsafe midiText(name))
  }
}

/// Returns a device, an entity or an endpoint.
private func findObject(_ reference: MIDIObjectRef) throws(MIDIFailure) -> MIDIObject {
  guard let object = MIDIObject.find(reference), object.type != .other else {
    throw .status(kMIDIObjectNotFound, "there is no object \(reference)")
  }
  return object
}

/// Returns a property, as what `read` makes of it.
private func value<Value>(
  _ object: MIDIObject, _ name: String, _ read: (MIDIProperty) -> Value?
) throws(MIDIFailure) -> Value {
  guard let property = object.property(name) else {
    throw .status(kMIDIUnknownProperty, "there is no property “\(name)”")
  }
  guard let value = read(property) else {
    throw .status(kMIDIWrongPropertyType, "the property “\(name)” has another type")
  }
  return value
}

/// Sets a property, and tells all clients.
private func set(_ object: MIDIObject, _ name: String, _ property: MIDIProperty)
  throws(MIDIFailure)
{
  if name == "uniqueID" {
    guard case .integer(let id) = property else {
      throw .status(kMIDIWrongPropertyType, "a unique ID is an integer")
    }
    guard MIDISetup.shared.set(uniqueID: id, of: object) else {
      throw .status(kMIDIIDNotUnique, "the unique ID \(id) is taken")
    }
  } else {
    object.set(name, to: property)
  }
  MIDISetup.shared.noteChange(of: name, of: object)
}

/// Stores a Core Foundation object, which the caller releases.
private func put(_ object: AnyObject, in destination: UnsafeMutablePointer<UnsafeRawPointer?>) {
  unsafe destination.pointee = UnsafeRawPointer(Unmanaged.passRetained(object).toOpaque())
}

/// Returns a pointer to store to that is not NULL, with NULL stored.
private func cleared(_ destination: UnsafeMutablePointer<UnsafeRawPointer?>?) throws(MIDIFailure)
  -> UnsafeMutablePointer<UnsafeRawPointer?>
{
  guard let destination = unsafe destination, UInt(bitPattern: destination) != 0 else {
    throw .badArgument("a pointer is NULL")
  }
  unsafe destination.pointee = nil
  return unsafe destination
}

// MARK: Integers and strings

/// Implements `MIDIObjectGetIntegerProperty`. Raw pointers replace the Core Foundation references here and below.
@c(MIDIObjectGetIntegerProperty)
public func getMIDIInteger(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?, _ outValue: UnsafeMutablePointer<Int32>?
) -> OSStatus {
  unsafe withProperty("MIDIObjectGetIntegerProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    guard let outValue = unsafe outValue else { throw .badArgument("a pointer is NULL") }
    unsafe outValue.pointee = try value(object, name) {
      if case .integer(let number) = $0 { number } else { nil }
    }
  }
}

/// Implements `MIDIObjectSetIntegerProperty`.
@c(MIDIObjectSetIntegerProperty)
public func setMIDIInteger(_ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?, _ value: Int32)
  -> OSStatus
{
  unsafe withProperty("MIDIObjectSetIntegerProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    try set(object, name, .integer(value))
  }
}

/// Implements `MIDIObjectGetStringProperty`.
@c(MIDIObjectGetStringProperty)
public func getMIDIString(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?,
  _ str: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  unsafe withProperty("MIDIObjectGetStringProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    let destination = try unsafe cleared(str)
    let text: String = try value(object, name) {
      if case .string(let text) = $0 { text } else { nil }
    }
    unsafe put(text.cfString, in: destination)
  }
}

/// Implements `MIDIObjectSetStringProperty`.
@c(MIDIObjectSetStringProperty)
public func setMIDIString(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?, _ str: UnsafeRawPointer?
) -> OSStatus {
  unsafe withProperty("MIDIObjectSetStringProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    try set(object, name, .string(try unsafe midiText(str)))
  }
}

// MARK: Data and dictionaries

/// Implements `MIDIObjectGetDataProperty`.
@c(MIDIObjectGetDataProperty)
public func getMIDIData(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?,
  _ outData: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  unsafe withProperty("MIDIObjectGetDataProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    let destination = try unsafe cleared(outData)
    let bytes: [UInt8] = try value(object, name) {
      if case .data(let bytes) = $0 { bytes } else { nil }
    }
    unsafe put(NSData(bytes: bytes, length: bytes.count), in: destination)
  }
}

/// Returns the bytes of a CFData.
func bytes(ofData pointer: UnsafeRawPointer?) throws(MIDIFailure) -> [UInt8] {
  guard let pointer = unsafe pointer, UInt(bitPattern: pointer) != 0 else {
    throw .badArgument("the data is NULL")
  }
  let data = unsafe Unmanaged<CFData>.fromOpaque(pointer).takeUnretainedValue()
  let count = CFDataGetLength(data)
  var bytes = [UInt8](repeating: 0, count: count)
  unsafe CFDataGetBytes(data._core, CFRange(location: 0, length: count), &bytes)
  return bytes
}

/// Implements `MIDIObjectSetDataProperty`.
@c(MIDIObjectSetDataProperty)
public func setMIDIData(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?, _ data: UnsafeRawPointer?
) -> OSStatus {
  unsafe withProperty("MIDIObjectSetDataProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    try set(object, name, .data(try unsafe bytes(ofData: data)))
  }
}

/// Returns the property list that bytes are.
private func list(_ bytes: [UInt8]) -> AnyObject? {
  (try? unsafe PropertyListSerialization.propertyList(from: Data(bytes), format: nil))
    .map { $0 as AnyObject }
}

/// Implements `MIDIObjectGetDictionaryProperty`.
@c(MIDIObjectGetDictionaryProperty)
public func getMIDIDictionary(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?,
  _ outDict: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  unsafe withProperty("MIDIObjectGetDictionaryProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    let destination = try unsafe cleared(outDict)
    let dictionary: AnyObject = try value(object, name) {
      if case .list(let bytes) = $0 { list(bytes) } else { nil }
    }
    unsafe put(dictionary, in: destination)
  }
}

/// Implements `MIDIObjectSetDictionaryProperty`.
@c(MIDIObjectSetDictionaryProperty)
public func setMIDIDictionary(
  _ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?, _ dict: UnsafeRawPointer?
) -> OSStatus {
  unsafe withProperty("MIDIObjectSetDictionaryProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    guard let dict = unsafe dict, UInt(bitPattern: dict) != 0 else {
      throw .badArgument("the dictionary is NULL")
    }
    let dictionary = unsafe Unmanaged<CFDictionary>.fromOpaque(dict).takeUnretainedValue()
    let data = try? PropertyListSerialization.data(
      fromPropertyList: dictionary, format: .xml, options: 0)
    guard let data else { throw .badArgument("the dictionary is no property list") }
    try set(object, name, .list(Array(data)))
  }
}

// MARK: All of them

/// Returns an object's properties, and with `deep` those of its parts.
private func dictionary(_ object: MIDIObject, deep: Bool) -> CFMutableDictionary {
  var entries = object.properties.map { name, property -> (String, AnyObject) in
    switch property {
    case .integer(let number): (name, NSNumber(value: number))
    case .string(let text): (name, text.cfString)
    case .data(let bytes): (name, unsafe NSData(bytes: bytes, length: bytes.count))
    case .list(let bytes): (name, list(bytes) ?? makeDictionary([]))
    }
  }
  func parts(_ name: String, _ objects: [MIDIObject]) {
    if deep { entries.append((name, makeArray(objects.map { dictionary($0, deep: true) }))) }
  }
  switch object {
  case let device as MIDIDevice: parts("entities", [device.entity])
  case let entity as MIDIEntity:
    parts("sources", MIDISetup.shared.sources.filter { $0.entity === entity })
    parts("destinations", MIDISetup.shared.destinations.filter { $0.entity === entity })
  default: break
  }
  return makeDictionary(entries)
}

/// Implements `MIDIObjectGetProperties`.
@c(MIDIObjectGetProperties)
public func getMIDIProperties(
  _ obj: MIDIObjectRef, _ outProperties: UnsafeMutablePointer<UnsafeRawPointer?>?, _ deep: Bool
) -> OSStatus {
  answer("MIDIObjectGetProperties") { () throws(MIDIFailure) in
    let destination = try unsafe cleared(outProperties)
    unsafe put(dictionary(try findObject(obj), deep: deep), in: destination)
  }
}

/// Implements `MIDIObjectRemoveProperty`.
@c(MIDIObjectRemoveProperty)
public func removeMIDIProperty(_ obj: MIDIObjectRef, _ propertyID: UnsafeRawPointer?) -> OSStatus {
  unsafe withProperty("MIDIObjectRemoveProperty", obj, propertyID) {
    object, name throws(MIDIFailure) in
    guard object.remove(name) else {
      throw .status(kMIDIUnknownProperty, "no program has set a property “\(name)”")
    }
    MIDISetup.shared.noteChange(of: name, of: object)
  }
}

/// Stores the object with a unique ID.
@c @implementation
public func MIDIObjectFindByUniqueID(
  _ inUniqueID: MIDIUniqueID, _ outObject: UnsafeMutablePointer<MIDIObjectRef>?,
  _ outObjectType: UnsafeMutablePointer<MIDIObjectType>?
) -> OSStatus {
  answer("MIDIObjectFindByUniqueID") { () throws(MIDIFailure) in
    MIDISetup.shared.refresh()
    unsafe outObject?.pointee = 0
    guard let object = MIDIObject.find(uniqueID: inUniqueID), object.isPresent else {
      throw .status(kMIDIObjectNotFound, "there is no object with the unique ID \(inUniqueID)")
    }
    unsafe outObject?.pointee = object.reference
    unsafe outObjectType?.pointee = object.type
  }
}
