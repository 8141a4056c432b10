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
    var rest = text[...]
    while !rest.isEmpty {
      guard steps.count < Self.mostSteps else {
        throw failure("the path has more than \(Self.mostSteps) steps")
      }
      if rest.first == "[" {
        rest.removeFirst()
        steps.append(try Self.bracket(&rest, failure))
      } else {
        if !steps.isEmpty {
          guard rest.removeFirst() == "." else {
            throw failure("“.” or “[” is missing before “\(excerpt(String(rest)))”")
          }
        }
        let key = rest.prefix { $0 != "." && $0 != "[" }
        guard Self.isKey(key) else {
          throw failure("“\(excerpt(String(key)))” is no key: letters, digits and underscores")
        }
        steps.append(.key(String(key)))
        rest = rest[key.endIndex...]
      }
    }
  }

  private static func bracket(
    _ rest: inout Substring, _ failure: (String) -> SessionError
  ) throws(SessionError) -> Step {
    if rest.first == "\"" {
      // The end is the first quotation mark without a backslash before it.
      var end = rest.index(after: rest.startIndex)
      var isEscaped = false
      while end < rest.endIndex, isEscaped || rest[end] != "\"" {
        isEscaped = !isEscaped && rest[end] == "\\"
        end = rest.index(after: end)
      }
      guard end < rest.endIndex else { throw failure("the closing quotation mark is missing") }
      let quoted = rest[...end]
      rest = rest[rest.index(after: end)...]
      guard rest.first == "]" else { throw failure("“]” is missing") }
      rest.removeFirst()
      do throws(JSON5Fault) {
        guard case .text(let name) = try JSON5Parser.parse(Array(quoted.utf8)) else {
          throw JSON5Fault(line: 1, column: 1, reason: "this is no text")
        }
        return .name(name)
      } catch {
        throw failure("\(quoted): \(error.reason)")
      }
    }
    guard let end = rest.firstIndex(of: "]") else { throw failure("“]” is missing") }
    let inside = String(rest[..<end])
    rest = rest[rest.index(after: end)...]
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
