import CRealTime
import TestSupport
import Testing

@Suite(.serialized) struct FiniteTests {
  /// A single invalid sample is found at any position, and no valid one is reported, with each
  /// instruction set that the processor has.
  @Test(arguments: WideSamplesTests.levels.map(\.rawValue))
  func samplesThatAreNoNumbersAreFound(level: UInt32) {
    defer { WideSamplesTests.useBestLevel() }
    guard cue_samples_use(cue_samples_level(level)) else { return }
    let bad: [UInt32] = [
      0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0x7fc0_0000, 0xffff_ffff, 0x7fff_ffff,
    ]
    let good: [UInt32] = [
      0, 0x8000_0000, 0x7f7f_ffff, 0xff7f_ffff, 0x0000_7f80, 0x0000_ffff, 0x3f80_7fff, 0x007f_ffff,
    ]
    for count in [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 47, 128] {
      for start in 0..<3 {
        var samples = [Float](repeating: .nan, count: start + count + 1)
        for i in 0..<count { samples[start + i] = Float(bitPattern: good[i % good.count]) }
        func areFinite() -> Bool {
          samples.withUnsafeBufferPointer {
            cue_rt_are_finite($0.baseAddress! + start, UInt32(count))
          }
        }
        expectTrue(areFinite())
        for i in start..<start + count {
          let kept = samples[i]
          for bits in bad {
            samples[i] = Float(bitPattern: bits)
            expectTrue(!areFinite(), "\(bits) at \(i - start) of \(count)")
          }
          samples[i] = kept
        }
      }
    }
  }

  /// A single sample outside a range is found at any position, with each instruction set that the processor has.
  @Test(arguments: WideSamplesTests.levels.map(\.rawValue))
  func samplesOutsideARangeAreFound(level: UInt32) {
    defer { WideSamplesTests.useBestLevel() }
    guard cue_samples_use(cue_samples_level(level)) else { return }
    let (low, high): (Float, Float) = (-1.25, 0.75)
    let good = [low, high.nextDown, 0, -0.0, .leastNonzeroMagnitude]
    let bad = [low.nextDown, high, .infinity, -.infinity, .nan, .signalingNaN]
    for count in [0, 1, 7, 8, 9, 15, 16, 17, 33, 128] {
      var samples = (0..<count).map { good[$0 % good.count] }
      func areWithin() -> Bool {
        samples.withUnsafeBufferPointer { samples in
          samples.isEmpty || cue_rt_are_within(samples.baseAddress!, UInt32(count), low, high)
        }
      }
      expectTrue(areWithin())
      for i in 0..<count {
        let kept = samples[i]
        for value in bad {
          samples[i] = value
          expectTrue(!areWithin(), "\(value) at \(i) of \(count)")
        }
        samples[i] = kept
      }
    }
  }
}
