import ArgumentParser
import Sessions

/// Runs the command with the words of the process's command line.
///
/// Session managers start a program by its name alone, without words: `cuejack-session` is
/// `cuejack session run`.
package func runCommand() {
  let program = CommandLine.arguments.first.map(fileName)
  var words = Array(CommandLine.arguments.dropFirst())
  if program == NSMClient.sessionProgram { words = ["session", "run"] + words }
  // The probe collects what lilv says about a bundle.
  if words.first != "plugins" || words.dropFirst().first != "probe" {
    CommandLog.hushLibraries(isVerbose: words.contains("--verbose"))
  }
  if words.count == 2, words[0] == "--generate-completion-script",
    let shell = CompletionShell(rawValue: words[1])
  {
    return print(CompletionScripts.script(for: shell), terminator: "")
  }
  if let error = Subcommands.error(in: words) {
    Screen.shared.remark(error)
    Cuejack.exit(withError: ExitCode(64))
  }
  Cuejack.main(words)
}

/// The release. The Makefile has it, too.
let version = "0.1.0"

/// The program, as metadata of files name it.
let programName = "Cuejack \(version)"

struct Cuejack: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack", abstract: "Synchronised playback and recording on JACK.",
    discussion: onlyExamples(
      "cuejack play drums.wav bass.aiff           # both from the same frame",
      "cuejack record take.wav --seconds 10",
      "cuejack convert take.wav take.flac",
      "cuejack help play                          # each subcommand has its help"),
    version: "cuejack \(version)",
    subcommands: [
      Convert.self, Fx.self, Info.self, Play.self, Plugins.self, Record.self, Session.self,
      SetValue.self,
      ShowGraph.self, ShowOSC.self, WriteManual.self,
    ])
}
