import Codecs

/// The writer of a CAF file of packets. libavformat's CAF muxer supports few codecs and does not
/// store how many frames are valid. If the process is killed, the muxer's file is lost.
///
/// The packet table ('pakt') follows the sound, with reserved room between them. The size of the
/// 'data' chunk includes that room. To update the table, the writer first appends the new packets'
/// sizes, then updates the count in the table's header. When the room is used up, it copies the
/// table further back; a single write of the 'data' chunk's size then makes the copy valid. The
/// file is therefore complete at any time. Closing it removes the room.
final class CAFBody: PacketFileBody {
  private let store: any ByteStore
  private let format: PacketFormat
  /// True if the file needs a packet table: the packets' sizes or frames vary.
  private let isListed: Bool
  var takesRuns: Bool { !isListed }
  /// Offset of a packet table without entries, which stands before the sound; nil if there is none.
  /// It holds only the counts of valid, priming and remainder frames.
  private var headOffset: Int64?
  /// The chunks before the sound.
  private var front: [Chunk] = []
  /// Offset of the 'data' chunk's size field.
  private var sizeOffset: Int64 = 0
  /// Offset of the first packet.
  private var dataOffset: Int64 = 0
  private var dataBytes: Int64 = 0
  /// Bytes reserved for sound before the packet table.
  private var room: Int64 = 0
  /// The table's entries without its header, and how many of their bytes are in the file.
  private var table: [UInt8] = []
  private var writtenTableBytes = 0
  private var packets: Int64 = 0
  private var frames: Int64 = 0
  private var savedFrames: Int64 = 0
  /// Packets that are not yet written.
  private var pending: [UInt8] = []
  private var primingFrames = 0

  static func isListed(_ format: PacketFormat) -> Bool {
    format.bytesPerPacket == 0 || format.framesPerPacket == 0
  }

  private static var firstRoom: Int64 { 1 << 18 }
  private static var mostRoomAtOnce: Int64 { 1 << 24 }
  private static var pendingBytes: Int { 1 << 16 }

  init(
    _ store: any ByteStore, _ format: PacketFormat, _ facts: PacketFileFacts
  ) throws(SoundFileError) {
    self.store = store
    self.format = format
    isListed = Self.isListed(format)
    primingFrames = facts.table.primingFrames
    var head: [UInt8] = [0x63, 0x61, 0x66, 0x66, 0, 1, 0, 0]
    func add(_ chunk: Chunk) {
      let bytes = chunk.bytes ?? []
      head += Self.head(chunk.id, Int64(bytes.count))
      var placed = chunk
      placed.offset = Int64(head.count)
      front.append(placed)
      head += bytes
    }
    add(Chunk("desc", Self.description(format)))
    if !isListed, format.framesPerPacket > 1 {
      headOffset = Int64(head.count)
      // Until the counts are known, all frames count as valid.
      add(Chunk("pakt", Self.tableHead(0, valid: -1, priming: 0, remainder: 0)))
    }
    for chunk in Self.chunks(facts) { add(chunk) }
    sizeOffset = Int64(head.count) + 4
    head += Self.head("data", -1) + [0, 0, 0, 0]
    dataOffset = Int64(head.count)
    try store.write(head, at: 0)
  }

  func append(
    _ run: UnsafeRawBufferPointer, packets: Int, frames count: Int
  ) throws(SoundFileError) {
    unsafe pending.append(contentsOf: run)
    self.packets += Int64(packets)
    frames += Int64(count)
    if format.bytesPerPacket == 0 { table += Self.compact(run.count) }
    if format.framesPerPacket == 0 { table += Self.compact(count) }
    if pending.count >= Self.pendingBytes || Double(frames - savedFrames) >= format.sampleRate {
      try save(nil)
    }
  }

  func checkpoint(_ facts: PacketFileFacts) throws(SoundFileError) { try save(facts) }

  /// Writes the pending packets and updates the packet table.
  private func save(_ facts: PacketFileFacts?) throws(SoundFileError) {
    if isListed, dataBytes + Int64(pending.count) > room {
      try moveTable(behind: dataBytes + Int64(pending.count))
    }
    try store.write(pending, at: dataOffset + dataBytes)
    dataBytes += Int64(pending.count)
    pending.removeAll(keepingCapacity: true)
    savedFrames = frames
    let head = tableHead(facts?.table)
    if isListed {
      try store.write(
        Array(table[writtenTableBytes...]), at: tableOffset + 36 + Int64(writtenTableBytes))
      writtenTableBytes = table.count
      try store.write(Self.head("pakt", 24 + Int64(table.count)) + head, at: tableOffset)
    } else if let headOffset, facts != nil {
      try store.write(head, at: headOffset + 12)
    }
  }

  private var tableOffset: Int64 { dataOffset + room }

  private func tableHead(_ known: PacketTable?) -> [UInt8] {
    let sound = known ?? PacketTable(priming: Int64(primingFrames), valid: nil, of: frames)
    return Self.tableHead(
      packets, valid: sound.validFrames, priming: sound.primingFrames,
      remainder: sound.remainderFrames)
  }

  /// Copies the part of the table that is in the file further back, behind itself and behind
  /// `bytes` of sound. The copy starts on a page boundary, so that its header never spans two
  /// pages.
  private func moveTable(behind bytes: Int64) throws(SoundFileError) {
    let more = max(Self.firstRoom, min(room, Self.mostRoomAtOnce))
    let least = max(bytes, room + (room > 0 ? 36 + Int64(writtenTableBytes) : 0)) + more
    let page: Int64 = 4096
    let position = (dataOffset + least + page - 1) / page * page
    let known = Array(table[..<writtenTableBytes])
    // The header written last, or the header of an empty table.
    let head =
      room > 0
      ? try store.bytes(at: tableOffset, count: 36)
      : Self.head("pakt", 24) + Self.tableHead(0, valid: 0, priming: 0, remainder: 0)
    guard let head else { throw SoundFileError(.vanished, path: store.name) }
    try store.write(head + known, at: position)
    try setSize(position - dataOffset)
    room = position - dataOffset
  }

  /// Writes the size of the 'data' chunk.
  private func setSize(_ bytes: Int64) throws(SoundFileError) {
    try store.write([UInt8](bytes + 4, count: 8, bigEndian: true), at: sizeOffset)
  }

  func finish(_ facts: PacketFileFacts) throws(SoundFileError) {
    try save(facts)
    var tail: [UInt8] = []
    if isListed {
      tail += Self.head("pakt", 24 + Int64(table.count)) + tableHead(facts.table) + table
    }
    // Chunks whose content has changed since the start are written again after the sound.
    var outdated = front.filter { $0.id != "desc" && $0.id != "pakt" }
    for chunk in Self.chunks(facts) {
      if let index = outdated.firstIndex(where: { $0.id == chunk.id && $0.bytes == chunk.bytes }) {
        outdated.remove(at: index)
      } else {
        tail += Self.head(chunk.id, Int64(chunk.bytes?.count ?? 0)) + (chunk.bytes ?? [])
      }
    }
    if isListed, dataBytes + Int64(tail.count) > room {
      try moveTable(behind: dataBytes + Int64(tail.count))
    }
    try store.write(tail, at: dataOffset + dataBytes)
    try setSize(dataBytes)
    for chunk in outdated {
      try store.write(ChunkID("free").bytes, at: chunk.offset - 12)
    }
    try store.setByteCount(dataOffset + dataBytes + Int64(tail.count))
  }

  // MARK: Chunks

  private static func head(_ id: ChunkID, _ size: Int64) -> [UInt8] {
    id.bytes + [UInt8](size, count: 8, bigEndian: true)
  }

  private static func chunks(_ facts: PacketFileFacts) -> [Chunk] {
    var chunks: [Chunk] = []
    if let roles = facts.channelRoles { chunks.append(Chunk("chan", CAFLayout.chunk(roles))) }
    if !facts.cookie.isEmpty { chunks.append(Chunk("kuki", facts.cookie)) }
    if !facts.tags.isEmpty { chunks.append(Chunk("info", CAFChunks.chunk(tags: facts.tags))) }
    return chunks + facts.chunks
  }

  private static func description(_ format: PacketFormat) -> [UInt8] {
    let name = CAFFile.name(of: format)
    let flags =
      format.codec == .alac || format.codec == .flac
      ? [16: 1, 20: 2, 24: 3, 32: 4][format.bitsPerSample] ?? 0 : 0
    var bytes = [UInt8](bigEndian: format.sampleRate)
    bytes += name.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    let bits =
      switch format.codec {
      case .ulaw, .alaw: 8
      case .msIMA: 4
      default: 0
      }
    for number in [flags, format.bytesPerPacket, format.framesPerPacket, format.channels, bits] {
      bytes.append(big: UInt32(clamping: number))
    }
    return bytes
  }

  private static func tableHead(
    _ packets: Int64, valid: Int64, priming: Int, remainder: Int
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: packets)
    bytes.append(big: valid)
    bytes.append(big: Int32(clamping: priming))
    bytes.append(big: Int32(clamping: remainder))
    return bytes
  }

  /// Encodes a number in as many bytes as it needs: seven bits per byte, with the high bit set in
  /// all but the last byte.
  private static func compact(_ number: Int) -> [UInt8] {
    var bytes = [UInt8(number & 0x7F)]
    var rest = number >> 7
    while rest > 0 {
      bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
      rest >>= 7
    }
    return bytes
  }
}
