package import CAudioToolbox
package import Codecs
import RealTime

/// A property of a converter, and what the app passes with it.
struct AudioConverterProperty {
  typealias Entry = PropertyEntry<AudioConverterError>

  let core: AudioConverterCore
  let input: PropertyInput<AudioConverterError>
  private var id: AudioConverterPropertyID { input.id }

  /// Returns the property's entry; nil if no converter has it.
  func entry() -> Entry? {
    switch id {
    case kAudioConverterPropertyMinimumInputBufferSize,
      kAudioConverterPropertyMaximumInputPacketSize:
      .value(UInt32(core.maximumInputPacketBytes))
    case kAudioConverterPropertyMinimumOutputBufferSize,
      kAudioConverterPropertyMaximumOutputPacketSize:
      .value(UInt32(core.maximumOutputPacketBytes))
    case kAudioConverterPropertyCalculateInputBufferSize:
      .value(UInt32(clamping: core.inputBytes(forOutput: asked)))
    case kAudioConverterPropertyCalculateOutputBufferSize:
      .value(UInt32(clamping: core.outputBytes(forInput: asked)))
    case kAudioConverterSampleRateConverterComplexity:
      setting(\.complexity) {
        [
          kAudioConverterSampleRateConverterComplexity_Linear,
          kAudioConverterSampleRateConverterComplexity_Normal,
          kAudioConverterSampleRateConverterComplexity_Mastering,
          kAudioConverterSampleRateConverterComplexity_MinimumPhase,
        ].contains($0)
      }
    case kAudioConverterSampleRateConverterQuality:
      setting(\.quality) { $0 <= kAudioConverterQuality_Max }
    case kAudioConverterPropertyDithering:
      setting(\.dithering) {
        [0, kDitherAlgorithm_TPDF, kDitherAlgorithm_NoiseShaping].contains($0)
      }
    case kAudioConverterPropertyDitherBitDepth: setting(\.ditherBits) { $0 <= 24 }
    case kAudioConverterCodecQuality:
      setting(\.codecQuality) { $0 <= kAudioConverterQuality_Max }
    case kAudioConverterDecompressionMagicCookie:
      .copied(CopiedValue(bytes: try decoderCookie())).setting(try setDecoderCookie())
    case kAudioConverterCompressionMagicCookie: .copied(CopiedValue(bytes: try encoderCookie()))
    case kAudioConverterEncodeBitRate:
      .value(UInt32(try bitRate())).setting(try setBitRate(input.number()))
    case kAudioConverterEncodeAdjustableSampleRate:
      .value(try encodedSampleRate()).setting(try setEncodedSampleRate(input.value()))
    case kAudioCodecPropertyBitRateControlMode:
      .value(try bitRateMode()).setting(
        if: core.stream.encoder?.format.codec == .aac, try setBitRateMode(input.value()))
    case kAudioCodecPropertySoundQualityForVBR:
      .value(try variableQuality()).setting(try setVariableQuality(input.value()))
    case kAudioConverterApplicableEncodeBitRates: .copied(CopiedValue(whole: try bitRates()))
    case kAudioConverterAvailableEncodeBitRates: .copied(CopiedValue(whole: try allBitRates()))
    case kAudioConverterAvailableEncodeChannelLayoutTags:
      .copied(CopiedValue(whole: try encoder().format.codec.encodedLayoutTags))
    case kAudioConverterApplicableEncodeSampleRates, kAudioConverterAvailableEncodeSampleRates:
      .copied(CopiedValue(whole: try encoder().format.codec.encodedSampleRateRanges))
    case kAudioConverterPropertyBitDepthHint:
      .value(UInt32(try encoder().format.bitsPerSample)).setting(try setBitDepth(input.value()))
    case kAudioConverterPropertyFormatList: .copied(CopiedValue(whole: try formats()))
    case kAudioConverterPrimeMethod: setting(\.primeMethod) { $0 <= kConverterPrimeMethod_None }
    case kAudioConverterPrimeInfo:
      // An encoder tells its priming, other converters take it.
      .value(core.primeInfo).setting(
        if: core.stream.encoder == nil, try core.setPrimeInfo(input.value()))
    case kAudioConverterChannelMap:
      .copied(CopiedValue(whole: core.channelMap)).setting(try setChannelMap())
    case kAudioConverterPropertyChannelMixMap:
      .copied(CopiedValue(whole: core.mixMap.flatMap { $0 })).setting(try setMixMap())
    case kAudioConverterPropertyPerformDownmix: setting(\.performsDownmix) { $0 <= 1 }
    case kAudioConverterInputChannelLayout: layout(\.inputLayout, core.input.stream.channels)
    case kAudioConverterOutputChannelLayout: layout(\.outputLayout, core.output.stream.channels)
    case kAudioConverterCurrentInputStreamDescription: .value(core.input.streamDescription)
    case kAudioConverterCurrentOutputStreamDescription: .value(core.output.streamDescription)
    case kAudioConverterPropertyCanResumeFromInterruption: .flag(true)
    default: nil
    }
  }

  /// The number in the caller's memory, from which some properties compute their value.
  private var asked: Int { (try? input.number()) ?? 0 }

  // MARK: Settings

  private func setting<Value: BitwiseCopyable>(
    _ path: WritableKeyPath<AudioConverterCore.Settings, Value>,
    isValid: @escaping (Value) -> Bool
  ) -> Entry {
    .value(core.settings[keyPath: path]).setting(try set(path, input.value(), isValid))
  }

  private func set<Value: BitwiseCopyable>(
    _ path: WritableKeyPath<AudioConverterCore.Settings, Value>, _ value: Value,
    _ isValid: (Value) -> Bool
  ) throws(AudioConverterError) {
    guard isValid(value) else { throw .propertyValue(id, "\(value) is no value of it") }
    try core.change { $0[keyPath: path] = value }
  }

  /// The entry of a layout, which may not be there until it is set.
  private func layout(
    _ path: WritableKeyPath<AudioConverterCore.Settings, ChannelLayout?>, _ channels: Int
  ) -> Entry {
    .copied(core.settings[keyPath: path].map { CopiedValue(bytes: $0.bytes) }).setting(
      try setLayout(path, channels))
  }

  private func setLayout(
    _ path: WritableKeyPath<AudioConverterCore.Settings, ChannelLayout?>, _ channels: Int
  ) throws(AudioConverterError) {
    guard let layout = ChannelLayout(input.array()) else {
      throw .propertySize(id, input.byteCount)
    }
    guard layout.channels == channels else {
      throw .propertyValue(id, "\(layout.channels) channels, not \(channels)")
    }
    try core.change { $0[keyPath: path] = layout }
  }

  private func decoderCookie() throws(AudioConverterError) -> [UInt8] {
    guard case .packets = core.input.stream else { throw .unsupportedProperty(id) }
    return core.settings.cookie
  }

  private func setDecoderCookie() throws(AudioConverterError) {
    // Linear PCM has no magic cookie. Programs set the cookie of their file without checking for one.
    guard case .packets = core.input.stream else { return }
    try core.change { $0.cookie = input.array() }
  }

  /// Returns at least `count` values that the app passes.
  private func array<Value: BitwiseCopyable>(of type: Value.Type, count: Int)
    throws(AudioConverterError) -> [Value]
  {
    let values = input.array(of: type)
    guard values.count >= count else { throw .propertySize(id, input.byteCount) }
    return Array(values.prefix(count))
  }

  private func setChannelMap() throws(AudioConverterError) {
    let map = try array(of: Int32.self, count: core.output.stream.channels)
    guard map.allSatisfy({ (-1..<Int32(core.input.stream.channels)).contains($0) }) else {
      throw .propertyValue(id, "\(map) names a channel that the input does not have")
    }
    try core.change {
      $0.channelMap = map
      $0.mixMap = nil
    }
  }

  private func setMixMap() throws(AudioConverterError) {
    let (inputs, outputs) = (core.input.stream.channels, core.output.stream.channels)
    let numbers = try array(of: Float.self, count: inputs * outputs)
    guard numbers.allSatisfy(\.isFinite) else {
      throw .propertyValue(id, "a factor is not finite")
    }
    try core.change {
      $0.mixMap = (0..<inputs).map { Array(numbers[$0 * outputs..<($0 + 1) * outputs]) }
      $0.channelMap = nil
    }
  }

  // MARK: Encoders

  private func encoder() throws(AudioConverterError) -> PacketEncoder {
    guard let encoder = core.stream.encoder else { throw .unsupportedProperty(id) }
    return encoder
  }

  private func encoderCookie() throws(AudioConverterError) -> [UInt8] {
    let cookie = try encoder().cookie
    guard !cookie.isEmpty else { throw .unsupportedProperty(id) }
    return cookie
  }

  private func bitRate() throws(AudioConverterError) -> Int {
    let rate = try encoder().bitRate
    guard rate > 0 else { throw .unsupportedProperty(id) }
    return rate
  }

  private func setBitRate(_ rate: Int) throws(AudioConverterError) {
    _ = try bitRate()
    guard rate > 0 else { throw .propertyValue(id, "0 bits") }
    try core.change { $0.bitRate = rate }
  }

  private func bitRateMode() throws(AudioConverterError) -> UInt32 {
    switch try encoder().format.codec {
    case .aac: core.settings.bitRateMode
    case .alac, .flac: kAudioCodecBitRateControlMode_Variable
    default: throw .unsupportedProperty(id)
    }
  }

  private func setBitRateMode(_ mode: UInt32) throws(AudioConverterError) {
    let modes = [
      kAudioCodecBitRateControlMode_LongTermAverage, kAudioCodecBitRateControlMode_Variable,
    ]
    guard modes.contains(mode) else { throw .propertyValue(id, "AAC has no mode \(mode)") }
    try core.change { $0.bitRateMode = mode }
  }

  private func variableQuality() throws(AudioConverterError) -> UInt32 {
    guard try encoder().format.codec == .aac else { throw .unsupportedProperty(id) }
    return core.settings.variableQuality
  }

  private func setVariableQuality(_ quality: UInt32) throws(AudioConverterError) {
    _ = try variableQuality()
    guard quality <= 127 else { throw .propertyValue(id, "\(quality) is more than 127") }
    try core.change { $0.variableQuality = quality }
  }

  private func bitRates() throws(AudioConverterError) -> [AudioValueRange] {
    let format = try encoder().format
    return ranges(
      format.codec.encodedBitRates(sampleRate: format.sampleRate, channels: format.channels)
        .map(Double.init))
  }

  private func allBitRates() throws(AudioConverterError) -> [AudioValueRange] {
    let format = try encoder().format
    return ranges(format.codec.allEncodedBitRates(channels: format.channels).map(Double.init))
  }

  private func encodedSampleRate() throws(AudioConverterError) -> Double {
    _ = try encoder()
    return core.output.stream.sampleRate
  }

  private func setEncodedSampleRate(_ rate: Double) throws(AudioConverterError) {
    _ = try encoder()
    try core.changeEncoding { $0.sampleRate = rate }
  }

  private func setBitDepth(_ bits: UInt32) throws(AudioConverterError) {
    let format = try encoder().format
    guard [16, 20, 24, 32].contains(bits) else { throw .propertyValue(id, "\(bits) bits") }
    // Only lossless codecs preserve the bit depth.
    if format.codec.isLossless { try core.changeEncoding { $0.bitsPerSample = Int(bits) } }
  }

  private func formats() throws(AudioConverterError) -> [AudioFormatListItem] {
    let encoder = try encoder()
    return formatList(of: encoder.format, cookie: encoder.cookie)
  }
}

extension AudioConverterCore {
  /// The values of the settable properties.
  package struct Settings: Equatable {
    package var complexity = UInt32(kAudioConverterSampleRateConverterComplexity_Mastering)
    package var quality = UInt32(kAudioConverterQuality_Max)
    package var codecQuality: UInt32 = kAudioConverterQuality_Medium
    package var cookie: [UInt8] = []
    package var bitRate: Int?
    package var bitRateMode: UInt32 = kAudioCodecBitRateControlMode_LongTermAverage
    package var variableQuality: UInt32 = 64
    package var primeMethod = UInt32(kConverterPrimeMethod_Normal)
    var leadingFrames = 0
    var trailingFrames = 0
    package var channelMap: [Int32]?
    var mixMap: [[Float]]?
    package var performsDownmix: UInt32 = 0
    package var dithering: UInt32 = 0
    /// 0 selects the bit depth of the output.
    var ditherBits: UInt32 = 0
    package var inputLayout: ChannelLayout?
    package var outputLayout: ChannelLayout?

    package init() {}

    /// Returns the converter options for streams with these channel counts.
    package func options(inputs: Int, outputs: Int) -> StreamConverter.Options {
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
      if bitRateMode == kAudioCodecBitRateControlMode_Variable {
        options.encoding.constantQuality = Int(variableQuality)
      }
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
  package func change(_ body: (inout Settings) -> Void) throws(AudioConverterError) {
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

  /// The maximum size of an input packet in bytes. For packets that vary in size this is an upper
  /// bound for every valid packet.
  var maximumInputPacketBytes: Int {
    guard input.bytesPerPacket == 0, case .packets(let format) = input.stream else {
      return input.bytesPerPacket
    }
    return max(8192, min(format.framesPerPacket, 1 << 16) * format.channels * 4)
  }

  package var maximumOutputPacketBytes: Int {
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

  package var primeInfo: AudioConverterPrimeInfo {
    if stream.encoder != nil {
      let frames = stream.encodedPriming
      return AudioConverterPrimeInfo(
        leadingFrames: UInt32(frames.leading), trailingFrames: UInt32(frames.trailing))
    }
    return AudioConverterPrimeInfo(
      leadingFrames: UInt32(settings.leadingFrames), trailingFrames: UInt32(settings.trailingFrames)
    )
  }

  package func setPrimeInfo(_ info: AudioConverterPrimeInfo) throws(AudioConverterError) {
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
  package var channelMap: [Int32] {
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
  package var encodedLayoutTags: [AudioChannelLayoutTag] {
    (1...min(8, encodedChannels)).filter { encodes(channels: $0) }.map {
      ChannelLayout(commonFor: $0).tag
    }
  }

  /// Returns all bit rates that the codec encodes at any of its sample rates, in ascending order.
  package func allEncodedBitRates(channels: Int) -> [Int] {
    let rates = encodedSampleRates.isEmpty ? [48000] : encodedSampleRates
    return Set(rates.flatMap { encodedBitRates(sampleRate: $0, channels: channels) }).sorted()
  }
}
