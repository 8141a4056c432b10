package import Files
import Glibc

/// A file that appears under its name only when it is complete. One thread at a time.
package final class UnfinishedFile {
  /// The hidden temporary file, in the same folder.
  package let store: FileStore
  private let path: String
  private let isReplacing: Bool
  private var isFinished = false

  /// Creates the temporary file. Fails if the file cannot be written, or exists and may not be
  /// replaced.
  package init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
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

  /// Runs `body`, and replaces the temporary file's path in its errors by the final one.
  package func naming<R>(_ body: () throws(SoundFileError) -> R) throws(SoundFileError) -> R {
    do throws(SoundFileError) {
      return try body()
    } catch {
      throw error.path == store.name ? SoundFileError(error.kind, path: path) : error
    }
  }

  /// Renames the complete file to its final name, once it is on disk as far as the system reports
  /// it.
  package func finish() throws(SoundFileError) {
    try naming { () throws(SoundFileError) in try store.synchronize() }
    // Another process may have created the file in the meantime.
    try Self.check(path, isReplacing: isReplacing)
    guard unsafe rename(store.name, path) == 0 else {
      throw SoundFileError(writing: errno, path: path)
    }
    isFinished = true
  }
}
