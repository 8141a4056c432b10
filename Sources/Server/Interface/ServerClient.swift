import CRealTime
package import RealTime
import System
package import Timeline

/// A client of a server: ports, cycles and a clock. Any thread that is not real time.
package protocol ServerClient: AnyObject, Sendable {
  var serverName: String { get }
  /// The name that the server gave the client, unique on the server.
  var name: String { get }
  /// Sample rate in Hz, as of the latest `takeSampleRate()`.
  var sampleRate: Double { get }
  /// Frames of a cycle, as far as they are known in advance.
  var periodFrames: Int { get }
  /// Real-time priority of the process thread; nil if it has none.
  var realTimePriority: Int? { get }
  /// The server's sample rate now. `takeSampleRate()` copies it to `sampleRate`.
  var liveSampleRate: Double { get }
  /// True if the server is PipeWire, which changes rates in place and moves clients from driver to
  /// driver.
  var isPipeWire: Bool { get }
  /// Host time now, in nanoseconds, on the clock that times the client's cycles.
  var hostTime: UInt64 { get }
  /// Device time and host time now, computed without an earlier device time.
  var anchor: TimeAnchor { get }
  /// Key that all clients of one server share, in every process of this user.
  var returnKey: String { get }
  /// Offset from the driver's counter to device time; nil if the counter is device time.
  var timeBase: UnsafeMutablePointer<TimeBase>? { get }
  /// JACK handle whose frame counter each cycle reads; nil if the caller drives the cycles.
  var handle: OpaquePointer? { get }
  /// True if the caller that runs the cycles also reads the events. Such a device has no event
  /// thread and is not found by UID.
  var deliversEventsItself: Bool { get }
  /// JACK's ports that play on the sound card, in order, to which playback queues connect. JACK calls them input ports.
  var physicalOutputs: [String] { get }
  /// JACK's ports that record from the sound card, in order, to which recording queues connect.
  var physicalInputs: [String] { get }
  /// Returns the full names of the ports of other clients, in the server's order: those that take sound
  /// or MIDI for `.input`, those that give it for `.output`.
  func otherPorts(_ direction: PortDirection, _ kind: PortKind) -> [String]
  /// The MIDI ports of all clients, in the server's order.
  var midiPorts: [JackPort] { get }
  /// Whether the client of the port with this full name makes its connections itself, for its own run:
  /// `ConnectionClaim.own`.
  func makesOwnConnections(_ port: String) -> Bool
  /// Returns the largest latency in frames of the sound card's ports: from the card to `physicalInputs`
  /// for `.input`, from `physicalOutputs` to the card for `.output`.
  func cardLatency(_ direction: PortDirection) -> Int
  /// Returns the latency range in frames that the server knows of this client's port `name`: from an output to the
  /// card, or from the card to an input.
  func latency(of name: String, _ direction: PortDirection) -> ClosedRange<Int>
  /// Let the transport roll, stop it, or move it, for all clients of the server.
  func startTransport()
  func stopTransport()
  func locateTransport(to frame: Int64)
  /// Makes this client the transport's timebase, which gives it a tempo, until the client is closed.
  ///
  /// - Returns: False if another client is the timebase.
  func becomeTimebase(_ tempo: TransportTempo) -> Bool
  /// Lets the transport wait before it rolls until this client is ready; nil if the server cannot.
  func joinTransportStarts() -> TransportSync?
  /// The transport's frame at the beginning of the latest cycle; nil unless it rolls, or if the server does
  /// not tell the time of the cycle.
  var transportMoment: TransportMoment? { get }
  /// True if another machine's JACK runs this server's cycles over the network (netone).
  var isDrivenByNetwork: Bool { get }
  /// The server's load in percent of the time of a cycle.
  var load: Float { get }
  /// True if a client of any process is connected to a port of the sound card.
  var cardIsInUse: Bool { get }
  /// Full names of the ports of any client that are connected to `physicalOutputs`.
  var cardSources: [String] { get }
  /// Asks the server for cycles of `frames` frames.
  ///
  /// - Returns: False if it refuses them.
  func setPeriod(_ frames: Int) -> Bool

  /// Copies the server's present rate to `sampleRate`.
  func takeSampleRate()
  /// Starts the cycles. Each cycle runs `engine`. Call once.
  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices)
    throws(ServerError)
  func addPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort
  /// Adds a MIDI port; one that carries no events if the server has no MIDI ports.
  func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort
  /// Sets the names and the order that patchbays show for the client and its ports. Skips missing ports.
  func show(_ appearance: ClientAppearance)
  /// Tells the server the latencies of this client's ports. May wait for all clients of the server.
  func setLatencies(_ latencies: [PortLatency])
  /// Sets this client's port latencies anew if the server has asked for that. Call after
  /// `latenciesChanged`, on the event thread.
  func updateLatencies()
  /// Removes all connections of a port of this client.
  func isolate(_ port: ClientPort)
  /// Removes a port of this client. No cycle may still know of a connection of it.
  func removePort(_ port: ClientPort)
  /// Connects this client's port `name` to the port with the full name `destination`.
  func connect(_ name: String, to destination: String) throws(ServerError)
  /// Connects the port with the full name `source` to this client's port `name`.
  func connect(_ source: String, toOurs name: String) throws(ServerError)
  /// Removes that connection, if it exists.
  func disconnect(_ name: String, from destination: String)
  /// Returns the full names of the ports connected to this client's port `name`, in the order in
  /// which they were connected.
  func connections(of name: String) -> [String]

  /// Returns how the connections of this client's ports have changed since the last call. One
  /// thread at a time.
  ///
  /// - Parameter patience: Lowered to the seconds after which to call again in any case.
  func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange]

  /// Closes the client.
  ///
  /// - Returns: True if no cycle is running and none follows. False if the server does not answer
  ///   or a cycle does not end: cycles may continue.
  @discardableResult func close() -> Bool
}

extension ServerClient {
  func addPort(named name: String, _ direction: PortDirection, isMIDI: Bool) throws(ServerError)
    -> ClientPort
  {
    isMIDI ? try addMIDIPort(named: name, direction) : try addPort(named: name, direction)
  }

  package var liveSampleRate: Double { sampleRate }
  package var isPipeWire: Bool { false }
  package var hostTime: UInt64 { HostTime.now }
  package var timeBase: UnsafeMutablePointer<TimeBase>? { nil }
  package var returnKey: String { serverName }
  package func takeSampleRate() {}
  package func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange] { [] }
  package var deliversEventsItself: Bool { false }
  package var periodFrames: Int { 1024 }
  package var realTimePriority: Int? { nil }
  package func otherPorts(_ direction: PortDirection, _ kind: PortKind) -> [String] { [] }
  package var midiPorts: [JackPort] { [] }
  package func makesOwnConnections(_ port: String) -> Bool { false }
  package func cardLatency(_ direction: PortDirection) -> Int { 0 }
  package func latency(of name: String, _ direction: PortDirection) -> ClosedRange<Int> { 0...0 }
  package func startTransport() {}
  package func stopTransport() {}
  package func locateTransport(to frame: Int64) {}
  package func becomeTimebase(_ tempo: TransportTempo) -> Bool { true }
  package func joinTransportStarts() -> TransportSync? { nil }
  package var transportMoment: TransportMoment? { nil }
  package var isDrivenByNetwork: Bool { false }
  package var load: Float { 0 }
  package var cardIsInUse: Bool { false }
  package var cardSources: [String] { [] }
  package func setPeriod(_ frames: Int) -> Bool { frames == periodFrames }
  package func show(_ appearance: ClientAppearance) {}
  package func setLatencies(_ latencies: [PortLatency]) {}
  package func updateLatencies() {}
  package func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError)
    -> ClientPort
  { unsafe ClientPort(cue_port()) }
}
