package import CRealTime
import Synchronization

/// The parameters of a mixer's buses, and how they become gains.
package enum MixerLaw: UInt8, BitwiseCopyable, Sendable {
  /// Volume, switch, and pan of -1 to 1.
  case multiChannel
  /// Volume, and pan of 0 to 1.
  case stereo
  /// Azimuth, elevation, distance, gain in decibels, and switch.
  case spatial

  /// Parameters of a bus.
  fileprivate var count: Int {
    @_noLocks get {
      switch self {
      case .multiChannel: 3
      case .stereo: 2
      case .spatial: 5
      }
    }
  }

  /// Index of the switch among them; nil if there is none.
  fileprivate var switchIndex: Int? {
    @_noLocks get {
      switch self {
      case .multiChannel: 1
      case .stereo: nil
      case .spatial: 4
      }
    }
  }
}

/// How a sound gets softer with its distance in metres. Control side: any thread.
package struct DistanceLaw: ~Copyable {
  private let reference = Atomic<UInt32>(Float(1).bitPattern)
  private let most = Atomic<UInt32>(Float(10_000).bitPattern)
  private let decibels = Atomic<UInt32>(Float(60).bitPattern)
  package init() {}

  /// - Parameters:
  ///   - reference: Up to there the sound is as loud as it is.
  ///   - most: From there on it gets no softer.
  ///   - decibels: It never gets softer by more.
  package func set(reference: Float, most: Float, decibels: Float) {
    self.reference.store(reference.bitPattern, ordering: .relaxed)
    self.most.store(most.bitPattern, ordering: .relaxed)
    self.decibels.store(decibels.bitPattern, ordering: .relaxed)
  }

  /// The reference, the farthest distance, and the largest attenuation in decibels.
  package var values: (reference: Float, most: Float, decibels: Float) {
    @_noLocks get {
      (
        Float(bitPattern: reference.load(ordering: .relaxed)),
        Float(bitPattern: most.load(ordering: .relaxed)),
        Float(bitPattern: decibels.load(ordering: .relaxed))
      )
    }
  }

  /// Returns the gain at a distance: the reference over the distance.
  @_noLocks borrowing func gain(at distance: Float) -> Float {
    let (reference, most, decibels) = values
    let near = max(reference, 1e-6)
    let gain = near / max(near, min(distance, most))
    return max(gain, Float(cue_rt_power(10, -Double(decibels) / 20)))
  }
}

/// The gains that a bus of a mixer has reached. They stay when the unit gets other formats and with them
/// another `MixerBus`.
package struct MixerBusLevel: ~Copyable {
  /// True while the bus is faded out, because its source is about to change.
  private let isOut = Atomic<Bool>(false)
  /// The gains at the end of the latest render.
  fileprivate var gains = ChannelGain(0)
  fileprivate var hasRun = false

  package init() {}

  /// Fades the bus out, or in again, within one render. Any thread.
  package func fade(out: Bool) { isOut.store(out, ordering: .relaxed) }
  fileprivate var isFadedOut: Bool { @_noLocks get { isOut.load(ordering: .relaxed) } }
}

/// A bus of a mixer, or its output.
@safe
package struct MixerBus: ~Copyable {
  fileprivate let slots: UnsafeMutablePointer<UnitParameterSlot>
  fileprivate let level: UnsafeMutablePointer<MixerBusLevel>
  package var meters: MeterBank
  package let distance = DistanceLaw()

  package init(
    _ slots: UnsafeMutablePointer<UnitParameterSlot>, _ level: UnsafeMutablePointer<MixerBusLevel>,
    _ meters: consuming MeterBank
  ) {
    unsafe self.slots = slots
    unsafe self.level = level
    self.meters = meters
  }
}

/// A mixer: adds the inputs of a unit, each with its gain and balance. Owns no memory.
@safe
package struct Mixer: ~Copyable {
  private let law: MixerLaw
  /// One for each input, and one for the output behind them.
  private let buses: UnsafeMutablePointer<MixerBus>

  package init(_ law: MixerLaw, buses: UnsafeMutablePointer<MixerBus>) {
    self.law = law
    unsafe self.buses = buses
  }

  @_noLocks private borrowing func isOn(_ bus: Int) -> Bool {
    guard let index = law.switchIndex else { return true }
    return unsafe buses[bus].slots[index].value >= 0.5
  }

  /// Returns true if a render pulls a bus.
  @_noLocks borrowing func pulls(_ bus: Int) -> Bool {
    let now = unsafe buses[bus].level.pointee.gains
    return isOn(bus) || now.others != 0 || now.second != 0
  }

  /// Returns the gains that a bus's parameters ask for.
  @_noLocks private borrowing func target(_ bus: Int) -> ChannelGain {
    let slots = unsafe buses[bus].slots
    let base: Float = unsafe isOn(bus) && !buses[bus].level.pointee.isFadedOut ? 1 : 0
    var gains: ChannelGain
    switch law {
    case .multiChannel, .stereo:
      gains = unsafe ChannelGain(slots[0].value * base)
      let pan = unsafe law == .stereo ? 2 * slots[1].value - 1 : slots[2].value
      let balance = ChannelGain(pan: pan)
      gains.others *= balance.others
      gains.second *= balance.second
    case .spatial:
      let turn = Double.pi / 180
      let azimuth = unsafe Double(slots[0].value)
      let elevation = unsafe Double(slots[1].value)
      let side = cue_rt_sine(azimuth * turn) * cue_rt_sine((90 - abs(elevation)) * turn)
      let decibels = unsafe Double(slots[3].value)
      let gain = unsafe buses[bus].distance.gain(at: slots[2].value) * base
      gains = ChannelGain(gain * Float(cue_rt_power(10, decibels / 20)))
      // The pan law of places is of one power wherever a sound is: the angle goes from 0 on the left to a quarter turn on the right.
      let angle = (side + 1) * Double.pi / 4
      gains.others *= Float(cue_rt_sine(Double.pi / 2 - angle))
      gains.second *= Float(cue_rt_sine(angle))
    }
    return gains
  }

  /// Returns the gains of a bus, or of the output behind the last one.
  @_noLocks private borrowing func wanted(_ bus: Int, isOutput: Bool) -> ChannelGain {
    if !isOutput { return target(bus) }
    return unsafe law == .spatial ? ChannelGain(1) : ChannelGain(buses[bus].slots.pointee.value)
  }

  /// Returns the next part of a render in which gains change in a straight line.
  ///
  /// - Parameters:
  ///   - bus: An input, or the output if it is the number of inputs.
  ///   - start: The first frame of the part.
  @_noLocks private borrowing func part(
    of bus: Int, from start: Int, frames: Int, _ setup: UnitSetup
  ) -> (end: Int, from: ChannelGain, to: ChannelGain) {
    let isOutput = bus == setup.inputCount
    let slots = unsafe buses[bus].slots
    let count = isOutput ? (law == .spatial ? 0 : 1) : law.count
    var end = frames
    let level = unsafe buses[bus].level
    var from = unsafe level.pointee.gains
    if unsafe setup.hasChanges(of: slots, count: count) {
      end = setup.nextChange(after: start, frames: frames)
      unsafe setup.applyChanges(at: start, isEnd: false, to: slots, count: count)
      if unsafe setup.hasChanges(of: slots, count: count, by: start) {
        from = wanted(bus, isOutput: isOutput)
      }
      unsafe setup.applyChanges(at: end, isEnd: true, to: slots, count: count)
    }
    let to = wanted(bus, isOutput: isOutput)
    if unsafe !level.pointee.hasRun && start == 0 && end == frames { from = to }
    unsafe level.pointee.gains = to
    unsafe level.pointee.hasRun = true
    return (end, from, to)
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self).pointee
    let frames = unsafe Int(call.frames)
    let sum = unsafe setup.outputs.pointee
    let rate = sum.format.sampleRate
    sum.silence(frames: frames)
    for bus in 0..<setup.inputCount {
      if setup.isUnconnected(bus) {
        unsafe buses[bus].level.pointee.gains = target(bus)
        unsafe buses[bus].level.pointee.hasRun = true
        unsafe buses[bus].meters.finish(frames: frames, sampleRate: rate)
        continue
      }
      // A bus that is off renders no more once it is silent.
      var hasSound = pulls(bus)
      if !hasSound {
        hasSound = unsafe setup.hasChanges(of: buses[bus].slots, count: law.count)
      }
      if hasSound {
        var isSilent = false
        let status = unsafe setup.pull(bus, frames: frames, at: call.time, isSilent: &isSilent)
        // One bus without sound does not silence the others.
        hasSound = status == 0 && !isSilent
      }
      var start = 0
      while start < frames {
        let part = part(of: bus, from: start, frames: frames, setup)
        if hasSound {
          unsafe add(bus, setup.inputs[bus], to: sum, start..<part.end, part.from, part.to)
        }
        start = part.end
      }
      unsafe buses[bus].meters.finish(frames: frames, sampleRate: rate)
    }
    finishOutput(setup, sum, frames: frames)
    return 0
  }

  /// Multiplies the sum by the output's gain.
  @_noLocks private borrowing func finishOutput(_ setup: UnitSetup, _ sum: UnitBus, frames: Int) {
    let output = setup.inputCount
    var start = 0
    while start < frames {
      let part = part(of: output, from: start, frames: frames, setup)
      let (from, to) = (part.from.others, part.to.others)
      let count = part.end &- start
      for channel in 0..<sum.channels {
        let plane = unsafe sum.planes[channel] + start
        unsafe buses[output].meters.add(channel, plane, count, from: from, to: to)
        if from != 1 || to != 1 { unsafe scale(plane, count, from: from, to: to) }
      }
      start = part.end
    }
    unsafe buses[output].meters.finish(frames: frames, sampleRate: sum.format.sampleRate)
  }

  /// Adds a bus to the output. Its gains change in a straight line.
  @_noLocks private borrowing func add(
    _ bus: Int, _ input: UnitBus, to sum: UnitBus, _ frames: Range<Int>, _ from: ChannelGain,
    _ to: ChannelGain
  ) {
    let count = frames.upperBound &- frames.lowerBound
    for channel in 0..<sum.channels {
      let source: Int
      if input.channels == 1 {
        if channel > 1 { continue }
        source = 0
      } else {
        if channel >= input.channels { continue }
        source = channel
      }
      let (first, last) = channel == 1 ? (from.second, to.second) : (from.others, to.others)
      let step = (last - first) / Float(count)
      let plane = unsafe input.planes[source] + frames.lowerBound
      let target = unsafe sum.planes[channel] + frames.lowerBound
      unsafe buses[bus].meters.add(channel, plane, count, from: first, to: last)
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
