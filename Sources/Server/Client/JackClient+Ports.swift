import CJack
import CRealTime
import Glibc
import RealTime
import Synchronization
import System

/// Ports and connections of a client.
extension JackClient {
  var physicalOutputs: [String] { physicalPorts(JackPortIsInput, named: "playback_") }

  var physicalInputs: [String] { physicalPorts(JackPortIsOutput, named: "capture_") }

  /// Returns the physical ports of a direction. PipeWire from 1.0 on does not call ports of virtual
  /// devices physical, such as those of a null sink. If there are no others, the ports of the first one
  /// are returned: PipeWire lists its default devices first.
  private func physicalPorts(_ direction: JackPortFlags, named stem: String) -> [String] {
    let physical = ports(direction.rawValue | JackPortIsPhysical.rawValue)
    guard isPipeWire, physical.isEmpty else { return physical }
    let virtual = ports(direction.rawValue).compactMap {
      port -> (device: Substring, port: String)? in
      guard let colon = port.lastIndex(of: ":"), port[colon...].dropFirst().hasPrefix(stem)
      else { return nil }
      return (port[..<colon], port)
    }
    return virtual.filter { $0.device == virtual[0].device }.map(\.port)
  }

  func cardLatency(_ direction: PortDirection) -> Int {
    let ports = direction == .input ? physicalInputs : physicalOutputs
    let mode = direction == .input ? JackCaptureLatency : JackPlaybackLatency
    let latencies: [Int]? = whileOpen {
      ports.compactMap { name in
        guard let port = unsafe jack_port_by_name(client, name) else { return nil }
        return unsafe Self.latency(of: port, mode).upperBound
      }
    }
    return latencies?.max() ?? 0
  }

  func latency(of name: String, _ direction: PortDirection) -> ClosedRange<Int> {
    let mode = direction == .input ? JackCaptureLatency : JackPlaybackLatency
    let latency: ClosedRange<Int>?? = whileOpen {
      unsafe ownPort(name).map { unsafe Self.latency(of: $0, mode) }
    }
    return (latency ?? nil) ?? 0...0
  }

  private static func latency(
    of port: OpaquePointer, _ mode: jack_latency_callback_mode_t
  ) -> ClosedRange<Int> {
    var range = jack_latency_range_t()
    unsafe jack_port_get_latency_range(port, mode, &range)
    return Int(range.min)...Int(max(range.min, range.max))
  }

  var load: Float { whileOpen { unsafe jack_cpu_load(client) } ?? 0 }

  var cardIsInUse: Bool { !connections(ofCard: physicalInputs + physicalOutputs).isEmpty }

  var cardSources: [String] { connections(ofCard: physicalOutputs) }

  /// Returns the full names of the ports connected to any of the ports `names`.
  private func connections(ofCard names: [String]) -> [String] {
    whileOpen {
      names.flatMap { name -> [String] in
        guard let port = unsafe jack_port_by_name(client, name) else { return [] }
        return unsafe Self.strings(jack_port_get_all_connections(client, port))
      }
    } ?? []
  }

  func setPeriod(_ frames: Int) -> Bool {
    asking {
      whileOpen {
        requests.withLock { _ in unsafe jack_set_buffer_size(client, UInt32(frames)) == 0 }
      }
    } ?? false
  }

  /// The full names of all ports on the server, of any client.
  var allPorts: [String] { ports(0) }

  func otherPorts(_ direction: PortDirection, _ kind: PortKind) -> [String] {
    let flag = direction == .input ? JackPortIsInput : JackPortIsOutput
    let type = kind == .midi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
    return ports(flag.rawValue, type).filter { !$0.hasPrefix("\(name):") }
  }

  var midiPorts: [JackPort] { JackPort.list(JACK_DEFAULT_MIDI_TYPE, isMIDI: true, ports) }

  private func ports(_ flags: UInt32, _ type: String = JACK_DEFAULT_AUDIO_TYPE) -> [String] {
    whileOpen { portNames(flags, type) } ?? []
  }

  /// Returns the full names of ports. Call while the client is open.
  ///
  /// - Parameters:
  ///   - flags: What the ports have, as jack_get_ports takes it.
  ///   - type: Nil for ports of any type.
  ///   - owner: The name of the client that has the ports; nil for all clients.
  func portNames(_ flags: UInt32 = 0, _ type: String? = nil, of owner: String? = nil) -> [String] {
    let pattern = owner.map { name in
      "^" + name.map { #"\.[]{}()*+?|^$"#.contains($0) ? "\\\($0)" : "\($0)" }.joined() + ":"
    }
    func ask() -> [String] {
      unsafe Self.strings(jack_get_ports(client, pattern, type, UInt(flags)))
    }
    guard isPipeWire else { return ask() }
    // PipeWire's library sorts ports after it has given its lock back, and crashes if a port is recycled by then
    // (seen with 0.3.65): none leaves meanwhile, and those that are leaving go first.
    awaitLeaving()
    return requests.withLock { _ in latestLeave.withLock { _ in ask() } }
  }

  /// Waits until no port has left for 10 ms, for 100 ms at most: the ports of a client leave one soon after another.
  private func awaitLeaving() {
    let timeToLeave: UInt64 = 10_000_000
    let deadline = HostTime.now + 10 * timeToLeave
    while true {
      let now = HostTime.now
      let end = min(latestLeave.withLock { $0 } + timeToLeave, deadline)
      if now >= end { return }
      usleep(UInt32((end - now) / 1000 + 1))
    }
  }

  func addPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort {
    try addPort(named: name, direction, JACK_DEFAULT_AUDIO_TYPE)
  }

  func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError)
    -> ClientPort
  { try addPort(named: name, direction, JACK_DEFAULT_MIDI_TYPE) }

  private func addPort(named name: String, _ direction: PortDirection, _ type: String)
    throws(ServerError) -> ClientPort
  {
    connectionBook.withLock { $0.begin(name) }
    let flags = direction == .input ? JackPortIsInput : JackPortIsOutput
    let port = asking {
      whileOpen {
        requests.withLock { change in
          defer { note(&change) }
          return unsafe UInt(
            bitPattern: jack_port_register(
              client, name, type, UInt(flags.rawValue), 0))
        }
      }
    }
    guard let port else { throw .closed(client: self.name) }
    guard let port = unsafe OpaquePointer(bitPattern: port) else {
      if hasLeft.load(ordering: .acquiring) { throw .noAnswer(server: serverName) }
      throw .cannotAddPort(name: name, client: self.name)
    }
    ownPorts.withLock { $0[name] = UInt(bitPattern: port) }
    return unsafe ClientPort(cue_port(port: port, memory: nil, connections: nil))
  }

  func isolate(_ port: ClientPort) {
    if let name = ownName(of: unsafe UInt(bitPattern: port.handle.port)) {
      connectionBook.withLock { $0.remove(name) }
    }
    unsafe request(of: port) { unsafe jack_port_disconnect($0, $1) }
  }

  func removePort(_ port: ClientPort) {
    unsafe request(of: port, isRemoval: true) { unsafe jack_port_unregister($0, $1) }
    if let name = ownName(of: unsafe UInt(bitPattern: port.handle.port)) {
      ownPorts.withLock { $0[name] = nil }
    }
  }

  /// Returns the port that this client added as `name`, whatever other programs call it now. Call while
  /// the client is open.
  func ownPort(_ name: String) -> OpaquePointer? {
    unsafe ownPorts.withLock { $0[name] }.flatMap { unsafe OpaquePointer(bitPattern: $0) }
  }

  /// Returns the name under which this client added a port, given by its address.
  private func ownName(of port: UInt) -> String? {
    ownPorts.withLock { $0.first { $0.value == port }?.key }
  }

  /// Returns the present full name of a port of this client.
  private func fullName(_ name: String) -> String {
    let present: String?? = whileOpen {
      unsafe ownPort(name).flatMap { unsafe jack_port_name($0) }.map { unsafe String(cString: $0) }
    }
    return (present ?? nil) ?? "\(self.name):\(name)"
  }

  /// Calls `body` with the client and the port, under the locks that a change needs.
  private func request(
    of port: ClientPort, isRemoval: Bool = false, _ body: (OpaquePointer, OpaquePointer) -> CInt
  ) {
    guard let port = unsafe port.handle.port else { return }
    let bits = UInt(bitPattern: port)
    limited(to: patience, { [weak self] in self?.breakOff() }) {
      whileOpen {
        requests.withLock { change in
          guard let port = unsafe OpaquePointer(bitPattern: bits) else { return }
          if isRemoval { awaitOrder(after: change) }
          defer { note(&change) }
          _ = unsafe body(client, port)
        }
      }
    }
  }

  func connect(_ name: String, to destination: String) throws(ServerError) {
    guard has(destination, JackPortIsInput) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    try connect(fullName(name), destination)
    remember(name, destination)
  }

  func connect(_ source: String, toOurs name: String) throws(ServerError) {
    guard has(source, JackPortIsOutput) else {
      throw .noSuchSource(name: source, server: serverName)
    }
    try connect(source, fullName(name))
    remember(name, source)
  }

  /// Adds a connection that this client made to the book.
  private func remember(_ name: String, _ destination: String) {
    guard let known = whileOpen({ other(destination) }) else { return }
    connectionBook.withLock { $0.add(name, known) }
  }

  /// A port of another client, by its full name.
  private func other(_ name: String) -> ConnectionBook.Other {
    ConnectionBook.Other(
      name: name, address: unsafe UInt(bitPattern: jack_port_by_name(client, name)))
  }

  /// Returns true if a port of that full name and kind exists, or if the client is closed and
  /// cannot tell.
  private func has(_ port: String, _ kind: JackPortFlags) -> Bool {
    whileOpen {
      guard let port = unsafe jack_port_by_name(client, port) else { return false }
      return unsafe jack_port_flags(port) & CInt(kind.rawValue) != 0
    } ?? true
  }

  /// Connects two ports by their full names.
  private func connect(_ source: String, _ destination: String) throws(ServerError) {
    let status = asking {
      whileOpen {
        requests.withLock { change in
          defer { note(&change) }
          return unsafe jack_connect(client, source, destination)
        }
      }
    }
    guard let status else { throw .lost(server: serverName) }
    guard status == 0 || status == EEXIST else {
      if hasLeft.load(ordering: .acquiring) { throw .noAnswer(server: serverName) }
      throw .cannotConnect(from: source, to: destination)
    }
  }

  func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange] {
    let changed = changedPorts.take()
    let found: [ConnectionChange]? = whileOpen {
      func addresses(_ numbers: Set<UInt32>) -> [UInt] {
        numbers.map { unsafe UInt(bitPattern: jack_port_by_id(client, $0)) }
      }
      let names = addresses(changed.numbers).compactMap(ownName)
      let renamed = addresses(renamedPorts.take().numbers)
      let registered = registeredPorts.take()
      let appeared = registered.numbers.compactMap { number -> String? in
        unsafe jack_port_by_id(client, number).flatMap { unsafe jack_port_name($0) }
          .map { unsafe String(cString: $0) }
      }
      let (watched, version) = connectionBook.withLock { book in
        book.watch(changed.isIncomplete || !renamed.isEmpty ? names + book.portNames : names)
        book.rename(renamed)
        book.appear(registered.isIncomplete ? nil : appeared)
        return (book.takeWatched(), book.version)
      }
      // Asking for connections waits for a period whenever a change of JACK's graph is pending. Those who
      // connect ports meanwhile do not wait for that.
      var connections: [(name: String, others: [ConnectionBook.Other])] = []
      var memories: [String: ConnectionMemory] = [:]
      // The properties `urn:cuejack:connections`, by the clients' names: JACK is asked once for each client.
      var claims: [Substring: ConnectionClaim?] = [:]
      let keepsConnections = claim.withLock { $0 == .kept }
      for name in watched {
        guard let port = unsafe ownPort(name) else { continue }
        let others = unsafe Self.strings(jack_port_get_all_connections(client, port))
        connections.append((name, others.map(other)))
        let new = connectionBook.withLock { $0.unknown(others, at: name) }
        for other in new {
          let client = clientName(of: other)
          let claim = claims[client] ?? claim(ofClientWith: other)
          claims[client] = .some(claim)
          switch claim {
          case .own: memories[other] = .present
          case .kept where !keepsConnections: memories[other] = .whileOtherRuns
          case .kept, nil: break
          }
        }
      }
      return connectionBook.withLock { book in
        if book.version == version {
          for (name, others) in connections {
            book.note(name, isConnectedTo: others) { memories[$0] }
          }
        } else {
          book.watch(watched)
        }
        return book.take(&patience) {
          unsafe jack_port_by_name(client, $0) != nil
        } clientExists: {
          hasClient(named: $0)
        }
      }
    }
    return found ?? []
  }

  func disconnect(_ name: String, from other: String) {
    let own = fullName(name)
    asking {
      whileOpen {
        requests.withLock { change in
          defer { note(&change) }
          let isInput = unsafe ownPort(name).map {
            unsafe jack_port_flags($0) & CInt(JackPortIsInput.rawValue) != 0
          }
          let (source, destination) = isInput == true ? (other, own) : (own, other)
          _ = unsafe jack_disconnect(client, source, destination)
        }
      }
    }
  }

  func connections(of name: String) -> [String] {
    whileOpen {
      guard let port = unsafe ownPort(name) else { return [] }
      return unsafe Self.strings(jack_port_get_all_connections(client, port))
    } ?? []
  }

  /// Returns the strings of a nil-terminated list, and frees the list.
  static func strings(_ names: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
    guard let names = unsafe names else { return [] }
    defer { unsafe jack_free(names) }
    var list: [String] = []
    while let name = unsafe names[list.count] { unsafe list.append(String(cString: name)) }
    return list
  }
}
