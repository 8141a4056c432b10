import FoundationEssentials
import Glibc
package import Graph
import System

/// The files of a saved state: checks before they are read, and after they were written. Any thread; blocks.
enum StateFolder {
  private static func failure(_ path: String, _ code: CInt = errno) -> HostError {
    unsafe .unwritableState(folder: path, reason: String(cString: strerror(code)))
  }

  /// Returns the error of the system behind one of Foundation's.
  static func reason(of error: any Error) -> String {
    let cocoa = error as? CocoaError
    let code = unsafe (cocoa?.userInfo["NSUnderlyingError"] as? POSIXError)?.code
    return code.map { unsafe String(cString: strerror($0.rawValue)) } ?? "\(error)"
  }

  /// Returns the kind of what has a path, without following a link; nil if there is nothing.
  private static func kind(of path: String) -> mode_t? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// Refuses a folder whose state is no plain file, or in which a file is a pipe, a device or a socket, or leads
  /// to one. Nothing is opened.
  ///
  /// - Throws: `HostError.unsafeState`.
  static func check(_ folder: String) throws(HostError) {
    let state = "\(folder)/\(PluginState.file)"
    if let kind = kind(of: state), kind != S_IFREG { throw .unsafeState(path: state) }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let path = "\(folder)/\(name)"
      var status = stat()
      // A link that leads nowhere is no danger.
      guard unsafe stat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFREG: break
      // A folder behind a link may be any.
      case S_IFDIR: if kind(of: path) == S_IFDIR { try check(path) }
      default: throw .unsafeState(path: path)
      }
    }
  }

  /// Writes a file, waits until it is on disk, and compares it with what was to be written.
  ///
  /// - Throws: `HostError.unwritableState`.
  static func write(_ text: String, to path: String) throws(HostError) {
    let bytes = Array(text.utf8)
    let file = unsafe open(
      path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard file >= 0 else { throw failure(path) }
    defer { close(file) }
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(file, bytes.baseAddress! + done, bytes.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(path, count < 0 ? errno : EIO) }
      done += count
    }
    guard fsync(file) == 0 else { throw failure(path) }
    var offset = 0
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe pread(file, &part, part.count, off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count >= 0, part[..<max(0, count)] == bytes[offset..<min(bytes.count, offset + count)]
      else { throw failure(path, EIO) }
      if count == 0 { break }
      offset += count
    }
    guard offset == bytes.count else { throw failure(path, EIO) }
  }

  /// Waits until a folder with all its files is on disk, and compares the files with their originals.
  ///
  /// - Parameter originals: The folder of the files from which those of this one were copied. Not every file
  ///   has an original.
  /// - Throws: `HostError.unwritableState`.
  static func settle(_ folder: String, copiedFrom originals: String?) throws(HostError) {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw failure(folder)
    }
    for name in names {
      let (path, original) = ("\(folder)/\(name)", originals.map { "\($0)/\(name)" })
      switch kind(of: path) {
      case S_IFREG:
        try synchronize(path, O_RDONLY | O_NOFOLLOW)
        if let original, kind(of: original) == S_IFREG {
          guard FileManager.default.contentsEqual(atPath: path, andPath: original) else {
            throw .unwritableState(folder: path, reason: "the copy is not whole")
          }
        }
      case S_IFDIR: try settle(path, copiedFrom: original)
      default: break
      }
    }
    // The topmost one may be reached by a link.
    try synchronize(folder, O_RDONLY | O_DIRECTORY)
  }

  private static func synchronize(_ path: String, _ flags: CInt) throws(HostError) {
    let file = unsafe open(path, flags | O_CLOEXEC)
    guard file >= 0 else { throw failure(path) }
    defer { close(file) }
    guard fsync(file) == 0 else { throw failure(path) }
  }
}

extension PluginState {
  /// Checks that a state's folder has nothing but plain files, folders, and links to such.
  ///
  /// - Throws: `HostError.unsafeState`.
  package static func check(_ folder: String) throws(HostError) { try StateFolder.check(folder) }

  /// Copies a saved state to another folder, which is created, and waits until it is on disk. Links lead to the same
  /// files as before.
  ///
  /// - Throws: `HostError.unwritableState`, or `.unsafeState` if the folder has something that is no plain file.
  package static func copy(_ folder: String, to other: String) throws(HostError) {
    try StateFolder.check(folder)
    do {
      try copyContents(of: folder, to: other) { target, _ in target }
    } catch {
      throw .unwritableState(folder: other, reason: StateFolder.reason(of: error))
    }
    try StateFolder.settle(other, copiedFrom: folder)
  }
}
