import ArgumentParser
import Control
import Glibc
import System

/// Runs the command with the words of the process's command line, and ends the process.
///
/// NSM's session managers start a program by its name alone, without words: `cuejack-session` is
/// `cuejack session run`. JACK's may start it without a shell: see `JackSession.joined(_:)`.
package func runCommand() -> Never {
  // A file that the command opens must not take the number of a standard file.
  var file = unsafe open("/dev/null", O_RDWR)
  while (0...2).contains(file) { file = unsafe open("/dev/null", O_RDWR) }
  close(file)
  // A reader of the output that closes its pipe does not end the process: the write fails.
  _ = signal(SIGPIPE, SIG_IGN)
  let code = exitCode(of: commandLine)
  exit(Screen.shared.finish() ? code : max(code, 1))
}

/// Runs the command, and returns its exit code.
private func exitCode(of commandLine: [String]) -> Int32 {
  let program = commandLine.first.map(fileName)
  var words = Array(commandLine.dropFirst())
  if program == NSMClient.sessionProgram { words = ["session", "run"] + words }
  if words.starts(with: ["session", "run"]), words.contains("--session-id") {
    words = JackSession.joined(words)
  }
  // The probe collects what lilv says about a bundle, and a plugin's process has its own output later.
  if words.first != "plugins" || !["probe", "host"].contains(words.dropFirst().first) {
    CommandLog.hushLibraries(isVerbose: words.contains("--verbose"))
  }
  if words.count == 2, words[0] == "--generate-completion-script",
    let shell = CompletionShell(rawValue: words[1])
  {
    print(CompletionScripts.script(for: shell), terminator: "")
    return 0
  }
  if let error = Subcommands.error(in: words) {
    Screen.shared.remark(error)
    return 64
  }
  do {
    var command = try Subcommands.command(in: words) ?? Cuejack.parseAsRoot(words)
    try command.run()
    return 0
  } catch {
    // The help and the version are errors, too, without a code.
    let code = Cuejack.exitCode(for: error).rawValue
    let message = escaped(Cuejack.fullMessage(for: error))
    if code == 0 {
      print(message)
    } else if !message.isEmpty {
      Screen.shared.complain(lines: message)
    }
    return code
  }
}

/// The release. The Makefile has it, too.
let version = "0.1.0"

/// The program, as metadata of files name it.
let programName = "Cuejack \(version)"

/// Each command has its name: argument-parser would make it from the name of the type at every start, which takes as
/// long as all the rest of reading a command line.
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
      Convert.self, Demo.self, Fx.self, Info.self, ListRunning.self,
      MeasureLatency.self, Play.self, Plugins.self,
      Record.self,
      Session.self,
      SetValue.self,
      ShowGraph.self, ShowOSC.self, WriteManual.self,
    ])
}
