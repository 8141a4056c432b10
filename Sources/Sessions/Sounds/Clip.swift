/// The part of a sound to play, with delay, volume, pan, rate and fades.
package struct Clip: Sendable {
  /// The part of the sound, in its frames.
  package var part: Range<Int64>
  /// Total frames to play: more than the part has if it repeats; nil for an endless loop.
  package var frames: Int64?
  /// Frames of silence before the first frame, at the file's rate.
  package var delay: Int64 = 0
  /// Gain between the fades.
  package var volume: Float = 1
  /// The balance, -1 to 1.
  package var pan: Float = 0
  /// Speed factor, and pitch shift in cents.
  package var rate = 1.0
  package var cents = 0.0
  /// Fade times in seconds.
  package var fadeIn: Double = 0
  package var fadeOut: Double = 0

  /// Creates a clip that plays `part` once, or in an endless loop if `frames` is nil.
  package init(
    part: Range<Int64>, frames: Int64? = nil, volume: Float = 1, pan: Float = 0, rate: Double = 1,
    cents: Double = 0
  ) {
    self.part = part
    self.frames = frames
    self.volume = volume
    self.pan = pan
    self.rate = rate
    self.cents = cents
  }
}
