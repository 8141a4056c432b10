/// An error between a queue and its JACK server. `description` is the message for people.
package enum ServerError: Error, Hashable, Codable, Sendable, CustomStringConvertible {
  /// No server of the requested name runs.
  case unknownServer(String)
  /// No default server runs, and JACK_NO_START_SERVER forbids starting one.
  case notRunning(String)
  /// The JACK library is PipeWire's, and PipeWire's daemon accepts no clients.
  case pipeWireNotRunning(socket: String?)
  /// No jackd runs, but PipeWire does, and the JACK library is jackd's.
  case pipeWireRuns
  /// No server runs, and jackd is not installed.
  case jackdNotFound
  /// `jackd` was started and exited; the text is its output.
  case jackdFailed(String)
  /// The process has clients on another server: JACK's library supports one server at a time.
  case otherServer(String, inUse: String)
  case cannotOpenClient(name: String, server: String, reason: String)
  case cannotActivate(client: String)
  /// The client was closed while a queue was joining it.
  case closed(client: String)
  case cannotAddPort(name: String, client: String)
  case noSuchPort(name: String, server: String)
  case noSuchSource(name: String, server: String)
  case cannotConnect(from: String, to: String)
  /// The number of graph ports for a voice or recorder differs from its number of channels.
  case wrongInputCount(count: Int, channels: Int)
  /// The server's period is too long for a graph.
  case periodTooLong(server: String, frames: Int, longest: Int)
  /// The server runs no cycles for a client that is active and connected.
  case noCycles(client: String, server: String)
  /// JACK's library waits for a server that does not answer. No client can be opened meanwhile.
  case libraryWaits
  /// The server runs, but does not read requests.
  case noAnswer(server: String)
  /// The server went away, or stopped answering.
  case lost(server: String)

  package var description: String {
    switch self {
    case .unknownServer(let name):
      "no JACK server named “\(name)” is running"
    case .notRunning(let name):
      "no JACK server is running (“\(name)”), and starting one is not allowed"
        + " (JACK_NO_START_SERVER is set)"
    case .pipeWireNotRunning(let socket):
      "PipeWire does not answer (\(socket ?? "XDG_RUNTIME_DIR is not set")), and the JACK library in use is"
        + " PipeWire's: start PipeWire, or use jackd's library"
    case .pipeWireRuns:
      "no jackd is running, but PipeWire is: run this program with pw-jack, or start jackd"
    case .jackdNotFound:
      "no JACK server is running, and jackd is not installed"
        + " (no “jackd” in PATH; Debian's package is jackd2)"
    case .jackdFailed(let reason):
      "jackd could not be started: \(reason)"
    case .otherServer(let name, let inUse):
      "the JACK server “\(name)” cannot be reached while “\(inUse)” is in use:"
        + " JACK's library serves a program one server at a time"
    case .cannotOpenClient(let name, let server, let reason):
      "cannot open the client “\(name)” on the JACK server “\(server)”: \(reason)"
    case .cannotActivate(let client):
      "JACK does not activate the client “\(client)”"
    case .closed(let client):
      "the client “\(client)” was closed while a queue came to share it"
    case .cannotAddPort(let name, let client):
      "JACK gives the client “\(client)” no port “\(name)” (jackd's --port-max may be reached)"
    case .noSuchPort(let name, let server):
      "the JACK server “\(server)” has no input port named “\(name)”"
    case .noSuchSource(let name, let server):
      "the JACK server “\(server)” has no output port named “\(name)”"
    case .cannotConnect(let from, let to):
      "JACK does not connect “\(from)” to “\(to)”"
    case .wrongInputCount(let count, let channels):
      "a sound of \(channels) channels cannot go to \(count) inputs of a graph"
    case .periodTooLong(let server, let frames, let longest):
      "the JACK server “\(server)” has periods of \(frames) frames: plugins run in periods of \(longest)"
        + " at most"
    case .noCycles(let client, let server):
      "the JACK server “\(server)” runs no cycles for the client “\(client)”: is there a sound card, or"
        + " another device that drives it?"
    case .libraryWaits:
      "no client can be opened: JACK's library waits for a server that does not answer"
    case .noAnswer(let server):
      "the JACK server “\(server)” does not answer: is its process stopped, or its sound card gone?"
    case .lost(let server):
      "the JACK server “\(server)” went away"
    }
  }
}
