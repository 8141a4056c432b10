import RealTime
package import Server
import Timeline

/// A client's part in JACK's transport, for players that are where the transport is.
///
/// jackd asks the client to get ready before the transport rolls, and lets it roll on the frame that the
/// answer gives. A transport that rolls already is followed a fraction of a second later, as on PipeWire,
/// which asks nobody.
///
/// On a machine that another one drives over the network, the transport misses periods while the link is
/// down, and jackd does not mend that while it rolls. A jackd that was started again counts from 0. The players are
/// then ahead of this machine's transport by as much, and so where the other machine is.
package struct TransportFollower: Sendable {
  /// The next step of the players.
  package enum Step: Equatable, Sendable {
    /// Get ready for a position, and answer request `number`.
    case getReady(number: UInt32, position: Int64)
    /// Wait at a position for another client, which needs more time before the transport rolls.
    case wait(position: Int64)
    /// Stand at a position.
    case stand(position: Int64)
    /// Play; `offset` is the players' position at device frame 0.
    case roll(offset: Int64)
  }

  /// The client's part in starts of the transport; nil if the server asks nobody.
  private let sync: TransportSync?
  /// Number of the latest request that was answered, and the device frame at which the players start.
  private var answered: UInt32 = 0
  private var frame: Int64 = 0

  private var slip = TransportSlip()
  /// Whether the transport rolled when its server was lost, and has not been seen to roll on the server's return.
  private var isBack = false
  /// Device frame of the first cycle in which the present roll of the transport was seen.
  private var since: Int64?
  /// Frames that the transport has missed in its present roll.
  package private(set) var missed: Int64 = 0

  /// - Parameter old: The follower on the server that was lost; nil for none.
  package init(_ sync: TransportSync? = nil, after old: TransportFollower? = nil) {
    self.sync = sync
    guard let old, old.since != nil || old.isBack else { return }
    slip = old.slip
    missed = old.missed
    isBack = true
  }

  /// The latest request, if it was not answered.
  private var request: (number: UInt32, position: Int64)? {
    guard let request = sync?.request, request.number != answered else { return nil }
    return request
  }

  /// True if the transport has asked the client to get ready.
  package var isAsked: Bool { request != nil }

  /// Returns what to do now on a device; nil for nothing.
  ///
  /// - Parameter onMiss: Called with the frames that the transport has missed since the last call, if it has.
  package mutating func step(on device: Device, onMiss: (Int64) -> Void) -> Step? {
    let state = device.transport
    if let request {
      forgetRoll()
      return .getReady(number: request.number, position: request.position)
    }
    guard let state else { return nil }
    if state.isRolling {
      let new = noteRoll(since: state.since, on: device.client)
      if new != 0 { onMiss(new) }
      return .roll(offset: state.position - state.frame + missed)
    }
    forgetRoll()
    if state.isStarting {
      let isEarly = answered > 0 && state.frame >= frame + 2 * Int64(device.periodFrames)
      return isEarly || sync == nil ? .wait(position: state.position) : nil
    }
    return .stand(position: state.position)
  }

  /// Returns a message about frames that the transport has missed.
  package static func words(missed: Int64, on device: Device) -> String {
    let milliseconds = Int64((Double(missed.magnitude) / device.client.sampleRate * 1000).rounded())
    let (fault, way) = missed > 0 ? ("missed", "ahead") : ("repeated", "back")
    return
      "transport: the network or this machine's JACK was interrupted, and JACK \(fault) \(missed.magnitude) frames (\(milliseconds) ms): the sound goes \(way) by as much, to where the other machine is"
  }

  private mutating func forgetRoll() {
    slip = TransportSlip()
    isBack = false
    since = nil
    missed = 0
  }

  /// Notes that the transport rolls, and returns the frames that it has missed since the last call.
  private mutating func noteRoll(since start: Int64, on client: any ServerClient) -> Int64 {
    if let since, since != start { forgetRoll() }
    since = start
    guard let moment = client.transportMoment else { return 0 }
    let (rate, period) = (client.sampleRate, client.periodFrames)
    let new =
      isBack
      ? slip.resume(at: moment, sampleRate: rate, periodFrames: period)
      : slip.note(moment, sampleRate: rate, periodFrames: period)
    isBack = false
    guard new != 0, client.isDrivenByNetwork else { return 0 }
    missed += new
    return new
  }

  /// Lets the transport roll with the cycle that begins at device frame `frame`.
  package mutating func answer(_ number: UInt32, rollingAt frame: Int64, periodFrames: Int) {
    sync?.answer(number, rollingAt: frame, periodFrames: periodFrames)
    answered = number
    self.frame = frame
  }
}
