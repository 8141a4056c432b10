/// The manual page of a command, in the language of man(7).
///
/// argument-parser's own generate-manual (1.8.2) makes such pages from the same description, but says less. Its
/// pages are `cuejack.play.1`, which `man cuejack play` does not find; hidden commands have pages, too. They have
/// neither the values that an option takes nor its default, no examples by themselves, no environment variables,
/// no page above in SEE ALSO and no version, but a date, and man warns about their empty lines.
struct ManualPage {
  /// The name of the page's file.
  let fileName: String
  private(set) var text = ""

  /// Returns the pages of a command and of all its subcommands.
  static func all(of command: ToolDescription, above: ToolDescription? = nil) -> [ManualPage] {
    [ManualPage(command, above: above)] + command.shown.flatMap { all(of: $0, above: command) }
  }

  /// - Parameter above: The command of which this is a subcommand.
  init(_ command: ToolDescription, above: ToolDescription?) {
    let title = Self.title(command)
    fileName = "\(title).1"
    line(#".TH "\#(escaped(title.uppercased()))" 1 "" "Cuejack \#(version)" "User Commands""#)
    section("NAME")
    let abstract = command.abstract ?? ""
    let name = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
    line("\(escaped(title)) \\- \(escaped(name.prefix(1).lowercased() + name.dropFirst()))")
    section("SYNOPSIS")
    synopsis(command)
    let parts = (command.discussion ?? "").split(separator: "EXAMPLES:\n", maxSplits: 1)
    let isOnlyExamples = command.discussion?.hasPrefix("EXAMPLES:") == true
    section("DESCRIPTION")
    paragraphs(abstract)
    if !isOnlyExamples, let text = parts.first {
      line(".PP")
      paragraphs(String(text))
    }
    arguments("ARGUMENTS", command.shownArguments.filter { $0.kind == "positional" })
    arguments("OPTIONS", command.shownArguments.filter { $0.kind != "positional" })
    if !command.shown.isEmpty {
      section("SUBCOMMANDS")
      for subcommand in command.shown {
        line(".TP")
        line(".B \(escaped(subcommand.commandName))")
        paragraphs(subcommand.abstract ?? "")
      }
    }
    if let examples = parts.last, isOnlyExamples || parts.count > 1 {
      section("EXAMPLES")
      line(".EX")
      for example in examples.split(separator: "\n") { textLine(String(example)) }
      line(".EE")
    }
    if above == nil { environment() }
    seeAlso(command, above)
  }

  /// `cuejack-session-run` for `cuejack session run`.
  private static func title(_ command: ToolDescription) -> String {
    command.words.joined(separator: "-")
  }

  private mutating func line(_ line: String) { text += line + "\n" }

  private mutating func section(_ name: String) { line(".SH \(name)") }

  /// Adds text that would begin a request of roff if its first character were not hidden.
  private mutating func textLine(_ text: String) {
    let escaped = escaped(text)
    line((escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" : "") + escaped)
  }

  /// Adds paragraphs, which empty lines separate.
  private mutating func paragraphs(_ text: String) {
    var isFirst = true
    for part in text.split(separator: "\n") where part.contains(where: { $0 != " " }) {
      if !isFirst { line(".PP") }
      isFirst = false
      textLine(String(part))
    }
  }

  private mutating func synopsis(_ command: ToolDescription) {
    line(".B \(escaped(command.words.joined(separator: " ")))")
    if !command.shown.isEmpty { line(".I subcommand") }
    for argument in command.shownArguments where argument.kind == "positional" {
      let value =
        "\\fI\(escaped(argument.valueName ?? ""))\\fR" + (argument.isRepeating ? " ..." : "")
      line(argument.isOptional ? "[\(value)]" : value)
    }
    line("[\\fIoption\\fR ...]")
  }

  private mutating func arguments(_ title: String, _ arguments: [ToolDescription.Argument]) {
    if arguments.isEmpty { return }
    section(title)
    for argument in arguments {
      line(".TP")
      let names = (argument.names ?? []).map { "\\fB\(escaped($0.text))\\fR" }
      let value = argument.kind == "flag" ? [] : ["\\fI\(escaped(argument.valueName ?? ""))\\fR"]
      line(([names.joined(separator: ", ")].filter { !$0.isEmpty } + value).joined(separator: " "))
      textLine(argument.summary)
      if let discussion = argument.discussion {
        for part in discussion.split(separator: "\n") {
          line(".IP")
          textLine(String(part))
        }
      }
    }
  }

  private mutating func environment() {
    section("ENVIRONMENT")
    let variables = [
      (
        "CUEJACK_LOG",
        "Least severe level of the library's messages: trace, debug, info, notice, "
          + "warning, error or critical."
      ),
      ("JACK_DEFAULT_SERVER", "Name of the JACK server that is meant if none is named."),
      ("JACK_NO_START_SERVER", "If set, no server is started."),
      ("LV2_PATH", "Folders of LV2 bundles, separated by colons."),
      ("NO_COLOR", "If set, nothing is coloured."),
    ]
    for (name, meaning) in variables {
      line(".TP")
      line(".B \(escaped(name))")
      textLine(meaning)
    }
  }

  private mutating func seeAlso(_ command: ToolDescription, _ above: ToolDescription?) {
    let pages = (above.map { [$0] } ?? []) + command.shown
    section("SEE ALSO")
    let names = pages.map { "\\fB\(escaped(Self.title($0)))\\fR(1)" }
    line((names + ["\\fBjackd\\fR(1)"]).joined(separator: ", "))
  }

  /// Escapes what roff reads otherwise. Code between backticks becomes bold.
  private func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    var isCode = false
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "`":
        isCode.toggle()
        result += isCode ? "\\fB" : "\\fR"
      case "\"": result += "\\(dq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "'": result += "\\(aq"
      default: result.append(character)
      }
    }
    return result
  }
}
