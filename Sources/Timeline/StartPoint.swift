/// A start time in one word, for the process thread. Real-time safe.
///
/// A host time becomes a frame only in the cycle that it falls in. Every client of a server sees
/// the same times of that cycle, and so computes the same frame, whenever it was told.
package struct StartPoint: BitwiseCopyable, Sendable {
  /// A device frame; with `hostBit` set, microseconds of host time.
  package let word: Int64
  private static var hostBit: Int64 { 1 << 62 }

  /// Creates the word of `time`. Clamps frames and microseconds that no clock reaches.
  package init(_ time: StartTime) {
    switch time {
    case .atOnce: word = .min / 2
    case .frame(let frame): word = min(max(frame, .min / 2), Self.hostBit - 1)
    case .hostTime(let nanoseconds):
      word = Self.hostBit | Int64(min(nanoseconds / 1000, UInt64(Self.hostBit - 2)))
    }
  }

  @_noLocks package init(word: Int64) { self.word = word }

  /// Creates the word of a host time in microseconds that a cycle has.
  @_noLocks package init(atMicroseconds microseconds: UInt64) {
    word = Self.hostBit | Int64(truncatingIfNeeded: microseconds & (1 << 62 - 1))
  }

  /// The device frame of the start; nil if it is a host time or long past.
  package var frame: Int64? { word < Self.hostBit && word > .min / 2 ? word : nil }

  /// The host time of the start in nanoseconds, to the microsecond; nil if it is none.
  package var hostTime: UInt64? {
    word < Self.hostBit ? nil : UInt64(word ^ Self.hostBit) * 1000
  }

  /// Returns the later of two starts of the same kind. A start at once precedes all others.
  package func notBefore(_ other: StartPoint) -> StartPoint {
    word < Self.hostBit && word > .min / 2 && other.word >= Self.hostBit
      ? self : StartPoint(word: max(word, other.word))
  }

  /// Returns the device frame of the start, seen from the cycle of `frames` frames that begins at
  /// `cycleFrame`. A start after the cycle gives a frame beyond the cycle's end.
  ///
  /// - Parameters:
  ///   - begin: Host time of the cycle's first frame, in microseconds.
  ///   - end: Host time of the next cycle's first frame, in microseconds.
  @_noLocks package func frame(
    inCycleAt cycleFrame: Int64, frames: Int, from begin: UInt64, to end: UInt64
  ) -> Int64 {
    if word < Self.hostBit { return word }
    let since = (word ^ Self.hostBit) &- Int64(truncatingIfNeeded: begin)
    let length = Int64(truncatingIfNeeded: end &- begin)
    // More than a thousand cycles ahead, a later cycle looks again; more than a thousand behind,
    // the start is past.
    guard length > 0, since < length &* 1000 else { return .max }
    guard since > length &* -1000 else { return .min / 2 }
    // Rounded to the nearest frame.
    let twice = 2 &* since &* Int64(frames) &+ length
    let frame = twice / (2 &* length)
    return cycleFrame &+ (twice < 0 && twice % (2 &* length) != 0 ? frame &- 1 : frame)
  }
}
