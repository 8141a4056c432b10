// The events of `--json`: one object on a line each. Property names are the JSON keys, so they must not
// change. docs/command.md describes them.

/// The start of playing, recording or converting.
struct StartedEvent: Encodable {
  struct Port: Encodable {
    let port: String
    let connections: [String]
  }
  struct File: Encodable {
    let file: String
    var client: String?
    var ports: [Port]?
    /// Description of the sample format or codec.
    var format: String?
    var channels: Int?
    /// Frames per second.
    var sampleRate: Double?
    /// Seconds; absent if there is no end yet.
    var duration: Double?
    /// The file that a conversion writes.
    var output: String?
  }
  let event = "started"
  let command: String
  var server: String?
  /// The frame and the host time in nanoseconds on which everything starts; absent for “as soon as
  /// possible”.
  var frame: Int64?
  var hostTime: UInt64?
  let files: [File]
}
