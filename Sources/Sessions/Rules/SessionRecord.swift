import System

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
