import ArgumentParser

/// The command line for which a shell requests completions.
struct CompletionLine {
  /// The words up to the one being completed, without quotation marks and backslashes.
  let words: [String]
  /// The word being completed.
  var current: String { words.last ?? "" }

  /// - Parameters:
  ///   - words: The words of the command line as the shell has them.
  ///   - index: Position of the word being completed.
  ///   - shell: The shell. fish removes quotation marks and backslashes itself, until version 4.
  ///   - version: The shell's version.
  init(_ words: [String], at index: Int, of shell: CompletionShell?, version: String?) {
    let line = words.prefix(max(0, index + 1))
    let number = Int((version ?? "").prefix { $0.isNumber }) ?? 0
    self.words = shell == .fish && number < 4 ? Array(line) : line.map(Self.unquoted)
  }

  /// Returns the values given to an option before the word being completed.
  func values(of option: String) -> [String] {
    var values: [String] = []
    for (index, word) in words.dropLast().enumerated() {
      if word == option, index + 2 < words.count { values.append(words[index + 1]) }
      if word.hasPrefix(option + "=") { values.append(String(word.dropFirst(option.count + 1))) }
    }
    return values
  }

  /// Returns a word of a shell without its quotation marks and backslashes.
  static func unquoted(_ word: String) -> String {
    var result = ""
    var quote: Character?
    var isEscaped = false
    for character in word {
      if isEscaped {
        // Between double quotation marks, a backslash before another character stands for itself.
        if quote == "\"", !"\"\\$`".contains(character) { result.append("\\") }
        result.append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else {
        result.append(character)
      }
    }
    return result
  }
}
