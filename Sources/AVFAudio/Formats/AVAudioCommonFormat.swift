/// The kinds of samples that most programs use, in this machine's byte order.
public enum AVAudioCommonFormat: UInt, Sendable {
  /// Any other format.
  case otherFormat = 0
  /// `Float`.
  case pcmFormatFloat32 = 1
  /// `Double`.
  case pcmFormatFloat64 = 2
  /// `Int16`.
  case pcmFormatInt16 = 3
  /// `Int32`.
  case pcmFormatInt32 = 4
}
