import CRealTime
import Graph

/// A graph node that hands the MIDI messages of its input to another thread: those of a session's
/// controllers and of the notes that start groups.
@safe
package final class MIDITap: @unchecked Sendable {
  private let tap: UnsafeMutablePointer<cue_midi_tap>

  init(_ types: cue_event_types) {
    unsafe tap = .allocate(capacity: 1)
    let messages = UnsafeMutablePointer<cue_midi_message>.allocate(
      capacity: Int(CUE_MIDI_TAP_MESSAGES))
    unsafe messages.initialize(repeating: cue_midi_message(), count: Int(CUE_MIDI_TAP_MESSAGES))
    unsafe tap.initialize(
      to: cue_midi_tap(type: types.midi, written: 0, read: 0, lost: 0, messages: messages))
  }

  deinit {
    unsafe tap.pointee.messages.deallocate()
    unsafe tap.deallocate()
  }

  /// Creates the node, which has one event input. The graph keeps the ring as long as it runs it.
  func node() -> CallbackNode {
    let run = unsafe cue_node(
      run: { context, block in unsafe cue_rt_tap_midi(context, block) }, context: tap,
      prefetched_bytes: 0)
    return unsafe CallbackNode(named: "controllers", outputs: 0, eventInputs: 1, run, keeping: self)
  }

  /// Removes and returns the messages since the last call, in order. One thread at a time.
  package func take() -> [[UInt8]] {
    var messages: [[UInt8]] = []
    var next = cue_midi_message()
    while unsafe cue_take_midi(tap, &next) {
      let bytes = [next.bytes.0, next.bytes.1, next.bytes.2]
      messages.append(Array(bytes[..<min(3, Int(next.count))]))
    }
    return messages
  }
}

extension SessionMIDINumber {
  /// Returns whether a note or program of a message is this one.
  package func isMeant(by number: Int, _ channel: Int) -> Bool {
    self.number == number && (self.channel ?? channel) == channel
  }
}
