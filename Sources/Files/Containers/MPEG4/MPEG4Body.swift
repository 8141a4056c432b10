import Codecs
import Timeline

/// The writer of an MPEG-4 file of packets.
///
/// libavformat writes fragments, each with its own table ('moof'), so that a killed process loses
/// at most the last second. On closing, the writer appends a complete table ('moov') for all
/// packets. A single write of a few bytes then turns everything from the first, empty 'moov' up to
/// the new one into an 'mdat' box. The file is complete before and after that write.
final class MPEG4Body: PacketFileBody {
  let takesRuns = false
  private let store: any ByteStore
  private let container: Container
  private let format: PacketFormat
  private let muxer: Muxer
  private let primingFrames: Int
  private var frames: Int64 = 0
  private var flushedFrames: Int64 = 0
  private var sizes: [UInt32] = []
  /// Frames of each packet, if their number varies.
  private var lengths: [UInt32] = []
  /// The packets up to the end of each fragment, and the offset of its end.
  private var fragments: [(packets: Int, end: Int64)] = []
  private var firstPacket: [UInt8] = []
  /// The first error. Nothing is written after it.
  private var failure: SoundFileError?

  init(
    _ store: any ByteStore, _ container: Container, _ format: PacketFormat, _ facts: PacketFileFacts
  ) throws(SoundFileError) {
    self.store = store
    self.container = container
    self.format = format
    primingFrames = facts.table.primingFrames
    var settings = Self.settings(container, format, facts)
    settings.options["movflags"] =
      "+frag_custom+empty_moov+delay_moov+default_base_moof+skip_trailer"
    settings.options["use_editlist"] = "1"
    muxer = try Muxer(store, name: Self.name(container), settings)
  }

  private static func name(_ container: Container) -> String {
    switch container {
    case .m4a, .m4b: "ipod"
    case .threeGP: "3gp"
    case .threeGP2: "3g2"
    default: "mp4"
    }
  }

  private static func settings(
    _ container: Container, _ format: PacketFormat, _ facts: PacketFileFacts
  ) -> Muxer.Settings {
    var settings = Muxer.Settings(
      format: format, extradata: facts.extradata, channelRoles: facts.channelRoles,
      primingFrames: facts.table.primingFrames, bitRate: facts.bitRate,
      metadata: InfoKeys.metadata(facts.tags, container: container))
    // With this time scale, edits are accurate to the frame.
    settings.options["movie_timescale"] = "\(Int(held: format.sampleRate.rounded()))"
    if container == .m4b { settings.options["brand"] = "M4B " }
    return settings
  }

  func append(
    _ packet: UnsafeRawBufferPointer, packets: Int, frames count: Int
  ) throws(SoundFileError) {
    if sizes.isEmpty { firstPacket = unsafe Array(packet) }
    try orCut { () throws(SoundFileError) in
      try unsafe muxer.write(
        packet, firstFrame: frames - Int64(primingFrames), frames: Int64(count))
    }
    sizes.append(UInt32(clamping: packet.count))
    if format.framesPerPacket == 0 { lengths.append(UInt32(clamping: count)) }
    frames += Int64(count)
    if Double(frames - flushedFrames) >= format.sampleRate {
      try orCut { () throws(SoundFileError) in try flush() }
    }
  }

  /// Writes something. If that fails, because the disk is full for example, the file ends with its last
  /// complete fragment.
  private func orCut(_ write: () throws(SoundFileError) -> Void) throws(SoundFileError) {
    if let failure { throw failure }
    do throws(SoundFileError) {
      try write()
    } catch {
      failure = error
      if let last = fragments.last { try? store.setByteCount(last.end) }
      throw error
    }
  }

  /// Completes the current fragment.
  private func flush() throws(SoundFileError) {
    guard sizes.count > fragments.last?.packets ?? 0 else { return }
    // The first flush writes only the empty 'moov' box.
    if fragments.isEmpty { try muxer.flush() }
    try muxer.flush()
    fragments.append((sizes.count, muxer.position))
    flushedFrames = frames
  }

  func checkpoint(_ facts: PacketFileFacts) throws(SoundFileError) {
    try orCut { () throws(SoundFileError) in try flush() }
  }

  func finish(_ facts: PacketFileFacts) throws(SoundFileError) {
    try orCut { () throws(SoundFileError) in try complete(facts) }
  }

  private func complete(_ facts: PacketFileFacts) throws(SoundFileError) {
    let settings = Self.settings(container, format, facts)
    try flush()
    guard let last = fragments.last else {
      // Without packets the file keeps the empty table of a fragmented file: an ordinary file
      // without packets does not store its format.
      var settings = settings
      settings.options["movflags"] = "+frag_custom+empty_moov+skip_trailer"
      try store.setByteCount(0)
      try Muxer(store, name: Self.name(container), settings).finish()
      return
    }
    try writeTable(settings, facts.table, at: last.end)
    if let roles = facts.channelRoles, roles.count > 2 {
      let mask = try? PacketDecoder(format, cookie: facts.cookie).channelMask
      // Roles that the packets have already need no box.
      if mask.map(CAFLayout.roles(speakers:)) != CAFLayout.decoded(roles) {
        try addLayout(roles, toTableAt: last.end)
      }
    }
    try store.synchronize()
    try hideFragments(end: last.end)
  }

  /// Writes the 'moov' box that libavformat would write if it had stored the packets where they
  /// are.
  private func writeTable(
    _ settings: Muxer.Settings, _ table: PacketTable, at end: Int64
  ) throws(SoundFileError) {
    let muxer = try Muxer(store, name: Self.name(container), settings, firstKeptByte: end)
    // libavformat parses the packets of these codecs.
    let needsBytes = [.ac3, .eac3, .amrNarrow].contains(format.codec)
    let silence = [UInt8](repeating: 0, count: Int(sizes.max() ?? 0))
    var start = 0
    var frame = -Int64(table.primingFrames)
    var isCut = false
    for fragment in fragments {
      var position = fragment.end - sizes[start..<fragment.packets].reduce(0) { $0 + Int64($1) }
      muxer.seek(to: position)
      for packet in start..<fragment.packets {
        let size = Int(sizes[packet])
        var bytes = silence
        if packet == 0 {
          bytes = firstPacket
        } else if needsBytes {
          bytes = try store.bytes(at: position, count: size) ?? silence
        }
        let count =
          format.framesPerPacket > 0 ? Int64(format.framesPerPacket) : Int64(lengths[packet])
        // The remainder may shorten the last packet.
        isCut =
          packet == sizes.count - 1 && Int64(table.remainderFrames) < count
        let heard = isCut ? count - Int64(table.remainderFrames) : count
        let done = unsafe bytes.withUnsafeBytes { bytes in
          Result { () throws(SoundFileError) in
            try unsafe muxer.write(
              UnsafeRawBufferPointer(rebasing: bytes[..<size]), firstFrame: frame, frames: heard)
          }
        }
        try done.get()
        frame += count
        position += Int64(size)
      }
      start = fragment.packets
    }
    muxer.seek(to: end)
    try muxer.finish()
    guard !isCut, table.remainderFrames > 0, table.validFrames > 0 else { return }
    // The remainder exceeds one packet. The packets' times cannot express that, but the edit list
    // can.
    for field in try MPEG4File(store, from: end).lengthFields {
      try store.write(
        [UInt8](table.validFrames, count: field.count, bigEndian: true), at: field.lowerBound)
    }
  }

  /// Adds a 'chan' box with the channels' roles to the sample entry of the table at the end of the file.
  private func addLayout(
    _ roles: [ChannelRole], toTableAt offset: Int64
  ) throws(SoundFileError) {
    let total = try store.byteCount()
    var starts: [Int64] = []
    var (position, end) = (offset, total)
    for name in ["moov", "trak", "mdia", "minf", "stbl", "stsd"] {
      while let box = try MPEG4Box(at: position, in: store, end: end), box.name != name {
        position = box.end
      }
      guard let box = try MPEG4Box(at: position, in: store, end: end) else { return }
      starts.append(position)
      // The entries of 'stsd' follow a version and a count.
      (position, end) = (box.body + (name == "stsd" ? 8 : 0), box.end)
    }
    guard let entry = try MPEG4Box(at: position, in: store, end: end),
      let rest = try store.bytes(at: entry.end, count: Int(total - entry.end))
    else { return }
    let content = [0, 0, 0, 0] + CAFLayout.chunk(roles)
    let layout =
      [UInt8](8 + content.count, count: 4, bigEndian: true) + ChunkID("chan").bytes + content
    try store.write(layout + rest, at: entry.end)
    for start in starts + [position] {
      guard let size = try store.bytes(at: start, count: 4)?.big(at: 0, bytes: 4) else { return }
      try store.write([UInt8](Int(size) + layout.count, count: 4, bigEndian: true), at: start)
    }
  }

  /// Turns everything between the 'ftyp' box and the last 'moov' box into one 'mdat' box.
  private func hideFragments(end: Int64) throws(SoundFileError) {
    guard let size = try store.bytes(at: 0, count: 4)?.big(at: 0, bytes: 4),
      let first = try store.bytes(at: Int64(size), count: 8), first.name(at: 4) == "moov"
    else { throw SoundFileError(.damaged("its first table is gone"), path: store.name) }
    var head: [UInt8] = [0, 0, 0, 1]
    head += ChunkID("mdat").bytes
    head.append(big: UInt64(end - Int64(size)))
    try store.write(head, at: Int64(size))
  }
}
