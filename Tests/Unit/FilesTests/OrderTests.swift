import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

@Suite(.tags(.program)) struct OrderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func contents(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// The content of a file when it was opened, even if another one has its name now.
  private final class Witness {
    private let handle: FileHandle
    let before: Data
    init(_ path: String) throws {
      before = try Data(contentsOf: URL(fileURLWithPath: path))
      handle = try require(FileHandle(forReadingAtPath: path))
    }
    /// Checks that the file was not changed in place: a kill at any moment leaves one complete file or
    /// the other.
    func checkThatNothingChanged() throws { try expectEqual(handle.readToEnd(), before) }
  }

  private func offset(of name: String, in data: Data) throws -> Int {
    try require(data.range(of: Data(name.utf8))).lowerBound
  }

  // MARK: Packets

  /// Packet files, and the container to convert them to; nil for the file itself.
  private static let kinds:
    [(source: String, container: Container?, table: String, sound: String)] =
      [
        ("a.m4a", nil, "moov", "mdat"), ("lossless.m4a", nil, "moov", "mdat"),
        ("opus.mp4", nil, "moov", "mdat"), ("a.3gp", nil, "moov", "mdat"),
        ("a.m4a", .m4a, "moov", "mdat"), ("a.m4a", .caf, "pakt", "data"),
        ("alac.caf", nil, "pakt", "data"), ("opus.caf", nil, "pakt", "data"),
      ]

  @Test(arguments: kinds.indices) func tablesComeBeforeTheSound(index: Int) throws {
    let kind = Self.kinds[index]
    let recipe = try require(PacketRecipe.all.first { $0.name == kind.source })
    let path = folder.file("a." + (kind.container ?? recipe.container).extensions[0])
    if let container = kind.container {
      try copy(
        PacketFileReader(FileStore(path: recipe.make())),
        to: FileStore(creating: path, isReplacing: true), container)
    } else {
      try contents(recipe.make()).write(to: URL(fileURLWithPath: path))
    }
    chmod(path, 0o640)
    let probed = try Probed(path)
    let old = try PacketFileReader(FileStore(path: path))
    let packets = try old.allPackets().map(\.bytes)
    let witness = try Witness(path)

    let file = try MediaFiles.open(path: path, isWritable: true)
    expectTrue(try !file.isOptimized)
    try file.optimize()
    expectTrue(try file.isOptimized)
    try file.optimize()
    try witness.checkThatNothingChanged()
    let data = try contents(path)
    expectTrue(try offset(of: kind.table, in: data) < offset(of: kind.sound, in: data))
    expectEqual(data.count, witness.before.count)
    // The open file reads from the new positions, and so do new readers. Readers of the old file
    // continue with that.
    let new = try PacketFileReader(FileStore(path: path))
    try expectEqual(file.dataOffset, new.packetOffset(of: 0))
    var memory = [UInt8](repeating: 0, count: Int(try file.byteCount))
    let count = try memory.withUnsafeMutableBytes { try file.readBytes(at: 0, into: $0) }
    expectTrue(count == memory.count && memory == packets.flatMap { $0 })
    try expectEqual(new.allPackets().map(\.bytes), packets)
    try expectEqual(old.allPackets().map(\.bytes), packets)
    expectTrue(new.format == old.format && new.tags == old.tags && new.cookie == old.cookie)
    try expectEqual(new.packetTable, old.packetTable)
    try expectEqual(Probed(path).packets.map(\.data_hash), probed.packets.map(\.data_hash))
    // A stream parser finds its packets.
    let parser = StreamParser(hint: nil)
    var came = 0
    try [UInt8](data).withUnsafeBytes {
      try parser.parse(
        $0, isDiscontinuous: false, ready: {}, packets: { _, count, _ in came += count })
    }
    expectEqual(came, packets.count)
    // The new file has the same attributes.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    expectEqual(attributes[.posixPermissions] as? Int, 0o640)
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.path).count, 1)
  }

  @Test func placesGetMoreBitsInLongFiles() throws {
    let recipe = try require(PacketRecipe.all.first { $0.name == "a.m4a" })
    let path = folder.file("a.m4a")
    try contents(recipe.make()).write(to: URL(fileURLWithPath: path))
    let packets = try PacketFileReader(FileStore(path: path)).allPackets().map(\.bytes)
    try MPEG4Order(FileStore(path: path, isWritable: true)).optimize(mostShortOffset: 100)
    let data = try contents(path)
    expectTrue(data.range(of: Data("co64".utf8)) != nil && data.range(of: Data("stco".utf8)) == nil)
    try expectEqual(PacketFileReader(FileStore(path: path)).allPackets().map(\.bytes), packets)
    try expectEqual(Probed(path).packets.count, packets.count)
  }

  @Test(arguments: [Container.m4a, .caf])
  func aFileThatIsMadeIsPutInOrderAtItsEnd(container: Container) throws {
    let path = folder.file("a.\(container.extensions[0])")
    let original = risingTone(frames: 60_000, rate: 44_100)
    let encoding = try SoundEncoding(
      FileStore(creating: path, isReplacing: false), container, .aac, rate: 44_100)
    expectTrue(try !encoding.file.isOptimized)
    try encoding.file.optimize()
    expectTrue(try encoding.file.isOptimized)
    try encoding.write(original)
    try encoding.finish()
    let file = try MediaFiles.open(path: path)
    expectTrue(try file.isOptimized)
    try expectEqual(file.frameCount, 60_000)
    try expectEqual(lateness(decodedSound(file), behind: original), 0)
  }

  @Test func chunksBehindPacketsGoBeforeThem() throws {
    for (name, container) in [("ulaw.wav", Container.wave), ("ima4.aifc", .aifc)] {
      let recipe = try require(PacketRecipe.all.first { $0.name == name })
      var bytes = [UInt8](try contents(recipe.make()))
      let isBigEndian = container == .aifc
      bytes += Array("test".utf8) + [UInt8](3, count: 4, bigEndian: isBigEndian) + [7, 8, 9, 0]
      bytes.replaceSubrange(
        4..<8, with: [UInt8](bytes.count - 8, count: 4, bigEndian: isBigEndian))
      let path = try folder.write(Data(bytes), to: name)
      let sound = try PacketFileReader(FileStore(path: path)).sound()
      let witness = try Witness(path)
      let file = try MediaFiles.open(path: path, isWritable: true)
      expectTrue(try !file.isOptimized)
      try file.optimize()
      expectTrue(try file.isOptimized)
      try witness.checkThatNothingChanged()
      try expectEqual(PacketFileReader(FileStore(path: path)).sound(), sound)
      try expectEqual(contents(path).count, bytes.count)
      let probe = try tool("ffmpeg", ["-v", "warning", "-i", path, "-f", "null", "-"])
      expectTrue(!probe.errors.contains("nvalid"))
    }
  }

  // MARK: Files that cannot be optimized

  @Test func storesWithoutANameRefuse() throws {
    for name in ["a.m4a", "alac.caf"] {
      let recipe = try require(PacketRecipe.all.first { $0.name == name })
      let bytes = [UInt8](try contents(recipe.make()))
      let store = ReplayedStore(bytes)
      let file = try MediaFiles.open(store)
      expectTrue(try !file.isOptimized)
      let error = #expect(throws: SoundFileError.self) { try file.optimize() }
      expectEqual(error?.description, "memory: only a plain file can be optimized")
      expectTrue(store.bytes == bytes && store.steps.isEmpty)
      let reading = try MediaFiles.open(path: recipe.make())
      let refusal = #expect(throws: SoundFileError.self) { try reading.optimize() }
      expectEqual(refusal?.kind, .notForWriting)
    }
    let encoding = try SoundEncoding(ReplayedStore(), .m4a, .aac, rate: 44_100)
    let error = #expect(throws: SoundFileError.self) { try encoding.file.optimize() }
    expectEqual(error?.kind, .notSupported("only a plain file can be optimized"))
    // A file that is already optimized is not refused.
    let recipe = try require(PacketRecipe.all.first { $0.name == "a.mp3" })
    let file = try MediaFiles.open(ReplayedStore(try contents(recipe.make())))
    expectTrue(try file.isOptimized)
    try file.optimize()
  }

  @Test func whatFailsLeavesTheOldFile() throws {
    let path = try folder.write(Data([1, 2, 3]), to: "a")
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let store = try FileStore(path: link, isWritable: true)
    let error = #expect(throws: SoundFileError.self) {
      try store.replaceContents { new throws(SoundFileError) in
        try new.write([9, 9], at: 0)
        throw SoundFileError(.noRoom, path: new.name)
      }
    }
    expectTrue(error?.kind == .noRoom && error?.path == link)
    try expectEqual(contents(path), Data([1, 2, 3]))
    try expectEqual(
      FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), ["a", "link"])
    // The target of a link is replaced.
    try store.replaceContents { new throws(SoundFileError) in try new.write([4, 5], at: 0) }
    try expectEqual(contents(path), Data([4, 5]))
    try expectEqual(FileManager.default.destinationOfSymbolicLink(atPath: link), path)
    try expectEqual(store.bytes(at: 0, count: 2), [4, 5])
    try store.write([6], at: 1)
    try expectEqual(contents(path), Data([4, 6]))
    // Another file is not replaced.
    try FileManager.default.removeItem(atPath: path)
    let gone = #expect(throws: SoundFileError.self) { try store.replaceContents { _ in } }
    expectEqual(gone?.kind, .vanished)
    _ = try folder.write(Data([7]), to: "a")
    let other = #expect(throws: SoundFileError.self) { try store.replaceContents { _ in } }
    expectEqual(other?.kind, .cannotWrite("another file has its name now"))
    try expectEqual(contents(path), Data([7]))
  }

  // MARK: Linear PCM

  @Test(arguments: [Container.wave, .rf64, .wave64, .aiff, .aifc, .caf])
  func chunksBehindTheSoundGoBeforeIt(container: Container) throws {
    let format = PCMFormat(
      sampleRate: 44_100, channels: 1, kind: .signedInteger, bitsPerSample: 24,
      isBigEndian: container.isBigEndian)
    let sound = (0..<3_003).map { UInt8(truncatingIfNeeded: $0 * 7) }
    let path = folder.file("a.\(container.extensions[0])")
    let new = try SoundFile.create(
      path: path, container: container, format: format, isReplacing: false)
    try sound.withUnsafeBytes { try new.writeBytes(at: 0, from: $0) }
    try new.setChunk("one ", [1, 2, 3])
    try new.setChunk("two ", [UInt8](repeating: 5, count: 3_000_001))
    try new.close()
    let witness = try Witness(path)

    let file = try MediaFiles.open(path: path, isWritable: true)
    let pcm = try require(file.pcm)
    expectTrue(try !file.isOptimized)
    try file.optimize()
    expectTrue(try file.isOptimized)
    try witness.checkThatNothingChanged()
    func check(_ file: SoundFile, _ sound: [UInt8]) throws {
      var read = [UInt8](repeating: 0, count: Int(file.byteCount))
      let count = try read.withUnsafeMutableBytes { try file.readBytes(at: 0, into: $0) }
      expectTrue(count == sound.count && read == sound)
      try expectEqual(file.chunk("one "), [1, 2, 3])
      try expectEqual(file.chunk("two "), [UInt8](repeating: 5, count: 3_000_001))
    }
    try check(pcm, sound)
    let other = try SoundFile(path: path)
    expectTrue(other.isOptimized && !other.isTruncated)
    try check(other, sound)
    let coding = container.isBigEndian ? "s24be" : "s24le"
    let decoded = try tool(
      "ffmpeg", ["-v", "error", "-i", path, "-f", coding, "-c:a", "pcm_\(coding)", "-"])
    expectEqual(decoded.output, Data(sound))
    // Writing continues.
    try sound.withUnsafeBytes { try pcm.writeBytes(at: Int64(sound.count), from: $0) }
    try pcm.close()
    try check(SoundFile(path: path), sound + sound)
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.path).count, 1)
  }
}
