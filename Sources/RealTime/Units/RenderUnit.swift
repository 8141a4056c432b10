package import CRealTime
import Synchronization

/// An audio unit as renders see it.
///
/// Owns no memory and has a fixed address. Any thread renders, one at a time: a render fails that begins
/// while another thread renders.
@safe
package struct RenderUnit: ~Copyable {
  private let setup: Atomic<UnsafeMutableRawPointer?>
  /// Renders in progress beside that which sets `owner`.
  private let inside = Atomic<Int>(0)
  private let ended = Atomic<UInt64>(0)
  /// The thread that renders, which alone runs callbacks of the unit; 0 for none.
  private let owner = Atomic<UInt>(0)
  /// True while that thread makes outputs.
  private let isBusy = Atomic<Bool>(false)
  private let resets = Atomic<UInt64>(0)
  private let latestError = Atomic<Int32>(0)
  /// The bits of the seconds that the latest render has found held back.
  private let held = Atomic<UInt64>(0)
  private let clock = RenderClock()
  private let parameters: Atomic<UnsafeMutableRawPointer?>
  /// The MIDI messages that wait: a `MessageQueue`. Nil for a unit that hears none.
  private let messages: Atomic<UnsafeMutableRawPointer?>
  /// The first of the sequences that follow the unit's renders: a `SequenceFeed`.
  let feeds: Atomic<UnsafeMutableRawPointer?>
  /// The `RenderUnit` whose MIDI the unit hears; it has a `NodeKernel`.
  let midiSource: Atomic<UnsafeMutableRawPointer?>
  /// For the inputs of devices: takes their samples instead of a render. Set once.
  let device: UnsafeMutablePointer<DeviceUnit>?
  /// The app's functions, for a unit of the app, which has nothing else here.
  let foreign: UnsafeMutablePointer<cue_foreign>?

  package init(
    device: UnsafeMutablePointer<DeviceUnit>? = nil,
    foreign: UnsafeMutablePointer<cue_foreign>? = nil
  ) {
    unsafe self.foreign = foreign
    unsafe setup = Atomic(nil)
    unsafe parameters = Atomic(nil)
    unsafe messages = Atomic(nil)
    unsafe feeds = Atomic(nil)
    unsafe midiSource = Atomic(nil)
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

  /// Lets the unit hear MIDI. The queue stays as long as the unit.
  package func hear(_ queue: UnsafeMutablePointer<MessageQueue>) {
    unsafe messages.store(UnsafeMutableRawPointer(queue), ordering: .releasing)
  }

  /// Renders in progress. Once it was 0 after a `swap`, no render reads the old setup.
  package var rendersInProgress: Int {
    inside.load(ordering: .sequentiallyConsistent)
      + (owner.load(ordering: .sequentiallyConsistent) == 0 ? 0 : 1)
  }

  /// Number of renders that are over, without those inside others.
  package var rendersOver: UInt64 { ended.load(ordering: .acquiring) }

  /// True on the thread that renders, during a render.
  package var isInside: Bool { owner.load(ordering: .relaxed) == UInt(cue_rt_thread()) }

  /// The time of the latest render; nil before the first one. Any thread.
  package var latestTime: (sampleTime: Double?, hostTime: UInt64?)? { clock.reading }

  /// Forgets the time of the latest render, while none is in progress.
  package func clearTime() { clock.clear() }

  /// Returns the latest error since the last call.
  package func takeError() -> Int32 { latestError.exchange(0, ordering: .relaxed) }

  /// Forgets earlier sound with the next render. Any thread, real time included.
  @_noLocks package borrowing func reset(scope: UInt32 = 0, element: UInt32 = 0) -> Int32 {
    if let foreign = unsafe foreign { return unsafe cue_rt_foreign_reset(foreign, scope, element) }
    resets.add(1, ordering: .releasing)
    return 0
  }

  /// How often the unit was reset. Any thread.
  package var resetCount: UInt64 { resets.load(ordering: .acquiring) }

  // MARK: Parameters. Any thread, real time included.

  /// - Returns: 0, or the error.
  @_noLocks package borrowing func setParameter(
    _ id: UInt32, scope: UInt32, element: UInt32, to value: Float
  ) -> Int32 {
    if let foreign = unsafe foreign {
      return unsafe cue_rt_foreign_set(foreign, id, scope, element, value, 0)
    }
    let (slot, error) = unsafe find(id, scope: scope, element: element)
    guard let slot = unsafe slot else { return error }
    if value.isNaN { return RenderError.badArgument }
    if unsafe slot.pointee.isMeter { return RenderError.invalidParameter }
    unsafe slot.pointee.set(value)
    return 0
  }

  /// Stores the value of a parameter.
  ///
  /// - Returns: 0, or the error.
  @_noLocks package borrowing func parameter(
    _ id: UInt32, scope: UInt32, element: UInt32, into value: UnsafeMutablePointer<Float>
  ) -> Int32 {
    if let foreign = unsafe foreign {
      return unsafe cue_rt_foreign_get(foreign, id, scope, element, value)
    }
    let (slot, error) = unsafe find(id, scope: scope, element: element)
    guard let slot = unsafe slot else { return error }
    unsafe value.pointee = slot.pointee.value
    return 0
  }

  /// Hands changes of parameters to a unit of the app, as AudioUnitParameterEvents.
  ///
  /// - Returns: 0 or the error; nil for a unit of the library.
  @_noLocks package borrowing func schedule(events: UnsafeRawPointer, count: Int) -> Int32? {
    guard let foreign = unsafe foreign else { return nil }
    return unsafe cue_rt_foreign_schedule(foreign, events, UInt32(count))
  }

  /// Schedules a change of a parameter for a frame of the next render; for that of the present one in a
  /// notification before it.
  ///
  /// - Parameters:
  ///   - frames: Frames of a ramp from the value `from`; 0 to set the value at once.
  /// - Returns: 0, or the error.
  @_noLocks package borrowing func schedule(
    _ id: UInt32, scope: UInt32, element: UInt32, start: Int, frames: Int, from: Float, to: Float
  ) -> Int32 {
    if to.isNaN || from.isNaN || frames < 0 || start < 0 && frames == 0 {
      return RenderError.badArgument
    }
    if let foreign = unsafe foreign {
      return unsafe cue_rt_foreign_set(foreign, id, scope, element, to, UInt32(max(0, start)))
    }
    let (slot, error) = unsafe find(id, scope: scope, element: element)
    guard let slot = unsafe slot, let parameters = unsafe known else { return error }
    if unsafe slot.pointee.isMeter { return RenderError.invalidParameter }
    let change = unsafe ScheduledChange(slot, start: start, frames: frames, from: from, to: to)
    return unsafe parameters.pointee.queue.pointee.add(change) ? 0 : RenderError.memoryFull
  }

  @inline(__always)
  @_noLocks private borrowing func takeChanges(_ changes: UnsafeMutablePointer<ScheduledChange>)
    -> Int
  {
    guard let parameters = unsafe known else { return 0 }
    return unsafe parameters.pointee.queue.pointee.take(changes)
  }

  /// The parameters; nil if the unit has none.
  private var known: UnsafeMutablePointer<UnitParameters>? {
    @_noLocks get {
      unsafe parameters.load(ordering: .acquiring).map {
        unsafe $0.assumingMemoryBound(to: UnitParameters.self)
      }
    }
  }

  @_noLocks private borrowing func find(_ id: UInt32, scope: UInt32, element: UInt32)
    -> (UnsafeMutablePointer<UnitParameterSlot>?, Int32)
  {
    guard let parameters = unsafe known else { return (nil, RenderError.invalidParameter) }
    return unsafe parameters.pointee.find(scope: scope, element: element, id: id)
  }

  // MARK: MIDI. Any thread, real time included.

  /// Whether the app registered the unit.
  @_noLocks package borrowing func isForeign() -> Bool { unsafe foreign != nil }

  /// Sends a MIDI message for a frame of the next render; in a notification before a render, for one of that.
  ///
  /// - Returns: 0, or the error.
  @_noLocks package borrowing func send(
    _ bytes: UnsafeRawPointer, count: Int, offset: Int
  ) -> Int32 {
    let message = unsafe bytes.assumingMemoryBound(to: UInt8.self)
    if let foreign = unsafe foreign {
      let frame = UInt32(clamping: max(0, offset))
      return unsafe cue_rt_foreign_midi(foreign, message, UInt32(count), frame)
    }
    guard let messages = unsafe messages.load(ordering: .acquiring) else {
      return RenderError.unsupported
    }
    if unsafe present == nil { return RenderError.uninitialized }
    let queue = unsafe messages.assumingMemoryBound(to: MessageQueue.self)
    return unsafe queue.pointee.add(message, count: count, offset: offset)
      ? 0 : RenderError.memoryFull
  }

  /// The rate of output 0 in Hz; 0 if it is not known here.
  var outputRate: Double {
    @_noLocks get {
      guard let setup = unsafe present, unsafe setup.pointee.outputCount > 0 else { return 0 }
      return unsafe setup.pointee.outputs.pointee.format.sampleRate
    }
  }

  // MARK: Renders

  /// How a render begins. No enumeration: its hash would call into libc.
  struct Entry: BitwiseCopyable {
    /// True if the thread renders from now on; false inside another render, such as in an input callback.
    let isFirst: Bool
    /// True if another thread renders.
    let isRefused: Bool
  }

  /// Begins a render. Call `leave(_:)` after it, in any case.
  @_noLocks borrowing func enter() -> Entry {
    let thread = UInt(cue_rt_thread())
    let (isFirst, present) = owner.compareExchange(
      expected: 0, desired: thread, ordering: .sequentiallyConsistent)
    if !isFirst { inside.add(1, ordering: .sequentiallyConsistent) }
    return Entry(isFirst: isFirst, isRefused: !isFirst && present != thread)
  }

  @_noLocks borrowing func leave(_ entry: Entry) {
    guard entry.isFirst else {
      inside.subtract(1, ordering: .releasing)
      return
    }
    // Only the thread that renders writes it: an atomic addition would take as long as a short render.
    ended.store(ended.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    owner.store(0, ordering: .releasing)
  }

  /// The setup, which stays until the render leaves; nil if the unit is not initialised.
  var present: UnsafeMutablePointer<UnitSetup>? {
    @_noLocks get {
      unsafe setup.load(ordering: .sequentiallyConsistent).map {
        unsafe $0.assumingMemoryBound(to: UnitSetup.self)
      }
    }
  }

  /// Begins to make outputs.
  ///
  /// - Returns: False if another thread renders, or if this one makes outputs: the unit pulls itself.
  @_noLocks borrowing func beginOutputs(_ entry: Entry) -> Bool {
    if entry.isRefused || isBusy.load(ordering: .relaxed) { return false }
    isBusy.store(true, ordering: .relaxed)
    return true
  }

  @_noLocks borrowing func endOutputs() { isBusy.store(false, ordering: .relaxed) }

  @_noLocks borrowing func note(_ error: Int32) {
    if error != 0 { latestError.store(error, ordering: .relaxed) }
  }

  /// Renders frames of an output into a list. Buffers without memory get the unit's.
  ///
  /// - Parameters:
  ///   - function: The I/O function that renders; nil if an app does.
  ///   - stack: Address of the stack at which the outermost render began; 0 for this one.
  @_noLocks package borrowing func render(
    _ flags: UnsafeMutablePointer<UInt32>, _ time: UnsafePointer<cue_time_stamp>, bus: Int,
    frames: Int, _ list: UnsafeMutablePointer<cue_buffer_list>,
    function: UnsafePointer<IOSlot>? = nil, stack: UInt = 0
  ) -> Int32 {
    let entry = enter()
    defer { leave(entry) }
    let stack = stack == 0 ? cue_rt_stack() : stack
    if Self.isFull(stack) {
      note(RenderError.wrongContext)
      return RenderError.wrongContext
    }
    // The converters of units that were stopped give what they have kept back. Nothing of the app's is called.
    let hasStopped = unsafe function.map { unsafe !$0.pointee.isRunning } ?? false
    // A unit of the app may let several threads render.
    if let foreign = unsafe foreign {
      if hasStopped {
        unsafe flags.pointee |= UInt32(cue_render_is_silent)
        return 0
      }
      if bus == 0 { unsafe feed(time, frames: frames) }
      return unsafe cue_rt_foreign_render(foreign, flags, time, UInt32(bus), UInt32(frames), list)
    }
    guard let setup = unsafe present else { return RenderError.uninitialized }
    if unsafe hasStopped && setup.pointee.inputCount == 0 {
      unsafe flags.pointee |= UInt32(cue_render_is_silent)
      return 0
    }
    // The device delivered the input before this call, so an output callback may render it.
    let isInput = unsafe bus == 1 && device != nil
    guard isInput ? !entry.isRefused : beginOutputs(entry) else {
      note(RenderError.wrongContext)
      return RenderError.wrongContext
    }
    defer { if !isInput { endOutputs() } }
    var status: Int32 = 0
    if unsafe bus < 0 || bus >= setup.pointee.outputCount {
      status = RenderError.invalidElement
    } else if unsafe frames > setup.pointee.maximumFrames {
      status = RenderError.tooManyFrames
    } else {
      let output = unsafe setup.pointee.outputs + bus
      status = unsafe output.pointee.lend(frames: frames, list)
      if status == 0 {
        if !hasStopped {
          unsafe setup.pointee.notify(
            flags.pointee | UInt32(cue_render_is_before), time, bus: bus, frames: frames,
            list)
        }
        if let source = unsafe setup.pointee.passedSource, unsafe !isKnown(setup, time, frames) {
          unsafe prepareSources(setup, time, frames: frames, stack: stack, function: function)
          unsafe feed(time, frames: frames, stack: stack)
          status = unsafe setup.pointee.pass(
            source, flags, time, frames: frames, list, function, stack: stack)
          unsafe finish(setup, time, frames)
        } else {
          if bus == 1, let device = unsafe device {
            status = unsafe device.pointee.capture(output, time, frames: frames)
          } else {
            status = unsafe produce(
              setup, flags, time, frames: frames, stack: stack, function: function)
          }
          if status == 0 {
            unsafe UnitBus.write(output, frames: frames, to: list)
          }
        }
        let after = UInt32(
          status == 0
            ? cue_render_is_after
            : cue_render_is_after | cue_render_has_failed)
        if !hasStopped {
          unsafe setup.pointee.notify(
            flags.pointee | after, time, bus: bus, frames: frames, list)
        }
      }
    }
    note(status)
    return status
  }

  /// `UnitSetup.heldSeconds` of the latest render.
  var heldSeconds: Double {
    @_noLocks get { Double(bitPattern: held.load(ordering: .relaxed)) }
  }

  @_noLocks borrowing func isKnown(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ time: UnsafePointer<cue_time_stamp>, _ frames: Int
  ) -> Bool {
    unsafe setup.pointee.isKnown(time, frames: frames, resets: resets.load(ordering: .acquiring))
  }

  /// Publishes the time of a render, and what it has found held back.
  @_noLocks private borrowing func finish(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ time: UnsafePointer<cue_time_stamp>, _ frames: Int
  ) {
    unsafe clock.publish(time.pointee)
    if unsafe setup.pointee.inputCount == 0 { return }
    let seconds = unsafe setup.pointee.heldSeconds(frames: frames)
    held.store(seconds.bitPattern, ordering: .relaxed)
  }

  /// Renders frames of all outputs from lists of input samples, instead of what stands before the unit.
  ///
  /// - Parameters:
  ///   - inputs: A list for each of the first inputs, at the rate of the unit.
  ///   - outputs: A list for each of the first outputs. The lists may be those of the inputs.
  @_noLocks package borrowing func process(
    _ flags: UnsafeMutablePointer<UInt32>, _ time: UnsafePointer<cue_time_stamp>, frames: Int,
    _ inputs: UnsafePointer<UnsafeMutablePointer<cue_buffer_list>>, inputCount: Int,
    _ outputs: UnsafePointer<UnsafeMutablePointer<cue_buffer_list>>, outputCount: Int
  ) -> Int32 {
    let entry = enter()
    defer { leave(entry) }
    if let foreign = unsafe foreign {
      return unsafe cue_rt_foreign_process(
        foreign, flags, time, UInt32(frames), UInt32(inputCount), inputs, UInt32(outputCount),
        outputs)
    }
    guard let setup = unsafe present else { return RenderError.uninitialized }
    guard beginOutputs(entry) else {
      note(RenderError.wrongContext)
      return RenderError.wrongContext
    }
    defer { endOutputs() }
    var status: Int32 = 0
    if unsafe frames > setup.pointee.maximumFrames {
      status = RenderError.tooManyFrames
    } else if unsafe inputCount > setup.pointee.inputCount
      || outputCount > setup.pointee.outputCount
    {
      status = RenderError.badArgument
    }
    for bus in 0..<inputCount where status == 0 {
      // A converter would need frames of the next call.
      if unsafe setup.pointee.inputs[bus].resampler.run != nil {
        status = RenderError.formatNotSupported
      }
    }
    for bus in 0..<outputCount where status == 0 {
      status = unsafe setup.pointee.outputs[bus].lend(frames: frames, outputs[bus])
    }
    if status == 0 {
      unsafe setup.pointee.cache.pointee.given = unsafe inputs
      unsafe setup.pointee.cache.pointee.givenCount = inputCount
      status = unsafe produce(setup, flags, time, frames: frames, stack: cue_rt_stack())
      unsafe setup.pointee.cache.pointee.givenCount = 0
    }
    for bus in 0..<outputCount where status == 0 {
      let output = unsafe setup.pointee.outputs + bus
      unsafe output.pointee.format.write(output.pointee.planes, frames: frames, to: outputs[bus])
    }
    note(status)
    return status
  }

  /// Fills the outputs' planes, unless they hold the frames of this time already. Call it between
  /// `beginOutputs(_:)` and `endOutputs()`.
  ///
  /// - Parameters:
  ///   - isAhead: True if the pull that gets the frames comes later. The sources are prepared.
  @inline(__always) @_noLocks borrowing func produce(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ flags: UnsafeMutablePointer<UInt32>,
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, stack: UInt,
    function: UnsafePointer<IOSlot>? = nil, isAhead: Bool = false
  ) -> Int32 {
    let cache = unsafe setup.pointee.cache
    if unsafe !time.pointee.hasFrameTime { return RenderError.badArgument }
    let resets = resets.load(ordering: .acquiring)
    let isKnown = unsafe setup.pointee.isKnown(time, frames: frames, resets: resets)
    let failure = unsafe cache.pointee.failure
    unsafe cache.pointee.failure = 0
    unsafe cache.pointee.isAhead = isAhead
    if unsafe isKnown && cache.pointee.givenCount == 0 {
      unsafe flags.pointee |= cache.pointee.flags
      return failure
    }
    return unsafe make(
      setup, flags, time, frames: frames, stack: stack, function, isAhead, resets)
  }

  /// Fills the outputs' planes, once it is known that they do not hold the frames.
  @inline(never)
  @_noLocks private borrowing func make(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ flags: UnsafeMutablePointer<UInt32>,
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, stack: UInt,
    _ function: UnsafePointer<IOSlot>?, _ isAhead: Bool, _ resets: UInt64
  ) -> Int32 {
    let cache = unsafe setup.pointee.cache
    let outer = unsafe cache.pointee.function
    unsafe cache.pointee.function = function
    unsafe cache.pointee.stack = stack
    if !isAhead {
      unsafe prepareSources(setup, time, frames: frames, stack: stack, function: function)
    }
    unsafe feed(time, frames: frames, stack: stack)
    unsafe cache.pointee.changeCount = takeChanges(setup.pointee.changes)
    var call = unsafe cue_unit_call(
      setup: UnsafeMutableRawPointer(setup), time: time,
      frames: UInt32(truncatingIfNeeded: frames), flags: flags,
      resets: resets)
    let status = unsafe cue_rt_run_kernel(setup.pointee.kernel, &call)
    unsafe setup.pointee.applyChanges(at: frames, isEnd: true)
    unsafe finish(setup, time, frames)
    unsafe setup.pointee.tell(taps: time, frames: frames, status)
    unsafe cache.pointee.function = outer
    unsafe cache.pointee.stack = 0
    unsafe cache.pointee.sampleTime = time.pointee.sample_time
    unsafe cache.pointee.frames = frames
    unsafe cache.pointee.flags = flags.pointee & UInt32(cue_render_is_silent)
    let hasTime = unsafe time.pointee.flags & UInt32(cue_time_has_sample) != 0
    unsafe cache.pointee.isValid = hasTime && status == 0 && cache.pointee.givenCount == 0
    unsafe cache.pointee.failure = isAhead ? status : 0
    return status
  }
}
