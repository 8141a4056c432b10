import Glibc

/// The manager of the service that this process is, such as systemd, as sd_notify(3) describes it. Any thread that is
/// not real time.
package struct ServiceManager: Sendable {
  private let socketPath: String
  /// Seconds within which the manager wants to hear that the process lives; nil if it does not watch it.
  private let watchdogSeconds: Double?
  /// Host time in nanoseconds of the next sign of life.
  private var nextSign: UInt64 = 0

  init(socketPath: String, watchdogSeconds: Double?) {
    self.socketPath = socketPath
    self.watchdogSeconds = watchdogSeconds
  }

  /// Nil if no manager wants to hear of this process.
  package init?() {
    guard let path = environmentVariable("NOTIFY_SOCKET"), let first = path.first,
      first == "/" || first == "@"
    else { return nil }
    socketPath = path
    let isWatched = environmentVariable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    let microseconds = environmentVariable("WATCHDOG_USEC").flatMap { UInt32($0) }
    watchdogSeconds = isWatched ? microseconds.map { Double($0) / 1e6 } : nil
  }

  /// The service does what it is for.
  package func ready() { tell("READY=1") }
  /// The service ends by itself, or because it was asked to.
  package func stopping() { tell("STOPPING=1") }

  /// Tells a manager that watches the process that it lives, twice in each of its intervals at most. The thread calls it
  /// whose progress shows that.
  package mutating func lives() {
    guard let watchdogSeconds, HostTime.now >= nextSign else { return }
    nextSign = HostTime.now + UInt64(watchdogSeconds / 2 * 1e9)
    tell("WATCHDOG=1")
  }

  /// Seconds until the next sign of life; infinite if nobody wants any.
  package var pause: Double {
    if watchdogSeconds == nil { return .infinity }
    let now = HostTime.now
    return nextSign > now ? Double(nextSign - now) / 1e9 : 0
  }

  /// A manager that does not take the message learns of the next one, or of the silence.
  private func tell(_ state: String) {
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(state.utf8)
    _ = unsafe LocalSocket.withAddress(of: socketPath) { address, size in
      unsafe sendto(
        descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), address, size)
    }
  }
}
