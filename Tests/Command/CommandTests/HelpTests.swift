import Foundation
import TestSupport
import Testing

/// `--version`, the helps, the errors for unknown subcommands, and the manual pages.
@Suite(.tags(.program)) struct HelpTests {
  private static func cuejack(_ arguments: String...) throws -> CommandResult {
    try run(builtProduct(named: "cuejack").path, arguments)
  }

  /// The subcommands of `cuejack` in the order of the help, each with its words.
  private static let subcommands = Result {
    var found: [[String]] = []
    func add(below words: [String]) throws {
      let help = try run(builtProduct(named: "cuejack").path, ["help"] + words)
      guard let list = help.output.components(separatedBy: "SUBCOMMANDS:\n").dropFirst().first
      else { return }
      for match in list.matches(of: #/(?m)^  ([a-z][a-z-]*) /#) {
        let next = words + [String(match.output.1)]
        found.append(next)
        try add(below: next)
      }
    }
    try add(below: [])
    return found
  }

  @Test func theVersionIsThatOfTheMakefile() throws {
    let makefile = text(of: repository.appendingPathComponent("Makefile"))
    let version = try require(makefile.firstMatch(of: #/(?m)^VERSION := (\S+)$/#)).output.1
    for words in [["--version"], ["play", "--version"]] {
      let result = try run(builtProduct(named: "cuejack").path, words)
      expectTrue(result.status == 0 && result.output == "cuejack \(version)\n", "\(result)")
    }
  }

  @Test(arguments: [
    (["paly", "a.wav"], "cuejack has no subcommand “paly”; did you mean “play”?"),
    (["help", "recrod"], "cuejack has no subcommand “recrod”; did you mean “record”?"),
    (["plugins", "lsit"], "cuejack plugins has no subcommand “lsit”; did you mean “list”?"),
    (["session", "rend"], "cuejack session has no subcommand “rend”; did you mean “render”?"),
    (["help", "session", "sow"], "cuejack session has no subcommand “sow”; did you mean “show”?"),
  ])
  func anUnknownSubcommandIsAnsweredWithANearOne(words: [String], error: String) throws {
    let result = try run(builtProduct(named: "cuejack").path, words)
    expectTrue(result.status == 64 && result.output.isEmpty, "\(result)")
    expectTrue(result.errors.hasPrefix("cuejack: \(error)"), "\(result.errors)")
  }

  @Test func withoutANearNameAllAreListed() throws {
    let result = try Self.cuejack("plugins", "xyzzy\u{1B}[2J")
    expectEqual(result.status, 64)
    expectEqual(
      result.errors,
      "cuejack: cuejack plugins has no subcommand “xyzzy?[2J”: the subcommands are check, info, "
        + "list, presets\n")
  }

  @Test func everyHelpHasExamplesThatFitIntoEightyColumns() throws {
    for words in try [[]] + Self.subcommands.get() {
      let help = try run(builtProduct(named: "cuejack").path, ["help"] + words).output
      let block = try require(
        help.components(separatedBy: "EXAMPLES:\n").dropFirst().first, "\(words)")
      let examples = block.components(separatedBy: "\n").prefix { $0.hasPrefix("  ") }
      expectTrue(!examples.isEmpty, "\(words)")
      for example in examples {
        expectTrue(example.count < 80 && example.hasPrefix("  cuejack "), "\(example)")
        expectTrue(words.isEmpty || example.contains("cuejack \(words.joined(separator: " "))"))
        // Its options are those of the help.
        for match in example.matches(of: #/(?:^| )(--[a-z][a-z-]*)/#) where !words.isEmpty {
          let option = String(match.output.1)
          let own = try run(builtProduct(named: "cuejack").path, ["help"] + Self.command(example))
          expectTrue(own.output.contains(option), "\(example): \(option)")
        }
      }
    }
  }

  /// Returns the subcommand that an example runs.
  private static func command(_ example: String) throws -> [String] {
    let words = example.split(separator: " ").dropFirst().map(String.init)
    return try subcommands.get().filter { words.starts(with: $0) }.max { $0.count < $1.count } ?? []
  }

  /// man says nothing about any page, and each shows the options of the help.
  @Test func everySubcommandHasAManualPage() throws {
    try withTemporaryFolder { folder in
      let written = try Self.cuejack("manual", folder.path)
      try require(written.status == 0, "\(written)")
      let commands = try [[]] + Self.subcommands.get()
      let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      expectEqual(
        pages.sorted(), commands.map { (["cuejack"] + $0).joined(separator: "-") + ".1" }.sorted())
      for words in commands {
        let page = folder.appendingPathComponent(
          (["cuejack"] + words).joined(separator: "-") + ".1")
        let shown = try run(
          "man", ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", page.path],
          environment: [
            "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "200", "MANPAGER": "cat",
          ])
        expectTrue(shown.status == 0 && shown.errors.isEmpty, "\(page.path): \(shown.errors)")
        let plain = shown.output.replacing(#/\x1B\[[0-9;]*m|.\x08/#, with: "")
        let help = try run(builtProduct(named: "cuejack").path, ["help"] + words).output
        for match in help.matches(of: #/(?m)^  (?:-\w, )?(--[a-z][a-z-]*)/#) {
          expectTrue(plain.contains(match.output.1), "\(page.path) lacks \(match.output.1)")
        }
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "SEE ALSO"] {
          expectTrue(plain.contains("\n\(section)\n"), "\(page.path) has no \(section)")
        }
      }
    }
  }

  /// What `make install` installs for shells and man is found under the names that they look for.
  @Test func theInstallationHasPagesAndCompletions() throws {
    let prefix = try ProgramBuilds.shared.get().installation
    let man = try run(
      "man", ["-M", prefix.appendingPathComponent("share/man").path, "-w", "cuejack", "play"])
    expectTrue(man.status == 0 && man.output.hasSuffix("man1/cuejack-play.1\n"), "\(man)")
    for (shell, file, line) in [
      (
        "bash", "bash-completion/completions/cuejack",
        "complete -o filenames -F __cuejack_words cuejack"
      ),
      ("zsh", "zsh/site-functions/_cuejack", "#compdef cuejack"),
      ("fish", "fish/vendor_completions.d/cuejack.fish", "complete -c 'cuejack' -f"),
    ] {
      let path = prefix.appendingPathComponent("share/\(file)")
      expectTrue(text(of: path).components(separatedBy: "\n").contains(line), "\(shell)")
      let checked = try run(shell, ["-n", path.path])
      expectTrue(checked.status == 0 && checked.errors.isEmpty, "\(checked)")
    }
  }
}
