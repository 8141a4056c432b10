import CRealTime

/// An event edge: a sequence, a delay, and the event input that they lead to.
@safe
package struct GraphEventEdge: BitwiseCopyable {
  private let source: UnsafeMutableRawPointer
  private let delay: UnsafeMutablePointer<EventDelay>
  private let frames: Int
  /// Read position in `due` while sequences are merged.
  var offset: UInt32 = 0

  /// - Parameter frames: Delay of the events.
  package init(
    source: UnsafeMutableRawPointer, delay: UnsafeMutablePointer<EventDelay>, frames: Int
  ) {
    unsafe self.source = source
    unsafe self.delay = delay
    self.frames = frames
  }

  /// Begins a block of `count` frames.
  ///
  /// - Returns: The number of events that found no room.
  @_noLocks mutating func begin(_ count: Int, _ types: cue_event_types) -> UInt64 {
    offset = cue_rt_first_event()
    return unsafe delay.pointee.pass(source, delay: frames, frames: count, types)
  }

  /// Returns the next event of the block; nil after the last one.
  @_noLocks func next() -> UnsafePointer<LV2_Atom_Event>? {
    unsafe cue_rt_event_at(delay.pointee.due, offset)
  }
}
