package import CRealTime
import Glibc
package import RealTime
package import Timeline

/// Something that runs cycles: a JACK server, or a test that drives them by hand.
package protocol Server: Sendable {
  /// Opens a client. Not for a real-time thread; may take as long as starting a server does.
  ///
  /// - Parameter name: The name that is asked for; the client's own `name` may differ.
  func openClient(named name: String) throws(ServerError) -> any ServerClient
  /// Opens a client in the place of one whose server went away, if a server answers; starts none.
  func reopenClient(named name: String) -> (any ServerClient)?
}

/// One client of a server: ports, cycles and a clock. Safe on every thread that is not real time.
package protocol ServerClient: AnyObject, Sendable {
  var serverName: String { get }
  /// The name that the server gave the client: unique on the server.
  var name: String { get }
  /// Frames per second.
  var sampleRate: Double { get }
  /// Frames of a cycle, as far as that can be told beforehand.
  var periodFrames: Int { get }
  /// Real-time priority of the thread that runs the cycles; nil if it has none.
  var realTimePriority: Int? { get }
  /// The rate that the server has now. `sampleRate` takes it with `takeSampleRate()`.
  var liveSampleRate: Double { get }
  /// True if PipeWire serves: it changes rates in place, and moves clients from driver to driver.
  var isPipeWire: Bool { get }
  /// Host time now, in nanoseconds, on the clock that times the client's cycles.
  var hostTime: UInt64 { get }
  /// Now, in device time and host time, found without knowing an earlier device time.
  var anchor: TimeAnchor { get }
  /// What clients of one server have in common, in every process of this user.
  var returnKey: String { get }
  /// The offset from the driver's counter to device time; nil if the counter is device time.
  var timeBase: UnsafeMutablePointer<TimeBase>? { get }
  /// The handle whose frame counter a cycle reads; nil if whoever drives the cycle counts.
  var handle: OpaquePointer? { get }
  /// True if whoever runs the cycles reads the voices' events too: the device needs no thread for that,
  /// and nobody else can find it by its UID.
  var relaysItself: Bool { get }
  /// Input ports of the sound card, in order: where a queue is heard.
  var physicalOutputs: [String] { get }
  /// Output ports of the sound card, in order: what a queue records.
  var physicalInputs: [String] { get }

  /// Makes `sampleRate` the rate that the server has now.
  func takeSampleRate()
  /// Has `engine` play each cycle from now on. Once, before anything is heard.
  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices)
    throws(ServerError)
  func addPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort
  /// A port for events; one that carries nothing if the server has no such ports.
  func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort
  /// Has the server know how long our ports take. May wait for all clients of the server.
  func setLatencies(_ latencies: [PortLatency])
  /// Takes all connections of our port away.
  func isolate(_ port: ClientPort)
  /// Takes our port away: one that has no connections in any cycle.
  func removePort(_ port: ClientPort)
  /// Connects our port `name` to the port with the full name `destination`.
  func connect(_ name: String, to destination: String) throws(ServerError)
  /// Connects the port with the full name `source` to our port `name`.
  func connect(_ source: String, toOurs name: String) throws(ServerError)
  /// Takes that connection away, if it is there.
  func disconnect(_ name: String, from destination: String)
  /// The full names of the ports that our port `name` is connected to, in the order in which that
  /// was done.
  func connections(of name: String) -> [String]

  /// Returns how our ports' connections have changed since the last call. One thread at a time.
  ///
  /// - Parameter patience: Takes the seconds after which it is to be called again in any case.
  func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange]

  /// Ends the client.
  ///
  /// - Returns: True if no cycle is under way and none comes. False if the server does not answer, or a
  ///   cycle does not end: cycles may go on.
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
  package var relaysItself: Bool { false }
  package var periodFrames: Int { 1024 }
  package var realTimePriority: Int? { nil }
  package func setLatencies(_ latencies: [PortLatency]) {}
  package func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError)
    -> ClientPort
  { unsafe ClientPort(cue_port()) }
}

/// One port of a client.
@safe
package struct ClientPort: @unchecked Sendable {
  package let place: cue_port
  package init(_ place: cue_port) { unsafe self.place = place }
}

/// A connection of one of our ports that was made or ended, by whomever.
package struct ConnectionChange: Equatable, Sendable {
  package enum Kind: Sendable {
    case made
    /// Both ports are there, and somebody disconnected them.
    case ended
    /// The other port is gone. The connection is wanted again when it is back.
    case interrupted
  }
  package let kind: Kind
  /// The short name of our port.
  package let port: String
  /// The full name of the other one.
  package let other: String

  package init(kind: Kind, port: String, other: String) {
    self.kind = kind
    self.port = port
    self.other = other
  }
}

/// What a server tells a client. Called on the server's threads, which may hold up the cycles meanwhile:
/// conformers only set flags and wake a thread. They allocate nothing, take no lock and call nothing of JACK.
package protocol ServerNotices: AnyObject, Sendable {
  /// The server has gone.
  func serverLost()
  /// The server says that it is gone, and may be wrong: if cycles go on to come, it is there.
  func serverMayBeLost()
  /// A cycle came too late.
  func xrun()
  /// The server may have another sample rate.
  func rateChanged()
  /// Cycles will have that many frames. None is under way, if the server can help it.
  func periodChanged(to frames: Int)
  /// Cycles come as soon as the one before is over, or by the clock again.
  func freewheels(_ on: Bool)
  /// Connections of our ports have changed: `takeConnectionChanges` tells how.
  func connectionsChanged()
  /// There is another port on the server.
  func portAppeared()
}

/// Nanoseconds of CLOCK_MONOTONIC: host time.
package enum HostTime {
  package static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
