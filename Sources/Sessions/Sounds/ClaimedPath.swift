package import Files
import Glibc

/// Reserves the path of a file to be written, and checks early that it can be written.
///
/// Any thread; blocks.
package final class ClaimedPath: Sendable {
  package let path: String
  private let isReplacing: Bool
  /// True if this object created an empty placeholder file.
  private let isOurs: Bool
  /// True if an existing file stays at the path until the real one is written.
  package var holdsOldFile: Bool { !isOurs }

  /// Reserves the path. Fails if the file cannot be written, or exists and may not be replaced. An
  /// existing file stays unchanged.
  package init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    self.path = path
    self.isReplacing = isReplacing
    let flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK
    var descriptor = unsafe open(path, flags | O_CREAT | O_EXCL, 0o666)
    isOurs = descriptor >= 0
    if descriptor < 0, errno == EEXIST, isReplacing { descriptor = unsafe open(path, flags) }
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw SoundFileError(.cannotWrite("it is not a plain file"), path: path)
    }
  }

  /// Creates the real file, replacing the placeholder or the old file.
  package func makeFile() throws(SoundFileError) -> FileStore {
    var status = stat()
    // Another process may have written the file in the meantime.
    if !isReplacing, unsafe stat(path, &status) == 0, status.st_size > 0 {
      throw SoundFileError(.exists, path: path)
    }
    return try FileStore(creating: path, isReplacing: true)
  }

  /// Deletes the placeholder if it is still empty.
  deinit {
    var status = stat()
    if isOurs, unsafe stat(path, &status) == 0, status.st_size == 0 { unsafe unlink(path) }
  }
}
