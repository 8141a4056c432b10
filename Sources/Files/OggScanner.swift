import Codecs

/// The packets of an Ogg file's sound: those of one logical stream, and of the ones that follow it and
/// hold sound of the same format (a chain, as radio stations send it, and as files make that were put
/// together).
///
/// libavformat gives the packets' bytes in order only, takes the heads of later streams for packets, and
/// does not tell what a damaged page took with it.
struct OggScanner {
  /// Where the packets lie, with their frames. What was lost stands there as packets without bytes,
  /// where the pages' times tell how long it was. The heads of Vorbis streams after the first one are
  /// packets without frames: a decoder takes them in as they come.
  private(set) var index = PacketIndex()
  /// Those heads.
  private(set) var setups: [Range<Int64>] = []
  /// Frames before the sound and behind it.
  private(set) var primingFrames: Int64 = 0
  private(set) var remainderFrames: Int64 = 0
  /// Frames that were lost.
  private(set) var missingFrames: Int64 = 0
  /// Where other sound follows, which is not read.
  private(set) var otherSoundOffset: Int64?
  /// Bytes that belong to no whole page.
  var skippedBytes: Int64 { pages.skippedBytes }

  private let store: any ByteStore
  private let codec: Codec
  private let sampleRate: Double
  private var pages: OggPages
  /// The head of the first stream of sound.
  private var head: Head?
  private var stream: Stream?
  /// First pages come in groups: one for each of the logical streams that lie side by side.
  private var isAmongFirstPages = false

  private struct Packet {
    var pieces: [PacketIndex.Piece] = []
    /// The first bytes, as many as tell the frames.
    var start: [UInt8] = []
    var frames: Int64 = 0

    mutating func add(_ range: Range<Int>, of page: OggPage) {
      guard !range.isEmpty else { return }
      let offset = page.offset + Int64(range.lowerBound)
      pieces.append(PacketIndex.Piece(offset: offset, bytes: range.count))
      start += page.bytes[range].prefix(max(0, 16 - start.count))
    }
  }

  /// A logical stream that is being read.
  private struct Stream {
    let serial: UInt32
    /// The number of the latest page.
    var sequence: UInt32
    /// Packets that are still to come before the sound, and the bytes of those that came.
    var headsLeft: Int
    var heads: [[UInt8]] = []
    /// Tells the frames of packets.
    var counter: (([UInt8]) -> Int)?
    /// A packet whose rest is on the next page.
    var begun: Packet?
    /// The time at the end of the latest page that told it, and the frames of packets since then.
    var position: Int64?
    var framesSince: Int64 = 0
    /// Pages were lost since then.
    var hasGap = false
  }

  /// What the first packet of a logical stream tells.
  private struct Head {
    /// Packets before the sound.
    var count: Int
    /// What is the same in streams that can be played one after the other.
    var format: [UInt8]
    var primingFrames = 0

    /// Nil if it is none of the codec.
    init?(_ codec: Codec, _ packet: [UInt8]) {
      switch codec {
      case .opus:
        guard packet.count >= 19, packet.starts(with: "OpusHead".utf8) else { return nil }
        count = 2
        // The channels, the gain, and which channel is where.
        format = [packet[9]] + packet[16...]
        primingFrames = Int(packet[10]) | Int(packet[11]) << 8
      case .vorbis:
        guard packet.count == 30, packet.starts(with: [1] + Array("vorbis".utf8)) else {
          return nil
        }
        count = 3
        // The channels and the rate.
        format = Array(packet[11..<16])
      case .flac:
        guard packet.count >= 51, packet.starts(with: [0x7F] + Array("FLAC".utf8)) else {
          return nil
        }
        // What else comes before the sound is told from it by its first byte.
        count = 1
        // The packets' lengths, the rate, the channels and the bits of a sample.
        format = packet[17..<21] + packet[27..<30] + [packet[30] & 0xF0]
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

  /// Lists all packets. False if there is no such sound.
  mutating func scan() throws(SoundFileError) -> Bool {
    let most = min(PacketIndex.maximumCount, try store.byteCount())
    while index.count < most, let page = try pages.next() {
      if page.isFirst {
        // Whatever was read before ends, even if its last page was lost.
        if !isAmongFirstPages { stream = nil }
        guard begin(page) else { break }
        isAmongFirstPages = true
      } else {
        isAmongFirstPages = false
        guard var stream, stream.serial == page.serial else { continue }
        self.stream = nil
        let goesOn = try take(page, &stream)
        if goesOn, !page.isLast { self.stream = stream }
      }
    }
    return head != nil
  }

  /// Takes in the first page of a logical stream. False if the sound ends there.
  private mutating func begin(_ page: OggPage) -> Bool {
    // The first stream of sound of those that lie side by side.
    if stream != nil { return true }
    let packet = Array(page.bytes[page.bodyStart...])
    guard let new = Head(codec, packet) else {
      if head != nil, otherSoundOffset == nil { otherSoundOffset = page.offset }
      return true
    }
    if let head, head.format != new.format {
      otherSoundOffset = page.offset
      return false
    }
    if head == nil {
      head = new
      primingFrames = Int64(new.primingFrames)
    }
    otherSoundOffset = nil
    stream = Stream(serial: page.serial, sequence: page.sequence, headsLeft: new.count - 1)
    stream?.heads = [packet]
    if new.count == 1 { stream?.counter = PacketFrames.counter(codec, []) }
    if codec == .vorbis, index.count > 0 {
      setups.append(index.count..<index.count)
      let offset = page.offset + Int64(page.bodyStart)
      addSetup([PacketIndex.Piece(offset: offset, bytes: packet.count)])
    }
    return true
  }

  private mutating func addSetup(_ pieces: [PacketIndex.Piece]) {
    guard let setup = setups.popLast() else { return }
    index.append(pieces, frames: 0)
    setups.append(setup.lowerBound..<index.count)
  }

  /// Takes in a page of the stream that is being read. False if the stream cannot be read on.
  private mutating func take(
    _ page: OggPage, _ stream: inout Stream
  ) throws(SoundFileError) -> Bool {
    // Pages that are all of one number, or go back, are the doing of odd programs.
    let step = page.sequence &- stream.sequence
    let isAfterGap = (2...UInt32(Int32.max)).contains(step)
    stream.sequence = page.sequence
    if isAfterGap {
      // Without its heads a stream cannot be decoded.
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
    for packet in sound { index.append(packet.pieces, frames: packet.frames) }
    return true
  }

  /// The packets that end on a page. Those whose start or rest was lost are left out.
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
    // As libavcodec has them: how many follow the first, their sizes, and then themselves. What the
    // second tells is about the tune.
    let extradata =
      codec == .vorbis
      ? [2, UInt8(clamping: stream.heads[0].count), 0] + stream.heads[0] + bytes : []
    stream.counter = PacketFrames.counter(codec, extradata)
  }

  /// Makes out by a page's time what was lost before it, and what its last packets have too much.
  private mutating func takeTime(of page: OggPage, _ stream: inout Stream) {
    guard let granule = page.granule else { return }
    let excess = (stream.position ?? 0) + stream.framesSince - granule
    remainderFrames = 0
    if excess < 0, stream.hasGap {
      // A stream may have been under way when its recording began.
      if stream.position != nil { addMissing(-excess, at: page.offset) }
    } else if excess > 0 {
      if stream.position == nil, !page.isLast {
        // What is before time 0 is not to be heard. Opus tells it in its head.
        if index.count == 0, codec == .vorbis { primingFrames = excess }
      } else {
        remainderFrames = excess
      }
    }
    stream.position = granule
    stream.framesSince = 0
    stream.hasGap = false
  }

  /// Adds packets without bytes, as few as will do: programs cannot play a buffer of nothing else.
  private mutating func addMissing(_ frames: Int64, at offset: Int64) {
    // More than an hour is no gap, but a time that makes no sense.
    guard Double(frames) <= 3600 * sampleRate else { return }
    missingFrames += frames
    let piece = PacketIndex.Piece(offset: offset, bytes: 0)
    for start in stride(from: 0, to: frames, by: Self.mostMissingFrames) {
      index.append([piece], frames: min(Int64(Self.mostMissingFrames), frames - start))
    }
  }

  /// Frames that one packet without bytes stands for, at the most.
  private static var mostMissingFrames: Int { 0x8000 }
}
