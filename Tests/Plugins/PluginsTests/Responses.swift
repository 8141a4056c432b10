import Foundation
import TestSupport

/// Compares each channel's response with the `expected` decibels at a few frequencies. Returns the
/// largest difference where the response is audible.
func largestError(of plugin: Plugin, _ expected: (Double) -> Double) -> Double {
  var sound = plugin.silence(1 << 16)
  for i in sound.indices { sound[i][0] = 1 }
  var worst = 0.0
  let found = plugin.run(sound)
  guard found.allSatisfy({ $0 == found[0] }) else { return .infinity }
  // The rest of the tail is far below the tolerance.
  let end = (found[0].lastIndex { abs($0) > 1e-9 } ?? 0) + 1
  let impulse = found[0][..<end].map(Double.init)
  for frequency in [20, 50, 110, 240, 600, 1000, 1900, 3700, 7000, 11000, 16000, 20000] as [Double]
  {
    let wanted = expected(frequency)
    // The single precision of the samples hides lower levels.
    guard wanted > -50 else { continue }
    let error = abs(decibels(of: impulse, at: frequency, rate: plugin.rate) - wanted)
    worst = error.isNaN ? .infinity : max(worst, error)
  }
  return worst
}
