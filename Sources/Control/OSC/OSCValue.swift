/// An argument of an OSC message, with the type tag under which it travels.
package enum OSCValue: Hashable, Sendable {
  /// 32-bit integer, tag `i`.
  case int(Int32)
  /// 32-bit float, tag `f`.
  case float(Float)
  /// Text without a null character, tag `s`.
  case string(String)
  /// Bytes, tag `b`.
  case blob([UInt8])
  /// Tag `T` or `F`.
  case bool(Bool)
  /// Tag `N`.
  case null
  /// Tag `I`.
  case impulse
  /// 64-bit integer, tag `h`.
  case long(Int64)
  /// 64-bit float, tag `d`.
  case double(Double)

  /// The type tag.
  package var tag: Character {
    switch self {
    case .int: "i"
    case .float: "f"
    case .string: "s"
    case .blob: "b"
    case .bool(let isTrue): isTrue ? "T" : "F"
    case .null: "N"
    case .impulse: "I"
    case .long: "h"
    case .double: "d"
    }
  }

  /// The value of a number of any tag; nil for all others.
  package var number: Double? {
    switch self {
    case .int(let value): Double(value)
    case .float(let value): Double(value)
    case .long(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The text of a string; nil for all others.
  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

extension OSCValue: CustomStringConvertible {
  /// The value as `cuejack osc` prints it.
  package var description: String {
    switch self {
    case .int(let value): "\(value)"
    case .float(let value): "\(value)"
    case .string(let text): text
    case .blob(let bytes): "\(bytes.count) bytes"
    case .bool(let isTrue): isTrue ? "true" : "false"
    case .null: "nothing"
    case .impulse: "impulse"
    case .long(let value): "\(value)"
    case .double(let value): "\(value)"
    }
  }
}
