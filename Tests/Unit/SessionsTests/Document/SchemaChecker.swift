import Foundation
import Sessions

/// A checker for the part of JSON schema that the session's schema uses. It knows nothing of the types.
struct SchemaChecker {
  private let definitions: [String: JSONValue]
  private let root: JSONValue
  private static let known: Set<String> = [
    "$schema", "$id", "$defs", "$ref", "title", "description", "default", "type", "enum", "minimum",
    "maximum", "items", "minItems", "maxItems", "oneOf", "properties", "additionalProperties",
    "required", "propertyNames", "minProperties", "maxProperties", "maxLength", "pattern",
  ]

  init(_ schema: JSONValue) {
    root = schema
    definitions = schema.members?["$defs"]?.members ?? [:]
  }

  /// Returns the reasons why a value does not agree with the schema.
  func faults(of value: JSONValue) -> [String] { faults(of: value, root, "") }

  private func faults(of value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
    guard let rules = schema.members else {
      return schema == .flag(false) ? ["\(path) is not allowed"] : []
    }
    var found: [String] = []
    func require(_ holds: Bool, _ rule: String) { if !holds { found.append("\(path): \(rule)") } }
    require(Set(rules.keys).isSubset(of: Self.known), "the checker does not know all rules")
    if let name = rules["$ref"]?.string {
      let target = definitions[String(name.dropFirst("#/$defs/".count))]
      require(target != nil, name)
      found += faults(of: value, target ?? .null, path)
    }
    switch rules["type"]?.string {
    case "boolean": require([.flag(true), .flag(false)].contains(value), "type")
    case "string": require(value.string != nil, "type")
    case "number": require(value.double?.isFinite == true, "type")
    case "integer": require(value.int64 != nil, "type")
    case "array": require(value.elements != nil, "type")
    case "object": require(value.members != nil, "type")
    default: break
    }
    if let words = rules["enum"]?.elements { require(words.contains(value), "enum") }
    if let number = value.double {
      if let least = rules["minimum"]?.double { require(number >= least, "minimum") }
      if let most = rules["maximum"]?.double { require(number <= most, "maximum") }
    }
    if let text = value.string {
      if let most = rules["maxLength"]?.double {
        require(Double(text.unicodeScalars.count) <= most, "maxLength")
      }
      if let pattern = rules["pattern"]?.string {
        let range = text.range(of: pattern, options: .regularExpression)
        require(range != nil, "pattern \(pattern)")
      }
    }
    if let elements = value.elements {
      if let least = rules["minItems"]?.double {
        require(Double(elements.count) >= least, "minItems")
      }
      if let most = rules["maxItems"]?.double {
        require(Double(elements.count) <= most, "maxItems")
      }
      for (index, element) in elements.enumerated() {
        if let items = rules["items"] { found += faults(of: element, items, "\(path)[\(index)]") }
      }
    }
    if let choices = rules["oneOf"]?.elements {
      require(choices.count { faults(of: value, $0, path).isEmpty } == 1, "oneOf")
    }
    if let members = value.members {
      if let least = rules["minProperties"]?.double {
        require(Double(members.count) >= least, "minProperties")
      }
      if let most = rules["maxProperties"]?.double {
        require(Double(members.count) <= most, "maxProperties")
      }
      for key in rules["required"]?.elements ?? [] {
        require(members[key.string ?? ""] != nil, "required \(key)")
      }
      for (key, member) in members {
        if let names = rules["propertyNames"] {
          found += faults(of: .text(key), names, "\(path).\(key)")
        }
        if let rule = rules["properties"]?.members?[key] ?? rules["additionalProperties"] {
          found += faults(of: member, rule, "\(path).\(key)")
        }
      }
    }
    return found
  }
}
