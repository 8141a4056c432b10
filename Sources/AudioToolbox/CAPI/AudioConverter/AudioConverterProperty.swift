import CAudioToolbox
import Codecs
import RealTime

/// The new value of a property as raw bytes.
struct PropertyBytes {
  let id: AudioConverterPropertyID
  let bytes: [UInt8]

  /// Returns the value at the beginning of the bytes. More bytes may follow.
  func value<Value: BitwiseCopyable>(_ type: Value.Type) throws(AudioConverterError) -> Value {
    guard bytes.count >= MemoryLayout<Value>.size else { throw .propertySize(id, bytes.count) }
    return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
  }

  /// Returns `count` values from the beginning of the bytes. More bytes may follow.
  func array<Value: BitwiseCopyable>(_ type: Value.Type, count: Int) throws(AudioConverterError)
    -> [Value]
  {
    let stride = MemoryLayout<Value>.stride
    guard bytes.count >= count * stride else { throw .propertySize(id, bytes.count) }
    return unsafe bytes.withUnsafeBytes { bytes in
      (0..<count).map {
        unsafe bytes.loadUnaligned(fromByteOffset: $0 * stride, as: Value.self)
      }
    }
  }

  /// Returns the bytes of values.
  static func of<Value: BitwiseCopyable>(_ values: [Value]) -> [UInt8] {
    unsafe values.withUnsafeBytes { unsafe Array($0) }
  }
}

/// One property of a converter. `all` is the table that the property functions use.
struct AudioConverterProperty: Sendable {
  typealias Core = AudioConverterCore
  /// Returns the value. The number is the first word of the caller's memory.
  typealias Get = @Sendable (Core, UInt32) throws(AudioConverterError) -> [UInt8]
  typealias Set = @Sendable (Core, PropertyBytes) throws(AudioConverterError) -> Void

  let id: AudioConverterPropertyID
  let get: Get
  /// Nil if the property is read-only.
  let set: Set?
  /// False for a converter for which a property is read-only that others let be set.
  var canSet: @Sendable (Core) -> Bool = { _ in true }
  /// True for a value that may not be there until it is set.
  var mayHaveNoValue = false

  func isWritable(_ core: Core) -> Bool { set != nil && canSet(core) }

  private static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })

  static func named(_ id: AudioConverterPropertyID) throws(AudioConverterError)
    -> AudioConverterProperty
  {
    guard let property = byID[id] else { throw .unsupportedProperty(id) }
    return property
  }

  private static func value<Value: BitwiseCopyable>(
    _ id: AudioConverterPropertyID,
    get: @escaping @Sendable (Core) throws(AudioConverterError) -> Value,
    set: (@Sendable (Core, Value) throws(AudioConverterError) -> Void)? = nil
  ) -> AudioConverterProperty {
    let bytes: Get = { (core, _) throws(AudioConverterError) in
      PropertyBytes.of([try get(core)])
    }
    guard let set else { return AudioConverterProperty(id: id, get: bytes, set: nil) }
    return AudioConverterProperty(id: id, get: bytes) { (core, value) throws(AudioConverterError) in
      try set(core, value.value(Value.self))
    }
  }

  /// Creates a property that is stored in the settings.
  private static func setting<Value: BitwiseCopyable & Sendable>(
    _ id: AudioConverterPropertyID,
    _ path: any WritableKeyPath<AudioConverterCore.Settings, Value> & Sendable,
    isValid: @escaping @Sendable (Value) -> Bool
  ) -> AudioConverterProperty {
    value(
      id, get: { $0.settings[keyPath: path] },
      set: { (core, value) throws(AudioConverterError) in
        guard isValid(value) else { throw .propertyValue(id, "\(value) is no value of it") }
        try core.change { $0[keyPath: path] = value }
      })
  }

  private static func layout(
    _ id: AudioConverterPropertyID,
    _ path: any WritableKeyPath<AudioConverterCore.Settings, ChannelLayout?> & Sendable,
    channels: @escaping @Sendable (Core) -> Int
  ) -> AudioConverterProperty {
    var property = AudioConverterProperty(
      id: id,
      get: { (core, _) throws(AudioConverterError) in
        guard let layout = core.settings[keyPath: path] else { throw .unsupportedProperty(id) }
        return layout.bytes
      },
      set: { (core, value) throws(AudioConverterError) in
        guard let layout = ChannelLayout(value.bytes) else {
          throw .propertySize(id, value.bytes.count)
        }
        guard layout.channels == channels(core) else {
          throw .propertyValue(id, "\(layout.channels) channels, not \(channels(core))")
        }
        try core.change { $0[keyPath: path] = layout }
      })
    property.mayHaveNoValue = true
    return property
  }

  /// The priming, which an encoder tells and other converters take.
  private static var primeInfo: AudioConverterProperty {
    var property = value(
      kAudioConverterPrimeInfo, get: { $0.primeInfo },
      set: { (core, info) throws(AudioConverterError) in try core.setPrimeInfo(info) })
    property.canSet = { $0.stream.encoder == nil }
    return property
  }

  /// Creates a read-only property of encoders with a list of ranges.
  private static func encoding(
    _ id: AudioConverterPropertyID,
    _ values: @escaping @Sendable (PacketFormat) -> [AudioValueRange]
  ) -> AudioConverterProperty {
    AudioConverterProperty(
      id: id,
      get: { (core, _) throws(AudioConverterError) in
        PropertyBytes.of(values(try core.encoder(for: id).format))
      }, set: nil)
  }

  @Sendable private static func sampleRates(_ format: PacketFormat) -> [AudioValueRange] {
    format.codec.encodedSampleRateRanges
  }

  private static let all: [AudioConverterProperty] = [
    value(kAudioConverterPropertyMinimumInputBufferSize) { UInt32($0.maximumInputPacketBytes) },
    value(kAudioConverterPropertyMinimumOutputBufferSize) { UInt32($0.maximumOutputPacketBytes) },
    value(kAudioConverterPropertyMaximumInputPacketSize) { UInt32($0.maximumInputPacketBytes) },
    value(kAudioConverterPropertyMaximumOutputPacketSize) { UInt32($0.maximumOutputPacketBytes) },
    AudioConverterProperty(
      id: kAudioConverterPropertyCalculateInputBufferSize,
      get: { PropertyBytes.of([UInt32(clamping: $0.inputBytes(forOutput: Int($1)))]) }, set: nil),
    AudioConverterProperty(
      id: kAudioConverterPropertyCalculateOutputBufferSize,
      get: { PropertyBytes.of([UInt32(clamping: $0.outputBytes(forInput: Int($1)))]) }, set: nil),
    setting(kAudioConverterSampleRateConverterComplexity, \.complexity) {
      [
        kAudioConverterSampleRateConverterComplexity_Linear,
        kAudioConverterSampleRateConverterComplexity_Normal,
        kAudioConverterSampleRateConverterComplexity_Mastering,
        kAudioConverterSampleRateConverterComplexity_MinimumPhase,
      ].contains($0)
    },
    setting(kAudioConverterSampleRateConverterQuality, \.quality) {
      $0 <= kAudioConverterQuality_Max
    },
    setting(kAudioConverterPropertyDithering, \.dithering) {
      [0, kDitherAlgorithm_TPDF, kDitherAlgorithm_NoiseShaping].contains($0)
    },
    setting(kAudioConverterPropertyDitherBitDepth, \.ditherBits) { $0 <= 24 },
    setting(kAudioConverterCodecQuality, \.codecQuality) { $0 <= kAudioConverterQuality_Max },
    AudioConverterProperty(
      id: kAudioConverterDecompressionMagicCookie,
      get: { (core, _) throws(AudioConverterError) in
        guard case .packets = core.input.stream else {
          throw .unsupportedProperty(kAudioConverterDecompressionMagicCookie)
        }
        return core.settings.cookie
      },
      set: { (core, value) throws(AudioConverterError) in
        // Linear PCM has no magic cookie. Programs set the cookie of their file without checking
        // for one.
        guard case .packets = core.input.stream else { return }
        try core.change { $0.cookie = value.bytes }
      }),
    AudioConverterProperty(
      id: kAudioConverterCompressionMagicCookie,
      get: { (core, _) throws(AudioConverterError) in
        let cookie = try core.encoder(for: kAudioConverterCompressionMagicCookie).cookie
        guard !cookie.isEmpty else {
          throw .unsupportedProperty(kAudioConverterCompressionMagicCookie)
        }
        return cookie
      }, set: nil),
    value(
      kAudioConverterEncodeBitRate,
      get: { (core) throws(AudioConverterError) in
        let rate = try core.encoder(for: kAudioConverterEncodeBitRate).bitRate
        guard rate > 0 else { throw .unsupportedProperty(kAudioConverterEncodeBitRate) }
        return UInt32(rate)
      },
      set: { (core, rate) throws(AudioConverterError) in
        guard try core.encoder(for: kAudioConverterEncodeBitRate).bitRate > 0 else {
          throw .unsupportedProperty(kAudioConverterEncodeBitRate)
        }
        guard rate > 0 else { throw .propertyValue(kAudioConverterEncodeBitRate, "0 bits") }
        try core.change { $0.bitRate = Int(rate) }
      }),
    value(
      kAudioConverterEncodeAdjustableSampleRate,
      get: { (core) throws(AudioConverterError) in
        _ = try core.encoder(for: kAudioConverterEncodeAdjustableSampleRate)
        return core.output.stream.sampleRate
      },
      set: { (core, rate: Double) throws(AudioConverterError) in
        _ = try core.encoder(for: kAudioConverterEncodeAdjustableSampleRate)
        try core.changeEncoding { $0.sampleRate = rate }
      }),
    encoding(kAudioConverterApplicableEncodeBitRates) { format in
      ranges(
        format.codec.encodedBitRates(sampleRate: format.sampleRate, channels: format.channels)
          .map(Double.init))
    },
    encoding(kAudioConverterAvailableEncodeBitRates) { format in
      ranges(format.codec.allEncodedBitRates(channels: format.channels).map(Double.init))
    },
    AudioConverterProperty(
      id: kAudioConverterAvailableEncodeChannelLayoutTags,
      get: { (core, _) throws(AudioConverterError) in
        let codec = try core.encoder(for: kAudioConverterAvailableEncodeChannelLayoutTags).format
          .codec
        return PropertyBytes.of(codec.encodedLayoutTags)
      }, set: nil),
    encoding(kAudioConverterApplicableEncodeSampleRates, sampleRates),
    encoding(kAudioConverterAvailableEncodeSampleRates, sampleRates),
    value(
      kAudioConverterPropertyBitDepthHint,
      get: { (core) throws(AudioConverterError) in
        let format = try core.encoder(for: kAudioConverterPropertyBitDepthHint).format
        return UInt32(format.bitsPerSample)
      },
      set: { (core, bits: UInt32) throws(AudioConverterError) in
        let format = try core.encoder(for: kAudioConverterPropertyBitDepthHint).format
        guard [16, 20, 24, 32].contains(bits) else {
          throw .propertyValue(kAudioConverterPropertyBitDepthHint, "\(bits) bits")
        }
        // Only lossless codecs preserve the bit depth.
        if format.codec.isLossless { try core.changeEncoding { $0.bitsPerSample = Int(bits) } }
      }),
    AudioConverterProperty(
      id: kAudioConverterPropertyFormatList,
      get: { (core, _) throws(AudioConverterError) in
        let encoder = try core.encoder(for: kAudioConverterPropertyFormatList)
        return PropertyBytes.of(formatList(of: encoder.format, cookie: encoder.cookie))
      }, set: nil),
    setting(kAudioConverterPrimeMethod, \.primeMethod) { $0 <= kConverterPrimeMethod_None },
    primeInfo,
    AudioConverterProperty(
      id: kAudioConverterChannelMap,
      get: { (core, _) in PropertyBytes.of(core.channelMap) },
      set: { (core, value) throws(AudioConverterError) in
        let map = try value.array(Int32.self, count: core.output.stream.channels)
        guard map.allSatisfy({ (-1..<Int32(core.input.stream.channels)).contains($0) }) else {
          throw .propertyValue(value.id, "\(map) names a channel that the input does not have")
        }
        try core.change {
          $0.channelMap = map
          $0.mixMap = nil
        }
      }),
    AudioConverterProperty(
      id: kAudioConverterPropertyChannelMixMap,
      get: { (core, _) in PropertyBytes.of(core.mixMap.flatMap { $0 }) },
      set: { (core, value) throws(AudioConverterError) in
        let (inputs, outputs) = (core.input.stream.channels, core.output.stream.channels)
        let numbers = try value.array(Float.self, count: inputs * outputs)
        guard numbers.allSatisfy(\.isFinite) else {
          throw .propertyValue(value.id, "a factor is not finite")
        }
        try core.change {
          $0.mixMap = (0..<inputs).map { Array(numbers[$0 * outputs..<($0 + 1) * outputs]) }
          $0.channelMap = nil
        }
      }),
    setting(kAudioConverterPropertyPerformDownmix, \.performsDownmix) { $0 <= 1 },
    layout(kAudioConverterInputChannelLayout, \.inputLayout) { $0.input.stream.channels },
    layout(kAudioConverterOutputChannelLayout, \.outputLayout) { $0.output.stream.channels },
    value(kAudioConverterCurrentInputStreamDescription) { $0.input.streamDescription },
    value(kAudioConverterCurrentOutputStreamDescription) { $0.output.streamDescription },
    value(kAudioConverterPropertyCanResumeFromInterruption) { _ in UInt32(1) },
  ]
}

extension AudioConverterCore {
  /// The values of the settable properties.
  struct Settings: Equatable {
    var complexity = UInt32(kAudioConverterSampleRateConverterComplexity_Mastering)
    var quality = UInt32(kAudioConverterQuality_Max)
    var codecQuality: UInt32 = kAudioConverterQuality_Medium
    var cookie: [UInt8] = []
    var bitRate: Int?
    var primeMethod = UInt32(kConverterPrimeMethod_Normal)
    var leadingFrames = 0
    var trailingFrames = 0
    var channelMap: [Int32]?
    var mixMap: [[Float]]?
    var performsDownmix: UInt32 = 0
    var dithering: UInt32 = 0
    /// 0 selects the bit depth of the output.
    var ditherBits: UInt32 = 0
    var inputLayout: ChannelLayout?
    var outputLayout: ChannelLayout?

    /// Returns the converter options for streams with these channel counts.
    func options(inputs: Int, outputs: Int) -> StreamConverter.Options {
      var options = StreamConverter.Options()
      options.mix = mix(inputs: inputs, outputs: outputs)
      options.quality = resampling
      options.priming =
        switch primeMethod {
        case UInt32(kConverterPrimeMethod_Pre): .leading
        case UInt32(kConverterPrimeMethod_None): .latency
        default: .silence
        }
      options.cookie = cookie
      options.encoding.bitRate = bitRate
      options.encoding.quality = Int(codecQuality)
      if dithering != 0 {
        options.dither = Dither(
          dithering == UInt32(kDitherAlgorithm_TPDF) ? .triangular : .shaped,
          bits: ditherBits == 0 ? nil : Int(ditherBits))
      }
      options.leadingFrames = leadingFrames
      options.trailingFrames = trailingFrames
      return options
    }

    private var resampling: Resampler.Quality {
      let grade = Resampler.Quality.Grade(ofQuality: quality)
      return switch complexity {
      case UInt32(kAudioConverterSampleRateConverterComplexity_Linear): Resampler.Quality(.quick)
      case UInt32(kAudioConverterSampleRateConverterComplexity_Normal):
        Resampler.Quality(grade == .best ? .high : grade)
      case UInt32(kAudioConverterSampleRateConverterComplexity_MinimumPhase):
        Resampler.Quality(grade, isMinimumPhase: grade != .quick)
      default: Resampler.Quality(grade)
      }
    }

    /// Returns nil if the first channels map one to one.
    private func mix(inputs: Int, outputs: Int) -> ChannelMix? {
      if let mixMap { return .mix(mixMap) }
      if let channelMap { return .map(channelMap.map { $0 < 0 ? nil : Int($0) }) }
      if performsDownmix != 0 {
        let from = inputLayout ?? ChannelLayout(commonFor: inputs)
        let to = outputLayout ?? ChannelLayout(commonFor: outputs)
        return from.mix(to: to).map { .mix($0) }
      }
      guard let inputLayout, let outputLayout else { return nil }
      return inputLayout.map(to: outputLayout).map { .map($0) }
    }
  }

  /// Changes settings and applies them.
  func change(_ body: (inout Settings) -> Void) throws(AudioConverterError) {
    var new = settings
    body(&new)
    let wanted = new.options(
      inputs: input.stream.channels, outputs: output.stream.channels)
    var same = wanted
    same.mix = options.mix
    if same == options {
      guard setMix(wanted.mix) else { throw .formatNotSupported("the channels do not fit") }
    } else {
      try rebuild(wanted)
    }
    settings = new
  }

  /// Returns the output's encoder. Throws if there is none.
  func encoder(for id: AudioConverterPropertyID) throws(AudioConverterError) -> PacketEncoder {
    guard let encoder = stream.encoder else { throw .unsupportedProperty(id) }
    return encoder
  }

  /// The maximum size of an input packet in bytes. For packets that vary in size this is an upper
  /// bound for every valid packet.
  var maximumInputPacketBytes: Int {
    guard input.bytesPerPacket == 0, case .packets(let format) = input.stream else {
      return input.bytesPerPacket
    }
    return max(8192, min(format.framesPerPacket, 1 << 16) * format.channels * 4)
  }

  var maximumOutputPacketBytes: Int {
    output.bytesPerPacket > 0 ? output.bytesPerPacket : stream.encoder?.maximumPacketBytes ?? 0
  }

  /// Returns the input size in bytes, for each buffer, that yields `bytes` bytes of output.
  func inputBytes(forOutput bytes: Int) -> Int {
    let packets = bytes / max(1, maximumOutputPacketBytes)
    let needed = min(stream.inputCount(forOutput: packets), 1 << 32)
    return packets == 0 ? 0 : needed * max(1, maximumInputPacketBytes)
  }

  /// Returns the maximum output size in bytes, for each buffer, from `bytes` bytes of input.
  func outputBytes(forInput bytes: Int) -> Int {
    let packets = bytes / max(1, maximumInputPacketBytes)
    return min(stream.outputCount(forInput: packets), 1 << 32) * maximumOutputPacketBytes
  }

  var primeInfo: AudioConverterPrimeInfo {
    if stream.encoder != nil {
      let frames = stream.encodedPriming
      return AudioConverterPrimeInfo(
        leadingFrames: UInt32(frames.leading), trailingFrames: UInt32(frames.trailing))
    }
    return AudioConverterPrimeInfo(
      leadingFrames: UInt32(settings.leadingFrames), trailingFrames: UInt32(settings.trailingFrames)
    )
  }

  func setPrimeInfo(_ info: AudioConverterPrimeInfo) throws(AudioConverterError) {
    guard stream.encoder == nil else { throw .readOnly(kAudioConverterPrimeInfo) }
    // More than a second at every common rate: no codec or filter has as many frames.
    guard info.leadingFrames <= 1 << 20, info.trailingFrames <= 1 << 20 else {
      throw .propertyValue(kAudioConverterPrimeInfo, "\(info) is too long")
    }
    try change {
      $0.leadingFrames = Int(info.leadingFrames)
      $0.trailingFrames = Int(info.trailingFrames)
    }
  }

  /// The input channel of each output channel, or -1. A mix has no such map: then the channels map
  /// in order.
  var channelMap: [Int32] {
    let (inputs, outputs) = (input.stream.channels, output.stream.channels)
    guard case .map(let map) = options.mix ?? .first(of: inputs, to: outputs) else {
      return (0..<outputs).map { $0 < inputs ? Int32($0) : -1 }
    }
    return map.map { $0.map(Int32.init) ?? -1 }
  }

  /// The channel map or mix as gain factors: one row per input channel.
  var mixMap: [[Float]] {
    if case .mix(let rows) = options.mix { return rows }
    let map = channelMap
    return (0..<input.stream.channels).map { channel in
      map.map { $0 == Int32(channel) ? 1 : 0 }
    }
  }
}

/// Returns a range for each value, with equal minimum and maximum.
func ranges(_ values: [Double]) -> [AudioValueRange] {
  values.map { AudioValueRange(mMinimum: $0, mMaximum: $0) }
}

extension Codec {
  /// The sample rates that the codec encodes, in Hz.
  var encodedSampleRateRanges: [AudioValueRange] {
    let rates = encodedSampleRates
    return rates.isEmpty ? [AudioValueRange(mMinimum: 1, mMaximum: 655_350)] : ranges(rates)
  }

  /// The channel layouts that the codec encodes, one per channel count.
  var encodedLayoutTags: [AudioChannelLayoutTag] {
    (1...min(8, encodedChannels)).filter { encodes(channels: $0) }.map {
      ChannelLayout(commonFor: $0).tag
    }
  }

  /// Returns all bit rates that the codec encodes at any of its sample rates, in ascending order.
  func allEncodedBitRates(channels: Int) -> [Int] {
    let rates = encodedSampleRates.isEmpty ? [48000] : encodedSampleRates
    return Set(rates.flatMap { encodedBitRates(sampleRate: $0, channels: channels) }).sorted()
  }
}
