import CRealTime

/// Where a known signal begins in other sound, by the greatest correlation of the two, to the frame.
package struct SignalMatch: Sendable, Equatable {
  /// Frames before the signal.
  package let frames: Int
  /// The factor by which the signal was changed; negative if it is inverted.
  package let gain: Double
  /// The correlation coefficient: 1 or -1 for the signal alone, 0 for other sound.
  package let coefficient: Double

  /// The least coefficient, without its sign, that no other sound has.
  package static let leastCoefficient = 0.1

  /// Returns noise whose samples are `level` or `-level`: the same with each call.
  package static func noise(frames: Int, level: Float) -> [Float] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<frames).map { _ in
      // xorshift64*
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return (state &* 2_685_821_657_736_338_717) >> 63 == 0 ? level : -level
    }
  }

  /// Looks for a signal in all of a sound.
  ///
  /// - Returns: Nil if the sound is shorter than the signal, or silent.
  package init?(of signal: [Float], in sound: [Float]) {
    let length = signal.count
    guard length > 0, sound.count >= length else { return nil }
    var best: (lag: Int, sum: Float) = (0, 0)
    let lags = sound.count - length + 1
    var sums = [Float](repeating: 0, count: Self.lagsAtOnce)
    for first in stride(from: 0, to: lags, by: Self.lagsAtOnce) {
      let count = min(Self.lagsAtOnce, lags - first)
      Self.correlate(signal, sound, from: first, count, &sums)
      for (lag, sum) in sums[..<count].enumerated() where abs(sum) > abs(best.sum) {
        best = (first + lag, sum)
      }
    }
    let part = sound[best.lag..<best.lag + length]
    func energy(_ samples: some Sequence<Float>) -> Double {
      samples.reduce(0) { $0 + Double($1) * Double($1) }
    }
    let (own, other) = (energy(signal), energy(part))
    guard own > 0, other > 0 else { return nil }
    frames = best.lag
    gain = Double(best.sum) / own
    coefficient = Double(best.sum) / (own * other).squareRoot()
  }

  /// Positions that are compared together: their sums stay in the processor's cache.
  private static let lagsAtOnce = 4096

  /// Sets `sums` to the sums of products of a signal and a sound, for `count` positions of the signal from `first` on.
  private static func correlate(
    _ signal: [Float], _ sound: [Float], from first: Int, _ count: Int, _ sums: inout [Float]
  ) {
    unsafe sums.withUnsafeMutableBufferPointer { sums in
      unsafe sound.withUnsafeBufferPointer { sound in
        guard let sums = sums.baseAddress, let sound = sound.baseAddress else { return }
        unsafe cue_correlate(signal, signal.count, sound + first, count, sums)
      }
    }
  }
}
