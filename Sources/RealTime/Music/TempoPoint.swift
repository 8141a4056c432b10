/// A tempo of a sequence, from a beat on.
package struct TempoPoint: BitwiseCopyable, Sendable, Equatable {
  package let beat: Double
  /// Seconds from beat 0 to `beat`.
  package let seconds: Double
  package let secondsPerBeat: Double

  package init(beat: Double, seconds: Double, secondsPerBeat: Double) {
    self.beat = beat
    self.seconds = seconds
    self.secondsPerBeat = secondsPerBeat
  }
}

/// The tempos of a sequence in order of time, at least one. The first holds before its beat, too. Owns no memory. Any
/// thread, real time included.
@safe
package struct TempoPoints: BitwiseCopyable {
  private let points: UnsafePointer<TempoPoint>
  private let count: Int

  @_noLocks package init(_ points: UnsafePointer<TempoPoint>, count: Int) {
    unsafe self.points = points
    self.count = count
  }

  /// Returns the time of a beat in seconds.
  @_noLocks package func seconds(at beat: Double) -> Double {
    var (low, high) = (0, count)
    while high &- low > 1 {
      let middle = (low &+ high) / 2
      if unsafe points[middle].beat <= beat { low = middle } else { high = middle }
    }
    let point = unsafe points[low]
    return point.seconds + (beat - point.beat) * point.secondsPerBeat
  }

  /// Returns the beat at a time in seconds.
  @_noLocks package func beat(at seconds: Double) -> Double {
    var (low, high) = (0, count)
    while high &- low > 1 {
      let middle = (low &+ high) / 2
      if unsafe points[middle].seconds <= seconds { low = middle } else { high = middle }
    }
    let point = unsafe points[low]
    return point.beat + (seconds - point.seconds) / point.secondsPerBeat
  }
}
