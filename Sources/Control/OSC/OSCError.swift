/// An error of OSC messages and sockets.
package enum OSCError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes of a packet are no OSC message or bundle.
  case malformed(String)
  /// A message or a text cannot be sent.
  case unsendable(String)
  /// The address is not that of a UDP port: the URL, and why.
  case badAddress(String, String)
  /// No socket can be bound to the port: the port, and the system's reason.
  case cannotBind(port: UInt16, String)
  /// The system refused to send a packet: the destination, and the system's reason.
  case cannotSend(to: OSCAddress, String)

  package var description: String {
    switch self {
    case .malformed(let reason): "malformed OSC packet: \(reason)"
    case .unsendable(let reason): "the OSC message cannot be sent: \(reason)"
    case .badAddress(let address, let reason): "“\(address)” is no OSC address: \(reason)"
    case .cannotBind(let port, let reason): "cannot receive OSC on UDP port \(port): \(reason)"
    case .cannotSend(let address, let reason): "cannot send OSC to \(address): \(reason)"
    }
  }
}
