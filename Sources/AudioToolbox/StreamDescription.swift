import AudioQueue
import CAudioToolbox
import Codecs
import RealTime

extension AudioStreamBasicDescription {
  /// True if a codec would have to decode it: the format is known, and not linear PCM.
  var isCompressed: Bool {
    switch mFormatID {
    case kAudioFormatAC3, kAudioFormat60958AC3, kAudioFormatEnhancedAC3, kAudioFormatAES3,
      kAudioFormatAppleIMA4, kAudioFormatDVIIntelIMA, kAudioFormatMicrosoftGSM,
      kAudioFormatMPEG4AAC, kAudioFormatMPEG4AAC_HE, kAudioFormatMPEG4AAC_HE_V2,
      kAudioFormatMPEG4AAC_LD, kAudioFormatMPEG4AAC_ELD, kAudioFormatMPEG4AAC_ELD_SBR,
      kAudioFormatMPEG4AAC_ELD_V2, kAudioFormatMPEG4AAC_Spatial, kAudioFormatMPEGD_USAC,
      kAudioFormatMPEG4CELP, kAudioFormatMPEG4HVXC, kAudioFormatMPEG4TwinVQ,
      kAudioFormatMPEGLayer1, kAudioFormatMPEGLayer2, kAudioFormatMPEGLayer3,
      kAudioFormatMACE3, kAudioFormatMACE6, kAudioFormatULaw, kAudioFormatALaw,
      kAudioFormatQDesign, kAudioFormatQDesign2, kAudioFormatQUALCOMM, kAudioFormatAMR,
      kAudioFormatAMR_WB, kAudioFormatAudible, kAudioFormatiLBC, kAudioFormatAppleLossless,
      kAudioFormatFLAC, kAudioFormatOpus, kAudioFormatAPAC:
      true
    default: false
    }
  }
}

extension QueueHandle {
  /// What a tap sees: native floats, a buffer for each channel.
  var processingDescription: AudioStreamBasicDescription {
    var format = PCMFormat(
      sampleRate: queue.format.sampleRate, channels: 1, kind: .float, bitsPerSample: 32
    ).streamDescription
    format.mFormatFlags |= kAudioFormatFlagIsNonInterleaved
    format.mChannelsPerFrame = UInt32(queue.format.channels)
    return format
  }
}

extension PCMFormat {
  /// The format in Core Audio's terms: interleaved linear PCM, one frame to a packet.
  var streamDescription: AudioStreamBasicDescription {
    var flags: AudioFormatFlags =
      switch kind {
      case .float: kAudioFormatFlagIsFloat
      case .signedInteger: kAudioFormatFlagIsSignedInteger
      case .unsignedInteger: 0
      }
    if isBigEndian { flags |= kAudioFormatFlagIsBigEndian }
    if bitsPerSample == 8 * bytesPerSample {
      flags |= kAudioFormatFlagIsPacked
    } else if isHighAligned {
      flags |= kAudioFormatFlagIsAlignedHigh
    }
    // No flag at all would mean that the flags are not known.
    if flags == 0 { flags = kAudioFormatFlagsAreAllClear }
    return AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: kAudioFormatLinearPCM, mFormatFlags: flags,
      mBytesPerPacket: UInt32(bytesPerFrame), mFramesPerPacket: 1,
      mBytesPerFrame: UInt32(bytesPerFrame), mChannelsPerFrame: UInt32(channels),
      mBitsPerChannel: UInt32(bitsPerSample), mReserved: 0)
  }

  /// Reads a description, and fills in what it leaves out where only one value is possible.
  ///
  /// Nil if it is not interleaved linear PCM, contradicts itself, leaves more than one way to read
  /// it, or is not a format that can be played.
  init?(_ description: AudioStreamBasicDescription) {
    let flags = description.mFormatFlags
    func has(_ flag: AudioFormatFlags) -> Bool { flags & flag != 0 }
    let isFloat = has(kAudioFormatFlagIsFloat)
    let isPacked = has(kAudioFormatFlagIsPacked)

    guard description.mFormatID == kAudioFormatLinearPCM else { return nil }
    let channels = Int(description.mChannelsPerFrame)
    guard (1...Self.maximumChannels).contains(channels) else { return nil }
    // One channel is the same whether it is interleaved or not.
    guard channels == 1 || !has(kAudioFormatFlagIsNonInterleaved) else { return nil }
    // Fixed point samples are not integers.
    guard isFloat || !has(kLinearPCMFormatFlagsSampleFractionMask) else { return nil }
    guard description.mFramesPerPacket <= 1 else { return nil }

    // A packet is a frame, so either of the two sizes will do.
    let sizes = Set([description.mBytesPerFrame, description.mBytesPerPacket]).subtracting([0])
    guard sizes.count <= 1 else { return nil }
    var bits = Int(description.mBitsPerChannel)
    let bytes: Int
    if let size = sizes.first.map(Int.init) {
      guard size % channels == 0 else { return nil }
      bytes = size / channels
      // A sample that fills its bytes needs no count of bits.
      if bits == 0, isPacked || isFloat { bits = 8 * bytes }
    } else {
      // 24 bits lie in three bytes or in four, unless they are packed.
      guard bits % 8 == 0, isPacked || isFloat || bits.nonzeroBitCount == 1 else { return nil }
      bytes = bits / 8
    }
    guard bits > 0, bits <= 8 * bytes else { return nil }
    // Packed samples fill their bytes.
    guard !isPacked || bits == 8 * bytes else { return nil }

    self.init(
      sampleRate: description.mSampleRate, channels: channels,
      kind: isFloat
        ? .float : has(kAudioFormatFlagIsSignedInteger) ? .signedInteger : .unsignedInteger,
      bitsPerSample: bits, bytesPerSample: bytes,
      isBigEndian: bytes > 1 && has(kAudioFormatFlagIsBigEndian),
      isHighAligned: bits < 8 * bytes && has(kAudioFormatFlagIsAlignedHigh))
    guard layout != nil else { return nil }
  }
}

extension Codec {
  /// Vorbis has no number on Apple's systems. This one is of the same form as theirs.
  private static var vorbisID: AudioFormatID { 0x766F_7262 }

  /// Core Audio's number of the codec.
  var formatID: AudioFormatID {
    switch self {
    case .aac: kAudioFormatMPEG4AAC
    case .aacHE: kAudioFormatMPEG4AAC_HE
    case .aacHEv2: kAudioFormatMPEG4AAC_HE_V2
    case .alac: kAudioFormatAppleLossless
    case .flac: kAudioFormatFLAC
    case .opus: kAudioFormatOpus
    case .vorbis: Self.vorbisID
    case .mp1: kAudioFormatMPEGLayer1
    case .mp2: kAudioFormatMPEGLayer2
    case .mp3: kAudioFormatMPEGLayer3
    case .ima4: kAudioFormatAppleIMA4
    case .msIMA: kAudioFormatDVIIntelIMA
    case .ulaw: kAudioFormatULaw
    case .alaw: kAudioFormatALaw
    case .gsm: kAudioFormatMicrosoftGSM
    case .ac3: kAudioFormatAC3
    case .eac3: kAudioFormatEnhancedAC3
    case .amrNarrow: kAudioFormatAMR
    case .amrWide: kAudioFormatAMR_WB
    }
  }

  /// Nil if the number is none of a codec here.
  init?(formatID: AudioFormatID) {
    guard let codec = Self.allCases.first(where: { $0.formatID == formatID }) else { return nil }
    self = codec
  }
}

extension PacketFormat {
  /// The bits that kAppleLosslessFormatFlag_… stand for, which FLAC uses too, from 1 on.
  private static var sourceBits: [Int] { [16, 20, 24, 32] }

  /// The format in Core Audio's terms. What is not known, and what varies, is 0.
  var streamDescription: AudioStreamBasicDescription {
    let flags =
      codec.isLossless ? Self.sourceBits.firstIndex(of: bitsPerSample).map { $0 + 1 } ?? 0 : 0
    // These have a sample in each byte.
    let isBytewise = codec == .ulaw || codec == .alaw
    return AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: codec.formatID, mFormatFlags: AudioFormatFlags(flags),
      mBytesPerPacket: UInt32(clamping: bytesPerPacket),
      mFramesPerPacket: UInt32(clamping: framesPerPacket),
      mBytesPerFrame: isBytewise ? UInt32(clamping: channels) : 0,
      mChannelsPerFrame: UInt32(clamping: channels), mBitsPerChannel: isBytewise ? 8 : 0,
      mReserved: 0)
  }

  /// Reads a description, and fills in what it leaves out where the codec has one value only.
  ///
  /// Nil if there is no such codec, or if the sizes cannot be the codec's.
  init?(_ description: AudioStreamBasicDescription) {
    guard var codec = Codec(formatID: description.mFormatID) else { return nil }
    let rate = description.mSampleRate
    let channels = Int(description.mChannelsPerFrame)
    guard rate.isFinite, (0...1_000_000).contains(rate), channels <= PCMFormat.maximumChannels
    else { return nil }
    let flags = Int(description.mFormatFlags)
    var bits = 0
    switch codec {
    case .aac where flags == MPEG4ObjectID.AAC_SBR.rawValue: codec = .aacHE
    case .alac, .flac:
      let told = Int(description.mBitsPerChannel)
      if (1...Self.sourceBits.count).contains(flags) {
        bits = Self.sourceBits[flags - 1]
      } else if Self.sourceBits.contains(told) {
        bits = told
      }
    default: break
    }
    self.init(
      codec: codec, sampleRate: rate, channels: channels,
      framesPerPacket: Int(description.mFramesPerPacket),
      bytesPerPacket: Int(description.mBytesPerPacket), bitsPerSample: bits)

    let usualFrames = codec.framesPerPacket(sampleRate: rate, channels: channels)
    let usualBytes = codec.bytesPerPacket(channels: channels)
    let isPlainGSM = codec == .gsm && bytesPerPacket == 33
    switch codec {
    // One size fits all.
    case .ima4, .ulaw, .alaw, .gsm:
      guard isPlainGSM || [0, usualBytes].contains(bytesPerPacket) || channels == 0,
        [0, isPlainGSM ? 160 : usualFrames].contains(framesPerPacket)
      else { return nil }
    default: break
    }
    if framesPerPacket == 0 { framesPerPacket = isPlainGSM ? 160 : usualFrames }
    if bytesPerPacket == 0 { bytesPerPacket = usualBytes }
  }
}

extension StreamFormat {
  /// The format in Core Audio's terms.
  var streamDescription: AudioStreamBasicDescription {
    switch self {
    case .pcm(let format): format.streamDescription
    case .packets(let format): format.streamDescription
    }
  }

  /// Reads a description; nil if it is neither PCM nor packets that can be told apart.
  init?(_ description: AudioStreamBasicDescription) {
    if description.mFormatID == kAudioFormatLinearPCM {
      guard let format = PCMFormat(description) else { return nil }
      self = .pcm(format)
    } else {
      guard let format = PacketFormat(description) else { return nil }
      self = .packets(format)
    }
  }
}
