import Files
import Glibc
import MIDI
import Server
import Sessions
import Synchronization

/// A recording of MIDI messages to a Standard MIDI File, each on its frame. Any thread.
///
/// Messages of system real time, such as those of a clock, are left out.
final class MIDITake: Sendable {
  private struct State {
    /// Frame of the device at which the take begins.
    var start: Int64 = .max
    var end: Int64 = .max
    /// Frame and host time of the latest message.
    var latest: (frame: Int64, hostTime: UInt64)?
    var events: [StandardMIDIFile.Event] = []
    /// Number of events when the file was written last.
    var written = -1
  }
  private let state = Mutex(State())
  private let scale: MIDIScale
  private let store: any ByteStore

  init(to store: any ByteStore, sampleRate: Double) {
    self.store = store
    scale = MIDIScale(sampleRate: sampleRate)
  }

  /// Begins at a frame of the device. Earlier messages are left out.
  func begin(at frame: Int64, hostTime: UInt64) {
    state.withLock { ($0.start, $0.latest) = (frame, (frame, hostTime)) }
  }

  /// Ends at a frame of the device: later messages are left out.
  func end(at frame: Int64) {
    state.withLock { state in
      state.end = frame
      let last = scale.ticks(frame - state.start)
      state.events.removeAll { $0.tick >= last }
    }
  }

  /// The number of messages.
  var messages: Int { state.withLock { $0.events.count } }

  func take(_ received: [MIDIReceived]) {
    state.withLock { state in
      for message in received {
        // A server that was away counts other frames.
        if let latest = state.latest {
          let passed = Int64(bitPattern: message.hostTime &- latest.hostTime)
          let jump = message.frame - latest.frame - scale.frames(nanoseconds: passed)
          if scale.isJump(jump) { state.start += jump }
        }
        state.latest = (message.frame, message.hostTime)
        guard (state.start..<state.end).contains(message.frame) else { continue }
        add(message.bytes, at: scale.ticks(message.frame - state.start), to: &state.events)
      }
    }
  }

  private func add(
    _ bytes: [UInt8], at tick: Int, to events: inout [StandardMIDIFile.Event]
  ) {
    guard let status = bytes.first, status < 0xF8 else { return }
    if (0x80..<0xF0).contains(status) {
      guard bytes.count >= 2 else { return }
      events.append(
        .init(tick: tick, .channel(status, bytes[1], bytes.count > 2 ? bytes[2] : 0)))
    } else if status >= 0xF0 {
      events.append(.init(tick: tick, .system(bytes)))
    } else if case .system(let begun)? = events.last?.content, begun.last != 0xF7 {
      // A long message comes in pieces.
      events[events.count - 1].content = .system(begun + bytes)
    }
  }

  /// Writes the file, unless it has all messages.
  ///
  /// - Parameter frames: The length of the take, once it is over.
  func write(frames: Int64? = nil) throws(SoundFileError) {
    let events = state.withLock { state -> [StandardMIDIFile.Event]? in
      if frames == nil, state.written == state.events.count { return nil }
      state.written = state.events.count
      return state.events
    }
    guard let events else { return }
    let tempo = StandardMIDIFile.Event(
      tick: 0,
      .meta(StandardMIDIFile.Meta.tempo, (0..<3).map { UInt8(scale.tempo >> (16 - 8 * $0) & 0xFF) })
    )
    let end = max(frames.map(scale.ticks) ?? 0, events.last?.tick ?? 0)
    let file = StandardMIDIFile(
      format: 0, division: .quarter(ticks: scale.ticksPerQuarter),
      tracks: [.init([tempo] + events, end: end)])
    let bytes = file.bytes
    try store.write(bytes, at: 0)
    try store.setByteCount(Int64(bytes.count))
  }
}
