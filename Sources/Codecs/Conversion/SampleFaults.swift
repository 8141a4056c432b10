import CRealTime
import RealTime

/// Counts of samples that a conversion cannot keep.
package struct SampleFaults: Hashable, Sendable {
  /// Samples beyond full scale, which are clipped.
  package var clipped: Int64 = 0
  /// Samples that are NaN or infinite. Silence replaces them.
  package var notFinite: Int64 = 0

  package init() {}

  package static func + (left: SampleFaults, right: SampleFaults) -> SampleFaults {
    var sum = left
    sum.clipped += right.clipped
    sum.notFinite += right.notFinite
    return sum
  }

  /// Counts the samples of planes that a format of integers cannot hold.
  ///
  /// - Parameter range: See `StreamFormat.unclippedSamples`.
  mutating func count(
    _ planes: Planes.Pointers, channels: Int, frames: Int, outside range: Range<Float>
  ) {
    for channel in 0..<channels {
      let samples = unsafe planes[channel]
      if unsafe cue_rt_are_within(samples, UInt32(frames), range.lowerBound, range.upperBound) {
        continue
      }
      for i in 0..<frames {
        let sample = unsafe samples[i]
        if range.contains(sample) { continue }
        if sample.isNaN { notFinite += 1 } else { clipped += 1 }
      }
    }
  }

  /// Counts samples in double precision, as `count(_:channels:frames:outside:)` does.
  mutating func count(
    _ samples: UnsafePointer<Double>, frames: Int, outside range: Range<Double>
  ) {
    for i in 0..<frames {
      let sample = unsafe samples[i]
      if range.contains(sample) { continue }
      if sample.isNaN { notFinite += 1 } else { clipped += 1 }
    }
  }
}

extension StreamFormat {
  /// The samples that the format holds without clipping. Samples round to the nearest integer, and those
  /// in the middle of two to the even one. Nil for floats and lossy codecs.
  var unclippedSamples: Range<Double>? {
    let bits: Int
    switch self {
    case .pcm(let format): bits = format.kind == .float ? 0 : format.bitsPerSample
    case .packets(let format): bits = format.codec.isLossless ? format.bitsPerSample : 0
    }
    guard bits > 0 else { return nil }
    // The least integer is even, so the sample half a step below it rounds to it. The greatest is odd.
    let halfStep = Double(sign: .plus, exponent: -bits, significand: 1)
    return -1 - halfStep..<1 - halfStep
  }
}

extension UnsafePointer<UnsafeMutablePointer<Float>> {
  /// Replaces samples that are NaN or infinite by silence.
  ///
  /// - Returns: Number of replaced samples.
  func zeroNotFinite(channels: Int, frames: Int) -> Int64 {
    var count: Int64 = 0
    for channel in 0..<channels {
      let samples = unsafe self[channel]
      if unsafe cue_rt_are_finite(samples, UInt32(frames)) { continue }
      for i in 0..<frames where unsafe !samples[i].isFinite {
        unsafe samples[i] = 0
        count += 1
      }
    }
    return count
  }
}
