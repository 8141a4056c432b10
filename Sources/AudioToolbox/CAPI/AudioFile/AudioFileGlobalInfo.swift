public import CAudioToolbox
import Codecs
import CoreFoundation
import Files
import RealTime

/// Functions that parse the specifier of a global property.
private enum Specifier {
  static func code(_ memory: UnsafeRawBufferPointer) throws(AudioFileFailure) -> UInt32 {
    guard memory.count == 4 else { throw badSize(memory.count) }
    return unsafe memory.loadUnaligned(as: UInt32.self)
  }

  static func type(_ memory: UnsafeRawBufferPointer) throws(AudioFileFailure) -> Container {
    let type = try unsafe code(memory)
    guard let kind = Container(typeID: type) else { throw .badType(type) }
    return kind
  }

  static func text(_ memory: UnsafeRawBufferPointer) throws(AudioFileFailure) -> String {
    guard memory.count == MemoryLayout<UInt>.size,
      let pointer = unsafe UnsafeRawPointer(bitPattern: memory.loadUnaligned(as: UInt.self))
    else { throw badSize(memory.count) }
    return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
  }

  static func typeAndFormat(
    _ memory: UnsafeRawBufferPointer
  ) throws(AudioFileFailure) -> AudioFileTypeAndFormatID {
    guard memory.count == MemoryLayout<AudioFileTypeAndFormatID>.size else {
      throw badSize(memory.count)
    }
    return unsafe memory.loadUnaligned(as: AudioFileTypeAndFormatID.self)
  }

  private static func badSize(_ size: Int) -> AudioFileFailure {
    .badArgument("\(size) bytes are not what this is asked with")
  }
}

private func globalValue(
  _ id: AudioFilePropertyID, _ specifier: UnsafeRawBufferPointer
) throws(AudioFileFailure) -> PropertyValue {
  let all = Container.allCases
  switch id {
  case kAudioFileGlobalInfo_ReadableTypes: return .words(all.map(\.typeID))
  case kAudioFileGlobalInfo_WritableTypes:
    return .words(all.filter { !$0.writtenFormats.isEmpty }.map(\.typeID))
  case kAudioFileGlobalInfo_FileTypeName:
    return .string(try unsafe Specifier.type(specifier).description)
  case kAudioFileGlobalInfo_AvailableFormatIDs:
    return .words(try unsafe Specifier.type(specifier).writtenFormatIDs)
  case kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat:
    let asked = try unsafe Specifier.typeAndFormat(specifier)
    guard let kind = Container(typeID: asked.mFileType) else { throw .badType(asked.mFileType) }
    let descriptions = kind.writtenFormats.filter { $0.mFormatID == asked.mFormatID }
    guard !descriptions.isEmpty else {
      throw .badFormat("\(kind) files do not hold '\(fourCharacters(asked.mFormatID))'")
    }
    return .descriptions(descriptions)
  case kAudioFileGlobalInfo_AllHFSTypeCodes: return .words(all.flatMap(\.typeCodes))
  case kAudioFileGlobalInfo_HFSTypeCodesForType:
    return .words(try unsafe Specifier.type(specifier).typeCodes)
  case kAudioFileGlobalInfo_TypesForHFSTypeCode:
    let code = try unsafe Specifier.code(specifier)
    return .words(all.filter { $0.typeCodes.contains(code) }.map(\.typeID))
  case kAudioFileGlobalInfo_AllExtensions: return .strings(all.flatMap(\.extensions))
  case kAudioFileGlobalInfo_AllUTIs: return .strings(all.flatMap(\.typeIdentifiers))
  case kAudioFileGlobalInfo_AllMIMETypes: return .strings(all.flatMap(\.mimeTypes))
  case kAudioFileGlobalInfo_ExtensionsForType:
    return .strings(try unsafe Specifier.type(specifier).extensions)
  case kAudioFileGlobalInfo_UTIsForType:
    return .strings(try unsafe Specifier.type(specifier).typeIdentifiers)
  case kAudioFileGlobalInfo_MIMETypesForType:
    return .strings(try unsafe Specifier.type(specifier).mimeTypes)
  case kAudioFileGlobalInfo_TypesForMIMEType:
    return try unsafe types(\.mimeTypes, specifier)
  case kAudioFileGlobalInfo_TypesForUTI: return try unsafe types(\.typeIdentifiers, specifier)
  case kAudioFileGlobalInfo_TypesForExtension: return try unsafe types(\.extensions, specifier)
  default: throw .unsupportedProperty(id)
  }
}

/// Returns the file types with a given name. The types that have it as their first name come first.
private func types(
  _ names: KeyPath<Container, [String]>, _ specifier: UnsafeRawBufferPointer
) throws(AudioFileFailure) -> PropertyValue {
  let name = try unsafe Specifier.text(specifier).lowercased()
  let kinds = Container.allCases.filter { $0[keyPath: names].contains(name) }
  let first = kinds.filter { $0[keyPath: names].first == name }
  return .words((first + kinds.filter { !first.contains($0) }).map(\.typeID))
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
    let value = try unsafe globalValue(
      inPropertyID, .init(start: inSpecifier, count: inSpecifier == nil ? 0 : Int(inSpecifierSize)))
    unsafe outDataSize.pointee = UInt32(value.byteCount)
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
    var value = try unsafe globalValue(
      inPropertyID, .init(start: inSpecifier, count: inSpecifier == nil ? 0 : Int(inSpecifierSize)))
    // Some programs want one type of a list, and have no room for more.
    if case .bytes(let bytes) = value {
      let itemBytes =
        inPropertyID == kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat
        ? MemoryLayout<AudioStreamBasicDescription>.stride : MemoryLayout<UInt32>.stride
      let room = unsafe Int(ioDataSize.pointee) / itemBytes * itemBytes
      if room > 0 { value = .bytes(Array(bytes.prefix(room))) }
    }
    try unsafe value.copy(to: outPropertyData, size: ioDataSize)
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
