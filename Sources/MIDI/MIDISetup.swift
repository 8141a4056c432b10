import Server
import Synchronization
import System

/// A change of the setup, or of an object in it.
package enum MIDIChange: Sendable {
  case added(MIDIObject, to: MIDIObject?)
  case removed(MIDIObject, from: MIDIObject?)
  case property(MIDIObject, String)
  case setup
  case thruConnections
}

/// The devices and endpoints of the server. Any thread that is not real time.
///
/// While the process has a client, a thread follows the server's ports. Without one, each question for a number asks
/// the default server, which is not started.
package final class MIDISetup: Sendable {
  package static let shared = MIDISetup()

  private struct State {
    var devices: [MIDIDevice] = []
    var sources: [MIDIEndpoint] = []
    var destinations: [MIDIEndpoint] = []
    /// Endpoints of other clients that have been there, by the names of their ports.
    var known: [JackPort.Key: MIDIEndpoint] = [:]
    var knownDevices: [String: MIDIDevice] = [:]
    /// Virtual endpoints of this process.
    var own: [MIDIEndpoint] = []
    var clients: [MIDIClient] = []
    var hasLooked = false
  }
  private let state = Mutex(State())
  /// Held during a search for ports, so that the latest one counts.
  private let search = Lock()
  private let thread = EventThread(named: "cuejack-setup")

  /// Host time until which to look again and again: jackd tells that the ports of a client go before they are gone.
  private let end = Atomic<UInt64>(0)
  private static let timeToGo: UInt64 = 2_000_000_000

  private init() {
    LastSounds.shared.alsoWait { [weak self] in
      let deadline = HostTime.now + 1_000_000_000
      for client in self?.state.withLock({ $0.clients }) ?? [] { client.drain(until: deadline) }
    }
    thread.start { [weak self] in
      guard let self else { return nil }
      look()
      return HostTime.now < end.load(ordering: .relaxed) ? 0.05 : nil
    }
  }

  /// Looks for ports again soon.
  func wake() {
    end.store(HostTime.now + Self.timeToGo, ordering: .relaxed)
    thread.post()
  }

  // MARK: Clients

  /// Adds a client, which hears of all later changes.
  func add(_ client: MIDIClient) {
    look(through: client)
    state.withLock { $0.clients.append(client) }
  }

  func remove(_ client: MIDIClient) {
    state.withLock { state in state.clients.removeAll { $0 === client } }
  }

  /// A client of this process; nil if there is none.
  package var client: MIDIClient? { state.withLock { $0.clients.first } }

  /// Adds a virtual endpoint of this process.
  func add(_ endpoint: MIDIEndpoint) {
    state.withLock { $0.own.append(endpoint) }
    look()
  }

  /// Removes a virtual endpoint of this process.
  func remove(_ endpoint: MIDIEndpoint) {
    state.withLock { state in state.own.removeAll { $0 === endpoint } }
    look()
  }

  // MARK: Questions

  package var devices: [MIDIDevice] { present { $0.devices } }
  package var sources: [MIDIEndpoint] { present { $0.sources } }
  package var destinations: [MIDIEndpoint] { present { $0.destinations } }

  /// Asks the server if no client follows its ports.
  package func refresh() { if client == nil { look() } }

  /// Asks the server.
  package func restart() { look() }

  /// Unschedules what was sent to a destination or from a virtual source, or everything, and is not due yet.
  package func flush(_ endpoint: MIDIEndpoint?) {
    for client in state.withLock({ $0.clients }) { client.flush(endpoint) }
  }

  private func present<R>(_ body: (State) -> R) -> R {
    if !state.withLock({ $0.hasLooked }) { refresh() }
    return state.withLock { body($0) }
  }

  /// Sets a unique ID that a program chose.
  ///
  /// - Returns: False if another object has it.
  package func set(uniqueID: Int32, of object: MIDIObject) -> Bool {
    search.lock()
    defer { search.unlock() }
    let other = MIDIObject.find(uniqueID: uniqueID)
    if uniqueID == 0 || other != nil && other !== object { return false }
    object.set("uniqueID", to: .integer(uniqueID))
    return true
  }

  static func facts(_ name: String, displayName: String, _ id: Int32, isPresent: Bool)
    -> [String: MIDIProperty]
  {
    [
      "name": .string(name), "displayName": .string(displayName), "uniqueID": .integer(id),
      "offline": .integer(isPresent ? 0 : 1), "private": .integer(0), "protocol": .integer(1),
    ]
  }

  // MARK: The search

  /// Looks which ports there are, and tells all clients what has changed.
  ///
  /// - Parameter client: A client to ask through; nil for any.
  private func look(through client: MIDIClient? = nil) {
    search.lock()
    let clients = state.withLock { $0.clients }
    let asked = client ?? clients.first { !$0.device.isLost } ?? clients.first
    let found = asked?.device.client.midiPorts ?? JackServer().ports.filter(\.isMIDI)
    let names = Set((clients + (client.map { [$0] } ?? [])).map(\.jackName))
    let ports = found.filter {
      !MIDIClient.isPrivate($0.name) && !names.contains(String($0.client))
    }
    let changes = state.withLock { take(ports, &$0) }
    search.unlock()
    if !changes.isEmpty { tell(changes + [.setup]) }
  }

  func tell(_ changes: [MIDIChange]) {
    for client in state.withLock({ $0.clients }) { client.tell(changes) }
  }

  /// Tells all clients that a thru connection has been made, changed or removed.
  package func noteThruConnections() { tell([.thruConnections, .setup]) }

  /// Tells all clients that a property has changed.
  package func noteChange(of name: String, of object: MIDIObject) {
    tell([.property(object, name)])
  }

  /// Notes the ports that exist, and returns what has changed.
  private func take(_ ports: [JackPort], _ state: inout State) -> [MIDIChange] {
    let before = state.sources + state.destinations
    let devicesBefore = state.devices
    var devices: [MIDIDevice] = []
    var endpoints: [MIDIEndpoint] = []
    for port in ports.filter(\.isPhysical) + ports.filter({ !$0.isPhysical }) {
      let name = String(port.client)
      let device = state.knownDevices[name] ?? MIDIDevice(name)
      state.knownDevices[name] = device
      if !devices.contains(where: { $0 === device }) { devices.append(device) }
      let endpoint = state.known[port.key] ?? MIDIEndpoint(port, of: device.entity)
      state.known[port.key] = endpoint
      endpoints.append(endpoint)
    }
    endpoints += state.own
    state.devices = devices
    state.sources = endpoints.filter(\.isSource)
    state.destinations = endpoints.filter { !$0.isSource }
    state.hasLooked = true
    let (goneEndpoints, newEndpoints) = Self.differences(before, endpoints)
    let (goneDevices, newDevices) = Self.differences(devicesBefore, devices)
    for endpoint in goneEndpoints { endpoint.wasFound.store(false, ordering: .releasing) }
    for endpoint in newEndpoints { endpoint.wasFound.store(true, ordering: .releasing) }
    for device in goneDevices { device.wasFound.store(false, ordering: .releasing) }
    for device in newDevices { device.wasFound.store(true, ordering: .releasing) }
    return goneEndpoints.map { .removed($0, from: $0.entity) }
      + goneDevices.flatMap { [.removed($0.entity, from: $0), .removed($0, from: nil)] }
      + newDevices.flatMap { [.added($0, to: nil), .added($0.entity, to: $0)] }
      + newEndpoints.map { .added($0, to: $0.entity) }
  }

  private static func differences<Object: MIDIObject>(_ before: [Object], _ after: [Object])
    -> (gone: [Object], new: [Object])
  {
    let (old, new) = (Set(before.map(\.reference)), Set(after.map(\.reference)))
    return (
      before.filter { !new.contains($0.reference) }, after.filter { !old.contains($0.reference) }
    )
  }
}

extension JackPort {
  /// A source and a destination may have one name.
  struct Key: Hashable {
    let name: String
    let isOutput: Bool
  }
  fileprivate var key: Key { Key(name: name, isOutput: isOutput) }
  /// The name of the port's client.
  fileprivate var client: Substring { name.prefix { $0 != ":" } }
}
