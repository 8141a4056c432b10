import Codecs

/// Where the packets of a file lie.
struct PacketIndex: Sendable {
  /// Bytes that lie together.
  struct Piece: Hashable, Sendable {
    var offset: Int64
    var bytes: Int
  }

  private struct Entry: Sendable {
    /// Where the packet begins; if negative, the place in `split` of what it is made of, less one.
    var offset: Int64
    var bytes: UInt32
    var frames: UInt32
  }

  private enum Shape: Sendable {
    case listed([Entry])
    /// Packets of one size, one after another.
    case regular(offset: Int64, bytes: Int, count: Int64)
  }

  private var shape: Shape
  /// Packets that lie in several pieces.
  private var split: [[Piece]] = []
  /// Bytes of the longest packet.
  private(set) var maximumBytes = 0
  /// Bytes of all packets.
  private(set) var byteCount: Int64 = 0
  /// Frames of all packets that were listed with theirs.
  private(set) var frames: Int64 = 0

  /// The most packets that a file may have: a week of most codecs.
  static var maximumCount: Int64 { 1 << 24 }

  /// An empty list.
  init() { shape = .listed([]) }

  /// Packets of one size.
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

  /// Adds a packet to a list.
  mutating func append(_ pieces: [Piece], frames: Int64) {
    guard case .listed(var entries) = shape, let first = pieces.first else { return }
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

  /// Forgets the frames of single packets: they are all alike.
  mutating func forgetFrames() {
    guard case .listed(var entries) = shape else { return }
    shape = .listed([])
    for i in entries.indices { entries[i].frames = 0 }
    shape = .listed(entries)
  }

  func bytes(of packet: Int64) -> Int {
    switch shape {
    case .listed(let entries): Int(entries[Int(packet)].bytes)
    case .regular(_, let bytes, _): bytes
    }
  }

  /// Frames of a packet, if it was listed with its own; else 0.
  func frames(of packet: Int64) -> Int {
    switch shape {
    case .listed(let entries): Int(entries[Int(packet)].frames)
    case .regular: 0
    }
  }

  /// Frames that all packets have, if they have the same and there is one.
  var commonFrames: Int? {
    guard case .listed(let entries) = shape, let first = entries.first?.frames, first > 0 else {
      return nil
    }
    return entries.allSatisfy { $0.frames == first } ? Int(first) : nil
  }

  /// True if all packets have so many frames, but for the last, which may have fewer.
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
