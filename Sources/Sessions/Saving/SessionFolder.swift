import Glibc
package import System

/// The folder of a session. Every access goes through its descriptor and follows no symbolic link,
/// so that a hostile session reaches no file outside.
///
/// Any thread; blocks.
package final class SessionFolder: Sendable {
  /// Absolute path without symbolic links, as it was when the folder was opened. No slash at its
  /// end.
  package let path: String
  private let descriptor: CInt

  /// Opens an existing folder.
  ///
  /// - Throws: `SessionError.system`.
  package convenience init(opening path: String) throws(SessionError) {
    let descriptor = unsafe Glibc.open(path.systemName, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure("open", path) }
    guard let real = resolvedPath(path) else {
      let error = Self.failure("open", path)
      close(descriptor)
      throw error
    }
    self.init(path: real, descriptor)
  }

  /// Creates a folder if there is none, and opens it. Its parent must exist.
  ///
  /// - Throws: `SessionError.system`.
  package convenience init(creating path: String) throws(SessionError) {
    if unsafe mkdir(path.systemName, 0o777) != 0, errno != EEXIST {
      throw Self.failure("create", path)
    }
    try self.init(opening: path)
  }

  private init(path: String, _ descriptor: CInt) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Returns the error for the last system call that failed.
  static func failure(_ action: String, _ path: String) -> SessionError {
    let code = errno
    return .system(
      file: path, action: action, code: code, text: unsafe String(cString: strerror(code)))
  }

  private func failure(_ action: String, _ name: String) -> SessionError {
    let code = errno
    if code == ELOOP || code == ENOTDIR {
      return .unsafePath(file: "\(path)/\(name)", reason: Self.linkReason)
    }
    errno = code
    return Self.failure(action, "\(path)/\(name)")
  }

  private static let linkReason =
    "a symbolic link, which could lead out of the session's folder, is not followed"

  // MARK: Paths

  /// Returns the path of a file that the document names: as it is if it is absolute, else in this
  /// folder.
  package func location(of file: String) -> String {
    file.isAbsolutePath ? file : Self.normalized("\(path)/\(file)")
  }

  /// Returns how the document should name a file: relative to this folder if it is inside or at
  /// most two levels above, else by its absolute path.
  ///
  /// - Parameter location: An absolute path.
  package func name(for location: String) -> String {
    let file = Self.normalized(location).pathNames.map(Name.init)
    let folder = path.pathNames.map(Name.init)
    let shared = zip(file, folder).prefix { $0 == $1 }.count
    let up = folder.count - shared
    // Folders right below the root have nothing to do with each other.
    guard up == 0 || up <= 2 && shared > 1, shared < file.count else {
      return "/" + file.map(\.text).joined(separator: "/")
    }
    return (Array(repeating: "..", count: up) + file[shared...].map(\.text)).joined(separator: "/")
  }

  /// Resolves `.` and `..` in an absolute path, without looking at the file system.
  static func normalized(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.pathNames {
      switch part {
      case ".": break
      case "..": _ = parts.popLast()
      default: parts.append(part)
      }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// Returns the absolute path of a file to be written inside the folder, and creates the folders
  /// above it.
  ///
  /// - Throws: `SessionError.unsafePath` if the path leads out of the folder, or is or passes a
  ///   symbolic link.
  package func pathForWriting(_ file: String) throws(SessionError) -> String {
    let (parent, name) = try openParent(of: file, isCreating: true)
    defer { close(parent) }
    if try isLink(name, in: parent) {
      throw .unsafePath(file: "\(path)/\(file)", reason: Self.linkReason)
    }
    return "\(path)/\(file)"
  }

  /// Returns the absolute path of an existing folder inside this one, such as a plugin's state; nil
  /// if there is none.
  ///
  /// - Throws: `SessionError.unsafePath` if the path leads out of the folder, or is or passes a
  ///   symbolic link.
  package func pathOfFolder(_ name: String) throws(SessionError) -> String? {
    do throws(SessionError) {
      let (parent, last) = try openParent(of: name, isCreating: false)
      defer { close(parent) }
      let folder = unsafe openat(
        parent, last.systemName, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if folder < 0 { throw failure("open", name) }
      close(folder)
      return "\(path)/\(name)"
    } catch {
      if case .system(_, _, ENOENT, _) = error { return nil }
      throw error
    }
  }

  private func isLink(_ name: String, in parent: CInt) throws(SessionError) -> Bool {
    var status = stat()
    guard unsafe fstatat(parent, name.systemName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return false }
      throw failure("open", name)
    }
    return status.st_mode & S_IFMT == S_IFLNK
  }

  /// Opens the folder that a file lies in. The caller closes it.
  private func openParent(of file: String, isCreating: Bool) throws(SessionError) -> (CInt, String)
  {
    guard TextRule.pathInside.allows(file), let name = file.pathNames.last else {
      throw .unsafePath(file: file, reason: "this is not \(TextRule.pathInside.words)")
    }
    var current = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard current >= 0 else { throw failure("open", file) }
    for part in file.pathNames.dropLast() {
      if isCreating, unsafe mkdirat(current, String(part).systemName, 0o777) != 0, errno != EEXIST {
        let error = failure("create", file)
        close(current)
        throw error
      }
      let next = unsafe openat(
        current, String(part).systemName, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      let error = next < 0 ? failure("open", file) : nil
      close(current)
      if let error { throw error }
      current = next
    }
    return (current, String(name))
  }

  // MARK: Files

  /// Opens a plain file inside the folder, creating its folders if `flags` has `O_CREAT`. The
  /// caller closes it.
  package func open(_ file: String, _ flags: CInt, mode: UInt32 = 0o666) throws(SessionError)
    -> CInt
  {
    let isCreating = flags & O_CREAT != 0
    let (parent, name) = try openParent(of: file, isCreating: isCreating)
    defer { close(parent) }
    // Without O_NONBLOCK, a named pipe would block the call.
    let opened = unsafe openat(
      parent, name.systemName, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)
    guard opened >= 0 else { throw failure(isCreating ? "create" : "open", file) }
    var status = stat()
    guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(opened)
      throw .unsafePath(file: "\(path)/\(file)", reason: "it is not a plain file")
    }
    return opened
  }

  /// Returns the contents of a file; nil if there is none.
  ///
  /// - Throws: `SessionError`: `tooLarge`, `unsafePath` or `system`.
  package func contents(of file: String, limit: Int64) throws(SessionError) -> [UInt8]? {
    let opened: CInt
    do throws(SessionError) {
      opened = try open(file, O_RDONLY)
    } catch {
      if case .system(_, _, ENOENT, _) = error { return nil }
      throw error
    }
    defer { close(opened) }
    var status = stat()
    guard unsafe fstat(opened, &status) == 0 else { throw failure("read", file) }
    let size = Int64(status.st_size)
    guard size <= limit else {
      throw .tooLarge(file: "\(path)/\(file)", bytes: size, limit: limit)
    }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe read(opened, &part, part.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw failure("read", file)
      }
      if count == 0 { return bytes }
      bytes += part[..<count]
      // The file may grow meanwhile.
      if Int64(bytes.count) > limit {
        throw .tooLarge(file: "\(path)/\(file)", bytes: Int64(bytes.count), limit: limit)
      }
    }
  }

  /// Writes all bytes to an open file.
  static func write(_ bytes: [UInt8], to descriptor: CInt, path: String) throws(SessionError) {
    guard writeAll(bytes[...], to: descriptor) else { throw failure("write", path) }
  }

  /// Replaces a file right inside the folder as one step: after a crash, the old or the new
  /// contents are there, whole and on disk. The new file has the old one's permissions, or `mode`
  /// as the umask limits it.
  ///
  /// - Returns: Nil once the file is on disk; otherwise why a power failure may bring the old one back,
  ///   although the new one is there.
  /// - Throws: `SessionError`: `unsafePath` or `system`. The old file is then unchanged.
  @discardableResult
  package func replace(_ name: String, with bytes: [UInt8], mode: UInt32 = 0o666)
    throws(SessionError) -> SessionError?
  {
    let temporary = ".\(name).new"
    var old = stat()
    let hasOld = unsafe fstatat(descriptor, name, &old, AT_SYMLINK_NOFOLLOW) == 0
    if hasOld, old.st_mode & S_IFMT != S_IFREG {
      let isLink = old.st_mode & S_IFMT == S_IFLNK
      throw .unsafePath(
        file: "\(path)/\(name)", reason: isLink ? Self.linkReason : "it is not a plain file")
    }
    // The rest of a process that was killed.
    unsafe unlinkat(descriptor, temporary, 0)
    let opened = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: hasOld ? 0o600 : mode)
    do throws(SessionError) {
      defer { close(opened) }
      try Self.write(bytes, to: opened, path: "\(path)/\(name)")
      if hasOld, fchmod(opened, old.st_mode & 0o777) != 0 { throw failure("write", name) }
      guard fsync(opened) == 0 else { throw failure("write", name) }
    } catch {
      unsafe unlinkat(descriptor, temporary, 0)
      throw error
    }
    guard unsafe renameat(descriptor, temporary, descriptor, name) == 0 else {
      let error = failure("write", name)
      unsafe unlinkat(descriptor, temporary, 0)
      throw error
    }
    return fsync(descriptor) == 0 ? nil : failure("write", name)
  }

  /// Renames a file right inside the folder.
  package func rename(_ name: String, to other: String) throws(SessionError) {
    guard unsafe renameat(descriptor, name, descriptor, other) == 0 else {
      throw failure("rename", name)
    }
  }

  /// Returns whether there is a file or a link with this name.
  package func holds(_ file: String) throws(SessionError) -> Bool {
    do throws(SessionError) {
      let (parent, name) = try openParent(of: file, isCreating: false)
      defer { close(parent) }
      var status = stat()
      return unsafe fstatat(parent, name.systemName, &status, AT_SYMLINK_NOFOLLOW) == 0
    } catch {
      if case .system(_, _, ENOENT, _) = error { return false }
      throw error
    }
  }

  /// Gives a finished file its final name, if that is still free.
  ///
  /// - Returns: `false` if there is a file with that name.
  package func publish(_ temporary: String, as file: String) throws(SessionError) -> Bool {
    let (from, first) = try openParent(of: temporary, isCreating: false)
    defer { close(from) }
    let (to, second) = try openParent(of: file, isCreating: true)
    defer { close(to) }
    if moveWithoutReplacing(first, in: from, to: second, in: to) {
      _ = fsync(to)
      return true
    }
    if errno == EEXIST { return false }
    throw failure("create", file)
  }

  /// Removes a file, if it exists.
  package func remove(_ file: String) throws(SessionError) {
    let (parent, name) = try openParent(of: file, isCreating: false)
    defer { close(parent) }
    if unsafe unlinkat(parent, name.systemName, 0) != 0, errno != ENOENT {
      throw failure("remove", file)
    }
  }

  /// Removes a folder inside this one with all that is in it, such as a plugin's old state. Links in it are
  /// not followed. Fails silently.
  package func removeFolder(_ name: String) {
    guard let path = (try? pathOfFolder(name)) ?? nil else { return }
    removeTree(path)
  }

  /// Waits until the entries of this folder and of one right inside it are on disk.
  func synchronize(with name: String) throws(SessionError) {
    let inner = unsafe openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard inner >= 0 else { throw failure("open", name) }
    defer { close(inner) }
    guard fsync(inner) == 0, fsync(descriptor) == 0 else { throw failure("write", name) }
  }

  /// Returns whether an open file is the one that has a name right inside the folder.
  func holds(_ opened: CInt, as name: String) -> Bool {
    var (own, named) = (stat(), stat())
    return unsafe fstat(opened, &own) == 0
      && fstatat(descriptor, name, &named, AT_SYMLINK_NOFOLLOW) == 0
      && own.st_dev == named.st_dev && own.st_ino == named.st_ino
  }

  // MARK: Locking

  /// Name of the file that a process with the session open has locked.
  package static let lockFile = "session.lock"

  /// Locks the session against other processes.
  ///
  /// - Throws: `SessionError.locked` if another process, or another object of this one, has the
  ///   lock.
  package func lock() throws(SessionError) -> FileLock {
    let opened = try open(Self.lockFile, O_RDWR | O_CREAT, mode: 0o600)
    guard let lock = FileLock(opened) else {
      let error = errno == EWOULDBLOCK ? SessionError.locked(folder: path) : failure("lock", "")
      close(opened)
      throw error
    }
    return lock
  }
}
