import Analysis
import System

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

/// Loudness in LUFS and LU, and the true peak in decibels of full scale. Null means silence, or too short.
struct LoudnessReport: Encodable {
  let momentary: Double?
  let shortTerm: Double?
  let integrated: Double?
  let range: Double?
  let truePeak: Double?

  init(_ figures: SoundFigures) {
    momentary = figures.momentary.map(hundredths)
    shortTerm = figures.shortTerm.map(hundredths)
    integrated = figures.integrated.map(hundredths)
    range = figures.range.map(hundredths)
    truePeak = decibels(figures.truePeak).map(hundredths)
  }

  private enum CodingKeys: CodingKey {
    case momentary, shortTerm, integrated, range, truePeak
  }

  /// Keeps null values, which an optional property would leave out.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(momentary, forKey: .momentary)
    try container.encode(shortTerm, forKey: .shortTerm)
    try container.encode(integrated, forKey: .integrated)
    try container.encode(range, forKey: .range)
    try container.encode(truePeak, forKey: .truePeak)
  }
}

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

/// Samples at full scale.
struct ClipEvent: Encodable {
  let event = "clip"
  let file: String
  /// All of them so far.
  let clips: UInt64
  /// Greatest sample so far in decibels.
  let peak: Double?
}

/// A complete file of a recording in several.
struct FileEvent: Encodable {
  let event = "file"
  let file: String
  /// The recording's frame that is the file's first, from 0.
  let firstFrame: Int64
  let frames: Int64
  let bytes: Int64
}

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
}

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
