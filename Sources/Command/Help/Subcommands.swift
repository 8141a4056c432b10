import ArgumentParser
import Sessions
import System

/// The subcommands that a command line names.
enum Subcommands {
  /// Returns the error for the first word that should name a subcommand and does not; nil if there is
  /// none.
  ///
  /// argument-parser would call it an unexpected argument, and would ignore it after `help`.
  static func error(in words: [String]) -> String? {
    var command: any ParsableCommand.Type = Cuejack.self
    var path = "cuejack"
    for (index, word) in words.enumerated() {
      let subcommands = command.configuration.subcommands
      if subcommands.isEmpty || word.hasPrefix("-") { return nil }
      if index == 0, word == "help" { continue }
      guard let next = subcommands.first(where: { $0._commandName == word }) else {
        let names = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
        return message(for: word, of: path, names)
      }
      command = next
      path += " \(word)"
    }
    return nil
  }

  private static func message(for word: String, of path: String, _ names: [String]) -> String {
    let names = names.sorted()
    let advice = NearWords.question(
      word, in: names, otherwise: ": the subcommands are \(names.joined(separator: ", "))")
    return "\(path) has no subcommand “\(printable(word))”\(advice)"
  }
}
