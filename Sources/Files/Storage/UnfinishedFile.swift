import Glibc
import Synchronization
import System

/// A file that appears under its name only when it is complete. One thread at a time.
///
/// Until then it has no name, or a hidden one where the file system has no files without names. A process
/// that is killed can leave a hidden file only; the next one that writes into the folder removes it.
package final class UnfinishedFile {
  package let store: FileStore
  /// The path that was asked for, and the one that its links lead to.
  private let path: String
  private let target: String
  private let isReplacing: Bool
  /// The path of the hidden file; nil while there is none.
  private var hidden: String?

  /// Creates the file. Fails if it cannot be written, or exists and may not be replaced.
  package init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    guard let target = followedPath(path) else { throw SoundFileError(writing: errno, path: path) }
    let old = try Self.status(of: target, path, isReplacing: isReplacing)
    let folder = target.pathFolder.isEmpty ? "./" : String(target.pathFolder)
    Self.removeLeftovers(in: folder)
    // Until it has the old file's permissions, only the owner may read it.
    let mode: mode_t = old == nil ? 0o666 : 0o600
    var descriptor = unsafe open(folder.systemName, nameless | O_RDWR | O_CLOEXEC, mode)
    if descriptor >= 0, unsafe access(Self.link(to: descriptor), F_OK) != 0 {
      close(descriptor)
      descriptor = -1
    }
    if descriptor < 0 {
      hidden = Self.hiddenPath(in: folder)
      descriptor = unsafe open(
        (hidden ?? "").systemName, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode)
    }
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    // As long as the lock is held, the file is none that a killed process has left.
    flock(descriptor, LOCK_EX | LOCK_NB)
    store = FileStore(descriptor, named: hidden ?? path)
    (self.path, self.target, self.isReplacing) = (path, target, isReplacing)
  }

  deinit { if let hidden { unsafe unlink(hidden.systemName) } }

  /// Returns the status of a file that is replaced; nil if there is none.
  private static func status(
    of target: String, _ path: String, isReplacing: Bool
  ) throws(SoundFileError) -> stat? {
    var status = stat()
    guard unsafe stat(target.systemName, &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw SoundFileError(writing: EISDIR, path: path)
    case S_IFREG: if !isReplacing { throw SoundFileError(.exists, path: path) }
    default: throw SoundFileError(.cannotWrite("it is not a plain file"), path: path)
    }
    return status
  }

  /// Runs `body`, and replaces the hidden file's path in its errors by the final one.
  package func naming<R>(_ body: () throws(SoundFileError) -> R) throws(SoundFileError) -> R {
    do throws(SoundFileError) {
      return try body()
    } catch {
      throw error.path == store.name ? SoundFileError(error.kind, path: path) : error
    }
  }

  /// Gives the complete file its final name, and the permissions of the file that it replaces, once it is on
  /// disk as far as the system reports it.
  package func finish() throws(SoundFileError) {
    let descriptor = store.descriptor
    // Another process may have created the file in the meantime.
    if let old = try Self.status(of: target, path, isReplacing: isReplacing) {
      // Changing the owner may need privileges, so a failure is ignored.
      _ = fchown(descriptor, old.st_uid, old.st_gid)
      guard fchmod(descriptor, old.st_mode & 0o7777) == 0 else { throw failure }
    }
    try naming { () throws(SoundFileError) in try store.synchronize() }
    if hidden == nil, isReplacing {
      let name = Self.hiddenPath(in: target.pathFolder)
      guard give(name) else { throw failure }
      hidden = name
    }
    if let hidden {
      let isDone =
        isReplacing
        ? unsafe rename(hidden.systemName, target.systemName) == 0
        : moveWithoutReplacing(hidden, to: target)
      guard isDone else { throw failure }
    } else {
      guard give(target) else { throw failure }
    }
    hidden = nil
    flock(descriptor, LOCK_UN)
    synchronizeFolder()
  }

  /// The error of the last call.
  private var failure: SoundFileError { SoundFileError(writing: errno, path: path) }

  /// Gives the file without a name one that is free.
  private func give(_ name: String) -> Bool {
    unsafe linkat(
      AT_FDCWD, Self.link(to: store.descriptor), AT_FDCWD, name.systemName, AT_SYMLINK_FOLLOW) == 0
  }

  /// Waits until the new name is on disk.
  private func synchronizeFolder() {
    let folder = target.pathFolder.isEmpty ? "." : String(target.pathFolder)
    let directory = unsafe open(folder.systemName, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }

  private static func link(to descriptor: CInt) -> String { "/proc/self/fd/\(descriptor)" }

  // MARK: Hidden files

  private static let hiddenStart = ".cuejack-"
  private static let digits = 16

  private static func hiddenPath(in folder: some StringProtocol) -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    return folder + hiddenStart + String(repeating: "0", count: digits - number.count) + number
  }

  private static let cleanFolders = Mutex<Set<Name>>([])

  /// Removes hidden files that killed processes of this user have left, once for each folder.
  private static func removeLeftovers(in folder: String) {
    guard cleanFolders.withLock({ $0.insert(Name(folder)).inserted }) else { return }
    for name in names(inFolder: folder) ?? [] {
      guard let number = name.bytes(after: hiddenStart), number.utf8.count == digits,
        UInt64(number, radix: 16) != nil
      else { continue }
      let path = (folder + name).systemName
      let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard file >= 0 else { continue }
      var status = stat()
      if unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_uid == geteuid(), flock(file, LOCK_EX | LOCK_NB) == 0
      {
        unsafe unlink(path)
      }
      close(file)
    }
  }
}

/// O_TMPFILE, which Swift does not import: a file without a name in a folder.
private let nameless: CInt = 0o20_000_000 | O_DIRECTORY
