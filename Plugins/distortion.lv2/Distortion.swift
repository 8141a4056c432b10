import CPlugin

/// Distortions one after another: an echo, fewer rates and bits, a ring modulator, a polynomial, and a
/// soft limit.
@safe
struct Distortion: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:distortion", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:distortion-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 17 }
  /// Seconds of the longest echo.
  private static var longest: Double { 0.5 }

  private let rate: Double
  private let count: Int
  /// The signal with its echoes. The newest frame is before `place`.
  private let frames: UnsafeMutablePointer<SIMD2<Float>>
  private var place = 0
  private var delay = 1
  private var decay = Ramp(0)
  private var delayMix = Ramp(0)
  /// Frames for which a sample is held, and steps of the amplitude.
  private var hold = 1
  private var held = SIMD2<Double>.zero
  private var heldFrames = 0
  private var steps = 0.0
  private var decimationMix = Ramp(0)
  private var linear = Ramp(1)
  private var squared = Ramp(0)
  private var cubic = Ramp(0)
  private var polynomialMix = Ramp(0)
  /// Turns of the two oscillators, and their turns in a frame.
  private var phases = SIMD2<Double>.zero
  private var speeds = SIMD2<Double>.zero
  private var balance = Ramp(0.5)
  private var ringMix = Ramp(0)
  private var drive = Ramp(0.5)
  private var finalMix = Ramp(0.5)

  init?(rate: Double) {
    self.rate = rate
    count = Int(rate * Self.longest) + 2
    guard let memory = unsafe calloc(count, MemoryLayout<SIMD2<Float>>.stride) else { return nil }
    unsafe frames = unsafe memory.bindMemory(to: SIMD2<Float>.self, capacity: count)
  }

  func release() { unsafe free(frames) }

  mutating func reset() {
    for i in 0..<count { unsafe frames[i] = .zero }
    place = 0
    phases = .zero
    held = .zero
    heldFrames = 0
  }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    func share(_ index: Int, _ standard: Double) -> Double {
      controls.value(index, from: 0, to: 100, else: standard) / 100
    }
    delay = max(1, Int(controls.value(1, from: 0.1, to: 500, else: 0.1) / 1000 * rate))
    // An echo falls by 60 dB in this many times its delay.
    let echoes = controls.value(2, from: 0.1, to: 50, else: 1)
    decay.aim(at: cue_rt_power(10, -3 / echoes), in: frames)
    delayMix.aim(at: share(3, 0), in: frames)
    let decimation = share(4, 0)
    hold = 1 + Int(decimation * decimation * 99)
    // From 24 bits down to one.
    steps = cue_rt_power(2, 23 - 22 * share(5, 0))
    decimationMix.aim(at: share(6, 0), in: frames)
    linear.aim(at: controls.value(7, from: 0, to: 1, else: 1), in: frames)
    squared.aim(at: controls.value(8, from: 0, to: 20, else: 0), in: frames)
    cubic.aim(at: controls.value(9, from: 0, to: 20, else: 0), in: frames)
    polynomialMix.aim(at: share(10, 0), in: frames)
    speeds =
      SIMD2(
        controls.value(11, from: 0.5, to: 8000, else: 100),
        controls.value(12, from: 0.5, to: 8000, else: 100)) / rate
    balance.aim(at: share(13, 50), in: frames)
    ringMix.aim(at: share(14, 0), in: frames)
    drive.aim(at: cue_rt_amplitude(controls.value(15, from: -80, to: 20, else: -6)), in: frames)
    finalMix.aim(at: share(16, 50), in: frames)
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count {
      let dry = settled(block.wet[i])
      var sound = dry
      echo(&sound)
      decimate(&sound)
      modulate(&sound)
      let shaped =
        sound * linear.next() + sound * sound * squared.next()
        + sound * sound * sound * cubic.next()
      sound += (shaped - sound) * polynomialMix.next()
      sound = limited(sound * drive.next())
      block.wet[i] = dry + (sound - dry) * finalMix.next()
    }
  }

  private mutating func echo(_ sound: inout SIMD2<Double>) {
    let index = place - delay
    let echo = unsafe SIMD2<Double>(frames[index < 0 ? index + count : index])
    unsafe frames[place] = SIMD2<Float>(audible(sound + echo * decay.next()))
    place = place + 1 == count ? 0 : place + 1
    sound += echo * delayMix.next()
  }

  private mutating func decimate(_ sound: inout SIMD2<Double>) {
    if heldFrames == 0 {
      held = SIMD2(cue_rt_rint(sound.x * steps), cue_rt_rint(sound.y * steps)) / steps
      heldFrames = hold
    }
    heldFrames -= 1
    sound += (held - sound) * decimationMix.next()
  }

  private mutating func modulate(_ sound: inout SIMD2<Double>) {
    phases += speeds
    phases -= SIMD2(cue_rt_floor(phases.x), cue_rt_floor(phases.y))
    let mix = ringMix.next()
    let share = balance.next()
    if mix == 0 { return }
    let turns = phases * (2 * Double.pi)
    let ring = cue_rt_sin(turns.x) * (1 - share) + cue_rt_sin(turns.y) * share
    sound += (sound * ring - sound) * mix
  }

  /// Returns values of less than 1: x / √(1 + x²).
  private func limited(_ sound: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(
      sound.x / cue_rt_sqrt(sound.x * sound.x + 1), sound.y / cue_rt_sqrt(sound.y * sound.y + 1))
  }

  mutating func settle() {}
}

typealias Bundle = Distortion
