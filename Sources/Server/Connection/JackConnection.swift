import CJack
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import System

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

  /// True while the server has not read all requests.
  var isUnread: Bool { Self.inode(of: file) == inode && cue_socket_is_unread(file) != 0 }
}

/// Runs `body`, which waits for a server's answers. Runs `rescue` on another thread meanwhile, once, if that
/// takes longer than `seconds` seconds.
///
/// - Parameters:
///   - unreadSeconds: Seconds after which it runs `rescue` although they are not over, because the server has
///     not read a request on `connections` since.
func limited<R>(
  to seconds: Double, unread unreadSeconds: Double = .infinity,
  on connections: @escaping @Sendable () -> Set<JackConnection> = { [] },
  _ rescue: @escaping @Sendable () -> Void, _ body: () -> R
) -> R {
  let watch = AnswerWatch(seconds, unreadSeconds, connections, rescue)
  watch.lookLater()
  defer { watch.end() }
  return body()
}

/// Looks ten times a second whether a wait for a server's answers has taken too long.
private final class AnswerWatch: Sendable {
  private struct State {
    var looks = 0
    /// Latest looks in a row that have found an unread request.
    var unread = 0
    var isOver = false
    /// Set while the wait counts as one of `JackLibrary.isStuck`.
    var isStuck = false
  }
  private let state = Mutex(State())
  private let seconds: Double
  private let unreadSeconds: Double
  private let connections: @Sendable () -> Set<JackConnection>
  private let rescue: @Sendable () -> Void
  private static let interval = 0.1

  init(
    _ seconds: Double, _ unreadSeconds: Double,
    _ connections: @escaping @Sendable () -> Set<JackConnection>,
    _ rescue: @escaping @Sendable () -> Void
  ) {
    self.seconds = seconds
    self.unreadSeconds = unreadSeconds
    self.connections = connections
    self.rescue = rescue
  }

  func lookLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.interval) { [self] in look() }
  }

  private func look() {
    if state.withLock({ $0.isOver }) { return }
    let isUnread = unreadSeconds.isFinite && connections().contains { $0.isUnread }
    let isTooLong: Bool? = state.withLock { state in
      if state.isOver { return nil }
      state.looks += 1
      state.unread = isUnread ? state.unread + 1 : 0
      let waits = Double(state.unread) * Self.interval
      setStuck(waits >= JackLibrary.stuckSeconds, &state)
      return Double(state.looks) * Self.interval >= seconds || waits >= unreadSeconds
    }
    switch isTooLong {
    case true?: rescue()
    case false?: lookLater()
    case nil: break
    }
  }

  func end() {
    state.withLock { state in
      state.isOver = true
      setStuck(false, &state)
    }
  }

  private func setStuck(_ on: Bool, _ state: inout State) {
    if on == state.isStuck { return }
    state.isStuck = on
    JackLibrary.stuckWaits.add(on ? 1 : -1, ordering: .relaxed)
  }
}
