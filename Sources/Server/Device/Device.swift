import Logging
package import RealTime
import Synchronization
import System
import Timeline

/// A client of a server with its voices, recorders and graph; a queue's device. Any thread that is not
/// real time.
///
/// It only composes its parts. `ClientCycles` has the client, what its cycles read, and the time; `Attachments` what they
/// run, with its ports and their connections, which `VoicePorts`, `RetiredVoices` and `GraphAttachment` change.
/// `ServerReturn` restores all of it after a loss.
///
/// Locks are taken in this order: an owner's control lock, `ClientLink.closing`, `Attachments`, then at most one of
/// the others, under which nothing is called that takes another one.
package final class Device: Sendable {
  let cycles: ClientCycles
  let attachments: Attachments
  private let notices: DeviceNotices
  private let eventThread = EventThread()
  private let serverReturn: ServerReturn
  /// Period in frames of the last `deliverOnce`, to notice another one.
  private let deliveredPeriod = Atomic<Int>(0)
  private let observer = Hook<@Sendable () -> Void>()
  private let appearance = Mutex<ClientAppearance?>(nil)

  /// Opens a client on `server` and starts its cycles.
  package init(_ server: any Server, clientName: String) throws(ServerError) {
    let client = try server.openClient(named: clientName)
    cycles = ClientCycles(client, waking: eventThread)
    notices = DeviceNotices(cycles, waking: eventThread)
    attachments = Attachments(cycles)
    serverReturn = ServerReturn(
      to: server, GraphAttachment(attachments: attachments, notices: notices))
    attachments.whenUnused { [weak self] in self?.close() }
    try unsafe client.activate(cycles.engine.engine, notices)
    if client.deliversEventsItself { return }
    cycles.engine.adoptSampleRate(of: client)
    serverReturn.enter()
    eventThread.start { [weak self] in self?.deliverAll() ?? nil }
    DeviceRegistry.shared.add(self, named: uid)
  }

  // The caller that opened it may have failed before attaching anything.
  deinit { close() }

  /// Closes the client. The device cannot be used afterwards.
  package func close() {
    guard cycles.link.beginEnd() else { return }
    DeviceRegistry.shared.remove(named: uid)
    serverReturn.end()
    cycles.link.close(orElse: attachments.keepMemory)
    cycles.link.end()
    if !client.deliversEventsItself { eventThread.end() }
  }

  var connections: Connections { attachments.connections }
  private var voices: VoicePorts { VoicePorts(attachments: attachments) }
  private var retired: RetiredVoices { RetiredVoices(attachments: attachments) }
  private var graph: GraphAttachment {
    GraphAttachment(attachments: attachments, notices: notices)
  }

  // MARK: The client

  /// Returns the open device called `uid`; nil if this process has none.
  package static func named(_ uid: String) -> Device? { DeviceRegistry.shared.device(named: uid) }

  /// Unique ID by which queues share this device.
  package var uid: String {
    let client = client
    return "jack:\(client.serverName)/\(client.name)"
  }
  /// The client on the server, replaced after each return of the server.
  package var client: any ServerClient { cycles.client }
  /// True while the device is away.
  package var isLost: Bool { cycles.losses.isLost }
  /// The reason why the device plays nothing at present.
  package var loss: Loss? { cycles.losses.present }
  /// Number of xruns since the device was opened.
  package var xruns: UInt64 { notices.xruns.load(ordering: .acquiring) }
  /// Number of times that the server went away and came back.
  package var restarts: UInt64 { serverReturn.restarts.load(ordering: .acquiring) }
  /// Number of changes of the server's sample rate, restarts included.
  package var rateChanges: UInt64 { serverReturn.rateChanges.load(ordering: .acquiring) }

  /// Number of ports of any client that have appeared on the server or disappeared.
  package var portChanges: UInt64 { notices.portChanges.load(ordering: .acquiring) }

  /// Frames of a cycle.
  package var periodFrames: Int {
    let times = cycles.engine.times
    return max(
      client.periodFrames, cycles.engine.cyclesBegun > 0 ? Int(times.nextFrame - times.frame) : 0)
  }

  /// Keeps the device open without voices, until `letGo()`.
  package func hold() throws(ServerError) { try attachments.admit { _ in () } }

  /// Ends `hold()`. The device closes if nothing else uses it.
  package func letGo() { attachments.leave([], []) }

  /// Sets the function that the event thread calls after its work, which any change on the server
  /// brings about.
  package func afterEvents(_ body: @escaping @Sendable () -> Void) {
    observer.set(body)
  }

  /// Tells patchbays how to show the client and its ports, and again after each return of the server. Ports
  /// that do not exist yet are left out.
  package func show(_ appearance: ClientAppearance) {
    self.appearance.withLock { $0 = appearance }
    client.show(appearance)
  }

  /// Tells patchbays the appearance again, after another client has taken the place of a lost one.
  func showAgain() {
    if let appearance = appearance.withLock({ $0 }) { client.show(appearance) }
  }

  // MARK: Time

  /// Transport state of the latest cycle; nil if no cycle has run a graph on this client, or followed
  /// `watchTransport()`.
  package var transport: TransportReading? { cycles.engine.transport }
  /// Lets cycles read the transport even if they run no graph.
  package func watchTransport() { cycles.engine.watchTransport() }
  /// Device time now. It stays within the latest cycle until the next one begins, even if that is
  /// late.
  package var now: Int64 { cycles.now }
  /// Returns the device frame that people mean by a number of JACK's frame time: below 2³² the value of the 32-bit
  /// counter that is nearest to now.
  package func frame(numbered number: Int64) -> Int64 {
    number < 1 << 32
      ? DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: now) : number
  }
  /// First device frame of the latest cycle.
  package var latestFrame: Int64 { cycles.latestFrame }
  /// The first device frame at which a run requested soon can begin; nil if no cycle comes within
  /// five seconds.
  package var earliestStart: Int64? { cycles.earliestStart }
  /// True if a run at a device frame that was requested by now may have come too late.
  package func isTooLate(for frame: Int64) -> Bool { now >= frame - Int64(periodFrames) }
  /// Returns the host time (CLOCK_MONOTONIC, nanoseconds) at device frame `frame`, extrapolated
  /// from the latest cycle.
  package func hostTime(ofFrame frame: Int64) -> UInt64 { cycles.hostTime(ofFrame: frame) }
  /// Returns the device frame at host time `time`, in nanoseconds, extrapolated from the latest
  /// cycle.
  package func frame(atHostTime time: UInt64) -> Int64 { cycles.frame(atHostTime: time) }

  // MARK: Voices and recorders

  /// Attaches a voice, a recorder or a MIDI port: adds a port for each channel, and the cycles play or fill it.
  ///
  /// - Parameter destinations: Destinations of a voice's channels, one for each, instead of ports of its
  ///   own: the ports of a source of the graph. They must exist as long as the voice is attached.
  /// - Returns: The names of the ports: `out_1`, or `in_1`, and so on. The names of a later voice
  ///   or recorder begin with its number. A MIDI port has the name of its memory. If this fails and nothing else is attached, the device
  ///   closes.
  package func attach(
    _ memory: some CycleMemory, owner: any VoiceOwner, destinations: [ClientPort]? = nil
  ) throws(ServerError) -> [String] {
    try voices.attach(memory, owner: owner, destinations: destinations)
  }

  /// Detaches a voice or a recorder and removes its ports.
  ///
  /// When this returns, no cycle uses it or the memory of its entries. The device closes with the
  /// last one. Detaching a voice takes a cycle, which leaves silence in its ports.
  ///
  /// - Returns: False if a cycle that does not end may still use it: none of its memory may be
  ///   freed.
  @discardableResult
  package func detach(_ memory: some CycleMemory) -> Bool { voices.detach(memory) }

  /// Detaches a voice or a recorder for good.
  ///
  /// When this returns, no cycle uses the memory of its entries. While others use the device, the
  /// event thread removes the ports a little later. So many that end together wait for one cycle
  /// together. The device closes with the last one.
  ///
  /// - Returns: False if a cycle that does not end may still use it: none of its memory may be
  ///   freed.
  package func retire(_ memory: some CycleMemory) -> Bool {
    guard retired.retire(memory) else { return voices.detach(memory) }
    eventThread.post()
    return true
  }

  /// Runs `body` while no cycle runs the voice or recorder. Meanwhile a voice is silent, and a
  /// recorder records nothing.
  package func holding<R>(_ memory: some CycleMemory, _ body: () -> R) throws(ServerError) -> R {
    memory.hold()
    defer { memory.release() }
    guard cycles.engine.settle() else { throw .lost(server: client.serverName) }
    return body()
  }

  /// Adds a second port to a mono voice, and moves every second destination of the first port to it
  /// without a click. Not real-time safe; takes some cycles. After each return of the server the voice
  /// has it again.
  ///
  /// - Returns: The name of the port.
  package func addSecondPort(to voice: VoiceMemory) throws(ServerError) -> String {
    try voices.addSecondPort(to: voice)
  }

  // MARK: The graph

  /// Attaches a graph, which cycles run between the voices and the recorders. One graph at a time.
  package func attach(_ graph: any DeviceGraph) throws(ServerError) { try self.graph.attach(graph) }

  /// Detaches the graph and removes its ports. The device closes with its last user.
  package func detach(_ graph: any DeviceGraph) { self.graph.detach(graph) }

  /// Adds ports to a graph that is attached or about to be: all of them, or none. No cycle uses
  /// them yet.
  package func addPorts(to graph: any DeviceGraph, _ wanted: [WantedPort]) throws(ServerError) {
    try self.graph.addPorts(to: graph, wanted)
  }

  /// Removes some of the graph's ports, which no cycle uses.
  package func removePorts(of graph: any DeviceGraph, named names: [String]) {
    self.graph.removePorts(of: graph, named: names)
  }

  /// Tells the server the graph's latencies.
  package func setLatencies(of graph: any DeviceGraph) { self.graph.setLatencies(of: graph) }

  // MARK: Connections

  /// Connects port `name` of a voice, a recorder or the graph to the port with the full name
  /// `other`. The connection is made again after each return of the server.
  package func connect(_ name: String, to other: String) throws(ServerError) {
    try connections.connect(name, attachments.direction(of: name), to: other)
  }

  /// Connects port `name` to `other` once a port of that name appears on the server.
  package func connect(_ name: String, whenThere other: String) {
    connections.want(name, to: other)
  }

  /// Connects ports of a direction to the sound card, the first one to its first port and so on. What the card
  /// has not yet is connected when it appears.
  ///
  /// - Parameter count: The number of connections: ports are taken in turn.
  /// - Returns: The card's ports that each port is connected to now.
  @discardableResult
  package func connectToCard(_ ports: [String], _ direction: PortDirection, count: Int)
    throws(ServerError) -> [[String]]
  { try connections.connectToCard(ports, direction, count: count) }

  /// Whether a port's client makes its connections itself, for its own run.
  package func makesOwnConnections(_ port: String) -> Bool { client.makesOwnConnections(port) }

  /// Connects port `name` to `other`, now or once a port of that name appears on the server.
  package func connectAgain(_ name: String, to other: String) {
    do throws(ServerError) { try connect(name, to: other) } catch {
      log.notice("\(error): connected once it is there")
      connections.want(name, to: other)
    }
  }

  /// Returns the ports that port `name` is connected to, or is to be connected to when they or the server
  /// return.
  package func connectionsToKeep(of name: String) -> [String] {
    let known = knownConnections.filter { $0.port == name }
    if isLost { return known.map(\.other) }
    // The server knows of changes that have not been noted yet.
    let present = client.connections(of: name)
    let all = client.otherPorts(.input, .audio) + client.otherPorts(.output, .audio)
    let missing = known.filter {
      !present.contains($0.other) && !($0.isMade && all.contains($0.other))
    }
    return present + missing.map(\.other)
  }

  /// A connection that is remembered.
  package struct KnownConnection: Equatable, Sendable {
    /// The name of a port of this client.
    package let port: String
    /// The full name of the other port.
    package let other: String
    /// Whether it exists; otherwise it is made when the other port or the server returns.
    package let isMade: Bool
    /// Whether the sound card was chosen because nothing else was asked for.
    package let isDefault: Bool
    /// Whether it is made again even after the other client has left.
    package let isLasting: Bool
  }

  /// Connections that exist, or that are made again when the other port or the server returns. Those that
  /// another client made for its own run are left out.
  package var knownConnections: [KnownConnection] { connections.remembered }
  /// The number of changes of connections that other programs have made.
  package var connectionChanges: Int { connections.noted.load(ordering: .relaxed) }

  /// Ports that a person or another program has disconnected: `defaults` from the sound card to which they were
  /// connected by default, `lasting` from a port to which they were to stay connected.
  package var endedPorts: (defaults: Set<String>, lasting: Set<String>) { connections.endedPorts }

  /// Remembers all existing connections as if people had made them.
  package func keepConnections() { connections.keepAll() }

  /// Removes such a connection for good, if it exists.
  package func disconnect(_ name: String, from destination: String) {
    connections.disconnect(name, from: destination)
  }

  /// The present moment, for `awaitHeard`. Read it once all connections are made.
  package var connectionMark: ConnectionMark { cycles.connectionMark }

  /// Waits until cycles are regular and audible over the connections made by `mark`. Returns at
  /// once if the caller drives the cycles.
  ///
  /// - Throws: `ServerError.noCycles` if that takes more than five seconds.
  package func awaitHeard(_ mark: ConnectionMark) throws(ServerError) {
    try cycles.awaitHeard(mark)
  }

  /// Returns the first device frame, of those that are yet to come, that is certain to be heard over the connections
  /// made by `mark`; nil if that shows only once it is heard: see `awaitHeard`.
  package func firstHeardFrame(_ mark: ConnectionMark) -> Int64? { cycles.firstHeardFrame(mark) }

  // MARK: Events

  /// Lets every owner read its events and the graph handle its own, on the calling thread.
  package func deliverEvents() { _ = deliverOnce() }

  /// Wakes the event thread for all of its work. Any thread.
  package func wake() { eventThread.post() }

  /// - Returns: The seconds after which to call the graph again.
  private func deliverOnce() -> Double? {
    let period = notices.changedPeriod.load(ordering: .acquiring)
    let frames = periodFrames
    let isOtherPeriod =
      period > 0 || deliveredPeriod.exchange(frames, ordering: .relaxed) != frames
    let (owners, graph) = attachments.withLock { state in
      (state.busyOwners(all: isOtherPeriod), state.graph.runningGraph)
    }
    let areCalled = owners.map { $0.readEvents() }
    for i in owners.indices where areCalled[i] { owners[i].wakeCallbacks() }
    if period > 0 {
      for owner in owners { owner.deviceWillChangePeriod(to: period) }
    }
    return [self.graph.prepareForPeriod(), graph?.service()].compactMap { $0 }.min()
  }

  /// Does the event thread's work: reads events, watches the server or waits for its return, and
  /// makes connections that have become possible.
  ///
  /// - Returns: The seconds after which to call again even if nothing happens.
  private func deliverAll() -> Double? {
    defer { observer.function?() }
    var patience = deliverOnce()
    func atMost(_ seconds: Double?) { patience = [patience, seconds].compactMap { $0 }.min() }
    if !isLost { atMost(serverReturn.check()) }
    if isLost { return serverReturn.comeBack(self) }
    let changes = connections.takeChanges(&patience)
    if !changes.isEmpty {
      CardRoutes.shared.report(of: self) {
        connections.note(changes)
        return changes
      }
    }
    client.updateLatencies()
    // A port may be back before the end of its connection was noted.
    if changes.contains(where: { $0.kind == .interrupted })
      || notices.portsAppeared.exchange(false, ordering: .acquiringAndReleasing)
    {
      CardRoutes.shared.report(of: self) {
        connections.makeMissing(attachments.direction(of:))
      }
    }
    atMost(retired.dismiss())
    return patience
  }
}
