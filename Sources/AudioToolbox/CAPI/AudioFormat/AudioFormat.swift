public import CAudioToolbox
import Codecs
import CoreFoundation
import Logging
import RealTime

/// The reason why a format property call fails. The text goes to the log, the code to the caller.
enum AudioFormatError: PropertyFailure {
  case unsupportedProperty(AudioFormatPropertyID)
  case specifierSize(AudioFormatPropertyID, Int)
  case propertySize(AudioFormatPropertyID, size: Int, room: Int)
  case badArgument(String)
  case badFormat(String)
  case unknown(String)

  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> AudioFormatError {
    .specifierSize(id, size)
  }

  static func noRoom(_ id: UInt32, size: Int, room: Int) -> AudioFormatError {
    .propertySize(id, size: size, room: room)
  }

  var status: OSStatus {
    switch self {
    case .unsupportedProperty: kAudioFormatUnsupportedPropertyError
    case .specifierSize: kAudioFormatBadSpecifierSizeError
    case .propertySize: kAudioFormatBadPropertySizeError
    case .badArgument: kAudio_ParamError
    case .badFormat: kAudioFormatUnsupportedDataFormatError
    case .unknown: kAudioFormatUnknownFormatError
    }
  }

  var reason: String {
    switch self {
    case .unsupportedProperty(let id): "there is no property '\(fourCharacters(id))'"
    case .specifierSize(let id, let size):
      "the property '\(fourCharacters(id))' is not asked of \(size) bytes"
    case .propertySize(let id, let size, let room):
      "the property '\(fourCharacters(id))' has \(size) bytes, the memory \(room)"
    case .badArgument(let text), .badFormat(let text), .unknown(let text): text
    }
  }

  var level: Logger.Level { .debug }
}

/// See AudioFormatGetPropertyInfo in AudioFormat.h.
@c @implementation
public func AudioFormatGetPropertyInfo(
  _ inPropertyID: AudioFormatPropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeRawPointer?, _ outPropertyDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioFormatGetPropertyInfo", needs: outPropertyDataSize) {
    () throws(AudioFormatError) in
    let question = try unsafe FormatQuestion(inPropertyID, inSpecifier, inSpecifierSize)
    unsafe outPropertyDataSize.pointee = UInt32(try question.size)
  }
}

/// See AudioFormatGetProperty in AudioFormat.h.
@c @implementation
public func AudioFormatGetProperty(
  _ inPropertyID: AudioFormatPropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeRawPointer?, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>?,
  _ outPropertyData: UnsafeMutableRawPointer?
) -> OSStatus {
  answer("AudioFormatGetProperty") { () throws(AudioFormatError) in
    guard let ioPropertyDataSize = unsafe ioPropertyDataSize else {
      throw .badArgument("the size of the memory is nowhere")
    }
    let question = try unsafe FormatQuestion(inPropertyID, inSpecifier, inSpecifierSize)
    guard let outPropertyData = unsafe outPropertyData else {
      unsafe ioPropertyDataSize.pointee = UInt32(try question.size)
      return
    }
    let memory = unsafe PropertyInput<AudioFormatError>(
      inPropertyID, outPropertyData, ioPropertyDataSize.pointee)
    try unsafe memory.copy(
      .copied(question.answer(memory)), ioPropertyDataSize,
      missing: .unsupportedProperty(inPropertyID))
  }
}

// MARK: Property queries

/// A format property together with its specifier.
private struct FormatQuestion {
  private let specifier: PropertyInput<AudioFormatError>
  private var id: AudioFormatPropertyID { specifier.id }

  init(_ id: AudioFormatPropertyID, _ specifier: UnsafeRawPointer?, _ size: UInt32)
    throws(AudioFormatError)
  {
    // No specifier is this long, and an uninitialized size must not be trusted.
    guard size <= 1 << 24 else { throw .specifierSize(id, Int(size)) }
    self.specifier = unsafe PropertyInput(id, specifier, size)
  }

  /// The size of the value in bytes.
  var size: Int {
    get throws(AudioFormatError) {
      // This property fills in the caller's structure, which is not available here.
      id == kAudioFormatProperty_FormatInfo
        ? MemoryLayout<AudioStreamBasicDescription>.size
        : try answer(PropertyInput(id)).byteCount
    }
  }

  /// Returns the value of the property.
  ///
  /// - Parameter memory: The caller's memory, which one property fills in.
  func answer(_ memory: PropertyInput<AudioFormatError>) throws(AudioFormatError) -> CopiedValue {
    switch id {
    case kAudioFormatProperty_FormatInfo: return CopiedValue(try filledOut(memory))
    case kAudioFormatProperty_FormatName:
      return CopiedValue(string: try specifier.value(Description.self).name)
    case kAudioFormatProperty_EncodeFormatIDs:
      return CopiedValue(
        whole: [kAudioFormatLinearPCM] + Codec.allCases.filter(\.hasEncoder).map(\.formatID))
    case kAudioFormatProperty_DecodeFormatIDs:
      return CopiedValue(
        whole: [kAudioFormatLinearPCM] + Codec.allCases.filter(\.hasDecoder).map(\.formatID))
    case kAudioFormatProperty_FormatList: return CopiedValue(whole: try formatListOfInfo())
    case kAudioFormatProperty_OutputFormatList:
      return CopiedValue(whole: try formatListOfInfo().map(\.decoded))
    case kAudioFormatProperty_ASBDFromESDS: return CopiedValue(try formatOfESDS().streamDescription)
    case kAudioFormatProperty_ChannelLayoutFromESDS:
      return CopiedValue(bytes: ChannelLayout(tag: try formatOfESDS().layoutTag).bytes)
    case kAudioFormatProperty_FirstPlayableFormatFromList: return CopiedValue(try firstPlayable())
    case kAudioFormatProperty_FormatIsVBR, kAudioFormatProperty_FormatIsExternallyFramed:
      return CopiedValue(try isVariable() ? UInt32(1) : 0)
    case kAudioFormatProperty_Encoders:
      return CopiedValue(
        whole: try codec().flatMap { $0.hasEncoder ? $0 : nil }.classes(kAudioEncoderComponentType))
    case kAudioFormatProperty_Decoders:
      return CopiedValue(
        whole: try codec().flatMap { $0.hasDecoder ? $0 : nil }.classes(kAudioDecoderComponentType))
    case kAudioFormatProperty_HardwareCodecCapabilities:
      let stride = MemoryLayout<AudioClassDescription>.stride
      guard !specifier.isEmpty, specifier.byteCount % stride == 0 else {
        throw .specifierSize(id, specifier.byteCount)
      }
      return CopiedValue(UInt32(0))
    case kAudioFormatProperty_AvailableEncodeBitRates:
      let rates = try encodedCodec()?.allEncodedBitRates(channels: 2) ?? []
      return CopiedValue(whole: ranges(rates.map(Double.init)))
    case kAudioFormatProperty_AvailableEncodeSampleRates:
      let any = [AudioValueRange(mMinimum: 1, mMaximum: 1_000_000)]
      return CopiedValue(whole: try encodedCodec()?.encodedSampleRateRanges ?? any)
    case kAudioFormatProperty_AvailableEncodeNumberChannels:
      let most = try encodedCodec()?.encodedChannels ?? PCMFormat.maximumChannels
      return CopiedValue(whole: (1...UInt32(most)).map { $0 })
    case kAudioFormatProperty_AvailableEncodeChannelLayoutTags:
      let channels = Int(try specifier.value(Description.self).mChannelsPerFrame)
      let tags =
        try encodedCodec()?.encodedLayoutTags ?? (1...8).map { ChannelLayout(commonFor: $0).tag }
      return CopiedValue(
        whole: tags.filter { channels == 0 || ChannelLayout(tag: $0).channels == channels })
    case kAudioFormatProperty_ChannelLayoutHash:
      guard let hash = try layout().hash else { throw unknownLayout }
      return CopiedValue(hash)
    case kAudioFormatProperty_BitmapForLayoutTag: return CopiedValue(try bitmapOfTag())
    case kAudioFormatProperty_MatrixMixMap:
      let (from, to) = try layouts()
      guard let rows = from.mix(to: to) else { throw unknownLayout }
      return CopiedValue(whole: rows.flatMap { $0 })
    case kAudioFormatProperty_ChannelMap:
      let (from, to) = try layouts()
      guard let map = from.map(to: to) else { throw unknownLayout }
      return CopiedValue(whole: map.map { $0.map(Int32.init) ?? -1 })
    case kAudioFormatProperty_NumberOfChannelsForLayout:
      return CopiedValue(UInt32(try layout().channels))
    case kAudioFormatProperty_AreChannelLayoutsEquivalent:
      let (one, other) = try layouts()
      guard let labels = one.labels, let others = other.labels else { throw unknownLayout }
      return CopiedValue(labels == others ? UInt32(1) : 0)
    case kAudioFormatProperty_ValidateChannelLayout:
      let layout = try layout()
      guard layout.labels != nil, layout.channels > 0 else { throw unknownLayout }
      return CopiedValue(UInt32(1))
    case kAudioFormatProperty_ChannelLayoutForTag:
      return CopiedValue(bytes: try described(ChannelLayout(tag: specifier.value(UInt32.self))))
    case kAudioFormatProperty_ChannelLayoutForBitmap:
      return CopiedValue(
        bytes: try described(
          ChannelLayout(
            tag: kAudioChannelLayoutTag_UseChannelBitmap, bitmap: specifier.value(UInt32.self))))
    case kAudioFormatProperty_TagForChannelLayout:
      guard let tag = try layout().matchingTag else { throw unknownLayout }
      return CopiedValue(tag)
    case kAudioFormatProperty_ChannelLayoutName:
      guard let name = try layout().name else { throw unknownLayout }
      return CopiedValue(string: name)
    case kAudioFormatProperty_ChannelName:
      return CopiedValue(
        string: ChannelLayout.name(
          of: try specifier.value(AudioChannelDescription.self).mChannelLabel))
    case kAudioFormatProperty_ChannelShortName:
      let label = try specifier.value(AudioChannelDescription.self).mChannelLabel
      return CopiedValue(string: ChannelLayout.name(of: label, isShort: true))
    case kAudioFormatProperty_TagsForNumberOfChannels:
      return CopiedValue(whole: ChannelLayout.tags(channels: Int(try specifier.value(UInt32.self))))
    default: throw .unsupportedProperty(id)
    }
  }

  private typealias Description = AudioStreamBasicDescription

  // MARK: Formats

  private func filledOut(_ memory: PropertyInput<AudioFormatError>)
    throws(AudioFormatError) -> Description
  {
    let size = MemoryLayout<Description>.size
    guard memory.byteCount >= size else {
      throw .noRoom(id, size: size, room: memory.byteCount)
    }
    let given = try memory.value(Description.self)
    if given.mFormatID == kAudioFormatLinearPCM {
      guard let format = ConverterFormat(given) else {
        throw .badFormat("the linear PCM is not described well enough")
      }
      return format.streamDescription
    }
    guard Codec(formatID: given.mFormatID) != nil else {
      throw .unknown("there is no format '\(fourCharacters(given.mFormatID))'")
    }
    guard var format = PacketFormat(given) else {
      throw .badFormat("the sizes are not those of '\(fourCharacters(given.mFormatID))'")
    }
    if !specifier.isEmpty {
      do throws(CodecError) {
        format = try MagicCookie.described(format, specifier.array()).format
      } catch {
        throw .badFormat(error.reason)
      }
    }
    return format.streamDescription
  }

  /// Returns the format list for the format and the cookie of an AudioFormatInfo.
  private func formatListOfInfo() throws(AudioFormatError) -> [AudioFormatListItem] {
    let info = try unsafe specifier.value(AudioFormatInfo.self)
    let count = unsafe Int(info.mMagicCookieSize)
    guard count <= 1 << 24 else { throw .specifierSize(id, count) }
    let start = unsafe info.mMagicCookie
    let cookie = unsafe [UInt8](
      UnsafeRawBufferPointer(
        start: start, count: UInt(bitPattern: start) == 0 ? 0 : count))
    let description = unsafe info.mASBD
    guard let format = ConverterFormat(description) else {
      throw .badFormat("there is no format '\(fourCharacters(description.mFormatID))'")
    }
    guard case .packets(let packets) = format.stream else {
      return [
        AudioFormatListItem(
          mASBD: format.streamDescription,
          mChannelLayoutTag: ChannelLayout(channels: format.stream.channels).tag)
      ]
    }
    return formatList(of: packets, cookie: cookie)
  }

  private func formatOfESDS() throws(AudioFormatError) -> PacketFormat {
    let format = PacketFormat(codec: .aac, sampleRate: 0, channels: 0)
    do throws(CodecError) {
      let config = try MagicCookie.audioSpecificConfig(specifier.array())
      guard AudioSpecificConfig(config) != nil else {
        throw CodecError(.badCookie("it describes no AAC"))
      }
      return try MagicCookie.described(format, config).format
    } catch {
      throw .badFormat(error.reason)
    }
  }

  private func firstPlayable() throws(AudioFormatError) -> UInt32 {
    let stride = MemoryLayout<AudioFormatListItem>.stride
    guard !specifier.isEmpty, specifier.byteCount % stride == 0 else {
      throw .specifierSize(id, specifier.byteCount)
    }
    let index = specifier.array(of: AudioFormatListItem.self).firstIndex {
      let formatID = $0.mASBD.mFormatID
      return formatID == kAudioFormatLinearPCM || Codec(formatID: formatID)?.hasDecoder == true
    }
    guard let index else { throw .badFormat("none of the formats can be decoded") }
    return UInt32(index)
  }

  private func isVariable() throws(AudioFormatError) -> Bool {
    let description = try specifier.value(Description.self)
    if description.mFormatID == kAudioFormatLinearPCM { return false }
    guard let format = PacketFormat(description) else {
      throw .unknown("there is no format '\(fourCharacters(description.mFormatID))'")
    }
    return format.bytesPerPacket == 0
  }

  /// Returns the codec of the format ID in the specifier; nil for linear PCM or an unknown format.
  private func codec() throws(AudioFormatError) -> Codec? {
    Codec(formatID: try specifier.value(UInt32.self))
  }

  /// Returns the codec of a format ID or a stream description; nil for linear PCM. Throws if there
  /// is no encoder.
  private func encodedCodec() throws(AudioFormatError) -> Codec? {
    let isDescribed =
      id == kAudioFormatProperty_AvailableEncodeNumberChannels
      || id == kAudioFormatProperty_AvailableEncodeChannelLayoutTags
    let formatID =
      isDescribed
      ? try specifier.value(Description.self).mFormatID : try specifier.value(UInt32.self)
    if formatID == kAudioFormatLinearPCM { return nil }
    guard let codec = Codec(formatID: formatID), codec.hasEncoder else {
      throw .badFormat("there is no encoder of '\(fourCharacters(formatID))'")
    }
    return codec
  }

  // MARK: Layouts

  private var unknownLayout: AudioFormatError { .unknown("there is no such channel layout") }

  private func layout() throws(AudioFormatError) -> ChannelLayout {
    guard let layout = ChannelLayout(specifier.array()) else {
      throw .specifierSize(id, specifier.byteCount)
    }
    return layout
  }

  /// Returns the two layouts that the specifier points to. Each channel of one may be compared with each of the
  /// other, so neither has more channels than sound can have.
  private func layouts() throws(AudioFormatError) -> (ChannelLayout, ChannelLayout) {
    let pointers = try specifier.value((UInt, UInt).self)
    guard let one = unsafe ChannelLayout(at: UnsafeRawPointer(bitPattern: pointers.0)),
      let other = unsafe ChannelLayout(at: UnsafeRawPointer(bitPattern: pointers.1)),
      max(one.channels, other.channels) <= PCMFormat.maximumChannels
    else { throw .badArgument("a layout is NULL, or has too many channels") }
    return (one, other)
  }

  private func described(_ layout: ChannelLayout) throws(AudioFormatError) -> [UInt8] {
    guard let described = layout.described, described.channels > 0 else { throw unknownLayout }
    return described.bytes
  }

  private func bitmapOfTag() throws(AudioFormatError) -> UInt32 {
    let labels = ChannelLayout(tag: try specifier.value(UInt32.self)).labels ?? []
    let isBitmap =
      !labels.isEmpty && labels.allSatisfy { (1...18).contains($0) }
      && zip(labels, labels.dropFirst()).allSatisfy(<)
    guard isBitmap else { throw unknownLayout }
    return labels.reduce(0) { $0 | 1 << ($1 - 1) }
  }
}

extension Codec? {
  /// Returns the only component of a codec, or an empty array for nil.
  fileprivate func classes(_ type: OSType) -> [AudioClassDescription] {
    map {
      [
        AudioClassDescription(
          mType: type, mSubType: $0.formatID, mManufacturer: kAppleSoftwareAudioCodecManufacturer)
      ]
    } ?? []
  }
}

extension ChannelLayout {
  /// Reads a layout from the app's memory; nil if the pointer is NULL or the layout is not valid.
  init?(at memory: UnsafeRawPointer?) {
    guard let memory = unsafe memory else { return nil }
    let head = unsafe memory.loadUnaligned(as: (UInt32, UInt32, UInt32).self)
    let count = head.0 == kAudioChannelLayoutTag_UseChannelDescriptions ? Int(head.2) : 0
    guard count <= 1 << 16 else { return nil }
    self.init(
      unsafe [UInt8](
        UnsafeRawBufferPointer(
          start: memory, count: 12 + count * MemoryLayout<Description>.stride)))
  }
}

extension PacketFormat {
  /// The channel layout. Decoded channels are in the order of WAVE files.
  fileprivate var layoutTag: AudioChannelLayoutTag { ChannelLayout(commonFor: channels).tag }
}

/// Returns the formats that packets can be decoded as, best first. Old decoders read AAC with
/// spectral band replication as plain AAC.
func formatList(of format: PacketFormat, cookie: [UInt8]) -> [AudioFormatListItem] {
  var formats = [(try? MagicCookie.described(format, cookie).format) ?? format]
  if formats[0].codec == .aacHEv2 {
    var mono = formats[0]
    mono.codec = .aacHE
    mono.channels = 1
    formats.append(mono)
  }
  if let last = formats.last, last.codec == .aacHE {
    var plain = last
    plain.codec = .aac
    plain.sampleRate /= 2
    plain.framesPerPacket /= 2
    formats.append(plain)
  }
  return formats.map {
    AudioFormatListItem(mASBD: $0.streamDescription, mChannelLayoutTag: $0.layoutTag)
  }
}

extension AudioFormatListItem {
  /// The format after decoding.
  fileprivate var decoded: AudioFormatListItem {
    let pcm = PCMFormat(
      sampleRate: mASBD.mSampleRate, channels: Int(mASBD.mChannelsPerFrame), kind: .float,
      bitsPerSample: 32)
    return AudioFormatListItem(
      mASBD: mASBD.mFormatID == kAudioFormatLinearPCM ? mASBD : pcm.streamDescription,
      mChannelLayoutTag: mChannelLayoutTag)
  }
}

extension AudioStreamBasicDescription {
  /// The format as text for a user.
  var name: String {
    let rate = mSampleRate > 0 ? ", \(mSampleRate.formatted) Hz" : ""
    let channels = mChannelsPerFrame > 0 ? "\(mChannelsPerFrame) ch" : "? ch"
    guard mFormatID == kAudioFormatLinearPCM else {
      let name = Codec(formatID: mFormatID)?.name ?? "'\(fourCharacters(mFormatID))'"
      return "\(name), \(channels)\(rate)"
    }
    let isFloat = mFormatFlags & kAudioFormatFlagIsFloat != 0
    let kind =
      isFloat
      ? "floating point"
      : mFormatFlags & kAudioFormatFlagIsSignedInteger != 0 ? "signed integer" : "unsigned integer"
    let order = mFormatFlags & kAudioFormatFlagIsBigEndian != 0 ? "big-endian" : "little-endian"
    let planes = mFormatFlags & kAudioFormatFlagIsNonInterleaved != 0 ? ", deinterleaved" : ""
    return
      "Linear PCM, \(mBitsPerChannel) bit \(order) \(kind), \(channels)\(rate)\(planes)"
  }
}

extension Double {
  /// The number as text, without a fraction if it is an integer.
  fileprivate var formatted: String {
    self == rounded() && magnitude < 0x1p53 ? "\(Int(self))" : "\(self)"
  }
}
