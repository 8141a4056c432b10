import CAudioToolbox
import Files
import Glibc

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
