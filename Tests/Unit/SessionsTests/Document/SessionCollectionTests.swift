import FileSupport
import Foundation
import System
import Testing

@testable import Sessions

@Suite struct SessionCollectionTests {
  let folder: TemporaryFolder
  let root: String
  let session: String
  init() throws {
    folder = try TemporaryFolder()
    root = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
    session = root + "/set"
    for name in ["a", "b"] {
      try FileManager.default.createDirectory(
        atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
  }

  private func put(_ text: String, _ path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }
  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
  }

  /// A session of a track per list of files.
  private func make(_ files: [[String]]) throws -> SessionStore {
    var document = SessionDocument(name: "set")
    document.tracks = files.enumerated().map { SessionTrack(name: "t\($0)", files: $1) }
    return try SessionStore(creating: session, document)
  }

  /// Swift takes a slash and a combining mark for one character, and two ways to write é for one name.
  @Test func namesAreComparedAsBytes() throws {
    let names = ["caf\u{E9}.wav", "cafe\u{301}.wav"]
    for name in names { try put("\(name.utf8.count)", "\(root)/a/\(name)") }
    try put("mark", "\(root)/\u{301}x/\u{301}y.wav")
    let store = try make(names.map { ["\(root)/a/\($0)"] } + [["\(root)/\u{301}x/\u{301}y.wav"]])
    let outcome = try SessionCollection(store) { _ in nil }.run()
    expectEqual(outcome.items.count, 3)
    let files = store.document.tracks.map { $0.files[0] }
    for (file, name) in zip(files, names + ["\u{301}y.wav"]) {
      expectEqual(Array(file.utf8), Array("audio/\(name)".utf8))
    }
    expectTrue(try text("\(session)/\(files[0])") == "9" && text("\(session)/\(files[1])") == "10")
  }

  /// A folder beside the session's whose name begins with a combining mark is outside.
  @Test func aCombiningMarkLeadsNowhere() throws {
    let store = try make([])
    expectTrue(store.folder.location(of: "/\u{301}x").utf8.elementsEqual("/\u{301}x".utf8))
    #expect(throws: SessionError.self) { try store.folder.pathForWriting("/\u{301}escaped/x.wav") }
    #expect(throws: SessionError.self) { try store.folder.pathForWriting("a/../\u{301}b/../../x") }
    expectTrue(!TextRule.pathWritten.allows("/\u{301}tmp/x.wav"))
    expectTrue(!TextRule.pathWritten.allows("../\u{301}x.wav"))
    expectTrue(!TextRule.pathWritten.allows(".\u{301}hidden"))
  }

  /// A name that is not UTF-8 is written into the document, read again and found.
  @Test func aNameThatIsNotUTF8IsCollected() throws {
    let name = String(systemName: [0x63, 0xE9] + Array(".wav".utf8))
    expectTrue(makeFolders("\(root)/a"))
    let file = open("\(root)/a/\(name)".systemName, O_WRONLY | O_CREAT, 0o600)
    expectTrue(file >= 0)
    close(file)
    _ = try make([["\(root)/a/\(name)"]]).save()
    let store = try SessionStore(opening: session)
    let outcome = try SessionCollection(store) { _ in nil }.run()
    expectEqual(outcome.items.map(\.file), ["audio/\(name)"])
    expectEqual(names(inFolder: "\(session)/audio")?.map { Array($0.utf8) }, [Array(name.utf8)])
  }

  @Test func filesOutsideAreCopiedOnceAndUnderNewNames() throws {
    try put("one", "\(root)/a/kick.wav")
    try put("two", "\(root)/b/kick.wav")
    try put("three", "\(root)/b/no extension")
    try put("precious", "\(session)/audio/kick.wav")
    let store = try make([
      ["\(root)/a/kick.wav"], ["../b/kick.wav", "\(root)/a/kick.wav", "audio/kick.wav"],
      ["\(root)/b/no extension"],
    ])
    let outcome = try SessionCollection(store) { _ in nil }.run()
    expectEqual(
      store.document.tracks.map(\.files),
      [
        ["audio/kick-2.wav"], ["audio/kick-3.wav", "audio/kick-2.wav", "audio/kick.wav"],
        ["audio/no extension"],
      ])
    expectTrue(outcome.items.map(\.bytes) == [3, 3, 5] && outcome.remarks.isEmpty)
    expectTrue(outcome.items.allSatisfy { !$0.wasThere })
    try expectEqual(text("\(session)/audio/kick.wav"), "precious")
    try expectEqual(text("\(session)/audio/kick-2.wav"), "one")
    try expectEqual(text("\(session)/audio/kick-3.wav"), "two")
    try expectEqual(
      FileManager.default.contentsOfDirectory(atPath: session + "/audio").sorted(),
      [
        "kick-2.wav", "kick-3.wav", "kick.wav", "no extension",
      ])
    expectTrue(try SessionCollection(store) { _ in nil }.run().items.isEmpty)
  }

  @Test func anInterruptedRunIsContinued() throws {
    try put("one", "\(root)/a/kick.wav")
    let store = try make([["\(root)/a/kick.wav"]])
    // The first run copied the file and was killed before the edit, the next one in the middle of a copy.
    try put("one", "\(session)/audio/kick.wav")
    try put("o", "\(session)/audio/.collect.part")
    let outcome = try SessionCollection(store) { _ in nil }.run()
    expectEqual(outcome.items.map(\.wasThere), [true])
    expectEqual(store.document.tracks[0].files, ["audio/kick.wav"])
  }

  @Test func otherFilesAndLinksAreNotCopied() throws {
    try put("key", "\(root)/a/secret")
    try put("precious", "\(root)/a/precious")
    let store = try make([["\(root)/a/secret"], ["audio/link.wav"], ["/nowhere/x.wav"]])
    try FileManager.default.createDirectory(
      atPath: session + "/audio", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: session + "/audio/link.wav", withDestinationPath: "\(root)/a/secret")
    let outcome = try SessionCollection(store) { "\($0): not a sound file" }.run()
    expectEqual(
      outcome.remarks,
      [
        "\(root)/a/secret: not a sound file",
        "\(session)/audio/link.wav: a symbolic link, which is not followed",
        "/nowhere/x.wav: not a sound file",
      ])
    expectEqual(store.document.tracks[0].files, ["\(root)/a/secret"])
  }

  @Test func aFolderThatIsALinkIsNotWrittenThrough() throws {
    try put("one", "\(root)/a/kick.wav")
    let store = try make([["\(root)/a/kick.wav"]])
    try FileManager.default.createSymbolicLink(
      atPath: session + "/audio", withDestinationPath: "\(root)/b")
    let error = try #require(throws: SessionError.self) {
      try SessionCollection(store) { _ in nil }.run()
    }
    expectTrue("\(error)".contains("a symbolic link"), "\(error)")
    expectTrue(try FileManager.default.contentsOfDirectory(atPath: "\(root)/b").isEmpty)
  }
}
