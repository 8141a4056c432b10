import Analysis
import System

extension SoundFigures {
  /// Descriptions for the display, from the longest to the shortest.
  var displays: [String] {
    let peak = "TP \(Self.level(truePeak)) dBTP"
    let whole = "I \(Self.number(integrated)) LUFS"
    return [
      "M \(Self.number(momentary))  S \(Self.number(shortTerm))  \(whole)  LRA \(Self.number(range)) LU  \(peak)",
      "M \(Self.number(momentary))  S \(Self.number(shortTerm))  \(whole)  \(peak)",
      "\(whole)  \(peak)", whole,
    ]
  }

  /// The closing figures of loudness and true peak.
  var words: String {
    "loudness \(integrated.map(decimal) ?? "-inf") LUFS, true peak \(Self.word(truePeak)) dBTP"
  }

  /// Returns a magnitude in decibels, such as -0.1; -inf for silence.
  static func word(_ magnitude: Double) -> String { decibels(magnitude).map(decimal) ?? "-inf" }

  private static func number(_ value: Double?) -> String {
    value.map { formatted("%5.1f", tenths($0)) } ?? " -inf"
  }

  private static func level(_ magnitude: Double) -> String { number(decibels(magnitude)) }
}
