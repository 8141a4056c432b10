import Codecs

/// Changes of rate and pitch. Nil leaves a value unchanged.
package struct TimePitchChanges: Sendable {
  /// Playback speed, clamped to 0.5...2. 1 is the original speed.
  package var rate: Double?
  /// Pitch shift in cents, clamped to -2400...2400.
  package var cents: Double?

  package init(rate: Double? = nil, cents: Double? = nil) {
    self.rate = rate.map { min(max($0, TimePitch.rates.lowerBound), TimePitch.rates.upperBound) }
    self.cents = cents.map {
      min(max($0, TimePitch.cents.lowerBound), TimePitch.cents.upperBound)
    }
  }

  package var isEmpty: Bool { rate == nil && cents == nil }

  /// Merges later changes, which take precedence.
  package mutating func add(_ changes: TimePitchChanges) {
    rate = changes.rate ?? rate
    cents = changes.cents ?? cents
  }
}
