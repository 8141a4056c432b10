import ArgumentParser
import Control
import Sessions
import System

/// `cuejack set`: sets values of a running session, or performs its actions.
struct SetValue: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Control a running session.",
    discussion: """
      A target is an OSC address of the session, without /cuejack/ at its beginning, as in \
      tracks/1/gain=-6. A name may stand in place of a number, as in tracks/drums/gain=-6dB, and a path of \
      the document does as well, as in tracks[drums].gain=-6. Without a value it is an action, as start. The targets are handled in order; the \
      first one that the session refuses ends the command. `cuejack osc` lists them. The exit code is 1 \
      if there is no such session or target, or the session refuses a value.
      """
        + examples(
          "cuejack set duo start",
          "cuejack set duo tracks/1/gain=-6 locate=12.5",
          "cuejack set duo tracks/drums/gain=-6dB"))

  @OptionGroup var choice: SessionChoice

  @Argument(
    help: "The JACK client of the session, its folder, or its address: osc.udp://HOST:PORT/.",
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
      for target in targets { messages.append(try Self.message(for: target, byAddress, session)) }
      for message in messages {
        for remark in try session.send(message) { Screen.shared.remark(printable(remark)) }
      }
    }
  }

  /// Returns why a target cannot be set that is no address.
  private static func reason(against target: String, _ address: String, _ nodes: [Name: RemoteNode])
    -> String
  {
    let none = "the session has no such address"
    guard let path = try? SessionPath(typed: target), path.isPossible else { return none }
    if let list = path.steps.first?.word, RemoteNode.named.contains(list), path.steps.count > 1 {
      let parts = address.split(separator: "/")
      guard parts.count > 2,
        nodes[Name("\(RemoteNode.root)/\(list)/\(parts[2])/name")] != nil
      else { return none }
    }
    return
      "it takes effect with the next run only: quit and use “cuejack session set”, or edit session.json"
  }

  /// Returns the message for a target with its value.
  private static func message(
    for target: String, _ nodes: [Name: RemoteNode], _ session: RemoteClient
  ) throws(RemoteError) -> OSCMessage {
    let sign = SessionEdit.sign(of: target)
    let parts =
      [target[..<(sign ?? target.endIndex)]]
      + (sign.map { [target[target.index(after: $0)...]] } ?? [])
    var address = RemoteNode.address(of: String(parts[0]))
    if nodes[Name(address)] == nil, let known = try session.address(of: String(parts[0])) {
      address = known
    }
    guard let node = nodes[Name(address)] else {
      throw .refused(address, reason(against: String(parts[0]), address, nodes))
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
