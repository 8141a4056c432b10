import Codecs

/// Finds the frames of MPEG audio, ADTS or AC-3 in a file, or in a part of it, by their headers. It passes over all
/// other bytes.
struct FrameFinder {
  let kind: FrameKind
  /// Where the frames are in the file.
  private(set) var part: Range<Int64>
  private let store: any ByteStore
  /// Bytes of the file in which headers are searched, and their offset.
  private var window: (bytes: [UInt8], offset: Int64) = ([], 0)
  /// The size of frames whose headers do not give it; nil if there were none.
  private var free: FreeFormat?
  /// True once a frame of a free format was found.
  var isFree: Bool { free != nil }

  init(_ kind: FrameKind, _ store: any ByteStore, in part: Range<Int64>) {
    self.kind = kind
    self.part = part
    self.store = store
  }

  /// Lets the frames begin at another offset.
  mutating func begin(at offset: Int64) {
    part = offset..<part.upperBound
    window = ([], 0)
  }

  /// Returns the first frame that is all there, at or behind an offset. Blocks.
  ///
  /// - Parameters:
  ///   - latest: The frame before; nil if there is none.
  ///   - isInStep: True if that frame ends at the offset.
  mutating func next(
    from offset: Int64, after latest: FrameHead?, isInStep: Bool
  ) throws(SoundFileError) -> (head: FrameHead, offset: Int64)? {
    var place = offset
    // The file may have become shorter.
    let end = try min(part.upperBound, store.byteCount())
    while try fill(at: place, kind.headBytes) {
      // The size of frames of a free format may change where files are joined.
      if kind == .mpeg, place < end, let head = try freeHead(at: place) { return (head, place) }
      if let head = try head(at: place), head.bytes <= end - place {
        let isOther = latest.map { $0.kind != head.kind || $0.channels != head.channels }
        if isInStep, place == offset, isOther == false { return (head, place) }
        // Bytes that are no frames may begin as one does, but not several times.
        let proof = isOther.map { $0 ? 3 : 1 } ?? 2
        if try isProven(head, at: place, by: proof) { return (head, place) }
      }
      place = try nextCandidate(from: place + 1)
    }
    return nil
  }

  /// Returns the header at an offset; nil if there is none. Blocks.
  mutating func head(at offset: Int64) throws(SoundFileError) -> FrameHead? {
    guard try fill(at: offset, kind.headBytes) else { return nil }
    return head(window.bytes, at: Int(offset - window.offset))
  }

  private func head(_ bytes: [UInt8], at index: Int) -> FrameHead? {
    kind.head(bytes, at: index) ?? free?.head(bytes, at: index)
  }

  /// Returns the header at an offset if frames of a free format begin there, in another size than those before.
  private mutating func freeHead(at offset: Int64) throws(SoundFileError) -> FrameHead? {
    guard window.bytes[Int(offset - window.offset)] == 0xFF,
      try fill(at: offset, min(FreeFormat.tellingBytes, Int(clamping: part.upperBound - offset))),
      case let index = Int(offset - window.offset),
      let found = FreeFormat(window.bytes, at: index),
      let head = found.head(window.bytes, at: index), head.codec == .mp3
    else { return nil }
    free = found
    return head
  }

  /// Returns true if the next headers are where a frame's header says, or the file ends there. Blocks.
  func isProven(
    _ head: FrameHead, at offset: Int64, by count: Int
  ) throws(SoundFileError) -> Bool {
    var next = offset + Int64(head.bytes)
    for _ in 0..<count {
      guard next <= part.upperBound - Int64(kind.headBytes),
        let bytes = try store.bytes(at: next, count: kind.headBytes)
      else { return true }
      guard let other = self.head(bytes, at: 0) else { return ID3Tag.isTag(bytes) }
      guard other.kind == head.kind, other.channels == head.channels else { return false }
      next += Int64(other.bytes)
    }
    return true
  }

  /// Returns the next offset at which a frame may begin.
  private mutating func nextCandidate(from offset: Int64) throws(SoundFileError) -> Int64 {
    let sync: UInt8 = kind == .ac3 ? 0x0B : 0xFF
    var place = offset
    while try fill(at: place, 1) {
      if let found = window.bytes.first(sync, from: Int(place - window.offset)) {
        return window.offset + Int64(found)
      }
      place = window.offset + Int64(window.bytes.count)
    }
    return place
  }

  /// Moves the window so that it has bytes at an offset; false if the file has fewer.
  private mutating func fill(at offset: Int64, _ count: Int) throws(SoundFileError) -> Bool {
    guard offset >= part.lowerBound, offset <= part.upperBound - Int64(count) else { return false }
    let within = offset - window.offset
    if within < 0 || within + Int64(count) > window.bytes.count {
      let end = try min(part.upperBound, store.byteCount())
      let wanted = Int(max(0, min(end - offset, 1 << 16)))
      window = (try store.bytes(at: offset, count: wanted) ?? [], offset)
    }
    return Int(offset - window.offset) + count <= window.bytes.count
  }
}
