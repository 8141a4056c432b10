public import CAudioToolbox
import Codecs
import CoreFoundation
import Files
import RealTime

/// A property of the library, and the specifier that the app asks with.
private struct GlobalProperty {
  typealias Entry = PropertyEntry<AudioFileFailure>

  private let specifier: PropertyInput<AudioFileFailure>

  init(_ id: AudioFilePropertyID, _ specifier: UnsafeRawPointer?, _ size: UInt32) {
    self.specifier = unsafe PropertyInput(id, specifier, size)
  }

  /// Returns the property's entry. Lists of types and formats may be cut: some programs want one and have no room
  /// for more.
  func entry() throws(AudioFileFailure) -> Entry {
    let all = Container.allCases
    return switch specifier.id {
    case kAudioFileGlobalInfo_ReadableTypes: list(all.map(\.typeID))
    case kAudioFileGlobalInfo_WritableTypes:
      list(all.filter { !$0.writtenFormats.isEmpty }.map(\.typeID))
    case kAudioFileGlobalInfo_FileTypeName: .string(try type().description)
    case kAudioFileGlobalInfo_AvailableFormatIDs: list(try type().writtenFormatIDs)
    case kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat: list(try descriptions())
    case kAudioFileGlobalInfo_AllHFSTypeCodes: list(all.flatMap(\.typeCodes))
    case kAudioFileGlobalInfo_HFSTypeCodesForType: list(try type().typeCodes)
    case kAudioFileGlobalInfo_TypesForHFSTypeCode: list(try types(ofCode: asked()))
    case kAudioFileGlobalInfo_AllExtensions: strings(all.flatMap(\.extensions))
    case kAudioFileGlobalInfo_AllUTIs: strings(all.flatMap(\.typeIdentifiers))
    case kAudioFileGlobalInfo_AllMIMETypes: strings(all.flatMap(\.mimeTypes))
    case kAudioFileGlobalInfo_ExtensionsForType: strings(try type().extensions)
    case kAudioFileGlobalInfo_UTIsForType: strings(try type().typeIdentifiers)
    case kAudioFileGlobalInfo_MIMETypesForType: strings(try type().mimeTypes)
    case kAudioFileGlobalInfo_TypesForMIMEType: list(try types(\.mimeTypes))
    case kAudioFileGlobalInfo_TypesForUTI: list(try types(\.typeIdentifiers))
    case kAudioFileGlobalInfo_TypesForExtension: list(try types(\.extensions))
    default: throw .unsupportedProperty(specifier.id)
    }
  }

  private func list<Item: BitwiseCopyable>(_ items: [Item]) -> Entry {
    .copied(CopiedValue(array: items))
  }

  private func strings(_ texts: [String]) -> Entry { .object(makeArray(texts.map(\.cfString))) }

  /// Returns the specifier, which has exactly the type's size.
  private func asked<Value: BitwiseCopyable>(_ type: Value.Type = Value.self)
    throws(AudioFileFailure) -> Value
  {
    guard specifier.byteCount == MemoryLayout<Value>.size else { throw badSize }
    return try specifier.value()
  }

  private var badSize: AudioFileFailure {
    .badArgument("\(specifier.byteCount) bytes are not what this is asked with")
  }

  private func type() throws(AudioFileFailure) -> Container { try type(asked()) }

  private func type(_ id: AudioFileTypeID) throws(AudioFileFailure) -> Container {
    guard let kind = Container(typeID: id) else { throw .badType(id) }
    return kind
  }

  private func descriptions() throws(AudioFileFailure) -> [AudioStreamBasicDescription] {
    let asked = try asked(AudioFileTypeAndFormatID.self)
    let kind = try type(asked.mFileType)
    let descriptions = kind.writtenFormats.filter { $0.mFormatID == asked.mFormatID }
    guard !descriptions.isEmpty else {
      throw .badFormat("\(kind) files do not hold '\(fourCharacters(asked.mFormatID))'")
    }
    return descriptions
  }

  private func types(ofCode code: UInt32) -> [AudioFileTypeID] {
    Container.allCases.filter { $0.typeCodes.contains(code) }.map(\.typeID)
  }

  /// Returns the file types with the name that the specifier is. The types that have it as their first name come
  /// first.
  private func types(_ names: KeyPath<Container, [String]>)
    throws(AudioFileFailure) -> [AudioFileTypeID]
  {
    let text = unsafe HardwareRequest.string(try asked(UnsafeRawPointer?.self))
    guard let name = text?.lowercased() else { throw badSize }
    let kinds = Container.allCases.filter { $0[keyPath: names].contains(name) }
    let first = kinds.filter { $0[keyPath: names].first == name }
    return (first + kinds.filter { !first.contains($0) }).map(\.typeID)
  }
}

/// See AudioFileGetGlobalInfoSize in AudioFile.h.
@c @implementation
public func AudioFileGetGlobalInfoSize(
  _ inPropertyID: AudioFilePropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeMutableRawPointer?, _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioFileGetGlobalInfoSize", needs: outDataSize) {
    () throws(AudioFileFailure) in
    unsafe outDataSize.pointee = 0
    let property = unsafe GlobalProperty(inPropertyID, inSpecifier, inSpecifierSize)
    unsafe outDataSize.pointee = UInt32(
      try property.entry().presentSize(missing: .unsupportedProperty(inPropertyID)))
  }
}

/// See AudioFileGetGlobalInfo in AudioFile.h.
@c @implementation
public func AudioFileGetGlobalInfo(
  _ inPropertyID: AudioFilePropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeMutableRawPointer?, _ ioDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer("AudioFileGetGlobalInfo", needs: ioDataSize, outPropertyData) {
    () throws(AudioFileFailure) in
    let entry = try unsafe GlobalProperty(inPropertyID, inSpecifier, inSpecifierSize).entry()
    let output = unsafe PropertyInput<AudioFileFailure>(
      inPropertyID, outPropertyData, ioDataSize.pointee)
    try unsafe output.copy(
      entry, ioDataSize, missing: .unsupportedProperty(inPropertyID), least: 1)
  }
}

extension Container {
  /// The formats that can be written into files of this type, with rate and channels set to 0.
  fileprivate var writtenFormats: [AudioStreamBasicDescription] {
    (linearFormats + codecFormats).map { format in
      var format = format
      format.mSampleRate = 0
      format.mChannelsPerFrame = 0
      format.mBytesPerFrame = 0
      format.mBytesPerPacket = 0
      return format
    }
  }

  private var linearFormats: [AudioStreamBasicDescription] {
    let kinds: [(PCMFormat.Kind, [Int])] = [
      (.signedInteger, [16, 24, 32, 8]), (.unsignedInteger, [8]), (.float, [32, 64]),
    ]
    return kinds.flatMap { kind, sizes in
      sizes.flatMap { bits in
        (bits > 8 ? [isBigEndian, !isBigEndian] : [false]).map {
          PCMFormat(
            sampleRate: 44_100, channels: 1, kind: kind, bitsPerSample: bits, isBigEndian: $0)
        }
      }
    }.filter { MediaFiles.canWrite(.pcm($0), in: self) }.map(\.streamDescription)
  }

  private var codecFormats: [AudioStreamBasicDescription] {
    Codec.allCases.compactMap { codec in
      var description = AudioStreamBasicDescription()
      description.mFormatID = codec.formatID
      // One supported combination of rate and channels is enough.
      for (rate, channels) in [(44_100.0, 2), (48_000, 2), (16_000, 1), (8_000, 1)] {
        description.mSampleRate = rate
        description.mChannelsPerFrame = UInt32(channels)
        if let format = PacketFormat(description), MediaFiles.canWrite(.packets(format), in: self) {
          return format.streamDescription
        }
      }
      return nil
    }
  }

  fileprivate var writtenFormatIDs: [AudioFormatID] {
    var ids: [AudioFormatID] = []
    for id in writtenFormats.map(\.mFormatID) where !ids.contains(id) { ids.append(id) }
    return ids
  }

  /// The HFS type codes for files of this type.
  fileprivate var typeCodes: [UInt32] {
    let codes: [String] =
      switch self {
      case .aiff: ["AIFF"]
      case .aifc: ["AIFC"]
      case .caf: ["caff"]
      case .wave: ["WAVE"]
      case .rf64, .wave64, .threeGP, .threeGP2, .ogg, .amr, .flac, .other: []
      case .next: ["ULAW"]
      case .m4a: ["M4A ", "m4af"]
      case .mp4: ["mpg4", "mp4f"]
      case .m4b: ["M4B ", "m4bf"]
      case .adts: ["adts"]
      case .mp3: ["MPG3", "mpg3", "Mp3 ", "MP3 "]
      case .mp2: ["MPG2", "mpg2"]
      case .mp1: ["MPG1", "mpg1"]
      case .ac3: ["ac-3"]
      }
    return codes.map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// The uniform type identifiers (UTIs) of this type.
  fileprivate var typeIdentifiers: [String] {
    switch self {
    case .aiff: ["public.aiff-audio"]
    case .aifc: ["public.aifc-audio"]
    case .caf: ["com.apple.coreaudio-format"]
    case .wave: ["com.microsoft.waveform-audio"]
    case .rf64: ["public.rf64-audio"]
    case .wave64: ["com.sony.wave64"]
    case .next: ["public.au-audio", "public.ulaw-audio"]
    case .m4a: ["public.mpeg-4-audio", "com.apple.m4a-audio"]
    case .mp4: ["public.mpeg-4"]
    case .m4b: ["com.apple.protected-mpeg-4-audio-b"]
    case .threeGP: ["public.3gpp"]
    case .threeGP2: ["public.3gpp2"]
    case .adts: ["public.aac-audio"]
    case .mp3: ["public.mp3"]
    case .mp2: ["public.mp2"]
    case .mp1: ["public.mp1"]
    case .ac3: ["public.ac3-audio"]
    case .flac: ["org.xiph.flac"]
    case .ogg: ["org.xiph.ogg-audio"]
    case .amr: ["org.3gpp.adaptive-multi-rate-audio"]
    case .other: []
    }
  }

  fileprivate var mimeTypes: [String] {
    switch self {
    case .aiff: ["audio/aiff", "audio/x-aiff"]
    case .aifc: ["audio/aiff", "audio/x-aiff"]
    case .caf: ["audio/x-caf"]
    case .wave: ["audio/vnd.wave", "audio/wav", "audio/wave", "audio/x-wav"]
    case .rf64: ["audio/wav", "audio/x-wav"]
    case .wave64: ["audio/x-w64"]
    case .next: ["audio/basic", "audio/au", "audio/x-au", "audio/snd"]
    case .m4a: ["audio/x-m4a", "audio/mp4"]
    case .mp4: ["audio/mp4", "video/mp4", "audio/mpeg4"]
    case .m4b: ["audio/x-m4b", "audio/mp4"]
    case .threeGP: ["audio/3gpp", "video/3gpp"]
    case .threeGP2: ["audio/3gpp2", "video/3gpp2"]
    case .adts: ["audio/aac", "audio/aacp", "audio/x-aac"]
    case .mp3: ["audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/x-mpeg"]
    case .mp2: ["audio/mpeg", "audio/x-mp2"]
    case .mp1: ["audio/mpeg", "audio/x-mp1"]
    case .ac3: ["audio/ac3", "audio/x-ac3"]
    case .flac: ["audio/flac", "audio/x-flac"]
    case .ogg: ["audio/ogg", "application/ogg"]
    case .amr: ["audio/amr", "audio/amr-wb"]
    case .other: []
    }
  }
}
