/// Level of a channel in one cycle; 1 is full scale.
package struct Level: BitwiseCopyable, Equatable, Sendable {
  /// Highest sample magnitude.
  package var peak: Float
  /// Root mean square.
  package var rms: Float

  /// Least magnitude of a sample that counts as clipped: the greatest sample of 16 bits. Converters cut
  /// off what is louder, and leave samples of this value.
  package static var clipping: Float { @_noLocks get { 32767.0 / 32768 } }

  @_noLocks package init(peak: Float, rms: Float) {
    self.peak = peak
    self.rms = rms
  }
}
