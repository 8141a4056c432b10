package import FoundationEssentials
import Glibc
import Server
import System

/// The reports of one kind of all processes of this user, requested on creation.
package struct RunningReports: Sendable {
  /// The answers as they came, with the paths of their sockets.
  package private(set) var answers: [(path: String, data: Data)] = []
  /// Processes that did not answer, in words.
  package private(set) var remarks: [String] = []

  /// Requests all reports. It removes sockets of processes that have ended.
  ///
  /// - Parameter patience: Seconds within which all answers must arrive.
  package init(of kind: ReportKind, patience: Double = 2) {
    var calls: [Call] = []
    for folder in ReportFolder.candidates(for: kind) {
      guard let isTrusted = isPrivateFolder(folder) else { continue }
      if isTrusted {
        calls += self.calls(in: folder)
      } else {
        remarks.append(
          "\(folder) is not looked into: it is not a folder of yours that is closed to others")
      }
    }
    let end = HostTime.now + UInt64(patience * 1e9)
    while calls.contains(where: { !$0.isOver }), HostTime.now < end {
      Self.await(&calls, until: end)
    }
    for call in calls {
      close(call.socket)
      if call.isTooLong {
        remarks.append("the process of \(call.path) answers with more than 16 MB: not listened to")
      } else if !call.isOver {
        remarks.append(
          "the process of \(call.path) does not answer: no word in \(patience) seconds")
      } else if !call.data.isEmpty {
        answers.append((call.path, call.data))
      }
    }
  }

  /// One request.
  private struct Call {
    let path: String
    let socket: Int32
    var data = Data()
    var isOver = false
    var isTooLong: Bool { data.count > 16 << 20 }
  }

  /// Connects to all sockets in a folder.
  private mutating func calls(in folder: String) -> [Call] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    var calls: [Call] = []
    for name in names.sorted() where !name.hasPrefix(".") {
      let path = "\(folder)/\(name)"
      guard let isTrusted = ReportFolder.isTrusted(socket: path) else { continue }
      guard isTrusted, let socket = ReportFolder.newSocket(flags: Int32(SOCK_NONBLOCK.rawValue))
      else {
        if !isTrusted { remarks.append("\(path) is not asked: it is another user's") }
        continue
      }
      let error = unsafe LocalSocket.withAddress(of: path) {
        unsafe connect(socket, $0, $1) == 0 ? 0 : errno
      }
      switch error {
      case 0 where Self.isOurs(socket): calls.append(Call(path: path, socket: socket))
      case 0:
        remarks.append("\(path) is not asked: another user listens there")
        close(socket)
      case EAGAIN:
        remarks.append("the process of \(path) does not answer: others wait for it as well")
        close(socket)
      default:
        // The process has ended.
        if error == ECONNREFUSED { unsafe unlink(path) }
        close(socket)
      }
    }
    return calls
  }

  /// Returns whether the listening process belongs to this user.
  private static func isOurs(_ socket: Int32) -> Bool {
    // The kernel's struct ucred: process, user, group.
    var peer: [UInt32] = [0, .max, 0]
    var size = socklen_t(3 * MemoryLayout<UInt32>.size)
    return unsafe getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
      && peer[1] == geteuid()
  }

  /// Waits for more data and reads it.
  private static func await(_ calls: inout [Call], until end: UInt64) {
    let open = calls.indices.filter { !calls[$0].isOver }
    var files = open.map { pollfd(fd: calls[$0].socket, events: Int16(POLLIN), revents: 0) }
    let now = HostTime.now
    let milliseconds = now < end ? Int32((end - now) / 1_000_000 + 1) : 0
    guard unsafe poll(&files, nfds_t(files.count), milliseconds) > 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    for (file, i) in zip(files, open) where file.revents != 0 {
      let count = unsafe recv(calls[i].socket, &buffer, buffer.count, 0)
      if count > 0 {
        calls[i].data += buffer[..<count]
        if calls[i].isTooLong { calls[i].isOver = true }
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        calls[i].isOver = true
      }
    }
  }
}
