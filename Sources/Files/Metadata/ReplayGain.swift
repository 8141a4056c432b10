import Glibc

/// The gains and peaks that a file's ReplayGain tags give, or its R128 tags, which Opus has.
package struct ReplayGain: Equatable, Sendable {
  /// The sound whose loudness a gain levels.
  package enum Scope: String, CaseIterable, Sendable {
    case track, album
  }

  /// The tags of a track, or those of its album.
  package struct Level: Equatable, Sendable {
    /// Decibels that bring the sound to -18 LUFS.
    package var gain: Double
    /// Greatest sample, 1 for full scale; nil if no tag gives it.
    package var peak: Double?
  }

  package private(set) var track: Level?
  package private(set) var album: Level?
  /// A line for each tag whose text is not what its name says.
  package private(set) var faults: [String] = []

  /// The gain of tags in decibels. A larger one is an error of the program that wrote it.
  private static let gains = -100.0...100.0
  /// The reference of R128 tags is -23 LUFS.
  private static let referenceShift = 5.0

  /// Reads tags, whose keys may have any case. ReplayGain tags precede R128 tags.
  package init(_ tags: [String: String]) {
    let texts = Dictionary(tags.map { ($0.key.lowercased(), $0.value) }) { $1 }
    track = level(.track, texts)
    album = level(.album, texts)
  }

  /// Returns the level of a scope; that of the other one if the file has no such tags.
  package func level(_ scope: Scope) -> Level? {
    scope == .album ? album ?? track : track ?? album
  }

  private mutating func level(_ scope: Scope, _ texts: [String: String]) -> Level? {
    let peak = number("replaygain_\(scope)_peak", texts, "a peak", unit: nil) {
      $0 >= 0 && $0.isFinite ? $0 : nil
    }
    let gain =
      number("replaygain_\(scope)_gain", texts, "a gain in dB", unit: "db") {
        Self.gains.contains($0) ? $0 : nil
      }
      ?? number("r128_\(scope)_gain", texts, "a whole number of 1/256 dB", unit: nil) {
        Int16(exactly: $0).map { Double($0) / 256 + Self.referenceShift }
      }
    return gain.map { Level(gain: $0, peak: peak == 0 ? nil : peak) }
  }

  /// Returns the number of a tag. A text that is none is a fault.
  private mutating func number(
    _ key: String, _ texts: [String: String], _ what: String, unit: String?,
    _ accepted: (Double) -> Double?
  ) -> Double? {
    guard let text = texts[key] else { return nil }
    var words = text.lowercased().filter { !$0.isWhitespace && $0 != "\0" }
    if let unit, words.hasSuffix(unit) { words.removeLast(unit.count) }
    // Programs in some languages write a comma.
    let number = Double(words.replacing(",", with: ".", maxReplacements: 1)).flatMap(accepted)
    if number == nil { faults.append("the tag \(key.uppercased()) is not \(what): “\(text)”") }
    return number
  }
}

extension ReplayGain.Level {
  /// The factor for samples, at which the peak does not exceed full scale. Without a peak, it is taken to be
  /// full scale.
  package var factor: Double { min(pow(10, gain / 20), 1 / (peak ?? 1)) }
}

extension MediaFile {
  /// Returns the file's ReplayGain. Blocks.
  package func replayGain() throws(SoundFileError) -> ReplayGain {
    let inChunk = ID3Frames.others(try chunked?.id3Chunk() ?? [])
    // The tags of CAF files have any key.
    return ReplayGain(try (tags() ?? [:]).merging(otherTags) { $1 }.merging(inChunk) { $1 })
  }
}
