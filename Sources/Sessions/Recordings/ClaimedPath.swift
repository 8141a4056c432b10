package import Files
import Glibc
import System

/// Reserves the path of a file to be written, and checks early that it can be written. No other process can
/// reserve it meanwhile.
///
/// Any thread; blocks.
package final class ClaimedPath: Sendable {
  package let path: String
  private let isReplacing: Bool
  /// The lock of the file; nil if its file system has none.
  private let lock: FileLock?
  /// True if this object created an empty placeholder file.
  private let isOurs: Bool
  /// The pipe to write to instead of a file; nil for a file.
  private let pipe: PipeOutput?
  /// True if an existing file stays at the path until the real one is written.
  package var holdsOldFile: Bool { !isOurs && pipe == nil }

  /// Reserves the path. Fails if the file cannot be written, or exists and may not be replaced. An
  /// existing file stays unchanged.
  package init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    guard let target = followedPath(path)?.systemName else {
      throw SoundFileError(writing: errno, path: path)
    }
    let flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK
    var opened = unsafe open(target, flags | O_CREAT | O_EXCL, 0o666)
    let isOurs = opened >= 0
    if opened < 0, errno == EEXIST, isReplacing { opened = unsafe open(target, flags) }
    guard opened >= 0 else { throw SoundFileError(writing: errno, path: path) }
    var status = stat()
    var refusal: String?
    var lock: FileLock?
    if unsafe fstat(opened, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      refusal = "it is not a plain file"
    } else {
      lock = FileLock(opened)
      if lock == nil, errno == EWOULDBLOCK { refusal = "another recording is being written to it" }
    }
    if lock == nil { close(opened) }
    if let refusal { throw SoundFileError(.cannotWrite(refusal), path: path) }
    (self.path, self.isReplacing, self.isOurs, self.lock) = (path, isReplacing, isOurs, lock)
    pipe = nil
  }

  /// Takes a pipe, which cannot be reserved.
  init(_ pipe: PipeOutput) {
    (path, isReplacing, isOurs, lock) = (pipe.store.name, false, false, nil)
    self.pipe = pipe
  }

  /// Creates the real file, replacing the placeholder or the old file.
  package func makeFile() throws(SoundFileError) -> any ByteStore {
    if let pipe { return pipe.store }
    var status = stat()
    // Another process may have written the file in the meantime.
    if !isReplacing, unsafe stat(path.systemName, &status) == 0, status.st_size > 0 {
      throw SoundFileError(.exists, path: path)
    }
    return try FileStore(creating: path, isReplacing: true)
  }

  /// Writes what is left of the file to the pipe.
  func finish() throws(SoundFileError) { try pipe?.finish() }

  /// Deletes the placeholder if it is still empty.
  deinit {
    var status = stat()
    if isOurs, unsafe stat(path.systemName, &status) == 0, status.st_size == 0 {
      unsafe unlink(path.systemName)
    }
  }
}
