import ArgumentParser
import Sessions

/// The options of one file. An option that is nil is that of all files.
struct ItemOptions: Sendable {
  var gain: GainValue?
  var pan: Float?
  var rate: Double?
  var pitch: Double?
  var fadeIn: TimeValue?
  var fadeOut: TimeValue?
  var start: TimeValue?
  var end: TimeValue?
  /// Time from the common start.
  var delay: TimeValue?
  var loop: Bool?

  static let keys = [
    "gain", "volume", "pan", "rate", "pitch", "fade-in", "fade-out", "start", "end", "at", "loop",
  ]

  mutating func set(_ key: String, to value: String) throws {
    func number<N: LosslessStringConvertible & Comparable>(_ range: ClosedRange<N>) throws -> N {
      guard let number = N(value), range.contains(number) else {
        throw ValidationError(
          "\(key)=\(value): it takes a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    do {
      switch key {
      case "gain", "volume": gain = try GainValue(parsing: value)
      case "pan": pan = try number(-1...1)
      case "rate": rate = try number(0.5...2)
      case "pitch": pitch = try number(-2400...2400)
      case "fade-in": fadeIn = try TimeValue(parsing: value)
      case "fade-out": fadeOut = try TimeValue(parsing: value)
      case "start": start = try TimeValue(parsing: value)
      case "end": end = try TimeValue(parsing: value)
      case "at":
        guard value.hasPrefix("+") else {
          throw ValidationError(
            "at=\(value): for one file it takes +TIME, counted from the start of all files")
        }
        delay = try TimeValue(parsing: String(value.dropFirst()))
      case "loop":
        guard let flag = ["yes": true, "no": false][value] else {
          throw ValidationError("loop=\(value): it takes yes or no")
        }
        loop = flag
      default:
        throw ValidationError(
          "“\(key)” is no option of a file"
            + NearWords.question(key, in: Self.keys, otherwise: ".")
            + " There are \(Self.keys.joined(separator: ", "))")
      }
    }
  }

  /// Options that apply to a whole row of files, so that one file of a row cannot have them.
  var keysOfRows: [String] {
    [
      ("pan", pan != nil), ("rate", rate != nil), ("pitch", pitch != nil),
      ("fade-in", fadeIn != nil),
      ("fade-out", fadeOut != nil), ("at", delay != nil), ("loop", loop != nil),
    ].filter(\.1).map(\.0)
  }
}
