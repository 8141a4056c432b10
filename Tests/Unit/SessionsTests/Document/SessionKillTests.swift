import FileSupport
import Foundation
import Sessions
import TestSupport
import Testing

/// A process that edits and saves a session is killed at random moments. `make proof` does that 1,000 times.
@Suite(.tags(.program)) struct SessionKillTests {
  @Test func aKilledProcessLosesAtMostItsLastEdit() throws {
    let folder = try TemporaryFolder()
    let session = folder.file("killed")
    var expected = SessionDocument(name: "edit 0")
    do { _ = try SessionStore(creating: session, expected) }
    let editor = try builtProduct(named: "session-editor")
    var count = 0
    var restored = 0
    for round in 0..<(proof == nil ? 60 : 1000) {
      let output = folder.file("output")
      let process = Process()
      process.executableURL = editor
      process.arguments = [session]
      expectTrue(FileManager.default.createFile(atPath: output, contents: nil))
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
      process.standardOutput = file
      try process.run()
      // Some processes are killed before the session is open, the others after some edits, at any moment of the next.
      if round % 8 != 0 { try waitForMore(than: Int.random(in: 0...40), linesIn: output) }
      usleep(UInt32.random(in: 0...5000))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      try file.close()
      let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
      // The kill may have cut the last line off.
      let text = try String(contentsOfFile: output, encoding: .utf8)
      let whole = text.hasSuffix("\n") ? lines[...] : lines.dropLast()
      let told = whole.compactMap { Int($0.split(separator: " ").last ?? "") }.last ?? count

      let reading = try SessionStore.read(session)
      restored += reading.restored
      // A damaged or foreign journal would be told of. A line that was cut off is the last edit.
      expectTrue(
        reading.notices.allSatisfy { !$0.contains("belong") && !$0.contains("cannot be restored") },
        "round \(round): \(reading.notices)")
      let found = Script.count(of: reading.document)
      expectTrue(found == told || found == told + 1, "round \(round): \(found), told \(told)")
      while count < found {
        count += 1
        try expected.apply(Script.edit(count, in: expected))
      }
      expectEqual(reading.document, expected, "round \(round)")
      guard reading.document == expected else { return }
    }
    // Otherwise, nothing was tried.
    expectTrue(count > 60 && restored > 0, "\(count) edits, \(restored) restored")
    print("\(count) edits; the journals had \(restored) in all")
  }
}

/// Waits until a file has more than this many lines.
private func waitForMore(than count: Int, linesIn path: String) throws {
  let deadline = Date(timeIntervalSinceNow: 60)
  while Date() < deadline {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    if text.utf8.count(where: { $0 == 0x0A }) > count { return }
    usleep(1000)
  }
  Issue.record("the editor makes no edits")
}

/// The script of Tests/Support/SessionEditor.
private enum Script {
  static func count(of document: SessionDocument) -> Int {
    ([document.name] + document.tracks.map(\.name))
      .compactMap { Int($0.split(separator: " ").last ?? "") }.max() ?? 0
  }

  static func edit(_ number: Int, in document: SessionDocument) throws -> SessionEdit {
    if number % 2 == 1 { return .set(try SessionPath("name"), .text("edit \(number)")) }
    if document.tracks.count < 20 {
      return .add(
        try SessionPath("tracks"),
        .table(["name": .text("track \(number)"), "file": .text("a.wav")]), at: 0)
    }
    return .set(try SessionPath("tracks[\(number / 2 % 20)].name"), .text("track \(number)"))
  }
}
