package import RealTime
package import Server

/// A client's part in JACK's transport, for players that are where the transport is.
///
/// jackd asks the client to get ready before the transport rolls, and lets it roll on the frame that the
/// answer gives. A transport that rolls already is followed a fraction of a second later, as on PipeWire,
/// which asks nobody.
package struct TransportFollower: Sendable {
  /// The next step of the players.
  package enum Step: Equatable, Sendable {
    /// Get ready for a position, and answer request `number`.
    case getReady(number: UInt32, position: Int64)
    /// Wait at a position for another client, which needs more time before the transport rolls.
    case wait(position: Int64)
    /// Stand at a position.
    case stand(position: Int64)
    /// Play; `offset` is the transport's position at device frame 0.
    case roll(offset: Int64)
  }

  /// The client's part in starts of the transport; nil if the server asks nobody.
  private let sync: TransportSync?
  /// Number of the latest request that was answered, and the device frame at which the players start.
  private var answered: UInt32 = 0
  private var frame: Int64 = 0

  package init(_ sync: TransportSync? = nil) { self.sync = sync }

  /// The latest request, if it was not answered.
  private var request: (number: UInt32, position: Int64)? {
    guard let request = sync?.request, request.number != answered else { return nil }
    return request
  }

  /// True if the transport has asked the client to get ready.
  package var isAsked: Bool { request != nil }

  /// Returns what to do in a state of the transport; nil for nothing.
  package func step(_ state: TransportReading?, periodFrames: Int) -> Step? {
    if let request { return .getReady(number: request.number, position: request.position) }
    guard let state else { return nil }
    if state.isStarting {
      let isEarly = answered > 0 && state.frame >= frame + 2 * Int64(periodFrames)
      return isEarly || sync == nil ? .wait(position: state.position) : nil
    }
    return state.isRolling
      ? .roll(offset: state.position - state.frame) : .stand(position: state.position)
  }

  /// Lets the transport roll with the cycle that begins at device frame `frame`.
  package mutating func answer(_ number: UInt32, rollingAt frame: Int64, periodFrames: Int) {
    sync?.answer(number, rollingAt: frame, periodFrames: periodFrames)
    answered = number
    self.frame = frame
  }
}
