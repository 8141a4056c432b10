package import CRealTime
import Glibc
package import RealTime

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
  /// What the frame counter shows now.
  var counter: UInt32 { get }
  /// The device time now, found without knowing an earlier one.
  var deviceFrame: Int64 { get }
  /// The handle whose frame counter a cycle reads; nil if whoever drives the cycle counts.
  var handle: OpaquePointer? { get }
  /// True if whoever runs the cycles reads the voices' events too: the device needs no thread for that,
  /// and nobody else can find it by its UID.
  var relaysItself: Bool { get }
  /// Input ports of the sound card, in order: where a queue is heard.
  var physicalOutputs: [String] { get }
  /// Output ports of the sound card, in order: what a queue records.
  var physicalInputs: [String] { get }

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

  /// CLOCK_MONOTONIC, in nanoseconds, at which the frame counter shows `counter`.
  func hostTime(ofCounter counter: UInt32) -> UInt64
  /// What the frame counter shows at `hostTime`, in nanoseconds of CLOCK_MONOTONIC.
  func counter(atHostTime hostTime: UInt64) -> UInt32

  /// Ends the client. No cycle is under way when this returns, and none comes.
  func close()
}

extension ServerClient {
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

/// What a server tells a client. Called on the server's threads: return soon, call nothing of JACK.
package protocol ServerNotices: AnyObject, Sendable {
  /// The server has gone. Not even a lock may be taken here.
  func serverLost()
  /// A cycle came too late.
  func xrun()
  /// The server has another sample rate.
  func rateChanged()
  /// Cycles will have that many frames. None is under way, if the server can help it.
  func periodChanged(to frames: Int)
  /// Cycles come as soon as the one before is over, or by the clock again.
  func freewheels(_ on: Bool)
  /// Our port `name` was connected to the port with the full name `destination`, by whomever.
  func connected(_ name: String, to destination: String)
  /// That connection was taken away.
  func disconnected(_ name: String, from destination: String)
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
