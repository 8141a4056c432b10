import Files
import Glibc

/// A file that appears under its name when it is complete, and not at all if that does not come. One
/// thread at a time.
final class UnfinishedFile {
  /// Where it is written: a hidden file beside its place.
  let store: FileStore
  private let path: String
  private let isReplacing: Bool
  private var isFinished = false

  /// Fails if the file cannot be written, or is there already and is not to be replaced.
  init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    self.path = path
    self.isReplacing = isReplacing
    try Self.check(path, isReplacing: isReplacing)
    let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let name = ".\(path[slash...].prefix(200)).\(getpid())"
    do throws(SoundFileError) {
      store = try FileStore(creating: path[..<slash] + name, isReplacing: true)
    } catch {
      throw SoundFileError(error.kind, path: path)
    }
  }

  deinit { if !isFinished { store.remove() } }

  private static func check(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw SoundFileError(writing: EISDIR, path: path)
    case S_IFREG: if !isReplacing { throw SoundFileError(.exists, path: path) }
    default: throw SoundFileError(.cannotWrite("it is not a plain file"), path: path)
    }
  }

  /// Runs `body`; its errors have the name that the file is going to have.
  func naming<R>(_ body: () throws(SoundFileError) -> R) throws(SoundFileError) -> R {
    do throws(SoundFileError) {
      return try body()
    } catch {
      throw error.path == store.name ? SoundFileError(error.kind, path: path) : error
    }
  }

  /// Gives the file its name; it has to be complete. Returns when it is on the disk, as far as the system
  /// tells.
  func finish() throws(SoundFileError) {
    try naming { () throws(SoundFileError) in try store.synchronize() }
    // Somebody may have been quicker.
    try Self.check(path, isReplacing: isReplacing)
    guard unsafe rename(store.name, path) == 0 else {
      throw SoundFileError(writing: errno, path: path)
    }
    isFinished = true
  }
}
