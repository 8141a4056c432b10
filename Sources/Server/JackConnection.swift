import CJack
import Dispatch
import Foundation
import Glibc
import Logging

/// The socket on which libjack asks jackd for what a client wants. libjack waits on it for the answers
/// without a limit.
struct JackConnection: Hashable, Sendable {
  private let file: CInt
  /// Tells whether the file is still the same one.
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

  /// The connections of this process to the jackd called `server`. None to PipeWire.
  static func all(to server: String) -> Set<JackConnection> {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let found = files.compactMap { CInt($0) }.filter { file in
      let name = peer(of: file)?.split(separator: "/").last
      return name?.hasPrefix("jack_\(server)_") ?? false
    }
    return Set(found.compactMap { JackConnection($0) })
  }

  /// The path of the local socket that a file is connected to.
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

  /// Has whoever waits for an answer go on without one. What is asked for later fails at once.
  func breakOff() {
    guard Self.inode(of: file) == inode else { return }
    // Reading only: to write would send this process a signal.
    shutdown(file, CInt(SHUT_RD))
  }
}

/// Runs `body`, and `rescue` on another thread if that takes longer than so many seconds.
func limited<R>(to seconds: Int, _ rescue: @escaping @Sendable () -> Void, _ body: () -> R) -> R {
  let watch = DispatchWorkItem(block: rescue)
  DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: watch)
  defer { watch.cancel() }
  return body()
}

/// One thread at a time, for JACK's library is not made for two that open clients at once.
///
/// And closing a client takes down, once the server has given its number to the next one, what the process
/// keeps under that number: nobody opens one meanwhile.
enum JackLibrary {
  private static let turn = DispatchSemaphore(value: 1)

  /// Runs `body`, which opens or closes a client. Nil if another thread has been at that for half a minute:
  /// its server does not answer.
  static func alone<R>(_ body: () -> R) -> R? {
    guard turn.wait(timeout: .now() + .seconds(30)) == .success else { return nil }
    defer { turn.signal() }
    return body()
  }
}
