import CJack

/// A port on a server, of any client.
package struct JackPort: Hashable, Sendable {
  /// The full name, such as `system:playback_1`.
  package let name: String
  /// True if the port sends, false if it receives.
  package let isOutput: Bool
  /// True for a MIDI port, false for an audio port.
  package let isMIDI: Bool
  /// True for a port of hardware.
  package var isPhysical = false
}

extension JackPort {
  /// Returns the ports of a type.
  ///
  /// - Parameter names: Returns the full names of the ports of a type that have flags, as jack_get_ports takes them.
  static func list(
    _ type: String, isMIDI: Bool, _ names: (_ flags: UInt32, _ type: String) -> [String]
  ) -> [JackPort] {
    let physical = Set(names(JackPortIsPhysical.rawValue, type))
    return [(JackPortIsOutput, true), (JackPortIsInput, false)].flatMap { direction, isOutput in
      names(direction.rawValue, type).map {
        JackPort(
          name: $0, isOutput: isOutput, isMIDI: isMIDI, isPhysical: physical.contains($0))
      }
    }
  }
}
