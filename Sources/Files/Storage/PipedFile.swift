import Glibc
import Synchronization
import System

/// Sound files that come through pipes: standard input, FIFOs, and the pipes of process substitutions.
///
/// A pipe can be read once only and has no positions. Its bytes therefore go to a file without a name, which
/// serves all later reads of the same path in this process. Any thread; calls block.
package enum PipedFile {
  /// The name of standard input in messages.
  package static let standardInput = "standard input"

  private static let known = Mutex<[Name: PipeArrival]>([:])
  private static let isStopped = Atomic<Bool>(false)

  /// Ends all reads of pipes: the files have what came until then. Any thread.
  package static func stop() { isStopped.store(true, ordering: .releasing) }

  /// True once `stop()` was called.
  static var hasStopped: Bool { isStopped.load(ordering: .acquiring) }

  /// Paths of standard input.
  private static func isStandardInput(_ path: String) -> Bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
  }

  /// Returns true if a path names a pipe, a socket, or standard input unless that is a plain file.
  package static func isPipe(_ path: String) -> Bool {
    if path == "-" { return true }
    var status = stat()
    guard unsafe stat(path.systemName, &status) == 0 else { return false }
    switch status.st_mode & S_IFMT {
    case S_IFIFO, S_IFSOCK: return true
    case S_IFCHR: return isStandardInput(path)
    default: return false
    }
  }

  /// Opens a pipe for reading. Reads return at once if there is nothing to read.
  fileprivate static func descriptor(_ path: String) throws(SoundFileError) -> Int32 {
    let opened =
      isStandardInput(path)
      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
      : unsafe open(path.systemName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else { throw SoundFileError(errno: errno, path: name(of: path)) }
    return opened
  }

  /// Returns the name of a pipe in messages.
  package static func name(of path: String) -> String { path == "-" ? standardInput : path }

  /// Returns what comes through a pipe: the same object for all calls with a path.
  package static func arrival(_ path: String) throws(SoundFileError) -> PipeArrival {
    try known.withLock { known throws(SoundFileError) in
      let key = isStandardInput(path) ? Name("-") : Name(path)
      if let arrival = known[key] { return arrival }
      let arrival = try PipeArrival(path)
      known[key] = arrival
      return arrival
    }
  }

  /// Returns the store with everything that comes through a pipe. Waits until the pipe ends.
  package static func store(_ path: String) throws(SoundFileError) -> FileStore {
    let arrival = try arrival(path)
    if try arrival.wait(beyond: .max) == 0 { throw SoundFileError(.empty, path: name(of: path)) }
    return arrival.content
  }
}

/// The bytes that come through a pipe, in a file without a name that grows. Any thread.
package final class PipeArrival: Sendable {
  private let descriptor: Int32
  /// The bytes that have come until now.
  package let store: FileStore

  private struct State {
    var count: Int64 = 0
    var hasEnded = false
    var isCancelled = false
    /// A file that takes the place of the bytes.
    var replacement: FileStore?
    /// Number of the latest bytes to keep; nil for all.
    var kept: Int64?
    /// Number of bytes at the beginning that are no longer there.
    var dropped: Int64 = 0
  }
  private let state = Mutex(State())
  /// Admits one reader of the pipe at a time.
  private let reading = Mutex([UInt8](repeating: 0, count: 1 << 16))

  fileprivate init(_ path: String) throws(SoundFileError) {
    descriptor = try PipedFile.descriptor(path)
    store = try FileStore(namelessFor: PipedFile.name(of: path))
  }

  deinit { close(descriptor) }

  /// The file with everything that came.
  fileprivate var content: FileStore { state.withLock { $0.replacement } ?? store }

  /// Serves another file to readers of the pipe: one that describes the bytes.
  package func replace(by file: FileStore) { state.withLock { $0.replacement = file } }

  /// Limits the room in the file system: once more than `count` bytes have come, the oldest are dropped in
  /// steps, and read as zeros.
  package func keep(latest count: Int64) { state.withLock { $0.kept = count } }

  /// True once bytes were dropped.
  package var hasDropped: Bool { state.withLock { $0.dropped } > 0 }

  /// True if all of it has come.
  package var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Ends all waiting. Any thread.
  package func cancel() { state.withLock { $0.isCancelled = true } }

  /// Waits until more than `count` bytes have come, or the pipe has ended.
  ///
  /// - Returns: Number of bytes that have come.
  package func wait(beyond count: Int64) throws(SoundFileError) -> Int64 {
    try reading.withLock { bytes throws(SoundFileError) in
      while true {
        let (present, isOver) = state.withLock { ($0.count, $0.hasEnded || $0.isCancelled) }
        if present > count || isOver || PipedFile.hasStopped { return present }
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&ready, 1, 100) == 0 { continue }
        let read = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        if read < 0, errno == EINTR || errno == EAGAIN { continue }
        guard read >= 0 else { throw SoundFileError(errno: errno, path: store.name) }
        if read == 0 {
          state.withLock { $0.hasEnded = true }
        } else {
          try store.write(Array(bytes[..<read]), at: present)
          state.withLock { state in
            state.count += Int64(read)
            let old = state.count - (state.kept ?? .max)
            guard old - state.dropped >= 1 << 20 else { return }
            state.dropped = old
            dropBytes(of: store.descriptor, before: old)
          }
        }
      }
    }
  }
}

extension FileStore {
  /// Creates a file without a name in the folder for temporary files. It ends with the store.
  ///
  /// - Parameter name: What the file holds, for messages.
  package convenience init(namelessFor name: String) throws(SoundFileError) {
    var template = "\(temporaryFolder)/cuejack-XXXXXX".systemName
    let descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: name) }
    unsafe unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    self.init(descriptor, named: name)
  }
}
