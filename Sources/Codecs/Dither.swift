import RealTime

/// Noise that takes the place of the distortion when samples are rounded to fewer bits.
package struct Dither: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Noise of less than a step to each side, the smaller the likelier.
    case triangular
    /// The same, and what the rounding of a sample did wrong is taken from the next one: the noise
    /// moves to high frequencies.
    case shaped
  }
  package let kind: Kind
  /// Bits that samples are rounded to; nil for those of the output.
  package let bits: Int?

  package init(_ kind: Kind, bits: Int? = nil) {
    self.kind = kind
    self.bits = bits
  }
}

/// Rounds the frames of a stream, with noise. One thread at a time.
struct Ditherer {
  private let isShaped: Bool
  /// Steps from silence to full scale.
  private let scale: Float
  /// What rounding did wrong in each channel, in steps.
  private var errors: [Float]
  private var seed: UInt32 = 1

  /// Nil if nothing is rounded: floats stay as they are, and so do samples that a float cannot hold.
  init?(_ dither: Dither, output: PCMFormat) {
    guard output.kind != .float else { return nil }
    let bits = min(dither.bits ?? output.bitsPerSample, output.bitsPerSample)
    guard (1...24).contains(bits) else { return nil }
    isShaped = dither.kind == .shaped
    scale = Float(sign: .plus, exponent: bits - 1, significand: 1)
    errors = Array(repeating: 0, count: output.channels)
  }

  /// Rounds frames where they are.
  mutating func round(_ planes: Planes.Pointers, frames: Int) {
    for channel in errors.indices {
      let plane = unsafe planes[channel]
      var error = errors[channel]
      for frame in 0..<frames {
        let wanted = unsafe plane[frame] * scale - error
        let whole = (wanted + uniform() - uniform()).rounded()
        let held = min(max(whole, -scale), scale - 1)
        // What is clipped is not made up for.
        error = isShaped && held == whole ? whole - wanted : 0
        unsafe plane[frame] = held / scale
      }
      errors[channel] = error
    }
  }

  /// A number from 0 to 1, without 1.
  private mutating func uniform() -> Float {
    seed = seed &* 1_664_525 &+ 1_013_904_223
    return Float(seed >> 8) * 0x1p-24
  }
}
