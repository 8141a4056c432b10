/// Where everything is, once a second.
struct PositionEvent: Encodable {
  struct File: Encodable {
    let file: String
    /// Seconds from the first frame; negative before it.
    var seconds: Double?
    /// Frames and bytes recorded so far.
    var frames: Int64?
    var bytes: Int64?
    /// Done part of a conversion, from 0 to 1.
    var part: Double?
    /// Greatest sample of each channel since the last event, in decibels; null for silence.
    var peaks: [Double?]?
    /// Samples at full scale so far.
    var clips: UInt64?
    var loudness: LoudnessReport?
  }
  let event = "position"
  let files: [File]
}
