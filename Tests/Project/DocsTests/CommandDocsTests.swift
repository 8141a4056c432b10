import Foundation
import TestSupport
import Testing

/// The subcommands and options of `cuejack` that the pages mention must be those of its help.
@Suite(.tags(.program)) struct CommandDocsTests {
  private static let subcommands = [
    ["play"], ["record"], ["convert"], ["info"], ["plugins"], ["plugins", "list"],
    ["plugins", "info"], ["plugins", "presets"], ["plugins", "check"], ["graph"], ["list"],
    ["measure-latency"], ["osc"],
    ["set"],
    ["fx"], ["demo"],
    ["session"], ["session", "new"], ["session", "add"], ["session", "set"], ["session", "check"],
    ["session", "show"], ["session", "collect"], ["session", "run"], ["session", "save"],
    ["session", "render"], ["session", "journal"], ["session", "revert"],
  ]

  /// The help of each subcommand, by its words.
  private static let helps = Result {
    var helps: [[String]: String] = [:]
    for words in subcommands {
      let result = try run(builtProduct(named: "cuejack").path, ["help"] + words)
      guard result.status == 0, result.output.contains("USAGE: cuejack \(words.joined(by: " "))")
      else { throw SupportError("cuejack help \(words): \(result)") }
      helps[words] = result.output
    }
    return helps
  }

  /// Returns the long options that a text defines or mentions.
  private static func options(in text: String) -> Set<String> {
    Set(text.matches(of: /(?:^|[\s`(\[|,])(--[a-z][a-z-]*[a-z])\b/).map { String($0.output.1) })
  }

  /// Returns the words after `cuejack` in each command that a page shows, without comments.
  private static func commands(of page: Page) -> [[String]] {
    let lines = page.blocks.flatMap { $0.text.components(separatedBy: "\n") } + page.codeSpans
    return lines.compactMap { line in
      // Pictures have more space between a name and what it means.
      guard let match = line.firstMatch(of: /^ *(?:pw-jack )?cuejack (?:help )?(\S.*)/) else {
        return nil
      }
      let command = match.output.1
      let code = command.firstRange(of: " #").map { command[..<$0.lowerBound] } ?? command
      return code.split(separator: " ").map(String.init)
    }
  }

  @Test(arguments: Page.documentation) func everyCommandIsKnown(page: Page) throws {
    let helps = try Self.helps.get()
    let commands = Self.commands(of: page)
    expectTrue(commands.count > 30 || page.path != "docs/command.md")
    for words in commands {
      // A placeholder such as SUBCOMMAND, or an option of the command itself.
      guard let first = words.first, first.firstMatch(of: /^[a-z]/) != nil else { continue }
      var path = [first]
      if words.count > 1, helps[[first, words[1]]] != nil { path.append(words[1]) }
      let help = try require(helps[path], "\(page): cuejack \(words.joined(separator: " "))")
      if path == ["plugins"], words.count > 1 {
        expectTrue(words[1].hasPrefix("-"), "\(page): cuejack plugins \(words[1])")
      }
      let known = Self.options(in: help)
      for option in Self.options(in: words.joined(separator: " ")) {
        expectTrue(
          known.contains(option), "\(page): cuejack \(path.joined(separator: " ")) \(option)")
      }
    }
  }

  /// Other tools' options appear in the pages only after the tool's name.
  @Test(arguments: Page.documentation.filter { $0.path != "docs/benchmarks.md" })
  func everyOptionIsKnown(page: Page) throws {
    let known = try Self.helps.get().values.reduce(into: Set<String>()) {
      $0.formUnion(Self.options(in: $1))
    }
    for span in page.codeSpans where span.hasPrefix("--") && span != "--" {
      for option in Self.options(in: span) {
        expectTrue(known.contains(option), "\(page): \(span)")
      }
    }
  }

  /// The tables of options in command.md are those that `make tables` writes, and every option is in one.
  @Test func theTablesAreWrittenFromTheHelp() throws {
    let page = text(of: repository.appendingPathComponent("docs/command.md"))
    try withTemporaryFolder { folder in
      let copy = folder.appendingPathComponent("command.md")
      try Data(page.utf8).write(to: copy)
      let written = try run(builtProduct(named: "cuejack").path, ["manual", copy.path])
      expectEqual(written.status, 0, "\(written)")
      expectEqual(text(of: copy), page, "make tables writes other tables")
    }
    for (words, help) in try Self.helps.get() {
      let section = Page("docs/command.md").section(ofCommand: words[0])
      // Lines that define options begin with two spaces.
      for match in help.matches(of: /(?m)^  (?:-\w, )?(--[a-z][a-z-]*)/) {
        let option = match.output.1
        if ["--help", "--version"].contains(option) { continue }
        expectTrue(
          section.contains { $0.hasPrefix("| `") && $0.contains("`\(option)`") }, "\(option)")
      }
    }
  }
}

extension [String] {
  fileprivate func joined(by separator: String) -> String { joined(separator: separator) }
}
