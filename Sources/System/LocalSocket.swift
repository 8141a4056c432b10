package import Glibc

/// A socket of the file system. Any thread that is not real time.
package enum LocalSocket {
  /// Maximum length of a path in bytes.
  package static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Calls `body` with the address of a socket. Returns nil if the path is too long.
  ///
  /// - Parameter path: Its path; a name that begins with `@` is Linux's abstract one.
  package static func withAddress<Result>(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count <= longestPath else { return nil }
    var size = MemoryLayout<sockaddr_un>.size
    if bytes.first == UInt8(ascii: "@") {
      bytes[0] = 0
      // All bytes of the address belong to an abstract name.
      size -= longestPath + 1 - bytes.count
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(size))
      }
    }
  }

  /// Returns whether a server on a socket accepts a connection now. One that is made is closed at once.
  package static func accepts(_ path: String) -> Bool {
    let descriptor = socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return unsafe withAddress(of: path) { unsafe connect(descriptor, $0, $1) == 0 } ?? false
  }
}
