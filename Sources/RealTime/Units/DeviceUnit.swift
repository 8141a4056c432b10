package import CRealTime
import Synchronization
import Timeline

/// State of a device unit that only the process thread uses.
@safe
package struct DeviceUnitState: BitwiseCopyable {
  /// The call in progress; nil between calls.
  var io: UnsafePointer<cue_io>?
  /// Frames played since the unit was started, and whether it was.
  var position: Int64 = 0
  var hasStarted = false
  /// Gain of the latest frame.
  var gain: Float = 1
  /// First frame of the call for which the output is being rendered.
  var slice = 0
  /// True while the input proc is called.
  var isTelling = false
  package init() { unsafe io = nil }
}

/// Channels of one side of a device unit for those of the other: -1 for silence.
@safe
package struct UnitChannelMap: BitwiseCopyable {
  let sources: UnsafeMutablePointer<Int32>
  let count: Int
  package init(_ sources: UnsafeMutablePointer<Int32>, count: Int) {
    unsafe self.sources = sources
    self.count = count
  }
}

/// An output unit in the cycles of its device: asks for the app's sound, and lends the input.
///
/// Owns no memory and has a fixed address.
@safe
package struct DeviceUnit: ~Copyable {
  private let unit: UnsafeMutablePointer<RenderUnit>
  private let state: UnsafeMutablePointer<DeviceUnitState>
  private let volume: UnsafeMutablePointer<UnitParameterSlot>
  private let playsAndRecords = Atomic<UInt8>(1)
  private let countsFromZero = Atomic<Bool>(true)
  private let restarts = Atomic<Bool>(false)
  private let isFadedOut = Atomic<Bool>(false)
  private let load = Atomic<UInt32>(0)
  private let mostLoad = Atomic<UInt32>(0)
  /// The app's function that hears of new input: a `UnitNotify`.
  private let inputProc: Atomic<UnsafeMutableRawPointer?>
  /// The channel maps: a `UnitChannelMap` each.
  private let outputMap: Atomic<UnsafeMutableRawPointer?>
  private let inputMap: Atomic<UnsafeMutableRawPointer?>

  package init(
    _ unit: UnsafeMutablePointer<RenderUnit>, _ state: UnsafeMutablePointer<DeviceUnitState>,
    volume: UnsafeMutablePointer<UnitParameterSlot>
  ) {
    unsafe self.unit = unit
    unsafe self.volume = volume
    unsafe self.state = state
    unsafe inputProc = Atomic(nil)
    unsafe outputMap = Atomic(nil)
    unsafe inputMap = Atomic(nil)
  }

  // MARK: Control side. Memory that is replaced is freed once no call is in progress.

  package func setDirections(plays: Bool, records: Bool) {
    playsAndRecords.store((plays ? 1 : 0) | (records ? 2 : 0), ordering: .relaxed)
  }
  package func setCountsFromZero(_ on: Bool) { countsFromZero.store(on, ordering: .relaxed) }
  /// Fades the app's sound out, or in again, within one call.
  package func fade(out: Bool) { isFadedOut.store(out, ordering: .relaxed) }
  /// Share of its time that the latest call took, and the largest one since `takeMostLoad`.
  package var latestLoad: Float { Float(bitPattern: load.load(ordering: .relaxed)) }
  package func takeMostLoad() -> Float {
    Float(bitPattern: mostLoad.exchange(0, ordering: .relaxed))
  }
  /// Lets the sample time begin anew with the next call.
  package func restart() { restarts.store(true, ordering: .releasing) }
  package func setInputProc(_ proc: UnsafeMutablePointer<UnitNotify>?) {
    unsafe inputProc.store(UnsafeMutableRawPointer(proc), ordering: .sequentiallyConsistent)
  }
  package func setOutputMap(_ map: UnsafeMutablePointer<UnitChannelMap>?) {
    unsafe outputMap.store(UnsafeMutableRawPointer(map), ordering: .sequentiallyConsistent)
  }
  package func setInputMap(_ map: UnsafeMutablePointer<UnitChannelMap>?) {
    unsafe inputMap.store(UnsafeMutableRawPointer(map), ordering: .sequentiallyConsistent)
  }

  // MARK: Process thread

  /// Runs a call of the device.
  @_noLocks borrowing func run(_ io: UnsafePointer<cue_io>) {
    let entry = unsafe unit.pointee.enter()
    defer { unsafe unit.pointee.leave(entry) }
    // The app renders the unit on a thread of its own, or has uninitialised it.
    guard !entry.isRefused, let setup = unsafe unit.pointee.present else {
      unsafe state.pointee.position &+= Int64(io.pointee.frames)
      return
    }
    let began = cue_rt_nanoseconds()
    unsafe state.pointee.io = io
    unsafe cue_rt_set_thread_transport(io.pointee.transport)
    if restarts.exchange(false, ordering: .acquiring) {
      unsafe state.pointee.position = 0
      unsafe state.pointee.gain = gainNow
      unsafe setup.pointee.inputs[0].resampling.initialize(to: ResamplingState())
      unsafe setup.pointee.outputs[1].ring?.pointee.clear()
    }
    unsafe setup.pointee.cache.pointee.function = io.pointee.slot.map {
      unsafe $0.assumingMemoryBound(to: IOSlot.self)
    }
    let directions = playsAndRecords.load(ordering: .relaxed)
    if directions & 2 != 0, unsafe io.pointee.input != nil && !setup.pointee.hasStopped {
      unsafe hear(io, setup)
    }
    if directions & 1 != 0, unsafe io.pointee.output != nil,
      unsafe unit.pointee.beginOutputs(entry)
    {
      unsafe play(io, setup)
      unsafe unit.pointee.endOutputs()
    }
    unsafe setup.pointee.cache.pointee.function = nil
    unsafe state.pointee.position &+= Int64(io.pointee.frames)
    unsafe state.pointee.io = nil
    cue_rt_set_thread_transport(nil)
    let length = unsafe Double(io.pointee.frames) * io.pointee.nanoseconds_per_frame
    if length > 0 {
      let share = Float(Double(cue_rt_nanoseconds() &- began) / length)
      load.store(share.bitPattern, ordering: .relaxed)
      if share > Float(bitPattern: mostLoad.load(ordering: .relaxed)) {
        mostLoad.store(share.bitPattern, ordering: .relaxed)
      }
    }
  }

  private var gainNow: Float {
    @_noLocks get { isFadedOut.load(ordering: .relaxed) ? 0 : unsafe volume.pointee.value }
  }

  /// Returns the time of a frame of a call: of its output, or of its input.
  @_noLocks private borrowing func time(
    _ io: UnsafePointer<cue_io>, _ frame: Int, isInput: Bool
  ) -> cue_time_stamp {
    var time = cue_time_stamp()
    let deviceFrame = unsafe isInput ? io.pointee.input_frame : io.pointee.output_frame
    let position =
      countsFromZero.load(ordering: .relaxed) ? unsafe state.pointee.position : deviceFrame
    time.sample_time = Double(position &+ Int64(frame))
    time.flags = UInt32(cue_time_has_sample)
    let hostTime = unsafe isInput ? io.pointee.input_time : io.pointee.output_time
    if hostTime > 0 {
      let length = unsafe io.pointee.nanoseconds_per_frame
      time.host_time = hostTime &+ UInt64(held: Double(frame) * length)
      time.flags |= UInt32(cue_time_has_host)
    }
    if unsafe io.pointee.rate_scalar > 0 {
      time.rate_scalar = unsafe io.pointee.rate_scalar
      time.flags |= UInt32(cue_time_has_rate)
    }
    return time
  }

  /// Takes what came in, and tells the app of it.
  @_noLocks private borrowing func hear(
    _ io: UnsafePointer<cue_io>, _ setup: UnsafeMutablePointer<UnitSetup>
  ) {
    guard let ring = unsafe setup.pointee.outputs[1].ring else {
      var time = unsafe time(io, 0, isInput: true)
      unsafe tellInput(&time, frames: io.pointee.frames)
      return
    }
    unsafe fill(ring, io, setup.pointee.outputs + 1)
    if unsafe inputProc.load(ordering: .relaxed) == nil {
      unsafe ring.pointee.told = ring.pointee.written
    }
    while unsafe ring.pointee.written &- ring.pointee.told >= Int64(io.pointee.frames),
      unsafe !setup.pointee.hasStopped
    {
      let behind = unsafe Double(ring.pointee.written &- ring.pointee.told) / ring.pointee.ratio
      let frame = unsafe Double(io.pointee.frames) - behind
      var time = unsafe time(io, 0, isInput: true)
      if countsFromZero.load(ordering: .relaxed) {
        time.sample_time = unsafe Double(ring.pointee.told)
      } else {
        time.sample_time = unsafe (time.sample_time + frame) * ring.pointee.ratio
      }
      if time.flags & UInt32(cue_time_has_host) != 0 {
        let distance = unsafe frame * io.pointee.nanoseconds_per_frame
        time.host_time = UInt64(max(0, Double(time.host_time) + distance))
      }
      unsafe tellInput(&time, frames: io.pointee.frames)
      unsafe ring.pointee.told &+= Int64(io.pointee.frames)
    }
  }

  /// Appends what came in during a call to a ring.
  @_noLocks private borrowing func fill(
    _ ring: UnsafeMutablePointer<InputRing>, _ io: UnsafePointer<cue_io>,
    _ output: UnsafeMutablePointer<UnitBus>
  ) {
    unsafe ring.pointee.beginCall()
    var at = 0
    let frames = unsafe Int(io.pointee.frames)
    while at < frames {
      let count = min(frames &- at, UnitSetup.framesToResample)
      unsafe copyInput(
        io, from: at, frames: count, to: output.pointee.sourcePlanes,
        channels: output.pointee.channels)
      unsafe ring.pointee.append(
        output.pointee.sourcePlanes, channels: output.pointee.channels, frames: count,
        output.pointee.resampler)
      at &+= count
    }
  }

  @_noLocks private borrowing func tellInput(
    _ time: UnsafeMutablePointer<cue_time_stamp>, frames: UInt32
  ) {
    guard let pointer = unsafe inputProc.load(ordering: .sequentiallyConsistent) else { return }
    let proc = unsafe pointer.assumingMemoryBound(to: UnitNotify.self).pointee
    var flags: UInt32 = 0
    unsafe state.pointee.isTelling = true
    let status = unsafe cue_rt_call_render(proc.proc, proc.data, &flags, time, 1, frames, nil)
    unsafe state.pointee.isTelling = false
    unsafe unit.pointee.note(status)
  }

  /// Adds the app's sound to the device's output, which is silent.
  @_noLocks private borrowing func play(
    _ io: UnsafePointer<cue_io>, _ setup: UnsafeMutablePointer<UnitSetup>
  ) {
    guard unsafe setup.pointee.inputCount > 0,
      unsafe !setup.pointee.inputs[0].source.isNone, let output = unsafe io.pointee.output
    else { return }
    let input = unsafe setup.pointee.inputs
    let frames = unsafe Int(io.pointee.frames)
    let width = unsafe Int(io.pointee.output_channels)
    let from = unsafe state.pointee.gain
    let to = gainNow
    var at = 0
    while at < frames, unsafe goesOn(setup, frames) {
      let count = unsafe min(frames &- at, setup.pointee.maximumFrames)
      unsafe state.pointee.slice = at
      var time = unsafe time(io, at, isInput: false)
      var isSilent = false
      let status = unsafe renderInput(
        setup, &time, frames: count, deviceFrame: io.pointee.output_frame &+ Int64(at),
        isSilent: &isSilent)
      unsafe unit.pointee.note(status)
      if status == 0 && !isSilent {
        let first = from + (to - from) * Float(at) / Float(frames)
        let step = (to - from) / Float(frames)
        for channel in 0..<width {
          let source = unsafe source(of: channel, channels: input.pointee.channels)
          if source < 0 { continue }
          let plane = unsafe input.pointee.planes[source]
          for i in 0..<count {
            let gain = step == 0 ? to : first + step * Float(i &+ 1)
            unsafe output[(at &+ i) &* width &+ channel] = plane[i] * gain
          }
        }
      }
      at &+= count
    }
    // It may have been stopped in the last part.
    _ = unsafe goesOn(setup, frames)
    unsafe state.pointee.slice = 0
    unsafe state.pointee.gain = to
  }

  /// Returns whether there is something to play: a unit that its callback has stopped plays what converters
  /// hold back.
  @_noLocks private borrowing func goesOn(_ setup: UnsafeMutablePointer<UnitSetup>, _ frames: Int)
    -> Bool
  {
    guard unsafe setup.pointee.hasStopped,
      let function = unsafe setup.pointee.cache.pointee.function
    else { return true }
    if unsafe !function.pointee.hasTail {
      let rate = unsafe setup.pointee.inputs[0].rate
      let seconds = unsafe min(setup.pointee.heldSeconds(frames: frames), Self.mostHeldSeconds)
      unsafe function.pointee.addTail(Int(seconds * rate))
    }
    return unsafe function.pointee.hasTail
  }

  private static var mostHeldSeconds: Double { @_noLocks get { 1 } }

  /// Fills the planes of the unit's input, and tells those who listen to its renders.
  @_noLocks private borrowing func renderInput(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ time: UnsafeMutablePointer<cue_time_stamp>,
    frames: Int, deviceFrame: Int64, isSilent: inout Bool
  ) -> Int32 {
    let list = unsafe setup.pointee.inputs[0].list
    let isTold = unsafe !setup.pointee.hasStopped
    if isTold {
      unsafe setup.pointee.notify(
        UInt32(cue_render_is_before), time, bus: 0, frames: frames, list)
      unsafe unit.pointee.feed(time, frames: frames, deviceFrame: deviceFrame)
    }
    let status = unsafe setup.pointee.pull(0, frames: frames, at: time, isSilent: &isSilent)
    let after =
      status == 0
      ? cue_render_is_after
      : cue_render_is_after | cue_render_has_failed
    if isTold {
      unsafe setup.pointee.notify(UInt32(after), time, bus: 0, frames: frames, list)
    }
    return status
  }

  /// Returns the app's channel that a channel of the device plays; -1 for none.
  @_noLocks private borrowing func source(of channel: Int, channels: Int) -> Int {
    if let pointer = unsafe outputMap.load(ordering: .sequentiallyConsistent) {
      let map = unsafe pointer.assumingMemoryBound(to: UnitChannelMap.self).pointee
      guard channel < map.count else { return -1 }
      let source = unsafe Int(map.sources[channel])
      return source < channels ? source : -1
    }
    if channels == 1 { return channel < 2 ? 0 : -1 }
    return channel < channels ? channel : -1
  }

  /// Copies what came in to an output's planes: frames of the call in progress, or of the output's ring.
  @_noLocks borrowing func capture(
    _ output: UnsafeMutablePointer<UnitBus>, _ time: UnsafePointer<cue_time_stamp>, frames: Int
  ) -> Int32 {
    guard let io = unsafe state.pointee.io, unsafe io.pointee.input != nil else {
      return RenderError.wrongContext
    }
    let length = unsafe Int(io.pointee.frames)
    let channels = unsafe output.pointee.channels
    guard let ring = unsafe output.pointee.ring else {
      guard frames <= length else { return RenderError.tooManyFrames }
      let slice = unsafe state.pointee.slice
      unsafe copyInput(
        io, from: slice &+ frames <= length ? slice : 0, frames: frames,
        to: output.pointee.planes, channels: channels)
      return 0
    }
    let start: Int64
    if unsafe state.pointee.isTelling {
      start = unsafe ring.pointee.told
      guard unsafe Int64(frames) <= ring.pointee.written &- start else {
        return RenderError.tooManyFrames
      }
    } else {
      guard unsafe frames <= InputRing.mostFrames(ratio: ring.pointee.ratio) else {
        return RenderError.tooManyFrames
      }
      var seconds = unsafe output.pointee.burstSeconds
      if let setup = unsafe unit.pointee.present, unsafe setup.pointee.inputCount > 0 {
        unsafe seconds += setup.pointee.inputs[0].burstSeconds
      }
      let burst = unsafe Int(seconds * output.pointee.format.sampleRate)
      start = unsafe ring.pointee.begin(time, frames: frames, slice: length, burst: burst)
    }
    unsafe ring.pointee.copy(
      from: start, frames: frames, to: output.pointee.planes, channels: channels)
    return 0
  }

  /// Copies frames of a call's input to planes, by the channel map.
  @_noLocks private borrowing func copyInput(
    _ io: UnsafePointer<cue_io>, from first: Int, frames: Int,
    to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, channels: Int
  ) {
    guard let input = unsafe io.pointee.input else { return }
    let width = unsafe Int(io.pointee.input_channels)
    for channel in 0..<channels {
      let plane = unsafe planes[channel]
      var source = width == 1 ? 0 : channel
      if let pointer = unsafe inputMap.load(ordering: .sequentiallyConsistent) {
        let map = unsafe pointer.assumingMemoryBound(to: UnitChannelMap.self).pointee
        source = unsafe channel < map.count ? Int(map.sources[channel]) : -1
      }
      if source < 0 || source >= width {
        unsafe plane.initialize(repeating: 0, count: frames)
      } else {
        for i in 0..<frames { unsafe plane[i] = input[(first &+ i) &* width &+ source] }
      }
    }
  }
}

/// An I/O function of a device: `context` is a `DeviceUnit`. Process thread.
@_noLocks package func runDeviceUnit(
  _ context: UnsafeMutableRawPointer, _ io: UnsafePointer<cue_io>
) {
  unsafe context.assumingMemoryBound(to: DeviceUnit.self).pointee.run(io)
}
