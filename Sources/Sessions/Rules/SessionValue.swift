/// A value that a field of a session can have.
package protocol SessionValue: Sendable, Equatable {
  /// Creates the value from JSON that has passed the check of the field's shape; nil if it has not.
  init?(json: JSONValue)
  var json: JSONValue { get }
}

extension Bool: SessionValue {
  package init?(json: JSONValue) {
    guard case .flag(let value) = json else { return nil }
    self = value
  }
  package var json: JSONValue { .flag(self) }
}

extension Double: SessionValue {
  package init?(json: JSONValue) {
    guard let value = json.double else { return nil }
    self = value
  }
  package var json: JSONValue { JSONValue(self) }
}

extension Int: SessionValue {
  package init?(json: JSONValue) {
    guard let value = json.int64, let integer = Int(exactly: value) else { return nil }
    self = integer
  }
  package var json: JSONValue { .integer(Int64(self)) }
}

extension Int64: SessionValue {
  package init?(json: JSONValue) {
    guard let value = json.int64 else { return nil }
    self = value
  }
  package var json: JSONValue { .integer(self) }
}

extension String: SessionValue {
  package init?(json: JSONValue) {
    guard let value = json.string else { return nil }
    self = value
  }
  package var json: JSONValue { .text(self) }
}

extension Array: SessionValue where Element: SessionValue {
  package init?(json: JSONValue) {
    // A list with a single text may be written as the text.
    let elements = json.elements ?? (json.string == nil ? nil : [json])
    guard let elements else { return nil }
    self = []
    for element in elements {
      guard let value = Element(json: element) else { return nil }
      append(value)
    }
  }
  package var json: JSONValue { .list(map(\.json)) }
}

extension Dictionary: SessionValue where Key == String, Value: SessionValue {
  package init?(json: JSONValue) {
    guard let members = json.members else { return nil }
    self = [:]
    for (key, json) in members {
      guard let value = Value(json: json) else { return nil }
      self[key] = value
    }
  }
  package var json: JSONValue { .table(mapValues(\.json)) }
}
