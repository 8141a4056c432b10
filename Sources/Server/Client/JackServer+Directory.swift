import CJack
import System

/// Which servers there are, and which ports they have.
extension JackServer {
  /// Names of the jackd of this user that accept clients, in no order. None for PipeWire, whose only
  /// server is the default one.
  package static var runningNames: [String] { Array(sockets.keys) }

  /// The paths of their sockets by their names.
  static var sockets: [String: String] {
    if PipeWire.isLibrary { return [:] }
    guard let list = text(ofSystemFile: "/proc/net/unix") else { return [:] }
    let end = "_\(getuid())_0"
    var sockets: [String: String] = [:]
    for line in list.split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      // The fourth field has the flag of sockets that listen; the eighth is the path.
      guard fields.count == 8, fields[3] == "00010000",
        let file = fields[7].split(separator: "/").last, file.hasPrefix("jack_"),
        file.hasSuffix(end), unsafe access(String(fields[7]), W_OK) == 0
      else { continue }
      sockets[String(file.dropFirst(5).dropLast(end.count))] = String(fields[7])
    }
    return sockets
  }

  /// True unless clients of this process that are needed are on a server other than `name`: libjack
  /// serves one at a time. Closes those that nothing needs.
  package static func canServe(_ name: String) -> Bool {
    IdleClients.makeWay(for: name)
    return JackClient.serverInUse(otherThan: name) == nil
  }

  /// True if the server runs, or is the default one and can be started.
  package var isReachable: Bool {
    if PipeWire.isLibrary { return PipeWire.isRunning }
    if Self.runningNames.contains(name) { return true }
    return requestedName == nil && environmentVariable("JACK_NO_START_SERVER") == nil
      && (isPipeWireInstead || !PipeWire.isRunning && findProgram("jackd") != nil)
  }

  /// True if this is PipeWire: its library is in use, or will be from the first client on.
  package var isPipeWire: Bool {
    PipeWire.isLibrary || isPipeWireInstead && !Self.runningNames.contains(name)
  }

  /// The ports of the server's clients in the server's order; none if no server of this name runs. The
  /// property starts no server.
  package var ports: [JackPort] {
    Self.quietLibrary
    IdleClients.makeWay(for: name)
    JackClient.awaitClosingOfLost()
    let ports = JackLibrary.alone { () -> [JackPort] in
      let others = JackConnection.all(to: name)
      let opened = try? open("cuejack-ports", others, on: name, unread: Self.questionSeconds).client
      guard let opened else { return [] }
      let client = unsafe opened.handle
      defer { opened.close() }
      return [(JACK_DEFAULT_AUDIO_TYPE, false), (JACK_DEFAULT_MIDI_TYPE, true)].flatMap {
        type, isMIDI in
        JackPort.list(type, isMIDI: isMIDI) { flags, type in
          unsafe JackClient.strings(jack_get_ports(client, nil, type, UInt(flags)))
        }
      }
    }
    return ports ?? []
  }
}
