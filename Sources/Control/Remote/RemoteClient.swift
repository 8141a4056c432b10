import Glibc
import Sessions
import System

/// The other side of `RemoteServer`: lists, reads and sets what a running session offers. One thread at
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

  /// Nanoseconds between two pings that look for lost packets.
  private static let probePause: UInt64 = 15_000_000_000

  /// Seconds that a session may take for what it is asked, as long as it lives.
  private static let longest = 600.0

  /// Times that a question is asked if an answer was lost.
  private static let tries = 4

  /// Asks, and asks again if a packet was lost and the message only asks.
  private func ask(_ message: OSCMessage) throws(RemoteError) -> [OSCMessage] {
    let isQuestion = ["/cuejack/get", "/cuejack/list"].contains(message.address)
    for _ in 1..<(isQuestion ? Self.tries : 1) {
      do throws(RemoteError) { return try askOnce(message) } catch {
        guard case .lost = error else { throw error }
      }
    }
    return try askOnce(message)
  }

  /// Sends a message and a ping in one packet, and asks from time to time whether the session lives. With the first
  /// of these questions goes another ping: if its pong comes and that of the message does not, that was lost.
  ///
  /// - Returns: The answers that came before the pong.
  /// - Throws: The first error among them, or why no pong came.
  private func askOnce(_ message: OSCMessage) throws(RemoteError) -> [OSCMessage] {
    number &+= 1
    /// Host time until which the answer may still follow; nil until the second pong comes.
    var lossEnds: UInt64?
    var nextProbe: UInt64 = 0
    try send([message, OSCMessage("/cuejack/ping", .int(number))])
    var answers: [OSCMessage] = []
    let begin = HostTime.now
    let end = begin + UInt64(max(patience, Self.longest) * 1e9)
    let pause = UInt64(min(0.5, patience / 2) * 1e9)
    var (silenceEnds, nextQuestion) = (begin + UInt64(patience * 1e9), begin + pause)
    while HostTime.now < min(end, silenceEnds) {
      for message in try receive(until: min(end, silenceEnds, nextQuestion)) {
        silenceEnds = HostTime.now + UInt64(patience * 1e9)
        // Sessions of earlier versions do not know the question.
        if message.address == "/cuejack/alive"
          || message.arguments.first == .string("/cuejack/alive")
        {
          continue
        }
        if message.address == "/cuejack/pong" {
          if message.arguments == [.int(-number)] { lossEnds = lossEnds ?? HostTime.now + pause }
          guard message.arguments == [.int(number)] else { continue }
          for answer in answers where answer.address == "/cuejack/error" && answer.types == "ss" {
            throw .refused(answer.arguments[0].text ?? "", answer.arguments[1].text ?? "")
          }
          return answers
        }
        answers.append(message)
      }
      let now = HostTime.now
      if let lossEnds, now >= lossEnds { throw .lost(session) }
      if now >= nextQuestion {
        nextQuestion = now + pause
        // The second ping may be lost, too. A session lets few of them wait.
        let probes = now >= nextProbe ? [OSCMessage("/cuejack/ping", .int(-number))] : []
        if !probes.isEmpty { nextProbe = now + Self.probePause }
        try send([OSCMessage("/cuejack/alive")] + probes)
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
