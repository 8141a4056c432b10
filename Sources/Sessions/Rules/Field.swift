/// A field of a record: its shape, and how it is read and written.
package struct Field<Owner: SessionRecord>: Sendable {
  package let shape: FieldShape
  let read: @Sendable (inout Owner, JSONValue) -> Void
  let write: @Sendable (Owner) -> JSONValue?

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
