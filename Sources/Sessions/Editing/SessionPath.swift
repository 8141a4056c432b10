import System

/// The path of a value in a session document, such as `tracks[drums].chain[0].parameters.gain`.
///
/// An element of a list is given by its index, from 0 on, or by its name or id. A name that is a
/// number or has a quotation mark, a bracket or a backslash stands in quotation marks, as in JSON:
/// `tracks["2"]`.
package struct SessionPath: Sendable, Hashable {
  /// A step from a value to one inside it.
  package enum Step: Sendable, Hashable {
    /// A member of an object.
    case key(String)
    /// An element of a list, by index.
    case index(Int)
    /// An element of a list by its name or id, or a member of an object with free keys.
    case name(String)

    package static func == (a: Self, b: Self) -> Bool {
      switch (a, b) {
      case (.index(let a), .index(let b)): a == b
      case (.key(let a), .key(let b)), (.name(let a), .name(let b)): a.isSameName(as: b)
      default: false
      }
    }
  }
  package var steps: [Step]

  package init(_ steps: [Step] = []) { self.steps = steps }

  /// The path of the whole document.
  package static var root: SessionPath { SessionPath() }

  package var isEmpty: Bool { steps.isEmpty }

  /// Appends the key of a field.
  package func appending(key: String) -> SessionPath { SessionPath(steps + [.key(key)]) }
  /// Appends the index of an element.
  package func appending(index: Int) -> SessionPath { SessionPath(steps + [.index(index)]) }
  /// Appends a key of the writer's choice, which may need quotation marks.
  package func appending(name: String) -> SessionPath {
    SessionPath(steps + [Self.isKey(name) ? .key(name) : .name(name)])
  }

  /// The greatest length of a path in bytes, and its most steps.
  static let mostBytes = 1024
  static let mostSteps = 16

  static func isKey(_ text: some StringProtocol) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.utf8.allSatisfy {
      switch $0 {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
      default: false
      }
    }
  }

  /// Parses a path.
  ///
  /// - Throws: `SessionError.edit`.
  package init(_ text: String) throws(SessionError) {
    func failure(_ reason: String) -> SessionError { .edit(path: excerpt(text), reason: reason) }
    guard text.utf8.count <= Self.mostBytes else {
      throw failure("the path is longer than \(Self.mostBytes) bytes")
    }
    steps = []
    var rest = text.utf8[...]
    while let first = rest.first {
      guard steps.count < Self.mostSteps else {
        throw failure("the path has more than \(Self.mostSteps) steps")
      }
      if first == UInt8(ascii: "[") {
        rest.removeFirst()
        steps.append(try Self.bracket(&rest, failure))
      } else {
        if !steps.isEmpty {
          guard first == UInt8(ascii: ".") else {
            throw failure("“.” or “[” is missing before “\(excerpt(String(Substring(rest))))”")
          }
          rest.removeFirst()
        }
        let bytes = rest.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
        let key = String(Substring(bytes))
        guard Self.isKey(key) else {
          throw failure("“\(excerpt(key))” is no key: letters, digits and underscores")
        }
        steps.append(.key(key))
        rest = rest[bytes.endIndex...]
      }
    }
  }

  /// Parses a path as people type it: also as an OSC address, such as `tracks/1/gain` or
  /// `tracks/drums/plugins/1/threshold`, in which elements count from 1.
  ///
  /// - Throws: `SessionError.edit`.
  package init(typed text: String) throws(SessionError) {
    guard let slash = text.firstIndex(of: "/"), !text[..<slash].contains("["),
      text.utf8.count <= Self.mostBytes
    else {
      self = try SessionPath(text)
      return
    }
    var parts = text.split(separator: "/").map { String($0) }
    if text.hasPrefix("/"), parts.first == "cuejack" { parts.removeFirst() }
    func element(_ part: String) throws(SessionError) -> Step {
      guard let number = Int(part) else { return Self.isKey(part) ? .key(part) : .name(part) }
      guard number > 0 else {
        throw .edit(path: excerpt(text), reason: "elements of an address count from 1")
      }
      return .index(number - 1)
    }
    steps = []
    if parts.count > 1 { steps = [.key(parts[0]), try element(parts[1])] }
    switch parts.dropFirst(2).first {
    case "plugins" where parts.count == 4:
      steps += [.key("chain"), try element(parts[3])]
    case "plugins" where parts.count == 5:
      steps += [.key("chain"), try element(parts[3]), .key("parameters"), .name(parts[4])]
    case "bypass" where parts.count == 4:
      steps += [.key("chain"), try element(parts[3]), .key("bypass")]
    default: steps += parts.dropFirst(steps.count).map { .key($0) }
    }
  }

  /// Whether documents have such a value, if they have its elements.
  package var isPossible: Bool { SessionShape.record(SessionDocument.shape).has(steps[...]) }

  /// The path as an OSC address without its root; nil if the document alone has such a value.
  package var address: String? {
    guard steps.count > 2, case .key(let list) = steps[0] else { return nil }
    func part(_ step: Step) -> String {
      switch step {
      case .index(let index): "\(index + 1)"
      case .key(let word), .name(let word): word
      }
    }
    let owner = "\(list)/\(part(steps[1]))"
    switch steps.dropFirst(2).map(part) {
    case let rest where rest.count == 4 && rest[0] == "chain" && rest[2] == "parameters":
      return "\(owner)/plugins/\(rest[1])/\(rest[3])"
    case let rest where rest.count == 3 && rest[0] == "chain" && rest[2] == "bypass":
      return "\(owner)/bypass/\(rest[1])"
    case let rest: return "\(owner)/\(rest.joined(separator: "/"))"
    }
  }

  private static func bracket(
    _ rest: inout Substring.UTF8View, _ failure: (String) -> SessionError
  ) throws(SessionError) -> Step {
    let (quote, end) = (UInt8(ascii: "\""), UInt8(ascii: "]"))
    if rest.first == quote {
      // The end is the first quotation mark without a backslash before it.
      var last = rest.index(after: rest.startIndex)
      var isEscaped = false
      while last < rest.endIndex, isEscaped || rest[last] != quote {
        isEscaped = !isEscaped && rest[last] == UInt8(ascii: "\\")
        last = rest.index(after: last)
      }
      guard last < rest.endIndex else { throw failure("the closing quotation mark is missing") }
      let quoted = rest[...last]
      rest = rest[rest.index(after: last)...]
      guard rest.first == end else { throw failure("“]” is missing") }
      rest.removeFirst()
      do throws(JSON5Fault) {
        guard case .text(let name) = try JSON5Parser.parse(Array(quoted)) else {
          throw JSON5Fault(line: 1, column: 1, reason: "this is no text")
        }
        return .name(name)
      } catch {
        throw failure("\(Substring(quoted)): \(error.reason)")
      }
    }
    guard let last = rest.firstIndex(of: end) else { throw failure("“]” is missing") }
    let inside = String(Substring(rest[..<last]))
    rest = rest[rest.index(after: last)...]
    if inside.isEmpty { throw failure("an index or a name is missing between “[” and “]”") }
    if inside.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      guard let index = Int(inside), index < 1 << 31 else {
        throw failure("“\(inside)” is too great an index")
      }
      return .index(index)
    }
    return .name(inside)
  }
}

extension SessionPath: CustomStringConvertible {
  package var description: String {
    var text = ""
    for step in steps {
      switch step {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .index(let index): text += "[\(index)]"
      case .name(let name):
        let isPlain =
          !name.isEmpty && !name.utf8.allSatisfy { (0x30...0x39).contains($0) }
          && !name.unicodeScalars.contains {
            "[]\"\\".unicodeScalars.contains($0) || $0.value < 0x20
          }
        text +=
          isPlain
          ? "[\(name)]"
          : "[\(String(decoding: JSONValue.text(name).bytes(isPretty: false), as: UTF8.self))]"
      }
    }
    return text
  }
}
