package import Sessions

/// The reason why sound cannot be sent to another machine.
package enum SendError: Error, Sendable, CustomStringConvertible {
  case noProgram(String, package: String)
  /// RTP was asked for on a server that is no PipeWire.
  case needsPipeWire(SessionReceiver, server: String)
  case noHost(SessionReceiver, reason: String)

  package var description: String {
    switch self {
    case .noProgram(let program, let package):
      "there is no program \(program): install Debian's package \(package)"
    case .needsPipeWire(let receiver, let server):
      "\(receiver): RTP is sent by PipeWire, and the JACK server “\(server)” is none: HOST:PORT without rtp:// is sent by "
        + "zita-njbridge"
    case .noHost(let receiver, let reason):
      "\(receiver): the host \(receiver.host) is not found: \(reason)"
    }
  }
}
