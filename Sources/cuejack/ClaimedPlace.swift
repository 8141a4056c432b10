import Files
import Glibc

/// The place of a file that is going to be written: makes sure early that it can be.
///
/// Any thread; blocks.
final class ClaimedPlace: Sendable {
  let path: String
  private let isReplacing: Bool
  /// An empty file that stands there until the real one is written.
  private let isOurs: Bool
  /// True if an old file stands there until the real one is written.
  var holdsOldFile: Bool { !isOurs }

  /// Fails if the file cannot be written, or is there already and is not to be replaced. An old file
  /// stays as it is.
  init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
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

  /// Begins the real file, in the place of what stands there.
  func makeFile() throws(SoundFileError) -> FileStore {
    var status = stat()
    // Somebody may have written there meanwhile.
    if !isReplacing, unsafe stat(path, &status) == 0, status.st_size > 0 {
      throw SoundFileError(.exists, path: path)
    }
    return try FileStore(creating: path, isReplacing: true)
  }

  /// Takes the file away again if it has stayed empty.
  deinit {
    var status = stat()
    if isOurs, unsafe stat(path, &status) == 0, status.st_size == 0 { unsafe unlink(path) }
  }
}
