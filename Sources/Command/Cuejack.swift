import ArgumentParser
import Sessions

/// Runs the command with the words of the process's command line.
///
/// Session managers start a program by its name alone, without words: `cuejack-session` is
/// `cuejack session run`.
package func runCommand() {
  let program = CommandLine.arguments.first.map(fileName)
  guard program == NSMClient.sessionProgram else { return Cuejack.main() }
  Cuejack.main(["session", "run"] + CommandLine.arguments.dropFirst())
}

struct Cuejack: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack", abstract: "Synchronised playback and recording on JACK.",
    subcommands: [
      Convert.self, Info.self, Play.self, Plugins.self, Record.self, Session.self, SetValue.self,
      ShowGraph.self, ShowOSC.self,
    ])
}
