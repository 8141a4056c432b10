import ArgumentParser
import Server

/// The JACK server of a command that opens a client.
struct ServerOption: ParsableArguments {
  @Option(
    name: .customLong("server"),
    help: "The JACK server, which must be running. Default: started if none runs.",
    completion: .servers)
  var name: String?

  func validate() throws {
    try checkOnce(["--server"])
    try check(name.map { !$0.isEmpty && !$0.contains("/") } ?? true, "--server takes a name")
  }

  /// Returns the server for a client that plays or records the files with these names, if any.
  func jack(for files: String? = nil) -> JackServer { JackServer(named: name, for: files) }
}
