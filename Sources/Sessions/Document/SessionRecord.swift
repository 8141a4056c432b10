import System

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

extension Dictionary: SessionValue where Key == String, Value == Double {
  package init?(json: JSONValue) {
    guard let members = json.members else { return nil }
    self = [:]
    for (key, value) in members {
      guard let number = value.double else { return nil }
      self[key] = number
    }
  }
  package var json: JSONValue { .table(mapValues { JSONValue($0) }) }
}

/// One of a fixed set of words.
package protocol SessionWord: SessionValue, CaseIterable, RawRepresentable
where RawValue == String {}

extension SessionWord {
  package init?(json: JSONValue) {
    guard let word = json.string else { return nil }
    self.init(rawValue: word)
  }
  package var json: JSONValue { .text(rawValue) }
  static var shape: SessionShape { .word(allCases.map(\.rawValue)) }
}

/// An object with a fixed set of keys. The table of fields determines how it is read, written,
/// checked and edited.
package protocol SessionRecord: SessionValue, Codable {
  /// Creates the record with the default of each field.
  init()
  static var fields: [Field<Self>] { get }
  static var shape: RecordShape { get }
}

extension SessionRecord {
  /// Returns whether two records are written in the same way: texts are compared by their bytes.
  package static func == (a: Self, b: Self) -> Bool { a.json == b.json }

  package init?(json: JSONValue) {
    guard let members = json.members else { return nil }
    self.init()
    for field in Self.fields {
      if let value = field.shape.value(in: members) { field.read(&self, value) }
    }
  }

  /// The fields that differ from their defaults, and the required ones.
  package var json: JSONValue {
    var members: [String: JSONValue] = [:]
    for field in Self.fields {
      if let value = field.write(self) { members[field.shape.key] = value }
    }
    return .table(members)
  }

  /// Decodes and checks the record.
  ///
  /// - Throws: `DecodingError.dataCorrupted`, whose description lists all faults.
  package init(from decoder: any Decoder) throws {
    let json = try JSONValue(from: decoder)
    var faults = SessionFaults()
    SessionShape.record(Self.shape).check(json, at: .root, &faults)
    guard faults.isEmpty, let value = Self(json: json) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: faults.list.map(\.description).joined(separator: "; ")))
    }
    self = value
  }

  /// Encodes the fields that differ from their defaults.
  package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// A field of a record: its shape, and how it is read and written.
package struct Field<Owner: SessionRecord>: Sendable {
  package let shape: FieldShape
  fileprivate let read: @Sendable (inout Owner, JSONValue) -> Void
  fileprivate let write: @Sendable (Owner) -> JSONValue?

  /// A field with a default, which is not written.
  init<Value: SessionValue>(
    _ key: String, _ property: any WritableKeyPath<Owner, Value> & Sendable, _ shape: SessionShape,
    _ summary: String, isRequired: Bool = false, synonyms: [String] = [],
    earlierKey: String? = nil
  ) {
    let absent = Owner()[keyPath: property]
    self.shape = FieldShape(
      key: key, shape: shape, isRequired: isRequired, absent: isRequired ? nil : absent.json,
      summary: summary, synonyms: synonyms, earlierKey: earlierKey)
    read = { owner, json in
      if let value = Value(json: json) { owner[keyPath: property] = value }
    }
    write = { owner in
      let value = owner[keyPath: property]
      if !isRequired, value == absent { return nil }
      if case .texts = shape, let elements = value.json.elements, elements.count == 1 {
        return elements[0]
      }
      return value.json
    }
  }

  /// A field that may be absent.
  init<Value: SessionValue>(
    _ key: String, _ property: any WritableKeyPath<Owner, Value?> & Sendable, _ shape: SessionShape,
    _ summary: String, synonyms: [String] = []
  ) {
    self.shape = FieldShape(
      key: key, shape: shape, isRequired: false, absent: nil, summary: summary, synonyms: synonyms)
    read = { owner, json in owner[keyPath: property] = Value(json: json) }
    write = { owner in owner[keyPath: property]?.json }
  }
}
