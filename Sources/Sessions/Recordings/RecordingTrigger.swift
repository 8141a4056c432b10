import AudioQueue
import RealTime
import Server
import Synchronization

/// The start and the end of what a recorder writes, while its queue already runs: on a key, on sound, or
/// with JACK's transport. Any thread that is not real time.
///
/// The recorder keeps the latest sound in memory until the start, so that a file may begin earlier.
package final class RecordingTrigger: Sendable {
  /// Frames to write from before the start.
  package let preRollFrames: Int64
  /// The level above which a sample starts the recording, 1 being full scale; nil if none does.
  package let threshold: Float?
  /// True if the transport starts the recording when it rolls, and ends it when it stops.
  package let followsTransport: Bool

  private struct State {
    /// The frames of the run at which the recording starts and ends.
    var begin: Int64?
    var end: Int64?
    /// True if the transport was rolling when it was looked at last, and the server's restarts until then.
    var wasRolling = false
    var restarts: UInt64 = 0
  }
  private let state = Mutex(State())

  package init(preRollFrames: Int64 = 0, threshold: Float? = nil, followsTransport: Bool = false) {
    self.preRollFrames = preRollFrames
    self.threshold = threshold
    self.followsTransport = followsTransport
  }

  /// Starts the recording at a frame of the run, at the queue's rate. Later calls do nothing.
  package func begin(at frame: Int64) {
    state.withLock { if $0.begin == nil { $0.begin = max(0, frame) } }
  }

  /// True once the start is known.
  package var hasBegun: Bool { state.withLock { $0.begin != nil } }
  /// The first frame to write, if the recorder has it; nil before the start is known.
  var firstFrame: Int64? { state.withLock { $0.begin.map { max(0, $0 - preRollFrames) } } }
  /// The frame that follows the last one; nil until the end is known.
  var end: Int64? { state.withLock { $0.end } }

  /// Looks at the transport, which tells the device frame of its latest start or stop. Call it before the
  /// queue's frames are written: they are no later than the state of the transport.
  func follow(_ queue: InputQueue) {
    guard followsTransport, let device = queue.runningDevice else { return }
    guard let reading = device.transport, !reading.isStarting else { return }
    guard let frame = queue.runFrame(atDeviceFrame: reading.since) else { return }
    let restarts = device.restarts
    state.withLock { state in
      defer {
        state.wasRolling = reading.isRolling
        state.restarts = restarts
      }
      if reading.isRolling {
        if state.begin == nil { state.begin = max(0, frame) }
      } else if state.wasRolling, state.restarts == restarts, state.end == nil {
        state.end = frame
      }
    }
  }
}
