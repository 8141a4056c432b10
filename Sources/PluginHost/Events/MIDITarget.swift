/// A control, or a numeric parameter, of a plugin, and the part of its range that a controller covers.
package struct MIDITarget: Codable, Hashable, Sendable {
  /// The control's symbol, the parameter's URI, or the part of that URI after its last `#`.
  package var name: String
  /// The values at controller positions 0 and 127; `low` may exceed `high`. Nil for the ends of the
  /// range.
  package var low, high: Float?

  package init(_ name: String, low: Float? = nil, high: Float? = nil) {
    self.name = name
    self.low = low
    self.high = high
  }
}

extension MIDITarget: CustomStringConvertible {
  /// `NAME` or `NAME:LOW..HIGH`.
  package var description: String {
    guard let low, let high else { return name }
    return "\(name):\(low)..\(high)"
  }
}
