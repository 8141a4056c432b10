/// An argument of an OSC message, with the type tag under which it travels.
package enum OSCValue: Hashable, Sendable {
  /// 32-bit integer, tag `i`.
  case int(Int32)
  /// 32-bit float, tag `f`.
  case float(Float)
  /// Text without a null character, tag `s`.
  case string(String)
  /// Bytes, tag `b`.
  case blob([UInt8])
  /// Tag `T` or `F`.
  case bool(Bool)
  /// Tag `N`.
  case null
  /// Tag `I`.
  case impulse
  /// 64-bit integer, tag `h`.
  case long(Int64)
  /// 64-bit float, tag `d`.
  case double(Double)

  /// The type tag.
  package var tag: Character {
    switch self {
    case .int: "i"
    case .float: "f"
    case .string: "s"
    case .blob: "b"
    case .bool(let isTrue): isTrue ? "T" : "F"
    case .null: "N"
    case .impulse: "I"
    case .long: "h"
    case .double: "d"
    }
  }

  /// The value of a number of any tag; nil for all others.
  package var number: Double? {
    switch self {
    case .int(let value): Double(value)
    case .float(let value): Double(value)
    case .long(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The text of a string; nil for all others.
  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

extension OSCValue: CustomStringConvertible {
  /// The value as `cuejack osc` prints it.
  package var description: String {
    switch self {
    case .int(let value): "\(value)"
    case .float(let value): "\(value)"
    case .string(let text): text
    case .blob(let bytes): "\(bytes.count) bytes"
    case .bool(let isTrue): isTrue ? "true" : "false"
    case .null: "nothing"
    case .impulse: "impulse"
    case .long(let value): "\(value)"
    case .double(let value): "\(value)"
    }
  }
}

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
