import Foundation

/// Returns a sample of a 1 kHz sine at 48 kHz and full scale.
func sine(_ frame: Int64) -> Float { period[Int((frame % 48 + 48) % 48)] }
private let period = (0..<48).map { Float(sin(Double($0) * 2 * Double.pi / 48)) }

/// The largest step of the sine between two frames.
let sineStep = Float(2 * sin(Double.pi * 1000 / 48000))

/// Returns the largest step between two frames, infinity if a sample is no number, and the number of frames
/// in silences of two or more frames.
func clicks(_ samples: [Float]) -> (step: Float, silent: Int) {
  var step: Float = 0
  var silent = 0
  for i in 1..<samples.count {
    let change = abs(samples[i] - samples[i - 1])
    step = change.isNaN ? .infinity : max(step, change)
    if abs(samples[i]) < 1e-5 && abs(samples[i - 1]) < 1e-5 { silent += 1 }
  }
  return (step, silent)
}
