package import CRealTime
import Graph

/// A graph node that plays MIDI messages, each on its frame, to the plugins of a chain. Any thread.
@safe
package final class MIDITrack: GraphNode, @unchecked Sendable {
  /// A message: its frame from the track's beginning, and the place of its bytes.
  package struct Message: Sendable {
    package let frame: Int64
    package let offset, count: Int

    package init(frame: Int64, offset: Int, count: Int) {
      self.frame = frame
      self.offset = offset
      self.count = count
    }
  }

  package let name: String
  package let inputs = 0
  package let outputs = 0
  package let eventOutputs = 1
  private let track: UnsafeMutablePointer<cue_midi_track>
  private let messages: UnsafeMutablePointer<cue_midi_track_message>
  private let bytes: UnsafeMutablePointer<UInt8>

  /// - Parameters:
  ///   - messages: The messages in order of time.
  ///   - bytes: The bytes of all messages, fewer than 4 GB.
  package init(named name: String, _ messages: [Message], bytes: [UInt8]) {
    self.name = name
    unsafe self.messages = .allocate(capacity: max(1, messages.count))
    for (i, message) in messages.enumerated() {
      unsafe (self.messages + i).initialize(
        to: cue_midi_track_message(
          frame: message.frame, offset: UInt32(message.offset), size: UInt32(message.count)))
    }
    unsafe self.bytes = .allocate(capacity: max(1, bytes.count))
    for (i, byte) in bytes.enumerated() { unsafe (self.bytes + i).initialize(to: byte) }
    unsafe track = .allocate(capacity: 1)
    unsafe track.initialize(
      to: cue_midi_track(
        types: Graph.eventTypes, start: .max, next: 0, lost: 0, count: UInt64(messages.count),
        messages: self.messages, bytes: self.bytes))
  }

  deinit {
    unsafe track.deallocate()
    unsafe messages.deallocate()
    unsafe bytes.deallocate()
  }

  package var processor: cue_node {
    unsafe cue_node(
      run: { context, block in unsafe cue_rt_play_track(context, block) }, context: track,
      prefetched_bytes: MemoryLayout<cue_midi_track>.size)
  }

  package func prepare(sampleRate: Double, maximumFrames: Int) {}

  /// Lets the track begin at a device frame.
  package func begin(at frame: Int64) { unsafe cue_begin_track(track, frame) }

  /// Messages lost so far because a cycle had too many of them.
  package var lostMessages: UInt64 { unsafe cue_lost_of_track(track) }
}
