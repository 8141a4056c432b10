package import CRealTime
import Synchronization

/// Gains of a bus at the end of the latest render: of the second channel, and of all others.
package struct MixerGains: BitwiseCopyable {
  var all: Float
  var second: Float
  package init(_ gain: Float) {
    all = gain
    second = gain
  }
}

/// Whether a bus of a mixer is faded out, because its source is about to change. Any thread.
package struct MixerFade: ~Copyable {
  private let isOut = Atomic<Bool>(false)
  package init() {}
  package func set(out: Bool) { isOut.store(out, ordering: .relaxed) }
  var gain: Float { @_noLocks get { isOut.load(ordering: .relaxed) ? 0 : 1 } }
}

/// A mixer: adds the inputs of a unit, each with its gain and balance. Owns no memory.
@safe
package struct Mixer: ~Copyable {
  /// Parameters of the first bus. Those of each bus are volume, switch and pan, or volume and pan of 0
  /// to 1; behind those of the last bus is the output's volume.
  private let parameters: UnsafeMutablePointer<UnitParameterSlot>
  private let hasSwitches: Bool
  /// One for each input, and one for the output behind them.
  private let gains: UnsafeMutablePointer<MixerGains>
  /// One for each input.
  private let fades: UnsafeMutablePointer<MixerFade>
  private let hasRun: UnsafeMutablePointer<Bool>

  package init(
    parameters: UnsafeMutablePointer<UnitParameterSlot>, hasSwitches: Bool,
    gains: UnsafeMutablePointer<MixerGains>, fades: UnsafeMutablePointer<MixerFade>,
    hasRun: UnsafeMutablePointer<Bool>
  ) {
    unsafe self.parameters = parameters
    self.hasSwitches = hasSwitches
    unsafe self.gains = gains
    unsafe self.fades = fades
    unsafe self.hasRun = hasRun
  }

  private var stride: Int { @_noLocks get { hasSwitches ? 3 : 2 } }

  @_noLocks private borrowing func isOn(_ bus: Int) -> Bool {
    unsafe !hasSwitches || parameters[bus &* 3 &+ 1].value >= 0.5
  }

  /// Returns the gains that a bus's parameters ask for.
  @_noLocks private borrowing func target(_ bus: Int) -> MixerGains {
    let first = unsafe parameters + bus &* stride
    var gains = unsafe MixerGains(isOn(bus) ? first.pointee.value * fades[bus].gain : 0)
    let pan = unsafe hasSwitches ? first[2].value : 2 * first[1].value - 1
    gains.all *= 1 - max(0, pan)
    gains.second *= 1 + min(0, pan)
    return gains
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self)
    let frames = unsafe Int(call.frames)
    let sum = unsafe setup.pointee.outputs
    unsafe sum.pointee.silence(frames: frames)
    let isFirst = unsafe !hasRun.pointee
    unsafe hasRun.pointee = true
    for i in unsafe 0..<setup.pointee.inputCount {
      let input = unsafe setup.pointee.inputs + i
      let to = target(i)
      let from = unsafe isFirst ? to : gains[i]
      unsafe gains[i] = to
      if unsafe input.pointee.source.isNone { continue }
      // A bus that is off renders no more once it is silent.
      if !isOn(i) && from.all == 0 && from.second == 0 { continue }
      var isSilent = false
      let status = unsafe setup.pointee.pull(i, frames: frames, at: call.time, isSilent: &isSilent)
      // One bus without sound does not silence the others.
      if status != 0 || isSilent { continue }
      unsafe add(input.pointee, to: sum.pointee, frames: frames, from, to)
    }
    let count = unsafe setup.pointee.inputCount
    let to = unsafe MixerGains(parameters[count &* stride].value)
    let from = unsafe isFirst ? to : gains[count]
    unsafe gains[count] = to
    if from.all != 1 || to.all != 1 {
      for channel in unsafe 0..<sum.pointee.channels {
        unsafe scale(sum.pointee.planes[channel], frames, from: from.all, to: to.all)
      }
    }
    return 0
  }

  /// Adds a bus to the output. Its gains change in a straight line.
  @_noLocks private func add(
    _ input: UnitBus, to sum: UnitBus, frames: Int, _ from: MixerGains, _ to: MixerGains
  ) {
    for channel in 0..<sum.channels {
      let source: Int
      if input.channels == 1 {
        if channel > 1 { continue }
        source = 0
      } else {
        if channel >= input.channels { continue }
        source = channel
      }
      let (first, last) = channel == 1 ? (from.second, to.second) : (from.all, to.all)
      let step = (last - first) / Float(frames)
      let plane = unsafe input.planes[source]
      let target = unsafe sum.planes[channel]
      if step == 0 {
        for i in 0..<frames { unsafe target[i] += plane[i] * last }
      } else {
        for i in 0..<frames {
          unsafe target[i] += plane[i] * (first + step * Float(i &+ 1))
        }
      }
    }
  }
}

/// The kernel of mixers: `context` is a `Mixer`.
@_noLocks package func runMixer(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: Mixer.self).pointee.run(call.pointee)
}
