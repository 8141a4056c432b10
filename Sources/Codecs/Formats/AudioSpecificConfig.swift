import Timeline

/// A parsed AudioSpecificConfig: the configuration of an AAC stream.
package struct AudioSpecificConfig: Hashable, Sendable {
  /// MPEG-4's audio object type without extensions: 2 is AAC-LC.
  package private(set) var objectType: Int
  /// Frames per second without spectral band replication.
  package private(set) var coreSampleRate: Int
  /// 0 if only the packets give the channels.
  package private(set) var channels: Int
  /// Frames of a packet without spectral band replication.
  package private(set) var coreFramesPerPacket: Int
  /// Frames per second with spectral band replication; 0 if it is not signalled.
  package private(set) var extendedSampleRate = 0
  /// True if one coded channel becomes two.
  package private(set) var hasParametricStereo = false

  private static let sampleRates = [
    96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
  ]
  private static let channelCounts = [0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8, 0]

  /// Parses a configuration; nil if it is invalid.
  package init?(_ bytes: [UInt8]) {
    var bits = Bits(bytes)
    var type = bits.objectType()
    guard var rate = bits.sampleRate(Self.sampleRates) else { return nil }
    channels = Self.channelCounts[bits.next(4)]
    if type == 5 || type == 29 {
      hasParametricStereo = type == 29
      let core = rate
      guard let extended = bits.sampleRate(Self.sampleRates) else { return nil }
      extendedSampleRate = extended
      rate = core
      type = bits.objectType()
    }
    let isShort = bits.next(1) == 1
    coreFramesPerPacket =
      switch type {
      case 23: isShort ? 480 : 512
      case 39: isShort ? 480 : 512
      default: isShort ? 960 : 1024
      }
    objectType = type
    coreSampleRate = rate
    guard type > 0, rate > 0, !bits.isExhausted else { return nil }
    // Backward-compatible signalling: an extension that old decoders ignore.
    guard type == 2, extendedSampleRate == 0, channels > 0 else { return }
    if bits.next(1) == 1 { _ = bits.next(14) }
    guard bits.next(1) == 0, bits.next(11) == 0x2B7, bits.objectType() == 5, bits.next(1) == 1,
      let extended = bits.sampleRate(Self.sampleRates), !bits.isExhausted
    else { return }
    extendedSampleRate = extended
    hasParametricStereo = bits.next(11) == 0x548 && bits.next(1) == 1 && !bits.isExhausted
  }

  /// Sets the fields of a format that the configuration gives.
  func describe(_ format: inout PacketFormat) {
    if hasParametricStereo {
      format.codec = .aacHEv2
    } else if extendedSampleRate > coreSampleRate, format.codec == .aac {
      format.codec = .aacHE
    }
    if channels > 0 { format.channels = hasParametricStereo && channels == 1 ? 2 : channels }
    if extendedSampleRate > 0 {
      format.sampleRate = Double(extendedSampleRate)
      format.framesPerPacket =
        extendedSampleRate > coreSampleRate ? 2 * coreFramesPerPacket : coreFramesPerPacket
    } else if format.codec == .aac {
      format.sampleRate = Double(coreSampleRate)
      format.framesPerPacket = coreFramesPerPacket
    } else {
      // Spectral band replication is signalled only in the packets.
      format.sampleRate = Double(2 * coreSampleRate)
      format.framesPerPacket = 2 * coreFramesPerPacket
      if format.codec == .aacHEv2 { format.channels = 2 }
    }
  }

  /// Returns the configuration of plain AAC-LC; nil if no channel configuration has this many
  /// channels.
  package static func lowComplexity(sampleRate: Double, channels: Int) -> [UInt8]? {
    guard sampleRate >= 1, sampleRate < 0x100_0000,
      let channels = channelCounts.firstIndex(of: channels), channels > 0
    else { return nil }
    let rate = Int(held: sampleRate.rounded())
    if let index = sampleRates.firstIndex(of: rate) {
      return [UInt8(2 << 3 | index >> 1), UInt8((index & 1) << 7 | channels << 3)]
    }
    let bits = 2 << 35 | 15 << 31 | rate << 7 | channels << 3
    return [32, 24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
  }
}

/// A bit reader over bytes. Zeros follow after the end.
private struct Bits {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// True if more bits were read than there are.
  var isExhausted: Bool { position > 8 * bytes.count }

  mutating func next(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      let byte = position / 8 < bytes.count ? bytes[position / 8] : 0
      value = value << 1 | Int(byte >> (7 - position % 8) & 1)
      position += 1
    }
    return value
  }

  mutating func objectType() -> Int {
    let type = next(5)
    return type == 31 ? 32 + next(6) : type
  }

  mutating func sampleRate(_ table: [Int]) -> Int? {
    let index = next(4)
    if index == 15 { return next(24) }
    return index < table.count ? table[index] : nil
  }
}
