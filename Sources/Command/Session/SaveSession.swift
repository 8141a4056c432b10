import ArgumentParser
import Control
import System

/// `cuejack session save`.
struct SaveSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "save", abstract: "Let a running session save itself.",
    discussion: """
      The session writes the states of its plugins, its connections and its edits to its folder. The \
      command ends when they are on disk. A plugin that has crashed or hangs keeps the state that was saved \
      last, and a message says so. The exit code is 1 if no such session is running, or if it cannot be saved: \
      then it is as it was saved last.
      """
        + examples(
          "cuejack session save duo"))

  @OptionGroup var choice: RemoteChoice

  @Argument(
    help:
      "The JACK client of the session, its folder, or its address: osc.udp://HOST:PORT/. Default: the only session that runs.",
    completion: .sessionClients)
  var client: String?

  func run() throws {
    let session = try choice.connect(client: client, [.session])
    let remarks = try telling { () throws(RemoteError) in
      try session.send(OSCMessage("\(RemoteNode.root)/save"))
    }
    for remark in remarks { Screen.shared.remark(printable(remark)) }
  }
}
