/// A plugin's description as read from its bundle.
package struct PluginDescription: Codable, Hashable, Sendable {
  package let uri: String
  package let name: String
  package let author: String?
  /// URI of the licence.
  package let license: String?
  /// URI and name of the plugin's class.
  package let classURI: String
  package let className: String
  /// Path of the bundle, with a slash at its end.
  package let bundle: String
  /// Path of the library; nil if the bundle names none.
  package let binary: String?
  /// URIs of the features that the plugin requires, and of those that it can do without.
  package let requiredFeatures: [String]
  package let optionalFeatures: [String]
  package let extensionData: [String]
  /// The ports in the order of their indices.
  package let ports: [PluginPort]
  package let groups: [PortGroup]
  package let parameters: [PluginParameter]
  package let presets: [PluginPreset]
  /// Errors in the bundle, in words. A plugin with problems is not instantiated.
  package let problems: [String]
  /// Impossible statements of the bundle that were ignored, in words.
  package let remarks: [String]

  /// Returns the audio and CV ports of a direction, in order. They are the node's planes in the graph.
  package func planes(_ direction: PluginPort.Direction) -> [PluginPort] {
    ports.filter { $0.direction == direction && ($0.kind == .audio || $0.kind == .cv) }
  }

  /// Returns the atom ports of a direction, in order.
  package func events(_ direction: PluginPort.Direction) -> [PluginPort] {
    ports.filter { $0.direction == direction && $0.kind == .atom }
  }

  /// Returns the port with a symbol.
  package func port(_ symbol: String) -> PluginPort? { ports.first { $0.symbol == symbol } }

  /// Returns the control port of a direction that has a designation.
  package func control(_ direction: PluginPort.Direction, designated designation: String)
    -> PluginPort?
  {
    ports.first {
      $0.direction == direction && $0.kind == .control && $0.designation == designation
    }
  }
}

/// A port of a plugin.
package struct PluginPort: Codable, Hashable, Sendable {
  package enum Direction: String, Codable, Hashable, Sendable { case input, output }

  package enum Kind: String, Codable, Hashable, Sendable {
    case audio, control, cv, atom
    /// An unknown kind. Such a port must be optional.
    case other
  }

  /// A named value of a control.
  package struct ScalePoint: Codable, Hashable, Sendable {
    package let value: Float
    package let label: String
  }

  package let index: Int
  package let symbol: String
  package let name: String
  package let direction: Direction
  package let kind: Kind
  /// The values of a control as the bundle gives them. With `isSampleRate`, the bounds are multiples of
  /// the sample rate.
  package let defaultValue: Float?
  package let minimum: Float?
  package let maximum: Float?
  package let unit: PluginUnit?
  /// The scale points in ascending order of value.
  package let scalePoints: [ScalePoint]
  /// The number of steps into which a stepped control divides its range.
  package let steps: Int?
  package let isLogarithmic, isInteger, isToggled, isEnumeration: Bool
  /// Whether the control returns to its default after each run that has read another value.
  package let isTrigger: Bool
  /// Whether the port may be left unconnected.
  package let isOptional: Bool
  /// Whether the bounds are multiplied by the sample rate.
  package let isSampleRate: Bool
  /// Whether a user interface should not show the control.
  package let isHidden: Bool
  /// Whether the plugin writes its latency in frames to this port.
  package let reportsLatency: Bool
  /// URIs of all properties of the port.
  package let properties: [String]
  /// URI of the port's designation: latency, enabled, freeWheeling, left, right …
  package let designation: String?
  /// URI of the port group.
  package let group: String?
  /// Minimum size of the port's buffer in bytes; nil if the bundle gives none.
  package let minimumBytes: Int?
  /// URIs of the event types that an atom port accepts or writes.
  package let eventTypes: [String]

  /// Returns the control's default and bounds at a sample rate. What the bundle does not give is nil.
  package func range(sampleRate: Double) -> (default: Float?, minimum: Float?, maximum: Float?) {
    let factor = isSampleRate ? Float(sampleRate) : 1
    return (
      defaultValue, minimum.map { $0 * factor }, maximum.map { $0 * factor }
    )
  }
}

/// The unit of a number.
package struct PluginUnit: Codable, Hashable, Sendable {
  package let uri: String?
  package let name: String?
  /// The unit's symbol, such as "dB".
  package let symbol: String?
  /// A format string for a number, such as "%f dB".
  package let render: String?
}

/// A group of ports: the channels of one signal, or a section of controls.
package struct PortGroup: Codable, Hashable, Sendable {
  package let uri: String
  package let name: String?
  package let symbol: String?
  /// URIs of its classes, such as pg:StereoGroup.
  package let types: [String]
}

/// A property that is not a port. Messages (patch:Get and patch:Set) read and set it.
package struct PluginParameter: Codable, Hashable, Sendable {
  package let uri: String
  package let label: String?
  /// URI of the type of its values, such as atom:Float or atom:Path.
  package let range: String?
  package let defaultValue: Double?
  package let minimum: Double?
  package let maximum: Double?
  package let unit: PluginUnit?
  package let isWritable: Bool
  package let isReadable: Bool
}

/// A preset of a plugin, contained in a bundle.
package struct PluginPreset: Codable, Hashable, Sendable {
  package let uri: String
  package let label: String
  /// URI of the preset's bank.
  package let bank: String?
}
