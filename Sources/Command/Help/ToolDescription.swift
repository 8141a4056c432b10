import ArgumentParser
import FoundationEssentials

/// A command with its subcommands and arguments, as argument-parser describes it in JSON.
struct ToolDescription: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable {
      /// `long`, `short` or `longWithSingleDash`.
      let kind, name: String
      var text: String { (kind == "long" ? "--" : "-") + name }
    }
    /// `positional`, `option` or `flag`.
    let kind: String
    let shouldDisplay, isOptional, isRepeating: Bool
    let names: [Name]?
    let valueName, defaultValue, abstract, discussion: String?
    let allValues: [String]?
  }

  let superCommands: [String]?
  let shouldDisplay: Bool?
  let commandName: String
  let abstract, discussion: String?
  let subcommands: [ToolDescription]?
  let arguments: [Argument]?

  /// The description of `cuejack`.
  static func own() throws -> ToolDescription {
    struct Dump: Decodable { let command: ToolDescription }
    return try JSONDecoder().decode(Dump.self, from: Data(Cuejack._dumpHelp().utf8)).command
  }

  /// The words that run the command.
  var words: [String] { (superCommands ?? []) + [commandName] }

  /// The subcommands that the help shows.
  var shown: [ToolDescription] {
    (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
      .sorted { $0.commandName < $1.commandName }
  }

  /// The arguments that the help shows.
  var shownArguments: [Argument] { (arguments ?? []).filter(\.shouldDisplay) }
}
