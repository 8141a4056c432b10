import ArgumentParser
import Control
import System

/// `cuejack osc`: lists what a running session or command offers over OSC.
struct ShowOSC: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "osc", abstract: "List the OSC addresses of a running session or command.",
    discussion: """
      Each line has an address, the type tags of its values, its kind (action, parameter, state or \
      meter), its range, unit and meaning. With a pattern, prints the present values of the matching \
      addresses instead. The exit code is 1 if there is no such client or address.
      """
        + examples(
          "cuejack osc duo",
          "cuejack osc duo '/cuejack/tracks/*/gain'"))

  @OptionGroup var choice: RemoteChoice

  @Flag(help: "Print a JSON array of the addresses.")
  var json = false

  @Argument(
    help:
      "The JACK client, its process, the folder of the session, or an address: osc.udp://HOST:PORT/. Default: the only one that runs.",
    completion: .remoteClients)
  var client: String?

  @Argument(
    help: "An address or a pattern, such as /cuejack/tracks/*/gain.",
    completion: .remoteAddresses)
  var pattern: String?

  func validate() throws {
    try check(!json || pattern == nil, "--json lists all addresses, and takes no pattern")
  }

  func run() throws {
    let session = try choice.connect(client: client)
    if let pattern {
      let values = try telling { () throws(RemoteError) in
        try session.values(of: RemoteNode.address(of: pattern))
      }
      for message in values {
        let texts = message.arguments.map { printable("\($0)") }
        Screen.shared.say("\(printable(message.address)) \(texts.joined(separator: ", "))")
      }
      return
    }
    let nodes = try telling { () throws(RemoteError) in try session.nodes() }
    if json { return try printJSON(nodes) }
    for node in nodes { Screen.shared.say(printable(node.line)) }
    Screen.shared.remark("\(nodes.count) addresses, on \(session.location)")
  }
}

extension RemoteNode {
  /// The node as one line of the list.
  var line: String {
    let range =
      switch (lowest, highest) {
      case (let lowest?, let highest?): " \(lowest) … \(highest)"
      case (let lowest?, nil): " from \(lowest)"
      case (nil, let highest?): " to \(highest)"
      case (nil, nil): ""
      }
    let unit = unit.map { " \($0)" } ?? ""
    let types = types.isEmpty ? "" : " \(types)"
    return "\(address)\(types) (\(kind.rawValue)\(range)\(unit)): \(summary)"
  }
}
