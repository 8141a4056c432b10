/// An OSC message: an address and typed arguments.
package struct OSCMessage: Hashable, Sendable {
  /// The address or, in a received message, an address pattern. It begins with a slash.
  package var address: String
  package var arguments: [OSCValue]

  package init(_ address: String, _ arguments: [OSCValue] = []) {
    self.address = address
    self.arguments = arguments
  }

  package init(_ address: String, _ arguments: OSCValue...) {
    self.init(address, arguments)
  }

  /// The type tags of the arguments, without the comma.
  package var types: String { String(arguments.map(\.tag)) }
}
