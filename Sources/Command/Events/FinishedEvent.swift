import System

/// The end, with the closing figures.
struct FinishedEvent: Encodable {
  struct File: Encodable {
    let file: String
    /// Frames played or recorded, and the frame on which they began; absent if there are none.
    var frames: Int64?
    var duration: Double?
    var frame: Int64?
    var bytes: Int64?
    var xruns: UInt64?
    var ranDry: UInt64?
    var overruns: UInt64?
    var silentFrames: Int64?
    var unheardFrames: Int64?
    /// How often the server went away and came back.
    var restarts: UInt64?
    /// Greatest sample in decibels; absent for silence.
    var peak: Double?
    var clips: UInt64?
    var loudness: LoudnessReport?
    /// Frames that were not measured because the machine was too busy.
    var unmeasuredFrames: UInt64?
  }
  let event = "finished"
  let exitCode: Int32
  let files: [File]
}

extension [Float] {
  /// Magnitudes in decibels; nil for silence.
  var levels: [Double?] { map { decibels(Double($0)).map(hundredths) } }
}
