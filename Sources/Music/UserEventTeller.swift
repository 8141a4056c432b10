import Glibc
import RealTime
import Synchronization
import System

/// A thread that tells a function of the program of its events while a sequence is played.
final class UserEventTeller: Sendable {
  struct Reading: Sendable {
    let isPlaying: Bool
    let jump: Int
    /// The beat of the latest jump.
    let start: Double
    /// The beat up to which the sequence was rendered.
    let beat: Double
  }
  private let sequence: EventSequence
  private let read: @Sendable () -> Reading?
  private let isOver = Atomic<Bool>(false)
  /// Microseconds between looks.
  private static let pause: UInt32 = 2000

  /// - Parameter read: Returns where the player is; nil once it is gone.
  init(_ sequence: EventSequence, _ read: @escaping @Sendable () -> Reading?) {
    self.sequence = sequence
    self.read = read
  }

  func begin() { startThread(named: "cuejack-events") { [self] in run() } }

  /// Ends the thread once it has told of what was rendered.
  func end() { isOver.store(true, ordering: .releasing) }

  private func run() {
    var jump = 0
    var told = 0.0
    while true {
      let isLast = isOver.load(ordering: .acquiring)
      guard let reading = read() else { return }
      if reading.isPlaying && reading.jump != jump {
        jump = reading.jump
        told = reading.start
      }
      if reading.beat > told {
        tell(told..<reading.beat)
        told = reading.beat
      }
      if isLast { return }
      usleep(Self.pause)
    }
  }

  /// Tells of the events of a time, in order.
  private func tell(_ slice: Range<Double>) {
    guard let callback = sequence.userCallback else { return }
    let content = sequence.current
    let hasSolo = content.tracks.contains { $0.settings.isSoloed }
    var found: [(beat: Double, track: Int, data: [UInt8])] = []
    for track in content.tracks where track.hasUserEvents && !track.settings.isMuted {
      if hasSolo && !track.settings.isSoloed { continue }
      var data: [[UInt8]] = []
      let compiled = Program.Compiled(track) { event in
        guard case .user(let bytes) = event.content else { return nil }
        data.append(bytes)
        return SequenceEvent(.message, beat: event.beat, number: UInt32(data.count - 1))
      }
      unsafe compiled.events.withUnsafeBufferPointer { events in
        guard let first = events.baseAddress else { return }
        var cursor = unsafe compiled.renderTrack(first)
        cursor.seek(slice.lowerBound)
        while cursor.nextBeat < slice.upperBound, found.count < 0x10000 {
          found.append((cursor.nextBeat, track.id, data[Int(cursor.event?.number ?? 0)]))
          cursor.advance()
        }
      }
    }
    for item in found.sorted(by: { $0.beat < $1.beat }) {
      callback(item.track, item.beat, item.data, slice)
    }
  }
}
