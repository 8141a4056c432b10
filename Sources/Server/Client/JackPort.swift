import CJack

/// A port on a server, of any client.
package struct JackPort: Hashable, Sendable {
  /// The full name, such as `system:playback_1`.
  package let name: String
  /// True if the port sends, false if it receives.
  package let isOutput: Bool
  /// True for a MIDI port, false for an audio port.
  package let isMIDI: Bool
}
