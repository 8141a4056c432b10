/// What went wrong in the chain that makes an app's buffers ready for the cycles.
package enum ConverterFailure: Error, Hashable, Sendable {
  /// Packets could not be decoded, for the reason given: silence took their place.
  case decoding(String)
  /// Frames could not be encoded, for the reason given: they are missing in the packets.
  case encoding(String)
  /// The resampler stopped, for the reason given: the buffer was not played to its end.
  case resampling(String)
  /// There is no time-pitch processor for this format: rate and pitch stay as they are.
  case noTimePitch
  /// A tap gave more frames than it was asked for: the rest was dropped.
  case tapGaveTooMuch
  /// A tap gave fewer frames than it was asked for, before the end: silence took their place.
  case tapGaveTooLittle
}
