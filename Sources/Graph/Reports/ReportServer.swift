package import FoundationEssentials
import Glibc
import Logging
import Server
import Synchronization
import System

/// Server that sends the current report of a graph or of remote control as JSON to every process of the user that
/// connects to its socket.
///
/// It serves one client after another on a thread of its own, which is not real-time.
@safe
package final class ReportServer: Sendable {
  private let socket: Int32
  private let path: String
  private let isOver = Atomic<Bool>(false)

  /// Seconds within which a client must read the report.
  private static let patience = 2

  /// Starts serving the result of `report` at a path made of the process identifier and the client's
  /// name. Returns nil if no socket can be made there; the graph or command runs without it.
  package init?(
    of kind: ReportKind, client: String, report: @escaping @Sendable () -> Data?
  ) {
    let (subject, commands) = kind.words
    guard let folder = ReportFolder.forServing(kind), let socket = ReportFolder.newSocket() else {
      log.info("\(commands) will not find the \(subject): there is no folder for its socket")
      return nil
    }
    guard let path = Self.listen(socket, in: folder, client: client) else {
      log.info("\(commands) will not find the \(subject): no socket can be made in \(folder)")
      Glibc.close(socket)
      return nil
    }
    self.socket = socket
    self.path = path
    startThread(named: "cuejack-\(subject.prefix { $0 != " " })") { [self] in serve(report) }
  }

  /// Starts listening on the socket and links it to an unused path. Returns nil on failure.
  ///
  /// Until it listens it has a hidden name: a reader that connected earlier would take the process for
  /// dead.
  private static func listen(_ socket: Int32, in folder: String, client: String) -> String? {
    let hidden = "\(folder)/.\(UUID().uuidString.prefix(13))"
    defer { unsafe unlink(hidden) }
    let isBound = unsafe LocalSocket.withAddress(of: hidden) { address, bytes in
      unsafe bind(socket, address, bytes) == 0
    }
    guard isBound == true, Glibc.listen(socket, 16) == 0 else { return nil }
    let characters = client.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
    let start = "\(folder)/\(getpid())-"
    let room = LocalSocket.longestPath - start.utf8.count - 3
    guard room > 0 else { return nil }
    for number in 1...99 {
      let path = start + characters.prefix(room) + (number == 1 ? "" : "-\(number)")
      if unsafe link(hidden, path) == 0 { return path }
      if errno != EEXIST { return nil }
    }
    return nil
  }

  deinit { close(socket) }

  /// Runs the serving thread.
  private func serve(_ report: () -> Data?) {
    while true {
      let asker = accept(socket, nil, nil)
      if isOver.load(ordering: .acquiring) {
        if asker >= 0 { close(asker) }
        return
      }
      guard asker >= 0 else {
        // For example, too many files are open.
        if errno != EINTR && errno != ECONNABORTED { usleep(100_000) }
        continue
      }
      if let report = report() { Self.send(report, to: asker) }
      close(asker)
    }
  }

  private static func send(_ data: Data, to asker: Int32) {
    var patience = timeval(tv_sec: patience, tv_usec: 0)
    unsafe setsockopt(
      asker, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    unsafe data.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = unsafe Glibc.send(
          asker, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        if count <= 0 { return }
        sent += count
      }
    }
  }

  /// Stops serving. Call it once.
  package func end() {
    unsafe unlink(path)
    isOver.store(true, ordering: .releasing)
    // Wakes the thread, which then ends.
    shutdown(socket, Int32(SHUT_RDWR))
  }
}
