import Foundation
import TestSupport
import Testing

@testable import Sessions

/// What other programs do to the files of an open session.
@Suite struct OutsideChangesTests {
  private func withSession(_ body: (SessionStore, String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path + "/s"
      let store = try SessionStore(creating: path, sampleSession())
      try store.apply(.set(try SessionPath("tracks[drums].volume"), .integer(-9)))
      try body(store, path)
    }
  }

  private func write(_ text: String, to path: String) throws {
    try text.write(toFile: path + "/session.json", atomically: true, encoding: .utf8)
  }

  private func write(_ path: String, _ change: (inout SessionDocument) -> Void) throws {
    var document = sampleSession()
    change(&document)
    try write(String(decoding: SessionStore.text(of: document), as: UTF8.self), to: path)
  }

  @Test func whatDoesNotConflictIsMerged() throws {
    try withSession { store, path in
      try write(path) { document in
        document.tracks[1].volume = -2
        document.tracks[0].chain[0].parameters["gain"] = -1
        document.buses[0].gain = -4
        document.connections.removeLast()
        document.buses.removeLast()
        document.scenes[0].values["buses[reverb].gain"] = nil
      }
      var changes: [SessionPath] = []
      try store.mergeOutsideChanges { _, paths in changes = paths }
      expectEqual(
        changes.map(\.description).sorted(),
        [
          "buses[main].gain", "buses[reverb]", "connections",
          #"scenes[soft].values["buses[reverb].gain"]"#, "tracks[bass].gain",
          "tracks[drums].chain[amp].parameters.gain",
        ])
      // A crash keeps both.
      let reading = try SessionStore.read(path)
      expectTrue(reading.document == store.document && reading.restored == 1)
      try store.save()
      let saved = try SessionStore.read(path).document
      expectTrue(saved.tracks.map(\.volume) == [-9, -2] && saved.buses[0].gain == -4)
      expectTrue(saved.tracks[0].chain[0].parameters["gain"] == -1 && saved.connections.count == 1)
    }
  }

  @Test func whatConflictsIsNamedAndNotOverwritten() throws {
    try withSession { store, path in
      try write(path) { $0.tracks[0].volume = -1 }
      let error = #expect(throws: SessionError.self) { try store.mergeOutsideChanges() }
      expectTrue(
        "\(String(describing: error))".contains("(tracks[drums].gain)"),
        "\(String(describing: error))")
      #expect(throws: SessionError.self) { try store.save() }
      let file = "\(path)/session.json"
      let kept = try SessionStore.parse(
        Array(try Data(contentsOf: URL(fileURLWithPath: file))), path: file)
      expectEqual(kept.tracks[0].volume, -1)
      // The file is moved away.
      try FileManager.default.removeItem(atPath: file)
      try store.mergeOutsideChanges()
      try store.save()
      try expectEqual(SessionStore.read(path).document.tracks[0].volume, -9)
    }
  }

  @Test func whatCannotBeReadIsNotOverwritten() throws {
    try withSession { store, path in
      for text in ["{version: 1, tracks: [", "{version: 1, volumme: 2}", ""] {
        try write(text, to: path)
        let error = #expect(throws: SessionError.self) { try store.mergeOutsideChanges() }
        guard case .changedOutside? = error else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(throws: SessionError.self) { try store.save() }
        try expectEqual(String(contentsOfFile: path + "/session.json", encoding: .utf8), text)
      }
    }
  }

  @Test func whatTheRunningSessionCannotTakeIsRefused() throws {
    try withSession { store, path in
      try write(path) { $0.tracks.append(SessionTrack(name: "new", files: ["new.wav"])) }
      let before = store.document
      #expect(throws: SessionError.edit(path: "", reason: "no")) {
        try store.mergeOutsideChanges { _, paths throws(SessionError) in
          expectEqual(paths.map(\.description), ["tracks[new]"])
          throw .edit(path: "", reason: "no")
        }
      }
      expectEqual(store.document, before)
    }
  }

  @Test(arguments: ["deleted", "replaced"]) func aJournalThatIsGoneIsWrittenAnew(how: String) throws
  {
    try withSession { store, path in
      let journal = path + "/session.journal"
      func lose() throws {
        try FileManager.default.removeItem(atPath: journal)
        if how == "replaced" {
          try "another".write(toFile: journal, atomically: true, encoding: .utf8)
        }
      }
      try lose()
      try store.apply(.set(try SessionPath("tracks[bass].gain"), .integer(-5)))
      var reading = try SessionStore.read(path)
      expectTrue(reading.document.tracks.map(\.volume) == [-9, -5] && reading.notices.count == 1)
      try lose()
      try store.keepJournal()
      reading = try SessionStore.read(path)
      expectEqual(reading.document.tracks.map(\.volume), [-9, -5])
      try lose()
      try store.save()
      reading = try SessionStore.read(path)
      expectTrue(reading.document.tracks.map(\.volume) == [-9, -5] && reading.restored == 0)
      try store.apply(.set(try SessionPath("tracks[bass].gain"), .integer(-6)))
      try expectEqual(SessionStore.read(path).restored, 1)
    }
  }

  /// Only folders that a save has announced are removed.
  @Test func statesOfAKilledSaveAreRemovedByTheNextStart() throws {
    try withTemporaryFolder { folder in
      let path = folder.path + "/s"
      func make(_ name: String) throws {
        try FileManager.default.createDirectory(
          atPath: "\(path)/plugins/\(name)", withIntermediateDirectories: true)
      }
      var states: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/plugins")) ?? []).sorted()
      }
      do {
        let store = try SessionStore(creating: path, sampleSession())
        try store.noteStates(["plugins/limiter.lv2", "plugins/limiter-1.lv2", "../outside"])
        for name in ["limiter.lv2", "limiter-1.lv2", "limiter-2.lv2"] { try make(name) }
        try FileManager.default.createDirectory(
          atPath: folder.path + "/outside", withIntermediateDirectories: true)
      }
      _ = try SessionStore.read(path)
      expectEqual(states.count, 3)
      do {
        let store = try SessionStore(opening: path)
        expectTrue(store.notices.isEmpty && !store.isEdited)
        expectEqual(states, ["limiter-2.lv2", "limiter.lv2"])
        // A save removes those that it replaces.
        try store.noteStates(["plugins/limiter-3.lv2", "plugins/limiter.lv2"])
        try make("limiter-3.lv2")
        try store.save { document in
          var document = document
          document.buses[0].chain[0].state = "plugins/limiter-3.lv2"
          return document
        }
        expectEqual(states, ["limiter-2.lv2", "limiter-3.lv2"])
      }
      expectTrue(FileManager.default.fileExists(atPath: folder.path + "/outside"))
    }
  }

  @Test func manyFaultsAreABoundedList() throws {
    let keys = (0..<10_000).map { "k\($0):1" }.joined(separator: ",")
    let lines = faults(in: "{version: 1, \(keys)}")
    expectTrue(lines.count == 101 && lines.last == "9900 more faults are not listed")
    let long = faults(in: "{version: 1, \(String(repeating: "x", count: 1 << 20)): 1}")
    expectTrue(long.count == 1 && long[0].utf8.count < 200)
  }
}
