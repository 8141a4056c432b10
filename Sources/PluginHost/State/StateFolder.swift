import Glibc
package import Graph
import System

/// The files of a saved state: checks before they are read, and after they were written. Any thread; blocks.
enum StateFolder {
  static func failure(_ path: String, _ code: CInt = errno) -> HostError {
    unsafe .unwritableState(folder: path, reason: String(cString: strerror(code)))
  }

  /// Refuses a folder whose state is no plain file, or in which a file is a pipe, a device or a socket, or leads
  /// to one. Nothing is opened.
  ///
  /// - Throws: `HostError.unsafeState`.
  static func check(_ folder: String) throws(HostError) {
    let state = "\(folder)/\(PluginState.file)"
    if let kind = fileKind(state), kind != S_IFREG { throw .unsafeState(path: state) }
    for name in names(inFolder: folder) ?? [] {
      let path = "\(folder)/\(name)"
      var status = stat()
      // A link that leads nowhere is no danger.
      guard unsafe stat(path.systemName, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFREG: break
      // A folder behind a link may be any.
      case S_IFDIR: if fileKind(path) == S_IFDIR { try check(path) }
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
      path.systemName, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard file >= 0 else { throw failure(path) }
    defer { close(file) }
    guard writeAll(bytes[...], to: file) else { throw failure(path) }
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
    guard let names = names(inFolder: folder) else { throw failure(folder) }
    for name in names {
      let (path, original) = ("\(folder)/\(name)", originals.map { "\($0)/\(name)" })
      switch fileKind(path) {
      case S_IFREG:
        try synchronize(path, O_RDONLY | O_NOFOLLOW)
        if let original, fileKind(original) == S_IFREG, !haveSameContents(path, original) {
          throw .unwritableState(folder: path, reason: "the copy is not whole")
        }
      case S_IFDIR: try settle(path, copiedFrom: original)
      default: break
      }
    }
    // The topmost one may be reached by a link.
    try synchronize(folder, O_RDONLY | O_DIRECTORY)
  }

  private static func synchronize(_ path: String, _ flags: CInt) throws(HostError) {
    let file = unsafe open(path.systemName, flags | O_CLOEXEC)
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
    try copyContents(of: folder, to: other) { target, _ in target }
    try StateFolder.settle(other, copiedFrom: folder)
  }
}
