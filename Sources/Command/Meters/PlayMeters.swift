import Analysis
import AudioQueue
import Dispatch
import Files
import RealTime
import Server
import Sessions
import Synchronization
import System

/// The loudness of what players play: after gain, pan and fades, before other clients.
///
/// A thread of its own takes the frames that cycles copy into a ring of each queue.
final class PlayMeters: Sendable {
  /// The most channels that are measured on a terminal without being asked: each takes about a
  /// quarter of a percent of a processor at 48 kHz.
  static let usualChannels = 16

  /// A player and the meter of its frames. Used by the thread.
  private final class Lane: @unchecked Sendable {
    let queue: OutputQueue
    let meter: LoudnessMeter
    private var memory: [Float]

    /// Opens the queue's tap; nil if its rate or channels cannot be measured.
    init?(_ player: FilePlayer) {
      let channels = player.file.format.channels
      guard let rate = try? player.queue.deviceSampleRate(),
        let meter = LoudnessMeter(
          channels: channels, sampleRate: rate, roles: player.file.channelRoles)
      else { return nil }
      queue = player.queue
      self.meter = meter
      // A thread that is late by more than a second loses frames.
      queue.openTap(frames: Int(rate))
      memory = [Float](repeating: 0, count: 4096 * channels)
    }

    func measure() {
      if let rate = queue.runningDevice?.client.sampleRate { meter.setSampleRate(rate) }
      while true {
        let count = unsafe memory.withUnsafeMutableBufferPointer { memory in
          let count = unsafe queue.takeSamples(into: memory)
          unsafe meter.add(.init(rebasing: memory[..<(count * meter.channels)]))
          return count
        }
        if count == 0 { return }
      }
    }
  }

  private let lanes: [Lane?]
  /// Held while meters are used.
  private let lock = Mutex(())
  private let isOver = Atomic<Bool>(false)
  private let stop = DispatchSemaphore(value: 0)
  private let stopped = DispatchSemaphore(value: 0)

  /// Starts measuring primed players that do not play yet. `end` must be called.
  init(_ players: [FilePlayer]) {
    lanes = players.map(Lane.init)
    startThread(named: "cuejack-meters") { [self] in
      repeat {
        measure()
      } while stop.wait(timeout: .now() + .milliseconds(100)) == .timedOut
      measure()
      stopped.signal()
    }
  }

  private func measure() {
    lock.withLock { _ in
      for lane in lanes { lane?.measure() }
    }
  }

  /// Returns the latest figures of a player for a display; nil if it cannot be measured. Any thread.
  func latest(ofPlayer index: Int) -> SoundFigures? {
    lock.withLock { _ in lanes[index]?.meter.latest }
  }

  /// Returns the figures of everything that a player has played. Any thread.
  func figures(ofPlayer index: Int) -> SoundFigures? {
    lock.withLock { _ in lanes[index]?.meter.figures }
  }

  /// Frames of a player that were not measured, because the machine was too busy.
  func missedFrames(ofPlayer index: Int) -> UInt64 {
    lanes[index]?.queue.droppedSampleFrames ?? 0
  }

  /// Measures the rest, and ends the thread. Later calls do nothing.
  func end() {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
    stop.signal()
    stopped.wait()
  }
}

extension SoundSource {
  /// Roles of the channels, of the first file in a row; nil if that does not give them.
  fileprivate var channelRoles: [ChannelRole]? {
    switch self {
    case let reader as SoundReader: reader.file.decodedChannelRoles
    case let row as SoundRow: row.sounds.first?.channelRoles
    default: nil
    }
  }
}
