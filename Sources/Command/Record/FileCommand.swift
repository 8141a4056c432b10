import ArgumentParser
import System

/// The value of `--on-open` and `--on-close`: a command for files of a recording, without a shell.
struct FileCommand: ExpressibleByArgument, Sendable {
  /// The program, and its arguments.
  let words: [String]
  private static let placeholder = "{}"

  init?(argument: String) {
    guard let words = Self.words(of: argument), !words.isEmpty else { return nil }
    self.words = words
  }

  /// Splits a text at spaces. Single quotation marks keep all between them, double ones all but backslashes, and a
  /// backslash keeps the next character. Nil if something is not closed.
  static func words(of text: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var quotation: Character?
    var rest = Substring(text)
    while let character = rest.popFirst() {
      switch (character, quotation) {
      case ("'", "'"?), ("\"", "\""?): quotation = nil
      case ("'", nil), ("\"", nil):
        quotation = character
        word = word ?? ""
      case ("\\", nil), ("\\", "\""?):
        guard let next = rest.popFirst() else { return nil }
        word = (word ?? "") + String(next)
      case (" ", nil), ("\t", nil), ("\n", nil):
        if let word { words.append(word) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    if quotation != nil { return nil }
    if let word { words.append(word) }
    return words
  }

  /// Returns the words for a file.
  func words(for path: String) -> [String] {
    // A path must not be taken for an option.
    let path = path.hasPrefix("-") ? "./\(path)" : path
    if words.contains(where: { $0.contains(Self.placeholder) }) {
      return words.map { $0.replacing(Self.placeholder, with: path) }
    }
    return words + [path]
  }

  /// Returns the program; nil if there is none.
  var program: String? { findProgram(words[0]) }
}
