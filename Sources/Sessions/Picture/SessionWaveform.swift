/// Length and peaks of a sound file.
package struct SessionWaveform: Sendable, Equatable {
  /// Length in seconds.
  package let seconds: Double
  /// The least and the greatest sample of each of many equal parts of the sound, from -1 to 1.
  package let peaks: [ClosedRange<Float>]

  package init(seconds: Double, peaks: [ClosedRange<Float>]) {
    self.seconds = seconds
    self.peaks = peaks
  }
}
