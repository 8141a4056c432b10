public import CAudioToolbox
import CoreFoundation
import Files
import Glibc
import Logging
import RealTime

private let logger = Logger(label: "cuejack")
private let openFiles = HandleTable<SoundFile>()

/// Why a call on a sound file fails. The text goes to the log, the code to the caller.
private enum AudioFileFailure: Error {
  case badArgument(String)
  case badPath(String)
  case notOpen
  case notForWriting
  case negativePacket(Int64)
  case unsupportedProperty(AudioFilePropertyID)
  case propertyTooLarge(size: Int, room: UInt32)
  case file(SoundFileError)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .badPath: kAudio_BadFilePathError
    case .notOpen: kAudioFileNotOpenError
    case .notForWriting: kAudioFilePermissionsError
    case .negativePacket: kAudioFilePositionError
    case .unsupportedProperty: kAudioFileUnsupportedPropertyError
    case .propertyTooLarge: kAudioFileBadPropertySizeError
    case .file(let error):
      switch error.kind {
      case .notFound: kAudioFileFileNotFoundError
      case .permissionDenied: kAudioFilePermissionsError
      case .tooManyOpenFiles: kAudio_TooManyFilesOpenError
      case .isDirectory, .notASoundFile, .unsupportedContainer: kAudioFileUnsupportedFileTypeError
      case .empty, .truncated, .damaged: kAudioFileInvalidFileError
      case .unsupportedEncoding, .unwritable: kAudioFileUnsupportedDataFormatError
      case .exists, .mayNotWrite, .notForWriting, .notForReading: kAudioFilePermissionsError
      case .tooLong: kAudioFileDoesNotAllow64BitDataSizeError
      case .notSupported: kAudioFileOperationNotSupportedError
      case .cannotWrite, .noRoom, .vanished, .system: kAudioFileUnspecifiedError
      }
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text): text
    case .badPath(let text): text
    case .notOpen: "this is not an open file"
    case .notForWriting: "files can be opened for reading only"
    case .negativePacket(let packet): "there is no packet \(packet)"
    case .unsupportedProperty(let id): "the file has no property '\(fourCharacters(id))'"
    case .propertyTooLarge(let size, let room): "the value has \(size) bytes, the memory \(room)"
    case .file(let error): error.description
    }
  }

  /// Asking for a property that a file may lack is no mistake: programs ask for all of them.
  var level: Logger.Level {
    if case .unsupportedProperty = self { return .debug }
    return .warning
  }
}

func fourCharacters(_ code: UInt32) -> String {
  let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
  guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return String(code) }
  return String(decoding: bytes, as: UTF8.self)
}

/// Runs the body of a C function: its failure becomes a result code and a line in the log.
private func answer(
  _ function: String, _ body: () throws(AudioFileFailure) -> Void
) -> OSStatus {
  do throws(AudioFileFailure) {
    try body()
    return noErr
  } catch {
    logger.log(level: error.level, "\(function): \(error.reason)")
    return error.status
  }
}

/// Headers promise that these pointers are not NULL; C programs may not keep the promise.
private func isNull(_ pointer: UnsafeRawPointer) -> Bool { UInt(bitPattern: pointer) == 0 }

private func file(_ handle: AudioFileID) throws(AudioFileFailure) -> SoundFile {
  let number = UInt(bitPattern: handle)
  guard number != 0 else { throw .badArgument("the AudioFileID is NULL") }
  guard let file = openFiles.object(number) else { throw .notOpen }
  return file
}

// MARK: Opening and closing

/// See AudioFileOpenURL in AudioFile.h. A CFURL cannot be a parameter of a C function that is
/// written in Swift on Linux, so it comes as a plain pointer.
@c(AudioFileOpenURL)
public func openAudioFile(
  _ inFileRef: UnsafeRawPointer?, _ inPermissions: Int8, _ inFileTypeHint: UInt32,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  answer("AudioFileOpenURL") { () throws(AudioFileFailure) in
    guard let outAudioFile = unsafe outAudioFile else {
      throw .badArgument("there is nowhere to put the AudioFileID")
    }
    unsafe outAudioFile.pointee = nil
    guard let inFileRef = unsafe inFileRef else { throw .badArgument("the URL is NULL") }
    guard inPermissions == AudioFilePermissions.readPermission.rawValue else {
      throw .notForWriting
    }
    let url = unsafe Unmanaged<CFURL>.fromOpaque(inFileRef).takeUnretainedValue()
    let path = try path(of: url)
    let file: SoundFile
    do throws(SoundFileError) {
      file = try SoundFile(path: path)
    } catch {
      throw .file(error)
    }
    if let warning = file.warning { logger.warning("AudioFileOpenURL: \(warning)") }
    unsafe outAudioFile.pointee = OpaquePointer(bitPattern: openFiles.add { _ in file })
  }
}

private func path(of url: CFURL) throws(AudioFileFailure) -> String {
  if let scheme = CFURLCopyScheme(url) {
    guard CFStringCompare(scheme, "file".cfString, .compareCaseInsensitive) == .compareEqualTo
    else {
      throw .badPath("the URL is not that of a file")
    }
  }
  var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = path.count
  let fits = unsafe path.withUnsafeMutableBufferPointer { buffer in
    unsafe CFURLGetFileSystemRepresentation(url, true, buffer.baseAddress, count)
  }
  guard fits else { throw .badPath("the URL is not that of a file") }
  return String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
}

/// See AudioFileClose in AudioFile.h.
@c @implementation
public func AudioFileClose(_ inAudioFile: AudioFileID) -> OSStatus {
  answer("AudioFileClose") { () throws(AudioFileFailure) in
    let number = UInt(bitPattern: inAudioFile)
    guard number != 0 else { throw .badArgument("the AudioFileID is NULL") }
    guard openFiles.remove(number) != nil else { throw .notOpen }
  }
}

// MARK: Reading

/// See AudioFileReadPackets in AudioFile.h.
@c @implementation
public func AudioFileReadPackets(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ outNumBytes: UnsafeMutablePointer<UInt32>,
  _ outPacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?,
  _ inStartingPacket: Int64, _ ioNumPackets: UnsafeMutablePointer<UInt32>,
  _ outBuffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe readPackets(
    "AudioFileReadPackets", inAudioFile, room: nil, bytes: outNumBytes,
    descriptions: outPacketDescriptions, from: inStartingPacket, packets: ioNumPackets,
    into: outBuffer)
}

/// See AudioFileReadPacketData in AudioFile.h.
@c @implementation
public func AudioFileReadPacketData(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ ioNumBytes: UnsafeMutablePointer<UInt32>,
  _ outPacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?,
  _ inStartingPacket: Int64, _ ioNumPackets: UnsafeMutablePointer<UInt32>,
  _ outBuffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe readPackets(
    "AudioFileReadPacketData", inAudioFile,
    room: isNull(ioNumBytes) ? 0 : ioNumBytes.pointee, bytes: ioNumBytes,
    descriptions: outPacketDescriptions, from: inStartingPacket, packets: ioNumPackets,
    into: outBuffer)
}

/// A packet of linear PCM is one frame. `room` is the size of the buffer in bytes, if it is known.
private func readPackets(
  _ function: String, _ handle: AudioFileID, room: UInt32?,
  bytes: UnsafeMutablePointer<UInt32>,
  descriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?, from start: Int64,
  packets: UnsafeMutablePointer<UInt32>, into buffer: UnsafeMutableRawPointer?
) -> OSStatus {
  answer(function) { () throws(AudioFileFailure) in
    guard unsafe !isNull(bytes), unsafe !isNull(packets) else {
      throw .badArgument("a count is NULL")
    }
    let wanted = unsafe packets.pointee
    unsafe bytes.pointee = 0
    unsafe packets.pointee = 0
    let file = try unsafe file(handle)
    guard start >= 0 else { throw .negativePacket(start) }
    guard wanted > 0 else { return }
    guard let buffer = unsafe buffer else { throw .badArgument("the buffer is NULL") }

    let bytesPerPacket = file.format.bytesPerFrame
    let limit = Int(room ?? .max) / bytesPerPacket
    guard limit > 0 else { throw .badArgument("the buffer has no room for a packet") }
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: buffer, count: min(Int(wanted), limit) * bytesPerPacket)
    let read: Int
    do throws(SoundFileError) {
      read = try unsafe file.readRaw(startingAt: start, frames: Int(wanted), into: memory)
    } catch {
      throw .file(error)
    }
    if let descriptions = unsafe descriptions {
      for packet in 0..<read {
        unsafe descriptions[packet] = AudioStreamPacketDescription(
          mStartOffset: Int64(packet * bytesPerPacket), mVariableFramesInPacket: 0,
          mDataByteSize: UInt32(bytesPerPacket))
      }
    }
    unsafe bytes.pointee = UInt32(read * bytesPerPacket)
    unsafe packets.pointee = UInt32(read)
  }
}

// MARK: Properties

/// The value of a property: some bytes.
private enum PropertyValue {
  case description(AudioStreamBasicDescription)
  case uint32(UInt32)
  case uint64(UInt64)
  case seconds(Double)
  case layout(ChannelLayout)

  var byteCount: Int {
    switch self {
    case .description: MemoryLayout<AudioStreamBasicDescription>.size
    case .uint32: 4
    case .uint64, .seconds: 8
    case .layout(let layout): layout.byteCount
    }
  }

  func write(to memory: UnsafeMutableRawPointer) {
    switch self {
    case .description(let value): unsafe memory.storeBytes(of: value, as: type(of: value))
    case .uint32(let value): unsafe memory.storeBytes(of: value, as: UInt32.self)
    case .uint64(let value): unsafe memory.storeBytes(of: value, as: UInt64.self)
    case .seconds(let value): unsafe memory.storeBytes(of: value, as: Double.self)
    case .layout(let value): unsafe memory.copyMemory(from: value.bytes, byteCount: value.byteCount)
    }
  }
}

private func value(
  of id: AudioFilePropertyID, in file: SoundFile
) throws(AudioFileFailure) -> PropertyValue {
  switch id {
  case kAudioFilePropertyFileFormat: return .uint32(file.container.typeID)
  case kAudioFilePropertyDataFormat: return .description(file.format.streamDescription)
  case kAudioFilePropertyAudioDataByteCount: return .uint64(UInt64(file.byteCount))
  case kAudioFilePropertyAudioDataPacketCount: return .uint64(UInt64(file.frames))
  case kAudioFilePropertyMaximumPacketSize, kAudioFilePropertyPacketSizeUpperBound:
    return .uint32(UInt32(file.format.bytesPerFrame))
  case kAudioFilePropertyEstimatedDuration: return .seconds(file.duration)
  case kAudioFilePropertyBitRate:
    let bitsPerFrame = Double(8 * file.format.bytesPerFrame)
    return .uint32(UInt32(clamping: Int(file.format.sampleRate * bitsPerFrame)))
  case kAudioFilePropertyChannelLayout:
    guard let roles = file.channelRoles else { throw .unsupportedProperty(id) }
    return .layout(ChannelLayout(roles: roles))
  default: throw .unsupportedProperty(id)
  }
}

/// See AudioFileGetPropertyInfo in AudioFile.h.
@c @implementation
public func AudioFileGetPropertyInfo(
  _ inAudioFile: AudioFileID, _ inPropertyID: AudioFilePropertyID,
  _ outDataSize: UnsafeMutablePointer<UInt32>?, _ isWritable: UnsafeMutablePointer<UInt32>?
) -> OSStatus {
  answer("AudioFileGetPropertyInfo") { () throws(AudioFileFailure) in
    unsafe outDataSize?.pointee = 0
    unsafe isWritable?.pointee = 0
    let value = try unsafe value(of: inPropertyID, in: file(inAudioFile))
    unsafe outDataSize?.pointee = UInt32(value.byteCount)
  }
}

/// See AudioFileGetProperty in AudioFile.h.
@c @implementation
public func AudioFileGetProperty(
  _ inAudioFile: AudioFileID, _ inPropertyID: AudioFilePropertyID,
  _ ioDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  answer("AudioFileGetProperty") { () throws(AudioFileFailure) in
    guard unsafe !isNull(ioDataSize), unsafe !isNull(outPropertyData) else {
      throw .badArgument("the value or its size has nowhere to go")
    }
    let value = try unsafe value(of: inPropertyID, in: file(inAudioFile))
    let room = unsafe ioDataSize.pointee
    guard value.byteCount <= Int(room) else {
      throw .propertyTooLarge(size: value.byteCount, room: room)
    }
    unsafe value.write(to: outPropertyData)
    unsafe ioDataSize.pointee = UInt32(value.byteCount)
  }
}

extension Container {
  /// The kind in Core Audio's terms.
  var typeID: AudioFileTypeID {
    switch self {
    case .aiff: kAudioFileAIFFType
    case .aifc: kAudioFileAIFCType
    case .caf: kAudioFileCAFType
    case .wave: kAudioFileWAVEType
    case .rf64: kAudioFileRF64Type
    case .wave64: kAudioFileWave64Type
    case .mp3: kAudioFileMP3Type
    case .mp2: kAudioFileMP2Type
    case .mp1: kAudioFileMP1Type
    case .ac3: kAudioFileAC3Type
    case .adts: kAudioFileAAC_ADTSType
    case .mp4: kAudioFileMPEG4Type
    case .m4a: kAudioFileM4AType
    case .m4b: kAudioFileM4BType
    case .threeGP: kAudioFile3GPType
    case .threeGP2: kAudioFile3GP2Type
    case .amr: kAudioFileAMRType
    case .flac: kAudioFileFLACType
    default: kAudioFileNextType
    }
  }
}
