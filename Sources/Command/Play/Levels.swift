import Glibc

/// The channels' peak levels as text for the progress displays, in dB below full scale.
struct Levels {
  /// Decibels.
  private let levels: [Float]

  /// Lowest level; shown as silence.
  private static var silence: Float { -100 }

  /// Creates levels from the channels' peak samples; 1 is full scale.
  init(peaks: [Float]) {
    levels = peaks.map { $0 > 0 ? max(Self.silence, 20 * log10($0)) : Self.silence }
  }

  /// A bar and a number for each channel.
  var meters: String { joined { "\(Self.meter($0)) \(Self.text($0))" } }
  /// A number for each channel.
  var numbers: String { joined(Self.text) }
  /// The loudest channel's number.
  var loudest: String { "\(Self.text(levels.max() ?? Self.silence)) dB" }

  private func joined(_ text: (Float) -> String) -> String {
    "\(levels.map(text).joined(separator: " ")) dB"
  }

  /// Draws a meter of six characters for 60 dB.
  private static func meter(_ level: Float) -> String {
    "|" + gauge(Double(level / 60 + 1), width: 6, with: "=") + "|"
  }

  private static func text(_ level: Float) -> String {
    // Adding 0 turns -0 into 0.
    level <= silence ? " -inf" : formatted("%5.1f", Double((level * 10).rounded() / 10 + 0))
  }
}

/// Draws a bar of `width` characters, filled in part with `character`.
func gauge(_ part: Double, width: Int, with character: Character) -> String {
  let count = Int((min(max(part, 0), 1) * Double(width)).rounded())
  return String(repeating: character, count: count) + String(repeating: "-", count: width - count)
}
