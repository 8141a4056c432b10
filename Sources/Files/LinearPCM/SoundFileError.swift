import Glibc
import RealTime

/// The reason why a sound file cannot be opened, read or written: file and reason on one line.
package struct SoundFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    case notFound
    case isDirectory
    case permissionDenied
    case tooManyOpenFiles
    /// The file has no bytes at all.
    case empty
    case notASoundFile
    /// The file ends before its sound begins.
    case truncated
    /// The header is invalid; the text says where.
    case damaged(String)
    /// A file type that cannot be read; the text is its name.
    case unsupportedContainer(String)
    /// A codec that cannot be read; the text is its name.
    case unsupportedEncoding(String)
    /// A container that cannot be written, or cannot hold the format; the text says which.
    case unwritable(String)
    /// The file cannot be created because it already exists.
    case exists
    /// The process lacks permission to write there.
    case mayNotWrite
    /// The disk is full.
    case noRoom
    /// The file cannot be written; the text says why.
    case cannotWrite(String)
    /// The file was deleted while it was being written.
    case vanished
    /// The file was opened for reading only.
    case notForWriting
    /// The file was opened for writing only.
    case notForReading
    /// The file would exceed its container's maximum length.
    case tooLong
    /// The file or its container does not support the request; the text says why.
    case notSupported(String)
    /// A callback of the app that stores the file returned an error; the number is the app's.
    case application(Int32)
    /// A system call failed; the number is its errno.
    case system(Int32)
  }

  package let kind: Kind
  package let path: String

  package init(_ kind: Kind, path: String) {
    self.kind = kind
    self.path = path
  }

  /// Creates the error for an errno of `open` or `read`.
  package init(errno code: Int32, path: String) {
    let kind: Kind =
      switch code {
      case ENOENT, ENOTDIR: .notFound
      case EISDIR: .isDirectory
      case EACCES, EPERM: .permissionDenied
      case EMFILE, ENFILE: .tooManyOpenFiles
      default: .system(code)
      }
    self.init(kind, path: path)
  }

  /// Creates the error for an errno that occurred while creating or writing a file.
  package init(writing code: Int32, path: String) {
    let kind: Kind =
      switch code {
      case EEXIST: .exists
      case ENOENT, ENOTDIR: .cannotWrite("there is no such folder")
      case EISDIR: .cannotWrite("this is a directory")
      case EACCES, EPERM, EROFS: .mayNotWrite
      case ENOSPC, EDQUOT: .noRoom
      case EFBIG: .cannotWrite("it is larger than a file may be")
      case EMFILE, ENFILE: .tooManyOpenFiles
      default: .cannotWrite(unsafe String(cString: strerror(code)))
      }
    self.init(kind, path: path)
  }

  /// Returns the error for a file with more channels than can be read; nil if they are not too many.
  static func tooMany(channels: Int, path: String) -> SoundFileError? {
    let most = PCMFormat.maximumChannels
    guard channels > most else { return nil }
    return SoundFileError(
      .notSupported("it has \(channels) channels, and files of up to \(most) can be read"),
      path: path)
  }

  /// One line without a full stop: the file, then the reason.
  package var description: String { "\(path): \(reason)" }

  private var reason: String {
    switch kind {
    case .notFound: "there is no such file"
    case .isDirectory: "this is a directory, not a sound file"
    case .permissionDenied: "you may not read this file"
    case .tooManyOpenFiles: "too many files are open"
    case .empty: "the file is empty"
    case .notASoundFile: "this is not a sound file"
    case .truncated: "the file is cut short: it ends before its sound begins"
    case .damaged(let detail): "the file is damaged: \(detail)"
    case .unsupportedContainer(let name): "\(name) files cannot be read"
    case .unsupportedEncoding(let name): "sound coded as \(name) cannot be read"
    case .unwritable(let words): "\(words) cannot be written"
    case .exists: "the file cannot be written: there is a file of that name already"
    case .mayNotWrite: "the file cannot be written: you may not write here"
    case .noRoom: "the file cannot be written: there is no room left for it"
    case .cannotWrite(let reason): "the file cannot be written: \(reason)"
    case .vanished: "the file was deleted while it was written"
    case .notForWriting: "the file was opened for reading only"
    case .notForReading: "the file was opened for writing only"
    case .tooLong: "the file would be longer than its kind can be"
    case .notSupported(let detail): detail
    case .application(let code): "its function gave the error \(code)"
    case .system(let code): "the file cannot be read: \(unsafe String(cString: strerror(code)))"
    }
  }
}
