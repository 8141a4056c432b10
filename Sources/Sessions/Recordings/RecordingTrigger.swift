import AudioQueue
import RealTime
import Server
import Synchronization

/// The start and the end of what a recorder writes, while its queue already runs: on a key, on sound and silence, or
/// with JACK's transport. Any thread that is not real time.
///
/// The recorder keeps the latest sound in memory until the start, so that a file may begin earlier.
package final class RecordingTrigger: Sendable {
  /// Silence that ends a recording: so many frames without a sample above the level, 1 being full scale.
  package struct Silence: Sendable {
    package let level: Float
    package let frames: Int64

    package init(level: Float, frames: Int64) {
      self.level = level
      self.frames = frames
    }
  }

  /// Frames to write from before the start.
  package let preRollFrames: Int64
  /// The level above which a sample starts the recording, 1 being full scale; nil if none does.
  package let threshold: Float?
  /// True if the transport starts the recording when it rolls, and ends it when it stops.
  package let followsTransport: Bool
  private let silence: Silence?
  /// True if another take may follow the end of one.
  package let repeats: Bool

  private struct State {
    /// The frames of the run at which the take starts and ends.
    var begin: Int64?
    var end: Int64?
    /// The frame of the run that follows the take before, and before which none starts; nil for the first take.
    var earliest: Int64?
    /// The frame of the run at which the take after the present one starts; nil if that one waits for its start.
    var next: Int64?
    /// True if sound and the transport start a take.
    var isArmed = true
    /// The frame of the run that follows the latest sound that was looked at.
    var seen: Int64 = 0
    /// The frame of the run that follows the take's last sample above the level of silence.
    var soundEnd: Int64 = 0
    /// True if the transport was rolling when it was looked at last, and the server's restarts until then.
    var wasRolling = false
    var restarts: UInt64 = 0

    mutating func start(at frame: Int64) {
      begin = frame
      // Sound before that was not looked at for silence.
      soundEnd = max(frame, seen)
    }
  }
  private let state: Mutex<State>

  /// - Parameter waits: False if the recording starts with the queue's run.
  package init(
    preRollFrames: Int64 = 0, threshold: Float? = nil, followsTransport: Bool = false,
    silence: Silence? = nil, repeats: Bool = false, waits: Bool = true
  ) {
    self.preRollFrames = preRollFrames
    self.threshold = threshold
    self.followsTransport = followsTransport
    self.silence = silence
    self.repeats = repeats
    state = Mutex(State(begin: waits ? nil : 0))
  }

  /// Starts the take at a frame of the run, at the queue's rate; the next take if the end of the present one is known.
  /// Later calls do nothing.
  package func begin(at frame: Int64) {
    state.withLock { state in
      if state.begin == nil {
        state.start(at: max(state.earliest ?? 0, frame))
      } else if repeats, state.end != nil, state.next == nil {
        state.next = frame
      }
    }
  }

  /// Ends the take before a frame of the run that has not been written. Another one waits for its start then, if the
  /// trigger repeats.
  ///
  /// - Returns: False if none has begun.
  package func end(at frame: Int64) -> Bool {
    state.withLock { state in
      guard let begin = state.begin else { return false }
      if state.end == nil { state.end = max(begin, frame) } else { state.next = nil }
      return true
    }
  }

  /// Whether sound and the transport start a take.
  package var isArmed: Bool {
    get { state.withLock { $0.isArmed } }
    set { state.withLock { $0.isArmed = newValue } }
  }

  /// True once the start of the take is known; false if its end is known, and another take may follow.
  package var hasBegun: Bool {
    state.withLock { $0.begin != nil && ($0.end == nil || !repeats) }
  }
  /// The first frame to write, if the recorder has it; nil before the start is known.
  var firstFrame: Int64? {
    state.withLock { state in
      state.begin.map { max(state.earliest ?? 0, $0 - preRollFrames) }
    }
  }
  /// The frame that follows the last one; nil until the end is known.
  var end: Int64? { state.withLock { $0.end } }

  /// Waits for the start of another take, no earlier than at a frame of the run.
  func rearm(from frame: Int64) {
    state.withLock { state in
      (state.begin, state.end, state.earliest, state.seen) = (nil, nil, frame, frame)
      if let next = state.next { state.start(at: max(frame, next)) }
      state.next = nil
    }
  }

  /// Looks at sound that begins with a frame of the run, for a sample that starts the take, and for the silence that
  /// ends the take.
  ///
  /// - Parameter channels: The samples; nil for silence.
  func follow(_ channels: ChannelSamples?, _ sound: RecordedSound, from first: Int64) {
    state.withLock { state in
      defer { state.seen = sound.end }
      let start = Int(sound.frame - first)
      if state.begin == nil, state.isArmed, let threshold,
        let loud = channels?.firstFrame(above: threshold, from: start)
      {
        state.start(at: first + Int64(loud))
      }
      guard let silence, state.end == nil, let begin = state.begin, begin < sound.end else {
        return
      }
      let from = max(begin, sound.frame)
      if let channels {
        var since = Int(state.soundEnd - first)
        let end = channels.silenceEnd(
          after: &since, level: silence.level, frames: Int(silence.frames), from: Int(from - first)
        )
        state.soundEnd = first + Int64(since)
        state.end = end.map { first + Int64($0) }
      } else if sound.end - state.soundEnd >= silence.frames {
        state.end = state.soundEnd + silence.frames
      }
    }
  }

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
        // The roll of the take before starts none.
        let isNew = state.earliest.map { frame >= $0 } ?? true
        if state.begin == nil, state.isArmed, isNew { state.start(at: max(0, frame)) }
      } else if state.wasRolling, state.restarts == restarts, state.begin != nil, state.end == nil {
        state.end = frame
      }
    }
  }
}
