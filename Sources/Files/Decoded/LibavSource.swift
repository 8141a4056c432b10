import Codecs
import RealTime

/// A file whose packets libavformat finds and libavcodec decodes, and the frame that it returns next.
///
/// All packets are listed when it is opened. A packet that cannot be decoded, and a gap in the packets' times,
/// are silence of their length.
@safe
final class LibavSource: DecodedSource, @unchecked Sendable {
  let format: PCMFormat
  let frames: Int64
  let channelRoles: [ChannelRole]?
  let metadata: [String: String]
  /// A description of the file's damage; nil if it has none.
  let damage: String?
  private(set) var missing = MissingSound()

  private let type: LibavType
  /// Decoded frames before the sound.
  private let primingFrames: Int64
  private let store: any ByteStore
  private var demuxer: Demuxer
  private var decoder: SampleDecoder
  private let packets: [Listed]
  /// The packet that the demuxer returns next.
  private var nextPacket = 0
  /// Decoded bytes, and the frame where they begin. Frames include priming.
  private var ready: [UInt8] = []
  private var readyFrame: Int64 = 0

  private struct Listed {
    var offset: Int64
    var endOffset: Int64
    /// Start by the file's times.
    var time: Int64
    /// Start in the sound.
    var start: Int64
    var frames: Int64
    var end: Int64 { start + frames }
  }

  /// Limits on the packets of a file, on the frames of one, and on the seconds of all gaps.
  private static let (mostPackets, mostFrames, mostGaps) = (1 << 24, Int64(1 << 22), 3600.0)

  init(_ store: any ByteStore, _ type: LibavType) throws(SoundFileError) {
    self.type = type
    self.store = store
    let demuxer = try Demuxer(store, name: type.demuxer)
    if let error = SoundFileError.tooMany(channels: demuxer.channels, path: store.name) {
      throw error
    }
    self.demuxer = demuxer
    guard let decoder = demuxer.decoder() else {
      throw SoundFileError(.unsupportedEncoding(demuxer.codecName), path: store.name)
    }
    self.decoder = decoder
    format = decoder.format
    channelRoles = demuxer.channelRoles
    metadata = demuxer.metadata
    let listed = try Self.list(
      store, type, demuxer, gap: Int64(Self.mostGaps * format.sampleRate))
    packets = listed.packets
    let musepack = type == .musepack8 ? try LibavType.musepackFrames(store) : nil
    primingFrames = type.delay + (musepack?.silence ?? 0)
    let present = max(0, (packets.last?.end ?? 0) - primingFrames)
    let promised = type == .musepack8 ? musepack?.sound : demuxer.promisedFrames
    // WavPack's blocks count their frames, and another file may follow.
    frames = type == .wavPack ? present : min(promised ?? present, present)
    guard frames > 0 || promised == 0 else { throw SoundFileError(.truncated, path: store.name) }
    if let promised, promised > present {
      damage = "the file is cut short: \(present) of \(promised) frames are there"
    } else if let place = try type.otherSound(in: store, from: packets.last?.endOffset ?? 0) {
      damage = "it is read up to byte \(place): sound of another kind or form follows"
    } else if let frame = listed.damaged {
      damage = "the file is damaged at \(exactClock(Double(frame) / format.sampleRate))"
    } else {
      damage = nil
    }
    nextPacket = packets.count
  }

  /// Lists all packets, and the frame where the first of other bytes between them are.
  private static func list(
    _ store: any ByteStore, _ type: LibavType, _ demuxer: Demuxer, gap: Int64
  ) throws(SoundFileError) -> (packets: [Listed], damaged: Int64?) {
    var packets: [Listed] = []
    var damaged: Int64?
    var origin: Int64?
    var gap = gap
    // Where WavPack's blocks are searched for behind other bytes. Few tries keep a crafted file from taking long.
    var (searched, tries) = (Int64(0), 0)
    while packets.count < mostPackets {
      guard let packet = try unsafe demuxer.next() else {
        searched = max(searched, packets.last?.offset ?? 0) + 1
        guard type == .wavPack, tries < 1000,
          let found = try nextBlock(store, from: searched), demuxer.seek(toByte: found)
        else { break }
        searched = found
        tries += 1
        continue
      }
      let end = packets.last?.end ?? 0
      let time = unsafe packet.firstFrame ?? end
      let first = origin ?? time
      origin = first
      let (told, isWild) = time.subtractingReportingOverflow(first)
      let start = !isWild && told > end && told - end <= gap ? told : end
      gap -= start - end
      if start > end || tries > 0 && damaged == nil { damaged = damaged ?? end }
      let frames = unsafe min(packet.frames, mostFrames)
      guard frames > 0 else { continue }
      unsafe packets.append(
        Listed(
          offset: packet.offset, endOffset: packet.offset + Int64(packet.bytes.count), time: time,
          start: start, frames: frames))
    }
    return (packets, damaged)
  }

  /// Returns the offset of the first WavPack block at or behind an offset that begins frames; nil if there is none.
  private static func nextBlock(
    _ store: any ByteStore, from offset: Int64
  ) throws(SoundFileError) -> Int64? {
    let name = Array(LibavType.wavPack.rawValue.utf8)
    var at = offset
    let total = try store.byteCount()
    while at < total {
      guard let bytes = try store.bytes(at: at, count: Int(min(1 << 16, total - at))),
        bytes.count >= name.count
      else { return nil }
      for index in 0...bytes.count - name.count where bytes[index...].starts(with: name) {
        // The second byte of the flags says if the block is the first of its frames, or holds further channels.
        let place = at + Int64(index)
        if let flags = try store.bytes(at: place + 25, count: 1)?.first, flags & 0x08 != 0 {
          return place
        }
      }
      at += Int64(bytes.count - name.count + 1)
    }
    return nil
  }

  // MARK: Reading

  func count(most: Int64) -> Int64 { min(frames, most) }

  func read(_ count: Int, at frame: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let size = format.bytesPerFrame
    var done = 0
    while done < count, frame + Int64(done) < frames {
      let position = frame + Int64(done) + primingFrames
      let held = Int64(ready.count / size)
      guard position >= readyFrame, position < readyFrame + held else {
        guard fill(at: position) else { break }
        continue
      }
      let first = Int(position - readyFrame) * size
      let part = ready[first...].prefix((count - done) * size)
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(done * size)...]).copyBytes(from: part)
      done += part.count / size
    }
    return done
  }

  /// Decodes the packet that holds a frame, or makes silence of the gap that does. False behind the end.
  private func fill(at frame: Int64) -> Bool {
    var (low, high) = (0, packets.count)
    while low < high {
      let middle = (low + high) / 2
      if packets[middle].end <= frame { low = middle + 1 } else { high = middle }
    }
    guard low < packets.count else { return false }
    let packet = packets[low]
    if frame < packet.start {
      ready = []
      fall(silentFor: min(packet.start - frame, 1 << 16), at: frame)
      return true
    }
    if low != nextPacket { move(to: low) }
    decode(low)
    let bytes = Int(packet.frames) * format.bytesPerFrame
    ready = Array(decoder.samples.prefix(bytes))
    readyFrame = packet.start
    let whole = Int64(ready.count / format.bytesPerFrame)
    if whole < packet.frames { fall(silentFor: packet.frames - whole, at: packet.start + whole) }
    return true
  }

  /// Appends silence for frames that cannot be decoded.
  private func fall(silentFor count: Int64, at frame: Int64) {
    let silence: UInt8 = format.kind == .unsignedInteger ? 0x80 : 0
    if ready.isEmpty { readyFrame = frame }
    ready += repeatElement(silence, count: Int(count) * format.bytesPerFrame)
    // Priming, and what packets hold behind the end, is no sound.
    let first = max(0, frame - primingFrames)
    let lost = min(frame - primingFrames + count, frames) - first
    if lost > 0 { missing.add(Int(lost), at: first) }
  }

  /// Moves to a packet, with a decoder that has decoded those that it needs before.
  private func move(to packet: Int) {
    let first = max(0, packet - type.packetsBefore)
    if let fresh = demuxer.decoder() { decoder = fresh }
    let isThere =
      switch type {
      // Each block is sought.
      case .wavPack: true
      // libavformat's own seeks in these files miss a packet.
      case .musepack8: first > 0 && demuxer.seek(toByte: packets[first - 1].endOffset)
      default: demuxer.seek(toFrame: packets[first].time)
      }
    if !isThere, let fresh = try? Demuxer(store, name: type.demuxer) { demuxer = fresh }
    for before in first..<packet { decode(before) }
  }

  /// Decodes a packet, which the demuxer returns next or after others.
  private func decode(_ index: Int) {
    let wanted = packets[index]
    nextPacket = index + 1
    // WavPack's blocks may have other bytes between them, at which the demuxer stops.
    if type == .wavPack { _ = demuxer.seek(toByte: wanted.offset) }
    while let packet = try? unsafe demuxer.next() {
      let time = unsafe packet.firstFrame ?? wanted.time
      let isWanted =
        type.isSoughtByOffset ? unsafe packet.offset == wanted.offset : time == wanted.time
      if isWanted {
        _ = unsafe decoder.decode(packet.bytes)
        return
      }
      if !type.isSoughtByOffset, time > wanted.time { break }
    }
    decoder.clear()
  }
}
