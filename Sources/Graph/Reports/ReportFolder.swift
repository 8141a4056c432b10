import Glibc
import System

/// What a process reports to other processes of its user.
package enum ReportKind: Sendable {
  /// A running plugin graph, which `cuejack graph` shows.
  case graph
  /// A running session, player, effect or recording, which `cuejack osc` and `cuejack set` control.
  case remote

  /// The folder in the folder of Cuejack's sockets.
  fileprivate var subfolder: String {
    switch self {
    case .graph: ""
    case .remote: "/remote"
    }
  }

  /// The subject and the commands that look for it, in words.
  var words: (subject: String, commands: String) {
    switch self {
    case .graph: ("graph", "“cuejack graph”")
    case .remote: ("remote control", "“cuejack list”, “cuejack osc” and “cuejack set”")
    }
  }
}

/// The folders for the sockets of running graphs and of remote control. Other users cannot read them.
enum ReportFolder {
  /// The possible folders of Cuejack's sockets, the best one first.
  private static var roots: [String] {
    var folders: [String] = []
    if let runtime = environmentVariable("XDG_RUNTIME_DIR"),
      runtime.hasPrefix("/"), isPrivateFolder(runtime) == true
    {
      folders.append(runtime + "/cuejack")
    }
    return folders + ["\(temporaryFolder)/cuejack-\(geteuid())"]
  }

  /// Returns the possible folders for a kind of reports, the best one first.
  static func candidates(for kind: ReportKind) -> [String] { roots.map { $0 + kind.subfolder } }

  /// Returns a folder for this process's sockets, creating it if necessary, or nil if none can be
  /// created.
  static func forServing(_ kind: ReportKind) -> String? {
    roots.lazy.compactMap { root in
      for folder in [root, root + kind.subfolder] {
        unsafe mkdir(folder, 0o700)
        if isPrivateFolder(folder) != true { return nil }
      }
      return root + kind.subfolder
    }.first
  }

  /// Returns whether the socket belongs to the user, or nil if there is no socket at the path.
  static func isTrusted(socket path: String) -> Bool? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return status.st_uid == geteuid()
  }

  /// Returns a new socket, closed in child programs, or nil on failure.
  static func newSocket(flags: Int32 = 0) -> Int32? {
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags, 0)
    return socket < 0 ? nil : socket
  }
}
