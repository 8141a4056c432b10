import ArgumentParser
import Control
import Sessions
import System

/// `cuejack set`: sets values of a running session or command, or performs its actions.
struct SetValue: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Control a running session, player, effect or recording.",
    discussion: """
      The client is that of `cuejack list`: its name, the beginning of its name if no other one has it, or the \
      number of its process. A target is an OSC address, without /cuejack/ at its beginning, as in \
      tracks/1/gain=-6. A name may stand in place of a number, as in tracks/drums/gain=-6dB, and a path of \
      the document does as well, as in tracks[drums].gain=-6. Patterns (tracks/*/mute=on) and the ranges of \
      faders (tracks/1/gain/-60..6=0.25) are taken as over OSC. Without a value it is an action, as start. \
      `cuejack osc` lists them. The command first checks that all targets exist and all values fit, and \
      sends nothing if one does not. Then it sends them in order; the first one that is refused \
      ends it. The exit code is 1 if there is no such client or target, or a value is refused.
      """
        + examples(
          "cuejack set duo start",
          "cuejack set duo tracks/1/gain=-6 locate=12.5",
          "cuejack set duo tracks/drums/gain=-6dB",
          "cuejack set cuejack-play pause",
          "cuejack set cuejack-fx plugins/limiter/ceiling=-3 bypass=off",
          "cuejack set cuejack-record stop"))

  @OptionGroup var choice: RemoteChoice

  @Argument(
    help:
      "The JACK client, its process, the folder of the session, or an address: osc.udp://HOST:PORT/.",
    completion: .remoteClients)
  var client: String

  @Argument(
    help: ArgumentHelp("What to set or do.", valueName: "target=value"),
    completion: .remoteTargets)
  var targets: [String]

  func run() throws {
    let session = try choice.connect(client: client)
    try telling { () throws(RemoteError) in
      func messages(for targets: ArraySlice<String>) throws(RemoteError) -> [[OSCMessage]] {
        let addresses = RemoteAddresses(try session.nodes())
        return try targets.map { target throws(RemoteError) in
          try Self.messages(for: target, addresses, session)
        }
      }
      // All of them are read before the first one is sent.
      let first = try messages(for: targets[...])[0]
      for index in targets.indices {
        // A target may change the numbers of what later ones name.
        let present = try index == 0 ? first : messages(for: targets[index...index])[0]
        for message in present {
          for remark in try session.send(message) { Screen.shared.remark(printable(remark)) }
        }
      }
    }
  }

  /// Returns why a target cannot be set that is no address.
  private static func reason(
    against target: String, _ address: String, _ addresses: RemoteAddresses
  ) -> String {
    let none = addresses.unknown(address)
    guard let path = try? SessionPath(typed: target), path.isPossible else { return none }
    if let list = path.steps.first?.word, RemoteNode.named.contains(list), path.steps.count > 1 {
      let parts = address.split(separator: "/")
      guard parts.count > 2, addresses["\(RemoteNode.root)/\(list)/\(parts[2])/name"] != nil
      else { return none }
    }
    return
      "it takes effect with the next run only: quit and use “cuejack session set”, or edit session.json"
  }

  /// Returns the messages for a target with its value: one for each address that it means.
  private static func messages(
    for target: String, _ addresses: RemoteAddresses, _ session: RemoteClient
  ) throws(RemoteError) -> [OSCMessage] {
    let sign = SessionEdit.sign(of: target)
    let left = String(target[..<(sign ?? target.endIndex)])
    let value = sign.map { String(target[target.index(after: $0)...]) }
    var (address, range) = addresses.split(RemoteNode.address(of: left))
    // Brackets hold names, too.
    if addresses[address] == nil, !address.contains(where: { "*?{}".contains($0) }) {
      let path = range == nil ? left : String(left[..<(left.lastIndex(of: "/") ?? left.endIndex)])
      address = try session.address(of: path) ?? address
    }
    if addresses[address] == nil, !address.contains(where: { "*?[{".contains($0) }) {
      throw .refused(address, reason(against: left, address, addresses))
    }
    let nodes = try addresses.found(address).0
    var messages: [OSCMessage] = []
    for node in nodes {
      try range?.check(node)
      if node.kind == .state || node.kind == .meter {
        throw .refused(node.address, "it can only be read")
      }
      let taker = range?.fader(of: node) ?? node
      guard let value else {
        if node.kind == .parameter || !node.types.isEmpty {
          throw .refused(taker.address, "give it a value, as in \(target)=VALUE")
        }
        messages.append(OSCMessage(node.address))
        continue
      }
      messages.append(OSCMessage(taker.address, try taker.values(from: value)))
    }
    return messages
  }
}
