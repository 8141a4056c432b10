import Glibc
import System

/// Copies the sound files and SoundFonts of a session that lie outside its folder into the folder `audio`.
///
/// Any thread; blocks. Nothing is overwritten. After an interruption, another run continues: files
/// that are complete are not copied again.
package struct SessionCollection {
  package static let audioFolder = "audio"

  /// A file that was collected.
  package struct Item: Sendable, Equatable, Codable {
    /// Absolute path of the original.
    package let source: String
    /// Path in the document.
    package let file: String
    /// Size in bytes.
    package let bytes: Int64
    /// Whether the same contents were there already, so that nothing was copied.
    package let wasThere: Bool
  }

  /// The outcome of a run.
  package struct Outcome: Sendable, Equatable {
    package var items: [Item] = []
    /// Files that could not be collected, and why.
    package var remarks: [String] = []
  }

  private let store: SessionStore
  /// Returns why a file is neither a sound file nor a SoundFont; nil if it is one. Other files are not copied: a session
  /// may come from a stranger, and its folder may go to one.
  private let reasonAgainst: (_ path: String) -> String?

  package init(_ store: SessionStore, reasonAgainst: @escaping (_ path: String) -> String?) {
    self.store = store
    self.reasonAgainst = reasonAgainst
  }

  /// Copies the files and changes their paths in the document, one after another. The caller saves
  /// the session.
  ///
  /// - Parameter report: Is called after each file.
  /// - Throws: `SessionError`: the folder cannot be written. What was collected before stays so.
  package func run(report: (Item) -> Void = { _ in }) throws(SessionError) -> Outcome {
    var outcome = Outcome()
    var known: [Name: Item] = [:]
    /// Returns the path of a file in the document once it is collected; nil if that stays as it is.
    func place(_ name: String) throws(SessionError) -> String? {
      let source = store.folder.location(of: name)
      if isInside(source) {
        if isLink(source) {
          outcome.remarks.append("\(source): a symbolic link, which is not followed")
        }
        return nil
      }
      if let item = known[Name(source)] { return item.file }
      if let reason = reasonAgainst(source) {
        outcome.remarks.append(reason)
        return nil
      }
      let item = try collect(source)
      known[Name(source)] = item
      outcome.items.append(item)
      report(item)
      return item.file
    }
    for (index, track) in store.document.tracks.enumerated() {
      var files = track.files
      for (number, name) in files.enumerated() {
        guard let file = try place(name) else { continue }
        files[number] = file
        let path = SessionPath([.key("tracks"), .index(index), .key("file")])
        try store.apply(.set(path, files.count == 1 ? .text(files[0]) : files.json))
      }
    }
    for (path, name) in store.document.soundFonts + store.document.impulses {
      if let file = try place(name) { try store.apply(.set(path, .text(file))) }
    }
    for (_, plugin) in store.document.plugins {
      guard let folder = try store.folder.pathOfFolder(plugin.stateFolder) else { continue }
      outcome.remarks += links(in: folder)
    }
    return outcome
  }

  private func isInside(_ path: String) -> Bool {
    path.beginsWithBytes(of: "\(store.folder.path)/")
  }

  private func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path.systemName, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Returns a remark for each link in the folder of a state that leads out of the session.
  private func links(in folder: String) -> [String] {
    var remarks: [String] = []
    for name in names(inFolder: folder) ?? [] {
      let path = "\(folder)/\(name)"
      guard isLink(path), let real = resolvedPath(path) else { continue }
      if !isInside(real) { remarks.append("\(path): the plugin uses \(real), which is not copied") }
    }
    return remarks.sorted()
  }

  /// Copies a file under the first free name, or finds its copy.
  private func collect(_ source: String) throws(SessionError) -> Item {
    let folder = store.folder
    let input = unsafe open(source.systemName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard input >= 0 else { throw SessionFolder.failure("open", source) }
    defer { close(input) }
    var status = stat()
    guard unsafe fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw .unsafePath(file: source, reason: "it is not a plain file")
    }
    let size = Int64(status.st_size)
    let last = source.pathNames.last.map(String.init) ?? "sound"
    let part = "\(Self.audioFolder)/.collect.part"
    var isCopied = false
    defer { if isCopied { try? folder.remove(part) } }
    for number in 1... {
      let file = "\(Self.audioFolder)/\(Self.name(last, number))"
      if try folder.holds(file) {
        if try same(input, size, file) {
          return Item(source: source, file: file, bytes: size, wasThere: true)
        }
        continue
      }
      if !isCopied {
        try copy(input, source, to: part)
        isCopied = true
      }
      if try folder.publish(part, as: file) {
        isCopied = false
        return Item(source: source, file: file, bytes: size, wasThere: false)
      }
    }
    throw .exists(file: "\(folder.path)/\(Self.audioFolder)/\(last)")
  }

  /// Returns a file's name with a number before its extension, if the number is not 1.
  private static func name(_ file: String, _ number: Int) -> String {
    let end = file.pathExtension.utf8.count <= 32 ? String(file.pathExtension) : ""
    var stem = end.isEmpty ? file : String(file.pathStem)
    // A hidden file, or the name of a file that is being copied.
    if let rest = stem.bytes(after: ".") { stem = "_\(rest)" }
    let suffix = number == 1 ? end : "-\(number)\(end)"
    while stem.utf8.count + suffix.utf8.count > 255 { stem.unicodeScalars.removeLast() }
    return stem + suffix
  }

  /// Copies an open file into the folder, and waits until it is on disk.
  private func copy(_ input: CInt, _ source: String, to part: String) throws(SessionError) {
    let path = "\(store.folder.path)/\(part)"
    _ = try store.folder.pathForWriting(part)
    // The rest of a run that was interrupted.
    try store.folder.remove(part)
    let output = try store.folder.open(part, O_WRONLY | O_CREAT | O_EXCL)
    defer { close(output) }
    guard lseek(input, 0, SEEK_SET) == 0 else { throw SessionFolder.failure("read", source) }
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe read(input, &buffer, buffer.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw SessionFolder.failure("read", source)
      }
      if count == 0 { break }
      try SessionFolder.write(Array(buffer[..<count]), to: output, path: path)
    }
    guard fsync(output) == 0 else { throw SessionFolder.failure("write", path) }
  }

  /// Returns whether a file of the folder has the contents of an open file.
  private func same(_ input: CInt, _ size: Int64, _ file: String) throws(SessionError) -> Bool {
    let other: CInt
    do throws(SessionError) {
      other = try store.folder.open(file, O_RDONLY)
    } catch {
      // A link, or not a plain file.
      if case .unsafePath = error { return false }
      throw error
    }
    defer { close(other) }
    var status = stat()
    guard unsafe fstat(other, &status) == 0, Int64(status.st_size) == size else { return false }
    var a = [UInt8](repeating: 0, count: 1 << 18)
    var b = a
    var offset: Int64 = 0
    while offset < size {
      let first = unsafe pread(input, &a, a.count, off_t(offset))
      guard first > 0 else { return false }
      var count = 0
      while count < first {
        let second = unsafe b.withUnsafeMutableBytes { b in
          unsafe pread(other, b.baseAddress! + count, first - count, off_t(offset) + count)
        }
        guard second > 0 else { return false }
        count += second
      }
      guard a[..<first] == b[..<first] else { return false }
      offset += Int64(first)
    }
    return true
  }
}
