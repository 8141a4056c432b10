import FoundationEssentials
import System

/// A JSON value without a fixed type. Numbers keep 64-bit integers exact.
package enum JSONValue: Sendable {
  case null
  case flag(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
  case list([JSONValue])
  case table([String: JSONValue])

  /// A number in its simplest form: an integer if it has no fraction and is exact.
  package init(_ number: Double) {
    if number == number.rounded(), abs(number) <= 0x1p53 {
      self = .integer(Int64(number))
    } else {
      self = .number(number)
    }
  }

  /// The value as a floating-point number; nil if it is not a number.
  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The value as an integer; nil if it is not a number without a fraction.
  package var int64: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value)
    default: nil
    }
  }

  /// The value as a text; nil for any other value.
  package var string: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The elements of a list; nil for any other value.
  package var elements: [JSONValue]? {
    if case .list(let elements) = self { elements } else { nil }
  }

  /// The members of an object; nil for any other value.
  package var members: [String: JSONValue]? {
    if case .table(let members) = self { members } else { nil }
  }

  /// Name of the value's type, for messages.
  var typeName: String {
    switch self {
    case .null: "null"
    case .flag: "true or false"
    case .integer, .number: "a number"
    case .text: "a text"
    case .list: "a list"
    case .table: "an object"
    }
  }
}

extension JSONValue: Equatable {
  /// Returns whether two values are the same. Texts are if their bytes are.
  package static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.flag(let a), .flag(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.text(let a), .text(let b)): a.isSameName(as: b)
    case (.list(let a), .list(let b)): a == b
    case (.table(let a), .table(let b)): a == b
    default: false
    }
  }
}

extension JSONValue: Codable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Decodes any JSON value.
  package init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Key.self) {
      var members: [String: JSONValue] = [:]
      for key in container.allKeys {
        members[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
      }
      self = .table(members)
      return
    }
    if var container = try? decoder.unkeyedContainer() {
      var elements: [JSONValue] = []
      while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
      self = .list(elements)
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  /// Encodes the value. Fails for a number that is not finite.
  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .flag(let value): try value.encode(to: encoder)
    case .integer(let value): try value.encode(to: encoder)
    case .number(let value): try value.encode(to: encoder)
    case .text(let value): try value.encode(to: encoder)
    case .list(let elements): try elements.encode(to: encoder)
    case .table(let members):
      var container = encoder.container(keyedBy: Key.self)
      for (key, value) in members { try container.encode(value, forKey: Key(stringValue: key)) }
    }
  }

  /// Returns the value as JSON in UTF-8, with keys in alphabetical order. Numbers that are not
  /// finite, which JSON cannot express, become null.
  package func bytes(isPretty: Bool) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    // With finite numbers, nothing here can fail to be encoded.
    guard let data = try? encoder.encode(finite) else { return Array("null".utf8) }
    return Array(data)
  }

  /// The value with null for each number that is not finite.
  private var finite: JSONValue {
    switch self {
    case .number(let value): value.isFinite ? self : .null
    case .list(let elements): .list(elements.map(\.finite))
    case .table(let members): .table(members.mapValues(\.finite))
    default: self
    }
  }
}
