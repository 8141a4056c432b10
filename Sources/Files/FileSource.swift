import CSndfile
import Glibc

/// The bytes of one open file, for the head's reader and for libsndfile.
///
/// Not safe to share: `SoundFile` holds its lock while libsndfile works with it.
final class FileSource {
  private let descriptor: Int32
  private var position: Int64 = 0
  /// Bytes in the file.
  let byteCount: Int64
  /// The length that libsndfile is told: that of the whole file if this one was cut short, so that
  /// it accepts what is there.
  var apparentByteCount: Int64
  /// Bytes that libsndfile is shown in place of the file's own.
  var correction: Correction?

  struct Correction {
    /// Bytes from the start of the file.
    let offset: Int64
    let bytes: [UInt8]
  }

  /// Opens a file for reading. Blocks.
  init(path: String) throws(SoundFileError) {
    // O_NONBLOCK: a pipe without a writer must not hang the caller.
    let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else { throw SoundFileError(errno: errno, path: path) }
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
    byteCount = Int64(status.st_size)
    apparentByteCount = byteCount
  }

  deinit { close(descriptor) }

  /// `count` bytes from an offset, or nil if the file does not have them all. Blocks.
  func bytes(at offset: Int64, count: Int) -> [UInt8]? {
    guard offset >= 0, offset <= byteCount, count <= byteCount - offset else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let done = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe read(into: buffer, at: offset)
    }
    return done == count ? bytes : nil
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    var done = 0
    while done < buffer.count {
      let start = unsafe buffer.baseAddress?.advanced(by: done)
      let count = unsafe pread(descriptor, start, buffer.count - done, off_t(offset) + done)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      done += count
    }
    return done
  }

  private func readCorrected(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = unsafe read(into: buffer, at: position)
    if let correction {
      for (index, byte) in correction.bytes.enumerated() {
        let place = correction.offset + Int64(index) - position
        if place >= 0, place < count { unsafe buffer[Int(place)] = byte }
      }
    }
    position += Int64(count)
    return count
  }

  /// The calls that libsndfile makes; each takes a `FileSource` as its last argument.
  static var callbacks: SF_VIRTUAL_IO {
    unsafe SF_VIRTUAL_IO(
      get_filelen: { source in
        unsafe FileSource.at(source).apparentByteCount
      },
      seek: { offset, origin, source in
        unsafe FileSource.at(source).seek(by: offset, from: origin)
      },
      read: { memory, count, source in
        guard count > 0 else { return 0 }
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: Int(count))
        return unsafe Int64(FileSource.at(source).readCorrected(into: buffer))
      },
      write: { _, _, _ in 0 },
      tell: { source in
        unsafe FileSource.at(source).position
      })
  }

  private func seek(by offset: Int64, from origin: Int32) -> Int64 {
    let base: Int64 =
      switch origin {
      case SEEK_CUR: position
      case SEEK_END: apparentByteCount
      default: 0
      }
    position = max(0, base &+ offset)
    return position
  }

  private static func at(_ pointer: UnsafeMutableRawPointer?) -> FileSource {
    guard let pointer = unsafe pointer else { preconditionFailure("libsndfile lost its file") }
    return unsafe Unmanaged<FileSource>.fromOpaque(pointer).takeUnretainedValue()
  }
}
