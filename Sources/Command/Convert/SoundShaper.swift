import Analysis
import System

/// The fades, the gain and the limiter of a conversion, for one reading of the sound.
struct SoundShaper {
  let channels: Int
  /// Frames of the sound and of its fades.
  let frames: Int64
  let fadeIn: Int64
  let fadeOut: Int64
  var gain: Float = 1
  var limiter: TruePeakLimiter?
  private var position: Int64 = 0

  init(channels: Int, frames: Int64, fadeIn: Int64, fadeOut: Int64) {
    (self.channels, self.frames, self.fadeIn, self.fadeOut) = (channels, frames, fadeIn, fadeOut)
  }

  /// Returns what is complete after the next interleaved frames.
  mutating func add(_ samples: [Float]) -> [Float] {
    var samples = samples
    let count = samples.count / channels
    for index in 0..<count {
      let factor = fade(at: position + Int64(index)) * gain
      if factor == 1 { continue }
      for place in index * channels..<(index + 1) * channels { samples[place] *= factor }
    }
    position += Int64(count)
    return limiter?.add(samples) ?? samples
  }

  /// Returns the last frames.
  mutating func finish() -> [Float] { limiter?.finish() ?? [] }

  /// Returns the factor of a frame: a straight line, as `cuejack play` fades.
  private func fade(at frame: Int64) -> Float {
    if frame < fadeIn { return Float(Double(frame) / Double(fadeIn)) }
    let left = frames - frame
    return left < fadeOut ? Float(Double(left) / Double(fadeOut)) : 1
  }
}

/// The figures of a sound before and after a change of its level.
struct LevelChange {
  let before: SoundFigures
  /// The figures of the new sound as it goes into the file's format.
  var after: SoundFigures?
  /// The factor, and the least gain of the limiter.
  let gain: Float
  var least: Float = 1

  /// The figures, to follow a summary.
  var words: String {
    func pair(_ value: (SoundFigures) -> String) -> String {
      let (old, new) = (value(before), after.map(value) ?? "")
      return old == new ? old : "\(old) to \(new)"
    }
    let change = decibels(Double(gain)).map(decimal) ?? "-inf"
    let limited = least < 1 ? ", limited by up to \(SoundFigures.word(1 / Double(least))) dB" : ""
    return
      "; loudness \(pair { $0.integrated.map(decimal) ?? "-inf" }) LUFS, true peak \(pair { SoundFigures.word($0.truePeak) }) dBTP, "
      + "sample peak \(pair { SoundFigures.word($0.samplePeak) }) dBFS (gain \(change) dB\(limited))"
  }
}
