import Codecs

/// Settings of the processing chain that cannot change while the queue runs.
struct ChainSettings: Sendable {
  var isTimePitchEnabled = false
  var algorithm = TimePitch.Algorithm.spectral
  var tap: ProcessingTap?
  /// The minimum number of frames, at the queue's rate, to convert ahead of the process thread; nil
  /// for the default.
  var decodeFrames: Int?

  /// The default of `decodeFrames` for packets. Linear PCM has none: it is read as late as possible.
  static var defaultDecodeFrames: Int { 2048 }
}
