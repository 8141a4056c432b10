import CAudioToolbox
package import Files
import Glibc
import Logging
import RealTime
import System

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
