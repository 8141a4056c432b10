import Synchronization
import System

/// Servers that have read no request of a question: none is sent to them for some seconds.
enum SilentServers {
  private static let ends = Mutex<[String: UInt64]>([:])
  private static let nanoseconds: UInt64 = 5_000_000_000

  static func note(_ name: String) { ends.withLock { $0[name] = HostTime.now + nanoseconds } }
  static func forget(_ name: String) { ends.withLock { $0[name] = nil } }
  /// Whether the latest request to a server was not read.
  static func isNoted(_ name: String) -> Bool { ends.withLock { $0[name] } != nil }
  static func contains(_ name: String) -> Bool {
    ends.withLock { ($0[name] ?? 0) > HostTime.now }
  }
}
