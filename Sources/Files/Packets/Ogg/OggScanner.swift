import Codecs
import Timeline

/// A scanner for the packets of an Ogg file's sound. It reads one logical stream, and then every
/// stream of the same codec chained behind it. Radio stations send such chains, and concatenated
/// files contain them.
///
/// libavformat only gives the packets' bytes in order. It takes the headers of later streams for
/// packets, and does not report what was lost with a damaged page.
struct OggScanner {
  /// The packets with their positions and frames. Lost packets have no bytes; the pages' granule
  /// positions give their length. The headers of later Vorbis streams are packets without frames,
  /// which the decoder processes in order.
  private(set) var index = PacketIndex()
  /// The packet ranges of those headers.
  private(set) var setups: [Range<Int64>] = []
  /// Priming and remainder frames.
  private(set) var primingFrames: Int64 = 0
  private(set) var remainderFrames: Int64 = 0
  /// Frames lost to gaps.
  private(set) var missingFrames: Int64 = 0
  /// Frames before the first damage; nil if there is none.
  private(set) var damagedFrame: Int64?
  /// Offset of sound of another codec, which is not read; nil if there is none.
  private(set) var otherSoundOffset: Int64?
  /// The first frame of a stream with another rate or other channels; nil if there is none.
  private(set) var changedFrame: Int64?
  /// Bytes outside valid pages, and whether the last page is incomplete.
  var skippedBytes: Int64 { pages.skippedBytes }
  private(set) var isCut = false

  private let store: any ByteStore
  private let codec: Codec
  private let sampleRate: Double
  private var pages: OggPages
  /// The identification header of the first audio stream.
  private var head: Head?
  /// The format of the latest stream.
  private var latestFormat: [UInt8] = []
  private var stream: Stream?
  /// First pages come in groups, one for each of the multiplexed logical streams.
  private var isAmongFirstPages = false

  private struct Packet {
    var pieces: [PacketIndex.Piece] = []
    /// The first bytes, enough to tell the packet's frames.
    var start: [UInt8] = []
    var frames: Int64 = 0
    /// Frames at its end that are not heard.
    var padding = 0

    mutating func add(_ range: Range<Int>, of page: OggPage) {
      guard !range.isEmpty else { return }
      let offset = page.offset + Int64(range.lowerBound)
      pieces.append(PacketIndex.Piece(offset: offset, bytes: range.count))
      start += page.bytes[range].prefix(max(0, 16 - start.count))
    }
  }

  /// The state of the logical stream being read.
  private struct Stream {
    let serial: UInt32
    /// The number of the latest page.
    var sequence: UInt32
    /// Number of header packets still to come, and the header packets read so far.
    var headsLeft: Int
    var heads: [[UInt8]] = []
    /// The function that returns the frames of a packet.
    var counter: (([UInt8]) -> Int)?
    /// A packet that continues on the next page.
    var begun: Packet?
    /// The latest page's granule position, and the frames of packets since then.
    var position: Int64?
    var framesSince: Int64 = 0
    /// True if pages were lost since then.
    var hasGap = false
    /// Bytes outside valid pages up to the latest page.
    var skippedBytes: Int64
    /// Frames of the first stream's rate for each frame of this one.
    let scale: Double
    /// Frames of this stream in the list, at its own rate.
    var listed: Int64 = 0
    /// Decoded frames at the stream's start that are still to be left out. Those of the first stream are
    /// the file's priming.
    var trimmed = 0
    /// True before the first packet of a later Vorbis stream, which only primes the decoder.
    var isPriming = false
  }

  /// The identification header: the first packet of a logical stream.
  private struct Head {
    /// Number of header packets.
    var count: Int
    /// Fields that are equal in chained streams as a rule.
    var format: [UInt8]
    var sampleRate: Double
    var primingFrames = 0

    /// Parses a header; nil if it is not one of this codec.
    init?(_ codec: Codec, _ packet: [UInt8]) {
      switch codec {
      case .opus:
        guard packet.count >= 19, packet.starts(with: "OpusHead".utf8) else { return nil }
        count = 2
        // Channel count, output gain and channel mapping.
        format = [packet[9]] + packet[16...]
        sampleRate = 48000
        primingFrames = Int(packet[10]) | Int(packet[11]) << 8
      case .vorbis:
        guard packet.count == 30, packet.starts(with: [1] + Array("vorbis".utf8)) else {
          return nil
        }
        count = 3
        // Channel count and sample rate.
        format = Array(packet[11..<16])
        sampleRate = Double(Bytes(packet).unsigned(at: 12, bytes: 4, bigEndian: false))
      case .flac:
        guard packet.count >= 51, packet.starts(with: [0x7F] + Array("FLAC".utf8)) else {
          return nil
        }
        // Later header packets are recognized by their first byte.
        count = 1
        // Block sizes, sample rate, channel count and bits per sample.
        format = packet[17..<21] + packet[27..<30] + [packet[30] & 0xF0]
        sampleRate = Double(packet.big(at: 27, bytes: 3) >> 4)
      default: return nil
      }
    }
  }

  init(_ store: any ByteStore, _ codec: Codec, sampleRate: Double) {
    self.store = store
    self.codec = codec
    self.sampleRate = sampleRate
    pages = OggPages(store)
  }

  /// Lists all packets. Returns false if the file has no sound of this codec.
  mutating func scan() throws(SoundFileError) -> Bool {
    let most = min(PacketIndex.maximumCount, try store.byteCount())
    while index.count < most, let page = try pages.next() {
      if page.isFirst {
        // A first page ends the previous stream, even if that stream's last page was lost.
        if !isAmongFirstPages { stream = nil }
        begin(page)
        isAmongFirstPages = true
      } else {
        isAmongFirstPages = false
        guard var stream, stream.serial == page.serial else { continue }
        self.stream = nil
        let goesOn = try take(page, &stream)
        if goesOn, !page.isLast { self.stream = stream }
      }
    }
    isCut = try pages.isCut
    return head != nil
  }

  /// Reads the first page of a logical stream.
  private mutating func begin(_ page: OggPage) {
    // Of multiplexed streams, only the first audio stream is read.
    if stream != nil { return }
    let packet = Array(page.bytes[page.bodyStart...])
    guard let new = Head(codec, packet), new.sampleRate > 0 else {
      if head != nil, otherSoundOffset == nil { otherSoundOffset = page.offset }
      return
    }
    if head == nil { primingFrames = Int64(new.primingFrames) }
    let head = self.head ?? new
    self.head = head
    // The padding of the stream before is inside the file.
    index.trimEnd(Int(clamping: remainderFrames))
    remainderFrames = 0
    if head.format != new.format { changedFrame = changedFrame ?? index.frames }
    otherSoundOffset = nil
    stream = Stream(
      serial: page.serial, sequence: page.sequence, headsLeft: new.count - 1,
      skippedBytes: pages.skippedBytes, scale: head.sampleRate / new.sampleRate)
    if index.count > 0 {
      stream?.trimmed = new.primingFrames
      stream?.isPriming = codec == .vorbis
    }
    stream?.heads = [packet]
    if new.count == 1 { stream?.counter = PacketFrames.counter(codec, []) }
    // The form of an Opus or FLAC stream is in its first header only, which has nine bytes of its own in FLAC.
    let skipped = codec == .flac ? 9 : 0
    let size = codec == .flac ? FLACStreamInfo.bytes : packet.count
    if index.count > 0, codec == .vorbis || latestFormat != new.format {
      setups.append(index.count..<index.count)
      let offset = page.offset + Int64(page.bodyStart + skipped)
      addSetup([PacketIndex.Piece(offset: offset, bytes: size)])
    }
    latestFormat = new.format
  }

  private mutating func addSetup(_ pieces: [PacketIndex.Piece]) {
    guard let setup = setups.popLast() else { return }
    index.append(pieces, frames: 0)
    setups.append(setup.lowerBound..<index.count)
  }

  /// Reads a page of the current stream. Returns false if the stream cannot be read any further.
  private mutating func take(
    _ page: OggPage, _ stream: inout Stream
  ) throws(SoundFileError) -> Bool {
    // Some programs number all pages alike, or count back. That is not a gap.
    if pages.skippedBytes > stream.skippedBytes { damagedFrame = damagedFrame ?? index.frames }
    let step = page.sequence &- stream.sequence
    let isAfterGap = (2...UInt32(Int32.max)).contains(step)
    stream.sequence = page.sequence
    if isAfterGap {
      // A stream cannot be decoded without its headers.
      guard stream.headsLeft == 0 else { return false }
      stream.hasGap = true
      stream.begun = nil
    }
    var sound: [Packet] = []
    for var packet in Self.packets(of: page, &stream.begun) {
      if stream.headsLeft > 0 {
        try takeHead(packet, &stream)
      } else if codec != .flac || packet.start.first == 0xFF {
        packet.frames = Int64(stream.counter?(packet.start) ?? 0)
        stream.framesSince += packet.frames
        sound.append(packet)
      }
    }
    guard !sound.isEmpty else { return true }
    takeTime(of: page, &stream)
    // The padding of a stream at another rate counts at its own.
    var padding = stream.scale == 1 ? 0 : Int(clamping: remainderFrames)
    if padding > 0 { remainderFrames = 0 }
    for index in sound.indices.reversed() {
      sound[index].padding = min(padding, Int(sound[index].frames))
      padding -= sound[index].padding
    }
    for packet in sound {
      let trimmed = min(stream.trimmed, Int(packet.frames))
      stream.trimmed -= trimmed
      // A decoder that has decoded another stream outputs frames for it.
      let priming = stream.isPriming ? Self.mostMissingFrames : 0
      stream.isPriming = false
      index.append(
        packet.pieces, frames: scaled(packet.frames - Int64(trimmed + packet.padding), &stream),
        trim: PacketTrim(start: trimmed + priming, end: packet.padding))
    }
    return true
  }

  /// Returns the frames at the first stream's rate.
  private func scaled(_ frames: Int64, _ stream: inout Stream) -> Int64 {
    guard stream.scale != 1 else { return frames }
    func frame(_ own: Int64) -> Int64 { Int64(held: (Double(own) * stream.scale).rounded()) }
    defer { stream.listed += frames }
    return frame(stream.listed + frames) - frame(stream.listed)
  }

  /// Returns the packets that end on a page. Packets whose start or end was lost are left out.
  private static func packets(of page: OggPage, _ begun: inout Packet?) -> [Packet] {
    var packets: [Packet] = []
    var isLost = page.isContinuation && begun == nil
    var packet = page.isContinuation ? begun ?? Packet() : Packet()
    begun = nil
    var start = page.bodyStart
    var end = start
    for lace in page.lacing {
      end += Int(lace)
      guard lace < 255 else { continue }
      packet.add(start..<end, of: page)
      if !isLost, !packet.pieces.isEmpty { packets.append(packet) }
      isLost = false
      packet = Packet()
      start = end
    }
    if page.lacing.last == 255, !isLost {
      packet.add(start..<end, of: page)
      begun = packet
    }
    return packets
  }

  private mutating func takeHead(
    _ packet: Packet, _ stream: inout Stream
  ) throws(SoundFileError) {
    var bytes: [UInt8] = []
    for piece in packet.pieces {
      bytes += try store.bytes(at: piece.offset, count: piece.bytes) ?? []
    }
    stream.heads.append(bytes)
    stream.headsLeft -= 1
    if codec == .vorbis, index.count > 0 { addSetup(packet.pieces) }
    guard stream.headsLeft == 0 else { return }
    // libavcodec's form: the number of headers after the first one, the sizes, and the headers. The
    // second header holds only comments, so it stays empty.
    let extradata =
      codec == .vorbis
      ? [2, UInt8(clamping: stream.heads[0].count), 0] + stream.heads[0] + bytes : []
    stream.counter = PacketFrames.counter(codec, extradata)
  }

  /// Uses a page's granule position to find the frames lost before it, and the priming or remainder
  /// frames.
  private mutating func takeTime(of page: OggPage, _ stream: inout Stream) {
    guard let granule = page.granule else { return }
    let excess = (stream.position ?? 0) + stream.framesSince - granule
    remainderFrames = 0
    if excess < 0, stream.hasGap {
      // A recording of a live stream may start in the middle, so its first position proves no loss
      // unless there is something in the file before it.
      if stream.position != nil || pages.skippedBytes > stream.skippedBytes {
        addMissing(scaled(-excess, &stream), at: page.offset)
      }
    } else if excess > 0 {
      if stream.position == nil, !page.isLast {
        // Frames before time 0 are not heard. Opus stores their number in its header instead.
        if codec == .vorbis {
          if index.frames == 0 {
            primingFrames = excess
          } else {
            stream.trimmed = Int(clamping: excess)
          }
        }
      } else {
        remainderFrames = excess
      }
    }
    stream.position = granule
    stream.skippedBytes = pages.skippedBytes
    stream.framesSince = 0
    stream.hasGap = false
  }

  /// Adds packets without bytes, as few as possible: a buffer of nothing but such packets cannot be
  /// played.
  private mutating func addMissing(_ frames: Int64, at offset: Int64) {
    // More than an hour is an implausible granule position rather than a gap.
    guard Double(frames) <= 3600 * sampleRate else { return }
    missingFrames += frames
    damagedFrame = damagedFrame ?? index.frames
    let piece = PacketIndex.Piece(offset: offset, bytes: 0)
    for start in stride(from: 0, to: frames, by: Self.mostMissingFrames) {
      index.append([piece], frames: min(Int64(Self.mostMissingFrames), frames - start))
    }
  }

  /// Maximum frames of one packet without bytes.
  private static var mostMissingFrames: Int { 0x8000 }
}
