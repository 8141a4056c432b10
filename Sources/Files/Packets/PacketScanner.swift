import Glibc

/// A scanner for packets that no table in the file lists, one after another.
///
/// One thread at a time; every call may block on the store.
@safe
final class PacketScanner {
  /// How the scanner determines a packet's position in the file.
  enum Locations {
    /// libavformat gives the position.
    case told
    /// The scanner searches for the packet's bytes from the end of the previous packet.
    case searched
  }

  private let store: any ByteStore
  private let demuxer: Demuxer
  private let locations: Locations
  /// The function that returns the size of a header that is not part of the packet, as in ADTS.
  private let headBytes: ([UInt8]) -> Int
  /// The function that returns the frames of a packet; nil to use libavformat's duration.
  private let frames: (([UInt8]) -> Int)?
  /// True if all packets have the same frames, so that they need not be stored for each.
  private let isRegular: Bool
  private var end: Int64 = 0
  private let byteCount: Int64
  /// Buffer for file contents that are compared with a packet.
  private var window: [UInt8] = []
  private(set) var skippedFrames = 0
  private(set) var discardedFrames = 0
  /// Frames from the first packet's start to the latest end of a packet.
  private(set) var spannedFrames: Int64 = 0
  private var firstFrame: Int64?
  private(set) var isAtEnd = false

  init(
    _ store: any ByteStore, _ demuxer: Demuxer, _ locations: Locations, isRegular: Bool,
    headBytes: @escaping ([UInt8]) -> Int = { _ in 0 },
    frames: (([UInt8]) -> Int)? = nil
  ) throws(SoundFileError) {
    self.store = store
    self.demuxer = demuxer
    self.locations = locations
    self.isRegular = isRegular
    self.headBytes = headBytes
    self.frames = frames
    byteCount = try store.byteCount()
  }

  /// Appends the next packet to the index. Returns false if there is none.
  func step(_ index: inout PacketIndex) throws(SoundFileError) -> Bool {
    guard !isAtEnd, index.count < min(PacketIndex.maximumCount, byteCount),
      let packet = try unsafe demuxer.next(), let pieces = try unsafe locate(packet)
    else {
      isAtEnd = true
      return false
    }
    let frames = unsafe self.frames.map { unsafe Int64($0(Array(packet.bytes))) } ?? packet.frames
    unsafe skippedFrames += packet.skippedFrames
    unsafe discardedFrames += packet.discardedFrames
    if let first = unsafe packet.firstFrame {
      if firstFrame == nil { firstFrame = first }
      let (start, isTooFar) = first.subtractingReportingOverflow(firstFrame ?? 0)
      let (end, isTooLong) = unsafe start.addingReportingOverflow(packet.frames)
      // Implausible times are ignored.
      if !isTooFar && !isTooLong { spannedFrames = max(spannedFrames, end) }
    }
    index.append(pieces, frames: isRegular ? 0 : frames)
    return true
  }

  private func locate(_ packet: Demuxer.Packet) throws(SoundFileError) -> [PacketIndex.Piece]? {
    let size = unsafe packet.bytes.count
    guard size > 0 else { return nil }
    switch locations {
    case .told:
      let offset = unsafe packet.offset
      guard offset >= 0, offset <= byteCount - Int64(size) else { return nil }
      return trimmed(offset, size, unsafe Array(packet.bytes.prefix(16)))
    case .searched:
      if end == 0 { end = unsafe max(0, packet.offset) }
      guard let offset = try unsafe find(packet.bytes) else { return nil }
      end = offset + Int64(size)
      return trimmed(offset, size, unsafe Array(packet.bytes.prefix(16)))
    }
  }

  private func trimmed(_ offset: Int64, _ size: Int, _ start: [UInt8]) -> [PacketIndex.Piece]? {
    let head = headBytes(start)
    return head < size
      ? [PacketIndex.Piece(offset: offset + Int64(head), bytes: size - head)] : nil
  }

  /// Returns the offset of the given bytes in the file, at or after the end of the previous packet.
  private func find(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) -> Int64? {
    // Limit on the tags and damaged data between two packets.
    var reach = Int64(1 << 20)
    var start = end
    while reach > 0, start <= byteCount - Int64(bytes.count) {
      let more = start == end ? 0 : 1 << 16
      let count = Int(min(Int64(bytes.count + more), byteCount - start))
      if window.count < count { window = [UInt8](repeating: 0, count: count) }
      let found = unsafe window.withUnsafeMutableBytes { window in
        Result { () throws(SoundFileError) -> Int? in
          let there = unsafe UnsafeMutableRawBufferPointer(rebasing: window[..<count])
          guard try unsafe store.read(at: start, into: there) == count,
            let whole = there.baseAddress, let part = bytes.baseAddress
          else { return nil }
          var index = 0
          while index <= count - bytes.count,
            let hit = unsafe memchr(
              whole + index, Int32(bytes[0]), count - bytes.count - index + 1)
          {
            if unsafe memcmp(hit, part, bytes.count) == 0 { return unsafe hit - whole }
            index = unsafe hit - whole + 1
          }
          return nil
        }
      }
      if let index = try found.get() { return start + Int64(index) }
      let step = Int64(count - bytes.count + 1)
      start += step
      reach -= step
    }
    return nil
  }
}
