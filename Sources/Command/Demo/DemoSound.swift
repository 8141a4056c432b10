import Glibc

/// A stereo piece of sound that voices are added to.
struct DemoSound {
  let rate: Double
  /// Samples of the left and of the right channel.
  private(set) var left: [Double]
  private(set) var right: [Double]

  init(seconds: Double, rate: Double) {
    self.rate = rate
    left = Array(repeating: 0, count: Int((seconds * rate).rounded()))
    right = left
  }

  /// Adds a voice that starts at `start` and sounds for `seconds`. `voice` gives its sample at a time since
  /// its start. `pan` goes from -1, left, to 1, right, at constant power.
  mutating func add(
    at start: Double, seconds: Double, gain: Double, pan: Double = 0, voice: (Double) -> Double
  ) {
    let first = Int((start * rate).rounded())
    let end = min(first + Int(seconds * rate), left.count)
    let angle = (pan + 1) * .pi / 4
    let (toLeft, toRight) = (gain * cos(angle), gain * sin(angle))
    for frame in first..<max(first, end) {
      // The last five milliseconds fade: no voice ends with a click.
      let fade = min(1, Double(end - frame) / (0.005 * rate))
      let sample = voice(Double(frame - first) / rate) * fade
      left[frame] += sample * toLeft
      right[frame] += sample * toRight
    }
  }

  /// Adds a room: echoes that cross over between the channels and lose their brightness.
  mutating func addRoom(gain: Double) {
    for (delay, feedback) in [(0.0297, 0.72), (0.0371, 0.70), (0.0411, 0.68), (0.0437, 0.66)] {
      let frames = Int(delay * rate)
      var lineLeft = Array(repeating: 0.0, count: frames)
      var lineRight = lineLeft
      var (dullLeft, dullRight) = (0.0, 0.0)
      // The low-pass in the loop falls at about 3 kHz, whatever the rate.
      let share = 1 - exp(-2 * .pi * 3000 / rate)
      for frame in left.indices {
        let at = frame % frames
        dullLeft += share * (lineLeft[at] - dullLeft)
        dullRight += share * (lineRight[at] - dullRight)
        let (dryLeft, dryRight) = (left[frame], right[frame])
        lineLeft[at] = dryLeft + feedback * dullRight
        lineRight[at] = dryRight + feedback * dullLeft
        left[frame] += gain * dullLeft
        right[frame] += gain * dullRight
      }
    }
  }

  /// Brings the loudest sample to `peak`, and fades the last seconds out.
  mutating func finish(peak: Double, fade seconds: Double) {
    let loudest = (left + right).reduce(0) { max($0, abs($1)) }
    guard loudest > 0 else { return }
    for frame in left.indices {
      let toEnd = Double(left.count - 1 - frame) / rate
      let gain = peak / loudest * min(1, toEnd / seconds)
      left[frame] *= gain
      right[frame] *= gain
    }
  }
}

/// DemoNoise that is the same every time: a linear congruential generator.
struct DemoNoise {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }
  /// From -1 to 1.
  mutating func next() -> Double {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Double(Int32(truncatingIfNeeded: state >> 32)) / 2_147_483_648
  }
}

/// Frequency of a MIDI note number, in Hz.
func demoFrequency(_ note: Int) -> Double { 440 * pow(2, Double(note - 69) / 12) }
