import CPlugin

/// An echo of up to two seconds, with feedback through a low pass.
@safe
struct Delay: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:delay", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:delay-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 5 }
  private static var longest: Double { 2 }

  private let rate: Double
  private let count: Int
  /// What went in, with the feedback. The newest frame is before `place`.
  private let frames: UnsafeMutablePointer<SIMD2<Float>>
  private var place = 0
  private var mix = Ramp(0.5)
  private var feedback = Ramp(0.5)
  /// The part of the distance to its input that the low pass covers in a frame.
  private var opening = 1.0
  private var smoothed = SIMD2<Double>.zero
  /// Frames of delay. While the time changes, the old one fades out and the new one in.
  private var length: Int
  private var oldLength: Int
  private var turn = Ramp(1)

  init?(rate: Double) {
    self.rate = rate
    count = Int(rate * Self.longest) + 2
    guard let memory = unsafe calloc(count, MemoryLayout<SIMD2<Float>>.stride) else { return nil }
    unsafe frames = unsafe memory.bindMemory(to: SIMD2<Float>.self, capacity: count)
    length = Int(rate)
    oldLength = length
  }

  func release() { unsafe free(frames) }

  mutating func reset() {
    for i in 0..<count { unsafe frames[i] = .zero }
    place = 0
    smoothed = .zero
    turn = Ramp(1)
    oldLength = length
  }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    mix.aim(at: controls.value(1, from: 0, to: 100, else: 50) / 100, in: frames)
    let seconds = controls.value(2, from: 0, to: Self.longest, else: 1)
    feedback.aim(at: controls.value(3, from: -99.9, to: 99.9, else: 50) / 100, in: frames)
    let cutoff = controls.value(4, from: 10, to: rate / 2, else: 15_000)
    opening = 1 - cue_rt_exp(-2 * Double.pi * cutoff / rate)
    let wanted = max(1, Int((seconds * rate).rounded()))
    if wanted == length { return }
    oldLength = length
    length = wanted
    turn = Ramp(frames == 0 ? 1 : 0)
    turn.aim(at: 1, in: frames)
  }

  /// Returns the frame that went in a number of frames ago.
  private func frame(before age: Int) -> SIMD2<Double> {
    let index = place - age
    return unsafe SIMD2<Double>(frames[index < 0 ? index + count : index])
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count {
      var echo = frame(before: length)
      let share = turn.next()
      if share < 1 { echo = echo * share + frame(before: oldLength) * (1 - share) }
      smoothed = settled(smoothed + (echo - smoothed) * opening)
      let dry = settled(block.wet[i])
      unsafe frames[place] = SIMD2<Float>(audible(dry + smoothed * feedback.next()))
      place = place + 1 == count ? 0 : place + 1
      let wet = mix.next()
      block.wet[i] = dry * (1 - wet) + smoothed * wet
    }
  }

  mutating func settle() {}
}

typealias Bundle = Delay
