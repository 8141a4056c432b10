import FileSupport
import Foundation
import System
import Testing

@testable import Files

/// Files that take the place of others when they are complete.
@Suite struct UnfinishedFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func put(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
  }
  private func text(_ name: String) -> String? {
    try? String(contentsOfFile: folder.file(name), encoding: .utf8)
  }
  private func mode(_ name: String) -> mode_t {
    var status = stat()
    return lstat(folder.file(name), &status) == 0 ? status.st_mode : 0
  }
  private var entries: [String] { names(inFolder: folder.path)?.sorted() ?? [] }

  private func write(_ text: String, _ name: String, isReplacing: Bool = true) throws {
    let file = try UnfinishedFile(folder.file(name), isReplacing: isReplacing)
    try file.store.write(Array(text.utf8), at: 0)
    try file.finish()
  }

  @Test func nothingIsSeenBeforeTheEnd() throws {
    do {
      let file = try UnfinishedFile(folder.file("a"), isReplacing: false)
      try file.store.write([1, 2, 3], at: 0)
      expectNil(text("a"))
    }
    expectTrue(entries.isEmpty)
    try write("new", "a", isReplacing: false)
    expectTrue(text("a") == "new" && entries == ["a"])
    #expect(throws: SoundFileError(.exists, path: folder.file("a"))) {
      try write("newer", "a", isReplacing: false)
    }
  }

  @Test(arguments: [0o640, 0o600, 0o755, 0o666] as [mode_t]) func theModeStays(mode: mode_t) throws
  {
    try put("old", "a")
    chmod(folder.file("a"), mode)
    try write("new", "a")
    expectTrue(self.mode("a") & 0o7777 == mode && text("a") == "new")
  }

  @Test func aNewFileHasTheUsualMode() throws {
    try write("new", "a")
    try put("other", "b")
    expectEqual(mode("a"), mode("b"))
  }

  @Test func aLinkStaysAndItsTargetIsReplaced() throws {
    try FileManager.default.createDirectory(
      atPath: folder.file("d"), withIntermediateDirectories: true)
    try put("old", "d/target")
    symlink("d/target", folder.file("first"))
    symlink(folder.file("first"), folder.file("link"))
    try write("new", "link")
    expectTrue(text("d/target") == "new" && mode("link") & S_IFMT == S_IFLNK)
    symlink("d/none", folder.file("dangling"))
    try write("made", "dangling", isReplacing: false)
    expectTrue(text("d/none") == "made" && mode("dangling") & S_IFMT == S_IFLNK)
    symlink("round", folder.file("round"))
    #expect(throws: SoundFileError.self) { try write("x", "round") }
  }

  @Test func aFileThatComesMeanwhileIsNotReplaced() throws {
    let file = try UnfinishedFile(folder.file("a"), isReplacing: false)
    try put("another's", "a")
    #expect(throws: SoundFileError(.exists, path: folder.file("a"))) { try file.finish() }
    expectTrue(text("a") == "another's" && entries == ["a"])
  }

  /// A link under a name that might be a temporary one is neither followed nor removed, and only files of
  /// killed processes are.
  @Test func leftoversAreRemovedAndNothingElse() throws {
    let left = ".cuejack-0123456789abcdef"
    try put("precious", "target")
    try put("left", left)
    try put("busy", ".cuejack-00000000000000ff")
    try put("no leftover", ".cuejack-mine")
    symlink("target", folder.file(".cuejack-aaaaaaaaaaaaaaaa"))
    let busy = open(folder.file(".cuejack-00000000000000ff"), O_RDONLY)
    expectEqual(flock(busy, LOCK_EX), 0)
    try write("new", "a")
    expectEqual(
      entries,
      [
        ".cuejack-00000000000000ff", ".cuejack-aaaaaaaaaaaaaaaa", ".cuejack-mine", "a", "target",
      ])
    expectEqual(text("target"), "precious")
    close(busy)
  }

  /// A process that is killed before the end leaves nothing.
  @Test func nothingIsLeftOfAnUnfinishedFile() throws {
    try put("old", "a")
    let file = try UnfinishedFile(folder.file("a"), isReplacing: true)
    try file.store.write([1], at: 0)
    expectTrue(entries == ["a"] && text("a") == "old")
    withExtendedLifetime(file) {}
  }

  @Test func holesStayHoles() throws {
    let source = try FileStore(creating: folder.file("a"), isReplacing: false)
    let total: Int64 = 1 << 30
    try source.write([UInt8](repeating: 7, count: 8192), at: 1 << 20)
    try source.write([9], at: 512 << 20)
    try source.setByteCount(total)
    try source.replaceContents { copy throws(SoundFileError) in
      let end = try copy.copy(0..<total, of: source, to: 0)
      expectEqual(end, total)
    }
    var status = stat()
    expectTrue(stat(folder.file("a"), &status) == 0 && status.st_size == total)
    expectTrue(status.st_blocks * 512 < 1 << 20, "\(status.st_blocks)")
    let copy = try FileStore(path: folder.file("a"))
    try expectEqual(copy.bytes(at: 1 << 20 - 1, count: 8194)?.prefix(2), [0, 7])
    try expectEqual(copy.bytes(at: 512 << 20, count: 2), [9, 0])
    expectEqual(entries, ["a"])
  }

  @Test func aCopyOfMoreThanThereIsFails() throws {
    let source = try FileStore(creating: folder.file("a"), isReplacing: false)
    try source.write([1, 2, 3], at: 0)
    let copy = try FileStore(creating: folder.file("b"), isReplacing: false)
    #expect(throws: SoundFileError(.truncated, path: folder.file("a"))) {
      try copy.copy(0..<4, of: source, to: 0)
    }
  }
}
