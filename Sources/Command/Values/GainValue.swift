import ArgumentParser
import Sessions
import System

/// A gain as people type it: a factor, such as `0.5`, or decibels, such as `-6dB` or `-6`.
struct GainValue: Equatable, Sendable {
  /// The factor for samples.
  let factor: Float

  static let unity = GainValue(factor: 1)
  /// The largest gain: 36 dB.
  static let most: Float = 63.1

  init(factor: Float) { self.factor = factor }

  /// Parses a value.
  init(parsing text: String) throws {
    guard let value = Self(text) else {
      throw ValidationError(
        "“\(text)” is no gain: a factor from 0 to 63, such as 0.5, or up to 36 decibels, such as -6dB"
      )
    }
    self = value
  }

  /// Creates a gain from its text; nil for other texts and for gains out of range.
  init?(_ text: String) {
    let word = text.lowercased()
    let factor: Float
    // No factor is negative.
    if word.hasSuffix("db") || word.hasPrefix("-") {
      guard let decibels = Double(withoutDecibels(word)), decibels.isFinite else { return nil }
      factor = System.factor(decibels: decibels)
    } else {
      guard let number = Float(word) else { return nil }
      factor = number
    }
    guard (0...Self.most).contains(factor) else { return nil }
    self.factor = factor
  }

  /// Returns the gain with another factor, at most the largest one.
  func scaled(by other: Float) -> GainValue { GainValue(factor: min(factor * other, Self.most)) }

  /// The gain in decibels.
  var decibels: Double { System.decibels(Double(factor)) ?? -.infinity }
}
