package import CRealTime
import Glibc
package import RealTime
import System
package import Timeline

/// A source of process cycles: a JACK server, or a test that drives cycles by hand.
package protocol Server: Sendable {
  /// Opens a client. Not real-time safe; may take as long as starting a server.
  ///
  /// - Parameter name: The requested name; the client's own `name` may differ.
  func openClient(named name: String) throws(ServerError) -> any ServerClient
  /// Opens a client to replace one whose server went away. Returns nil if no server answers; starts
  /// none.
  func reopenClient(named name: String) -> (any ServerClient)?
  /// The server for questions of the app, which wait less than a second for a server that does not answer.
  var forQuestions: any Server { get }
}

extension Server {
  package var forQuestions: any Server { self }
}

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
  /// Whether the client of the port with this full name makes its connections itself, for its own run:
  /// `ConnectionClaim.own`.
  func makesOwnConnections(_ port: String) -> Bool
  /// Returns the largest latency in frames of the sound card's ports: from the card to `physicalInputs`
  /// for `.input`, from `physicalOutputs` to the card for `.output`.
  func cardLatency(_ direction: PortDirection) -> Int
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
  package func makesOwnConnections(_ port: String) -> Bool { false }
  package func cardLatency(_ direction: PortDirection) -> Int { 0 }
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

/// The kind of a port.
package enum PortKind: Sendable { case audio, midi }

/// A port of a client.
@safe
package struct ClientPort: @unchecked Sendable {
  package let handle: cue_port
  package init(_ handle: cue_port) { unsafe self.handle = handle }
}

/// A connection of one of this client's ports that any client made or ended.
package struct ConnectionChange: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case made
    /// Both ports exist, and somebody disconnected them.
    case ended
    /// The other port is gone, or another one has its name now. The connection is to be made again when such a
    /// port is there.
    case interrupted
    /// The other port, to which the connection exists, was called `from` before.
    case renamed(from: String)
  }
  package let kind: Kind
  /// Short name of this client's port.
  package let port: String
  /// Full name of the other port.
  package let other: String
  /// How long a connection that has been made is remembered.
  package var memory = ConnectionMemory.lasting
  /// Whether the other client is gone, with all of its ports.
  package var otherHasLeft = false

  package init(kind: Kind, port: String, other: String) {
    self.kind = kind
    self.port = port
    self.other = other
  }
}

/// A value of the property `urn:cuejack:connections`, by which a client says who remembers its connections.
package enum ConnectionClaim: String, Sendable {
  /// The client makes them itself, for its own run: nobody is to remember them.
  case own
  /// The client remembers them itself: others forget them when it leaves, and do not make again what has been
  /// removed meanwhile.
  case kept
}

/// How long a connection of one of this client's ports is remembered. JACK does not tell who made it.
package enum ConnectionMemory: Sendable {
  /// Until somebody ends it. It is made again whenever the other port returns.
  case lasting
  /// Until the other client leaves: it appeared a moment before, or remembers the connection itself. The client,
  /// or the program that connected it, does so at each start.
  case whileOtherRuns
  /// As `whileOtherRuns`, but this client asked for it, and makes it again when the server returns. The other
  /// client makes its connections itself otherwise.
  case ownWhileOtherRuns
  /// While it exists: the other client made it for its own run.
  case present
}

/// Notifications of a server to a client, on the server's threads.
///
/// Cycles may wait meanwhile. Conforming types only set flags and wake a thread; they allocate
/// nothing, take no lock and do not call JACK. Only `awaitPreparation` waits.
package protocol ServerNotices: AnyObject, Sendable {
  /// The server has gone.
  func serverLost()
  /// The server reports that it is gone, which may be wrong: if cycles continue, it still runs.
  func serverMayBeLost()
  /// A cycle came too late.
  func xrun()
  /// The server's sample rate may have changed.
  func rateChanged()
  /// Later cycles have `frames` frames. No cycle is running, if the server can arrange that.
  func periodChanged(to frames: Int)
  /// Waits until the graph is prepared for the period that changed, for half a second at most. Call
  /// it where no cycle runs meanwhile, so that none is silent.
  func awaitPreparation()
  /// Freewheel began or ended. In freewheel each cycle follows the one before without waiting for
  /// the clock.
  func freewheels(_ on: Bool)
  /// Connections of this client's ports have changed: `takeConnectionChanges` returns how.
  func connectionsChanged()
  /// A port appeared on the server.
  func portAppeared()
  /// A port disappeared from the server.
  func portDisappeared()
  /// The server asks for this client's port latencies: `updateLatencies` sets them.
  func latenciesChanged()
}
