import Codecs

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
