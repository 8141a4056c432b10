import ArgumentParser
import Control
import System

/// `cuejack set`: sets values of a running session, or performs its actions.
struct SetValue: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Control a running session.",
    discussion: """
      A target is an OSC address of the session, without /cuejack/ at its beginning, as in \
      tracks/1/gain=-6. Without a value it is an action, as start. `cuejack osc` lists them. The command \
      first checks that all targets exist and all values fit, and sends nothing if one does not. Then it \
      sends them in order; the first one that the session refuses ends it. The exit code is 1 if there is \
      no such session or target, or the session refuses a value.
      """
        + examples(
          "cuejack set duo start",
          "cuejack set duo tracks/1/gain=-6 locate=12.5"))

  @OptionGroup var choice: SessionChoice

  @Argument(
    help: "The JACK client of the session, or its address: osc.udp://HOST:PORT/.",
    completion: .sessionClients)
  var client: String

  @Argument(
    help: ArgumentHelp("What to set or do.", valueName: "target=value"),
    completion: .sessionTargets)
  var targets: [String]

  func run() throws {
    let session = try choice.connect(client: client)
    let nodes = try telling { () throws(RemoteError) in try session.nodes() }
    let byAddress = Dictionary(
      nodes.map { (Name($0.address), $0) }, uniquingKeysWith: { a, _ in a })
    try telling { () throws(RemoteError) in
      // All of them are read before the first one is sent.
      var messages: [OSCMessage] = []
      for target in targets { messages.append(try Self.message(for: target, byAddress)) }
      for message in messages {
        for remark in try session.send(message) { Screen.shared.remark(printable(remark)) }
      }
    }
  }

  /// Returns the message for a target with its value.
  private static func message(for target: String, _ nodes: [Name: RemoteNode])
    throws(RemoteError) -> OSCMessage
  {
    let parts = target.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let address = RemoteNode.address(of: String(parts[0]))
    guard let node = nodes[Name(address)] else {
      throw .refused(address, "the session has no such address")
    }
    if node.kind == .state || node.kind == .meter {
      throw .refused(address, "it can only be read")
    }
    guard parts.count == 2 else {
      if node.kind == .parameter || !node.types.isEmpty {
        throw .refused(address, "give it a value, as in \(target)=VALUE")
      }
      return OSCMessage(address)
    }
    return OSCMessage(address, try node.values(from: String(parts[1])))
  }
}
