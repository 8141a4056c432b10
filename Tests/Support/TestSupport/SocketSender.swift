import Foundation

/// A TCP server on the loopback that sends data to the first client that connects, in pieces of odd
/// sizes.
package final class SocketSender: Sendable {
  package let port: UInt16
  private let socket: Int32

  package init(_ data: Data) throws {
    let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    socket = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var size = socklen_t(MemoryLayout.size(ofValue: address))
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 1) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    guard bound else { throw SupportError("no socket on the loopback: \(errno)") }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      var rest = data[...]
      var size = 1
      while !rest.isEmpty {
        size = size * 7 % 9973 + 1
        let piece = Array(rest.prefix(size))
        let sent = send(connection, piece, piece.count, Int32(MSG_NOSIGNAL))
        if sent <= 0 { break }
        rest = rest.dropFirst(sent)
      }
      close(connection)
    }
  }

  deinit {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }
}
