public import CAudioToolbox
import Codecs
import CoreFoundation
import Logging
import RealTime

/// The reason why a format property call fails. The text goes to the log, the code to the caller.
enum AudioFormatError: APIFailure {
  case unsupportedProperty(AudioFormatPropertyID)
  case specifierSize(AudioFormatPropertyID, Int)
  case propertySize(AudioFormatPropertyID, size: Int, room: Int)
  case badArgument(String)
  case badFormat(String)
  case unknown(String)

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
    let room = unsafe Int(ioPropertyDataSize.pointee)
    guard let outPropertyData = unsafe outPropertyData else {
      unsafe ioPropertyDataSize.pointee = UInt32(try question.size)
      return
    }
    let memory = unsafe UnsafeMutableRawBufferPointer(start: outPropertyData, count: room)
    // Reads the caller's memory only for the property that fills in an existing structure.
    let isFilledOut = inPropertyID == kAudioFormatProperty_FormatInfo
    let before = unsafe isFilledOut ? Array(memory.prefix(64)) : []
    switch try question.answer(before) {
    case .bytes(let bytes):
      guard bytes.count <= room else {
        throw .propertySize(inPropertyID, size: bytes.count, room: room)
      }
      unsafe memory.copyBytes(from: bytes)
      unsafe ioPropertyDataSize.pointee = UInt32(bytes.count)
    case .text(let text):
      let size = MemoryLayout<UInt>.size
      guard size <= room else { throw .propertySize(inPropertyID, size: size, room: room) }
      // The caller must release the string.
      let string = unsafe Unmanaged.passRetained(text.cfString).toOpaque()
      unsafe memory.storeBytes(of: UInt(bitPattern: string), as: UInt.self)
      unsafe ioPropertyDataSize.pointee = UInt32(size)
    }
  }
}

// MARK: Property queries

/// A format property together with its specifier.
private struct FormatQuestion {
  enum Answer {
    case bytes([UInt8])
    case text(String)
  }

  let id: AudioFormatPropertyID
  let specifier: [UInt8]

  init(_ id: AudioFormatPropertyID, _ specifier: UnsafeRawPointer?, _ size: UInt32)
    throws(AudioFormatError)
  {
    self.id = id
    // No specifier is this long, and an uninitialized size must not be trusted.
    guard size <= 1 << 24 else { throw .specifierSize(id, Int(size)) }
    self.specifier = unsafe [UInt8](
      UnsafeRawBufferPointer(start: specifier, count: specifier == nil ? 0 : Int(size)))
  }

  /// The size of the value in bytes.
  var size: Int {
    get throws(AudioFormatError) {
      // This property fills in the caller's structure, which is not available here.
      if id == kAudioFormatProperty_FormatInfo {
        return MemoryLayout<AudioStreamBasicDescription>.size
      }
      return switch try answer([]) {
      case .bytes(let bytes): bytes.count
      case .text: MemoryLayout<UInt>.size
      }
    }
  }

  /// Returns the value of the property.
  ///
  /// - Parameter before: The present content of the caller's memory.
  func answer(_ before: [UInt8]) throws(AudioFormatError) -> Answer {
    switch id {
    case kAudioFormatProperty_FormatInfo: return .of([try filledOut(before)])
    case kAudioFormatProperty_FormatName: return .text(try value(Description.self).name)
    case kAudioFormatProperty_EncodeFormatIDs:
      return .of([kAudioFormatLinearPCM] + Codec.allCases.filter(\.hasEncoder).map(\.formatID))
    case kAudioFormatProperty_DecodeFormatIDs:
      return .of([kAudioFormatLinearPCM] + Codec.allCases.filter(\.hasDecoder).map(\.formatID))
    case kAudioFormatProperty_FormatList: return .of(try formatListOfInfo())
    case kAudioFormatProperty_OutputFormatList:
      return .of(try formatListOfInfo().map(\.decoded))
    case kAudioFormatProperty_ASBDFromESDS: return .of([try formatOfESDS().streamDescription])
    case kAudioFormatProperty_ChannelLayoutFromESDS:
      return .bytes(ChannelLayout(tag: try formatOfESDS().layoutTag).bytes)
    case kAudioFormatProperty_FirstPlayableFormatFromList: return .of([try firstPlayable()])
    case kAudioFormatProperty_FormatIsVBR, kAudioFormatProperty_FormatIsExternallyFramed:
      return .of([try isVariable() ? UInt32(1) : 0])
    case kAudioFormatProperty_Encoders:
      return .of(
        try codec().flatMap { $0.hasEncoder ? $0 : nil }.classes(kAudioEncoderComponentType))
    case kAudioFormatProperty_Decoders:
      return .of(
        try codec().flatMap { $0.hasDecoder ? $0 : nil }.classes(kAudioDecoderComponentType))
    case kAudioFormatProperty_HardwareCodecCapabilities:
      let stride = MemoryLayout<AudioClassDescription>.stride
      guard !specifier.isEmpty, specifier.count % stride == 0 else {
        throw .specifierSize(id, specifier.count)
      }
      return .of([UInt32(0)])
    case kAudioFormatProperty_AvailableEncodeBitRates:
      let rates = try encodedCodec()?.allEncodedBitRates(channels: 2) ?? []
      return .of(ranges(rates.map(Double.init)))
    case kAudioFormatProperty_AvailableEncodeSampleRates:
      let any = [AudioValueRange(mMinimum: 1, mMaximum: 1_000_000)]
      return .of(try encodedCodec()?.encodedSampleRateRanges ?? any)
    case kAudioFormatProperty_AvailableEncodeNumberChannels:
      let most = try encodedCodec()?.encodedChannels ?? PCMFormat.maximumChannels
      return .of((1...UInt32(most)).map { $0 })
    case kAudioFormatProperty_AvailableEncodeChannelLayoutTags:
      let channels = Int(try value(Description.self).mChannelsPerFrame)
      let tags =
        try encodedCodec()?.encodedLayoutTags ?? (1...8).map { ChannelLayout(commonFor: $0).tag }
      return .of(tags.filter { channels == 0 || ChannelLayout(tag: $0).channels == channels })
    case kAudioFormatProperty_ChannelLayoutHash:
      guard let hash = try layout().hash else { throw unknownLayout }
      return .of([hash])
    case kAudioFormatProperty_BitmapForLayoutTag: return .of([try bitmapOfTag()])
    case kAudioFormatProperty_MatrixMixMap:
      let (from, to) = try layouts()
      guard let rows = from.mix(to: to) else { throw unknownLayout }
      return .of(rows.flatMap { $0 })
    case kAudioFormatProperty_ChannelMap:
      let (from, to) = try layouts()
      guard let map = from.map(to: to) else { throw unknownLayout }
      return .of(map.map { $0.map(Int32.init) ?? -1 })
    case kAudioFormatProperty_NumberOfChannelsForLayout:
      return .of([UInt32(try layout().channels)])
    case kAudioFormatProperty_AreChannelLayoutsEquivalent:
      let (one, other) = try layouts()
      guard let labels = one.labels, let others = other.labels else { throw unknownLayout }
      return .of([labels == others ? UInt32(1) : 0])
    case kAudioFormatProperty_ValidateChannelLayout:
      let layout = try layout()
      guard layout.labels != nil, layout.channels > 0 else { throw unknownLayout }
      return .of([UInt32(1)])
    case kAudioFormatProperty_ChannelLayoutForTag:
      return .bytes(try described(ChannelLayout(tag: value(UInt32.self))))
    case kAudioFormatProperty_ChannelLayoutForBitmap:
      return .bytes(
        try described(
          ChannelLayout(tag: kAudioChannelLayoutTag_UseChannelBitmap, bitmap: value(UInt32.self))))
    case kAudioFormatProperty_TagForChannelLayout:
      guard let tag = try layout().matchingTag else { throw unknownLayout }
      return .of([tag])
    case kAudioFormatProperty_ChannelLayoutName:
      guard let name = try layout().name else { throw unknownLayout }
      return .text(name)
    case kAudioFormatProperty_ChannelName:
      return .text(ChannelLayout.name(of: try value(AudioChannelDescription.self).mChannelLabel))
    case kAudioFormatProperty_ChannelShortName:
      let label = try value(AudioChannelDescription.self).mChannelLabel
      return .text(ChannelLayout.name(of: label, isShort: true))
    case kAudioFormatProperty_TagsForNumberOfChannels:
      return .of(ChannelLayout.tags(channels: Int(try value(UInt32.self))))
    default: throw .unsupportedProperty(id)
    }
  }

  private typealias Description = AudioStreamBasicDescription

  /// Returns the value at the beginning of the specifier. More bytes may follow.
  private func value<Value: BitwiseCopyable>(_ type: Value.Type) throws(AudioFormatError) -> Value {
    guard let value = Self.value(type, specifier) else {
      throw .specifierSize(id, specifier.count)
    }
    return value
  }

  private static func value<Value: BitwiseCopyable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value?
  {
    guard bytes.count >= MemoryLayout<Value>.size else { return nil }
    return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
  }

  // MARK: Formats

  private func filledOut(_ before: [UInt8]) throws(AudioFormatError) -> Description {
    guard let given = Self.value(Description.self, before) else {
      throw .propertySize(id, size: MemoryLayout<Description>.size, room: before.count)
    }
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
        format = try MagicCookie.described(format, specifier).format
      } catch {
        throw .badFormat(error.reason)
      }
    }
    return format.streamDescription
  }

  /// Returns the format list for the format and the cookie of an AudioFormatInfo.
  private func formatListOfInfo() throws(AudioFormatError) -> [AudioFormatListItem] {
    let info = try unsafe value(AudioFormatInfo.self)
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
      let config = try MagicCookie.audioSpecificConfig(specifier)
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
    guard specifier.count >= stride, specifier.count % stride == 0 else {
      throw .specifierSize(id, specifier.count)
    }
    for index in 0..<specifier.count / stride {
      let bytes = Array(specifier[(index * stride)...])
      guard let description = Self.value(AudioFormatListItem.self, bytes)?.mASBD else { break }
      let isPCM = description.mFormatID == kAudioFormatLinearPCM
      if isPCM || Codec(formatID: description.mFormatID)?.hasDecoder == true {
        return UInt32(index)
      }
    }
    throw .badFormat("none of the formats can be decoded")
  }

  private func isVariable() throws(AudioFormatError) -> Bool {
    let description = try value(Description.self)
    if description.mFormatID == kAudioFormatLinearPCM { return false }
    guard let format = PacketFormat(description) else {
      throw .unknown("there is no format '\(fourCharacters(description.mFormatID))'")
    }
    return format.bytesPerPacket == 0
  }

  /// Returns the codec of the format ID in the specifier; nil for linear PCM or an unknown format.
  private func codec() throws(AudioFormatError) -> Codec? {
    Codec(formatID: try value(UInt32.self))
  }

  /// Returns the codec of a format ID or a stream description; nil for linear PCM. Throws if there
  /// is no encoder.
  private func encodedCodec() throws(AudioFormatError) -> Codec? {
    let isDescribed =
      id == kAudioFormatProperty_AvailableEncodeNumberChannels
      || id == kAudioFormatProperty_AvailableEncodeChannelLayoutTags
    let formatID =
      isDescribed
      ? try value(Description.self).mFormatID : try value(UInt32.self)
    if formatID == kAudioFormatLinearPCM { return nil }
    guard let codec = Codec(formatID: formatID), codec.hasEncoder else {
      throw .badFormat("there is no encoder of '\(fourCharacters(formatID))'")
    }
    return codec
  }

  // MARK: Layouts

  private var unknownLayout: AudioFormatError { .unknown("there is no such channel layout") }

  private func layout() throws(AudioFormatError) -> ChannelLayout {
    guard let layout = ChannelLayout(specifier) else {
      throw .specifierSize(id, specifier.count)
    }
    return layout
  }

  /// Returns the two layouts that the specifier points to. Each channel of one may be compared with each of the
  /// other, so neither has more channels than sound can have.
  private func layouts() throws(AudioFormatError) -> (ChannelLayout, ChannelLayout) {
    let pointers = try value((UInt, UInt).self)
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
    let labels = ChannelLayout(tag: try value(UInt32.self)).labels ?? []
    let isBitmap =
      !labels.isEmpty && labels.allSatisfy { (1...18).contains($0) }
      && zip(labels, labels.dropFirst()).allSatisfy(<)
    guard isBitmap else { throw unknownLayout }
    return labels.reduce(0) { $0 | 1 << ($1 - 1) }
  }
}

extension FormatQuestion.Answer {
  fileprivate static func of<Value: BitwiseCopyable>(_ values: [Value]) -> Self {
    .bytes(PropertyBytes.of(values))
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
