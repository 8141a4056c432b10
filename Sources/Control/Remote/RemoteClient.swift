import Glibc
import Sessions
import System

/// The other side of `RemoteServer`: lists, reads and sets what a running session or command offers. One thread at
/// a time.
package final class RemoteClient {
  private let session: OSCAddress
  private let patience: Double
  private let socket: OSCSocket
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  private var number: Int32 = 0

  /// The UDP port of the session, and its host if that is another machine, for messages.
  package var location: String {
    session.isLoopback ? "UDP port \(session.port) of this machine" : session.url
  }

  /// Creates a client of the session at `session`. A session that says nothing for `patience` seconds does
  /// not answer.
  package init(of session: OSCAddress, patience: Double = 2) throws(RemoteError) {
    self.session = session
    self.patience = patience
    do throws(OSCError) {
      socket = try OSCSocket(reach: session.isLoopback ? .loopback : .host(session.host))
    } catch {
      throw .transport(error)
    }
  }

  /// Returns the address space.
  package func nodes() throws(RemoteError) -> [RemoteNode] {
    var nodes: [RemoteNode] = []
    while true {
      let answers = try ask(OSCMessage("/cuejack/list", .int(Int32(nodes.count))))
      let part = answers.compactMap { RemoteNode($0) }
      nodes += part
      let end = answers.last { $0.address == "/cuejack/list" && $0.types == "iii" }
      guard let total = end?.arguments[2].number, nodes.count < Int(total), !part.isEmpty else {
        return nodes
      }
    }
  }

  /// Returns the address of a track, bus, recording or group that is given by its name and a plugin that is given
  /// by its id, or of a value that is given by its path in the document: `tracks/drums/gain` and
  /// `tracks[drums].gain` are `tracks/1/gain`.
  ///
  /// - Returns: Nil if there is no such name or path.
  package func address(of target: String) throws(RemoteError) -> String? {
    // The plugins of a command have no track or bus.
    let words = target.split(separator: "/", maxSplits: 2).map { String($0) }
    if words.count > 1, ["plugins", "bypass", "preset", "remove", "place"].contains(words[0]),
      Int(words[1]) == nil
    {
      let root = "\(RemoteNode.root)/id/"
      let ids = try values(of: root + "*")
      guard
        let node = ids.first(where: { $0.arguments.first?.text?.isSameName(as: words[1]) == true })
      else { return nil }
      let number = String(node.address.dropFirst(root.count))
      return RemoteNode.address(
        of: ([words[0], number] + words.dropFirst(2)).joined(separator: "/"))
    }
    guard let path = try? SessionPath(typed: target), let address = path.address else { return nil }
    var parts = address.split(separator: "/").map { String($0) }
    guard RemoteNode.named.contains(parts[0]) else { return nil }
    let root = "\(RemoteNode.root)/\(parts[0])/"
    /// Returns the number of the element of that name: the part of its address behind the root.
    func number(of name: String, _ root: String, _ pattern: String) throws(RemoteError) -> String? {
      try values(of: root + pattern).first {
        $0.arguments.first?.text?.isSameName(as: name) == true
      }.map { String($0.address.dropFirst(root.count).prefix { $0 != "/" }) }
    }
    if let name = path.steps[1].word {
      guard let number = try number(of: name, root, "*/name") else { return nil }
      parts[1] = number
    }
    // In both forms the plugin is the fourth step.
    if parts.count > 3, ["plugins", "bypass"].contains(parts[2]), let id = path.steps[3].word {
      guard let number = try number(of: id, "\(root)\(parts[1])/id/", "*") else { return nil }
      parts[3] = number
    }
    // Documents of earlier versions called a track's gain its volume.
    if parts.count == 3, parts[2] == "volume" { parts[2] = "gain" }
    return RemoteNode.address(of: parts.joined(separator: "/"))
  }

  /// Returns the values of an address, or of all addresses of a pattern.
  package func values(of address: String) throws(RemoteError) -> [OSCMessage] {
    try ask(OSCMessage("/cuejack/get", .string(address)))
  }

  /// Sends a message that sets a parameter or performs an action, and waits until the session has done
  /// it.
  ///
  /// - Returns: Remarks for the user.
  @discardableResult
  package func send(_ message: OSCMessage) throws(RemoteError) -> [String] {
    try ask(message).compactMap { answer in
      answer.address == "/cuejack/remark" ? answer.arguments.last?.text : nil
    }
  }

  /// Seconds that a session may take for what it is asked, as long as it lives.
  private static let longest = 600.0

  /// Sends a message and a ping in one packet, and asks from time to time whether the session lives. A packet that
  /// UDP has lost, either way, is sent again.
  ///
  /// - Returns: The answers that came before the pong.
  /// - Throws: The first error among them, or why no pong came.
  private func ask(_ message: OSCMessage) throws(RemoteError) -> [OSCMessage] {
    number &+= 1
    let request = [message, OSCMessage("/cuejack/ping", .int(number))]
    try send(request)
    var answers: [OSCMessage] = []
    let begin = HostTime.now
    let end = begin + UInt64(max(patience, Self.longest) * 1e9)
    let pause = UInt64(min(0.5, patience / 2) * 1e9)
    var (silenceEnds, nextQuestion) = (begin + UInt64(patience * 1e9), begin + pause)
    while HostTime.now < min(end, silenceEnds) {
      for message in try receive(until: min(end, silenceEnds, nextQuestion)) {
        silenceEnds = HostTime.now + UInt64(patience * 1e9)
        // The number comes back if the request has not come.
        if message == OSCMessage("/cuejack/alive", .int(number)) { try send(request) }
        // Sessions of earlier versions do not know the question.
        if message.address == "/cuejack/alive"
          || message.arguments.first == .string("/cuejack/alive")
        {
          continue
        }
        if message.address == "/cuejack/pong" {
          guard message.arguments == [.int(number)] else { continue }
          for answer in answers where answer.address == "/cuejack/error" && answer.types == "ss" {
            throw .refused(answer.arguments[0].text ?? "", answer.arguments[1].text ?? "")
          }
          return answers
        }
        // Answers that come once more have come in part before.
        if !answers.contains(message) { answers.append(message) }
      }
      if HostTime.now >= nextQuestion {
        nextQuestion = HostTime.now + pause
        try send([OSCMessage("/cuejack/alive", .int(number))])
      }
    }
    throw .silent(session, HostTime.now < end ? patience : Self.longest)
  }

  private func send(_ messages: [OSCMessage]) throws(RemoteError) {
    do throws(OSCError) {
      try socket.send(bytes: try OSCPacket.bundle(of: messages), to: session)
    } catch {
      throw .transport(error)
    }
  }

  /// Returns the messages of the session's next packet; none if another packet comes, or none in time.
  private func receive(until end: UInt64) throws(RemoteError) -> [OSCMessage] {
    var file = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
    let now = HostTime.now
    let milliseconds = end > now ? CInt((end - now) / 1_000_000 + 1) : 0
    _ = unsafe poll(&file, 1, milliseconds)
    switch socket.receive(&buffer) {
    case .packet(let bytes, let source) where source == session:
      do throws(OSCError) {
        return try OSCPacket.messages(in: bytes)
      } catch {
        throw .transport(error)
      }
    case .unreachable(session): throw .gone(session)
    default: return []
    }
  }
}
