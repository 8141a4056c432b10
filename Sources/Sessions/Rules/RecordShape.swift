/// The shape of an object with a fixed set of keys.
package final class RecordShape: Sendable {
  /// Name in the JSON schema.
  package let name: String
  package let fields: [FieldShape]
  private let indices: [String: Int]

  package init(_ name: String, _ fields: [FieldShape]) {
    self.name = name
    self.fields = fields
    indices = Dictionary(
      uniqueKeysWithValues: fields.enumerated().flatMap { index, field in
        [field.key, field.earlierKey].compactMap { $0 }.map { ($0, index) }
      })
  }

  /// Returns the field with a key, which may be its earlier one.
  package subscript(_ key: String) -> FieldShape? { indices[key].map { fields[$0] } }
}
