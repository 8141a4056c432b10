import ArgumentParser

@main
struct Cuejack: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack", abstract: "Synchronised playback on JACK.",
    subcommands: [Info.self, Play.self])
}
