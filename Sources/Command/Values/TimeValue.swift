import ArgumentParser
import Timeline

/// A duration or position as people type it: `90`, `2.5s`, `250ms`, `1:23.5`, `1:02:03`, `1h30m` or
/// `96000f`.
enum TimeValue: Equatable, Sendable {
  case seconds(Double)
  /// Frames of the sound that the value is used with.
  case frames(Int64)

  static let zero = TimeValue.seconds(0)
  /// The forms, for messages and help texts.
  static let forms = "90, 2.5s, 250ms, 1:23.5, 1:02:03, 1h30m or 96000f (frames)"

  /// Parses a value.
  init(parsing text: String) throws {
    guard let value = Self(text) else {
      throw ValidationError("“\(text)” is no time from 0 on, such as \(Self.forms)")
    }
    self = value
  }

  /// Creates a value from its text; nil for other texts and for negative times.
  init?(_ text: String) {
    let word = text.lowercased()
    let seconds: Double?
    if word.hasSuffix("f") {
      guard let frames = Int64(word.dropLast()), (0...(1 << 52)).contains(frames),
        word.first?.isNumber == true
      else { return nil }
      self = .frames(frames)
      return
    } else if word.contains(":") {
      seconds = Self.clock(word)
    } else if word.hasSuffix("ms") {
      seconds = Self.number(word.dropLast(2)).map { $0 / 1000 }
    } else {
      seconds = Self.number(word[...]) ?? Self.units(word)
    }
    guard let seconds, (0...StartOption.mostSeconds).contains(seconds) else { return nil }
    self = .seconds(seconds)
  }

  /// Parses `1:23.5` and `1:02:03`.
  private static func clock(_ text: String) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let last = parts.last, let rest = number(last), rest < 60
    else { return nil }
    var seconds = 0.0
    for (index, part) in parts.dropLast().enumerated() {
      guard let value = UInt32(part), index == 0 || value < 60 else { return nil }
      seconds = seconds * 60 + Double(value)
    }
    return seconds * 60 + rest
  }

  /// Parses `1h30m`, `90m` and `2.5s`.
  private static func units(_ text: String) -> Double? {
    var rest = text[...]
    var seconds = 0.0
    for (unit, factor) in [("h", 3600.0), ("m", 60), ("s", 1)] {
      guard let end = rest.firstRange(of: unit) else { continue }
      guard let value = number(rest[..<end.lowerBound]) else { return nil }
      seconds += value * factor
      rest = rest[end.upperBound...]
    }
    return rest.isEmpty && !text.isEmpty ? seconds : nil
  }

  /// Parses a decimal number without a sign.
  static func number(_ text: Substring) -> Double? {
    guard text.first.map({ $0.isNumber || $0 == "." }) == true, !text.hasPrefix("0x") else {
      return nil
    }
    return Double(text)
  }

  /// True for no time at all.
  var isZero: Bool { self == .seconds(0) || self == .frames(0) }

  /// The time in seconds of sound at a rate.
  func seconds(at rate: Double) -> Double {
    switch self {
    case .seconds(let seconds): seconds
    case .frames(let frames): Double(frames) / rate
    }
  }

  /// The time in frames at a rate.
  func frames(at rate: Double) -> Int64 {
    switch self {
    case .seconds(let seconds): Int64(held: (seconds * rate).rounded())
    case .frames(let frames): frames
    }
  }
}
