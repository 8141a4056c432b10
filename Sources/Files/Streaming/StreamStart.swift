import Synchronization

/// The meaning of the first bytes of a stream.
enum StreamStart: Equatable {
  /// The header requires this many bytes from the start.
  case needs(Int)
  /// The offset where the sound begins. `dataBytes` is nil if the header does not give its length.
  case found(Container, dataOffset: Int, dataBytes: Int64?)
  /// A tag of this many bytes; another file start follows.
  case tag(bytes: Int)
  /// A stream of frames without a file header.
  case frames
  case failed(StreamFailure)

  /// Limit on the bytes of a header, so that a crafted stream cannot fill the memory.
  static let maximumBytes = 16 << 20

  /// Parses the first bytes of a stream.
  init(_ bytes: [UInt8]) {
    if bytes.count >= 12, let size = ID3Tag.byteCount(bytes) {
      self = .tag(bytes: size)
      return
    }
    let store = ArrivingStore(bytes)
    // This store does not fail.
    let finding = (try? FileHead.find(in: store, isStream: true)) ?? .unknown
    let container = try? Container(contentOf: store)
    if let end = store.missingEnd {
      self = Self.needs(end)
      return
    }
    switch finding {
    case .head(let head) where head.container != .wave64: self.init(head, present: bytes.count)
    case .cutShort: self = .failed(.damaged("its head is cut short"))
    case .foreign where container?.isMadeOfFrames == true: self = .frames
    // Wave64, Ogg, AMR and the types without an id are read as files only.
    case .head, .foreign: self = .failed(.unsupportedContainer)
    case .unknown: self = .frames
    }
  }

  private init(_ head: FileHead, present: Int) {
    // Packets of varying size or length need a packet table.
    let hasTable = head.hasEqualPackets || head.before.contains { $0.id == "pakt" }
    if head.container == .next, head.dataOffset < 24 {
      self = .failed(.damaged("its head is cut short"))
    } else if !head.beginsWithFormat || !hasTable {
      self = .failed(.notOptimized)
    } else if head.dataOffset > present {
      self = Self.needs(head.dataOffset)
    } else {
      let container = head.container.isMPEG4 ? .mp4 : head.container
      self = .found(container, dataOffset: Int(head.dataOffset), dataBytes: head.dataBytes)
    }
  }

  /// Returns `needs`, or a failure if the header would become too long.
  private static func needs(_ count: Int64) -> StreamStart {
    count <= maximumBytes ? .needs(Int(count)) : .failed(.damaged("its head is too long"))
  }
}

/// A store that has only the first bytes of a stream. It records where a reader wanted more.
private final class ArrivingStore: ReadOnlyStore {
  let name = "the stream"
  private let bytes: [UInt8]
  private let missing = Mutex<Int64?>(nil)

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Offset of the end of the first read that needs more bytes; nil if none does.
  var missingEnd: Int64? { missing.withLock { $0 } }

  /// The length is unknown.
  func byteCount() -> Int64 { .max / 2 }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let end = offset + Int64(buffer.count)
    guard end <= bytes.count else {
      missing.withLock { $0 = $0 ?? end }
      return 0
    }
    unsafe buffer.copyBytes(from: bytes[Int(offset)..<Int(end)])
    return buffer.count
  }
}
