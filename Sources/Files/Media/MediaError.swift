package import Codecs

/// The reason why a sound file could not be converted.
package enum MediaError: Error, Hashable, Sendable {
  case file(SoundFileError)
  case conversion(StreamConverter.Failure)

  /// Runs a file operation and wraps its error.
  static func file<Value>(
    _ body: () throws(SoundFileError) -> Value
  ) throws(MediaError) -> Value {
    do throws(SoundFileError) { return try body() } catch { throw .file(error) }
  }

  /// Runs a conversion and wraps its error.
  static func conversion<Value>(
    _ body: () throws(StreamConverter.Failure) -> Value
  ) throws(MediaError) -> Value {
    do throws(StreamConverter.Failure) { return try body() } catch { throw .conversion(error) }
  }
}
