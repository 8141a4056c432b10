import Foundation

/// A second-order filter by the formulas of Robert Bristow-Johnson's cookbook, the reference for
/// plugins and audio units.
package struct Biquad {
  private let b: [Double]
  private let a: [Double]

  /// Creates the cookbook's filter for one of the plugin's types.
  ///
  /// The cookbook leaves Q open. For bands, Q places the digital filter's lower edge (half the gain or
  /// -3 dB) half the bandwidth below the centre. Where the bandwidth only controls the resonance, Q is
  /// that of the analog prototype.
  package init(type: Int, frequency: Double, bandwidth: Double, gain: Double, rate: Double) {
    let w = 2 * Double.pi * frequency / rate
    let (s, c) = (sin(w), cos(w))
    let amplitude = pow(10, gain / 40)
    let edge = tan(w / 2) / tan(w / 2 * pow(2, -bandwidth / 2))
    let alpha =
      switch type {
      case 0, 5, 6: s / 2 * (edge - 1 / edge)
      case 3, 4, 9, 10: s * sinh(log(2) / 2 * bandwidth)
      default: s / 2 * 2.squareRoot()
      }
    switch type {
    case 0:
      b = [1 + alpha * amplitude, -2 * c, 1 - alpha * amplitude]
      a = [1 + alpha / amplitude, -2 * c, 1 - alpha / amplitude]
    case 1, 3:
      b = [(1 - c) / 2, 1 - c, (1 - c) / 2]
      a = [1 + alpha, -2 * c, 1 - alpha]
    case 2, 4:
      b = [(1 + c) / 2, -(1 + c), (1 + c) / 2]
      a = [1 + alpha, -2 * c, 1 - alpha]
    case 5:
      b = [alpha, 0, -alpha]
      a = [1 + alpha, -2 * c, 1 - alpha]
    case 6:
      b = [1, -2 * c, 1]
      a = [1 + alpha, -2 * c, 1 - alpha]
    default:
      let root = 2 * amplitude.squareRoot() * alpha
      // The high shelf is the low shelf with the frequency axis reversed.
      let sign: Double = type == 7 || type == 9 ? 1 : -1
      let (up, down) = (amplitude + 1, amplitude - 1)
      b = [
        amplitude * (up - sign * down * c + root), sign * 2 * amplitude * (down - sign * up * c),
        amplitude * (up - sign * down * c - root),
      ]
      a = [
        up + sign * down * c + root, -sign * 2 * (down + sign * up * c),
        up + sign * down * c - root,
      ]
    }
  }

  /// Returns the response at a frequency in decibels.
  package func response(at frequency: Double, rate: Double) -> Double {
    decibels(of: b, at: frequency, rate: rate) - decibels(of: a, at: frequency, rate: rate)
  }
}

/// Returns the response, in decibels at a frequency, of a filter with this impulse response.
package func decibels(of impulse: [Double], at frequency: Double, rate: Double) -> Double {
  let w = 2 * Double.pi * frequency / rate
  var (x, y) = (0.0, 0.0)
  for (i, value) in impulse.enumerated() where value != 0 {
    x += value * cos(w * Double(i))
    y += value * sin(w * Double(i))
  }
  return 10 * log10(x * x + y * y)
}
