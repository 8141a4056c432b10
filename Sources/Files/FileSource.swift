import CSndfile
import Glibc

/// The bytes of a file as libsndfile reads them. One thread at a time.
final class FileSource {
  private let store: any ByteStore
  private var position: Int64 = 0
  /// The length that libsndfile is told: that of the whole file if this one was cut short, so that
  /// it accepts what is there.
  private let apparentByteCount: Int64
  /// Bytes that libsndfile is shown in place of the file's own.
  private let correction: Correction?

  struct Correction {
    /// Bytes from the start of the file.
    let offset: Int64
    let bytes: [UInt8]
  }

  init(_ store: any ByteStore, apparentByteCount: Int64, correction: Correction?) {
    self.store = store
    self.apparentByteCount = apparentByteCount
    self.correction = correction
  }

  private func readCorrected(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // libsndfile takes an error for the end of the file.
    let count = (try? unsafe store.read(at: position, into: buffer)) ?? 0
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
