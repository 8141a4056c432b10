import ArgumentParser

/// Runs the command with the words of the process's command line.
package func runCommand() { Cuejack.main() }

struct Cuejack: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack", abstract: "Synchronised playback and recording on JACK.",
    subcommands: [
      Convert.self, Info.self, Play.self, Plugins.self, Record.self, Session.self, SetValue.self,
      ShowGraph.self, ShowOSC.self,
    ])
}
