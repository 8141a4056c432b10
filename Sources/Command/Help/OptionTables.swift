/// The tables of options in a page of Markdown, in the section of each subcommand:
///
///     ## `cuejack play`
///     | option | what it does |
///
/// A subcommand with subcommands has a table of these, and of the options of each.
enum OptionTables {
  private static let options = "| option | what it does |"
  private static let subcommands = "| subcommand | what it does | options |"

  /// Returns the page with the rows of these tables from the descriptions of the options. Other tables stay.
  static func written(into page: String, from tool: ToolDescription) -> String {
    var lines: [String] = []
    var command: ToolDescription?
    var isInTable = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if isInTable, line.hasPrefix("|") { continue }
      isInTable = false
      if line.hasPrefix("## ") {
        command = tool.shown.first { line == "## `cuejack \($0.commandName)`" }
      }
      lines.append(line)
      guard let command, line == (command.shown.isEmpty ? options : subcommands) else { continue }
      isInTable = true
      lines += command.shown.isEmpty ? ["| --- | --- |"] : ["| --- | --- | --- |"]
      lines += command.shown.isEmpty ? optionRows(command) : command.shown.map(subcommandRow)
    }
    return lines.joined(separator: "\n")
  }

  private static func optionRows(_ command: ToolDescription) -> [String] {
    command.options.map { "| \(names($0)) | \(cell($0.summary)) |" }
  }

  private static func subcommandRow(_ command: ToolDescription) -> String {
    let options = command.options.map(names).joined(separator: ", ")
    return
      "| `\(command.words.joined(separator: " "))` | \(cell(command.abstract ?? "")) | \(options) |"
  }

  private static func names(_ option: ToolDescription.Argument) -> String {
    (option.names ?? []).map { "`\($0.text)`" }.joined(separator: ", ")
  }

  private static func cell(_ text: String) -> String {
    text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
  }
}
