import Synchronization
import System

/// An open session: its document, its folder and its journal.
///
/// Any thread; calls block while they write.
package final class SessionStore: Sendable {
  package let folder: SessionFolder
  private let lock: FileLock
  private let journal: SessionJournal
  /// Messages about what happened when the session was opened, such as restored edits.
  package let notices: [String]

  private struct State {
    var document: SessionDocument
    /// The document of `session.json`, as it was read or written last, and the file's checksum.
    var saved: SessionDocument
    var base: FNVHash
    /// Whether the document has edits that `session.json` does not have.
    var isEdited: Bool
    /// Edits that a save leaves in the journal, and those that it saves; nil if it saves all.
    var amendment: Amendment?
  }
  private struct Amendment {
    let unsaved: [SessionEdit]
    var made: [SessionEdit] = []
  }
  private let state: Mutex<State>

  package static let file = "session.json"
  /// The greatest `session.json` that is read.
  package static let mostBytes: Int64 = 8 << 20
  /// The journal is rewritten as one edit when it has more edits or bytes than these.
  private static let mostEdits = 4096
  private static let mostJournalBytes: Int64 = 8 << 20

  // MARK: Opening

  /// Creates a session in a folder, which is created if there is none.
  ///
  /// - Throws: `SessionError`; `exists` if the folder has a session.
  package init(creating path: String, _ document: SessionDocument) throws(SessionError) {
    folder = try SessionFolder(creating: path)
    lock = try folder.lock()
    if try folder.holds(Self.file) { throw .exists(file: "\(folder.path)/\(Self.file)") }
    let bytes = try Self.writableText(of: document, folder)
    if let doubt = try folder.replace(Self.file, with: bytes) { throw doubt }
    // A journal without a session belongs to nothing.
    if try folder.holds(SessionJournal.file) {
      try folder.rename(SessionJournal.file, to: SessionJournal.oldFile)
    }
    journal = try SessionJournal(folder, continuing: SessionJournal.Contents())
    notices = []
    state = Mutex(
      State(document: document, saved: document, base: FNVHash(bytes), isEdited: false))
  }

  /// Opens a session, locks it, and restores the edits of its journal.
  ///
  /// The values have the right form. Names and files may be wrong all the same: `SessionCheck`
  /// tells.
  ///
  /// - Parameter savesAll: Whether a save writes the edits of the journal, too. Otherwise they stay there.
  /// - Throws: `SessionError`.
  package init(opening path: String, savesAll: Bool = true) throws(SessionError) {
    folder = try SessionFolder(opening: path)
    lock = try folder.lock()
    let reading = try Self.read(folder)
    notices =
      savesAll
      ? reading.messages + Self.notice(folder, "restored", reading.restored) : reading.notices
    var contents = reading.journal
    let isPartial = reading.restored < contents.edits.count
    if isPartial || contents.foreignEdits > 0 || contents.damagedLine == 1 {
      try folder.rename(SessionJournal.file, to: SessionJournal.oldFile)
      contents = SessionJournal.Contents()
    }
    journal = try SessionJournal(folder, continuing: contents)
    // Edits after one that cannot be restored would be lost again.
    if isPartial, reading.restored > 0 {
      try journal.compact(to: reading.document, base: reading.base)
    }
    state = Mutex(
      State(
        document: reading.document, saved: reading.saved, base: reading.base,
        isEdited: reading.restored > 0,
        amendment: savesAll || reading.restored == 0
          ? nil : Amendment(unsaved: Array(reading.edits))))
    // The rest of a save that was killed.
    if !isPartial { removeStates(contents.states, without: reading.document) }
  }

  /// A session as read from its folder.
  package struct Reading: Sendable {
    package let document: SessionDocument
    /// The document without the edits of the journal.
    fileprivate let saved: SessionDocument
    /// Number of edits from the journal.
    package let restored: Int
    /// The journal's faults, and the number of edits that are not saved.
    package var notices: [String] { messages + SessionStore.notice(folder, "with", restored) }
    fileprivate let folder: SessionFolder
    fileprivate let messages: [String]
    /// The edits that are only in the journal, and can be restored.
    package var edits: ArraySlice<SessionEdit> { journal.edits.prefix(restored) }
    fileprivate let base: FNVHash
    fileprivate let journal: SessionJournal.Contents
  }

  /// Reads a session with the edits of its journal, without locking or changing anything.
  ///
  /// - Throws: `SessionError`.
  package static func read(_ path: String) throws(SessionError) -> Reading {
    try read(try SessionFolder(opening: path))
  }

  private static func read(_ folder: SessionFolder) throws(SessionError) -> Reading {
    let path = "\(folder.path)/\(file)"
    guard let bytes = try folder.contents(of: file, limit: mostBytes) else {
      throw .system(
        file: path, action: "open", code: 2, text: "no such file: this folder is no session")
    }
    let document = try parse(bytes, path: path)
    let base = FNVHash(bytes)
    var contents = SessionJournal.Contents()
    if let bytes = try folder.contents(of: SessionJournal.file, limit: SessionJournal.mostBytes) {
      contents = SessionJournal.read(bytes, for: base)
    }
    let journalPath = "\(folder.path)/\(SessionJournal.file)"
    var notices: [String] = []
    if let line = contents.damagedLine {
      notices.append("\(journalPath): damaged from line \(line) on; edits from there are lost")
    }
    if contents.foreignEdits > 0 {
      notices.append(
        "\(journalPath): its edits (\(contents.foreignEdits)) belong to another \(file) and are not restored; "
          + "they are kept in \(SessionJournal.oldFile)")
    }
    let (restored, number) = replay(contents.edits, on: document, &notices, journalPath)
    return Reading(
      document: restored, saved: document, restored: number, folder: folder, messages: notices,
      base: base, journal: contents)
  }

  /// Returns the document with as many of the edits as can be applied, and their number.
  private static func replay(
    _ edits: [SessionEdit], on document: SessionDocument, _ notices: inout [String],
    _ journal: String
  ) -> (SessionDocument, Int) {
    if edits.isEmpty { return (document, 0) }
    // Together, as they were checked one by one when they were made.
    if let edited = try? document.edited(edits) { return (edited, edits.count) }
    var document = document
    for (index, edit) in edits.enumerated() {
      do throws(SessionError) {
        try document.apply(edit)
      } catch {
        notices.append(
          "\(journal): the edit \(index + 1) and those after it cannot be restored: \(error); "
            + "they are kept in \(SessionJournal.oldFile)")
        return (document, index)
      }
    }
    return (document, edits.count)
  }

  /// Returns the message about edits that are not saved, if there are some.
  private static func notice(_ folder: SessionFolder, _ verb: String, _ edits: Int) -> [String] {
    if edits == 0 { return [] }
    let count = edits == 1 ? "1 edit that was" : "\(edits) edits that were"
    return ["\(folder.path): \(verb) \(count) not saved"]
  }

  /// Parses the text of a `session.json`.
  ///
  /// - Parameter path: The file's name in error messages.
  /// - Throws: `SessionError`: `syntax`, or `faults` with all values of a wrong form.
  package static func parse(_ bytes: [UInt8], path: String) throws(SessionError) -> SessionDocument
  {
    let json: JSONValue
    do throws(JSON5Fault) {
      json = try JSON5Parser.parse(bytes)
    } catch {
      throw .syntax(file: path, line: error.line, column: error.column, reason: error.reason)
    }
    var faults = SessionFaults()
    // Later versions have keys and values that this one does not know.
    if let version = json.members?["version"]?.int64,
      version > Int64(SessionDocument.currentVersion)
    {
      let message =
        "this session has version \(version); this program reads up to version \(SessionDocument.currentVersion)"
      throw .faults(file: path, [SessionFault(.error, SessionPath([.key("version")]), message)])
    }
    SessionShape.record(SessionDocument.shape).check(json, at: .root, &faults)
    guard faults.isEmpty, let document = SessionDocument(json: json) else {
      throw .faults(file: path, faults.list)
    }
    return document
  }

  /// Returns the text of a document's `session.json`.
  package static func text(of document: SessionDocument) -> [UInt8] {
    document.json.bytes(isPretty: true) + [0x0A]
  }

  /// Returns the text to write, unless it would be too large to be read again.
  private static func writableText(of document: SessionDocument, _ folder: SessionFolder)
    throws(SessionError) -> [UInt8]
  {
    let bytes = text(of: document)
    guard bytes.count <= mostBytes else {
      throw .tooLarge(
        file: "\(folder.path)/\(file)", bytes: Int64(bytes.count), limit: mostBytes)
    }
    return bytes
  }

  // MARK: Editing and saving

  package var document: SessionDocument { state.withLock { $0.document } }

  /// Whether the document has edits that are only in the journal.
  package var isEdited: Bool { state.withLock { $0.isEdited } }

  /// Applies an edit, and writes it to the journal.
  ///
  /// - Throws: `SessionError`. The document is then unchanged.
  package func apply(_ edit: SessionEdit) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      let document = try state.document.edited([edit])
      if document == state.document { return }
      if journal.isGone {
        try journal.compact(to: document, base: state.base)
      } else {
        try journal.append(edit, base: state.base)
      }
      state.document = document
      state.isEdited = true
      state.amendment?.made.append(edit)
      if journal.editCount > Self.mostEdits || journal.byteCount > Self.mostJournalBytes {
        // If that fails, the journal is whole and just longer, or refuses the next edit.
        try? journal.compact(to: document, base: state.base)
      }
    }
  }

  /// Writes the journal anew if another program has deleted it.
  package func keepJournal() throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      if state.isEdited, journal.isGone {
        try journal.compact(to: state.document, base: state.base)
      }
    }
  }

  /// Notes the folders of plugin states that a save is about to write or replace. Those that the document
  /// does not name are removed by the next save that succeeds, or when the session is opened again.
  package func noteStates(_ states: [String]) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      if states.isEmpty { return }
      if journal.isGone { try journal.compact(to: state.document, base: state.base) }
      try journal.noteStates(states, base: state.base)
    }
  }

  /// Removes the folders of states that a failed save has written, unless the document names them.
  package func dropStates(_ states: [String]) {
    state.withLock { state in
      removeStates(states, without: state.document)
      journal.rollBack()
    }
  }

  private func removeStates(_ states: some Sequence<String>, without document: SessionDocument) {
    let used = Set(document.plugins.compactMap(\.plugin.state))
    for name in states where name.hasPrefix("plugins/") && !used.contains(name) {
      folder.removeFolder(name)
    }
  }

  /// Takes over what another program has written into `session.json` since it was read, as far as the
  /// document's own edits do not differ there. It is then in the document, and the journal belongs to the new
  /// file.
  ///
  /// - Parameter adopt: Takes the values over where the session runs; it throws if it cannot. It gets the
  ///   paths that the other program has changed, too.
  /// - Throws: `SessionError.changedOutside` with the paths that differ; `adopt`'s error. Nothing has changed
  ///   then.
  package func mergeOutsideChanges(
    _ adopt: (SessionDocument, [SessionPath]) throws(SessionError) -> Void = { _, _ in }
  ) throws(SessionError) {
    let path = "\(folder.path)/\(Self.file)"
    let seen = state.withLock { $0 }
    guard let bytes = try changedFile(seen.base) else { return }
    let theirs: SessionDocument
    do throws(SessionError) {
      theirs = try Self.parse(bytes, path: path)
    } catch {
      throw .changedOutside(file: path, what: "\(error)")
    }
    let merge = SessionMerge(base: seen.saved, own: seen.document, other: theirs)
    guard merge.conflicts.isEmpty else {
      throw .changedOutside(file: path, what: SessionMerge.words(for: merge.conflicts))
    }
    let document: SessionDocument
    do throws(SessionError) {
      document = try seen.document.edited([.replace(merge.merged)])
    } catch {
      throw .changedOutside(file: path, what: "\(error)")
    }
    try adopt(document, merge.changes)
    try state.withLock { state throws(SessionError) in
      let base = FNVHash(bytes)
      try journal.compact(to: document, base: base)
      state.document = document
      state.saved = theirs
      state.base = base
      state.isEdited = document != theirs
    }
  }

  /// Returns the contents of `session.json` if another program has changed it; nil if it is as it was
  /// read or written last, or missing.
  private func changedFile(_ base: FNVHash) throws(SessionError) -> [UInt8]? {
    guard let bytes = try folder.contents(of: Self.file, limit: Self.mostBytes) else { return nil }
    return FNVHash(bytes) == base ? nil : bytes
  }

  /// Writes `session.json`, removes the states that it no longer names, and empties the journal. After a
  /// crash, the old or the new file is there, whole, with the edits that it lacks in the journal, and the
  /// states that it names.
  ///
  /// - Parameter change: Returns the document to save, from the present one.
  /// - Throws: `SessionError`; `changedOutside` if another program has changed the file. The edits are then
  ///   still in the journal. The document is the old one, unless the new one is written already and only a
  ///   power failure can bring the old file back.
  package func save(_ change: (SessionDocument) -> SessionDocument = { $0 }) throws(SessionError) {
    try state.withLock { state throws(SessionError) in
      if let amendment = state.amendment { return try save(amendment, &state) }
      let document = change(state.document)
      if try changedFile(state.base) != nil {
        throw .changedOutside(file: "\(folder.path)/\(Self.file)", what: "a moment ago")
      }
      let bytes = try Self.writableText(of: document, folder)
      let sum = FNVHash(bytes)
      if state.isEdited, journal.isGone {
        try journal.compact(to: state.document, base: state.base)
      }
      try journal.noteSave(sum, base: state.base)
      let doubt = try folder.replace(Self.file, with: bytes)
      state.document = document
      state.saved = document
      state.base = sum
      // The journal belongs to both files, and both have their states.
      journal.keepNotes()
      if let doubt { throw doubt }
      state.isEdited = false
      removeStates(journal.states, without: document)
      // A journal that stays says itself that its edits are saved.
      try? journal.clear()
    }
  }

  /// Writes the edits that this program has made into `session.json`, and leaves those from before in the journal.
  /// After a crash, the old or the new file is there, with the edits that it lacks in the journal.
  private func save(_ amendment: Amendment, _ state: inout State) throws(SessionError) {
    let document = try state.saved.edited(amendment.made)
    if try changedFile(state.base) != nil {
      throw .changedOutside(file: "\(folder.path)/\(Self.file)", what: "a moment ago")
    }
    let bytes = try Self.writableText(of: document, folder)
    let sum = FNVHash(bytes)
    if journal.isGone { try journal.compact(to: state.document, base: state.base) }
    // An edit of the same value comes later than the one from before.
    let isIndependent = (try? document.edited(amendment.unsaved)) == state.document
    let rest = isIndependent ? amendment.unsaved : [.replace(state.document.json)]
    // The journal belongs to both files. What follows the note is missing in the new one.
    try journal.noteSave(sum, base: state.base)
    for edit in rest { try journal.append(edit, base: state.base) }
    journal.synchronize()
    let doubt = try folder.replace(Self.file, with: bytes)
    state.saved = document
    state.base = sum
    state.isEdited = document != state.document
    state.amendment = Amendment(unsaved: rest)
    journal.keepNotes()
    if let doubt { throw doubt }
  }

  /// Drops the edits that only the journal has.
  ///
  /// - Returns: False if there are none.
  package func revert() throws(SessionError) -> Bool {
    try state.withLock { state throws(SessionError) in
      guard state.isEdited else { return false }
      removeStates(journal.states, without: state.saved)
      try journal.clear()
      state.document = state.saved
      state.isEdited = false
      return true
    }
  }

  /// Waits until all edits are on disk.
  package func synchronize() { journal.synchronize() }
}
