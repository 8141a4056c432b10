/// The packets of one logical stream of an Ogg file, by where they stand on its pages.
///
/// libavformat gives their bytes in order only; this is what makes any packet reachable at once.
struct OggPages {
  private let store: any ByteStore
  private var serial: UInt64?
  private var offset: Int64 = 0
  private var isContinued = false
  private var begun: [PacketIndex.Piece] = []
  private var ready: [[PacketIndex.Piece]] = []
  private var served = 0

  /// The packets of the first stream of sound, but for its heads.
  ///
  /// - Parameter heads: How many packets are heads, by the bytes of the first one.
  init?(_ store: any ByteStore, heads: ([UInt8]) -> Int?) throws(SoundFileError) {
    self.store = store
    while let page = try self.page(), page.isFirst {
      let first = try store.bytes(at: page.body, count: min(16, page.bodyBytes)) ?? []
      guard let count = heads(first) else {
        offset = page.end
        continue
      }
      serial = page.serial
      for _ in 0..<count { _ = try next() }
      return
    }
    return nil
  }

  private struct Page {
    var isFirst: Bool
    var isContinuation: Bool
    var serial: UInt64
    var lacing: [UInt8]
    var body: Int64
    var bodyBytes: Int
    var end: Int64
  }

  /// The page at the place that was reached.
  private func page() throws(SoundFileError) -> Page? {
    guard let head = try store.bytes(at: offset, count: 27), head.name(at: 0) == "OggS",
      let lacing = try store.bytes(at: offset + 27, count: Int(head[26]))
    else { return nil }
    let body = offset + 27 + Int64(lacing.count)
    let size = lacing.reduce(0) { $0 + Int($1) }
    return Page(
      isFirst: head[5] & 2 != 0, isContinuation: head[5] & 1 != 0,
      serial: head.big(at: 14, bytes: 4), lacing: lacing, body: body, bodyBytes: size,
      end: body + Int64(size))
  }

  /// The next packet's pieces; nil at the end.
  mutating func next() throws(SoundFileError) -> [PacketIndex.Piece]? {
    while served == ready.count {
      ready.removeAll(keepingCapacity: true)
      served = 0
      guard let page = try self.page() else { return nil }
      offset = page.end
      if page.serial == serial { take(page) }
    }
    served += 1
    return ready[served - 1]
  }

  private mutating func take(_ page: Page) {
    // A packet whose start, or whose rest, was lost is left out.
    var isLost = page.isContinuation && !isContinued
    if !page.isContinuation { begun = [] }
    isContinued = false
    var place = page.body
    var size = 0
    for (i, lace) in page.lacing.enumerated() {
      size += Int(lace)
      let ends = lace < 255
      guard ends || i == page.lacing.count - 1 else { continue }
      if size > 0 { begun.append(PacketIndex.Piece(offset: place, bytes: size)) }
      place += Int64(size)
      size = 0
      if ends {
        if !isLost, !begun.isEmpty { ready.append(begun) }
        isLost = false
        begun = []
      } else {
        isContinued = !isLost
      }
    }
  }
}
