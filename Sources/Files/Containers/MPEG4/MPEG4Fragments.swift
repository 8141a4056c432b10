/// The repair of a fragmented MPEG-4 file. Each fragment is a table ('moof') and its packets ('mdat'). A
/// damaged table is hidden, and what follows damage is found again by its table.
struct MPEG4Fragments {
  /// Offsets of bytes of the file, and what readers should see instead of them.
  private(set) var patches: [(offset: Int64, bytes: [UInt8])] = []
  private let store: any ByteStore
  private let total: Int64
  private var isFragmented = false
  /// True once the offsets in a table were those of its own fragment.
  private var hasUsualBases = false
  /// True if no table comes before the first damage.
  private(set) var isStartDamaged = false

  var isDamaged: Bool { !patches.isEmpty }
  /// The file as readers should see it.
  var repaired: any ByteStore {
    let all = (hidden + patches).sorted { $0.offset < $1.offset }
    return all.isEmpty ? store : RepairedStore(store, all)
  }
  /// Hides the tracks without a number: libavformat looks for their fragments for a very long time.
  private var hidden: [(offset: Int64, bytes: [UInt8])] = []

  /// Boxes that may be in a file beside the boxes in them.
  private static let names: Set<String> = [
    "ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "prft", "emsg", "free", "skip", "wide",
    "uuid", "mfra", "meta", "udta", "pdin",
  ]
  static func isKnown(_ name: String) -> Bool { names.contains(name) }

  /// Looks for damage. Blocks.
  init(_ store: any ByteStore) throws(SoundFileError) {
    self.store = store
    total = try store.byteCount()
    var indices: [Int64] = []
    var table: (offset: Int64, content: MPEG4FragmentTable)?
    /// Start and content of the latest box of packets and its table, unless another box follows it.
    var sound: (offset: Int64, body: Int64, table: (offset: Int64, content: MPEG4FragmentTable)?)?
    var hasTable = false
    var offset: Int64 = 0
    while offset < total {
      if isDamaged, !hasTable { isStartDamaged = true }
      let box = try MPEG4Box(at: offset, in: store, end: total)
      if let box, try isWhole(box) {
        sound = box.name == "mdat" ? (offset, box.body, table) : nil
        switch box.name {
        case "moov": if try hasFragments(box) { isFragmented = true }
        case "sidx": indices.append(offset)
        case "moof":
          table = try self.table(at: offset, box.end).map { (offset, $0) }
          // Larger ones are not looked at.
          if table != nil || box.end - offset > MPEG4FragmentTable.maximumBytes {
            hasTable = true
          } else {
            patches.append((offset + 4, ChunkID("free").bytes))
          }
        case "mdat":
          if let table { cut(table.content, at: table.offset, end: box.end, box.end - box.body) }
          table = nil
        default: break
        }
        offset = box.end
        continue
      }
      if let box, box.name == "mdat" { sound = (offset, box.body, table) }
      guard isFragmented, let next = try find(from: sound?.body ?? offset + 1) else { break }
      if let sound {
        let isLong = sound.body - sound.offset == 16
        let size = [UInt8](next - sound.offset, count: isLong ? 8 : 4, bigEndian: true)
        patches.append((sound.offset + (isLong ? 8 : 0), size))
        if let table = sound.table {
          cut(table.content, at: table.offset, end: next, next - sound.body)
        }
      } else if next - offset >= 8 {
        let size = [UInt8](next - offset, count: 4, bigEndian: true)
        patches.append((offset, size + ChunkID("free").bytes))
      }
      (sound, table) = (nil, nil)
      offset = next
    }
    // The offsets in an index may be wrong behind damage, so readers see no index.
    if isDamaged { patches += indices.map { ($0 + 4, ChunkID("free").bytes) } }
  }

  /// Returns true for a box that is all there. One of an unknown name has one that is known behind it.
  private func isWhole(_ box: MPEG4Box) throws(SoundFileError) -> Bool {
    guard box.end <= total else { return false }
    if Self.isKnown(box.name) { return true }
    guard box.name.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else { return false }
    guard let next = try MPEG4Box(at: box.end, in: store, end: total) else {
      return box.end == total
    }
    return Self.isKnown(next.name)
  }

  private mutating func hasFragments(_ movie: MPEG4Box) throws(SoundFileError) -> Bool {
    var offset = movie.body
    var hasFragments = false
    var tracks: [Int64] = []
    while let box = try MPEG4Box(at: offset, in: store, end: movie.end) {
      if box.name == "mvex" { hasFragments = true }
      if box.name == "trak", try !hasNumber(box) { tracks.append(offset) }
      offset = box.end
    }
    if hasFragments { hidden += tracks.map { ($0 + 4, ChunkID("free").bytes) } }
    return hasFragments
  }

  private func hasNumber(_ track: MPEG4Box) throws(SoundFileError) -> Bool {
    var offset = track.body
    while let box = try MPEG4Box(at: offset, in: store, end: track.end) {
      if box.name == "tkhd", let head = try store.bytes(at: box.body, count: 24) {
        let number = head.big(at: head[0] == 1 ? 20 : 12, bytes: 4)
        return number > 0 && number < 1 << 31
      }
      offset = box.end
    }
    return false
  }

  /// Returns the table at an offset; nil if it is damaged.
  private func table(
    at offset: Int64, _ end: Int64
  ) throws(SoundFileError) -> MPEG4FragmentTable? {
    guard end - offset <= MPEG4FragmentTable.maximumBytes else { return nil }
    return try store.bytes(at: offset, count: Int(end - offset)).flatMap(MPEG4FragmentTable.init)
  }

  private mutating func cut(
    _ table: MPEG4FragmentTable, at offset: Int64, end: Int64, _ room: Int64
  ) {
    // Where the first tables count from themselves, later ones that do not are not where they were.
    let isShifted = isDamaged || hasUsualBases
    hasUsualBases = hasUsualBases || table.hasUsualBases(at: offset, end: end, room: room)
    for change in table.changes(at: offset, end: end, room: room, isShifted: isShifted) {
      patches.append((offset + Int64(change.offset), change.bytes))
    }
  }

  /// Returns the offset of the first table at or after `offset`; nil if there is none.
  private func find(from offset: Int64) throws(SoundFileError) -> Int64? {
    var start = offset
    while total - start >= 16 {
      let block = try store.bytes(at: start, count: Int(min(total - start, 1 << 16))) ?? []
      for index in MPEG4FragmentTable.candidates(in: block[...]) {
        let place = start + Int64(index)
        if let box = try MPEG4Box(at: place, in: store, end: total), box.end <= total,
          try table(at: place, box.end) != nil
        {
          return place
        }
      }
      // A name may lie in two blocks.
      start += Int64(max(1, block.count - 7))
    }
    return nil
  }
}
