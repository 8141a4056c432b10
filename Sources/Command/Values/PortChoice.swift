import Glibc
import Server
import Sessions
import System
import Timeline

/// The values of an option that names ports of other clients, such as `--connect`.
///
/// A value is a port, a client, a glob or a regular expression, in this order: the first reading that
/// finds ports counts. Several can be separated by commas.
struct PortChoice: Sendable {
  /// The option, for messages.
  let option: String
  let values: [String]
  /// The direction of the ports as their own clients see it.
  let direction: PortDirection
  var kind = PortKind.audio

  /// Nanoseconds for which the ports must stay the same: a client registers them one after the other.
  private static let settling: UInt64 = 200_000_000

  /// Returns the ports that the values name, in the order of the values.
  ///
  /// - Parameters:
  ///   - seconds: How long to wait until every value names a port, and no more ports come.
  ///   - isStopped: Called while waiting; returns true to give up.
  func ports(
    on client: any ServerClient, waiting seconds: Double, isStopped: () -> Bool
  ) throws(PortError) -> [String] {
    let deadline = HostTime.now + UInt64(held: seconds * 1e9)
    var (latest, since) = ([String](), deadline)
    while true {
      let now = HostTime.now
      do throws(PortError) {
        let found = try ports(on: client)
        if found != latest { (latest, since) = (found, now) }
        if isStopped() || now >= min(deadline, since + Self.settling) { return found }
      } catch {
        if isStopped() || now >= deadline { throw error }
        latest = []
      }
      usleep(20_000)
    }
  }

  private func ports(on client: any ServerClient) throws(PortError) -> [String] {
    let present = client.otherPorts(direction, kind)
    var found: [String] = []
    for value in values {
      for part in Self.parts(of: value, among: present) {
        let ports = Self.ports(matching: part, among: present)
        if ports.isEmpty { throw error(part, client, present) }
        found += ports
      }
    }
    return found
  }

  /// Splits a value at its commas, except those within brackets. A port may have commas in its name.
  static func parts(of value: String, among present: [String]) -> [String] {
    if present.contains(value) { return [value] }
    var parts = [""]
    var depth = 0
    for character in value {
      switch character {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth = max(0, depth - 1)
      default: break
      }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    return parts
  }

  static func ports(matching text: String, among present: [String]) -> [String] {
    if present.contains(text) { return [text] }
    let client = present.filter { $0.hasPrefix("\(text):") }
    if !client.isEmpty { return client }
    let glob = present.filter { unsafe fnmatch(text, $0, 0) == 0 }
    if !glob.isEmpty { return glob }
    guard let pattern = try? Regex(text) else { return [] }
    return present.filter { (try? pattern.wholeMatch(in: $0)) != nil }
  }

  private func error(_ text: String, _ client: any ServerClient, _ present: [String]) -> PortError {
    let isInput = direction == .input
    let type = kind == .midi ? "MIDI " : ""
    let (name, other) = isInput ? ("input", "output") : ("output", "input")
    var words =
      "\(option) “\(text)”: no \(type)\(name) port or client of the JACK server "
      + "“\(client.serverName)” has this name or matches it"
    if client.otherPorts(isInput ? .output : .input, kind).contains(text) {
      words += "; it is an \(other) port."
    } else {
      let clients = present.map { String($0.prefix { $0 != ":" }) }
      words += NearWords.question(text, in: clients + present, otherwise: ".")
    }
    let most = 12
    let rest = present.count > most ? " and \(present.count - most) more" : ""
    let listed = present.prefix(most).joined(separator: ", ")
    return PortError(
      description: words
        + (present.isEmpty ? " It has no such ports" : " The ports are \(listed)\(rest)"))
  }
}
