/// A receiver of sound on another machine: `HOST:PORT`, `rtp://ADDRESS:PORT`, and with `@INTERFACE` behind them for a
/// multicast address.
package struct SessionReceiver: Hashable, Sendable, CustomStringConvertible {
  /// The program that sends.
  package enum Kind: Hashable, Sendable {
    /// zita-j2n, of zita-njbridge.
    case zita
    /// PipeWire's RTP sink.
    case rtp
  }

  package let kind: Kind
  /// A name or an address; an address of IPv6 without its brackets.
  package let host: String
  package let port: UInt16
  /// The network interface; nil for the system's choice.
  package let interface: String?
  package let description: String

  package static let form =
    "HOST:PORT or rtp://ADDRESS:PORT with a port from 1 to 65535, and for a multicast address with @INTERFACE, such "
    + "as 192.168.1.10:9700"

  /// Creates a receiver from its text; nil for other texts.
  package init?(_ text: String) {
    let scheme = "rtp://"
    description = text
    kind = text.hasPrefix(scheme) ? .rtp : .zita
    var rest = text.hasPrefix(scheme) ? text.dropFirst(scheme.count) : text[...]
    if let mark = rest.lastIndex(of: "@") {
      let name = String(rest[rest.index(after: mark)...])
      guard Self.isName(name), name.utf8.count < 16 else { return nil }
      interface = name
      rest = rest[..<mark]
    } else {
      interface = nil
    }
    guard let colon = rest.lastIndex(of: ":"),
      rest[rest.index(after: colon)...].allSatisfy(\.isNumber),
      let port = UInt16(rest[rest.index(after: colon)...]), port > 0
    else { return nil }
    self.port = port
    let host = rest[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      self.host = String(host.dropFirst().dropLast())
      guard self.host.utf8.allSatisfy({ Self.isHexadecimal($0) || ":.".utf8.contains($0) }) else {
        return nil
      }
    } else {
      self.host = String(host)
      guard Self.isName(self.host) else { return nil }
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }

  /// Whether a text is a name of a host or an interface. None begins as an option does.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count < 254 && !text.hasPrefix("-")
      && text.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._".utf8.contains($0)
        }
      }
  }
}
