import FileSupport
import Foundation
import System
import Testing

/// Names of files are bytes, whatever characters they make.
@Suite struct FileNameTests {
  @Test(
    arguments: [
      Array("plain.wav".utf8), Array("Café.wav".utf8), [0x63, 0xE9, 0x2E], [0xFF, 0xFE, 0x80], [],
      // A scalar cut short, a surrogate, one beyond the last, and a scalar that stands for a byte.
      [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], Array("\u{10FEE9}".utf8),
      [0xC3] + Array("é\u{301}".utf8) + [0xA9], Array("\u{10FE7F}\u{10FF00}😀".utf8),
    ] as [[UInt8]])
  func everyNameComesBack(bytes: [UInt8]) {
    let name = String(systemName: bytes)
    expectEqual(name.systemName.map { UInt8(bitPattern: $0) }, bytes + [0])
  }

  @Test func randomBytesComeBack() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<12, using: &random)).map { _ in
        [0x2F, 0x41, 0x80, 0xBE, 0xBF, 0xE9, 0xF4, 0x8F, 0xBA, 0xC3].randomElement() ?? 0 as UInt8
      }
      expectEqual(String(systemName: bytes).systemName.map { UInt8(bitPattern: $0) }, bytes + [0])
    }
  }

  @Test func bytesThatAreNoTextAreShownEscaped() {
    let name = String(systemName: [0x63, 0xE9, 0x0A, 0xC3, 0xA9])
    expectEqual(printable(name), "c\\xE9?é")
    expectEqual(escaped(name, mark: "\\\\x"), "c\\\\xE9\né")
    expectEqual(name.withLatin1, "cé\né")
  }

  @Test func namesAreEqualOnlyIfTheirBytesAre() {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    expectEqual(composed, decomposed)
    expectTrue(Name(composed) != Name(decomposed))
    expectEqual(Set([Name(composed), Name(decomposed), Name(composed)]).count, 2)
    expectTrue(!composed.isSameName(as: decomposed) && composed.isSameName(as: "caf\u{E9}"))
  }

  @Test func pathsAreSplitAtEachSlash() {
    let path = "/a/\u{301}b//\u{301}.wav"
    expectTrue(path.isAbsolutePath && "/\u{301}".isAbsolutePath && !"a/".isAbsolutePath)
    expectEqual(path.pathNames.map { String($0) }, ["a", "\u{301}b", "\u{301}.wav"])
    expectEqual(path.pathParts.map { String($0) }, ["", "a", "\u{301}b", "", "\u{301}.wav"])
    expectTrue(path.pathFolder.isSameName(as: "/a/\u{301}b//"))
    expectTrue(path.pathFile.isSameName(as: "\u{301}.wav"))
    expectTrue("/a.b/c".pathExtension == "" && "/a.b/c".pathStem == "/a.b/c")
    expectTrue("/a.b/c.\u{301}d".pathExtension.isSameName(as: ".\u{301}d"))
    expectTrue(".hidden".pathExtension == "" && "a/.b.wav".pathStem == "a/.b")
    expectTrue(
      "a/".withoutLastSlash == "a" && "/\u{301}".withoutLastSlash.isSameName(as: "/\u{301}"))
    expectEqual("a/\u{301}b".bytes(after: "a/")?.isSameName(as: "\u{301}b"), true)
    expectNil("ab".bytes(after: "b"))
  }

  @Test func aFolderIsReadAndMadeByItsBytes() throws {
    let folder = try TemporaryFolder()
    let inner = folder.path + "/" + String(systemName: [0xE9]) + "/deep/er"
    expectTrue(makeFolders(inner) && makeFolders(inner))
    expectEqual(names(inFolder: folder.path)?.map { printable($0) }, ["\\xE9"])
    expectEqual(resolvedPath(inner)?.pathNames.suffix(3).first?.utf8.count, 4)
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    expectTrue(!makeFolders(folder.path + "/file/x") && names(inFolder: folder.path + "/no") == nil)
  }

  @Test func aMoveReplacesNothing() throws {
    let folder = try TemporaryFolder()
    for name in ["a", "b"] {
      try Data(name.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    expectTrue(!moveWithoutReplacing(folder.file("a"), to: folder.file("b")) && errno == EEXIST)
    expectTrue(moveWithoutReplacing(folder.file("a"), to: folder.file("c")))
    expectEqual(names(inFolder: folder.path)?.sorted(), ["b", "c"])
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: folder.file("b"))), Data("b".utf8))
  }
}
