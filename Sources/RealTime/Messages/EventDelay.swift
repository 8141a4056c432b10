package import CRealTime

/// Delay line for events.
@safe
package struct EventDelay: BitwiseCopyable {
  /// Event sequences: `pending` holds events of later blocks, timed from this block's first frame;
  /// `due` holds this block's.
  private let pending: UnsafeMutableRawPointer
  let due: UnsafeMutableRawPointer
  private let bytes: UInt32

  /// Creates a delay in memory that the caller owns. Each sequence has `bytes` bytes.
  package init(
    pending: UnsafeMutableRawPointer, due: UnsafeMutableRawPointer, bytes: UInt32,
    _ types: cue_event_types
  ) {
    unsafe self.pending = pending
    unsafe self.due = due
    self.bytes = bytes
    unsafe cue_rt_clear_events(pending, types.sequence)
    unsafe cue_rt_clear_events(due, types.sequence)
  }

  /// Delays the events of a block by `delay` frames, and fills `due` with the delayed events that
  /// fall into this block.
  ///
  /// - Returns: The number of events that found no room.
  @_noLocks func pass(
    _ source: UnsafeMutableRawPointer, delay: Int, frames: Int, _ types: cue_event_types
  ) -> UInt64 {
    var lost: UInt64 = 0
    var offset = cue_rt_first_event()
    while let event = unsafe cue_rt_event_at(source, offset) {
      offset = unsafe cue_rt_event_after(event, offset)
      // A node may write times beyond the block, which would delay all later events.
      let time = unsafe min(max(0, event.pointee.time.frames), Int64(frames) &- 1)
      let frame = time &+ Int64(delay)
      if unsafe !cue_rt_add_event(
        pending, bytes, frame, event.pointee.body.type, event.pointee.body.size, event + 1)
      {
        lost &+= 1
      }
    }
    unsafe cue_rt_clear_events(due, types.sequence)
    offset = cue_rt_first_event()
    while let event = unsafe cue_rt_event_at(pending, offset),
      unsafe event.pointee.time.frames < Int64(frames)
    {
      offset = unsafe cue_rt_event_after(event, offset)
      _ = unsafe cue_rt_add_event(
        due, bytes, max(0, event.pointee.time.frames), event.pointee.body.type,
        event.pointee.body.size,
        event + 1)
    }
    unsafe cue_rt_advance_events(pending, offset, Int64(frames))
    return lost
  }
}
