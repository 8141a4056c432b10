import CFFmpeg
import Codecs

/// libavformat's log level and error messages.
enum LibavLog {
  /// Silences libavformat's log output, unless the program has set a log level itself. Any thread.
  static func quieten() { _ = quietened }

  private static let quietened: Void = {
    if ffmpeg.av_log_get_level() == AV_LOG_INFO { ffmpeg.av_log_set_level(AV_LOG_QUIET) }
  }()

  /// Returns the error for a libavformat error code that occurred while reading.
  static func error(_ code: Int32, reading name: String) -> SoundFileError {
    SoundFileError(
      code == cue_av_error_end_of_file ? .truncated : .damaged(words(code)), path: name)
  }

  /// Returns libavformat's message for an error code.
  static func words(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    _ = unsafe ffmpeg.av_strerror(code, &text, text.count)
    let words = String(
      decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return words.prefix(1).lowercased() + words.dropFirst()
  }
}
