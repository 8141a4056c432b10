import CBus

/// A value of a D-Bus message.
enum BusValue: Equatable {
  case bool(Bool)
  case double(Double)
  case int(Int64)
  case string(String)
  case object(String)
  case strings([String])
  /// Names with values of any type.
  case table([String: BusValue])

  /// The type in D-Bus's notation.
  var signature: String {
    switch self {
    case .bool: "b"
    case .double: "d"
    case .int: "x"
    case .string: "s"
    case .object: "o"
    case .strings: "as"
    case .table: "a{sv}"
    }
  }
}
