import Codecs

/// What a file of packets is found to be when it is opened.
struct PacketSource: Sendable {
  var container: Container
  var format: PacketFormat
  /// In the form of Apple's programs.
  var cookie: [UInt8] = []
  var channelRoles: [ChannelRole]?
  /// By the keys of Core Audio's info dictionaries.
  var tags: [String: String] = [:]
  /// Bits per second that the file claims; 0 if it does not.
  var claimedBitRate = 0
  /// Where packets are known to lie.
  var index = PacketIndex()
  /// Which frames are sound, if the file says.
  var table: PacketTable?
  /// The chunks of a CAF file but for its sound.
  var chunks: [Chunk] = []

  /// Frames that all packets decode to.
  var frames: Int64 {
    format.framesPerPacket > 0
      ? index.count * Int64(format.framesPerPacket) : index.frames
  }

  /// Tells of the frames of all packets in the format, if they turn out to be as many in each.
  mutating func findCommonFrames() {
    guard format.framesPerPacket == 0, let frames = index.commonFrames else { return }
    format.framesPerPacket = frames
    index.forgetFrames()
  }
}

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
    /// On an Ogg file's pages.
    case pages(OggPages)
  }

  private let store: any ByteStore
  private let demuxer: Demuxer
  private var places: Places
  /// The head of a packet that is no part of it, as in ADTS.
  private let headBytes: ([UInt8]) -> Int
  /// Frames that a packet decodes to; nil to take libavformat's word.
  private let frames: (([UInt8]) -> Int)?
  /// True if all packets have the same frames, which need not be kept for each.
  private let isRegular: Bool
  private var end: Int64 = 0
  private let byteCount: Int64
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
      unsafe spannedFrames = first - (firstFrame ?? 0) + packet.frames
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
      return trimmed(offset, size, try store.bytes(at: offset, count: min(size, 16)) ?? [])
    case .searched:
      if end == 0 { end = unsafe max(0, packet.offset) }
      guard let offset = try unsafe find(packet.bytes) else { return nil }
      end = offset + Int64(size)
      return trimmed(offset, size, unsafe Array(packet.bytes.prefix(16)))
    case .pages(var pages):
      let pieces = try pages.next()
      places = .pages(pages)
      guard let pieces, pieces.reduce(0, { $0 + $1.bytes }) == size else { return nil }
      return pieces
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
      let window = bytes.count + (start == end ? 0 : 1 << 16)
      let count = Int(min(Int64(window), byteCount - start))
      guard let there = try store.bytes(at: start, count: count) else { return nil }
      let found = unsafe there.withUnsafeBytes { there in
        (0...(count - bytes.count)).first { place in
          unsafe there[place] == bytes[0]
            && there[place..<place + bytes.count].elementsEqual(bytes)
        }
      }
      if let found { return start + Int64(found) }
      let step = Int64(count - bytes.count + 1)
      start += step
      reach -= step
    }
    return nil
  }
}
