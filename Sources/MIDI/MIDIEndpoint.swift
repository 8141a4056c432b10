import Server
import Synchronization
import System

/// A device: a JACK client that has MIDI ports, with one entity.
package final class MIDIDevice: MIDIObject, @unchecked Sendable {
  package let name: String
  package let entity: MIDIEntity
  private let id: Int32
  let wasFound = Atomic<Bool>(false)

  init(_ name: String) {
    self.name = name
    id = uniqueID(of: "device", name)
    entity = MIDIEntity(name)
    super.init()
    entity.device.set(self)
    enter()
    entity.enter()
  }

  override func facts() -> [String: MIDIProperty] {
    MIDISetup.facts(name, displayName: name, id, isPresent: isPresent).merging([
      "manufacturer": .string("JACK"), "model": .string(name), "driver": .string("jack"),
    ]) { $1 }
  }
  package override var isPresent: Bool { wasFound.load(ordering: .acquiring) }
}

/// The entity of a device, which has all of its endpoints.
package final class MIDIEntity: MIDIObject, @unchecked Sendable {
  package let name: String
  let device = Hook<MIDIDevice>()
  private let id: Int32

  init(_ name: String) {
    self.name = name
    id = uniqueID(of: "entity", name)
    super.init()
  }

  package var itsDevice: MIDIDevice? { device.function }
  override var parent: MIDIObject? { device.function }
  package override var isPresent: Bool { device.function?.isPresent ?? false }
  override func facts() -> [String: MIDIProperty] {
    MIDISetup.facts(name, displayName: name, id, isPresent: isPresent)
  }
}

/// A source or a destination: an output or an input port of a JACK client.
package final class MIDIEndpoint: MIDIObject, @unchecked Sendable {
  package let isSource: Bool
  let isPhysical: Bool
  package let entity: MIDIEntity?
  /// The port's name without the client's.
  package let name: String
  let wasFound = Atomic<Bool>(false)
  /// The virtual source or destination that this is the endpoint of.
  let virtual = Hook<MIDIObject>()
  private let owner: MIDIEndpointOwner
  private let id: Int32

  /// An endpoint of another client.
  init(_ port: JackPort, of entity: MIDIEntity) {
    isSource = port.isOutput
    isPhysical = port.isPhysical
    self.entity = entity
    name = String(port.name.split(separator: ":", maxSplits: 1).last ?? "")
    owner = .other(port.name)
    id = uniqueID(of: port.isOutput ? "source" : "destination", port.name)
    super.init()
    enter()
  }

  /// A virtual endpoint of this process.
  init(named name: String, isSource: Bool, of client: MIDIClient) {
    self.isSource = isSource
    isPhysical = false
    entity = nil
    self.name = name
    owner = .client(WeakClient(client))
    id = uniqueID(of: isSource ? "source" : "destination", "\(client.jackName):\(name)")
    super.init()
    enter()
  }

  /// The full name of the port.
  package var port: String {
    switch owner {
    case .other(let name): name
    case .client(let weak): "\(weak.client?.jackName ?? ""):\(name)"
    }
  }

  /// The client of this process that has the endpoint; nil for another client's.
  package var client: MIDIClient? {
    if case .client(let weak) = owner { weak.client } else { nil }
  }

  package var virtualSource: MIDIVirtualSource? { virtual.function as? MIDIVirtualSource }
  package var virtualDestination: MIDIVirtualDestination? {
    virtual.function as? MIDIVirtualDestination
  }

  override var parent: MIDIObject? { entity }
  package override var isPresent: Bool { wasFound.load(ordering: .acquiring) }
  override func facts() -> [String: MIDIProperty] {
    let clientName = clientName(of: port)
    let display = name.hasPrefix(clientName) ? name : "\(clientName) \(name)"
    return MIDISetup.facts(name, displayName: display, id, isPresent: isPresent)
  }
}

private enum MIDIEndpointOwner: Sendable {
  case other(String)
  case client(WeakClient)
}

private final class WeakClient: @unchecked Sendable {
  weak let client: MIDIClient?
  init(_ client: MIDIClient) { self.client = client }
}

/// Returns the unique ID of what has a name: the same in every run, and never 0.
private func uniqueID(of kind: String, _ name: String) -> Int32 {
  let hash = FNVHash("\(kind):\(name)".utf8).value
  return Int32(truncatingIfNeeded: (hash >> 33) % 0x7FFF_FFFE + 1)
}

/// Returns the name of the client in the full name of a port.
private func clientName(of port: String) -> Substring { port.prefix { $0 != ":" } }
