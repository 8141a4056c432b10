/// How patchbays show a client and its ports: JACK's metadata, and an alias of each port. A value.
package struct ClientAppearance: Equatable, Sendable {
  /// The kind of a port's signal.
  package enum Signal: Sendable {
    case audio
    /// A control voltage, which nobody should hear.
    case controlVoltage
    case midi
  }

  /// The appearance of one port.
  package struct Port: Equatable, Sendable {
    /// The name without the client's.
    package var name: String
    /// The name for people.
    package var prettyName: String
    /// The name of the group of ports that belong together, such as the channels of a track.
    package var group: String?
    package var signal: Signal

    package init(
      _ name: String, prettyName: String, group: String? = nil, signal: Signal = .audio
    ) {
      self.name = name
      self.prettyName = prettyName
      self.group = group
      self.signal = signal
    }
  }

  /// The name of the client for people.
  package var prettyName: String
  /// The client's icon: a name of the freedesktop icon naming specification.
  package var icon: String
  /// The ports, in the order in which they are shown.
  package var ports: [Port]

  package init(
    prettyName: String, icon: String = "multimedia-player", ports: [Port] = []
  ) {
    self.prettyName = prettyName
    self.icon = icon
    self.ports = ports
  }

  /// Returns the appearance of ports that are the channels of one sound, such as a file.
  package static func channels(_ ports: [String], of name: String) -> [Port] {
    ports.enumerated().map { index, port in
      Port(
        port, prettyName: name + suffix(ofChannel: index, of: ports.count), group: name)
    }
  }

  private static func suffix(ofChannel index: Int, of channels: Int) -> String {
    switch channels {
    case 1: ""
    case 2: index == 0 ? " left" : " right"
    default: " \(index + 1)"
    }
  }
}
