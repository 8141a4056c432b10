/// The JSON schema of `session.json`, made from the table of fields. `sessions/session.schema.json`
/// is a copy.
package enum SessionSchema {
  /// The schema, in draft 2020-12.
  package static var json: JSONValue {
    var definitions: [String: JSONValue] = [:]
    var members = schema(of: .record(SessionDocument.shape), &definitions).members ?? [:]
    // The document's own definition is the schema's top.
    if case .table(let top)? = definitions.removeValue(forKey: SessionDocument.shape.name) {
      members = top
    }
    members["$schema"] = .text("https://json-schema.org/draft/2020-12/schema")
    members["$id"] = .text("urn:cuejack:session:\(SessionDocument.currentVersion)")
    members["title"] = .text("A Cuejack session")
    members["$defs"] = .table(definitions)
    return .table(members)
  }

  /// Returns the schema of a shape. Records become definitions, to which it refers.
  private static func schema(of shape: SessionShape, _ definitions: inout [String: JSONValue])
    -> JSONValue
  {
    switch shape {
    case .flag: return .table(["type": .text("boolean")])
    case .text(let rule): return .table(members(of: rule))
    case .word(let words): return .table(["enum": .list(words.map { .text($0) })])
    case .number(let range, _):
      return .table([
        "type": .text("number"), "minimum": JSONValue(range.lowerBound),
        "maximum": JSONValue(range.upperBound),
      ])
    case .integer(let range, _):
      return .table([
        "type": .text("integer"), "minimum": .integer(range.lowerBound),
        "maximum": .integer(range.upperBound),
      ])
    case .list(let element, let most):
      return .table([
        "type": .text("array"), "items": schema(of: element, &definitions),
        "maxItems": .integer(Int64(most)),
      ])
    case .texts(let rule, let most):
      let text = JSONValue.table(members(of: rule))
      return .table([
        "oneOf": .list([
          text,
          .table([
            "type": .text("array"), "items": text, "minItems": .integer(1),
            "maxItems": .integer(Int64(most)),
          ]),
        ])
      ])
    case .setting:
      return .table([
        "oneOf": .list([schema(of: .parameter, &definitions), schema(of: .flag, &definitions)])
      ])
    case .table(let keys, let shape, let most):
      return .table([
        "type": .text("object"), "propertyNames": .table(members(of: keys)),
        "additionalProperties": schema(of: shape, &definitions),
        "maxProperties": .integer(Int64(most)),
      ])
    case .choice(let fields):
      return .table([
        "type": .text("object"), "properties": properties(of: fields, &definitions),
        "additionalProperties": .flag(false), "minProperties": .integer(1),
        "maxProperties": .integer(1),
      ])
    case .record(let record):
      let reference = JSONValue.table(["$ref": .text("#/$defs/\(record.name)")])
      if definitions[record.name] != nil { return reference }
      // Against records that hold themselves.
      definitions[record.name] = .null
      var members: [String: JSONValue] = [
        "type": .text("object"), "properties": properties(of: record.fields, &definitions),
        "additionalProperties": .flag(false),
      ]
      let required = record.fields.filter(\.isRequired).map { JSONValue.text($0.key) }
      if !required.isEmpty { members["required"] = .list(required) }
      definitions[record.name] = .table(members)
      return reference
    }
  }

  private static func properties(
    of fields: [FieldShape], _ definitions: inout [String: JSONValue]
  ) -> JSONValue {
    var members: [String: JSONValue] = [:]
    for field in fields {
      guard case .table(var member) = schema(of: field.shape, &definitions) else { continue }
      member["description"] = .text(summary(of: field))
      if let absent = field.absent, !isEmpty(absent) { member["default"] = absent }
      members[field.key] = .table(member)
      if let earlier = field.earlierKey {
        member["deprecated"] = .flag(true)
        member["description"] = .text("The earlier name of \(field.key).")
        members[earlier] = .table(member)
      }
    }
    return .table(members)
  }

  /// The field's summary with its unit.
  private static func summary(of field: FieldShape) -> String {
    switch field.shape {
    case .number(_, let unit) where !unit.isEmpty && !field.summary.contains(unit),
      .integer(_, let unit) where !unit.isEmpty && !field.summary.contains(unit):
      "\(field.summary) Unit: \(unit)."
    default: field.summary
    }
  }

  private static func isEmpty(_ value: JSONValue) -> Bool {
    value.elements?.isEmpty ?? value.members?.isEmpty ?? false
  }

  private static func members(of rule: TextRule) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "type": .text("string"), "maxLength": .integer(Int64(rule.mostBytes)),
    ]
    if let pattern = rule.pattern { members["pattern"] = .text(pattern) }
    return members
  }
}
