/// The signal processing of a bundle. Each bundle declares its type under the name `Bundle`;
/// `Entry.swift` connects it to LV2.
///
/// A plugin's ports are its audio inputs, its audio outputs, and its controls: `lv2:enabled`, the other
/// inputs, the outputs. The host's process thread makes all calls except `init` and `release`.
///
/// Effects, controls and blocks are large and cannot be copied. They are passed as `inout`, because the
/// compiler loads the whole of a borrowed argument.
protocol Effect: ~Copyable {
  /// The stereo plugin and the mono plugin of the bundle.
  static var layouts: (Layout, Layout) { get }
  /// Number of control inputs, including `lv2:enabled`, which comes first.
  static var controlInputs: Int { get }
  /// Whether the plugin changes the signal. If not, the output equals the input bit by bit.
  static var changesSound: Bool { get }

  /// Returns nil if there is no memory.
  init?(rate: Double)
  /// Frees what `init` allocated.
  func release()
  /// Clears all signal memory.
  mutating func reset()
  /// Updates the effect after a control has changed. Parameters ramp over `frames` frames; 0 means at
  /// once.
  mutating func update(_ controls: inout Controls, in frames: Int)
  /// Computes `block.wet`, which holds the input at first. `block.frames` is the output while bypassed.
  mutating func process(_ block: inout Block)
  /// Clears state that has become negligible. Called every `Block.capacity` frames.
  mutating func settle()
  /// Writes the control outputs.
  mutating func report(_ controls: inout Controls)
}

extension Effect where Self: ~Copyable {
  static var changesSound: Bool { true }
  func release() {}
  mutating func report(_ controls: inout Controls) {}
}

/// URI and audio ports of a plugin.
struct Layout {
  let uri: StaticString
  let inputs: Int
  let outputs: Int
}

/// A block of up to 64 stereo frames. A mono plugin has the same signal in both channels.
struct Block: ~Copyable {
  static var capacity: Int { 64 }
  /// Frames in the block.
  var count = 0
  /// The input.
  var frames = InlineArray<64, SIMD2<Float>>(repeating: .zero)
  /// The effect's output.
  var wet = InlineArray<64, SIMD2<Double>>(repeating: .zero)

  /// Crossfades from the input to the effect's output by `fade`.
  ///
  /// It replaces subnormal results by 0, because they would slow down the next plugin.
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

/// Returns the values with 0 for each one below -600 dB.
func audible(_ values: SIMD2<Double>) -> SIMD2<Double> {
  values.replacing(with: 0, where: values * values .< 1e-60)
}

/// Returns a filter state with 0 for negligible values and for values that are not a number.
func settled(_ state: SIMD2<Double>) -> SIMD2<Double> {
  let power = state * state
  return state.replacing(with: 0, where: .!((power .>= 1e-60) .& (power .<= 1e60)))
}
