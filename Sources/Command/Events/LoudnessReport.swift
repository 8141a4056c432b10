import Analysis
import System

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
