import CJack
import Dispatch
import FoundationEssentials
import Glibc

/// The socket on which libjack sends a client's requests to jackd. libjack waits for the answers
/// without a time limit.
struct JackConnection: Hashable, Sendable {
  private let file: CInt
  /// Inode of the file, to detect that the descriptor has been reused.
  private let inode: UInt

  private init?(_ file: CInt) {
    guard let inode = Self.inode(of: file) else { return nil }
    self.file = file
    self.inode = inode
  }

  private static func inode(of file: CInt) -> UInt? {
    var status = stat()
    return unsafe fstat(file, &status) == 0 ? UInt(status.st_ino) : nil
  }

  /// Returns this process's connections to the jackd called `server`; none for PipeWire.
  static func all(to server: String) -> Set<JackConnection> {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let found = files.compactMap { CInt($0) }.filter { file in
      let name = peer(of: file)?.split(separator: "/").last
      return name?.hasPrefix("jack_\(server)_") ?? false
    }
    return Set(found.compactMap { JackConnection($0) })
  }

  /// Returns the path of the local socket that a file is connected to; nil if there is none.
  private static func peer(of file: CInt) -> String? {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getpeername(file, $0, &size)
      }
    }
    guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
    return unsafe withUnsafeBytes(of: &address.sun_path) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Ends all waiting for answers on this connection. Later requests fail at once.
  func breakOff() {
    guard Self.inode(of: file) == inode else { return }
    // Shut down reading only: a write to a socket shut for writing would raise SIGPIPE.
    shutdown(file, CInt(SHUT_RD))
  }
}

/// Runs `body`. If that takes longer than `seconds` seconds, runs `rescue` on another thread
/// meanwhile.
func limited<R>(to seconds: Int, _ rescue: @escaping @Sendable () -> Void, _ body: () -> R) -> R {
  let watch = DispatchWorkItem(block: rescue)
  DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: watch)
  defer { watch.cancel() }
  return body()
}
