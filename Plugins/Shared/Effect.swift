/// What a bundle is made of: `Entry.swift` does the rest, and takes it under the name `Bundle`.
///
/// A plugin's ports are its audio inputs, its audio outputs, then its controls: `lv2:enabled`, the other
/// inputs, the outputs. All but `init` and `release` run in the host's audio thread. Effects, controls and
/// blocks are large: they cannot be copied, and go as `inout`, for the compiler loads the whole of what it
/// borrows.
protocol Effect: ~Copyable {
  /// The stereo plugin of the bundle, and the mono one.
  static var layouts: (Layout, Layout) { get }
  /// Control inputs, with `lv2:enabled`, which comes first.
  static var controlInputs: Int { get }
  /// False if it only listens: then what comes in goes out, to the bit.
  static var changesSound: Bool { get }

  /// Nil if there is no memory.
  init?(rate: Double)
  /// Gives back what `init` took.
  func release()
  /// Forgets all sound.
  mutating func reset()
  /// A control has changed. The sound is to follow in that many frames, or at once if there are none.
  mutating func update(_ controls: inout Controls, in frames: Int)
  /// Computes `block.wet`; it holds the input. `block.frames` is what is heard when it is not enabled.
  mutating func process(_ block: inout Block)
  /// Called every `Block.capacity` frames: the place to drop what has become too small to matter.
  mutating func settle()
  /// Writes the control outputs.
  mutating func report(_ controls: inout Controls)
}

extension Effect where Self: ~Copyable {
  static var changesSound: Bool { true }
  func release() {}
  mutating func report(_ controls: inout Controls) {}
}

/// What a host sees of a plugin.
struct Layout {
  let uri: StaticString
  let inputs: Int
  let outputs: Int
}

/// A few frames of sound, two channels side by side; a mono plugin has the same in both.
struct Block: ~Copyable {
  static var capacity: Int { 64 }
  /// Frames in it.
  var count = 0
  /// What came in.
  var frames = InlineArray<64, SIMD2<Float>>(repeating: .zero)
  /// What the effect makes of it.
  var wet = InlineArray<64, SIMD2<Double>>(repeating: .zero)

  /// Puts the effect's sound in the place of the input, as far as `fade` says.
  ///
  /// Nothing of it is subnormal, which would make whatever comes next slow.
  mutating func mix(_ fade: inout Ramp) {
    var i = 0
    while i < count && fade.isMoving {
      let dry = SIMD2<Double>(frames[i])
      frames[i] = SIMD2<Float>(audible(dry + (wet[i] - dry) * fade.next()))
      i += 1
    }
    guard fade.value > 0 else { return }
    while i < count {
      frames[i] = SIMD2<Float>(audible(wet[i]))
      i += 1
    }
  }
}

/// The values with 0 for each that is too small to hear by hundreds of decibels.
func audible(_ values: SIMD2<Double>) -> SIMD2<Double> {
  values.replacing(with: 0, where: values * values .< 1e-60)
}

/// The state of a filter with 0 for what is too small to matter, and for what is not a number any more.
func settled(_ state: SIMD2<Double>) -> SIMD2<Double> {
  let power = state * state
  return state.replacing(with: 0, where: .!((power .>= 1e-60) .& (power .<= 1e60)))
}
