/// Samples at full scale.
struct ClipEvent: Encodable {
  let event = "clip"
  let file: String
  /// All of them so far.
  let clips: UInt64
  /// Greatest sample so far in decibels.
  let peak: Double?
}
