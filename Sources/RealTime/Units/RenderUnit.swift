package import CRealTime
import Synchronization

/// Errors of renders, with the codes of the C API.
package enum RenderError {
  package static var badArgument: Int32 { @_noLocks get { -50 } }
  package static var invalidParameter: Int32 { @_noLocks get { -10878 } }
  package static var invalidScope: Int32 { @_noLocks get { -10866 } }
  package static var invalidElement: Int32 { @_noLocks get { -10877 } }
  package static var noConnection: Int32 { @_noLocks get { -10876 } }
  package static var tooManyFrames: Int32 { @_noLocks get { -10874 } }
  package static var uninitialized: Int32 { @_noLocks get { -10867 } }
  package static var wrongContext: Int32 { @_noLocks get { -10863 } }
}

/// The supplier of an input bus: a render callback or another unit.
@safe
package struct UnitSource: BitwiseCopyable {
  package var proc: cue_render_proc?
  package var data: UnsafeMutableRawPointer?
  package var unit: UnsafeMutablePointer<RenderUnit>?
  /// The output of `unit`.
  package var output = 0

  package init() {
    unsafe proc = nil
    unsafe data = nil
    unsafe unit = nil
  }

  var isNone: Bool { @_noLocks get { unsafe proc == nil && unit == nil } }
}

/// The source's frames that a bus's resampler has not taken yet.
package struct ResamplingState: BitwiseCopyable {
  /// Frames that the source has given.
  var position = 0.0
  /// The first frame in the source's planes that was not taken, and their number.
  var first = 0
  var count = 0
  package init() {}
}

/// A bus of a unit that is initialised, in memory that the unit's owner has.
@safe
package struct UnitBus: BitwiseCopyable {
  /// Format of the samples that the bus exchanges.
  let format: BusFormat
  /// The unit's own samples: a plane for each channel, at the unit's rate.
  package let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  package let channels: Int
  /// Buffers of the format with memory of the bus, and the bytes of each.
  let list: UnsafeMutablePointer<cue_buffer_list>
  let memory: UnsafeMutableRawPointer
  let bufferBytes: Int
  package var source: UnitSource
  let resampler: cue_resampler
  /// Planes at the source's rate, for the resampler; those of the bus if there is none.
  let sourcePlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let resampling: UnsafeMutablePointer<ResamplingState>

  package init(
    format: BusFormat, planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    list: UnsafeMutablePointer<cue_buffer_list>, memory: UnsafeMutableRawPointer, bufferBytes: Int,
    source: UnitSource, resampler: cue_resampler,
    sourcePlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    resampling: UnsafeMutablePointer<ResamplingState>
  ) {
    self.format = format
    unsafe self.planes = planes
    channels = format.channels
    unsafe self.list = list
    unsafe self.memory = memory
    self.bufferBytes = bufferBytes
    self.source = source
    unsafe self.resampler = unsafe resampler
    unsafe self.sourcePlanes = sourcePlanes
    unsafe self.resampling = resampling
  }

  /// Points the list's buffers at the memory of the bus.
  @_noLocks func resetList(frames: Int) {
    let buffers = unsafe cue_rt_buffers(list)
    unsafe list.pointee.count = UInt32(format.buffers)
    for i in 0..<format.buffers {
      unsafe buffers[i].channels = UInt32(format.isInterleaved ? channels : 1)
      unsafe buffers[i].bytes = UInt32(frames &* format.bytesPerFrame)
      unsafe buffers[i].data = memory + i &* bufferBytes
    }
  }

  @_noLocks package func silence(frames: Int) {
    for channel in 0..<channels {
      unsafe planes[channel].initialize(repeating: 0, count: frames)
    }
  }
}

/// A function of the app that hears of a unit's renders.
@safe
package struct UnitNotify: BitwiseCopyable, @unchecked Sendable {
  let proc: cue_render_proc
  let data: UnsafeMutableRawPointer?
  package init(_ proc: @escaping cue_render_proc, _ data: UnsafeMutableRawPointer?) {
    unsafe self.proc = proc
    unsafe self.data = data
  }

  /// True if both have the same function and data.
  package func isSame(as other: UnitNotify) -> Bool {
    unsafe unsafeBitCast(proc, to: UInt.self) == unsafeBitCast(other.proc, to: UInt.self)
      && data == other.data
  }
}

/// The latest render of a unit. One thread at a time.
package struct RenderCache: BitwiseCopyable {
  var sampleTime = 0.0
  var frames = 0
  var flags: UInt32 = 0
  var isValid = false
  package init() {}
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
  let notifies: UnsafeMutablePointer<UnitNotify>
  let notifyCount: Int

  package init(
    inputs: UnsafeMutablePointer<UnitBus>, inputCount: Int,
    outputs: UnsafeMutablePointer<UnitBus>, outputCount: Int, maximumFrames: Int,
    kernel: cue_unit_kernel, cache: UnsafeMutablePointer<RenderCache>,
    notifies: UnsafeMutablePointer<UnitNotify>, notifyCount: Int
  ) {
    unsafe self.inputs = inputs
    self.inputCount = inputCount
    unsafe self.outputs = outputs
    self.outputCount = outputCount
    self.maximumFrames = maximumFrames
    unsafe self.kernel = unsafe kernel
    unsafe self.cache = cache
    unsafe self.notifies = notifies
    self.notifyCount = notifyCount
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
    let source = unsafe input.pointee.source
    let list = unsafe input.pointee.list
    unsafe input.pointee.resetList(frames: frames)
    var flags: UInt32 = 0
    let status: Int32
    if let unit = unsafe source.unit {
      status = unsafe unit.pointee.render(&flags, time, bus: source.output, frames: frames, list)
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
      unsafe input.pointee.format.read(list, frames: frames, to: planes)
    }
    return status
  }

  /// Fills the planes of an input through its resampler.
  @_noLocks private func pullResampled(
    _ input: UnsafeMutablePointer<UnitBus>, _ bus: Int, frames: Int,
    at time: UnsafePointer<cue_time_stamp>
  ) -> Int32 {
    let channels = unsafe input.pointee.channels
    let state = unsafe input.pointee.resampling
    var sourceTime = unsafe time.pointee
    var isSilent = false
    var made = 0
    // A resampler that gives nothing has failed.
    for _ in 0..<frames &+ 1024 {
      var given: UInt32 = 0
      var taken: UInt32 = 0
      let first = unsafe state.pointee.first
      for channel in 0..<channels {
        unsafe input.pointee.planes[channel] += made
        unsafe input.pointee.sourcePlanes[channel] += first
      }
      unsafe cue_rt_resample(
        input.pointee.resampler, input.pointee.sourcePlanes, UInt32(state.pointee.count), &taken,
        input.pointee.planes, UInt32(frames &- made), &given)
      for channel in 0..<channels {
        unsafe input.pointee.planes[channel] -= made
        unsafe input.pointee.sourcePlanes[channel] -= first
      }
      unsafe state.pointee.first &+= Int(taken)
      unsafe state.pointee.count &-= Int(taken)
      made &+= Int(given)
      if made >= frames { return 0 }
      if unsafe state.pointee.count > 0 { continue }
      // A few frames at a time, so that the source is asked for no more than is needed now.
      let count = min(maximumFrames, Self.framesToResample)
      unsafe sourceTime.sample_time = state.pointee.position
      sourceTime.flags |= UInt32(cue_time_has_sample)
      let status = unsafe pullSource(
        input, bus, frames: count, at: &sourceTime, to: input.pointee.sourcePlanes,
        isSilent: &isSilent)
      if status != 0 { return status }
      unsafe state.pointee.position += Double(count)
      unsafe state.pointee.first = 0
      unsafe state.pointee.count = count
    }
    return RenderError.badArgument
  }

  /// Most frames that a resampler gets at a time.
  package static var framesToResample: Int { @_noLocks get { 64 } }
}

/// An audio unit as renders see it.
///
/// Owns no memory and has a fixed address. Any thread renders, one at a time.
@safe
package struct RenderUnit: ~Copyable {
  private let setup: Atomic<UnsafeMutableRawPointer?>
  private let inside = Atomic<Int>(0)
  private let ended = Atomic<UInt64>(0)
  private let isBusy = Atomic<Bool>(false)
  private let isReset = Atomic<Bool>(false)
  /// The thread that began the latest render.
  private let thread = Atomic<UInt>(0)
  private let latestError = Atomic<Int32>(0)
  private let parameters: Atomic<UnsafeMutableRawPointer?>
  /// For the inputs of devices: takes their samples instead of a render. Set once.
  private let device: UnsafeMutablePointer<DeviceUnit>?

  package init(device: UnsafeMutablePointer<DeviceUnit>? = nil) {
    unsafe setup = Atomic(nil)
    unsafe parameters = Atomic(nil)
    unsafe self.device = device
  }

  // MARK: Control side

  /// Replaces the setup, effective with the next render; nil while the unit is not initialised.
  package func swap(_ setup: UnsafeMutablePointer<UnitSetup>?) {
    unsafe self.setup.store(UnsafeMutableRawPointer(setup), ordering: .sequentiallyConsistent)
  }

  /// Replaces the parameters, effective at once.
  package func swap(_ parameters: UnsafeMutablePointer<UnitParameters>) {
    unsafe self.parameters.store(UnsafeMutableRawPointer(parameters), ordering: .releasing)
  }

  /// Renders in progress. Once it was 0 after a `swap`, no render reads the old setup.
  package var rendersInProgress: Int { inside.load(ordering: .sequentiallyConsistent) }

  /// Number of renders that are over.
  package var rendersOver: UInt64 { ended.load(ordering: .acquiring) }

  /// True on the thread that renders, during a render.
  package var isInside: Bool {
    thread.load(ordering: .relaxed) == UInt(cue_rt_thread()) && rendersInProgress > 0
  }

  /// Returns the latest error since the last call.
  package func takeError() -> Int32 { latestError.exchange(0, ordering: .relaxed) }

  /// Forgets earlier sound with the next render. Any thread, real time included.
  @_noLocks package borrowing func reset() { isReset.store(true, ordering: .releasing) }

  // MARK: Parameters. Any thread, real time included.

  /// - Returns: 0, or the error.
  @_noLocks package borrowing func setParameter(
    _ id: UInt32, scope: UInt32, element: UInt32, to value: Float
  ) -> Int32 {
    let (slot, error) = unsafe find(id, scope: scope, element: element)
    guard let slot = unsafe slot else { return error }
    if value.isNaN { return RenderError.badArgument }
    unsafe slot.pointee.set(value)
    return 0
  }

  /// Stores the value of a parameter.
  ///
  /// - Returns: 0, or the error.
  @_noLocks package borrowing func parameter(
    _ id: UInt32, scope: UInt32, element: UInt32, into value: UnsafeMutablePointer<Float>
  ) -> Int32 {
    let (slot, error) = unsafe find(id, scope: scope, element: element)
    guard let slot = unsafe slot else { return error }
    unsafe value.pointee = slot.pointee.value
    return 0
  }

  @_noLocks private borrowing func find(_ id: UInt32, scope: UInt32, element: UInt32)
    -> (UnsafeMutablePointer<UnitParameterSlot>?, Int32)
  {
    guard let parameters = unsafe self.parameters.load(ordering: .acquiring) else {
      return (nil, RenderError.invalidParameter)
    }
    return unsafe parameters.assumingMemoryBound(to: UnitParameters.self).pointee.find(
      scope: scope, element: element, id: id)
  }

  // MARK: Renders

  /// Returns the setup, which stays until `end()`; nil if the unit is not initialised.
  @_noLocks borrowing func begin() -> UnsafeMutablePointer<UnitSetup>? {
    inside.add(1, ordering: .sequentiallyConsistent)
    thread.store(UInt(cue_rt_thread()), ordering: .relaxed)
    if let setup = unsafe setup.load(ordering: .sequentiallyConsistent) {
      return unsafe setup.assumingMemoryBound(to: UnitSetup.self)
    }
    end()
    return nil
  }

  @_noLocks borrowing func end() {
    ended.add(1, ordering: .releasing)
    inside.subtract(1, ordering: .sequentiallyConsistent)
  }

  @_noLocks borrowing func note(_ error: Int32) {
    if error != 0 { latestError.store(error, ordering: .relaxed) }
  }

  /// Renders frames of an output into a list. Buffers without memory get the unit's.
  @_noLocks package borrowing func render(
    _ flags: UnsafeMutablePointer<UInt32>, _ time: UnsafePointer<cue_time_stamp>, bus: Int,
    frames: Int, _ list: UnsafeMutablePointer<cue_buffer_list>
  ) -> Int32 {
    guard let setup = unsafe begin() else { return RenderError.uninitialized }
    var status: Int32 = 0
    if unsafe bus < 0 || bus >= setup.pointee.outputCount {
      status = RenderError.invalidElement
    } else if unsafe frames > setup.pointee.maximumFrames {
      status = RenderError.tooManyFrames
    } else {
      let output = unsafe setup.pointee.outputs + bus
      status = unsafe lend(output, frames: frames, list)
      if status == 0 {
        unsafe setup.pointee.notify(
          flags.pointee | UInt32(cue_render_is_before), time, bus: bus, frames: frames,
          list)
        if bus == 1, let device = unsafe device {
          status = unsafe device.pointee.capture(output, frames: frames)
        } else {
          status = unsafe produce(setup, flags, time, frames: frames)
        }
        if status == 0 {
          unsafe output.pointee.format.write(output.pointee.planes, frames: frames, to: list)
        }
        let after = UInt32(
          status == 0
            ? cue_render_is_after
            : cue_render_is_after | cue_render_has_failed)
        unsafe setup.pointee.notify(
          flags.pointee | after, time, bus: bus, frames: frames, list)
      }
    }
    note(status)
    end()
    return status
  }

  /// Gives the buffers of a list that have none memory of an output. Fails if others are too small.
  @_noLocks private borrowing func lend(
    _ output: UnsafeMutablePointer<UnitBus>, frames: Int,
    _ list: UnsafeMutablePointer<cue_buffer_list>
  ) -> Int32 {
    let format = unsafe output.pointee.format
    guard unsafe Int(list.pointee.count) >= format.buffers else { return RenderError.badArgument }
    let bytes = UInt32(frames &* format.bytesPerFrame)
    let buffers = unsafe cue_rt_buffers(list)
    for i in 0..<format.buffers {
      if unsafe buffers[i].data == nil {
        unsafe buffers[i].channels = UInt32(format.isInterleaved ? output.pointee.channels : 1)
        unsafe buffers[i].data = output.pointee.memory + i &* output.pointee.bufferBytes
      } else if unsafe buffers[i].bytes < bytes {
        return RenderError.badArgument
      }
      unsafe buffers[i].bytes = bytes
    }
    return 0
  }

  /// Fills the outputs' planes, unless they hold the frames of this time already.
  @_noLocks borrowing func produce(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ flags: UnsafeMutablePointer<UInt32>,
    _ time: UnsafePointer<cue_time_stamp>, frames: Int
  ) -> Int32 {
    // A unit that pulls itself, or is rendered by two threads.
    if isBusy.exchange(true, ordering: .acquiring) { return RenderError.wrongContext }
    let cache = unsafe setup.pointee.cache
    let hasTime = unsafe time.pointee.flags & UInt32(cue_time_has_sample) != 0
    if isReset.exchange(false, ordering: .acquiring) { unsafe cache.pointee.isValid = false }
    let isKnown =
      unsafe hasTime && cache.pointee.isValid
      && cache.pointee.sampleTime == time.pointee.sample_time && frames <= cache.pointee.frames
    var status: Int32 = 0
    if isKnown {
      unsafe flags.pointee |= cache.pointee.flags
    } else {
      var call = unsafe cue_unit_call(
        setup: UnsafeMutableRawPointer(setup), time: time, frames: UInt32(frames), flags: flags)
      status = unsafe cue_rt_run_kernel(setup.pointee.kernel, &call)
      unsafe cache.pointee.sampleTime = time.pointee.sample_time
      unsafe cache.pointee.frames = frames
      unsafe cache.pointee.flags = flags.pointee & UInt32(cue_render_is_silent)
      unsafe cache.pointee.isValid = hasTime && status == 0
    }
    isBusy.store(false, ordering: .releasing)
    return status
  }
}
