package import CRealTime

/// A sound file, for a player, which reads it on one thread at a time.
package protocol PlayerFile: AnyObject, Sendable {
  /// Frames in a second of the file itself.
  var sampleRate: Double { get }
  /// Continues at a frame, counted at the file's rate.
  func seek(to frame: Int64) throws(UnitError)
  /// Reads frames at the rate and with the channels of the format for which the file was opened.
  ///
  /// - Returns: Their number: fewer than `frames` at the end only.
  func read(_ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int) throws(UnitError) -> Int
}
