package import CRealTime
import Synchronization

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

extension GraphSlot {
  /// Writes the sequence of an event input: note ends if `endsNotes`, then the events of `count`
  /// edges, by frame. Events of one frame keep the order of their edges.
  @_noLocks borrowing func mergeEvents(
    into sequence: UnsafeMutableRawPointer, _ edges: UnsafeMutablePointer<GraphEventEdge>,
    count: Int, frames: Int, endsNotes: Bool, _ types: cue_event_types
  ) {
    unsafe cue_rt_clear_events(sequence, types.sequence)
    if endsNotes { unsafe cue_rt_add_note_ends(sequence, eventBytes, types.midi) }
    var lost: UInt64 = 0
    for edge in 0..<count { lost &+= unsafe edges[edge].begin(frames, types) }
    while true {
      var first: Int?
      var frame = Int64.max
      for edge in 0..<count {
        if let event = unsafe edges[edge].next(),
          unsafe first == nil || event.pointee.time.frames < frame
        {
          first = edge
          frame = unsafe event.pointee.time.frames
        }
      }
      guard let first, let event = unsafe edges[first].next() else { break }
      unsafe edges[first].offset = cue_rt_event_after(event, edges[first].offset)
      if unsafe !cue_rt_add_event(
        sequence, eventBytes, frame, event.pointee.body.type, event.pointee.body.size, event + 1)
      {
        lost &+= 1
      }
    }
    if lost > 0 { lostEvents.add(lost, ordering: .relaxed) }
  }

  /// Reads the events of a source's MIDI ports for the block that begins at frame `first` of a
  /// cycle.
  @_noLocks borrowing func readMIDI(
    at first: Int, frames: Int, cycle: Int, _ types: cue_event_types
  ) {
    for i in 0..<eventOutputs {
      let sequence = unsafe eventOutput(i)
      unsafe cue_rt_clear_events(sequence, types.sequence)
      guard let buffer = unsafe midiBuffer(i, cycle) else { continue }
      let lost = unsafe cue_rt_read_midi(
        buffer, UInt32(first), UInt32(frames), sequence, eventBytes, types.midi)
      if lost > 0 { lostEvents.add(UInt64(lost), ordering: .relaxed) }
    }
  }

  /// Writes the event inputs of a sink to its MIDI ports.
  @_noLocks borrowing func writeMIDI(
    at first: Int, frames: Int, cycle: Int, _ types: cue_event_types
  ) {
    for i in 0..<eventInputs {
      guard let buffer = unsafe midiBuffer(i, cycle) else { continue }
      if first == 0 { unsafe cue_rt_clear_midi(buffer) }
      let lost = unsafe cue_rt_write_midi(
        buffer, UInt32(first), UInt32(frames), eventInput(i), types.midi)
      if lost > 0 { lostEvents.add(UInt64(lost), ordering: .relaxed) }
    }
  }
}
