import CRealTime
import Synchronization

// Renders of sources ahead of the pulls that get their frames. A pull is a render within a render, and a long chain of units
// would need more stack than the process thread has: 512 kB. From some depth on, the units before the one that renders
// render one after another, each behind its sources, and each pull finds its frames.

/// A unit on the way from the render in progress to a source.
@safe
struct SourceStep: BitwiseCopyable {
  /// Nil for the unit whose render is in progress.
  var unit: UnsafeMutablePointer<RenderUnit>?
  var entry = RenderUnit.Entry(isFirst: false, isRefused: false)
  /// The setup of the unit that pulls this one.
  var consumer: UnsafeMutablePointer<UnitSetup>?
  var function: UnsafePointer<IOSlot>?
  /// The `RenderUnit` whose MIDI the unit hears.
  var midiSource: UnsafeMutableRawPointer?
  /// The input that comes next; -1 for `midiSource`.
  var bus = -1
  /// Units in a row before this one that pass their source on, whose renders stay inside the pull.
  var passes = 0

  init() {
    unsafe unit = nil
    unsafe consumer = nil
    unsafe function = nil
    unsafe midiSource = nil
  }
}

extension UnitSetup {
  /// Returns the next source of a unit that can render ahead, and its I/O function.
  @_noLocks fileprivate func nextSource() -> (
    UnsafeMutablePointer<RenderUnit>, UnsafePointer<IOSlot>?
  )? {
    while unsafe cache.pointee.step.bus < inputCount {
      let bus = unsafe cache.pointee.step.bus
      unsafe cache.pointee.step.bus &+= 1
      if bus < 0 {
        guard let source = unsafe cache.pointee.step.midiSource else { continue }
        return unsafe (source.assumingMemoryBound(to: RenderUnit.self), nil)
      }
      // A resampler says when it needs which frames.
      guard unsafe bus >= cache.pointee.givenCount && inputs[bus].resampler.run == nil,
        let source = unsafe inputs[bus].source.unit, pulls(bus)
      else { continue }
      return unsafe (source, cache.pointee.step.function)
    }
    return nil
  }
}

extension RenderUnit {
  /// Bytes of the stack from which on sources render ahead.
  private static var deep: UInt { @_noLocks get { 48 << 10 } }
  /// Most bytes of the stack for renders within renders. The rest is for plugins and functions of the app.
  private static var most: UInt { @_noLocks get { 320 << 10 } }
  /// Most units in a row that pass their source on.
  private static var mostPasses: Int { @_noLocks get { 8 } }

  /// Returns true if renders fail from here on, because too many are in progress.
  @_noLocks static func isFull(_ stack: UInt) -> Bool { stack &- cue_rt_stack() > most }

  /// Renders what a render will pull, if it is deep in others and that has not been done.
  @inline(__always) @_noLocks borrowing func prepareSources(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ time: UnsafePointer<cue_time_stamp>, frames: Int,
    stack: UInt, function: UnsafePointer<IOSlot>?
  ) {
    if stack &- cue_rt_stack() < Self.deep { return }
    unsafe renderSources(setup, time, frames: frames, stack: stack, function: function)
  }

  @inline(never) @_noLocks private borrowing func renderSources(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ time: UnsafePointer<cue_time_stamp>, frames: Int,
    stack: UInt, function: UnsafePointer<IOSlot>?
  ) {
    let isPrepared = unsafe setup.pointee.cache.pointee.isPrepared
    unsafe setup.pointee.cache.pointee.isPrepared = false
    if isPrepared { return }
    // Without a sample time, a pull does not know the frames again.
    if unsafe time.pointee.flags & UInt32(cue_time_has_sample) == 0 { return }
    var step = SourceStep()
    unsafe step.function = function
    unsafe step.midiSource = midiSource.load(ordering: .sequentiallyConsistent)
    unsafe setup.pointee.cache.pointee.step = step
    var now = unsafe setup
    while true {
      if let (source, function) = unsafe now.pointee.nextSource() {
        if let next = unsafe Self.step(to: source, from: now, time, frames: frames, function) {
          unsafe now = next
        }
        continue
      }
      let step = unsafe now.pointee.cache.pointee.step
      guard let unit = unsafe step.unit, let consumer = unsafe step.consumer else { return }
      if unsafe now.pointee.passedSource != nil && step.passes < Self.mostPasses {
        unsafe now.pointee.cache.pointee.isPrepared = true
        unsafe consumer.pointee.cache.pointee.step.passes = step.passes &+ 1
      } else {
        var flags: UInt32 = 0
        _ = unsafe unit.pointee.produce(
          now, &flags, time, frames: frames, stack: stack, function: step.function, isAhead: true)
      }
      unsafe unit.pointee.endOutputs()
      unsafe unit.pointee.leave(step.entry)
      unsafe now = consumer
    }
  }

  /// Begins to render ahead.
  ///
  /// - Returns: The setup, or nil if the unit waits for the pull: it has the frames, calls functions of the app, or was
  ///   stopped.
  @_noLocks borrowing func beginAhead(
    _ entry: Entry, _ time: UnsafePointer<cue_time_stamp>, frames: Int,
    _ function: UnsafePointer<IOSlot>?
  ) -> UnsafeMutablePointer<UnitSetup>? {
    let hasStopped = unsafe function.map { unsafe !$0.pointee.isRunning } ?? false
    guard unsafe foreign == nil && device == nil, let setup = unsafe present,
      unsafe frames <= setup.pointee.maximumFrames && setup.pointee.notifyCount == 0
        && !(hasStopped && setup.pointee.inputCount == 0) && !isKnown(setup, time, frames),
      beginOutputs(entry)
    else { return nil }
    return unsafe setup
  }

  /// Begins the render ahead of a unit.
  ///
  /// - Returns: Its setup; nil if it does not render ahead.
  @_noLocks private static func step(
    to unit: UnsafeMutablePointer<RenderUnit>, from consumer: UnsafeMutablePointer<UnitSetup>,
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, _ function: UnsafePointer<IOSlot>?
  ) -> UnsafeMutablePointer<UnitSetup>? {
    var step = SourceStep()
    step.entry = unsafe unit.pointee.enter()
    guard let setup = unsafe unit.pointee.beginAhead(step.entry, time, frames: frames, function)
    else {
      unsafe unit.pointee.leave(step.entry)
      return nil
    }
    unsafe step.unit = unit
    unsafe step.consumer = consumer
    unsafe step.function = function
    unsafe step.midiSource = unit.pointee.midiSource.load(ordering: .sequentiallyConsistent)
    unsafe setup.pointee.cache.pointee.step = step
    return unsafe setup
  }
}
