package import CRealTime

/// A mixer of channels: each output channel adds all input channels, each with a gain of its own. Owns no
/// memory.
///
/// The parameters are the volumes of the crossings (all of the first input channel, then those of the
/// next), then volume, switch and four meters of each input channel and of each output channel, and last
/// the master's volume.
@safe
package struct Matrix: ~Copyable {
  private let slots: UnsafeMutablePointer<UnitParameterSlot>
  private let slotCount: Int
  private let inputChannels: Int
  private let outputChannels: Int
  /// Gains of the crossings at the end of the latest render.
  private let gains: UnsafeMutablePointer<Float>
  /// One bank of one channel for each input channel, then for each output channel.
  private let meters: UnsafeMutablePointer<MeterBank>
  private let hasRun: UnsafeMutablePointer<Bool>
  /// Whether each input bus has sound in the render in progress.
  private let hasSound: UnsafeMutablePointer<Bool>

  package init(
    slots: UnsafeMutablePointer<UnitParameterSlot>, slotCount: Int,
    inputChannels: Int, outputChannels: Int,
    gains: UnsafeMutablePointer<Float>, meters: UnsafeMutablePointer<MeterBank>,
    hasRun: UnsafeMutablePointer<Bool>, hasSound: UnsafeMutablePointer<Bool>
  ) {
    unsafe self.slots = slots
    self.slotCount = slotCount
    self.inputChannels = inputChannels
    self.outputChannels = outputChannels
    unsafe self.gains = gains
    unsafe self.meters = meters
    unsafe self.hasRun = hasRun
    unsafe self.hasSound = hasSound
  }

  /// Parameters of a channel.
  package static var channelParameters: Int { @_noLocks get { 6 } }

  /// Returns the gain that a channel's volume and switch ask for. The output channels are behind those of
  /// the inputs.
  @_noLocks private borrowing func gain(ofChannel channel: Int) -> Float {
    let offset = inputChannels &* outputChannels &+ channel &* Self.channelParameters
    let first = unsafe slots + offset
    return unsafe first[1].value >= 0.5 ? first[0].value : 0
  }

  /// Returns the gain of a crossing that the parameters ask for.
  @_noLocks private borrowing func target(_ input: Int, _ output: Int) -> Float {
    let master = unsafe slots[slotCount &- 1].value
    let crossing = unsafe slots[input &* outputChannels &+ output].value
    return master * crossing * gain(ofChannel: input) * gain(ofChannel: inputChannels &+ output)
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self).pointee
    let frames = unsafe Int(call.frames)
    for bus in 0..<setup.inputCount {
      var isSilent = setup.isUnconnected(bus)
      var status: Int32 = 0
      if !isSilent {
        status = unsafe setup.pull(bus, frames: frames, at: call.time, isSilent: &isSilent)
      }
      unsafe hasSound[bus] = status == 0 && !isSilent
    }
    for bus in 0..<setup.outputCount { unsafe setup.outputs[bus].silence(frames: frames) }
    let isFirst = unsafe !hasRun.pointee
    unsafe hasRun.pointee = true
    var start = 0
    while start < frames {
      var end = frames
      var begins = false
      if unsafe setup.hasChanges(of: slots, count: slotCount) {
        end = setup.nextChange(after: start, frames: frames)
        unsafe setup.applyChanges(at: start, isEnd: false, to: slots, count: slotCount)
        begins = unsafe setup.hasChanges(of: slots, count: slotCount, by: start)
        if begins { remember() }
        unsafe setup.applyChanges(at: end, isEnd: true, to: slots, count: slotCount)
      }
      if isFirst && start == 0 && end == frames { remember() }
      mix(setup, start, end)
      start = end
    }
    let rate = unsafe setup.outputs.pointee.format.sampleRate
    for channel in 0..<inputChannels &+ outputChannels {
      unsafe meters[channel].finish(frames: frames, sampleRate: rate)
    }
    return 0
  }

  /// Lets the gains be those that the parameters ask for.
  @_noLocks private borrowing func remember() {
    for input in 0..<inputChannels {
      for output in 0..<outputChannels {
        unsafe gains[input &* outputChannels &+ output] = target(input, output)
      }
    }
  }

  /// Adds all crossings in a part of a render.
  @_noLocks private borrowing func mix(_ setup: UnitSetup, _ start: Int, _ end: Int) {
    let count = end &- start
    var input = 0
    for bus in 0..<setup.inputCount {
      for channel in unsafe 0..<setup.inputs[bus].channels {
        if unsafe hasSound[bus] {
          let plane = unsafe setup.inputs[bus].planes[channel] + start
          let gain = gain(ofChannel: input)
          unsafe meters[input].add(0, plane, count, from: gain, to: gain)
          unsafe add(plane, count, input, setup, start)
        } else {
          for output in 0..<outputChannels {
            unsafe gains[input &* outputChannels &+ output] = target(input, output)
          }
        }
        input &+= 1
      }
    }
    var output = 0
    for bus in 0..<setup.outputCount {
      for channel in unsafe 0..<setup.outputs[bus].channels {
        let plane = unsafe UnsafePointer(setup.outputs[bus].planes[channel] + start)
        unsafe meters[inputChannels &+ output].add(0, plane, count, from: 1, to: 1)
        output &+= 1
      }
    }
  }

  /// Adds an input channel to all outputs.
  @_noLocks private borrowing func add(
    _ plane: UnsafePointer<Float>, _ count: Int, _ input: Int, _ setup: UnitSetup, _ start: Int
  ) {
    var output = 0
    for bus in 0..<setup.outputCount {
      for channel in unsafe 0..<setup.outputs[bus].channels {
        let crossing = input &* outputChannels &+ output
        let from = unsafe gains[crossing]
        let to = target(input, output)
        unsafe gains[crossing] = to
        output &+= 1
        if from == 0 && to == 0 { continue }
        let sum = unsafe setup.outputs[bus].planes[channel] + start
        let step = (to - from) / Float(count)
        if step == 0 {
          for i in 0..<count { unsafe sum[i] += plane[i] * to }
        } else {
          for i in 0..<count { unsafe sum[i] += plane[i] * (from + step * Float(i &+ 1)) }
        }
      }
    }
  }
}

/// The kernel of matrix mixers: `context` is a `Matrix`.
@_noLocks package func runMatrix(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: Matrix.self).pointee.run(call.pointee)
}
