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

  /// The parameters of a bus, or of the output behind the last one.
  @_noLocks private borrowing func slots(_ bus: Int)
    -> UnsafeMutablePointer<UnitParameterSlot>
  { unsafe parameters + bus &* stride }

  /// Returns the gains that a bus's parameters ask for.
  @_noLocks private borrowing func target(_ bus: Int) -> MixerGains {
    let first = unsafe slots(bus)
    var gains = unsafe MixerGains(isOn(bus) ? first.pointee.value * fades[bus].gain : 0)
    let pan = unsafe hasSwitches ? first[2].value : 2 * first[1].value - 1
    gains.all *= 1 - max(0, pan)
    gains.second *= 1 + min(0, pan)
    return gains
  }

  /// Returns the next part of a render in which gains change in a straight line.
  ///
  /// - Parameters:
  ///   - bus: An input, or the output if it is the number of inputs.
  ///   - start: The first frame of the part.
  @_noLocks private borrowing func part(
    of bus: Int, from start: Int, frames: Int, isFirst: Bool, _ setup: UnitSetup
  ) -> (end: Int, from: MixerGains, to: MixerGains) {
    let isOutput = bus == setup.inputCount
    let slots = unsafe slots(bus)
    let count = isOutput ? 1 : stride
    var end = frames
    var from = unsafe gains[bus]
    if unsafe setup.hasChanges(of: slots, count: count) {
      end = setup.nextChange(after: start, frames: frames)
      unsafe setup.applyChanges(at: start, isEnd: false, to: slots, count: count)
      if unsafe setup.hasChanges(of: slots, count: count, by: start) {
        from = unsafe isOutput ? MixerGains(slots.pointee.value) : target(bus)
      }
      unsafe setup.applyChanges(at: end, isEnd: true, to: slots, count: count)
    }
    let to = unsafe isOutput ? MixerGains(slots.pointee.value) : target(bus)
    if isFirst && start == 0 && end == frames { from = to }
    unsafe gains[bus] = to
    return (end, from, to)
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self).pointee
    let frames = unsafe Int(call.frames)
    let sum = unsafe setup.outputs.pointee
    sum.silence(frames: frames)
    let isFirst = unsafe !hasRun.pointee
    unsafe hasRun.pointee = true
    for bus in 0..<setup.inputCount {
      if setup.isUnconnected(bus) {
        unsafe gains[bus] = target(bus)
        continue
      }
      // A bus that is off renders no more once it is silent.
      let now = unsafe gains[bus]
      var hasSound = isOn(bus) || now.all != 0 || now.second != 0
      if !hasSound { hasSound = unsafe setup.hasChanges(of: slots(bus), count: stride) }
      if hasSound {
        var isSilent = false
        let status = unsafe setup.pull(bus, frames: frames, at: call.time, isSilent: &isSilent)
        // One bus without sound does not silence the others.
        hasSound = status == 0 && !isSilent
      }
      var start = 0
      while start < frames {
        let part = part(of: bus, from: start, frames: frames, isFirst: isFirst, setup)
        if hasSound {
          unsafe add(setup.inputs[bus], to: sum, start..<part.end, part.from, part.to)
        }
        start = part.end
      }
    }
    var start = 0
    while start < frames {
      let part = part(
        of: setup.inputCount, from: start, frames: frames, isFirst: isFirst, setup)
      if part.from.all != 1 || part.to.all != 1 {
        for channel in 0..<sum.channels {
          unsafe scale(
            sum.planes[channel] + start, part.end &- start, from: part.from.all, to: part.to.all)
        }
      }
      start = part.end
    }
    return 0
  }

  /// Adds a bus to the output. Its gains change in a straight line.
  @_noLocks private func add(
    _ input: UnitBus, to sum: UnitBus, _ frames: Range<Int>, _ from: MixerGains, _ to: MixerGains
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
      let count = frames.upperBound &- frames.lowerBound
      let step = (last - first) / Float(count)
      let plane = unsafe input.planes[source] + frames.lowerBound
      let target = unsafe sum.planes[channel] + frames.lowerBound
      if step == 0 {
        for i in 0..<count { unsafe target[i] += plane[i] * last }
      } else {
        for i in 0..<count {
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
