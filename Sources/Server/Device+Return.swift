import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization

// The one way in which a device leaves a server and takes everything up again on another: the server
// went away and came back, or it changed its rate. All on the device's relay thread.

extension Device {
  /// Leaves the server if that has not been done, and looks whether one answers again.
  ///
  /// - Returns: True if nothing is left to be done, or it failed in a way that is to be seen to at
  ///   once.
  func comeBack() -> Bool {
    if !hasLeft.exchange(true, ordering: .relaxed) { leaveServer() }
    // What is lost from here on is lost by the next client.
    let seen = losses.load(ordering: .acquiring)
    let old = client
    guard let fresh = server.reopenClient(named: old.name) else { return false }
    delist()
    let isWanted = link.withLock { link in
      if closed.load(ordering: .acquiring) { return false }
      link = Link(client: fresh)
      return true
    }
    guard isWanted else {
      fresh.close()
      return true
    }
    hasLeft.store(false, ordering: .relaxed)
    isListening.store(true, ordering: .releasing)
    let owners = seating.withLock { $0.seats.compactMap { $0.owner } }
    do throws(ServerError) {
      // The voices are made ready before any cycle sees them.
      if fresh.sampleRate != old.sampleRate {
        for owner in owners {
          owner.deviceWillReturn(from: old.sampleRate, to: fresh.sampleRate)
        }
      }
      seating.withLock { $0.graph }?.prepare(
        sampleRate: fresh.sampleRate, blockFrames: fresh.periodFrames)
      unsafe engine.pointee.rebase(client: fresh.handle, anchor: fresh.deviceFrame)
      try unsafe fresh.activate(engine, self)
      try restorePorts(on: fresh)
    } catch {
      log.error("\(error)")
      lose()
      return false
    }
    makeMissingConnections()
    // Cycles that come now carry what they play over the connections that were made.
    awaitCycles(2)
    let graph = seating.withLock { $0.graph }
    graph?.begin()
    seating.withLock { seating in
      seating.isAway = false
      change(&seating) { _ in }
    }
    if let graph { fresh.setLatencies(graph.latencies) }
    if fresh.sampleRate != old.sampleRate { rateChanges.add(1, ordering: .relaxed) }
    if lostServer.exchange(false, ordering: .relaxed) { restarts.add(1, ordering: .relaxed) }
    survived.store(seen, ordering: .releasing)
    if !closed.load(ordering: .acquiring) { enlist() }
    awaitCycles(1)
    for owner in owners { owner.deviceReturned() }
    return true
  }

  /// Takes the voices out of the cycles as they stand, and gives the client up.
  private func leaveServer() {
    let owners = seating.withLock { seating in
      seating.isAway = true
      change(&seating) { _ in }
      return seating.seats.compactMap { $0.owner }
    }
    for owner in owners { owner.deviceLost() }
    seating.withLock { $0.runsGraph ? $0.graph : nil }?.halt()
    letGo()
    // A thread of JACK's may have been ended in the middle of a cycle.
    unsafe engine.pointee.rebase(client: nil, anchor: latestFrame)
    seating.withLock { seating in
      seating.users -= seating.retired
      seating.seats.removeAll { $0.retiredUntil != nil }
      for i in seating.seats.indices { seating.seats[i].ports = [] }
      seating.graphPorts = seating.graphPorts.mapValues {
        GraphPlace(port: unsafe ClientPort(cue_port()), direction: $0.direction)
      }
    }
    patchbay.withLock { $0.lose() }
  }

  /// Gives each voice, and the graph, its ports again, under their names.
  private func restorePorts(on client: any ServerClient) throws(ServerError) {
    for port in seating.withLock({ $0.graph })?.wantedPorts ?? [] {
      let made = try Self.add(port, to: client)
      port.give(made)
      seating.withLock {
        $0.graphPorts[port.name] = GraphPlace(port: made, direction: port.direction)
      }
    }
    for seat in seating.withLock({ $0.seats }) {
      var ports: [ClientPort] = []
      for name in seat.portNames {
        ports.append(try client.addPort(named: name, seat.memory.direction))
      }
      let isSeated = seating.withLock { seating in
        guard let i = seating.seats.firstIndex(where: { $0.memory === seat.memory }) else {
          return false
        }
        for channel in 0..<min(ports.count, seat.memory.channels) {
          unsafe seat.memory.ports[channel] = ports[channel].place
        }
        if let give = seat.giveSecondPort { give(ports[1]) }
        seating.seats[i].ports = ports
        return true
      }
      if !isSeated { for port in ports { client.removePort(port) } }
    }
  }

  /// Makes the connections whose other side is there.
  func makeMissingConnections() {
    for (port, destination) in patchbay.withLock({ $0.missing }) {
      do throws(ServerError) {
        try connect(port, to: destination)
      } catch {
        log.debug("not connected yet: \(error)")
      }
    }
  }

  /// Connects a voice's or a recorder's port `name` to the port with the full name `other`, now and after
  /// each return of the server.
  package func connect(_ name: String, to other: String) throws(ServerError) {
    let direction = seating.withLock { seating in
      seating.graphPorts[name]?.direction
        ?? seating.seats.first { $0.portNames.contains(name) }?.memory.direction
    }
    switch direction {
    case .input: try client.connect(other, toOurs: name)
    case .output, nil: try client.connect(name, to: other)
    }
    connected(name, to: other)
  }

  /// Takes such a connection away for good, if it is there.
  package func disconnect(_ name: String, from destination: String) {
    client.disconnect(name, from: destination)
    disconnected(name, from: destination)
  }

  /// Waits until `count` more cycles have come, if they come by themselves.
  func awaitCycles(_ count: UInt64) {
    awaitCycle(unsafe engine.pointee.cyclesBegun + count)
  }

  /// The number of the cycle after which all connections that were made by now are heard: the next one
  /// knows of them, or the one after if the server was just telling of something else.
  package var cycleThatHearsAll: UInt64 { unsafe engine.pointee.cyclesBegun + 2 }

  /// Waits until cycle `last` has come, if they come by themselves.
  package func awaitCycle(_ last: UInt64) {
    guard unsafe client.handle != nil else { return }
    let losses = losses.load(ordering: .acquiring)
    let deadline = HostTime.now + 2_000_000_000
    while !(unsafe engine.pointee.areOver(last)) {
      if self.losses.load(ordering: .acquiring) != losses || closed.load(ordering: .acquiring)
        || HostTime.now > deadline
      {
        return
      }
      usleep(200)
    }
  }

  // MARK: A second port

  /// Gives a voice of one channel a second port and has it take over every second destination of the
  /// first, without a click. Not real time; takes some cycles.
  ///
  /// - Parameters:
  ///   - give: Hands the port to the voice, which is to write silence to it until it has switched.
  ///     Called now and, on the device's thread and while no cycle is in the voice, after each
  ///     return of the server.
  ///   - willSwitch: Tells the voice how many connections the first port has in the first cycle in
  ///     which the second one is to carry the right channel: `cue_rt_port_connections`.
  /// - Returns: The name of the port.
  package func addSecondPort(
    to voice: VoiceMemory, give: @escaping @Sendable (ClientPort) -> Void,
    willSwitch: (_ connectionsLeft: Int) -> Void
  ) throws(ServerError) -> String {
    let client = client
    let seat = seating.withLock { $0.seats.first { $0.memory === voice } }
    guard let seat, seat.ports.count == 1, let first = seat.portNames.first else {
      throw .lost(server: client.serverName)
    }
    let second = "\(seat.prefix)2"
    let port = try client.addPort(named: second, .output)
    let isGiven = seating.withLock { seating in
      guard let i = seating.seats.firstIndex(where: { $0.memory === voice }),
        seating.seats[i].ports.count == 1
      else { return false }
      give(port)
      seating.seats[i].ports.append(port)
      seating.seats[i].portNames.append(second)
      seating.seats[i].giveSecondPort = give
      return true
    }
    guard isGiven else {
      client.removePort(port)
      throw .lost(server: client.serverName)
    }
    awaitCycles(1)
    let destinations = client.connections(of: first)
    var moved: [String] = []
    for i in stride(from: 1, to: destinations.count, by: 2) {
      do throws(ServerError) {
        try connect(second, to: destinations[i])
        moved.append(destinations[i])
      } catch {
        log.warning("\(error): it stays with the first port")
      }
    }
    willSwitch(destinations.count - moved.count)
    for destination in moved { disconnect(first, from: destination) }
    return second
  }
}
