import FileSupport
import Foundation
import Sessions
import Testing

@Suite struct SessionStoreTests {
  let folder: TemporaryFolder
  /// Path of the folder, without doubled slashes.
  let root: String
  let session: String
  init() throws {
    folder = try TemporaryFolder()
    root = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
    session = root + "/duo"
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(session)/\(name)", encoding: .utf8)
  }
  private func mode(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(session)/\(name)")
    return try require(attributes[.posixPermissions] as? Int)
  }
  private func setVolume(_ decibels: Int) throws -> SessionEdit {
    .set(try SessionPath("tracks[drums].volume"), .integer(Int64(decibels)))
  }

  @Test func aSessionIsCreatedSavedAndOpenedAgain() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      expectTrue(!store.isEdited && store.notices.isEmpty)
      try store.apply(setVolume(-6))
      expectTrue(store.isEdited)
      try store.save()
      expectTrue(!store.isEdited)
      try expectEqual(text("session.journal"), "")
    }
    var expected = sampleSession()
    expected.tracks[0].volume = -6
    let store = try SessionStore(opening: session)
    expectTrue(store.document == expected && store.notices.isEmpty && !store.isEdited)
    #expect(throws: SessionError.locked(folder: store.folder.path)) {
      try SessionStore(opening: session)
    }
    // Reading needs no lock.
    try expectEqual(SessionStore.read(session).document, expected)
    let files = try FileManager.default.contentsOfDirectory(atPath: session)
    expectEqual(files.sorted(), ["session.journal", "session.json", "session.lock"])
    expectTrue(try mode("session.journal") == 0o600 && mode("session.lock") == 0o600)
  }

  @Test func aSecondSessionInAFolderIsRefused() throws {
    _ = try SessionStore(creating: session, sampleSession())
    #expect(throws: SessionError.exists(file: "\(session)/session.json")) {
      try SessionStore(creating: session, SessionDocument())
    }
    try expectEqual(SessionStore.read(session).document, sampleSession())
  }

  @Test func anEditCanBeSavedAlone() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      try store.apply(setVolume(-12))
    }
    func bass(_ decibels: Int64) throws -> SessionEdit {
      .set(try SessionPath("tracks[bass].gain"), .integer(decibels))
    }
    for decibels in [-1, -2] as [Int64] {
      let store = try SessionStore(opening: session, savesAll: false)
      expectEqual(store.notices, ["\(session): with 1 edit that was not saved"])
      try store.apply(bass(decibels))
      try store.save()
      let reading = try SessionStore.read(session)
      expectEqual(reading.edits.map(\.words), [try setVolume(-12).words])
      expectEqual(reading.document.tracks.map(\.volume).prefix(2), [-12, Double(decibels)])
      expectTrue(try !text("session.json").contains("-12"))
    }
    // The same value: the later edit is the one that counts.
    do {
      let store = try SessionStore(opening: session, savesAll: false)
      try store.apply(setVolume(-3))
      try store.save()
      expectEqual(store.document.tracks[0].volume, -3)
    }
    let store = try SessionStore(opening: session)
    expectEqual(store.document.tracks.map(\.volume).prefix(2), [-3, -2])
    expectTrue(try text("session.json").contains("\"gain\" : -3"))
    try store.save()
    expectTrue(try text("session.journal").isEmpty)
  }

  @Test func editsThatWereNotSavedAreRestored() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      try store.save()
      for number in 1...3 { try store.apply(setVolume(-number)) }
      // An edit that changes nothing is none.
      try store.apply(setVolume(-3))
    }
    // To read it restores nothing.
    try expectEqual(
      SessionStore.read(session).notices, ["\(session): with 3 edits that were not saved"])
    for _ in 0..<2 {
      let store = try SessionStore(opening: session)
      expectEqual(store.notices, ["\(session): restored 3 edits that were not saved"])
      expectTrue(store.document.tracks[0].volume == -3 && store.isEdited)
    }
    do {
      let store = try SessionStore(opening: session)
      try store.apply(setVolume(-10))
    }
    let store = try SessionStore(opening: session)
    expectEqual(store.notices, ["\(session): restored 4 edits that were not saved"])
    expectEqual(store.document.tracks[0].volume, -10)
    try store.save()
    expectTrue(try SessionStore.read(session).notices.isEmpty)
    expectTrue(try text("session.json").contains("\"gain\" : -10"))
  }

  /// Every length at which a power failure can cut the journal off.
  @Test func aJournalIsRestoredUpToItsFirstDamage() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      for number in 1...3 { try store.apply(setVolume(-number)) }
    }
    let path = "\(session)/session.journal"
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    let ends = whole.indices.filter { whole[$0] == 0x0A }.map { $0 + 1 }
    expectEqual(ends.count, 4)
    for length in 0...whole.count {
      try whole.prefix(length).write(to: URL(fileURLWithPath: path))
      let reading = try SessionStore.read(session)
      let lines = ends.filter { $0 <= length }.count
      expectEqual(reading.restored, max(0, lines - 1), "\(length)")
      expectEqual(reading.document.tracks[0].volume, (lines < 2 ? -3.5 : -Double(lines - 1)))
      expectEqual(
        reading.notices.contains { $0.contains("damaged from line \(lines + 1)") },
        !([0] + ends)
          .contains(length))
    }
    // A flipped bit.
    for position in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[position] ^= 4
      try bytes.write(to: URL(fileURLWithPath: path))
      let line = ends.filter { $0 <= position }.count
      try expectEqual(SessionStore.read(session).restored, max(0, line - 1), "\(position)")
    }
    // What is written behind damage is restored, too.
    try whole.prefix(ends[2] + 5).write(to: URL(fileURLWithPath: path))
    do {
      let store = try SessionStore(opening: session)
      expectEqual(store.document.tracks[0].volume, -2)
      try store.apply(setVolume(-20))
    }
    let reading = try SessionStore.read(session)
    expectTrue(reading.document.tracks[0].volume == -20 && reading.restored == 3)
  }

  /// The process ends between two steps of a save.
  @Test func aSaveThatIsCutOffLosesAndRepeatsNothing() throws {
    var before: [String: Data] = [:]
    var after: [String: Data] = [:]
    func contents() throws -> [String: Data] {
      try ["session.json", "session.journal"].reduce(into: [:]) {
        $0[$1] = try Data(contentsOf: URL(fileURLWithPath: "\(session)/\($1)"))
      }
    }
    func put(_ name: String, _ data: Data?) throws {
      try data?.write(to: URL(fileURLWithPath: "\(session)/\(name)"))
    }
    var expected = sampleSession()
    do {
      let store = try SessionStore(creating: session, sampleSession())
      // An edit that would fail if it were repeated.
      let track = JSONValue.table(["name": .text("pad"), "file": .text("pad.wav")])
      try store.apply(.add(try SessionPath("tracks"), track, at: nil))
      before = try contents()
      expected = store.document
      try store.save()
      after = try contents()
    }
    let journal = try require(before["session.journal"])
    // The mark of the save is written, session.json is not.
    let sum = try require(after["session.json"]).reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    func line(_ json: String) -> Data {
      let sum = json.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
        ($0 ^ UInt64($1)) &* 0x100_0000_01b3
      }
      return Data((String(format: "%016lx ", Int(bitPattern: UInt(sum))) + json + "\n").utf8)
    }
    let marked =
      journal + line("{\"saving\":\"\(String(format: "%016lx", Int(bitPattern: UInt(sum))))\"}")
    try put("session.json", before["session.json"])
    try put("session.journal", marked)
    try expectEqual(SessionStore.read(session).restored, 1)
    try expectEqual(SessionStore.read(session).document, expected)
    // session.json is written, the journal is not emptied.
    try put("session.json", after["session.json"])
    try expectEqual(SessionStore.read(session).restored, 0)
    try expectEqual(SessionStore.read(session).document, expected)
    do {
      let store = try SessionStore(opening: session)
      try store.apply(setVolume(-1))
    }
    let reading = try SessionStore.read(session)
    expectTrue(reading.restored == 1 && reading.document.tracks[0].volume == -1)
  }

  /// An edit in the journal that the document refuses ends the restoration; later edits are not lost behind it.
  @Test func anEditThatCannotBeRestoredIsSetAside() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      try store.apply(setVolume(-1))
      try store.apply(.set(try SessionPath("tracks[bass].volume"), .integer(-2)))
      try store.apply(setVolume(-3))
    }
    // The second edit names another track, with the right checksum.
    let path = "\(session)/session.journal"
    var lines = try text("session.journal").split(separator: "\n").map(String.init)
    let json = lines[2].dropFirst(17).replacingOccurrences(of: "bass", with: "none")
    let sum = json.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    lines[2] = String(format: "%016lx ", Int(bitPattern: UInt(sum))) + json
    let broken = lines.joined(separator: "\n") + "\n"
    try broken.write(toFile: path, atomically: false, encoding: .utf8)
    do {
      let store = try SessionStore(opening: session)
      expectEqual(store.document.tracks.map(\.volume), [-1, 0])
      expectTrue(
        store.notices.count == 2 && store.notices[0].contains("the edit 2 and those after it"))
      try expectEqual(text("session.journal.old"), broken)
      try store.apply(setVolume(-8))
    }
    let reading = try SessionStore.read(session)
    expectTrue(reading.document.tracks[0].volume == -8 && reading.restored == 2)
  }

  @Test func aJournalOfAnotherFileIsSetAside() throws {
    do {
      let store = try SessionStore(creating: session, sampleSession())
      try store.apply(setVolume(-1))
    }
    let journal = try text("session.journal")
    try "{version: 1, name: 'Edited by hand'} // not JSON"
      .write(toFile: "\(session)/session.json", atomically: false, encoding: .utf8)
    let store = try SessionStore(opening: session)
    expectEqual(store.document, SessionDocument(name: "Edited by hand"))
    expectEqual(
      store.notices,
      [
        "\(session)/session.journal: its edits (1) belong to another session.json and are not restored; they are kept in session.journal.old"
      ])
    try expectEqual(text("session.journal.old"), journal)
    try store.save()
    try expectEqual(
      text("session.json"), "{\n  \"name\" : \"Edited by hand\",\n  \"version\" : 1\n}\n")
  }

  @Test func aLongJournalIsRewritten() throws {
    do {
      let store = try SessionStore(creating: session, SessionDocument(name: "a"))
      for number in 0..<4500 {
        try store.apply(.set(try SessionPath("name"), .text("name \(number)")))
      }
    }
    let lines = try text("session.journal").split(separator: "\n").count
    expectTrue(lines < 500)
    let reading = try SessionStore.read(session)
    expectTrue(reading.document.name == "name 4499" && reading.restored == lines - 1)
  }

  @Test func permissionsOfTheFileAreKept() throws {
    let store = try SessionStore(creating: session, sampleSession())
    for mode in [0o600, 0o664] {
      expectEqual(chmod("\(session)/session.json", mode_t(mode)), 0)
      try store.apply(setVolume(-mode / 8))
      try store.save()
      try expectEqual(self.mode("session.json"), mode)
    }
  }

  // MARK: Hostile folders

  @Test(arguments: ["session.json", "session.journal", "session.lock"])
  func symbolicLinksAreNotFollowed(name: String) throws {
    let outside = root + "/outside"
    try SessionStore(creating: session, sampleSession()).save()
    let original = try text("session.json")
    try original.write(toFile: outside, atomically: false, encoding: .utf8)
    try FileManager.default.removeItem(atPath: "\(session)/\(name)")
    try FileManager.default.createSymbolicLink(
      atPath: "\(session)/\(name)", withDestinationPath: outside)
    let error = try #require(throws: SessionError.self) { try SessionStore(opening: session) }
    expectEqual(
      "\(error)",
      "\(session)/\(name): a symbolic link, which could lead out of the session's folder, is not followed"
    )
    try expectEqual(String(contentsOfFile: outside, encoding: .utf8), original)
  }

  @Test func aPipeDoesNotBlock() throws {
    try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: true)
    expectEqual(mkfifo("\(session)/session.json", 0o600), 0)
    let error = try #require(throws: SessionError.self) { try SessionStore.read(session) }
    expectEqual("\(error)", "\(session)/session.json: it is not a plain file")
  }

  @Test func aLinkBesideTheSessionIsNotWrittenThrough() throws {
    let store = try SessionStore(creating: session, sampleSession())
    let outside = root + "/outside"
    try "precious".write(toFile: outside, atomically: false, encoding: .utf8)
    // The name of the temporary file.
    try FileManager.default.createSymbolicLink(
      atPath: "\(session)/.session.json.new", withDestinationPath: outside)
    try store.apply(setVolume(-1))
    try store.save()
    try expectEqual(String(contentsOfFile: outside, encoding: .utf8), "precious")
    try expectEqual(SessionStore.read(session).document.tracks[0].volume, -1)
  }

  @Test func pathsForWritingStayInside() throws {
    let store = try SessionStore(creating: session, sampleSession())
    let outside = root + "/outside"
    try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(session)/link", withDestinationPath: outside)
    try expectEqual(store.folder.pathForWriting("takes/a/b.wav"), "\(session)/takes/a/b.wav")
    try expectEqual(store.folder.pathOfFolder("takes/a"), "\(session)/takes/a")
    try expectNil(store.folder.pathOfFolder("nothing/here"))
    for path in ["link", "link/a.wav", "../a.wav", "/tmp/a.wav", "a/../../b", "", "a/"] {
      let error = try #require(throws: SessionError.self) { try store.folder.pathForWriting(path) }
      guard case .unsafePath = error else {
        Issue.record("\(path): \(error)")
        continue
      }
    }
    #expect(throws: SessionError.self) { try store.folder.pathOfFolder("link") }
    expectTrue(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
  }

  @Test func filesTooLargeAreRefused() throws {
    try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: true)
    let path = "\(session)/session.json"
    expectTrue(FileManager.default.createFile(atPath: path, contents: nil))
    expectEqual(truncate(path, 1 << 40), 0)
    #expect(
      throws: SessionError.tooLarge(file: path, bytes: 1 << 40, limit: SessionStore.mostBytes)
    ) { try SessionStore.read(session) }
  }

  @Test func aFolderWithoutASessionIsNamed() throws {
    let error = try #require(throws: SessionError.self) { try SessionStore.read(session) }
    expectEqual("\(error)", "cannot open \(session): No such file or directory")
    try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: true)
    let other = try #require(throws: SessionError.self) { try SessionStore.read(session) }
    expectEqual(
      "\(other)", "cannot open \(session)/session.json: no such file: this folder is no session")
  }

  // MARK: Names of files

  @Test func filesAreNamedRelativeToTheFolderWhereTheyAreNear() throws {
    let parent = root + "/music/rig"
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    let inside = try SessionFolder(creating: parent + "/duo")
    for (location, name) in [
      ("\(parent)/duo/audio/a.wav", "audio/a.wav"), ("\(parent)/a.wav", "../a.wav"),
      ("\(parent)/../sounds/a.wav", "../../sounds/a.wav"),
      ("\(parent)/../../a.wav", root + "/a.wav"), ("/usr/share/a.wav", "/usr/share/a.wav"),
    ] {
      expectEqual(inside.name(for: location), name)
      expectEqual(
        inside.location(of: name), URL(fileURLWithPath: location).standardizedFileURL.path)
    }
  }
}
