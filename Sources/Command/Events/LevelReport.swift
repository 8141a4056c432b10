import Analysis
import System

/// Loudness in LUFS, and peaks in decibels of full scale. Null means silence, or too short.
struct LevelReport: Encodable {
  let integrated: Double?
  let truePeak: Double?
  let samplePeak: Double?

  init(_ figures: SoundFigures) {
    integrated = figures.integrated.map(hundredths)
    truePeak = decibels(figures.truePeak).map(hundredths)
    samplePeak = decibels(figures.samplePeak).map(hundredths)
  }

  private enum CodingKeys: CodingKey { case integrated, truePeak, samplePeak }

  /// Keeps null values, which an optional property would leave out.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(integrated, forKey: .integrated)
    try container.encode(truePeak, forKey: .truePeak)
    try container.encode(samplePeak, forKey: .samplePeak)
  }
}
