import System

/// The peaks of a file's channels: the latest, those that are held for two seconds, and the greatest so
/// far. 1 is full scale.
struct PeakHold {
  private(set) var latest: [Float] = []
  private(set) var held: [Float] = []
  /// The greatest peak of all channels.
  private(set) var greatest: Float = 0
  /// Samples of each channel at full scale so far.
  private(set) var clips: [UInt64] = []
  /// Host times in nanoseconds up to which the peaks are held.
  private var ends: [UInt64] = []

  private static let nanoseconds: UInt64 = 2_000_000_000

  /// All samples at full scale so far.
  var clipCount: UInt64 { clips.reduce(0, +) }

  /// The levels for the display.
  var levels: Levels {
    Levels(peaks: latest, held: held, areClipped: clips.map { $0 > 0 })
  }

  /// Returns the latest peaks in decibels, silence as those of sessions.
  func peaks(_ channels: Int) -> [Float] {
    (0..<channels).map { channel in
      decibels(latest.indices.contains(channel) ? latest[channel] : 0, atLeast: -120)
    }
  }

  /// Takes the peaks since the last call.
  ///
  /// - Parameter now: Host time in nanoseconds.
  mutating func note(_ peaks: [Float], clips: [UInt64], at now: UInt64) {
    if held.count != peaks.count {
      held = peaks
      ends = peaks.map { _ in now + Self.nanoseconds }
    }
    latest = peaks
    self.clips = clips
    for (channel, peak) in peaks.enumerated() {
      if peak >= held[channel] || now >= ends[channel] {
        held[channel] = peak
        ends[channel] = now + Self.nanoseconds
      }
      greatest = max(greatest, peak)
    }
  }
}
