import CRealTime
import Synchronization

/// Level meter of one channel. The process thread writes it while metering is on.
package struct MeterSlot: ~Copyable {
  /// Peak and RMS of the latest cycle in one word, so that a reader gets both from the same cycle.
  private let level = Atomic<UInt64>(0)
  private let heldPeak = Atomic<UInt32>(0)
  private let clips = Atomic<UInt64>(0)
  package init() {}

  /// Stores a level. Process thread, or the control thread while no cycle measures.
  @_noLocks borrowing func put(_ level: Level) {
    // Positive floats are ordered as their bit patterns.
    if level.peak.bitPattern > heldPeak.load(ordering: .relaxed) {
      heldPeak.store(level.peak.bitPattern, ordering: .relaxed)
    }
    self.level.store(
      UInt64(level.peak.bitPattern) &<< 32 | UInt64(level.rms.bitPattern), ordering: .relaxed)
  }

  /// Level of the latest cycle. Any thread.
  package var latest: Level {
    let word = level.load(ordering: .relaxed)
    return Level(
      peak: Float(bitPattern: UInt32(truncatingIfNeeded: word &>> 32)),
      rms: Float(bitPattern: UInt32(truncatingIfNeeded: word)))
  }

  /// Returns the highest sample magnitude since the last call, and resets it. Any thread.
  package borrowing func takePeak() -> Float {
    Float(bitPattern: heldPeak.exchange(0, ordering: .relaxed))
  }

  /// Number of clipped samples so far; see `Level.clipping`. Any thread.
  package var clippedSamples: UInt64 { clips.load(ordering: .relaxed) }
}

extension MeterSlot {
  /// Measures and stores the level of one channel. Process thread.
  @_noLocks borrowing func measure(_ plane: UnsafeMutablePointer<Float>, frames: Int) {
    unsafe put(level(plane, frames: frames))
  }

  /// Measures a channel that plays through two ports: its level is that of the louder one. Process thread.
  @_noLocks borrowing func measure(
    _ plane: UnsafeMutablePointer<Float>, _ second: UnsafeMutablePointer<Float>, frames: Int
  ) {
    let (one, other) = unsafe (level(plane, frames: frames), level(second, frames: frames))
    put(Level(peak: max(one.peak, other.peak), rms: max(one.rms, other.rms)))
  }

  /// Returns the level of a plane, and counts its clipped samples.
  @_noLocks private borrowing func level(
    _ plane: UnsafeMutablePointer<Float>, frames: Int
  ) -> Level {
    var peak: Float = 0
    var power: Float = 0
    for i in 0..<frames {
      let sample = unsafe plane[i]
      peak = max(peak, abs(sample))
      power += sample * sample
    }
    if peak >= Level.clipping {
      var count: UInt64 = 0
      for i in 0..<frames where unsafe abs(plane[i]) >= Level.clipping { count &+= 1 }
      clips.add(count, ordering: .relaxed)
    }
    return Level(peak: peak, rms: cue_rt_sqrt(power / Float(frames)))
  }
}
