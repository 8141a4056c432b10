import Synchronization

/// How loud a channel was in one cycle; 1 is full scale.
package struct Level: BitwiseCopyable, Equatable, Sendable {
  /// The highest sample's magnitude.
  package var peak: Float
  /// The root of the mean of the squares.
  package var rms: Float

  @_noLocks package init(peak: Float, rms: Float) {
    self.peak = peak
    self.rms = rms
  }
}

/// The level of one channel, written by the cycle while metering is on.
package struct MeterCell: ~Copyable {
  /// Peak and RMS of the latest cycle in one word, so that they always belong together.
  private let level = Atomic<UInt64>(0)
  private let heldPeak = Atomic<UInt32>(0)
  package init() {}

  /// The cycle, or the host while no cycle is to be heard.
  @_noLocks borrowing func put(_ level: Level) {
    // Positive floats are ordered as their bit patterns.
    if level.peak.bitPattern > heldPeak.load(ordering: .relaxed) {
      heldPeak.store(level.peak.bitPattern, ordering: .relaxed)
    }
    self.level.store(
      UInt64(level.peak.bitPattern) &<< 32 | UInt64(level.rms.bitPattern), ordering: .relaxed)
  }

  /// Any thread: the latest cycle's level.
  package var latest: Level {
    let word = level.load(ordering: .relaxed)
    return Level(
      peak: Float(bitPattern: UInt32(truncatingIfNeeded: word &>> 32)),
      rms: Float(bitPattern: UInt32(truncatingIfNeeded: word)))
  }

  /// Any thread: the highest sample since the last call.
  package borrowing func takePeak() -> Float {
    Float(bitPattern: heldPeak.exchange(0, ordering: .relaxed))
  }
}
