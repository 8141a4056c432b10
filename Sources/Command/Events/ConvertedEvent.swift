/// A file that was converted.
struct ConvertedEvent: Encodable {
  let event = "converted"
  let file: String
  let output: String
  let frames: Int64
  let duration: Double
  let container: String
  let format: String
  /// Frames of the file read that could not be decoded.
  let missingFrames: Int64
  /// Samples that were clipped, and samples that were NaN or infinite; absent if there are none.
  let clips: Int64?
  let notFinite: Int64?
  /// With `--loudness` and `--peak`: the gain and the limiter's greatest reduction in decibels, and the
  /// figures.
  let gain: Double?
  let limited: Double?
  let before: LevelReport?
  let after: LevelReport?
}
