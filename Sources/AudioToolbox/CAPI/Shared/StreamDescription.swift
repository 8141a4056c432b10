import AudioQueue
import CAudioToolbox
import Codecs
import RealTime

extension AudioStreamBasicDescription {
  /// True if the format is known and is not linear PCM, so that a codec must decode it.
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
  /// The format for taps: native floats with one buffer per channel.
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
  /// The Core Audio description: interleaved linear PCM with one frame per packet.
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
    // Flags of 0 would mean that the flags are unknown.
    if flags == 0 { flags = kAudioFormatFlagsAreAllClear }
    return AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: kAudioFormatLinearPCM, mFormatFlags: flags,
      mBytesPerPacket: UInt32(bytesPerFrame), mFramesPerPacket: 1,
      mBytesPerFrame: UInt32(bytesPerFrame), mChannelsPerFrame: UInt32(channels),
      mBitsPerChannel: UInt32(bitsPerSample), mReserved: 0)
  }

  /// Creates a format from a description. Fills in omitted fields that have only one possible
  /// value.
  ///
  /// Nil if the description is not interleaved linear PCM, is contradictory or ambiguous, or cannot
  /// be played.
  init?(_ description: AudioStreamBasicDescription) {
    let flags = description.mFormatFlags
    func has(_ flag: AudioFormatFlags) -> Bool { flags & flag != 0 }
    let isFloat = has(kAudioFormatFlagIsFloat)
    let isPacked = has(kAudioFormatFlagIsPacked)

    guard description.mFormatID == kAudioFormatLinearPCM else { return nil }
    let channels = Int(description.mChannelsPerFrame)
    guard (1...Self.maximumChannels).contains(channels) else { return nil }
    // A single channel is the same interleaved and non-interleaved.
    guard channels == 1 || !has(kAudioFormatFlagIsNonInterleaved) else { return nil }
    // Rejects fixed-point samples, which are not integers.
    guard isFloat || !has(kLinearPCMFormatFlagsSampleFractionMask) else { return nil }
    guard description.mFramesPerPacket <= 1 else { return nil }

    // A packet is a frame, so one of the two sizes is enough.
    let sizes = Set([description.mBytesPerFrame, description.mBytesPerPacket]).subtracting([0])
    guard sizes.count <= 1 else { return nil }
    var bits = Int(description.mBitsPerChannel)
    let bytes: Int
    if let size = sizes.first.map(Int.init) {
      guard size % channels == 0 else { return nil }
      bytes = size / channels
      // A sample that fills its bytes needs no bit count.
      if bits == 0, isPacked || isFloat { bits = 8 * bytes }
    } else {
      // Unless packed, 24 bits take three bytes or four: ambiguous.
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

extension PacketFormat {
  /// The bit depths of the flags kAppleLosslessFormatFlag_…, which start at 1. FLAC uses the same
  /// flags.
  private static var sourceBits: [Int] { [16, 20, 24, 32] }

  /// The Core Audio description. Unknown and varying fields are 0.
  var streamDescription: AudioStreamBasicDescription {
    let flags =
      codec.isLossless ? Self.sourceBits.firstIndex(of: bitsPerSample).map { $0 + 1 } ?? 0 : 0
    // µ-law and A-law have one byte per sample.
    let isBytewise = codec == .ulaw || codec == .alaw
    return AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: codec.formatID, mFormatFlags: AudioFormatFlags(flags),
      mBytesPerPacket: UInt32(clamping: bytesPerPacket),
      mFramesPerPacket: UInt32(clamping: framesPerPacket),
      mBytesPerFrame: isBytewise ? UInt32(clamping: channels) : 0,
      mChannelsPerFrame: UInt32(clamping: channels), mBitsPerChannel: isBytewise ? 8 : 0,
      mReserved: 0)
  }

  /// Creates a format from a description. Fills in omitted fields that have only one value for the
  /// codec.
  ///
  /// Nil if there is no such codec, or the codec does not permit the sizes.
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
    // These codecs have a single packet size.
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
  /// The Core Audio description.
  var streamDescription: AudioStreamBasicDescription {
    switch self {
    case .pcm(let format): format.streamDescription
    case .packets(let format): format.streamDescription
    }
  }

  /// Creates a format from a description; nil if it is neither valid linear PCM nor a valid packet
  /// format.
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
