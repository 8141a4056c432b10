import System

/// The channels' peak levels as text for the progress displays, in dB below full scale.
struct Levels {
  /// Decibels: the latest peaks, and those that are held.
  private let levels: [Float]
  private let held: [Float]
  /// True for channels with samples at full scale.
  private let areClipped: [Bool]

  /// Lowest level; shown as silence.
  private static var silence: Float { -100 }
  /// Least width of a meter.
  static var leastWidth: Int { 6 }
  /// Decibels of a meter, and the levels from which it is yellow and red.
  private static var reach: Float { 60 }
  private static var yellow: Float { -12 }
  private static var red: Float { -3 }

  /// Creates levels from the channels' peak samples; 1 is full scale.
  ///
  /// - Parameters:
  ///   - held: The held peaks; without them the latest peaks are shown as numbers.
  ///   - areClipped: True for each channel that has a clip mark.
  init(peaks: [Float], held: [Float] = [], areClipped: [Bool] = []) {
    levels = peaks.map { decibels($0, atLeast: Self.silence) }
    self.held =
      held.count == peaks.count ? held.map { decibels($0, atLeast: Self.silence) } : levels
    self.areClipped =
      areClipped.count == peaks.count ? areClipped : peaks.map { _ in false }
  }

  /// Returns a bar and a number for each channel. The number is the held peak.
  ///
  /// - Parameters:
  ///   - width: Characters of a bar.
  ///   - isColored: True to color the parts of the bars.
  func meters(width: Int = leastWidth, isColored: Bool = false) -> String {
    let words = levels.indices.map { channel in
      let meter = meter(channel, width, isColored: isColored)
      return "\(meter) \(Self.text(held[channel]))"
    }
    return "\(words.joined(separator: " ")) dB"
  }
  /// A number for each channel.
  var numbers: String { "\(held.map(Self.text).joined(separator: " ")) dB" }
  /// The loudest channel's number.
  var loudest: String { "\(Self.text(held.max() ?? Self.silence)) dB" }

  /// Draws a channel's meter: the latest peak, the held one behind it, and a mark after clips.
  private func meter(_ channel: Int, _ width: Int, isColored: Bool) -> String {
    let filled = Self.columns(levels[channel], of: width)
    var bar = Array(gauge(Double(filled) / Double(width), width: width, with: "="))
    let mark = Self.columns(held[channel], of: width)
    if mark > filled { bar[mark - 1] = "|" }
    guard isColored else { return "|\(String(bar))\(areClipped[channel] ? "!" : "|")" }
    var text = "|"
    var color = Color.none
    for (column, character) in bar.enumerated() {
      let level = (Float(column + 1) / Float(width) - 1) * Self.reach
      let next: Color =
        character == "-" ? .none : level > Self.red ? .red : level > Self.yellow ? .yellow : .green
      if next != color { text += next.rawValue }
      color = next
      text.append(character)
    }
    if color != .none { text += Color.none.rawValue }
    return text + (areClipped[channel] ? Color.alarm.around("!") : "|")
  }

  private static func columns(_ level: Float, of width: Int) -> Int {
    Int((min(max(level / reach + 1, 0), 1) * Float(width)).rounded())
  }

  private static func text(_ level: Float) -> String {
    // Adding 0 turns -0 into 0.
    level <= silence ? " -inf" : formatted("%5.1f", Double((level * 10).rounded() / 10 + 0))
  }
}

/// Colors of the terminal, as escape sequences.
enum Color: String {
  case none = "\u{1B}[m"
  case green = "\u{1B}[32m"
  case yellow = "\u{1B}[33m"
  case red = "\u{1B}[31m"
  /// White on red.
  case alarm = "\u{1B}[1;37;41m"

  /// Returns a text in this color.
  func around(_ text: String) -> String { rawValue + text + Color.none.rawValue }
}

/// Draws a bar of `width` characters, filled in part with `character`.
func gauge(_ part: Double, width: Int, with character: Character) -> String {
  let count = Int((min(max(part, 0), 1) * Double(width)).rounded())
  return String(repeating: character, count: count) + String(repeating: "-", count: width - count)
}
