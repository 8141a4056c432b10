public import CAudioToolbox
import CFork
import MIDI

// The setup of MIDIServices.h. The header documents each function.

/// Returns an element's number; 0 if there are fewer, or in a forked process that must not use the library.
private func reference(_ objects: @autoclosure () -> [MIDIObject], at index: Int)
  -> MIDIObjectRef
{
  guard cue_fork_may_call() else { return 0 }
  let objects = objects()
  return objects.indices.contains(index) ? objects[index].reference : 0
}

/// Returns the number of elements, after a question to the server if no client follows it.
private func count(_ objects: () -> [MIDIObject]) -> Int {
  guard cue_fork_may_call() else { return 0 }
  MIDISetup.shared.refresh()
  return objects().count
}

/// Returns the endpoints of an entity.
private func endpoints(of entity: MIDIEntityRef, _ all: [MIDIEndpoint]) -> [MIDIEndpoint] {
  all.filter { $0.entity?.reference == entity }
}

/// Returns the number of devices.
@c @implementation
public func MIDIGetNumberOfDevices() -> Int { count { MIDISetup.shared.devices } }

/// Returns a device.
@c @implementation
public func MIDIGetDevice(_ deviceIndex0: Int) -> MIDIDeviceRef {
  reference(MIDISetup.shared.devices, at: deviceIndex0)
}

/// Returns the number of entities of a device.
@c @implementation
public func MIDIDeviceGetNumberOfEntities(_ device: MIDIDeviceRef) -> Int {
  MIDIObject.find(device, as: MIDIDevice.self) == nil ? 0 : 1
}

/// Returns an entity of a device.
@c @implementation
public func MIDIDeviceGetEntity(_ device: MIDIDeviceRef, _ entityIndex0: Int)
  -> MIDIEntityRef
{
  let device = MIDIObject.find(device, as: MIDIDevice.self)
  return reference(device.map { [$0.entity] } ?? [], at: entityIndex0)
}

/// Returns the number of sources of an entity.
@c @implementation
public func MIDIEntityGetNumberOfSources(_ entity: MIDIEntityRef) -> Int {
  count { endpoints(of: entity, MIDISetup.shared.sources) }
}

/// Returns a source of an entity.
@c @implementation
public func MIDIEntityGetSource(_ entity: MIDIEntityRef, _ sourceIndex0: Int)
  -> MIDIEndpointRef
{ reference(endpoints(of: entity, MIDISetup.shared.sources), at: sourceIndex0) }

/// Returns the number of destinations of an entity.
@c @implementation
public func MIDIEntityGetNumberOfDestinations(_ entity: MIDIEntityRef) -> Int {
  count { endpoints(of: entity, MIDISetup.shared.destinations) }
}

/// Returns a destination of an entity.
@c @implementation
public func MIDIEntityGetDestination(_ entity: MIDIEntityRef, _ destIndex0: Int)
  -> MIDIEndpointRef
{ reference(endpoints(of: entity, MIDISetup.shared.destinations), at: destIndex0) }

/// Stores the device of an entity.
@c @implementation
public func MIDIEntityGetDevice(
  _ inEntity: MIDIEntityRef, _ outDevice: UnsafeMutablePointer<MIDIDeviceRef>?
) -> OSStatus {
  answer("MIDIEntityGetDevice") { () throws(MIDIFailure) in
    guard let device = MIDIObject.find(inEntity, as: MIDIEntity.self)?.itsDevice else {
      throw .status(kMIDIObjectNotFound, "there is no entity \(inEntity)")
    }
    unsafe outDevice?.pointee = device.reference
  }
}

/// Returns the number of sources.
@c @implementation
public func MIDIGetNumberOfSources() -> Int { count { MIDISetup.shared.sources } }

/// Returns a source.
@c @implementation
public func MIDIGetSource(_ sourceIndex0: Int) -> MIDIEndpointRef {
  reference(MIDISetup.shared.sources, at: sourceIndex0)
}

/// Returns the number of destinations.
@c @implementation
public func MIDIGetNumberOfDestinations() -> Int { count { MIDISetup.shared.destinations } }

/// Returns a destination.
@c @implementation
public func MIDIGetDestination(_ destIndex0: Int) -> MIDIEndpointRef {
  reference(MIDISetup.shared.destinations, at: destIndex0)
}

/// Stores the entity of an endpoint.
@c @implementation
public func MIDIEndpointGetEntity(
  _ inEndpoint: MIDIEndpointRef, _ outEntity: UnsafeMutablePointer<MIDIEntityRef>?
) -> OSStatus {
  answer("MIDIEndpointGetEntity") { () throws(MIDIFailure) in
    let endpoint = try findEndpoint(inEndpoint)
    unsafe outEntity?.pointee = 0
    guard let entity = endpoint.entity else {
      throw .status(kMIDIObjectNotFound, "“\(endpoint.port)” is a virtual endpoint")
    }
    unsafe outEntity?.pointee = entity.reference
  }
}

/// Returns 0: there are no external devices.
@c @implementation
public func MIDIGetNumberOfExternalDevices() -> Int { 0 }

/// Returns 0: there are no external devices.
@c @implementation
public func MIDIGetExternalDevice(_ deviceIndex0: Int) -> MIDIDeviceRef { 0 }
