import Glibc
import System

/// A file of the file system.
package final class FileStore: ByteStore {
  package let name: String
  package let isWritable: Bool
  /// True for a regular file, which can be truncated and unlinked.
  package let isPlain: Bool
  /// False for a file that had no name when it was opened, so that nobody can delete it.
  private let hasName: Bool
  let descriptor: Int32

  /// Opens an existing file. Blocks.
  package init(path: String, isWritable: Bool = false) throws(SoundFileError) {
    // O_NONBLOCK: a pipe without a writer must not hang the caller.
    let mode = isWritable ? O_RDWR : O_RDONLY
    let opened = unsafe open(path.systemName, mode | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else {
      if isWritable, [EACCES, EPERM, EROFS].contains(errno) {
        throw SoundFileError(writing: errno, path: path)
      }
      throw SoundFileError(errno: errno, path: path)
    }
    var status = stat()
    guard unsafe fstat(opened, &status) == 0 else {
      let code = errno
      close(opened)
      throw SoundFileError(errno: code, path: path)
    }
    let refusal: SoundFileError.Kind? =
      switch status.st_mode & S_IFMT {
      case S_IFREG: status.st_size == 0 ? .empty : nil
      case S_IFDIR: .isDirectory
      default: .notASoundFile
      }
    if let refusal {
      close(opened)
      throw SoundFileError(refusal, path: path)
    }
    descriptor = opened
    name = path
    self.isWritable = isWritable
    isPlain = true
    hasName = status.st_nlink > 0
  }

  /// Creates a file. Blocks.
  ///
  /// - Parameter isReplacing: True to truncate an existing file; false to fail if there is one.
  package init(creating path: String, isReplacing: Bool) throws(SoundFileError) {
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | (isReplacing ? O_TRUNC : O_EXCL)
    descriptor = unsafe open(path.systemName, flags, 0o666)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    var status = stat()
    isPlain = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    hasName = status.st_nlink > 0
    name = path
    isWritable = true
  }

  /// Takes over a new plain file.
  ///
  /// - Parameter name: For messages.
  init(_ descriptor: Int32, named name: String) {
    self.descriptor = descriptor
    self.name = name
    (isWritable, isPlain) = (true, true)
    var status = stat()
    hasName = unsafe fstat(descriptor, &status) == 0 && status.st_nlink > 0
  }

  deinit { close(descriptor) }

  package func byteCount() throws(SoundFileError) -> Int64 {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw SoundFileError(errno: errno, path: name)
    }
    return Int64(status.st_size)
  }

  package func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    var done = 0
    while done < buffer.count {
      let start = unsafe buffer.baseAddress?.advanced(by: done)
      let count = unsafe pread(descriptor, start, buffer.count - done, off_t(offset) &+ done)
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw SoundFileError(errno: errno, path: name) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  package func write(
    at offset: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    guard isWritable else { throw SoundFileError(.notForWriting, path: name) }
    var done = 0
    while done < buffer.count {
      let start = unsafe buffer.baseAddress?.advanced(by: done)
      let count = unsafe pwrite(descriptor, start, buffer.count - done, off_t(offset) &+ done)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { throw SoundFileError(writing: count < 0 ? errno : EIO, path: name) }
      done += count
    }
  }

  package func nextData(in range: Range<Int64>) -> Range<Int64> {
    let data = Int64(lseek(descriptor, off_t(range.lowerBound), seekData))
    // ENXIO: nothing but a hole follows. Other errors: the file system has no holes.
    if data < 0, errno != ENXIO { return range }
    guard data >= 0, data < range.upperBound else { return range.upperBound..<range.upperBound }
    let hole = Int64(lseek(descriptor, off_t(data), seekHole))
    return data..<(hole > data ? min(hole, range.upperBound) : range.upperBound)
  }

  package func setByteCount(_ count: Int64) throws(SoundFileError) {
    guard isWritable else { throw SoundFileError(.notForWriting, path: name) }
    // Only a regular file has a length to set.
    guard isPlain else { return }
    while ftruncate(descriptor, off_t(count)) != 0 {
      if errno != EINTR { throw SoundFileError(writing: errno, path: name) }
    }
  }

  package func synchronize() throws(SoundFileError) {
    guard isPlain, isWritable else { return }
    // Some file systems report a full disk only now.
    guard fsync(descriptor) == 0 else { throw SoundFileError(writing: errno, path: name) }
    try checkPresence()
  }

  /// Fails if the file was deleted in the meantime: anything written would be lost with it.
  package func checkPresence() throws(SoundFileError) {
    var status = stat()
    if isPlain, hasName, unsafe fstat(descriptor, &status) == 0, status.st_nlink == 0 {
      throw SoundFileError(.vanished, path: name)
    }
  }

  /// Replaces the file's contents atomically. Blocks.
  ///
  /// `write` fills a new file, which takes the name of this one once it is on disk. If the process is
  /// killed, the old or the new file remains complete.
  ///
  /// Reads in progress return the old contents.
  func replaceContents(
    _ write: (FileStore) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    var own = stat()
    guard unsafe fstat(descriptor, &own) == 0 else {
      throw SoundFileError(errno: errno, path: name)
    }
    var named = stat()
    guard unsafe stat(name.systemName, &named) == 0 else {
      throw SoundFileError(.vanished, path: name)
    }
    guard own.st_dev == named.st_dev, own.st_ino == named.st_ino
    else { throw SoundFileError(.cannotWrite("another file has its name now"), path: name) }
    let new = try UnfinishedFile(name, isReplacing: true)
    try new.naming { () throws(SoundFileError) in try write(new.store) }
    try new.finish()
    // From now on the descriptor refers to the new file.
    while dup2(new.store.descriptor, descriptor) < 0 {
      guard errno == EINTR || errno == EBUSY else {
        throw SoundFileError(writing: errno, path: name)
      }
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Deletes the file if it is a regular one.
  package func remove() { if isPlain, hasName { unsafe unlink(name.systemName) } }
}

/// SEEK_DATA and SEEK_HOLE of `lseek`, which Swift does not import.
private let seekData: Int32 = 3

private let seekHole: Int32 = 4
