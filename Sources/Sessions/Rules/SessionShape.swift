import System

/// The form that a value in `session.json` must have: its type, unit, range and length.
///
/// The shapes of all fields are one table. Reading, checking, editing by path and the published
/// JSON schema use it.
package indirect enum SessionShape: Sendable {
  case flag
  case text(TextRule)
  /// One of these words.
  case word([String])
  case number(ClosedRange<Double>, unit: String)
  case integer(ClosedRange<Int64>, unit: String)
  case record(RecordShape)
  /// An object with exactly one of these members.
  case choice([FieldShape])
  case list(of: SessionShape, upTo: Int)
  /// A text, or a list of them.
  case texts(TextRule, upTo: Int)
  /// An object with keys of the writer's choice.
  case table(keys: TextRule, of: SessionShape, upTo: Int)
  /// A number or a switch: what a value of the session has.
  case setting

  /// Returns whether values of this form have others at a path, if they have its elements.
  func has(_ steps: ArraySlice<SessionPath.Step>) -> Bool {
    guard let step = steps.first else { return true }
    let rest = steps.dropFirst()
    switch self {
    case .record(let record): return step.word.flatMap { record[$0] }?.shape.has(rest) ?? false
    case .choice(let fields):
      return fields.first { $0.key == step.word }?.shape.has(rest) ?? false
    case .list(let element, _): return element.has(rest)
    case .texts: return rest.isEmpty
    case .table(let keys, _, _): return rest.isEmpty && step.word.map(keys.allows) ?? false
    case .flag, .text, .word, .number, .integer, .setting: return false
    }
  }
}

// MARK: - Checking

extension SessionShape {
  /// Checks a value and everything in it, and adds the faults with their paths.
  package func check(_ value: JSONValue, at path: SessionPath, _ faults: inout SessionFaults) {
    func fault(_ message: String) { faults.append(SessionFault(.error, path, message)) }
    switch (self, value) {
    case (.flag, .flag), (.setting, .flag): break
    case (.setting, .integer), (.setting, .number):
      SessionShape.parameter.check(value, at: path, &faults)
    case (.text(let rule), .text(let text)), (.texts(let rule, _), .text(let text)):
      if !rule.allows(text) { fault("“\(excerpt(text))” is not allowed: \(rule.words)") }
    case (.word(let words), .text(let text)):
      if !words.contains(text) {
        let near = NearWords.question(text, in: words)
        fault("“\(excerpt(text))” is none of \(words.joined(separator: ", "))\(near)")
      }
    case (.number(let range, let unit), .integer), (.number(let range, let unit), .number):
      check(value, range, unit, fault)
    case (.integer(let range, let unit), .integer(let number)):
      if !range.contains(number) { fault(outside("\(number)", range, unit)) }
    case (.integer(let range, let unit), .number(let number)):
      guard let integer = Int64(exactly: number) else {
        return fault("\(number) is not allowed: \(wanted)")
      }
      if !range.contains(integer) { fault(outside("\(integer)", range, unit)) }
    case (.record(let record), .table(let members)): check(members, record, path, &faults)
    case (.choice(let fields), .table(let members)): check(members, fields, path, &faults)
    case (.list(let shape, let most), .list(let elements)):
      if elements.count > most {
        return fault("\(elements.count) elements are too many: \(most) at most")
      }
      for (index, element) in elements.enumerated() {
        shape.check(element, at: path.appending(index: index), &faults)
      }
    case (.texts(let rule, let most), .list(let elements)):
      if elements.isEmpty { fault("the list is empty") }
      SessionShape.list(of: .text(rule), upTo: most).check(value, at: path, &faults)
    case (.table(let keys, let shape, let most), .table(let members)):
      if members.count > most {
        return fault("\(members.count) members are too many: \(most) at most")
      }
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        let path = path.appending(name: key)
        if !keys.allows(key) {
          faults.append(SessionFault(.error, path, "this key is not allowed: \(keys.words)"))
        }
        shape.check(value, at: path, &faults)
      }
    default: fault("\(value.typeName) is not allowed: \(wanted)")
    }
  }

  private func check(
    _ value: JSONValue, _ range: ClosedRange<Double>, _ unit: String, _ fault: (String) -> Void
  ) {
    guard let number = value.double, number.isFinite else {
      return fault("the number is not finite")
    }
    if !range.contains(number) { fault(outside(plain(number), range, unit)) }
  }

  private func outside<Bound>(_ number: String, _ range: ClosedRange<Bound>, _ unit: String)
    -> String
  { "\(number) is out of range: \(words(range, unit))" }

  private func check(
    _ members: [String: JSONValue], _ record: RecordShape, _ path: SessionPath,
    _ faults: inout SessionFaults
  ) {
    for key in members.keys.filter({ record[$0] == nil }).sorted() {
      faults.append(unknown(key, among: record.fields, at: path))
    }
    for field in record.fields {
      let path = path.appending(key: field.key)
      if let earlier = field.earlierKey, members[earlier] != nil, members[field.key] != nil {
        faults.append(
          SessionFault(.error, path, "“\(earlier)” is its earlier name: leave one of them out"))
      }
      if let value = field.value(in: members) {
        field.shape.check(value, at: path, &faults)
      } else if field.isRequired {
        faults.append(SessionFault(.error, path, "it is missing: \(field.shape.wanted)"))
      }
    }
  }

  private func check(
    _ members: [String: JSONValue], _ fields: [FieldShape], _ path: SessionPath,
    _ faults: inout SessionFaults
  ) {
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      if let field = fields.first(where: { $0.key == key }) {
        field.shape.check(value, at: path.appending(key: key), &faults)
      } else {
        faults.append(unknown(key, among: fields, at: path))
      }
    }
    if members.count != 1 {
      faults.append(SessionFault(.error, path, "it needs exactly one member: \(wanted)"))
    }
  }

  private func unknown(_ key: String, among fields: [FieldShape], at path: SessionPath)
    -> SessionFault
  {
    let near = NearWords.question(key, in: fields)
    return SessionFault(.error, path.appending(name: excerpt(key)), "unknown key\(near)")
  }

  /// Description of the values that the shape allows.
  package var wanted: String {
    switch self {
    case .flag: "true or false"
    case .text(let rule): "a text, \(rule.words)"
    case .word(let words): "one of \(words.joined(separator: ", "))"
    case .number(let range, let unit): "a number, \(words(range, unit))"
    case .integer(let range, let unit): "a whole number, \(words(range, unit))"
    case .record: "an object"
    case .choice(let fields): "an object with one of \(fields.map(\.key).joined(separator: ", "))"
    case .list: "a list"
    case .texts(let rule, _): "a text or a list of texts, each \(rule.words)"
    case .table(_, let shape, _): "an object with members that are each \(shape.wanted)"
    case .setting: "a number, true or false"
    }
  }

  private func words<Bound>(_ range: ClosedRange<Bound>, _ unit: String) -> String {
    let (low, high) = (range.lowerBound, range.upperBound)
    let bounds =
      if let low = low as? Double, let high = high as? Double {
        "\(plain(low)) to \(plain(high))"
      } else {
        "\(low) to \(high)"
      }
    return unit.isEmpty ? bounds : "\(bounds) \(unit)"
  }
}

/// Shortens a text for a message.
func excerpt(_ text: String) -> String {
  text.count > 60 ? "\(text.prefix(60))…" : text
}
