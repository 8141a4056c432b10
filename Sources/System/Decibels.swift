import Glibc

/// Returns an amplitude, as a factor, in decibels; nil for silence.
package func decibels(_ factor: Double) -> Double? { factor > 0 ? 20 * log10(factor) : nil }

/// Returns an amplitude in decibels, at least `floor`.
package func decibels(_ factor: Float, atLeast floor: Float) -> Float {
  decibels(Double(factor)).map { max(floor, Float($0)) } ?? floor
}

/// Returns the factor for decibels: exactly 1 for 0 dB.
package func factor(decibels: Double) -> Float { Float(pow(10, decibels / 20)) }
