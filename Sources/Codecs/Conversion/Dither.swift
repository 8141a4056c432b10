/// Dither: noise that replaces the distortion of rounding to fewer bits.
package struct Dither: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Noise with a triangular distribution, less than one quantization step to each side.
    case triangular
    /// Triangular noise with first-order error feedback: each sample's rounding error is subtracted
    /// from the next sample. That shifts the noise to high frequencies.
    case shaped
  }
  package let kind: Kind
  /// Bits to round to; nil for the output's own.
  package let bits: Int?

  package init(_ kind: Kind, bits: Int? = nil) {
    self.kind = kind
    self.bits = bits
  }
}
