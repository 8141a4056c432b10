package import Graph
package import PluginHost

/// A value of a plugin that remote control offers: a control, or a parameter that is a number.
package struct PluginValue: Sendable {
  package let node: RemoteNode
  /// The control's symbol, or the parameter's URI.
  package let name: String
  private let isParameter: Bool
  /// The value of a plugin that reports none.
  private let absent: Float?

  /// Returns the values of a plugin, with addresses that begin with `path`.
  package static func all(of plugin: any HostedPlugin, under path: String, sampleRate: Double)
    -> [PluginValue]
  {
    let ports = plugin.description.ports.filter { $0.kind == .control && $0.direction == .input }
    let controls = ports.map { port in
      let range = port.range(sampleRate: sampleRate)
      return PluginValue(
        node: RemoteNode(
          "\(path)/\(part(port.symbol))", .parameter, types: "f",
          range: bounds(range.minimum.map { Double($0) }, range.maximum.map { Double($0) }),
          unit: port.unit?.symbol, summary: port.name),
        name: port.symbol, isParameter: false, absent: port.defaultValue)
    }
    let parameters = plugin.description.parameters.filter {
      $0.isWritable && ParameterValue(0, range: $0.range) != nil
    }
    return controls
      + parameters.map { described in
        let uri = described.uri
        let start = uri.lastIndex { $0 == "#" || $0 == "/" }.map { uri.index(after: $0) }
        return PluginValue(
          node: RemoteNode(
            "\(path)/\(part(String(uri[(start ?? uri.startIndex)...])))", .parameter, types: "f",
            range: bounds(described.minimum, described.maximum), unit: described.unit?.symbol,
            summary: described.label ?? uri),
          name: uri, isParameter: true,
          absent: Float(described.defaultValue ?? described.minimum ?? 0))
      }
  }

  /// Returns the present value.
  ///
  /// - Parameters:
  ///   - plugin: An instance; nil if it is gone.
  ///   - given: The value that was set last; nil if none was.
  package func present(in plugin: (any HostedPlugin)?, given: Double?) -> Float? {
    let given = given.map { Float($0) }
    if isParameter {
      // Not every plugin reports a parameter that was set.
      let reported = plugin?.parameterValues[name]?.number.map { Float($0) }
      return given ?? reported ?? absent
    }
    // A plugin that hangs or is gone does not say.
    return (try? plugin?.value(of: name)) ?? given ?? absent
  }

  /// Sets the value of an instance as soon as possible.
  package func set(_ value: Float, in plugin: any HostedPlugin) throws(HostError) {
    if isParameter {
      try plugin.setParameter(name, to: .float(value), at: nil)
    } else {
      try plugin.set(name, to: value, at: nil, over: 0)
    }
  }

  private static func bounds(_ low: Double?, _ high: Double?) -> ClosedRange<Double>? {
    guard let low, let high, low <= high else { return nil }
    return low...high
  }

  /// Returns a symbol as a part of an address: characters that addresses cannot have become underscores.
  static func part(_ symbol: String) -> String {
    String(
      symbol.map { character in
        let isPlain = character.isASCII && (character.isLetter || character.isNumber)
        return isPlain || character == "-" ? character : "_"
      })
  }
}
