/// Frames that were lost.
struct XrunEvent: Encodable {
  let event = "xrun"
  let file: String
  /// Cycles that ran too late, and how often the file's sound was not ready in time: playing.
  var xruns: UInt64?
  var ranDry: UInt64?
  /// How often frames were lost: recording.
  var overruns: UInt64?
  /// Frames of silence in place of sound, and frames that were not heard, so far.
  var silentFrames: Int64
  var unheardFrames: Int64?
}
