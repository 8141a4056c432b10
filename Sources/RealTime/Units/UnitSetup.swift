package import CRealTime

/// The latest render of a unit. One thread at a time.
@safe
package struct RenderCache: BitwiseCopyable {
  var sampleTime = 0.0
  var frames = 0
  var flags: UInt32 = 0
  var isValid = false
  /// The resets that the unit has followed.
  var resets: UInt64 = 0
  /// The scheduled changes of the render in progress.
  var changeCount = 0
  /// Lists that the caller of the render in progress has given for the first inputs.
  var given: UnsafePointer<UnsafeMutablePointer<cue_buffer_list>>?
  var givenCount = 0
  /// The I/O function of the device for which the render in progress happens; nil if an app asked for it.
  var function: UnsafePointer<IOSlot>?
  /// Address of the stack at which the outermost render began; 0 if that is not in progress.
  var stack: UInt = 0
  /// The error of a render ahead, for the pull that asks for it; 0 for none.
  var failure: Int32 = 0
  /// True until a pull asks for the frames of a render ahead: a reset meanwhile comes behind them.
  var isAhead = false
  /// True once the sources of a unit that passes its source on were rendered ahead.
  var isPrepared = false
  /// True once the kernel's nodes know the planes of this setup.
  var hasPlanes = false
  var step = SourceStep()
  package init() {
    unsafe given = nil
    unsafe function = nil
  }
}

/// Buses, kernel and listeners of a unit that is initialised, for its renders. Never changed once a render
/// can read it.
@safe
package struct UnitSetup: BitwiseCopyable {
  package let inputs: UnsafeMutablePointer<UnitBus>
  package let inputCount: Int
  package let outputs: UnsafeMutablePointer<UnitBus>
  package let outputCount: Int
  package let maximumFrames: Int
  let kernel: cue_unit_kernel
  let cache: UnsafeMutablePointer<RenderCache>
  /// Memory for as many scheduled changes as a `ChangeQueue` has.
  let changes: UnsafeMutablePointer<ScheduledChange>
  let notifies: UnsafeMutablePointer<UnitNotify>
  let notifyCount: Int
  /// The kernel's mixer, if it copies what its source gives as long as its gains are 1.
  private let passing: UnsafePointer<EngineMixer>?
  /// The kernel's mixer, if it does not pull each input.
  private let switched: UnsafePointer<Mixer>?

  /// - Parameters:
  ///   - mixer: The context of the kernel, if that is `runEngineMixer`.
  ///   - switched: The context of the kernel, if that is `runMixer`.
  package init(
    inputs: UnsafeMutablePointer<UnitBus>, inputCount: Int,
    outputs: UnsafeMutablePointer<UnitBus>, outputCount: Int, maximumFrames: Int,
    kernel: cue_unit_kernel, cache: UnsafeMutablePointer<RenderCache>,
    changes: UnsafeMutablePointer<ScheduledChange>, notifies: UnsafeMutablePointer<UnitNotify>,
    notifyCount: Int, mixer: UnsafePointer<EngineMixer>? = nil,
    switched: UnsafePointer<Mixer>? = nil
  ) {
    let passes =
      unsafe inputCount == 1 && outputCount == 1 && inputs[0].format == outputs[0].format
      && inputs[0].source.unit != nil && inputs[0].resampler.run == nil && outputs[0].tap == nil
    unsafe passing = passes ? mixer : nil
    unsafe self.switched = switched
    unsafe self.inputs = inputs
    self.inputCount = inputCount
    unsafe self.outputs = outputs
    self.outputCount = outputCount
    self.maximumFrames = maximumFrames
    unsafe self.kernel = unsafe kernel
    unsafe self.cache = cache
    unsafe self.changes = changes
    unsafe self.notifies = notifies
    self.notifyCount = notifyCount
  }

  /// The source whose samples are the unit's output; nil if the unit must make its output.
  var passedSource: UnitSource? {
    @_noLocks get {
      guard let mixer = unsafe passing, unsafe mixer.pointee.isUnity else { return nil }
      return unsafe inputs.pointee.source
    }
  }

  /// Lets the source of a unit that changes nothing render into the list of the unit's consumer.
  @_noLocks func pass(
    _ source: UnitSource, _ flags: UnsafeMutablePointer<UInt32>,
    _ time: UnsafePointer<cue_time_stamp>, frames: Int,
    _ list: UnsafeMutablePointer<cue_buffer_list>, _ function: UnsafePointer<IOSlot>?, stack: UInt
  ) -> Int32 {
    guard let unit = unsafe source.unit, unsafe time.pointee.hasFrameTime else {
      return RenderError.badArgument
    }
    // The planes have none of these frames.
    unsafe cache.pointee.isValid = false
    var found: UInt32 = 0
    let status = unsafe unit.pointee.render(
      &found, time, bus: source.output, frames: frames, list, function: function, stack: stack)
    // As in `EngineMixer`, a source that fails is silent.
    if status != 0 || found & UInt32(cue_render_is_silent) != 0 {
      unsafe outputs.pointee.silence(frames: frames)
      unsafe outputs.pointee.format.write(outputs.pointee.planes, frames: frames, to: list)
      unsafe flags.pointee |= UInt32(cue_render_is_silent)
    }
    return 0
  }

  /// Tells the app's functions of a render.
  @_noLocks func notify(
    _ flags: UInt32, _ time: UnsafePointer<cue_time_stamp>, bus: Int, frames: Int,
    _ list: UnsafeMutablePointer<cue_buffer_list>
  ) {
    for i in 0..<notifyCount {
      var flags = flags
      _ = unsafe cue_rt_call_render(
        notifies[i].proc, notifies[i].data, &flags, time, UInt32(bus), UInt32(frames), list)
    }
  }

  /// Gives the taps of the outputs what a render has made.
  @_noLocks func tell(taps time: UnsafePointer<cue_time_stamp>, frames: Int, _ status: Int32) {
    if status != 0 { return }
    for bus in 0..<outputCount {
      guard let tap = unsafe outputs[bus].tap else { continue }
      unsafe tap.pointee.write(outputs[bus], frames: frames, at: time)
    }
  }

  /// Returns true if the outputs' planes hold these frames, or if their render ahead failed.
  @inline(__always)
  @_noLocks func isKnown(_ time: UnsafePointer<cue_time_stamp>, frames: Int, resets: UInt64)
    -> Bool
  {
    let isThen =
      unsafe time.pointee.flags & UInt32(cue_time_has_sample) != 0
      && cache.pointee.sampleTime == time.pointee.sample_time && frames <= cache.pointee.frames
    if unsafe cache.pointee.resets != resets && !(isThen && cache.pointee.isAhead) {
      unsafe cache.pointee.resets = resets
      unsafe cache.pointee.isValid = false
      unsafe cache.pointee.failure = 0
    }
    return unsafe isThen && (cache.pointee.isValid || cache.pointee.failure != 0)
  }

  /// Returns the longest sound in seconds that the resamplers of the inputs, and those of the units before
  /// them, hold back in renders of `frames` frames.
  @_noLocks func heldSeconds(frames: Int) -> Double {
    var most = 0.0
    for bus in 0..<inputCount {
      let input = unsafe inputs + bus
      var seconds = unsafe input.pointee.source.unit?.pointee.heldSeconds ?? 0
      if unsafe input.pointee.resampler.run != nil {
        unsafe seconds += input.pointee.delaySeconds + input.pointee.burstSeconds
        // Each call of the source gives that many.
        unsafe seconds += Double(frames) / input.pointee.format.sampleRate
      }
      most = max(most, seconds)
    }
    return most
  }

  /// True once a callback has stopped the output unit for which the render in progress happens: no other is
  /// called.
  var hasStopped: Bool {
    @_noLocks get {
      guard let function = unsafe cache.pointee.function else { return false }
      return unsafe !function.pointee.isRunning
    }
  }

  /// Returns true if nothing supplies an input.
  @_noLocks func isUnconnected(_ bus: Int) -> Bool {
    unsafe bus >= cache.pointee.givenCount && inputs[bus].source.isNone
  }

  /// Returns true if the kernel pulls an input.
  @_noLocks func pulls(_ bus: Int) -> Bool { unsafe switched?.pointee.pulls(bus) ?? true }

  /// Fills the planes of an input with frames at the unit's rate.
  ///
  /// - Parameter isSilent: Set if the source says that all of it is silence.
  @_noLocks package func pull(
    _ bus: Int, frames: Int, at time: UnsafePointer<cue_time_stamp>, isSilent: inout Bool
  ) -> Int32 {
    let input = unsafe inputs + bus
    if unsafe input.pointee.resampler.run != nil {
      isSilent = false
      return unsafe pullResampled(input, bus, frames: frames, at: time)
    }
    return unsafe pullSource(
      input, bus, frames: frames, at: time, to: input.pointee.planes, isSilent: &isSilent)
  }

  /// Fills planes with the next frames of a bus's source.
  @_noLocks private func pullSource(
    _ input: UnsafeMutablePointer<UnitBus>, _ bus: Int, frames: Int,
    at time: UnsafePointer<cue_time_stamp>,
    to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, isSilent: inout Bool
  ) -> Int32 {
    if unsafe bus < cache.pointee.givenCount, let given = unsafe cache.pointee.given {
      unsafe input.pointee.format.read(given[bus], frames: frames, to: planes)
      isSilent = false
      return 0
    }
    let source = unsafe input.pointee.source
    let list = unsafe input.pointee.list
    unsafe input.pointee.resetList(planes, frames: frames)
    var flags: UInt32 = 0
    let status: Int32
    if let unit = unsafe source.unit {
      status = unsafe unit.pointee.render(
        &flags, time, bus: source.output, frames: frames, list, function: cache.pointee.function,
        stack: cache.pointee.stack)
    } else if hasStopped {
      flags = UInt32(cue_render_is_silent)
      status = 0
    } else if let proc = unsafe source.proc {
      status = unsafe cue_rt_call_render(
        proc, source.data, &flags, time, UInt32(bus), UInt32(frames), list)
    } else {
      status = RenderError.noConnection
    }
    isSilent = flags & UInt32(cue_render_is_silent) != 0
    if status != 0 || isSilent {
      for channel in unsafe 0..<input.pointee.channels {
        unsafe planes[channel].initialize(repeating: 0, count: frames)
      }
    } else {
      unsafe UnitBus.read(input, list, frames: frames, to: planes)
    }
    return status
  }

  /// Fills the planes of an input through its resampler. The source gives as many frames at a time as the
  /// render has, which the next renders take what is left of: the host times of the source are later by as much.
  @_noLocks private func pullResampled(
    _ input: UnsafeMutablePointer<UnitBus>, _ bus: Int, frames: Int,
    at time: UnsafePointer<cue_time_stamp>
  ) -> Int32 {
    let channels = unsafe input.pointee.channels
    let state = unsafe input.pointee.resampling
    var sourceTime = unsafe time.pointee
    var isSilent = false
    var made = 0
    // A resampler that gives nothing has failed. At 32 times the speed, a render of one frame takes thousands.
    for _ in 0..<frames &+ 0x10000 {
      var given: UInt32 = 0
      var taken: UInt32 = 0
      let first = unsafe state.pointee.first
      for channel in 0..<channels {
        unsafe input.pointee.planes[channel] += made
        unsafe input.pointee.sourcePlanes[channel] += first
      }
      unsafe cue_rt_resample(
        input.pointee.resampler, input.pointee.sourcePlanes,
        UInt32(min(state.pointee.count, Self.framesToResample)), &taken, input.pointee.planes,
        UInt32(frames &- made), &given)
      for channel in 0..<channels {
        unsafe input.pointee.planes[channel] -= made
        unsafe input.pointee.sourcePlanes[channel] -= first
      }
      unsafe state.pointee.first &+= Int(taken)
      unsafe state.pointee.count &-= Int(taken)
      made &+= Int(given)
      unsafe state.pointee.made += Double(given)
      if made >= frames { return 0 }
      if unsafe state.pointee.count > 0 { continue }
      unsafe sourceTime.sample_time = state.pointee.position
      sourceTime.flags |= UInt32(cue_time_has_sample)
      if sourceTime.flags & UInt32(cue_time_has_host) != 0 {
        var seconds = unsafe Double(made) / input.pointee.rate
        if unsafe input.pointee.keepsSpeed {
          // The source is ahead of what was made, or behind it by what the resampler had collected.
          let played = unsafe state.pointee.made / input.pointee.rate
          unsafe seconds += state.pointee.position / input.pointee.format.sampleRate - played
          unsafe seconds = max(0, seconds + input.pointee.burstSeconds)
        }
        sourceTime.host_time = unsafe time.pointee.host_time &+ UInt64(seconds * 1e9)
      }
      let status = unsafe pullSource(
        input, bus, frames: frames, at: &sourceTime, to: input.pointee.sourcePlanes,
        isSilent: &isSilent)
      if status != 0 { return status }
      unsafe state.pointee.position += Double(frames)
      unsafe state.pointee.first = 0
      unsafe state.pointee.count = frames
    }
    return RenderError.badArgument
  }

  /// Most frames that a resampler gets at a time.
  package static var framesToResample: Int { @_noLocks get { 64 } }
}
