/// A field of a record: its key, shape and default.
package struct FieldShape: Sendable {
  package let key: String
  package let shape: SessionShape
  package let isRequired: Bool
  /// The value of an absent field; nil if there is none.
  package let absent: JSONValue?
  /// One sentence for the JSON schema.
  package let summary: String
  /// Other words for the key that people try.
  let synonyms: [String]
  /// An earlier key, which documents and paths may still have.
  var earlierKey: String?

  /// Returns the field's value among the members of an object; nil if it is absent.
  func value(in members: [String: JSONValue]) -> JSONValue? {
    members[key] ?? earlierKey.flatMap { members[$0] }
  }
}
