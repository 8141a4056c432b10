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

  /// Returns the command that the words name, with its options; nil if they name none, ask for help, or if its options
  /// are wrong.
  ///
  /// It is read as if there were no other commands, which takes argument-parser half of the time. `Cuejack` has the
  /// words for all else.
  static func command(in words: [String]) -> (any ParsableCommand)? {
    var type: any ParsableCommand.Type = Cuejack.self
    var rest = words[...]
    while let word = rest.first,
      let next = type.configuration.subcommands.first(where: { $0._commandName == word })
    {
      type = next
      rest.removeFirst()
    }
    guard type.configuration.subcommands.isEmpty, let command = try? type.parseAsRoot(Array(rest)),
      Swift.type(of: command) == type
    else { return nil }
    return command
  }

  private static func message(for word: String, of path: String, _ names: [String]) -> String {
    let names = names.sorted()
    let advice = NearWords.question(
      word, in: names, otherwise: ": the subcommands are \(names.joined(separator: ", "))")
    return "\(path) has no subcommand “\(printable(word))”\(advice)"
  }
}
