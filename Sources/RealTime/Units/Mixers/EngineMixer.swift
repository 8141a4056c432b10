package import CRealTime
import Synchronization

/// The gains of an input of an `EngineMixer`, or of its output. They stay when the unit gets another setup.
package struct EngineMixerLevel: ~Copyable {
  private let volume = Atomic<UInt32>(Float(1).bitPattern)
  private let pan = Atomic<UInt32>(0)
  private let isOut = Atomic<Bool>(false)
  private let fadesIn = Atomic<Bool>(false)
  /// The gains at the end of the latest render.
  private var gains = ChannelGain(1)
  private var hasRun = false

  package init() {}

  // MARK: Control side, any thread

  package func set(volume: Float) { self.volume.store(volume.bitPattern, ordering: .relaxed) }
  /// - Parameter pan: -1, the left side alone, to 1.
  package func set(pan: Float) { self.pan.store(pan.bitPattern, ordering: .relaxed) }
  /// Fades out, or in again, within one render.
  package func fade(out: Bool) { isOut.store(out, ordering: .relaxed) }

  /// Sets whether an input fades in when it is connected, within one render, instead of beginning with its gains.
  package func setFadesIn(_ on: Bool) { fadesIn.store(on, ordering: .relaxed) }

  // MARK: Renders

  private var target: ChannelGain {
    @_noLocks get {
      if isOut.load(ordering: .relaxed) { return ChannelGain(0) }
      var gain = ChannelGain(pan: Float(bitPattern: pan.load(ordering: .relaxed)))
      let volume = Float(bitPattern: volume.load(ordering: .relaxed))
      gain.others *= volume
      gain.second *= volume
      return gain
    }
  }

  /// Returns the gains before and after a render, which change in a straight line.
  @_noLocks fileprivate mutating func move() -> (from: ChannelGain, to: ChannelGain) {
    let to = target
    let from = hasRun ? gains : fadesIn.load(ordering: .relaxed) ? ChannelGain(0) : to
    gains = to
    hasRun = true
    return (from, to)
  }

  /// True if a render leaves the samples as they are.
  fileprivate var isUnity: Bool {
    @_noLocks get {
      hasRun && gains.others == 1 && gains.second == 1 && !isOut.load(ordering: .relaxed)
        && pan.load(ordering: .relaxed) == 0
        && volume.load(ordering: .relaxed) == Float(1).bitPattern
    }
  }

  /// Lets the next render begin anew.
  @_noLocks fileprivate mutating func rest() { hasRun = false }
}

/// How the channels of an input go to those of the output: a gain for each pair, those of the first output
/// channel first. Nil if each channel goes to that of its number.
@safe
package struct ChannelMatrix: BitwiseCopyable {
  fileprivate let gains: UnsafePointer<Float>?
  package init(_ gains: UnsafePointer<Float>?) { unsafe self.gains = gains }
}

/// A mixer of an engine: adds the inputs of a unit, each with its gain, its balance and its own number of
/// channels. Owns no memory.
@safe
package struct EngineMixer: BitwiseCopyable {
  /// One for each input, and one for the output behind them.
  private let levels: UnsafePointer<UnsafeMutablePointer<EngineMixerLevel>>
  private let matrices: UnsafePointer<ChannelMatrix>

  package init(
    levels: UnsafePointer<UnsafeMutablePointer<EngineMixerLevel>>,
    matrices: UnsafePointer<ChannelMatrix>
  ) {
    unsafe self.levels = levels
    unsafe self.matrices = matrices
  }

  /// True if a render with a single input of the output's channels would copy it.
  var isUnity: Bool {
    @_noLocks get { unsafe levels[0].pointee.isUnity && levels[1].pointee.isUnity }
  }

  @_noLocks func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self)
    let frames = unsafe Int(call.frames)
    let sum = unsafe setup.pointee.outputs.pointee
    var hasSound = false
    for bus in unsafe 0..<setup.pointee.inputCount {
      if unsafe setup.pointee.isUnconnected(bus) {
        unsafe levels[bus].pointee.rest()
        continue
      }
      let (from, to) = unsafe levels[bus].pointee.move()
      var isSilent = false
      let status = unsafe setup.pointee.pull(
        bus, frames: frames, at: call.time, isSilent: &isSilent)
      // One input without sound does not silence the others.
      if status != 0 || isSilent { continue }
      unsafe add(
        setup.pointee.inputs[bus], matrices[bus], to: sum, frames, from, to, isFirst: !hasSound)
      hasSound = true
    }
    let (from, to) = unsafe levels[setup.pointee.inputCount].pointee.move()
    if !hasSound {
      sum.silence(frames: frames)
      unsafe call.flags.pointee |= UInt32(cue_render_is_silent)
    } else {
      for channel in 0..<sum.channels {
        unsafe scale(sum.planes[channel], frames, from: from.others, to: to.others)
      }
    }
    return 0
  }

  @_noLocks private func add(
    _ input: UnitBus, _ matrix: ChannelMatrix, to sum: UnitBus, _ frames: Int, _ from: ChannelGain,
    _ to: ChannelGain, isFirst: Bool
  ) {
    if unsafe isFirst && matrix.gains != nil { sum.silence(frames: frames) }
    for channel in 0..<sum.channels {
      var (first, last) = channel == 1 ? (from.second, to.second) : (from.others, to.others)
      // One channel has no sides.
      if sum.channels == 1 {
        (first, last) = (max(from.others, from.second), max(to.others, to.second))
      }
      let target = unsafe sum.planes[channel]
      guard let gains = unsafe matrix.gains else {
        if isFirst {
          unsafe UnsafeMutableRawPointer(target).copyMemory(
            from: input.planes[channel], byteCount: 4 &* frames)
          unsafe scale(target, frames, from: first, to: last)
        } else {
          unsafe add(input.planes[channel], to: target, frames, first, last)
        }
        continue
      }
      for source in 0..<input.channels {
        let gain = unsafe gains[channel &* input.channels &+ source]
        if gain == 0 { continue }
        unsafe add(input.planes[source], to: target, frames, gain * first, gain * last)
      }
    }
  }

  @_noLocks private func add(
    _ plane: UnsafeMutablePointer<Float>, to target: UnsafeMutablePointer<Float>, _ frames: Int,
    _ first: Float, _ last: Float
  ) {
    if first == last {
      for i in 0..<frames { unsafe target[i] += plane[i] * last }
      return
    }
    let step = (last - first) / Float(frames)
    for i in 0..<frames { unsafe target[i] += plane[i] * (first + step * Float(i &+ 1)) }
  }
}

/// The kernel of mixers of engines: `context` is an `EngineMixer`.
@_noLocks package func runEngineMixer(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: EngineMixer.self).pointee.run(call.pointee)
}
