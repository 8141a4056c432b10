import CRealTime
import Synchronization

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
