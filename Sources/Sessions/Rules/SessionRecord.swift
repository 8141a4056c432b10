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
