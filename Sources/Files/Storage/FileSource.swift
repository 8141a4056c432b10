import CSndfile
import Glibc

/// A file as libsndfile's virtual I/O sees it. One thread at a time.
final class FileSource {
  private let store: any ByteStore
  private var position: Int64 = 0
  /// The length reported to libsndfile. For a truncated file it is the length of the complete file,
  /// so that libsndfile accepts the part that is present.
  private let apparentByteCount: Int64
  /// Substitute header, presented in place of the file's bytes before `soundOffset`.
  private let head: [UInt8]
  private let soundOffset: Int64

  /// - Parameters:
  ///   - total: Size of the file.
  ///   - head: The file's header; nil to present the file unchanged.
  init(_ store: any ByteStore, _ total: Int64, _ head: FileHead?) {
    self.store = store
    let end = head.flatMap { head in head.dataBytes.map { head.dataOffset &+ $0 } }
    guard let head, let shown = head.shown else {
      self.head = []
      soundOffset = 0
      apparentByteCount = max(total, end ?? 0)
      return
    }
    self.head = shown
    soundOffset = head.dataOffset
    apparentByteCount = (end ?? total) - soundOffset + Int64(shown.count)
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let ours = max(0, min(Int64(head.count) - position, Int64(buffer.count)))
    for index in 0..<Int(ours) { unsafe buffer[index] = head[Int(position) + index] }
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[Int(ours)...])
    let readOffset = position &+ ours &- Int64(head.count) &+ soundOffset
    // libsndfile treats an error as the end of the file.
    let count = Int(ours) + ((try? unsafe store.read(at: readOffset, into: rest)) ?? 0)
    position = position &+ Int64(count)
    return count
  }

  /// The virtual I/O callbacks of libsndfile. Each receives a `FileSource` as its last argument.
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
        return unsafe Int64(FileSource.at(source).read(into: buffer))
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
