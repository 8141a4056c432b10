import AudioQueue
import RealTime
import Server
import Synchronization

/// JACK's transport as `cuejack play --transport` follows it: its frame 0 is the beginning of the files.
///
/// jackd asks before the transport rolls, and rolls on the frame that the answer gives. A transport that
/// rolls already, and one of PipeWire, is followed a fraction of a second later. Main thread.
final class PlayTransport {
  /// What to do.
  enum Order {
    /// Play from a position at a device frame. If `answers` is true, `answer` follows.
    case play(position: Int64, frame: Int64, answers: Bool)
    /// Stand at a position.
    case stand(position: Int64)
  }

  private let device: Device
  private var sync: TransportSync?
  /// Number of the latest request that was answered, and the device frame on which the transport was to
  /// roll.
  private var answered: UInt32 = 0
  private var promised: Int64 = 0
  private var restarts: UInt64

  /// - Parameter onChange: Called on the event thread when the transport starts or stops.
  init(_ device: Device, onChange: @escaping @Sendable () -> Void) {
    self.device = device
    restarts = device.restarts
    sync = device.client.joinTransportStarts()
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
      sync = device.client.joinTransportStarts()
      answered = 0
    }
    guard !device.isLost, let state = device.transport else { return nil }
    if let request = sync?.request, request.number != answered {
      answered = request.number
      // The transport rolls at the beginning of a cycle.
      let period = Int64(device.periodFrames)
      promised = device.latestFrame + ((lead + period - 1) / period + 1) * period
      return .play(position: request.position, frame: promised, answers: true)
    }
    if state.isStarting {
      // Another client needs more time than these files.
      let isEarly = answered > 0 && state.frame >= promised + 2 * Int64(device.periodFrames)
      guard isEarly || sync == nil, offset != nil else { return nil }
      return .stand(position: state.position)
    }
    guard state.isRolling else {
      let isThere = offset == nil && position == state.position
      // A start that was promised is still to come.
      let isSoon = answered > 0 && offset != nil && device.now < promised
      return isThere || isSoon ? nil : .stand(position: state.position)
    }
    let wanted = state.position - state.frame
    if offset == wanted { return nil }
    let frame = device.now + lead
    return .play(position: wanted + frame, frame: frame, answers: false)
  }

  /// Lets the transport roll, for which the files are ready.
  func answer() {
    sync?.answer(answered, rollingAt: promised, periodFrames: device.periodFrames)
  }

  /// Starts or stops the transport, for all its clients.
  func toggle() {
    if device.transport?.isRolling == true {
      device.client.stopTransport()
    } else {
      device.client.startTransport()
    }
  }

  /// Moves the transport, for all its clients.
  func locate(to frame: Int64) { device.client.locateTransport(to: max(0, frame)) }
}
