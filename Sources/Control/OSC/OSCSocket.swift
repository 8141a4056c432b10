import Glibc

/// A UDP socket of OSC messages. Any thread.
///
/// liblo's own servers bind to all addresses of the machine, and have no setting for it. This socket is
/// bound to the loopback unless `reach` says otherwise.
package final class OSCSocket: Sendable {
  /// The hosts whose packets are accepted.
  package enum Reach: Hashable, Sendable, CustomStringConvertible {
    /// This machine, by its loopback addresses.
    case loopback
    /// One host, by its IPv4 address, and this machine.
    case host(UInt32)
    /// A host with this name, and this machine.
    case named(OSCHost)
    /// All hosts.
    case everywhere

    /// Creates the reach of a host's IPv4 address or name, or of all hosts for “any”. Asks the system's
    /// resolver.
    package init(host name: String) {
      if name == "any" {
        self = .everywhere
        return
      }
      let host = OSCHost(name)
      let isLoopback = host.address.map { OSCAddress(host: $0, port: 0).isLoopback } ?? false
      self = isLoopback ? .loopback : .named(host)
    }

    /// The name that the system's resolver does not know yet; nil if there is none.
    package var unknownName: String? {
      if case .named(let host) = self, host.address == nil { return host.name }
      return nil
    }

    package var description: String {
      switch self {
      case .loopback: "this machine"
      case .host(let host):
        "this machine and \(OSCAddress(host: host, port: 0).hostText)"
      case .named(let host): "this machine and \(host)"
      case .everywhere: "all hosts"
      }
    }

    /// Returns true if packets from `source` are accepted.
    package func accepts(_ source: OSCAddress) -> Bool {
      switch self {
      case .loopback: source.isLoopback
      case .host(let host): source.host == host || source.isLoopback
      case .named(let host): source.isLoopback || host.accepts(source)
      case .everywhere: true
      }
    }
  }

  /// What the socket receives.
  enum Reception {
    case packet([UInt8], from: OSCAddress)
    /// A packet of another host, which was dropped.
    case stranger(OSCAddress)
    /// An earlier packet to this address did not arrive, because no program receives there.
    case unreachable(OSCAddress)
  }

  package let port: UInt16
  package let reach: Reach
  let descriptor: CInt

  /// Binds a socket to a port, or to a free one if `port` is 0.
  package init(port: UInt16 = 0, reach: Reach = .loopback) throws(OSCError) {
    let new = socket(
      AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard new >= 0 else { throw .cannotBind(port: port, Self.systemReason) }
    let host: UInt32 = reach == .loopback ? OSCAddress.loopback : 0
    let isBound = unsafe OSCAddress(host: host, port: port).withSocketAddress {
      unsafe bind(new, $0, $1) == 0
    }
    guard isBound else {
      let reason = Self.systemReason
      close(new)
      throw .cannotBind(port: port, reason)
    }
    // Replies to a burst of queries arrive at once.
    Self.set(new, SOL_SOCKET, SO_RCVBUF, to: 1 << 20)
    // IP_RECVERR: reports packets that no program received.
    Self.set(new, CInt(IPPROTO_IP), 11, to: 1)
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(new, $0, &size)
      }
    }
    descriptor = new
    self.port = OSCAddress(address).port
    self.reach = reach
  }

  deinit { close(descriptor) }

  private static func set(_ socket: CInt, _ level: CInt, _ option: CInt, to value: CInt) {
    var value = value
    unsafe setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  private static var systemReason: String { unsafe String(cString: strerror(errno)) }

  /// Returns true if `address` is one of this machine's.
  package static func isLocal(_ address: OSCAddress) -> Bool {
    if address.isLoopback { return true }
    // The system sends from the very address that a packet goes to if that is its own.
    let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard probe >= 0 else { return false }
    defer { close(probe) }
    guard unsafe address.withSocketAddress({ unsafe connect(probe, $0, $1) }) == 0 else {
      return false
    }
    var source = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafeMutablePointer(to: &source) { source in
      unsafe source.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(probe, $0, &size)
      }
    }
    return result == 0 && OSCAddress(source).host == address.host
  }

  package func send(_ message: OSCMessage, to address: OSCAddress) throws(OSCError) {
    try send(bytes: message.encoded(), to: address)
  }

  /// Sends a packet. An error of an earlier packet does not stop this one.
  package func send(bytes: [UInt8], to address: OSCAddress) throws(OSCError) {
    for attempt in 1...8 {
      let count = unsafe address.withSocketAddress { to, size in
        unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), to, size)
      }
      if count >= 0 { return }
      switch errno {
      // The report of an earlier packet that nobody received, which `receive()` returns as well.
      case ECONNREFUSED, EINTR: continue
      // The system's buffer is full.
      case EAGAIN where attempt < 8: usleep(1000)
      default: throw .cannotSend(to: address, Self.systemReason)
      }
    }
  }

  /// Returns the next packet or report; nil if there is none.
  func receive(_ buffer: inout [UInt8]) -> Reception? {
    if let address = takeError(&buffer) { return .unreachable(address) }
    while true {
      var address = sockaddr_in()
      let count = take(&buffer, 0, &address)
      if count < 0 {
        switch errno {
        case EINTR: continue
        case EAGAIN: return nil
        default:
          // An error of a packet that was sent.
          if let address = takeError(&buffer) { return .unreachable(address) }
          return nil
        }
      }
      let source = OSCAddress(address)
      if !reach.accepts(source) { return .stranger(source) }
      return .packet(Array(buffer[..<count]), from: source)
    }
  }

  /// Returns the destination of a packet that did not arrive; nil if the error queue is empty.
  private func takeError(_ buffer: inout [UInt8]) -> OSCAddress? {
    var address = sockaddr_in()
    // MSG_ERRQUEUE
    guard take(&buffer, 0x2000, &address) >= 0, address.sin_port != 0 else { return nil }
    return OSCAddress(address)
  }

  private func take(_ buffer: inout [UInt8], _ flags: CInt, _ address: inout sockaddr_in) -> Int {
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe recvfrom(
          descriptor, &buffer, buffer.count, flags | CInt(MSG_DONTWAIT), $0, &size)
      }
    }
  }
}
