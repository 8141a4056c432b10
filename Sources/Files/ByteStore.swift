import Glibc

/// Bytes that a sound file is made of, wherever they are kept: read and written at any place.
///
/// Any thread; calls may block. Errors name the store.
package protocol ByteStore: AnyObject, Sendable {
  /// What the store is called in messages: the path of a file.
  var name: String { get }
  /// False if `write` and `setByteCount` always fail.
  var isWritable: Bool { get }
  /// Bytes in the store.
  func byteCount() throws(SoundFileError) -> Int64
  /// Reads bytes from `offset` on, as many as there are and as fit, and returns how many: fewer than
  /// fit at the end only.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
    -> Int
  /// Writes all bytes from `offset` on; the store grows as it must.
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError)
  /// Cuts the store, or has it grow with zeros.
  func setByteCount(_ count: Int64) throws(SoundFileError)
  /// Returns when all that was written is where it stays, as far as the system tells.
  func synchronize() throws(SoundFileError)
}

extension ByteStore {
  /// `count` bytes from an offset, or nil if the store does not have them all.
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

  package func write(_ bytes: [UInt8], at offset: Int64) throws(SoundFileError) {
    let done = unsafe bytes.withUnsafeBytes { buffer in
      Result { () throws(SoundFileError) in try unsafe write(at: offset, from: buffer) }
    }
    try done.get()
  }
}

/// A file of the system's.
package final class FileStore: ByteStore {
  package let name: String
  package let isWritable: Bool
  /// True if the file is a plain one, which can be cut, and taken away.
  package let isPlain: Bool
  private let descriptor: Int32

  /// Opens a file that is there. Blocks.
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
  }

  /// Makes a file. Blocks.
  ///
  /// - Parameter isReplacing: True to empty a file of that name; false to fail if there is one.
  package init(creating path: String, isReplacing: Bool) throws(SoundFileError) {
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | (isReplacing ? O_TRUNC : O_EXCL)
    descriptor = unsafe open(path, flags, 0o666)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    var status = stat()
    isPlain = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
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
    // What is no plain file has no length to set.
    guard isPlain else { return }
    while ftruncate(descriptor, off_t(count)) != 0 {
      if errno != EINTR { throw SoundFileError(writing: errno, path: name) }
    }
  }

  package func synchronize() throws(SoundFileError) {
    guard isPlain, isWritable else { return }
    // Some systems tell of a full disk only now.
    guard fsync(descriptor) == 0 else { throw SoundFileError(writing: errno, path: name) }
    try checkPresence()
  }

  /// Fails if the file was deleted meanwhile: what is written goes with it.
  package func checkPresence() throws(SoundFileError) {
    var status = stat()
    if isPlain, unsafe fstat(descriptor, &status) == 0, status.st_nlink == 0 {
      throw SoundFileError(.vanished, path: name)
    }
  }

  /// Takes the file away, if it is a plain one.
  package func remove() { if isPlain { unsafe unlink(name) } }
}
