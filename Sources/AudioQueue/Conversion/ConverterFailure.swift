/// A failure in the conversion between an app's buffers and the process thread.
package enum ConverterFailure: Error, Hashable, Sendable {
  /// Packets could not be decoded, for the given reason. Silence replaces them.
  case decoding(String)
  /// Frames could not be encoded, for the given reason. They are missing from the packets.
  case encoding(String)
  /// The resampler failed, for the given reason. The buffer was not played to its end.
  case resampling(String)
  /// There is no time-pitch processor for this format. Rate and pitch stay unchanged.
  case noTimePitch
  /// A tap produced more frames than requested. The excess was dropped.
  case tapGaveTooMuch
  /// A tap produced fewer frames than requested before its end. Silence replaces the missing
  /// frames.
  case tapGaveTooLittle
}
