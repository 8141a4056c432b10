import Glibc
import System

/// Which servers there are.
extension JackServer {
  /// Names of the jackd of this user that accept clients, in no order. None for PipeWire, whose only
  /// server is the default one.
  package static var runningNames: [String] {
    if PipeWire.isLibrary { return [] }
    guard let list = text(ofSystemFile: "/proc/net/unix") else { return [] }
    let end = "_\(getuid())_0"
    let names = list.split(separator: "\n").compactMap { line -> String? in
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      // The fourth field has the flag of sockets that listen; the eighth is the path.
      guard fields.count == 8, fields[3] == "00010000",
        let file = fields[7].split(separator: "/").last, file.hasPrefix("jack_"),
        file.hasSuffix(end), unsafe access(String(fields[7]), W_OK) == 0
      else { return nil }
      return String(file.dropFirst(5).dropLast(end.count))
    }
    return Array(Set(names))
  }

  /// True if the server runs, or is the default one and can be started.
  package var isReachable: Bool {
    if PipeWire.isLibrary { return PipeWire.isRunning }
    if Self.runningNames.contains(name) { return true }
    return requestedName == nil && environmentVariable("JACK_NO_START_SERVER") == nil
      && !PipeWire.isRunning && findProgram("jackd") != nil
  }
}
