import System

/// An edit of a session document. The journal, `cuejack set` and OSC use it.
package enum SessionEdit: Sendable, Equatable {
  /// Sets the value at a path. Null restores the default, or removes an optional value.
  case set(SessionPath, JSONValue)
  /// Inserts an element into the list at a path, before the element with this index or at the end.
  case add(SessionPath, JSONValue, at: Int?)
  /// Removes the element of a list, or the member of an object with free keys, at a path.
  case remove(SessionPath)
  /// Moves the element of a list at a path, so that it has this index afterwards.
  case move(SessionPath, to: Int)
  /// Replaces the whole document.
  case replace(JSONValue)
  /// Carries out several edits. If one of them cannot be carried out, none is.
  case all([SessionEdit])

  /// Parses `PATH=VALUE`, or `PATH+=VALUE` for another element of a list. The value is JSON5, or
  /// any text where the field is a text.
  ///
  /// - Throws: `SessionError.edit` or `.syntax`.
  package init(assignment text: String, in document: SessionDocument) throws(SessionError) {
    guard let sign = Self.sign(of: text) else {
      throw .edit(path: excerpt(text), reason: "this is no PATH=VALUE")
    }
    var left = text.utf8[..<sign]
    let isAddition = left.last == UInt8(ascii: "+")
    if isAddition { left.removeLast() }
    let path = try SessionPath(typed: String(Substring(left)))
    let shape = try document.shape(at: path)
    let value = try shape.value(
      from: String(text[text.utf8.index(after: sign)...]), at: path, isElement: isAddition)
    self = isAddition ? .add(path, value, at: nil) : .set(path, value)
  }

  /// Returns the first equals sign that is not inside brackets.
  package static func sign(of text: String) -> String.Index? {
    var depth = 0
    for index in text.utf8.indices {
      switch text.utf8[index] {
      case UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "=") where depth <= 0: return index
      default: break
      }
    }
    return nil
  }
}

extension SessionEdit {
  /// The edit as JSON, as the journal has it.
  package var json: JSONValue {
    switch self {
    case .set(let path, let value): .table(["set": .text(path.description), "value": value])
    case .add(let path, let value, let index):
      .table(
        ["add": .text(path.description), "value": value].merging(
          index.map { ["at": .integer(Int64($0))] } ?? [:]
        ) { $1 })
    case .remove(let path): .table(["remove": .text(path.description)])
    case .move(let path, let index):
      .table(["move": .text(path.description), "to": .integer(Int64(index))])
    case .replace(let value): .table(["replace": value])
    case .all(let edits): .table(["all": .list(edits.map(\.json))])
    }
  }

  /// The edit in the words of `cuejack session set`.
  package var words: String {
    func text(_ value: JSONValue) -> String {
      String(decoding: value.bytes(isPretty: false), as: UTF8.self)
    }
    return switch self {
    case .set(let path, let value): "\(path)=\(text(value))"
    case .add(let path, let value, nil): "\(path)+=\(text(value))"
    case .add(let path, let value, let index?): "\(path)+=\(text(value)), at \(index)"
    case .remove(let path): "--remove \(path)"
    case .move(let path, let index): "\(path) moved to \(index)"
    case .replace: "the whole session is replaced"
    case .all(let edits): edits.map(\.words).joined(separator: " ")
    }
  }

  /// Creates an edit from its JSON.
  ///
  /// - Throws: `SessionError.edit`.
  package init(json: JSONValue) throws(SessionError) {
    let members = json.members ?? [:]
    func index(_ key: String) -> Int? { members[key]?.int64.flatMap { Int(exactly: $0) } }
    if let path = members["set"]?.string, let value = members["value"] {
      self = .set(try SessionPath(path), value)
    } else if let path = members["add"]?.string, let value = members["value"] {
      self = .add(try SessionPath(path), value, at: index("at"))
    } else if let path = members["remove"]?.string {
      self = .remove(try SessionPath(path))
    } else if let path = members["move"]?.string, let index = index("to") {
      self = .move(try SessionPath(path), to: index)
    } else if let value = members["replace"] {
      self = .replace(value)
    } else if let list = members["all"]?.elements {
      var edits: [SessionEdit] = []
      for json in list { edits.append(try SessionEdit(json: json)) }
      self = .all(edits)
    } else {
      throw .edit(path: "", reason: "this is no edit: set, add, remove, move, replace or all")
    }
  }
}

// MARK: - Applying

extension SessionDocument {
  /// Applies an edit. The document stays as it is if the edit is refused.
  ///
  /// The new value must have the right form, names must stay unique, and everything that is
  /// referred to by name must exist. A new name is carried to all references.
  ///
  /// - Throws: `SessionError.edit` or `.faults`.
  package mutating func apply(_ edit: SessionEdit) throws(SessionError) {
    self = try edited([edit])
  }

  /// Returns the document after several edits, which are checked together.
  package func edited(_ edits: [SessionEdit]) throws(SessionError) -> SessionDocument {
    var tree = json
    for edit in edits { try Self.apply(edit, to: &tree) }
    guard let document = SessionDocument(json: tree) else {
      throw .edit(path: "", reason: "the document is no object")
    }
    let faults = SessionCheck.references(of: document).filter { $0.severity == .error }
    // Faults that the document had before do not stand in the way.
    if !faults.isEmpty {
      let before = Set(SessionCheck.references(of: self))
      let new = faults.filter { !before.contains($0) }
      if !new.isEmpty { throw .faults(file: "", SessionFaults(new).list) }
    }
    return document
  }

  /// Returns the value at a path, with defaults for absent fields.
  ///
  /// - Throws: `SessionError.edit` if there is no such field or element.
  package func value(at path: SessionPath) throws(SessionError) -> JSONValue {
    var found = JSONValue.null
    var tree = json
    try Self.visit(&tree, .record(Self.shape), path) { value, _, absent throws(SessionError) in
      found = value ?? absent ?? .null
    }
    return found
  }

  /// Returns the shape of the value at a path, and its value.
  ///
  /// - Throws: `SessionError.edit` if there is no such field or element.
  package func shape(at path: SessionPath) throws(SessionError) -> SessionShape {
    var found = SessionShape.record(Self.shape)
    var tree = json
    try Self.visit(&tree, .record(Self.shape), path) { _, shape, _ throws(SessionError) in
      found = shape
    }
    return found
  }

  /// Applies an edit to a tree, and checks the form of what it changes.
  private static func apply(_ edit: SessionEdit, to tree: inout JSONValue) throws(SessionError) {
    switch edit {
    case .replace(let value):
      try check(value, .record(shape), .root)
      tree = value
    case .all(let edits): for edit in edits { try apply(edit, to: &tree) }
    case .set(let path, let value):
      if path.isEmpty { return try apply(.replace(value), to: &tree) }
      let old = try name(at: path, in: &tree)
      try set(value, at: path, in: &tree)
      if let old, let new = value.string, !old.isSameName(as: new) {
        rename(path, from: old, to: new, in: &tree)
      }
    case .add(let path, let value, let index):
      try visit(&tree, .record(shape), path) { slot, shape, absent throws(SessionError) in
        guard let element = shape.element, var elements = (slot ?? absent ?? .list([])).elements
        else {
          throw .edit(path: path.description, reason: "it is no list")
        }
        let index = index ?? elements.count
        guard (0...elements.count).contains(index) else {
          throw .edit(
            path: path.description, reason: "the index \(index) is none of 0 to \(elements.count)")
        }
        try check(value, element, path.appending(index: index))
        elements.insert(value, at: index)
        try check(.list(elements), shape, path)
        slot = .list(elements)
      }
    case .remove(let path):
      try withList(of: path, in: &tree) { elements, index throws(SessionError) in
        elements.remove(at: index)
      }
    case .move(let path, let index):
      try withList(of: path, in: &tree) { elements, from throws(SessionError) in
        guard elements.indices.contains(index) else {
          throw .edit(
            path: path.description,
            reason: "the index \(index) is none of 0 to \(elements.count - 1)")
        }
        elements.insert(elements.remove(at: from), at: index)
      }
    }
  }

  private static func check(_ value: JSONValue, _ shape: SessionShape, _ path: SessionPath)
    throws(SessionError)
  {
    var faults = SessionFaults()
    shape.check(value, at: path, &faults)
    if !faults.isEmpty { throw .faults(file: "", faults.list) }
  }

  private static func set(_ value: JSONValue, at path: SessionPath, in tree: inout JSONValue)
    throws(SessionError)
  {
    let parent = SessionPath(path.steps.dropLast())
    let last = path.steps[(path.steps.count - 1)...]
    try visit(&tree, .record(shape), parent) { slot, shape, absent throws(SessionError) in
      try visit(&slot, shape, absent, last, path) { slot, shape, _ throws(SessionError) in
        if value == .null {
          slot = nil
        } else {
          try check(value, shape, path)
          slot = value
        }
      }
      switch (shape, last.first, slot) {
      case (.record(let record), .key(let key), _):
        if record[key]?.isRequired == true, slot?.members?[key] == nil {
          throw .edit(path: path.description, reason: "it cannot be removed")
        }
      case (.choice, .key(let key), .some(.table(let members))):
        // A choice has one member: the others go.
        slot = members[key].map { .table([key: $0]) }
      case (.table, _, .some(let value)), (.texts, _, .some(let value)):
        try check(value, shape, parent)
      default: break
      }
    }
  }

  /// Edits the list that has the element at a path.
  private static func withList(
    of path: SessionPath, in tree: inout JSONValue,
    _ body: (inout [JSONValue], Int) throws(SessionError) -> Void
  ) throws(SessionError) {
    let parent = SessionPath(path.steps.dropLast())
    guard let last = path.steps.last else {
      throw .edit(path: "", reason: "the whole session cannot be removed or moved")
    }
    try visit(&tree, .record(shape), parent) { slot, shape, absent throws(SessionError) in
      if case .table = shape, case .table(var members) = slot ?? .table([:]) {
        guard let key = last.word, members.removeValue(forKey: key) != nil else {
          throw .edit(path: path.description, reason: "there is no such member")
        }
        slot = .table(members)
        return
      }
      guard var elements = (slot ?? absent)?.elements, shape.element != nil else {
        throw .edit(path: path.description, reason: "it is no element of a list")
      }
      let index = try Self.index(of: last, in: elements, path)
      try body(&elements, index)
      slot = .list(elements)
    }
  }

  // MARK: Finding values

  /// Calls `body` with the value at a path, its shape and its default. `body` may change the value;
  /// nil stands for an absent one.
  private static func visit(
    _ tree: inout JSONValue, _ shape: SessionShape, _ path: SessionPath,
    _ body: (inout JSONValue?, SessionShape, JSONValue?) throws(SessionError) -> Void
  ) throws(SessionError) {
    var slot: JSONValue? = tree
    try visit(&slot, shape, nil, path.steps[...], path, body)
    tree = slot ?? .table([:])
  }

  private static func visit(
    _ slot: inout JSONValue?, _ shape: SessionShape, _ absent: JSONValue?,
    _ steps: ArraySlice<SessionPath.Step>, _ path: SessionPath,
    _ body: (inout JSONValue?, SessionShape, JSONValue?) throws(SessionError) -> Void
  ) throws(SessionError) {
    guard let step = steps.first else { return try body(&slot, shape, absent) }
    let rest = steps.dropFirst()
    let done = SessionPath(Array(path.steps.prefix(path.steps.count - rest.count)))
    func visitMember(
      _ key: String, _ shape: SessionShape, _ usual: JSONValue?, earlier: String? = nil
    ) throws(SessionError) {
      var members = (slot ?? absent)?.members ?? [:]
      // Taken out, so that the member is changed in place.
      var member = members.removeValue(forKey: key)
      if let earlier, let value = members.removeValue(forKey: earlier) { member = member ?? value }
      try visit(&member, shape, usual, rest, path, body)
      members[key] = member
      slot = .table(members)
    }
    switch shape {
    case .record(let record):
      guard case .key(let key) = step, let field = record[key] else {
        throw unknown(step, among: record.fields, at: done)
      }
      try visitMember(field.key, field.shape, field.absent, earlier: field.earlierKey)
    case .choice(let fields):
      guard case .key(let key) = step, let field = fields.first(where: { $0.key == key }) else {
        throw unknown(step, among: fields, at: done)
      }
      try visitMember(key, field.shape, nil)
    case .table(let keys, let value, _):
      guard let key = step.word, keys.allows(key) else {
        throw .edit(path: done.description, reason: "this key is not allowed: \(keys.words)")
      }
      try visitMember(key, value, nil)
    case .list(let element, _):
      var elements = (slot ?? absent)?.elements ?? []
      let index = try index(of: step, in: elements, done)
      var value: JSONValue? = elements[index]
      elements[index] = .null
      try visit(&value, element, nil, rest, path, body)
      guard let value else {
        throw .edit(path: path.description, reason: "an element is removed, not set to null")
      }
      elements[index] = value
      slot = .list(elements)
    case .texts(let rule, let most):
      if let text = slot?.string { slot = .list([.text(text)]) }
      try visit(&slot, .list(of: .text(rule), upTo: most), absent, steps, path, body)
      if let elements = slot?.elements, elements.count == 1 { slot = elements[0] }
    default:
      throw .edit(path: done.description, reason: "there is nothing inside a value like this")
    }
  }

  private static func unknown(
    _ step: SessionPath.Step, among fields: [FieldShape], at path: SessionPath
  ) -> SessionError {
    let none = ": it is none of \(fields.map(\.key).joined(separator: ", "))"
    let near = step.word.map { NearWords.question($0, in: fields, otherwise: none) } ?? none
    return .edit(path: path.description, reason: "unknown key\(near)")
  }

  private static func index(
    of step: SessionPath.Step, in elements: [JSONValue], _ path: SessionPath
  ) throws(SessionError) -> Int {
    switch step {
    case .index(let index):
      if elements.indices.contains(index) { return index }
      throw .edit(
        path: path.description,
        reason: elements.isEmpty
          ? "the list is empty"
          : "there is no element \(index): 0 to \(elements.count - 1) are there")
    case .name(let name), .key(let name):
      if let index = elements.firstIndex(where: { label(of: $0)?.isSameName(as: name) == true }) {
        return index
      }
      let names = elements.compactMap(label)
      let near = NearWords.question(name, in: names)
      throw .edit(path: path.description, reason: "there is no element with this name\(near)")
    }
  }

  /// Returns the name or id of an element.
  private static func label(of element: JSONValue) -> String? {
    (element.members?["name"] ?? element.members?["id"])?.string
  }
}

extension SessionPath.Step {
  /// The key or name; nil for an index.
  package var word: String? {
    switch self {
    case .key(let word), .name(let word): word
    case .index: nil
    }
  }
}

extension SessionShape {
  /// Returns the JSON of a value that a user typed for this field, or for an element of this list.
  fileprivate func value(from text: String, at path: SessionPath, isElement: Bool)
    throws(SessionError) -> JSONValue
  {
    switch isElement ? element ?? self : self {
    case .text, .word: return .text(text)
    case .texts where !text.hasPrefix("["): return .text(text)
    default: break
    }
    var text = text
    if case .number(_, let unit) = self, unit == "dB" || unit.isEmpty {
      text = withoutDecibels(text)
    }
    do throws(JSON5Fault) {
      return try JSON5Parser.parse(Array(text.utf8))
    } catch {
      throw .edit(
        path: path.description, reason: "“\(excerpt(text))” is no value: \(error.reason)")
    }
  }

  /// The shape of a list's elements; nil for other shapes.
  fileprivate var element: SessionShape? {
    switch self {
    case .list(let element, _): element
    case .texts(let rule, _): .text(rule)
    default: nil
    }
  }
}

// MARK: - Names

extension SessionDocument {
  /// Returns the name at a path such as `name` or `tracks[2].name`; nil for any other path.
  private static func name(at path: SessionPath, in tree: inout JSONValue) throws(SessionError)
    -> String?
  {
    guard path.steps.count == 3 || path.steps.count == 1, path.steps.last == .key("name") else {
      return nil
    }
    var name: String?
    try visit(&tree, .record(shape), path) { slot, _, _ throws(SessionError) in
      name = slot?.string
    }
    return name
  }
}
