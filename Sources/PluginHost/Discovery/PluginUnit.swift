/// The unit of a number.
package struct PluginUnit: Codable, Hashable, Sendable {
  package let uri: String?
  package let name: String?
  /// The unit's symbol, such as "dB".
  package let symbol: String?
  /// A format string for a number, such as "%f dB".
  package let render: String?
}
