import Server

/// A received message, or a piece of a long system exclusive message.
package struct MIDIReceived: Sendable, Equatable {
  /// Device frame that it came in.
  package let frame: Int64
  /// Host time of that frame, in nanoseconds.
  package let hostTime: UInt64
  package let bytes: [UInt8]
}

/// A JACK input port of a client.
final class MIDIReceiver: Sendable {
  let name: String
  let number: UInt32
  let memory: MIDIInputMemory
  /// Takes messages in order. The client's delivery thread calls it.
  let handler: @Sendable ([MIDIReceived]) -> Void

  init(
    named name: String, _ number: UInt32, into ring: MIDIRingMemory,
    _ handler: @escaping @Sendable ([MIDIReceived]) -> Void
  ) {
    self.name = name
    self.number = number
    memory = MIDIInputMemory(named: name, number, into: ring)
    self.handler = handler
  }
}
