import CRealTime

/// A curve of a parameter that a fader follows, and the parameter's part in the fader's gain.
package struct GainCurve: BitwiseCopyable {
  /// How a parameter's value becomes a factor.
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// A gain in dB.
    case decibels
    /// A switch that silences: on from a half on.
    case mute
    /// A balance from -1 to 1, for the left or the right channel.
    case left, right

    @_noLocks func factor(_ value: Double) -> Float {
      switch self {
      case .decibels: Float(cue_rt_power(10, value / 20))
      case .mute: value >= 0.5 ? 0 : 1
      case .left: Float(min(1, 1 - value))
      case .right: Float(min(1, 1 + value))
      }
    }
  }
  let kind: Kind
  let curve: Curve

  package init(_ kind: Kind, _ curve: Curve) {
    self.kind = kind
    self.curve = curve
  }
}

/// A gain that is wanted of a fader.
package struct FaderOrder: BitwiseCopyable, Equatable, Sendable {
  package var gain: Float
  /// Device frame. The ramp begins with the first cycle that does not begin before.
  package var start: Int64
  /// Frames of the ramp.
  package var frames: Int64
  /// Another one for each order to a fader.
  package var number: UInt64

  package init(gain: Float, start: Int64 = .min, frames: Int64 = 0, number: UInt64) {
    self.gain = gain
    self.start = start
    self.frames = frames
    self.number = number
  }
}

/// The gain of an edge, apart from the crossfades of the graph: a ramp to the gain that was ordered last, times the
/// factors of curves.
///
/// The process thread changes the fader between cycles only, so the threads that help it may read it.
@safe
package struct GraphFader: BitwiseCopyable {
  private var from: Float = 1
  private var to: Float = 1
  private var start: Int64 = 0
  private var frames: Int64 = 0
  /// Number of the latest order that was taken.
  private(set) var number: UInt64 = 0
  private let curves: UnsafePointer<GainCurve>?
  private let curveCount: Int

  package init(_ curves: UnsafePointer<GainCurve>?, count: Int) {
    unsafe self.curves = curves
    curveCount = count
  }

  /// Begins the ramp of an order at a device frame.
  @_noLocks mutating func take(_ order: FaderOrder, at frame: Int64) {
    from = ramp(at: frame)
    to = order.gain
    start = frame
    frames = order.frames
    number = order.number
  }

  @_noLocks private func ramp(at frame: Int64) -> Float {
    let at = frame &- start
    if at >= frames { return to }
    if at <= 0 { return from }
    return from + (to - from) * (Float(at) / Float(frames))
  }

  /// Returns the gain at a device frame, by which sound has come `arrival` frames from the sources.
  @_noLocks private func gain(at frame: Int64, arrival: Int) -> Float {
    var gain = ramp(at: frame)
    for i in 0..<curveCount {
      guard let curve = unsafe curves?[i] else { break }
      let position = unsafe curve.curve.course.pointee.position(at: frame &- Int64(arrival))
      gain *= curve.kind.factor(curve.curve.value(at: position))
    }
    return gain
  }

  /// Returns the gain over the device frames from `frame` on; nil if it changes.
  @_noLocks func constant(from frame: Int64, over frames: Int, arrival: Int) -> Float? {
    if from != to, frame &- start < self.frames { return nil }
    for i in 0..<curveCount {
      guard let curve = unsafe curves?[i] else { break }
      if !curve.curve.isConstant(from: frame &- Int64(arrival), over: frames) { return nil }
    }
    return gain(at: frame, arrival: arrival)
  }

  /// Writes samples with the gain of each frame. `source` and `target` may be the same.
  @_noLocks func pass(
    _ source: UnsafePointer<Float>, to target: UnsafeMutablePointer<Float>, _ count: Int,
    from frame: Int64, arrival: Int
  ) {
    for i in 0..<count {
      unsafe target[i] = source[i] * gain(at: frame &+ Int64(i), arrival: arrival)
    }
  }
}
