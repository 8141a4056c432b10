import Glibc

/// A limiter of true peaks for files: all channels get one gain, which falls before a peak and rises behind
/// it. Not real time: it allocates. One thread at a time.
///
/// The wave between the samples is that of `LoudnessMeter`: four points for each frame below 96 kHz, two
/// below 192 kHz. The changing gain moves a peak by a few hundredths of a decibel, so the caller measures the
/// result. The output has as many frames as the input, without a delay.
package struct TruePeakLimiter {
  /// Seconds in which the gain can fall from 1 to 0, and the time constant of its rise.
  private static let attack = 0.01
  private static let release = 0.1
  /// More than the sum of any point's coefficients: how far the wave may exceed its samples.
  private static let mostOvershoot: Float = 2.4

  private let channels: Int
  private let ceiling: Float
  /// Coefficients of each point between two frames, for the frames from the latest on: `2 * reach` each.
  private let coefficients: [Float]
  /// Frames on either side of a point that count for it.
  private let reach: Int
  /// Frames of the attack.
  private let attackFrames: Int
  private let rise: Float

  /// Interleaved frames: `history` that are output already, and those that are not.
  private var frames: [Float]
  private let history: Int
  /// The gain that each frame needs, from the first that is not output on.
  private var needed: [Float] = []
  /// The peak of the latest frame in `needed`.
  private var latest: Float = 0
  private var gain: Float = 1
  /// The least gain so far.
  package private(set) var least: Float = 1

  /// - Parameter ceiling: The greatest magnitude of the output; 1 is full scale.
  package init(channels: Int, sampleRate: Double, ceiling: Double) {
    self.channels = channels
    self.ceiling = Float(ceiling)
    let factor = sampleRate < 96_000 ? 4 : sampleRate < 192_000 ? 2 : 1
    reach = 24 / factor
    coefficients = (1..<factor).flatMap { Self.coefficients($0, of: factor) }
    attackFrames = max(1, Int((sampleRate * Self.attack).rounded()))
    rise = Float(1 - exp(-1 / (sampleRate * Self.release)))
    history = reach
    frames = [Float](repeating: 0, count: history * channels)
  }

  /// Returns the window of libebur128: a sinc of 49 points under a Hann window.
  private static func coefficients(_ point: Int, of factor: Int) -> [Float] {
    stride(from: point, to: 49, by: factor).map { index in
      let angle = Double(index - 24) * .pi / Double(factor)
      return Float(sin(angle) / angle * 0.5 * (1 - cos(2 * .pi * Double(index) / 48)))
    }
  }

  /// Takes interleaved frames, and returns those that are complete. Samples that are not finite become 0.
  package mutating func add(_ samples: [Float]) -> [Float] {
    frames += samples.map { $0.isFinite ? $0 : 0 }
    measure(upTo: frames.count / channels - history - reach)
    return output(needed.count - attackFrames)
  }

  /// Returns the last frames.
  package mutating func finish() -> [Float] {
    let count = frames.count / channels - history
    frames += [Float](repeating: 0, count: reach * channels)
    measure(upTo: count)
    return output(count)
  }

  /// Computes the gains that the frames before `end` need.
  private mutating func measure(upTo end: Int) {
    let blockFrames = 32
    while needed.count < end {
      let count = min(blockFrames, end - needed.count)
      let first = history + needed.count
      // Quiet blocks have no peaks above the ceiling between their frames, either.
      var greatest: Float = 0
      for place in (first - reach) * channels..<(first + count + reach) * channels {
        greatest = max(greatest, frames[place].magnitude)
      }
      if max(greatest * Self.mostOvershoot, latest) <= ceiling {
        needed += repeatElement(1, count: count)
        latest = 0
        continue
      }
      for frame in first..<first + count {
        let next = peak(from: frame)
        // The points behind the previous frame, too: this frame is beside them.
        let peak = max(latest, next)
        needed.append(peak > ceiling ? ceiling / peak : 1)
        latest = next
      }
    }
  }

  /// Returns the greatest magnitude of a frame and the points behind it.
  private func peak(from frame: Int) -> Float {
    unsafe frames.withUnsafeBufferPointer { frames in
      unsafe coefficients.withUnsafeBufferPointer { coefficients in
        var peak: Float = 0
        for channel in 0..<channels {
          let latest = (frame + reach) * channels + channel
          peak = unsafe max(peak, frames[frame * channels + channel].magnitude)
          for point in 0..<coefficients.count / (2 * reach) {
            var sum: Float = 0
            for index in 0..<2 * reach {
              sum +=
                unsafe coefficients[point * 2 * reach + index] * frames[latest - index * channels]
            }
            peak = max(peak, sum.magnitude)
          }
        }
        return peak
      }
    }
  }

  /// Applies the gain to frames, and removes them.
  private mutating func output(_ count: Int) -> [Float] {
    guard count > 0 else { return [] }
    let step = 1 / Float(attackFrames)
    var gains = needed
    var index = gains.count - 1
    while index > 0 {
      index -= 1
      gains[index] = min(gains[index], gains[index + 1] + step)
    }
    var output = [Float](frames[history * channels..<(history + count) * channels])
    for index in 0..<count {
      gain = min(gains[index], gain + (1 - gain) * rise)
      least = min(least, gain)
      for place in index * channels..<(index + 1) * channels { output[place] *= gain }
    }
    frames.removeFirst(count * channels)
    needed.removeFirst(count)
    return output
  }
}
