import RealTime

/// A stage that rounds the frames of a stream with dither. One thread at a time.
struct Ditherer {
  private let isShaped: Bool
  /// Quantization steps from silence to full scale.
  private let scale: Float
  /// Rounding error of each channel, in steps.
  private var errors: [Float]
  private var seed: UInt32 = 1

  /// Creates a ditherer; nil if nothing is rounded. Floats stay unchanged, as do samples wider than
  /// a float.
  init?(_ dither: Dither, output: PCMFormat) {
    guard output.kind != .float else { return nil }
    let bits = min(dither.bits ?? output.bitsPerSample, output.bitsPerSample)
    guard (1...24).contains(bits) else { return nil }
    isShaped = dither.kind == .shaped
    scale = Float(sign: .plus, exponent: bits - 1, significand: 1)
    errors = Array(repeating: 0, count: output.channels)
  }

  /// Rounds frames in place.
  mutating func round(_ planes: Planes.Pointers, frames: Int) {
    for channel in errors.indices {
      let plane = unsafe planes[channel]
      var error = errors[channel]
      for frame in 0..<frames {
        let wanted = unsafe plane[frame] * scale - error
        let whole = (wanted + uniform() - uniform()).rounded()
        let held = min(max(whole, -scale), scale - 1)
        // The error of a clipped sample is not fed back.
        error = isShaped && held == whole ? whole - wanted : 0
        unsafe plane[frame] = held / scale
      }
      errors[channel] = error
    }
  }

  /// Returns a random number from 0 up to but not including 1.
  private mutating func uniform() -> Float {
    seed = seed &* 1_664_525 &+ 1_013_904_223
    return Float(seed >> 8) * 0x1p-24
  }
}
