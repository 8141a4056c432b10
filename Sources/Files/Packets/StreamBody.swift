import CFFmpeg
import Codecs

/// A writer, based on libavformat, of files that consist of consecutive packets. At each checkpoint
/// and on closing it corrects the header fields that libavformat writes only at the end, or does
/// not know.
final class StreamBody: PacketFileBody {
  let takesRuns: Bool
  private let store: any ByteStore
  private let container: Container
  private let format: PacketFormat
  private let muxer: Muxer
  /// Offset of the first packet.
  private let dataOffset: Int64
  private let primingFrames: Int
  private var frames: Int64 = 0
  private var packets: Int64 = 0
  private var bytes: Int64 = 0
  /// Where the latest packets end in the file, and the frames up to there. libavformat writes a packet some
  /// time after it got it.
  private var ends: [(offset: Int64, frames: Int64)] = []
  private static let mostEnds = 4096
  /// The first error. Nothing is written after it.
  private var failure: SoundFileError?
  private var shortest = Int.max
  private var longest = 0

  init(
    _ store: any ByteStore, _ container: Container, _ format: PacketFormat, _ facts: PacketFileFacts
  ) throws(SoundFileError) {
    self.store = store
    self.container = container
    self.format = format
    primingFrames = facts.table.primingFrames
    // For these codecs libavformat stores nothing per packet.
    takesRuns =
      format.bytesPerPacket > 0 && format.framesPerPacket > 0
      && [.ulaw, .alaw, .ima4, .msIMA, .gsm].contains(format.codec)
    var settings = Muxer.Settings(
      format: format, extradata: facts.extradata, channelRoles: facts.channelRoles,
      primingFrames: primingFrames, bitRate: facts.bitRate,
      metadata: InfoKeys.metadata(facts.tags, container: container))
    if container == .adts, !facts.tags.isEmpty { settings.options["write_id3v2"] = "1" }
    muxer = try Muxer(store, name: container.muxer?(format.codec) ?? container.demuxer, settings)
    dataOffset = muxer.position
  }

  func append(
    _ run: UnsafeRawBufferPointer, packets: Int, frames count: Int
  ) throws(SoundFileError) {
    try orCut { () throws(SoundFileError) in
      try unsafe muxer.write(run, firstFrame: frames - Int64(primingFrames), frames: Int64(count))
    }
    self.packets += Int64(packets)
    bytes += Int64(run.count)
    frames += Int64(count)
    shortest = min(shortest, run.count)
    longest = max(longest, run.count)
    if ends.count >= Self.mostEnds { ends.removeFirst(Self.mostEnds / 2) }
    ends.append((muxer.position, frames))
  }

  func checkpoint(_ facts: PacketFileFacts) throws(SoundFileError) {
    try orCut { () throws(SoundFileError) in
      try muxer.flush()
      try correctHead(facts, isLast: false)
    }
  }

  func finish(_ facts: PacketFileFacts) throws(SoundFileError) {
    try orCut { () throws(SoundFileError) in
      try muxer.finish()
      try correctHead(facts, isLast: true)
      if container == .ogg { try endLastPage(facts) }
    }
  }

  /// Writes something. If that fails, because the disk is full for example, the file ends with its last complete
  /// packet or page: readers take a part of one for damage.
  private func orCut(_ write: () throws(SoundFileError) -> Void) throws(SoundFileError) {
    if let failure { throw failure }
    do throws(SoundFileError) {
      try write()
    } catch {
      failure = error
      if let count = try? store.byteCount(), let end = ends.last(where: { $0.offset <= count }) {
        try? store.setByteCount(end.offset)
        if container == .flac { try? setStreamLength(end.frames) }
      }
      throw error
    }
  }

  /// Stores the length of a FLAC file that was cut. The header is in place already.
  private func setStreamLength(_ frames: Int64) throws(SoundFileError) {
    guard let old = try store.bytes(at: 8 + 13, count: 1)?.first else { return }
    let word = UInt64(old & 0xF0) << 32 | UInt64(frames) & 0xF_FFFF_FFFF
    try store.write(
      [UInt8](word, count: 5, bigEndian: true) + [UInt8](repeating: 0, count: 16), at: 8 + 13)
  }

  // MARK: Header fields that libavformat leaves open

  private func correctHead(_ facts: PacketFileFacts, isLast: Bool) throws(SoundFileError) {
    guard !store.isStream else { return }
    switch container {
    case .wave:
      if !isLast {
        try setSizes(little: true, [(4, store.byteCount() - 8), (dataOffset - 4, bytes)])
      }
      try setFact(facts.table.validFrames)
    case .aifc:
      if !isLast { try correctAIFF() }
    case .next:
      if !isLast { try setSizes(little: false, [(8, bytes)]) }
    case .flac: try correctStreamInfo(facts)
    case .mp3: try correctInfoTag(facts.table)
    default: break
    }
  }

  private func setSizes(
    little: Bool, _ sizes: [(offset: Int64, bytes: Int64)]
  ) throws(SoundFileError) {
    for (offset, bytes) in sizes {
      try store.write(
        [UInt8](UInt32(clamping: bytes), count: 4, bigEndian: !little), at: offset)
    }
  }

  /// Stores a WAVE file's number of frames in its 'fact' chunk.
  private func setFact(_ frames: Int64) throws(SoundFileError) {
    guard case .head(let head) = try FileHead.find(in: store),
      let fact = head.before.first(where: { $0.id == "fact" }), fact.size >= 4
    else { return }
    try setSizes(little: true, [(fact.offset, frames)])
  }

  private func correctAIFF() throws(SoundFileError) {
    let total = try store.byteCount()
    guard let head = try store.bytes(at: 0, count: Int(dataOffset)) else { return }
    var offset = 12
    while offset + 8 <= head.count {
      if head.name(at: offset) == "COMM" {
        let count = format.bytesPerPacket > 0 ? bytes / Int64(format.bytesPerPacket) : packets
        try setSizes(little: false, [(Int64(offset) + 10, count)])
      }
      offset += 8 + (Int(head.big(at: offset + 4, bytes: 4)) + 1) / 2 * 2
    }
    try setSizes(little: false, [(dataOffset - 12, bytes + 8), (4, total - 8)])
  }

  /// Stores a FLAC file's length and its smallest and largest packet in STREAMINFO.
  private func correctStreamInfo(_ facts: PacketFileFacts) throws(SoundFileError) {
    var info = facts.extradata
    guard info.count >= 34, packets > 0 else { return }
    info = Array(info[..<34])
    let claimed = info.big(at: 13, bytes: 5) & 0xF_FFFF_FFFF
    let valid = UInt64(facts.table.validFrames) & 0xF_FFFF_FFFF
    info.replaceSubrange(4..<7, with: [UInt8](shortest, count: 3, bigEndian: true))
    info.replaceSubrange(7..<10, with: [UInt8](longest, count: 3, bigEndian: true))
    let high = info.big(at: 13, bytes: 1) & 0xF0
    info.replaceSubrange(
      13..<18, with: [UInt8](high << 32 | valid, count: 5, bigEndian: true))
    // The MD5 sum, if present, covers the complete sound.
    if claimed != valid { info.replaceSubrange(18..<34, with: [UInt8](repeating: 0, count: 16)) }
    guard let head = try store.bytes(at: 0, count: 8), head.name(at: 0) == "fLaC" else { return }
    try store.write(info, at: 8)
  }

  /// Stores priming and remainder in the LAME tag of an MP3 file's first frame.
  private func correctInfoTag(_ table: PacketTable) throws(SoundFileError) {
    // The decoder's own delay is not counted.
    let decoderFrames = 529
    guard table.primingFrames >= decoderFrames else { return }
    let head = try store.bytes(at: 0, count: ID3Tag.headBytes) ?? []
    let start = Int64(ID3Tag.byteCount(head) ?? 0)
    guard var frame = try store.bytes(at: start, count: 192) else { return }
    guard let tag = FrameKind.mpeg.head(frame, at: 0)?.informationOffset,
      ["Info", "Xing"].contains(frame.name(at: tag))
    else { return }
    let encoder = tag + 120
    let delay = min(table.primingFrames - decoderFrames, 0xFFF)
    let padding = min(table.remainderFrames + decoderFrames, 0xFFF)
    frame.replaceSubrange(
      encoder + 21..<encoder + 24, with: [UInt8](delay << 12 | padding, count: 3, bigEndian: true))
    let summed = encoder + 34
    guard summed + 2 <= frame.count else { return }
    let sum = unsafe ffmpeg.av_crc(ffmpeg.av_crc_get_table(AV_CRC_16_ANSI_LE), 0, frame, summed)
    frame.replaceSubrange(summed..<summed + 2, with: [UInt8](sum, count: 2, bigEndian: true))
    try store.write(frame, at: start)
  }

  /// Marks an Ogg file's last page as such, and sets its granule position to the end of the valid
  /// frames.
  private func endLastPage(_ facts: PacketFileFacts) throws(SoundFileError) {
    let total = try store.byteCount()
    // Upper limit of a page's size.
    let reach = Int(min(total, Int64(OggPage.maximumBytes)))
    guard packets > 0, let end = try store.bytes(at: total - Int64(reach), count: reach) else {
      return
    }
    guard
      let start = stride(from: end.count - 27, through: 0, by: -1).first(where: { start in
        guard end[start] == 0x4F, end.name(at: start) == "OggS" else { return false }
        let laces = Int(end[start + 26])
        let body = end[(start + 27)...].prefix(laces).reduce(0) { $0 + Int($1) }
        return start + 27 + laces + body == end.count
      })
    else { return }
    var page = Array(end[start...])
    page[5] |= 4
    let sound = facts.table.validFrames + Int64(facts.table.primingFrames)
    page.replaceSubrange(6..<14, with: [UInt8](sound, count: 8, bigEndian: false))
    page.replaceSubrange(OggPage.sum, with: OggPage.checkSum(page))
    try store.write(page, at: total - Int64(end.count - start))
  }
}
