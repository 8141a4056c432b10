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

  private static let known = Mutex<[Name: FileStore]>([:])
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

  /// Opens a pipe for reading. The descriptor returns at once if there is nothing to read.
  static func descriptor(_ path: String) throws(SoundFileError) -> Int32 {
    let opened =
      isStandardInput(path)
      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
      : unsafe open(path.systemName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else { throw SoundFileError(errno: errno, path: name(of: path)) }
    return opened
  }

  /// Returns the name of a pipe in messages.
  package static func name(of path: String) -> String { path == "-" ? standardInput : path }

  /// Returns the store with everything that comes through a pipe. The first call for a path reads the pipe to
  /// its end.
  package static func store(_ path: String) throws(SoundFileError) -> FileStore {
    let key = isStandardInput(path) ? Name("-") : Name(path)
    if let store = known.withLock({ $0[key] }) { return store }
    let store = try FileStore(namelessFor: name(of: path))
    var position: Int64 = 0
    try unsafe read(path) { bytes throws(SoundFileError) in
      try unsafe store.write(at: position, from: bytes)
      position += Int64(bytes.count)
    }
    if position == 0 { throw SoundFileError(.empty, path: name(of: path)) }
    known.withLock { $0[key] = store }
    return store
  }

  /// Keeps a store as the content of a pipe.
  package static func keep(_ store: FileStore, for path: String) {
    known.withLock { $0[isStandardInput(path) ? Name("-") : Name(path)] = store }
  }

  /// Hands the bytes of a pipe to `take` until it ends or `stop()` is called.
  package static func read(
    _ path: String, _ take: (UnsafeRawBufferPointer) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    let descriptor = try descriptor(path)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while !hasStopped {
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&ready, 1, 100) == 0 { continue }
      let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw SoundFileError(errno: errno, path: name(of: path))
      }
      let taken = unsafe bytes.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in try unsafe take(.init(rebasing: bytes[..<count])) }
      }
      try taken.get()
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
