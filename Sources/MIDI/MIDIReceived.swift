/// A received message, or a piece of a long system exclusive message.
package struct MIDIReceived: Sendable, Equatable {
  /// Device frame that it came in.
  package let frame: Int64
  /// Host time of that frame, in nanoseconds.
  package let hostTime: UInt64
  package let bytes: [UInt8]
}
