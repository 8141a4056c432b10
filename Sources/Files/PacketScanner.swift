import Glibc

/// Finds the packets that no table of the file lists, one after another.
///
/// One thread at a time; every call may block on the store.
@safe
final class PacketScanner {
  /// How a packet's bytes are found in the file.
  enum Places {
    /// Where libavformat says.
    case told
    /// Right after the packet before, or as soon after it as its bytes are met.
    case searched
  }

  private let store: any ByteStore
  private let demuxer: Demuxer
  private let places: Places
  /// The head of a packet that is no part of it, as in ADTS.
  private let headBytes: ([UInt8]) -> Int
  /// Frames that a packet decodes to; nil to take libavformat's word.
  private let frames: (([UInt8]) -> Int)?
  /// True if all packets have the same frames, which need not be kept for each.
  private let isRegular: Bool
  private var end: Int64 = 0
  private let byteCount: Int64
  /// Memory for what is compared with a packet.
  private var window: [UInt8] = []
  private(set) var skippedFrames = 0
  private(set) var discardedFrames = 0
  /// Frames from the first packet's to the end of the last one.
  private(set) var spannedFrames: Int64 = 0
  private var firstFrame: Int64?
  private(set) var isAtEnd = false

  init(
    _ store: any ByteStore, _ demuxer: Demuxer, _ places: Places, isRegular: Bool,
    headBytes: @escaping ([UInt8]) -> Int = { _ in 0 },
    frames: (([UInt8]) -> Int)? = nil
  ) throws(SoundFileError) {
    self.store = store
    self.demuxer = demuxer
    self.places = places
    self.isRegular = isRegular
    self.headBytes = headBytes
    self.frames = frames
    byteCount = try store.byteCount()
  }

  /// Adds the next packet to the list. False if there is none.
  func step(_ index: inout PacketIndex) throws(SoundFileError) -> Bool {
    guard !isAtEnd, index.count < min(PacketIndex.maximumCount, byteCount),
      let packet = try unsafe demuxer.next(), let pieces = try unsafe place(packet)
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
      // Wild times tell nothing.
      if !isTooFar && !isTooLong { spannedFrames = max(spannedFrames, end) }
    }
    index.append(pieces, frames: isRegular ? 0 : frames)
    return true
  }

  private func place(_ packet: Demuxer.Packet) throws(SoundFileError) -> [PacketIndex.Piece]? {
    let size = unsafe packet.bytes.count
    guard size > 0 else { return nil }
    switch places {
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

  /// Where bytes stand in the file, from the end of the packet before on.
  private func find(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) -> Int64? {
    // What may lie between packets: tags and damage.
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
          var place = 0
          while place <= count - bytes.count,
            let hit = unsafe memchr(
              whole + place, Int32(bytes[0]), count - bytes.count - place + 1)
          {
            if unsafe memcmp(hit, part, bytes.count) == 0 { return unsafe hit - whole }
            place = unsafe hit - whole + 1
          }
          return nil
        }
      }
      if let place = try found.get() { return start + Int64(place) }
      let step = Int64(count - bytes.count + 1)
      start += step
      reach -= step
    }
    return nil
  }
}
