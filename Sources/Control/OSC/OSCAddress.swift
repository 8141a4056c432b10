import CLiblo
import Glibc

/// A UDP port of an IPv4 host.
package struct OSCAddress: Hashable, Sendable, CustomStringConvertible {
  /// The IPv4 address, most significant byte first: 127.0.0.1 is 0x7F000001.
  package let host: UInt32
  package let port: UInt16

  package init(host: UInt32 = loopback, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// 127.0.0.1.
  package static let loopback: UInt32 = 0x7F00_0001

  /// Creates the address of a URL such as `osc.udp://localhost:13000/`. Asks the system's resolver for
  /// host names.
  package init(url: String) throws(OSCError) {
    func part(_ body: (String) -> UnsafeMutablePointer<CChar>?) -> String? {
      guard let text = unsafe body(url) else { return nil }
      defer { unsafe free(text) }
      return unsafe String(cString: text)
    }
    guard unsafe part({ unsafe lo_url_get_protocol($0) }) == "udp" else {
      throw .badAddress(url, "it does not begin with osc.udp://")
    }
    guard let name = unsafe part({ unsafe lo_url_get_hostname($0) }), !name.isEmpty else {
      throw .badAddress(url, "it names no host")
    }
    guard let port = unsafe part({ unsafe lo_url_get_port($0) }).flatMap({ UInt16($0) }), port > 0
    else { throw .badAddress(url, "it names no port between 1 and 65535") }
    guard let host = Self.find(name) else {
      throw .badAddress(url, "the host “\(name)” is not known, or has no IPv4 address")
    }
    self.init(host: host, port: port)
  }

  /// Returns the first IPv4 address of a host; nil if it has none.
  static func find(_ name: String) -> UInt32? {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_INET
    unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(name, nil, &hints, &found) == 0 else { return nil }
    defer { unsafe freeaddrinfo(found) }
    guard let address = unsafe found?.pointee.ai_addr else { return nil }
    return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
      unsafe UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
    }
  }

  /// True for 127.0.0.0/8.
  package var isLoopback: Bool { host >> 24 == 127 }

  package var url: String { "osc.udp://\(self)/" }

  /// The IPv4 address as text, such as 127.0.0.1.
  var hostText: String {
    "\(host >> 24).\(host >> 16 & 0xFF).\(host >> 8 & 0xFF).\(host & 0xFF)"
  }

  package var description: String { "\(hostText):\(port)" }

  init(_ address: sockaddr_in) {
    self.init(
      host: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
  }

  /// Calls `body` with the address as the system's functions take it.
  func withSocketAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = host.bigEndian
    address.sin_port = port.bigEndian
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
