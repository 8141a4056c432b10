import CRealTime
import Synchronization

// The sources of the messages that a unit gets in its renders: sequences, and another unit whose MIDI it hears.

extension RenderUnit {
  /// The first of the sequences that follow the renders.
  package var firstFeed: UnsafeMutablePointer<SequenceFeed>? {
    unsafe feeds.load(ordering: .sequentiallyConsistent).map {
      unsafe $0.assumingMemoryBound(to: SequenceFeed.self)
    }
  }

  /// Sets the first of the sequences. One that is removed stays until no render is in progress.
  package func setFirstFeed(_ feed: UnsafeMutablePointer<SequenceFeed>?) {
    unsafe feeds.store(UnsafeMutableRawPointer(feed), ordering: .sequentiallyConsistent)
  }

  /// Sets the unit that renders before each render of this one, which hears its MIDI; nil for none. It has a `NodeKernel`.
  package func setMIDISource(_ unit: UnsafeMutablePointer<RenderUnit>?) {
    unsafe midiSource.store(UnsafeMutableRawPointer(unit), ordering: .sequentiallyConsistent)
  }

  /// Lets the unit whose MIDI this one hears, and the sequences that follow this one, send their messages of a render, before
  /// it begins.
  ///
  /// - Parameter deviceFrame: The device frame of the render; nil if it is the sample time.
  @inline(__always)
  @_noLocks borrowing func feed(
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, deviceFrame: Int64? = nil, stack: UInt = 0
  ) {
    if unsafe midiSource.load(ordering: .sequentiallyConsistent) == nil
      && feeds.load(ordering: .sequentiallyConsistent) == nil
    {
      return
    }
    unsafe send(time, frames: frames, deviceFrame: deviceFrame, stack: stack)
  }

  @inline(never)
  @_noLocks private borrowing func send(
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, deviceFrame: Int64?, stack: UInt
  ) {
    if let source = unsafe midiSource.load(ordering: .sequentiallyConsistent) {
      unsafe source.assumingMemoryBound(to: RenderUnit.self).pointee.play(
        to: self, time, frames: frames, stack: stack == 0 ? cue_rt_stack() : stack)
    }
    var next = unsafe feeds.load(ordering: .sequentiallyConsistent)
    while let address = unsafe next {
      let feed = unsafe address.assumingMemoryBound(to: SequenceFeed.self)
      unsafe feed.pointee.run(time, frames: frames, deviceFrame: deviceFrame)
      unsafe next = unsafe feed.pointee.following
    }
  }

  /// Renders unless that is done, and sends a unit what this one, which has a `NodeKernel`, has written as MIDI. Does nothing
  /// inside a render of this unit.
  @_noLocks borrowing func play(
    to unit: borrowing RenderUnit, _ time: UnsafePointer<cue_time_stamp>, frames: Int, stack: UInt
  ) {
    let entry = enter()
    defer { leave(entry) }
    guard !Self.isFull(stack), let setup = unsafe present,
      unsafe frames <= setup.pointee.maximumFrames,
      beginOutputs(entry)
    else { return }
    defer { endOutputs() }
    var flags: UInt32 = 0
    let status = unsafe produce(setup, &flags, time, frames: frames, stack: stack)
    note(status)
    if status != 0 { return }
    unsafe setup.pointee.kernel.context.assumingMemoryBound(to: NodeKernel.self).pointee.events?
      .send(
        to: unit, frames: frames)
  }
}
