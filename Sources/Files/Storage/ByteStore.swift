import Glibc

/// The random-access storage of a sound file.
///
/// Any thread; calls may block. Errors name the store.
package protocol ByteStore: AnyObject, Sendable {
  /// Name of the store in messages: the path of a file.
  var name: String { get }
  /// False if `write` and `setByteCount` always fail.
  var isWritable: Bool { get }
  /// Returns the size of the store in bytes.
  func byteCount() throws(SoundFileError) -> Int64
  /// Reads bytes starting at `offset` until the buffer is full or the store ends.
  ///
  /// - Returns: Number of bytes read. It is less than the buffer's size only at the end of the
  ///   store.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
    -> Int
  /// Writes all bytes starting at `offset`. The store grows as needed.
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError)
  /// Truncates the store, or extends it with zeros.
  func setByteCount(_ count: Int64) throws(SoundFileError)
  /// Waits until everything written is on permanent storage, as far as the system reports it.
  func synchronize() throws(SoundFileError)
}

extension ByteStore {
  /// Returns `count` bytes starting at an offset, or nil if the store does not have them all.
  package func bytes(at offset: Int64, count: Int) throws(SoundFileError) -> [UInt8]? {
    let total = try byteCount()
    guard count >= 0, offset >= 0, offset <= total, Int64(count) <= total - offset else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: count)
    let done = unsafe bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SoundFileError) in try unsafe read(at: offset, into: buffer) }
    }
    return try done.get() == count ? bytes : nil
  }

  /// Copies a byte range of another store to `offset` and returns the end of the copy. Fails if the
  /// other store lacks part of the range.
  func copy(
    _ part: Range<Int64>, of other: any ByteStore, to offset: Int64
  ) throws(SoundFileError) -> Int64 {
    var position = part.lowerBound
    while position < part.upperBound {
      let count = Int(min(1 << 20, part.upperBound - position))
      guard let block = try other.bytes(at: position, count: count) else {
        throw SoundFileError(.truncated, path: other.name)
      }
      try write(block, at: offset + position - part.lowerBound)
      position += Int64(count)
    }
    return offset + Int64(part.count)
  }

  /// Replaces the store's contents atomically: see `FileStore.replaceContents`. Other stores
  /// refuse, because they cannot do so safely if the process is killed.
  func replaceContents(
    _ write: (FileStore) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    try optimizable().replaceContents(write)
  }

  /// Returns the store as a regular writable file, whose contents can be replaced; fails for other
  /// stores.
  @discardableResult
  func optimizable() throws(SoundFileError) -> FileStore {
    guard isWritable else { throw SoundFileError(.notForWriting, path: name) }
    guard let file = self as? FileStore, file.isPlain else {
      throw SoundFileError(.notSupported("only a plain file can be optimized"), path: name)
    }
    return file
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(SoundFileError) {
    let done = unsafe bytes.withUnsafeBytes { buffer in
      Result { () throws(SoundFileError) in try unsafe write(at: offset, from: buffer) }
    }
    try done.get()
  }
}

/// A file of the file system.
package final class FileStore: ByteStore {
  package let name: String
  package let isWritable: Bool
  /// True for a regular file, which can be truncated and unlinked.
  package let isPlain: Bool
  /// False for a file that had no name when it was opened, so that nobody can delete it.
  private let hasName: Bool
  private let descriptor: Int32

  /// Opens an existing file. Blocks.
  package init(path: String, isWritable: Bool = false) throws(SoundFileError) {
    // O_NONBLOCK: a pipe without a writer must not hang the caller.
    let mode = isWritable ? O_RDWR : O_RDONLY
    let opened = unsafe open(path, mode | O_CLOEXEC | O_NONBLOCK)
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
    descriptor = unsafe open(path, flags, 0o666)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    var status = stat()
    isPlain = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    hasName = status.st_nlink > 0
    name = path
    isWritable = true
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
  /// `write` fills a new file in the same folder. Once that file is on disk, it is renamed over
  /// this one. If the process is killed, the old or the new file remains complete, possibly with a
  /// hidden temporary file beside it.
  ///
  /// Reads in progress return the old contents.
  func replaceContents(
    _ write: (FileStore) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    var own = stat()
    guard unsafe fstat(descriptor, &own) == 0 else {
      throw SoundFileError(errno: errno, path: name)
    }
    // A symbolic link stays; the file that it points to is replaced.
    guard let resolved = unsafe realpath(name, nil) else {
      throw SoundFileError(.vanished, path: name)
    }
    let path = unsafe String(cString: resolved)
    unsafe free(resolved)
    var named = stat()
    guard unsafe stat(path, &named) == 0, own.st_dev == named.st_dev, own.st_ino == named.st_ino
    else { throw SoundFileError(.cannotWrite("another file has its name now"), path: name) }

    let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = String(path[..<slash])
    let start = String(decoding: path[slash...].utf8.prefix(200), as: UTF8.self)
    let new = try makeBeside("\(folder).\(start).\(getpid())")
    do throws(SoundFileError) {
      // Until the old file's permissions are copied, only the owner may read the new file.
      guard fchmod(new.descriptor, 0o600) == 0 else {
        throw SoundFileError(writing: errno, path: name)
      }
      try write(new)
      // Changing the owner may need privileges, so a failure is ignored.
      _ = fchown(new.descriptor, own.st_uid, own.st_gid)
      guard fchmod(new.descriptor, own.st_mode & 0o7777) == 0 else {
        throw SoundFileError(writing: errno, path: name)
      }
      try new.synchronize()
      guard unsafe rename(new.name, path) == 0 else {
        throw SoundFileError(writing: errno, path: name)
      }
    } catch {
      new.remove()
      throw error.path == new.name ? SoundFileError(error.kind, path: name) : error
    }
    // From now on the descriptor refers to the new file.
    while dup2(new.descriptor, descriptor) < 0 {
      guard errno == EINTR || errno == EBUSY else {
        throw SoundFileError(writing: errno, path: name)
      }
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // The rename is on disk only after the folder is synchronized.
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }

  /// Creates a file with a unique name that begins with `start`.
  private func makeBeside(_ start: String) throws(SoundFileError) -> FileStore {
    var number = 0
    while true {
      do throws(SoundFileError) {
        return try FileStore(creating: "\(start).\(number)", isReplacing: false)
      } catch {
        guard error.kind == .exists, number < 100 else {
          throw SoundFileError(error.kind, path: name)
        }
        number += 1
      }
    }
  }

  /// Deletes the file if it is a regular one.
  package func remove() { if isPlain { unsafe unlink(name) } }
}
