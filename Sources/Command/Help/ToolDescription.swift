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

    /// The abstract, the values and the default.
    var summary: String {
      var text = abstract ?? ""
      if let allValues, !allValues.isEmpty {
        text += " One of \(allValues.joined(separator: ", "))."
      }
      // Flags are off, and an option with no value is left out.
      if let defaultValue, kind != "flag" { text += " Default: \(defaultValue)." }
      return text
    }
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

  /// The options of this command alone.
  var options: [Argument] {
    shownArguments.filter {
      $0.kind != "positional" && !["--help", "--version"].contains($0.names?.last?.text)
    }
  }
}
