public import CAudioToolbox
import Codecs
import CoreFoundation
package import Files
import Glibc
import Logging
import RealTime
import System

/// A file that a program has opened.
struct OpenFile: Sendable {
  let media: any MediaFile
  let isReadable: Bool

  /// The table of open files by AudioFileID.
  static let all = HandleTable<OpenFile>()

  /// Returns the file of an AudioFileID. Throws if it is not open for reading.
  static func readable(_ handle: AudioFileID) throws(AudioFileFailure) -> any MediaFile {
    let file = try unsafe find(handle)
    guard file.isReadable else {
      throw .file(SoundFileError(.notForReading, path: file.media.path))
    }
    return file.media
  }

  static func find(_ handle: AudioFileID) throws(AudioFileFailure) -> OpenFile {
    let number = UInt(bitPattern: handle)
    guard number != 0 else { throw .badArgument("the AudioFileID is NULL") }
    guard let file = all.object(number) else { throw .notOpen }
    if file.media.isCalling { throw .busy }
    return file
  }
}

/// The reason why a sound file call fails. The text goes to the log, the code to the caller.
package enum AudioFileFailure: PropertyFailure {
  case badArgument(String)
  case badPath(String)
  case badPermissions(Int8)
  case badType(UInt32)
  case badFormat(String)
  case notOpen
  /// One of the file's own callbacks makes the call.
  case busy
  case negativePosition(Int64)
  case endOfFile
  case noChunk(String)
  case unsupportedProperty(AudioFilePropertyID)
  case notSettable(AudioFilePropertyID)
  case propertyTooLarge(size: Int, room: Int)
  case badPropertySize(AudioFilePropertyID, Int)
  case file(SoundFileError)

  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> AudioFileFailure {
    .badPropertySize(id, size)
  }

  static func noRoom(_ id: UInt32, size: Int, room: Int) -> AudioFileFailure {
    .propertyTooLarge(size: size, room: room)
  }

  package var status: OSStatus {
    switch self {
    case .badArgument, .badPermissions: kAudio_ParamError
    case .badPath: kAudio_BadFilePathError
    case .badType: kAudioFileUnsupportedFileTypeError
    case .badFormat: kAudioFileUnsupportedDataFormatError
    case .notOpen: kAudioFileNotOpenError
    case .negativePosition: kAudioFilePositionError
    case .endOfFile: kAudioFileEndOfFileError
    case .noChunk: kAudioFileInvalidChunkError
    case .unsupportedProperty: kAudioFileUnsupportedPropertyError
    case .notSettable, .busy: kAudioFileOperationNotSupportedError
    case .propertyTooLarge, .badPropertySize: kAudioFileBadPropertySizeError
    case .file(let error): error.status
    }
  }

  package var reason: String {
    switch self {
    case .badArgument(let text), .badPath(let text), .badFormat(let text), .noChunk(let text): text
    case .badPermissions(let number): "\(number) is no permission of a file"
    case .badType(let type): "files of type '\(fourCharacters(type))' are not known"
    case .notOpen: "this is not an open file"
    case .busy: "a file cannot be used by the functions that keep it, while they are called"
    case .negativePosition(let position): "there is no packet or byte \(position)"
    case .endOfFile: "the file ends here"
    case .unsupportedProperty(let id): "the file has no property '\(fourCharacters(id))'"
    case .notSettable(let id): "the property '\(fourCharacters(id))' cannot be set"
    case .propertyTooLarge(let size, let room): "the value has \(size) bytes, the memory \(room)"
    case .badPropertySize(let id, let size):
      "\(size) bytes are no value of the property '\(fourCharacters(id))'"
    case .file(let error): error.description
    }
  }

  /// A request for a property that the file lacks is normal: programs ask for all of them. Reading
  /// up to the end of the file is normal too.
  var level: Logger.Level {
    switch self {
    case .unsupportedProperty, .endOfFile: .debug
    default: .warning
    }
  }
}

extension SoundFileError {
  /// The Core Audio result code.
  var status: OSStatus {
    switch kind {
    case .notFound: kAudioFileFileNotFoundError
    case .permissionDenied, .exists, .mayNotWrite, .notForWriting, .notForReading:
      kAudioFilePermissionsError
    case .tooManyOpenFiles: kAudio_TooManyFilesOpenError
    case .isDirectory, .notASoundFile, .unsupportedContainer: kAudioFileUnsupportedFileTypeError
    case .empty, .truncated, .damaged: kAudioFileInvalidFileError
    case .unsupportedEncoding, .unwritable: kAudioFileUnsupportedDataFormatError
    case .tooLong: kAudioFileDoesNotAllow64BitDataSizeError
    case .notSupported: kAudioFileOperationNotSupportedError
    case .noRoom: dskFulErr
    case .application(let status): status
    case .cannotWrite, .vanished, .system: kAudioFileUnspecifiedError
    }
  }
}

func fourCharacters(_ code: UInt32) -> String {
  let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
  guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return String(code) }
  return String(decoding: bytes, as: UTF8.self)
}

/// Runs a file operation and converts its error.
func onFile<Result>(_ call: @autoclosure () throws(SoundFileError) -> Result)
  throws(AudioFileFailure) -> Result
{
  do throws(SoundFileError) { return try call() } catch { throw .file(error) }
}

// MARK: Opening and closing

/// See AudioFileOpenURL in AudioFile.h. On Linux, Swift cannot declare a C function with a CFURL
/// parameter, so this one takes a raw pointer.
@c(AudioFileOpenURL)
public func openAudioFile(
  _ inFileRef: UnsafeRawPointer?, _ inPermissions: Int8, _ inFileTypeHint: UInt32,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  answer("AudioFileOpenURL") { () throws(AudioFileFailure) in
    try unsafe putHandle(in: outAudioFile, of: OpenFile.all) { () throws(AudioFileFailure) in
      let path = try unsafe path(of: inFileRef)
      let permissions = AudioFilePermissions(rawValue: inPermissions)
      guard let permissions, (1...3).contains(inPermissions) else {
        throw .badPermissions(inPermissions)
      }
      let media = try onFile(
        MediaFiles.open(
          path: path, isWritable: permissions != .readPermission,
          hint: Container(typeID: inFileTypeHint)))
      if let warning = media.warning { log.warning("AudioFileOpenURL: \(warning)") }
      return OpenFile(media: media, isReadable: permissions != .writePermission)
    }
  }
}

/// See AudioFileCreateWithURL in AudioFile.h.
@c(AudioFileCreateWithURL)
public func createAudioFile(
  _ inFileRef: UnsafeRawPointer?, _ inFileType: UInt32,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>?, _ inFlags: UInt32,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  answer("AudioFileCreateWithURL") { () throws(AudioFileFailure) in
    try unsafe putHandle(in: outAudioFile, of: OpenFile.all) { () throws(AudioFileFailure) in
      let path = try unsafe path(of: inFileRef)
      let kind = try unsafe newKind(inFileType, inFormat)
      let flags = AudioFileFlags(rawValue: inFlags)
      return OpenFile(
        media: try onFile(
          MediaFiles.create(
            path: path, container: kind.container, format: kind.format,
            isReplacing: flags.contains(.eraseFile), dataAlignment: flags.dataAlignment)),
        isReadable: true)
    }
  }
}

/// See AudioFileOpenWithCallbacks in AudioFile.h.
@c @implementation
public func AudioFileOpenWithCallbacks(
  _ inClientData: UnsafeMutableRawPointer, _ inReadFunc: @escaping AudioFile_ReadProc,
  _ inWriteFunc: AudioFile_WriteProc?, _ inGetSizeFunc: @escaping AudioFile_GetSizeProc,
  _ inSetSizeFunc: AudioFile_SetSizeProc?, _ inFileTypeHint: AudioFileTypeID,
  _ outAudioFile: UnsafeMutablePointer<AudioFileID?>
) -> OSStatus {
  unsafe answer(
    "AudioFileOpenWithCallbacks", needs: unsafeBitCast(inReadFunc, to: UnsafeRawPointer?.self),
    unsafeBitCast(inGetSizeFunc, to: UnsafeRawPointer?.self)
  ) { () throws(AudioFileFailure) in
    try unsafe putHandle(in: outAudioFile, of: OpenFile.all) { () throws(AudioFileFailure) in
      let store = unsafe CallbackStore(
        inClientData, read: inReadFunc, write: inWriteFunc, getSize: inGetSizeFunc,
        setSize: inSetSizeFunc)
      return OpenFile(
        media: try onFile(MediaFiles.open(store, hint: Container(typeID: inFileTypeHint))),
        isReadable: true)
    }
  }
}

/// See AudioFileInitializeWithCallbacks in AudioFile.h.
@c @implementation
public func AudioFileInitializeWithCallbacks(
  _ inClientData: UnsafeMutableRawPointer, _ inReadFunc: @escaping AudioFile_ReadProc,
  _ inWriteFunc: @escaping AudioFile_WriteProc, _ inGetSizeFunc: @escaping AudioFile_GetSizeProc,
  _ inSetSizeFunc: @escaping AudioFile_SetSizeProc, _ inFileType: AudioFileTypeID,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: AudioFileFlags,
  _ outAudioFile: UnsafeMutablePointer<AudioFileID?>
) -> OSStatus {
  unsafe answer(
    "AudioFileInitializeWithCallbacks",
    needs: unsafeBitCast(inReadFunc, to: UnsafeRawPointer?.self),
    unsafeBitCast(inWriteFunc, to: UnsafeRawPointer?.self),
    unsafeBitCast(inGetSizeFunc, to: UnsafeRawPointer?.self),
    unsafeBitCast(inSetSizeFunc, to: UnsafeRawPointer?.self), inFormat
  ) { () throws(AudioFileFailure) in
    try unsafe putHandle(in: outAudioFile, of: OpenFile.all) { () throws(AudioFileFailure) in
      let kind = try unsafe newKind(inFileType, inFormat)
      let store = unsafe CallbackStore(
        inClientData, read: inReadFunc, write: inWriteFunc, getSize: inGetSizeFunc,
        setSize: inSetSizeFunc)
      return OpenFile(
        media: try onFile(
          MediaFiles.create(
            store, container: kind.container, format: kind.format,
            dataAlignment: inFlags.dataAlignment)),
        isReadable: true)
    }
  }
}

extension AudioFileFlags {
  var dataAlignment: Int64 { contains(.dontPageAlignAudioData) ? 1 : 4096 }
}

/// Checks and returns the container and the format of a new file.
func newKind(
  _ type: AudioFileTypeID, _ format: UnsafePointer<AudioStreamBasicDescription>?
) throws(AudioFileFailure) -> (container: Container, format: StreamFormat) {
  guard let container = Container(typeID: type) else { throw .badType(type) }
  guard let description = unsafe format?.pointee else { throw .badArgument("the format is NULL") }
  guard let format = StreamFormat(description) else {
    throw .badFormat("the format '\(fourCharacters(description.mFormatID))' is not a valid one")
  }
  guard MediaFiles.canWrite(format, in: container) else {
    throw .badFormat("\(container) files that we write do not hold \(format.words)")
  }
  return (container, format)
}

/// Returns the file system path of a CFURL.
func path(of reference: UnsafeRawPointer?) throws(AudioFileFailure) -> String {
  guard let reference = unsafe reference else { throw .badArgument("the URL is NULL") }
  let url = unsafe Unmanaged<CFURL>.fromOpaque(reference).takeUnretainedValue()
  if let scheme = CFURLCopyScheme(url._core) {
    guard
      CFStringCompare(scheme._bridged, "file".cfString, .compareCaseInsensitive) == .compareEqualTo
    else {
      throw .badPath("the URL is not that of a file")
    }
  }
  var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = path.count
  let fits = unsafe path.withUnsafeMutableBufferPointer { buffer in
    unsafe CFURLGetFileSystemRepresentation(url._core, true, buffer.baseAddress, count)
  }
  guard fits else { throw .badPath("the URL is not that of a file") }
  return String(systemName: path.prefix { $0 != 0 })
}

/// See AudioFileClose in AudioFile.h.
@c @implementation
public func AudioFileClose(_ inAudioFile: AudioFileID) -> OSStatus {
  answer("AudioFileClose") { () throws(AudioFileFailure) in
    let media = try unsafe OpenFile.find(inAudioFile).media
    guard OpenFile.all.remove(UInt(bitPattern: inAudioFile)) != nil else { throw .notOpen }
    try onFile(media.close())
  }
}

/// See AudioFileOptimize in AudioFile.h.
@c @implementation
public func AudioFileOptimize(_ inAudioFile: AudioFileID) -> OSStatus {
  answer("AudioFileOptimize") { () throws(AudioFileFailure) in
    let media = try unsafe OpenFile.find(inAudioFile).media
    try onFile(media.optimize())
  }
}
