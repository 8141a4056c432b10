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
