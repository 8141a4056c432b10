import Dispatch
import Glibc
import Synchronization
import System

/// The journal of the edits that `session.json` does not have yet: a text file, a line per edit.
///
/// A line is a checksum of 16 hexadecimal digits, a space, and JSON. The first line has the
/// checksum of the `session.json` that the edits belong to. A save first appends the folders of plugin
/// states that it writes or replaces, and the new file's checksum. Then it replaces `session.json`, removes
/// the old states, and empties the journal. So a crash in between loses no edit, repeats none, and leaves
/// no state that nobody removes.
///
/// Each edit is written before `append` returns, and is therefore safe when the process is killed.
/// It is on disk, and so safe from a power failure, at most a second later.
package final class SessionJournal: Sendable {
  package static let file = "session.journal"
  /// A journal that was set aside because its edits belong to another `session.json`.
  package static let oldFile = "session.journal.old"
  /// The greatest size that is read. `SessionStore` rewrites a journal long before it reaches that.
  static let mostBytes: Int64 = 64 << 20

  private struct State {
    var descriptor: CInt
    /// Edits in the file.
    var edits: Int
    var bytes: Int64
    /// The folders of states that saves have written or replaced since the journal was empty.
    var states: Set<String>
    /// The part of the file that a save has written which is under way.
    var saving: Range<Int64> = 0..<0
    var isSynchronizing = false
    /// Set while half a line may be behind the last whole one.
    var isTorn = false
    /// A write that failed in the background.
    var failure: SessionError?
  }
  private let state: Mutex<State>
  private let path: String
  private let folder: SessionFolder
  private static let queue = DispatchQueue(label: "cuejack.session-journal", qos: .utility)

  /// Opens or creates the journal of a folder, and drops everything behind its undamaged part.
  ///
  /// - Parameter contents: The undamaged part, as read before.
  init(_ folder: SessionFolder, continuing contents: Contents) throws(SessionError) {
    let descriptor = try folder.open(Self.file, O_RDWR | O_CREAT | O_APPEND, mode: 0o600)
    path = "\(folder.path)/\(Self.file)"
    self.folder = folder
    guard ftruncate(descriptor, off_t(contents.validBytes)) == 0 else {
      let error = SessionFolder.failure("write", path)
      close(descriptor)
      throw error
    }
    state = Mutex(
      State(
        descriptor: descriptor, edits: contents.editCount, bytes: Int64(contents.validBytes),
        states: contents.states))
  }

  deinit {
    state.withLock { state in
      _ = fdatasync(state.descriptor)
      close(state.descriptor)
    }
  }

  /// Number of edits in the file.
  var editCount: Int { state.withLock { $0.edits } }
  /// Size of the file.
  var byteCount: Int64 { state.withLock { $0.bytes } }

  /// The folders of states that saves have written or replaced since the journal was empty.
  var states: Set<String> { state.withLock { $0.states } }

  /// Whether another program has deleted the file, or put another one in its place.
  var isGone: Bool { state.withLock { !folder.holds($0.descriptor, as: Self.file) } }

  /// Appends an edit.
  ///
  /// - Parameter base: Checksum of the `session.json` that the journal's edits belong to.
  func append(_ edit: SessionEdit, base: FNVHash) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      if let failure = state.failure { throw failure }
      try write(edit.json, base, &state)
      state.edits += 1
      synchronizeSoon(&state)
    }
  }

  /// Notes the folders of states that a save is about to write or replace, and waits until they are on disk.
  func noteStates(_ states: [String], base: FNVHash) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      let start = state.bytes
      try writeNow(Self.line(of: states), base, &state)
      state.saving = start..<state.bytes
      state.states.formUnion(states)
    }
  }

  /// Notes the checksum of the `session.json` that is about to be written, and waits until all is
  /// on disk.
  func noteSave(_ checksum: FNVHash, base: FNVHash) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      let start = state.saving.upperBound == state.bytes ? state.saving.lowerBound : state.bytes
      try writeNow(.table(["saving": .text(checksum.text)]), base, &state)
      state.saving = start..<state.bytes
    }
  }

  /// Keeps what a save has noted: `session.json` is written.
  func keepNotes() { state.withLock { $0.saving = 0..<0 } }

  /// Takes back what a save has noted that has changed nothing. Its notes stay if edits have followed them.
  func rollBack() {
    state.withLock { state in
      guard !state.saving.isEmpty, state.saving.upperBound == state.bytes,
        ftruncate(state.descriptor, off_t(state.saving.lowerBound)) == 0
      else { return }
      state.bytes = state.saving.lowerBound
      state.saving = 0..<0
    }
  }

  /// Empties the journal.
  func clear() throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      guard ftruncate(state.descriptor, 0) == 0 else { throw SessionFolder.failure("write", path) }
      state.bytes = 0
      state.edits = 0
      state.states = []
      state.saving = 0..<0
      state.isTorn = false
      state.failure = nil
    }
  }

  /// Replaces all edits by one that sets the whole document. Writes the file anew if it is gone.
  func compact(to document: SessionDocument, base: FNVHash) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      var bytes = Self.header(base) + Self.line(SessionEdit.replace(document.json).json)
      if !state.states.isEmpty { bytes += Self.line(Self.line(of: state.states.sorted())) }
      try folder.replace(Self.file, with: bytes, mode: 0o600)
      let descriptor: CInt
      do throws(SessionError) {
        descriptor = try folder.open(Self.file, O_RDWR | O_APPEND)
      } catch {
        // The open file has no name any more: what is written to it would be lost.
        state.failure = error
        throw error
      }
      close(state.descriptor)
      state.descriptor = descriptor
      state.bytes = Int64(bytes.count)
      state.edits = 1
      state.saving = 0..<0
      state.isTorn = false
      state.failure = nil
    }
  }

  /// Appends a line, behind the first one if there is none.
  private func write(_ json: JSONValue, _ base: FNVHash, _ state: inout State) throws(SessionError)
  {
    // Half a line would hide the lines after it.
    if state.isTorn {
      guard ftruncate(state.descriptor, off_t(state.bytes)) == 0 else {
        throw SessionFolder.failure("write", path)
      }
      state.isTorn = false
    }
    let lines = (state.bytes == 0 ? Self.header(base) : []) + Self.line(json)
    do throws(SessionError) {
      try SessionFolder.write(lines, to: state.descriptor, path: path)
    } catch {
      state.isTorn = ftruncate(state.descriptor, off_t(state.bytes)) != 0
      throw error
    }
    state.bytes += Int64(lines.count)
  }

  /// Appends a line, and waits until all is on disk.
  private func writeNow(_ json: JSONValue, _ base: FNVHash, _ state: inout State)
    throws(SessionError)
  {
    let start = state.bytes
    try write(json, base, &state)
    guard fdatasync(state.descriptor) == 0 else {
      let error = SessionFolder.failure("write", path)
      if ftruncate(state.descriptor, off_t(start)) == 0 { state.bytes = start }
      throw error
    }
  }

  /// Schedules a write of the file's data to disk, within a second.
  private func synchronizeSoon(_ state: inout State) {
    guard !state.isSynchronizing else { return }
    state.isSynchronizing = true
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(500)) { [weak self] in
      self?.synchronize()
    }
  }

  /// Waits until all edits are on disk.
  package func synchronize() {
    state.withLock { state in
      state.isSynchronizing = false
      if fdatasync(state.descriptor) != 0, state.failure == nil {
        state.failure = SessionFolder.failure("write", path)
      }
    }
  }

  // MARK: Lines

  private static func line(_ json: JSONValue) -> [UInt8] {
    let bytes = json.bytes(isPretty: false)
    return Array("\(FNVHash(bytes).text) ".utf8) + bytes + [0x0A]
  }

  private static func line(of states: [String]) -> JSONValue {
    .table(["states": .list(states.map { .text($0) })])
  }

  private static func header(_ base: FNVHash) -> [UInt8] {
    line(.table(["base": .text(base.text), "version": .integer(1)]))
  }

  /// The undamaged part of a journal.
  struct Contents {
    /// The edits that are not in `session.json`.
    var edits: [SessionEdit] = []
    /// The edits in the file, with those that a save has carried out.
    var editCount = 0
    /// The folders of states that saves have written or replaced.
    var states: Set<String> = []
    /// Length of the undamaged part; 0 if it is not continued.
    var validBytes = 0
    /// Number of the first damaged line; nil if there is none.
    var damagedLine: Int?
    /// Edits that belong to another `session.json`.
    var foreignEdits = 0
  }

  /// Reads a journal up to the first damaged line.
  ///
  /// - Parameter checksum: Checksum of the current `session.json`.
  static func read(_ bytes: [UInt8], for checksum: FNVHash) -> Contents {
    var contents = Contents()
    var base: String?
    var edits: [SessionEdit] = []
    // The number of edits before the last save that was carried out.
    var saved: Int?
    var number = 0
    var start = 0
    while start < bytes.count {
      number += 1
      let end = bytes[start...].firstIndex(of: 0x0A)
      guard let end, let json = value(of: bytes[start..<end]) else {
        contents.damagedLine = number
        break
      }
      if number == 1 {
        guard let text = json.members?["base"]?.string, json.members?["version"] == .integer(1)
        else {
          contents.damagedLine = 1
          break
        }
        base = text
      } else if let text = json.members?["saving"]?.string {
        if text == checksum.text { saved = edits.count }
      } else if let states = json.members?["states"]?.elements {
        contents.states.formUnion(states.compactMap(\.string))
      } else {
        do throws(SessionError) {
          edits.append(try SessionEdit(json: json))
        } catch {
          contents.damagedLine = number
          break
        }
      }
      start = end + 1
    }
    if let saved {
      contents.edits = Array(edits[saved...])
    } else if base == checksum.text {
      contents.edits = edits
    } else {
      contents.foreignEdits = edits.count
      contents.states = []
      return contents
    }
    contents.editCount = edits.count
    contents.validBytes = start
    return contents
  }

  /// Returns the JSON of a line; nil if it is damaged.
  private static func value(of line: ArraySlice<UInt8>) -> JSONValue? {
    guard line.count > 17, line[line.startIndex + 16] == 0x20 else { return nil }
    let json = Array(line.dropFirst(17))
    guard String(decoding: line.prefix(16), as: UTF8.self) == FNVHash(json).text else {
      return nil
    }
    return try? JSON5Parser.parse(json)
  }
}
