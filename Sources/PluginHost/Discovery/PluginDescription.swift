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
