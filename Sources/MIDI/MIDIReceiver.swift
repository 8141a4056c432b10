import Server

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
