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
        (bits > 8 ? [self.isBigEndian, !self.isBigEndian] : [false]).map {
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
}
