package import CRealTime

/// A function of the app that hears what a unit writes as MIDI: each message as one buffer of bytes, with the time of its
/// frame. Owns no memory.
@safe
package struct MessageTap: BitwiseCopyable {
  private let function: cue_render_proc
  private let data: UnsafeMutableRawPointer?

  /// - Parameter data: The first argument of the function.
  package init(_ function: cue_render_proc, _ data: UnsafeMutableRawPointer?) {
    unsafe self.function = function
    unsafe self.data = data
  }

  @_noLocks fileprivate func call(
    _ message: UnsafeRawPointer, count: Int, at time: cue_time_stamp, offset: Int
  ) {
    var (time, flags) = (time, UInt32(0))
    time.sample_time += Double(offset)
    var list = unsafe cue_buffer_list()
    unsafe list.count = 1
    unsafe list.first.channels = 1
    unsafe list.first.bytes = UInt32(count)
    unsafe list.first.data = UnsafeMutableRawPointer(mutating: message)
    _ = unsafe cue_rt_call_render(function, data, &flags, &time, 0, 0, &list)
  }
}

/// The event outputs of a plugin's first node. Owns no memory.
@safe
package struct NodeEvents: BitwiseCopyable {
  /// An atom sequence of `capacity` bytes for each event output.
  let outputs: UnsafePointer<UnsafeMutableRawPointer>
  private let count: Int
  private let capacity: UInt32
  /// The output that writes MIDI.
  private let midi: Int
  private let types: cue_event_types

  package init(
    _ outputs: UnsafePointer<UnsafeMutableRawPointer>, count: Int, capacity: Int, midi: Int,
    types: cue_event_types
  ) {
    unsafe self.outputs = outputs
    self.count = count
    self.capacity = UInt32(capacity)
    self.midi = midi
    self.types = types
    for i in 0..<count { unsafe cue_rt_clear_events(outputs[i], types.sequence) }
  }

  /// Offers the node room for the events of a render.
  @_noLocks func prepare() {
    for i in 0..<count { unsafe cue_rt_offer_events(outputs[i], capacity, types.chunk) }
  }

  /// Sends the MIDI messages of the latest render to a unit, each for its frame.
  @_noLocks func send(to unit: borrowing RenderUnit, frames: Int) {
    var offset = cue_rt_first_event()
    while let event = unsafe next(&offset) {
      // A message for which the unit has no room is lost.
      _ = unsafe unit.send(
        event + 1, count: Int(event.pointee.body.size), offset: frame(of: event, frames))
    }
  }

  /// Tells a function of the messages.
  @_noLocks func send(to tap: MessageTap, at time: cue_time_stamp, frames: Int) {
    var offset = cue_rt_first_event()
    while let event = unsafe next(&offset) {
      unsafe tap.call(
        event + 1, count: Int(event.pointee.body.size), at: time, offset: frame(of: event, frames))
    }
  }

  /// Returns the next message, and moves the offset behind it; nil after the last one.
  @_noLocks private func next(_ offset: inout UInt32) -> UnsafePointer<LV2_Atom_Event>? {
    guard unsafe cue_rt_is_sequence(outputs[midi], capacity, types.sequence) else { return nil }
    while let event = unsafe cue_rt_event_at(outputs[midi], offset) {
      unsafe offset = cue_rt_event_after(event, offset)
      if unsafe event.pointee.body.type == types.midi && event.pointee.body.size > 0 {
        return unsafe event
      }
    }
    return nil
  }

  @_noLocks private func frame(of event: UnsafePointer<LV2_Atom_Event>, _ frames: Int) -> Int {
    unsafe min(max(0, Int(event.pointee.time.frames)), frames &- 1)
  }
}
