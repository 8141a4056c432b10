import Codecs

/// The positions, sizes and frames of the packets of a file.
struct PacketIndex: Sendable {
  /// A contiguous byte range.
  struct Piece: Hashable, Sendable {
    var offset: Int64
    var bytes: Int
  }

  private struct Entry: Sendable {
    /// Offset of the packet. If negative, the packet's pieces are at index -offset - 1 of `split`.
    var offset: Int64
    var bytes: UInt32
    var frames: UInt32
  }

  private enum Shape: Sendable {
    case listed([Entry])
    /// Contiguous packets of one size.
    case regular(offset: Int64, bytes: Int, count: Int64)
  }

  private var shape: Shape
  /// The pieces of packets that are not contiguous.
  private var split: [[Piece]] = []
  /// Bytes of the largest packet.
  private(set) var maximumBytes = 0
  /// Bytes of all packets.
  private(set) var byteCount: Int64 = 0
  /// Sum of the frames that were listed with packets.
  private(set) var frames: Int64 = 0

  /// Maximum number of packets in a file: a week for most codecs.
  static var maximumCount: Int64 { 1 << 24 }

  /// Frames to leave out, of the few packets that have some.
  private(set) var trims: [Int64: PacketTrim] = [:]

  /// Creates an empty list.
  init() { shape = .listed([]) }

  /// Creates an index of contiguous packets of one size.
  init(offset: Int64, bytes: Int, count: Int64) {
    shape = .regular(offset: offset, bytes: bytes, count: count)
    maximumBytes = count > 0 ? bytes : 0
    byteCount = Int64(bytes) * count
  }

  var count: Int64 {
    switch shape {
    case .listed(let entries): Int64(entries.count)
    case .regular(_, _, let count): count
    }
  }

  /// Appends a packet to the list.
  mutating func append(_ pieces: [Piece], frames: Int64, trim: PacketTrim = PacketTrim()) {
    guard case .listed(var entries) = shape, let first = pieces.first else { return }
    if trim != PacketTrim() { trims[Int64(entries.count)] = trim }
    shape = .listed([])
    let bytes = pieces.reduce(0) { $0 + $1.bytes }
    if pieces.count > 1 { split.append(pieces) }
    entries.append(
      Entry(
        offset: pieces.count > 1 ? -Int64(split.count) : first.offset,
        bytes: UInt32(clamping: bytes), frames: UInt32(clamping: frames)))
    shape = .listed(entries)
    maximumBytes = max(maximumBytes, bytes)
    byteCount += Int64(bytes)
    self.frames += Int64(UInt32(clamping: frames))
  }

  /// Drops the packets' individual frames, because all packets have the same number.
  mutating func forgetFrames() {
    guard case .listed(var entries) = shape else { return }
    shape = .listed([])
    for i in entries.indices { entries[i].frames = 0 }
    frames = 0
    shape = .listed(entries)
  }

  /// Frames of all packets, which have `each` unless frames are listed with them.
  func frames(each: Int) -> Int64 { frames == 0 ? count * Int64(each) : frames }

  /// Lists frames with each packet, where all packets so far had `frames`, and the last one `last`.
  mutating func vary(from frames: Int, last: Int? = nil) {
    guard case .listed(var entries) = shape, self.frames == 0, !entries.isEmpty else { return }
    shape = .listed([])
    for i in entries.indices { entries[i].frames = UInt32(clamping: frames) }
    entries[entries.count - 1].frames = UInt32(clamping: last ?? frames)
    self.frames = Int64(frames) * Int64(entries.count - 1) + Int64(last ?? frames)
    shape = .listed(entries)
  }

  /// Leaves out the last frames of the last packet, whose frames are listed.
  mutating func trimEnd(_ frames: Int) {
    guard case .listed(var entries) = shape, let last = entries.last, frames > 0 else { return }
    shape = .listed([])
    let count = min(frames, Int(last.frames))
    entries[entries.count - 1].frames -= UInt32(count)
    self.frames -= Int64(count)
    trims[Int64(entries.count - 1), default: PacketTrim()].end += count
    shape = .listed(entries)
  }

  func bytes(of packet: Int64) -> Int {
    switch shape {
    case .listed(let entries): Int(entries[Int(packet)].bytes)
    case .regular(_, let bytes, _): bytes
    }
  }

  /// Returns the frames listed with a packet; 0 if there are none.
  func frames(of packet: Int64) -> Int {
    switch shape {
    case .listed(let entries): Int(entries[Int(packet)].frames)
    case .regular: 0
    }
  }

  /// The frames of every packet, if all have the same number; nil otherwise or if there is no
  /// packet.
  var commonFrames: Int? {
    guard case .listed(let entries) = shape, let first = entries.first?.frames, first > 0 else {
      return nil
    }
    return entries.allSatisfy { $0.frames == first } ? Int(first) : nil
  }

  /// Returns true if all packets have `frames` frames. The last one may have fewer.
  func isRegular(frames: Int) -> Bool {
    guard case .listed(let entries) = shape else { return true }
    return entries.dropLast().allSatisfy { $0.frames == frames }
      && entries.last.map { $0.frames <= frames } ?? true
  }

  func pieces(of packet: Int64) -> [Piece] {
    switch shape {
    case .listed(let entries):
      let entry = entries[Int(packet)]
      return entry.offset < 0
        ? split[Int(-entry.offset - 1)]
        : [Piece(offset: entry.offset, bytes: Int(entry.bytes))]
    case .regular(let offset, let bytes, _):
      return [Piece(offset: offset + packet * Int64(bytes), bytes: bytes)]
    }
  }
}
