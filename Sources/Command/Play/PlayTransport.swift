import AudioQueue
import RealTime
import Server
import Sessions
import Synchronization

/// JACK's transport as `cuejack play --transport` follows it: its frame 0 is the beginning of the files.
///
/// jackd asks before the transport rolls, and rolls on the frame that the answer gives. A transport that
/// rolls already, and one of PipeWire, is followed a fraction of a second later. Main thread.
final class PlayTransport {
  /// An instruction of the transport to the players.
  enum Order {
    /// Play from a position at a device frame. If `answers` is true, `answer` follows.
    case play(position: Int64, frame: Int64, answers: Bool)
    /// Stand at a position.
    case stand(position: Int64)
  }

  private let device: Device
  private var follower: TransportFollower
  /// The request that `answer` answers, and the device frame on which the transport rolls then.
  private var promise: (number: UInt32, frame: Int64)?
  private var restarts: UInt64

  /// - Parameter onChange: Called on the event thread when the transport starts or stops.
  init(_ device: Device, onChange: @escaping @Sendable () -> Void) {
    self.device = device
    restarts = device.restarts
    follower = TransportFollower(device.client.joinTransportStarts())
    device.watchTransport()
    let latest = Mutex<Int64?>(nil)
    device.afterEvents { [weak device] in
      let since = device?.transport?.since
      let isNew = latest.withLock { latest in
        defer { latest = since }
        return latest != since
      }
      if isNew { onChange() }
    }
  }

  /// Returns what to do now; nil for nothing.
  ///
  /// - Parameters:
  ///   - offset: Transport frame of the files at device frame 0, while they play; nil while they stand.
  ///   - position: The position at which they stand.
  ///   - lead: Device frames that a start takes.
  func order(playingAt offset: Int64?, standingAt position: Int64, lead: Int64) -> Order? {
    if device.restarts != restarts {
      // The transport of another server.
      restarts = device.restarts
      follower = TransportFollower(device.client.joinTransportStarts(), after: follower)
      promise = nil
    }
    if device.isLost { return nil }
    let step = follower.step(on: device) { [device] missed in
      Screen.shared.remark(TransportFollower.words(missed: missed, on: device))
    }
    switch step {
    case .getReady(let number, let position):
      // The transport rolls at the beginning of a cycle.
      let period = Int64(device.periodFrames)
      let frame = device.latestFrame + ((lead + period - 1) / period + 1) * period
      promise = (number, frame)
      return .play(position: position, frame: frame, answers: true)
    case .wait(let wanted): return offset == nil ? nil : .stand(position: wanted)
    case .stand(let wanted):
      let isThere = offset == nil && position == wanted
      // A start that was promised is still to come.
      let isSoon = offset != nil && promise.map { device.now < $0.frame } == true
      return isThere || isSoon ? nil : .stand(position: wanted)
    case .roll(let wanted):
      if offset == wanted { return nil }
      let frame = device.now + lead
      return .play(position: wanted + frame, frame: frame, answers: false)
    case nil: return nil
    }
  }

  /// True if a start at a device frame that was ordered by now may have come too late.
  func isTooLate(for frame: Int64) -> Bool {
    !device.isLost && device.isTooLate(for: frame)
  }

  /// Lets the transport roll, for which the files are ready.
  func answer() {
    guard let promise else { return }
    follower.answer(
      promise.number, rollingAt: promise.frame, periodFrames: device.periodFrames)
  }

  /// True while it rolls.
  var isRolling: Bool { device.transport?.isRolling == true }

  /// Starts or stops the transport, for all its clients.
  func roll(_ rolls: Bool) {
    if rolls { device.client.startTransport() } else { device.client.stopTransport() }
  }

  /// Moves the transport, for all its clients.
  func locate(to frame: Int64) { device.client.locateTransport(to: max(0, frame)) }
}
