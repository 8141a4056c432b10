/// A number or a switch: what scenes and curves give a value of the session.
package enum SessionSetting: SessionValue {
  case number(Double)
  case flag(Bool)

  package init?(json: JSONValue) {
    switch json {
    case .flag(let flag): self = .flag(flag)
    default:
      guard let number = json.double else { return nil }
      self = .number(number)
    }
  }

  package var json: JSONValue {
    switch self {
    case .number(let number): JSONValue(number)
    case .flag(let flag): .flag(flag)
    }
  }

  /// The setting as a number; a switch is 0 or 1.
  package var number: Double {
    switch self {
    case .number(let number): number
    case .flag(let flag): flag ? 1 : 0
    }
  }
}
