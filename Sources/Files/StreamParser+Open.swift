import Codecs
import RealTime

/// The first bytes of a file, whose reader sees where the rest would be but finds nothing there.
private final class HeadStore: ByteStore {
  let name = "the stream"
  let isWritable = false
  private let bytes: [UInt8]
  private let count: Int64

  init(_ bytes: [UInt8], apparentByteCount: Int64) {
    self.bytes = bytes
    count = max(Int64(bytes.count), apparentByteCount)
  }

  func byteCount() -> Int64 { count }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < bytes.count else { return 0 }
    let part = bytes[Int(offset)...].prefix(buffer.count)
    unsafe buffer.copyBytes(from: part)
    return part.count
  }

  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }
  func setByteCount(_ count: Int64) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }
  func synchronize() {}
}

extension StreamFailure {
  /// What a failure to read the head means.
  fileprivate init(_ error: SoundFileError) {
    switch error.kind {
    case .unsupportedEncoding(let name): self = .unsupportedEncoding(name)
    case .unsupportedContainer, .notASoundFile: self = .unsupportedContainer
    case .damaged(let detail): self = .damaged(detail)
    default: self = .damaged(error.description)
    }
  }
}
