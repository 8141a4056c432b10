import Codecs

/// The header of a frame, in a stream that consists only of frames.
struct FrameHead: Equatable {
  /// Bytes of the frame, including its header.
  var bytes: Int
  /// Bytes at the frame's start that are not part of the packet.
  var headBytes = 0
  /// Header bits that are the same in all frames of a stream.
  var kind: UInt32
  var codec: Codec
  var sampleRate: Double
  /// 0 if the header does not give it.
  var channels: Int
  /// Audio frames.
  var frames: Int
  /// Bits per second; 0 if the header does not give it.
  var bitRate = 0

  /// Offset of the information (Xing or Info) tag in an MPEG Layer III frame without sound: after
  /// the header and the side information.
  var informationOffset: Int {
    switch (frames == 1152, channels == 2) {
    case (true, true): 4 + 32
    case (true, false), (false, true): 4 + 17
    case (false, false): 4 + 9
    }
  }
}

/// A stream of frames, each with a header that gives its size.
enum FrameKind: CaseIterable {
  case adts, mpeg, ac3

  /// Bytes needed to parse a header.
  var headBytes: Int {
    switch self {
    case .adts: 7
    case .mpeg: 4
    case .ac3: 8
    }
  }

  /// Upper limit of a packet's size in bytes.
  var maximumPacketBytes: Int {
    switch self {
    case .adts: 8191 - 7
    // MPEG 2.5 Layer II with 160 kbit/s at 8 kHz, plus one padding byte.
    case .mpeg: 2881
    case .ac3: 3840
    }
  }

  /// Parses the header at an offset; `headBytes` must be available there. Returns nil if it is
  /// none.
  func head(_ bytes: [UInt8], at offset: Int) -> FrameHead? {
    switch self {
    case .adts: Self.adts(bytes, at: offset)
    case .mpeg: Self.mpeg(bytes, at: offset)
    case .ac3: Self.ac3(bytes, at: offset)
    }
  }

  private static func adts(_ b: [UInt8], at i: Int) -> FrameHead? {
    guard b[i] == 0xFF, b[i + 1] & 0xF6 == 0xF0 else { return nil }
    let rates = [
      96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]
    let rate = Int(b[i + 2] >> 2 & 15)
    let channels = Int(b[i + 2] & 1) << 2 | Int(b[i + 3] >> 6)
    let bytes = Int(b[i + 3] & 3) << 11 | Int(b[i + 4]) << 3 | Int(b[i + 5] >> 5)
    let headBytes = b[i + 1] & 1 == 1 ? 7 : 9
    // A frame with several raw data blocks cannot be split without decoding it.
    guard rate < rates.count, bytes > headBytes, b[i + 6] & 3 == 0 else { return nil }
    return FrameHead(
      bytes: bytes, headBytes: headBytes,
      kind: UInt32(b[i + 1] & 0xFE) << 16 | UInt32(b[i + 2] & 0xFD) << 8 | UInt32(b[i + 3] & 0xC0),
      codec: .aac, sampleRate: Double(rates[rate]), channels: channels == 7 ? 8 : channels,
      frames: 1024)
  }

  private static func mpeg(_ b: [UInt8], at i: Int) -> FrameHead? {
    guard b[i] == 0xFF, b[i + 1] & 0xE0 == 0xE0 else { return nil }
    // 0 is MPEG 2.5, 2 is MPEG 2, 3 is MPEG 1.
    let version = b[i + 1] >> 3 & 3
    let layer = 4 - Int(b[i + 1] >> 1 & 3)
    let rateIndex = Int(b[i + 2] >> 2 & 3)
    let bitRateIndex = Int(b[i + 2] >> 4)
    let padding = Int(b[i + 2] >> 1 & 1)
    guard version != 1, layer < 4, rateIndex < 3, (1...14).contains(bitRateIndex) else {
      return nil
    }
    let isFirst = version == 3
    let kilobits =
      switch (isFirst, layer) {
      case (true, 1): 32 * bitRateIndex
      case (true, 2):
        [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384][bitRateIndex - 1]
      case (true, _):
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320][bitRateIndex - 1]
      case (false, 1):
        [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256][bitRateIndex - 1]
      case (false, _):
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160][bitRateIndex - 1]
      }
    let rate = [44100, 48000, 32000][rateIndex] / [4, 1, 2, 1][Int(version)]
    let bits = kilobits * 1000
    let (codec, frames): (Codec, Int) =
      switch layer {
      case 1: (.mp1, 384)
      case 2: (.mp2, 1152)
      default: (.mp3, isFirst ? 1152 : 576)
      }
    let bytes = layer == 1 ? (12 * bits / rate + padding) * 4 : frames / 8 * bits / rate + padding
    return FrameHead(
      bytes: bytes, kind: UInt32(b[i + 1] & 0xFE) << 16 | UInt32(b[i + 2] & 0x0C) << 8,
      codec: codec, sampleRate: Double(rate), channels: b[i + 3] >> 6 == 3 ? 1 : 2, frames: frames,
      bitRate: bits)
  }

  private static func ac3(_ b: [UInt8], at i: Int) -> FrameHead? {
    guard b[i] == 0x0B, b[i + 1] == 0x77 else { return nil }
    let rateIndex = Int(b[i + 4] >> 6)
    let size = Int(b[i + 4] & 63)
    let version = Int(b[i + 5] >> 3)
    // Later versions are Enhanced AC-3, which has different headers.
    guard rateIndex < 3, size < 38, version <= 10 else { return nil }
    let kilobits = [
      32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
    ][size / 2]
    let words =
      switch rateIndex {
      case 0: 2 * kilobits
      case 1: 320 * kilobits / 147 + size % 2
      default: 3 * kilobits
      }
    let mode = Int(b[i + 6] >> 5)
    // Up to three two-bit fields lie between the channel mode and the low-frequency bit.
    var bit = 3
    if mode & 1 == 1, mode != 1 { bit += 2 }
    if mode & 4 == 4 { bit += 2 }
    if mode == 2 { bit += 2 }
    let fields = UInt16(b[i + 6]) << 8 | UInt16(b[i + 7])
    let lowFrequency = Int(fields >> (15 - bit) & 1)
    let shift = max(version, 8) - 8
    return FrameHead(
      bytes: 2 * words, kind: UInt32(rateIndex) << 8 | UInt32(version), codec: .ac3,
      sampleRate: [48000, 44100, 32000][rateIndex] / Double(1 << shift),
      channels: [2, 1, 2, 3, 3, 4, 4, 5][mode] + lowFrequency, frames: 1536,
      bitRate: kilobits * 1000 >> shift)
  }
}

/// Frames of MPEG audio of a free format. Their headers do not give a bit rate, and so no size: all have one, but for
/// padding.
struct FreeFormat {
  /// Bits of the header that are the same in all frames.
  private let form: UInt16
  /// Bytes of a frame without padding.
  private let bytes: Int

  /// Name of sound in such frames.
  static let name = "MPEG audio of a free format"
  /// Bytes of a frame of 640 kbit/s at 8 kHz, and those that tell the size of such frames.
  private static let mostBytes = 5760
  static let tellingBytes = 2 * mostBytes + 8

  /// Finds the size of the frames that begin at an offset; nil if there are none. Two more headers prove it.
  init?(_ b: [UInt8], at i: Int = 0) {
    guard b.count - i >= 4, let form = Self.form(b, at: i) else { return nil }
    var second = i + 23
    while let next = b.first(0xFF, from: second + 1), next - i <= Self.mostBytes {
      second = next
      guard b.count - second >= 4, Self.form(b, at: second) == form else { continue }
      let size = second - i - Self.padding(b, at: i)
      let third = second + size + Self.padding(b, at: second)
      if b.count - third >= 4, Self.form(b, at: third) == form {
        (self.form, bytes) = (form, size)
        return
      }
    }
    return nil
  }

  /// Parses the header of such a frame; nil if it is none.
  func head(_ b: [UInt8], at i: Int) -> FrameHead? {
    guard b[i] == 0xFF, Self.form(b, at: i) == form else { return nil }
    // A header that differs only in its bit rate.
    var head = FrameKind.mpeg.head([b[i], b[i + 1], b[i + 2] | 0x80, b[i + 3]], at: 0)
    head?.bytes = bytes + Self.padding(b, at: i)
    head.map { head?.bitRate = Int(Double(8 * bytes) * $0.sampleRate) / $0.frames }
    return head
  }

  /// Bytes of padding. Layer I counts in four.
  private static func padding(_ b: [UInt8], at i: Int) -> Int {
    Int(b[i + 2] >> 1 & 1) * (b[i + 1] & 0x06 == 0x06 ? 4 : 1)
  }

  /// The bits of a header that are the same in all frames; nil if its bit rate is given.
  private static func form(_ b: [UInt8], at i: Int) -> UInt16? {
    guard b[i] == 0xFF, b[i + 1] & 0xE0 == 0xE0, b[i + 1] & 0x18 != 0x08,
      b[i + 1] & 0x06 != 0, b[i + 2] & 0xF0 == 0, b[i + 2] & 0x0C != 0x0C
    else { return nil }
    return UInt16(b[i + 1]) << 8 | UInt16(b[i + 2] & 0x0C)
  }
}

/// A scanner for frames in a stream that consists only of frames. It skips anything else.
struct FrameScanner {
  let kind: FrameKind
  /// Number of further headers that must follow, each where the previous one says, before the first
  /// header is accepted.
  let proof: Int
  /// The first frame's header, or that of the first frame in the latest form.
  private(set) var first: FrameHead?
  /// True once the form has changed. A decoder then needs headers that are not part of the packets.
  private(set) var hasChanged = false
  /// True while the next frame begins where the last one ended.
  private(set) var isInStep = false

  enum Step {
    /// A complete frame at an offset in the given bytes.
    case frame(FrameHead, at: Int)
    /// The scanner needs more bytes. Bytes before the offset may be discarded.
    case more(from: Int)
  }

  init(_ kind: FrameKind, proof: Int) {
    self.kind = kind
    self.proof = proof
  }

  /// Tells the scanner that the next bytes do not continue the last ones.
  mutating func loseStep() { isInStep = false }

  /// Finds the first complete frame at or after `offset`.
  mutating func step(_ bytes: [UInt8], from offset: Int) -> Step {
    var offset = offset
    /// A frame in another form, which needs more bytes to be proven.
    var undecided: Int?
    while bytes.count - offset >= kind.headBytes {
      guard let head = kind.head(bytes, at: offset) else {
        isInStep = false
        offset += 1
        continue
      }
      if !isInStep || !fits(head) {
        isInStep = false
        let isProven = isProven(head, bytes, at: offset)
        if isProven == nil, fits(head) { return .more(from: undecided ?? offset) }
        guard isProven == true else {
          if isProven == nil { undecided = undecided ?? offset }
          offset += 1
          continue
        }
        isInStep = true
        if !fits(head) { hasChanged = true }
        if first == nil || !fits(head) { first = head }
      }
      guard bytes.count - offset >= head.bytes else { return .more(from: offset) }
      return .frame(head, at: offset)
    }
    return .more(from: undecided ?? offset)
  }

  private func fits(_ head: FrameHead) -> Bool { first.map { $0.kind == head.kind } ?? true }

  /// Returns true if the required headers follow; nil if there are too few bytes to tell.
  private func isProven(_ head: FrameHead, _ bytes: [UInt8], at offset: Int) -> Bool? {
    var next = offset + head.bytes
    // Another form needs more proof than a frame that is like those before.
    for _ in 0..<(first != nil && fits(head) ? 1 : max(2, proof)) {
      guard bytes.count - next >= kind.headBytes else { return nil }
      guard let other = kind.head(bytes, at: next), other.kind == head.kind else { return false }
      next += other.bytes
    }
    return true
  }
}
