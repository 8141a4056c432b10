import Foundation
import Glibc
import TestSupport
import Testing

@testable import Server

@Suite struct DirectoryTests {
  /// A desktop has hundreds of sockets, and the kernel lists them in no order.
  @Test func serversAreFoundAmongManySockets() throws {
    let names = (0..<20).map { "cuejack-directory-\(getpid())-\($0)" }
    var sockets: [Int32] = []
    defer { sockets.forEach { close($0) } }
    try withTemporaryFolder { folder in
      for number in 0..<600 {
        let name = number < names.count ? "jack_\(names[number])_\(getuid())_0" : "socket-\(number)"
        let path = folder.appendingPathComponent(name).path
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try require(descriptor >= 0)
        sockets.append(descriptor)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try require(status == 0 && listen(descriptor, 1) == 0, "\(path)")
      }
      let found = Set(JackServer.runningNames)
      expectTrue(names.allSatisfy(found.contains))
    }
  }
}
