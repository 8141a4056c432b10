import Foundation
import Glibc

/// The folders in which graphs that run have their sockets: no other user may look into them.
enum GraphFolder {
  /// The folders that there may be, the best one first.
  static var candidates: [String] {
    var folders: [String] = []
    if let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"],
      runtime.hasPrefix("/"), isTrusted(runtime) == true
    {
      folders.append(runtime + "/cuejack")
    }
    let temporary = NSTemporaryDirectory()
    let slash = temporary.hasSuffix("/") ? "" : "/"
    return folders + ["\(temporary)\(slash)cuejack-\(geteuid())"]
  }

  /// A folder for our own sockets, which is made if need be; nil if none can be had.
  static func forServing() -> String? {
    candidates.first { folder in
      unsafe mkdir(folder, 0o700)
      return isTrusted(folder) == true
    }
  }

  /// Whether a folder is the user's own and closed to others; nil if there is none.
  static func isTrusted(_ folder: String) -> Bool? {
    var status = stat()
    guard unsafe lstat(folder, &status) == 0 else { return nil }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }

  /// Whether there is a socket that is the user's own; nil if there is no socket.
  static func isTrusted(socket path: String) -> Bool? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return status.st_uid == geteuid()
  }

  /// Bytes that the path of a socket may have.
  static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Calls `body` with the address of a socket; nil if the path is too long for one.
  static func withAddress<Result>(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count <= longestPath else { return nil }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// A new socket, which no program that we start inherits; nil if there is none.
  static func newSocket(flags: Int32 = 0) -> Int32? {
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags, 0)
    return socket < 0 ? nil : socket
  }
}
