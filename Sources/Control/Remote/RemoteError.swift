/// An error of remote control.
package enum RemoteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A message was refused: its address, and the reason.
  case refused(String, String)
  /// The session does not answer: its address, and the seconds that it was given.
  case silent(OSCAddress, Double)
  /// No program receives at the session's address.
  case gone(OSCAddress)
  /// The socket or the resolver failed.
  case transport(OSCError)

  package var description: String {
    switch self {
    case .refused(let address, let reason): "\(address): \(reason)"
    case .silent(let address, let seconds):
      "the program at \(address) does not answer in \(seconds) seconds" + Self.likelyCause(address)
    case .gone(let address):
      address.isLoopback
        ? "the program at \(address) has gone"
        : "nothing answers at \(address)" + Self.likelyCause(address)
    case .transport(let error): "\(error)"
    }
  }

  /// Why a session on another machine says nothing; empty for one on this machine.
  private static func likelyCause(_ address: OSCAddress) -> String {
    address.isLoopback
      ? ""
      : ": it is not running, has another port, or its --remote-host does not name this machine"
  }
}
