/// What a plugin's bundle says of it.
package struct PluginDescription: Codable, Hashable, Sendable {
  package let uri: String
  package let name: String
  package let author: String?
  /// The licence's URI.
  package let license: String?
  /// What kind of plugin it is: the class's URI and its name.
  package let classURI: String
  package let className: String
  /// Path of the bundle, which ends with a slash.
  package let bundle: String
  /// Path of the library; nil if the bundle names none.
  package let binary: String?
  /// URIs of features that it cannot do without, and of those that it can.
  package let requiredFeatures: [String]
  package let optionalFeatures: [String]
  package let extensionData: [String]
  /// In the order of their indices.
  package let ports: [PluginPort]
  package let groups: [PortGroup]
  package let parameters: [PluginParameter]
  package let presets: [PluginPreset]
  /// What is wrong with the bundle, in words. A plugin with problems is not instantiated.
  package let problems: [String]
  /// What the bundle says that cannot be, and that is left out, in words.
  package let remarks: [String]

  /// Its audio and CV ports of a direction, which are the planes of the graph, in order.
  package func planes(_ direction: PluginPort.Direction) -> [PluginPort] {
    ports.filter { $0.direction == direction && ($0.kind == .audio || $0.kind == .cv) }
  }

  /// Its atom ports of a direction, in order.
  package func events(_ direction: PluginPort.Direction) -> [PluginPort] {
    ports.filter { $0.direction == direction && $0.kind == .atom }
  }

  /// The port with a symbol.
  package func port(_ symbol: String) -> PluginPort? { ports.first { $0.symbol == symbol } }

  /// The control port of a direction that is designated as what `designation` names.
  package func control(_ direction: PluginPort.Direction, designated designation: String)
    -> PluginPort?
  {
    ports.first {
      $0.direction == direction && $0.kind == .control && $0.designation == designation
    }
  }
}

/// One port of a plugin.
package struct PluginPort: Codable, Hashable, Sendable {
  package enum Direction: String, Codable, Hashable, Sendable { case input, output }

  package enum Kind: String, Codable, Hashable, Sendable {
    case audio, control, cv, atom
    /// Of a kind that we do not know: it must be optional.
    case other
  }

  /// A point of a control's range that has a name.
  package struct ScalePoint: Codable, Hashable, Sendable {
    package let value: Float
    package let label: String
  }

  package let index: Int
  package let symbol: String
  package let name: String
  package let direction: Direction
  package let kind: Kind
  /// A control's values, as the bundle has them: with `isSampleRate`, the bounds are in parts of the
  /// rate.
  package let defaultValue: Float?
  package let minimum: Float?
  package let maximum: Float?
  package let unit: PluginUnit?
  /// From the lowest value to the highest.
  package let scalePoints: [ScalePoint]
  /// Into how many steps a control that is turned step by step divides its range.
  package let steps: Int?
  package let isLogarithmic, isInteger, isToggled, isEnumeration: Bool
  /// It goes back to its default after each run that has seen another value.
  package let isTrigger: Bool
  /// It may be left unconnected.
  package let isOptional: Bool
  /// Its bounds are to be multiplied by the sample rate.
  package let isSampleRate: Bool
  /// Not for people to set.
  package let isHidden: Bool
  /// The plugin reports its latency here, in frames.
  package let reportsLatency: Bool
  /// URIs of all its properties.
  package let properties: [String]
  /// URI of what it is for: latency, enabled, freeWheeling, left, right …
  package let designation: String?
  /// URI of the group that it belongs to.
  package let group: String?
  /// The least size that its buffer must have; nil if any will do.
  package let minimumBytes: Int?
  /// URIs of the kinds of events that an atom port takes or gives.
  package let eventTypes: [String]

  /// The control's range at a sample rate; what the bundle does not say is nil.
  package func range(sampleRate: Double) -> (default: Float?, minimum: Float?, maximum: Float?) {
    let factor = isSampleRate ? Float(sampleRate) : 1
    return (
      defaultValue, minimum.map { $0 * factor }, maximum.map { $0 * factor }
    )
  }
}

/// What a number is counted in.
package struct PluginUnit: Codable, Hashable, Sendable {
  package let uri: String?
  package let name: String?
  /// Such as "dB".
  package let symbol: String?
  /// How a number is written, such as "%f dB".
  package let render: String?
}

/// Ports that belong together: the channels of one sound, or a section of the controls.
package struct PortGroup: Codable, Hashable, Sendable {
  package let uri: String
  package let name: String?
  package let symbol: String?
  /// URIs of its classes, such as a stereo group's.
  package let types: [String]
}

/// A property that is read and set by messages (patch:Get and patch:Set) and is no port.
package struct PluginParameter: Codable, Hashable, Sendable {
  package let uri: String
  package let label: String?
  /// URI of its values' type, such as atom:Float or atom:Path.
  package let range: String?
  package let defaultValue: Double?
  package let minimum: Double?
  package let maximum: Double?
  package let unit: PluginUnit?
  package let isWritable: Bool
  package let isReadable: Bool
}

/// A state that a bundle brings for a plugin.
package struct PluginPreset: Codable, Hashable, Sendable {
  package let uri: String
  package let label: String
  /// URI of the bank that it is in.
  package let bank: String?
}
