import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// A store in memory, as an app may provide. It can simulate a lack of room.
final class MemoryStore: ByteStore, @unchecked Sendable {
  var data = Data()
  var room = Int.max
  let name = "memory"
  var isWritable = true

  init(_ data: Data = Data()) { self.data = data }
  func byteCount() -> Int64 { Int64(data.count) }
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < data.count else { return 0 }
    let count = min(buffer.count, data.count - Int(offset))
    data.copyBytes(to: buffer, from: Int(offset)..<Int(offset) + count)
    return count
  }
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    let end = Int(offset) + buffer.count
    guard offset <= room else { throw SoundFileError(.noRoom, path: name) }
    if end > data.count { data.append(Data(count: min(end, room) - data.count)) }
    let fits = min(end, data.count) - Int(offset)
    data.replaceSubrange(Int(offset)..<Int(offset) + fits, with: Data(buffer.prefix(fits)))
    if fits < buffer.count { throw SoundFileError(.noRoom, path: name) }
  }
  func setByteCount(_ count: Int64) throws(SoundFileError) {
    guard count <= room else { throw SoundFileError(.noRoom, path: name) }
    data =
      data.count < count ? data + Data(count: Int(count) - data.count) : data.prefix(Int(count))
  }
  func synchronize() {}
}

/// A file type with an encoding that it can hold.
private struct Shape: Sendable, CustomTestStringConvertible {
  let container: Container
  let coding: Coding
  var isBigEndian = false
  var channels = 2

  func format(rate: Double = 44_100) -> PCMFormat {
    let kind: PCMFormat.Kind =
      coding == .u8 ? .unsignedInteger : [.f32, .f64].contains(coding) ? .float : .signedInteger
    return PCMFormat(
      sampleRate: rate, channels: channels, kind: kind, bitsPerSample: coding.bits,
      isBigEndian: isBigEndian)
  }

  /// Returns samples as stored in the file.
  func samples(_ frames: Int) -> Data {
    let samples = coding.samples(frames * channels)
    return isBigEndian ? coding.swapped(samples) : samples
  }

  var testDescription: String { "\(container) \(coding) \(isBigEndian) \(channels)" }

  static let all: [Shape] = Container.allCases.filter(\.holdsPCM).flatMap { container in
    Coding.allCases.flatMap { coding in
      [false, true].flatMap { order in
        (coding == .s16 ? [1, 2, 3, 6] : [2]).map {
          Shape(container: container, coding: coding, isBigEndian: order, channels: $0)
        }
      }
    }
  }.filter {
    ($0.coding.bytes > 1 || !$0.isBigEndian) && SoundFile.canHold($0.format(), in: $0.container)
  }
}

private func write(_ data: Data, to file: SoundFile, at position: Int64) throws(SoundFileError) {
  let bytes = [UInt8](data)
  try file.write(bytes, at: position)
}

extension SoundFile {
  fileprivate func write(_ bytes: [UInt8], at position: Int64) throws(SoundFileError) {
    let done = bytes.withUnsafeBytes { buffer in
      Result { () throws(SoundFileError) in try writeBytes(at: position, from: buffer) }
    }
    try done.get()
  }

  fileprivate func contents() throws -> Data {
    var data = Data(count: Int(byteCount))
    let count = try data.withUnsafeMutableBytes { try readBytes(at: 0, into: $0) }
    expectEqual(count, data.count)
    return data
  }
}

@Suite(.tags(.program)) struct WritingTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test func everyKindHasItsCodings() {
    // 7 file types and their encodings: u8 s8 s16 s24 s32 f32 f64, little- and big-endian.
    let counts = Dictionary(grouping: Shape.all.filter { $0.channels == 2 }, by: \.container)
      .mapValues(\.count)
    expectEqual(
      counts,
      [
        .wave: 6, .rf64: 6, .wave64: 6, .aiff: 4, .aifc: 8, .caf: 11, .next: 6,
      ])
  }

  @Test(arguments: Shape.all)
  fileprivate func whatIsWrittenIsReadByAll(shape: Shape) throws {
    let samples = shape.samples(1001)
    let path = folder.file("a.\(shape.container.extensions[0])")
    let file = try SoundFile.create(
      path: path, container: shape.container, format: shape.format(), isReplacing: false)
    let half = samples.count / 3
    try write(samples.prefix(half), to: file, at: 0)
    try write(samples.dropFirst(half), to: file, at: Int64(half))
    try expectEqual(file.contents(), samples, "it can be read while it is written")
    try file.close()

    let again = try SoundFile(path: path)
    expectTrue(again.format == shape.format() && again.container == shape.container)
    expectTrue(again.frames == 1001 && !again.isTruncated)
    try expectEqual(again.contents(), samples)

    // ffmpeg and libsndfile read the same samples.
    let width = shape.coding.bytes == 1 ? "" : shape.isBigEndian ? "be" : "le"
    let decoded = try tool(
      "ffmpeg",
      [
        "-v", "warning", "-guess_layout_max", "0", "-i", path, "-f", "\(shape.coding)\(width)",
        "-c:a",
        "pcm_\(shape.coding)\(width)", "-",
      ])
    // It prints this for its own CAF and Wave64 files, too.
    let guess = "Estimating duration from bitrate, this may be inaccurate\n"
    expectTrue(decoded.errors == "" || decoded.errors.hasSuffix("] \(guess)"), "\(decoded.errors)")
    expectEqual(decoded.output, samples)
    let info = try tool("sndfile-info", [path])
    expectTrue(
      info.text.contains("Frames      : 1001") && !info.text.contains("***"), "\(info.text)")
  }

  @Test(arguments: Shape.all.filter { [.wave, .aiff, .next].contains($0.container) })
  fileprivate func whatIsWrittenIsReadBySox(shape: Shape) throws {
    let samples = shape.samples(501)
    let path = folder.file("a.\(shape.container.extensions[0])")
    let file = try SoundFile.create(
      path: path, container: shape.container, format: shape.format(), isReplacing: false)
    try write(samples, to: file, at: 0)
    try file.close()
    let order = shape.isBigEndian ? "-B" : "-L"
    let decoded = try tool("sox", [path, "-t", "raw", order, "-"])
    expectTrue(decoded.errors == "" && decoded.output == samples, "\(decoded)")
  }

  /// Little-endian NeXT files: Cuejack does not create them, but can change them.
  @Test func littleEndianFilesOfNeXTKeepTheirOrder() throws {
    let head: [UInt8] =
      Array("dns.".utf8) + [28, 0, 0, 0] + [8, 0, 0, 0] + [3, 0, 0, 0] + [0x44, 0xAC, 0, 0]
      + [2, 0, 0, 0] + Array("note".utf8)
    let store = MemoryStore(Data(head + [1, 0, 2, 0, 3, 0, 4, 0]))
    let file = try SoundFile(store)
    expectTrue(file.container == .next && !file.format.isBigEndian && file.frames == 2)
    try file.write([5, 0, 6, 0, 7, 0, 8, 0], at: 4)
    try file.close()
    var expected = head
    expected[8] = 12
    expectEqual([UInt8](store.data), expected + [1, 0, 2, 0, 5, 0, 6, 0, 7, 0, 8, 0])
    let again = try SoundFile(store)
    expectTrue(again.frames == 3 && !again.format.isBigEndian && !again.isTruncated)
    let path = try folder.write(store.data, to: "a.au")
    let decoded = try tool("sox", ["-t", "au", path, "-t", "raw", "-L", "-"])
    expectEqual([UInt8](decoded.output), [1, 0, 2, 0, 5, 0, 6, 0, 7, 0, 8, 0])
  }

  // MARK: Damaged files

  /// A damaged file is refused, or can be read, changed and written again.
  @Test(arguments: Container.allCases.filter(\.holdsPCM))
  func damageIsNoDanger(container: Container) throws {
    let shape = try require(
      Shape.all.first { $0.container == container && $0.coding == .s16 && $0.channels == 2 })
    let store = MemoryStore()
    let file = try SoundFile.create(in: store, container: container, format: shape.format())
    try write(shape.samples(50), to: file, at: 0)
    if file.hasChunks { try file.setChunk("test", [1, 2, 3]) }
    _ = try? file.setMarkers(MediaMarkers(markers: [.init(position: 3, name: "name", id: 1)]))
    _ = try? file.setRegions(
      MediaRegions(regions: [
        .init(id: 2, name: "loop", flags: .loops, markers: [.init(position: 1, id: 2)])
      ]))
    _ = try? file.setTags(["title": "a title"])
    try file.close()
    let whole = store.data
    var random = SystemRandomNumberGenerator()
    var opened = 0
    for round in 0..<500 {
      var data =
        round % 3 == 0 ? whole.prefix(Int.random(in: 0..<whole.count, using: &random)) : whole
      if !data.isEmpty {
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          data[Int.random(in: data.indices, using: &random)] =
            [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)].randomElement()!
        }
      }
      let store = MemoryStore(Data(data))
      store.room = 100_000
      guard let file = try? SoundFile(store) else { continue }
      opened += 1
      _ = try? file.contents()
      for id in file.chunkIDs { _ = try? file.chunk(id) }
      _ = (try? file.markers(), try? file.regions(), try? file.tags())
      try? write(shape.samples(3), to: file, at: file.byteCount)
      try? file.setChunk("more", [UInt8](repeating: 7, count: 99))
      try? file.setTags(["artist": "an artist"])
      if round % 2 == 0 { try? file.optimize() }
      try? file.close()
    }
    expectTrue(opened > 20)
  }

  // MARK: Writing

  @Test(arguments: Container.allCases.filter(\.holdsPCM))
  func soundIsWrittenAnywhere(container: Container) throws {
    let shape = try require(Shape.all.first { $0.container == container && $0.coding == .s24 })
    let store = MemoryStore()
    let file = try SoundFile.create(in: store, container: container, format: shape.format())
    var expected = Data(count: 600)
    let samples = shape.samples(100)
    // Writing after a gap makes it silent. Then write into the gap, and over the end.
    for position in [600, 60, 1002] {
      if position > expected.count { expected.append(Data(count: position - expected.count)) }
      let end = max(expected.count, position + samples.count)
      expected.append(Data(count: end - expected.count))
      expected.replaceSubrange(position..<position + samples.count, with: samples)
      try write(samples, to: file, at: Int64(position))
      try expectEqual(file.contents(), expected)
    }
    try file.close()
    #expect(throws: SoundFileError.self) { try write(samples, to: file, at: 0) }
    // Writing to an existing file continues.
    let again = try SoundFile(store)
    try write(samples, to: again, at: again.byteCount)
    try again.close()
    let last = try SoundFile(store)
    try expectEqual(last.contents(), expected + samples)
    expectTrue(!last.isTruncated && last.format == shape.format())
  }

  @Test func silenceOfUnsignedSamplesIsTheirMiddle() throws {
    let format = PCMFormat(
      sampleRate: 8000, channels: 1, kind: .unsignedInteger, bitsPerSample: 8)
    let file = try SoundFile.create(in: MemoryStore(), container: .wave, format: format)
    try file.write([1, 2], at: 3)
    try expectEqual(file.contents(), Data([128, 128, 128, 1, 2]))
  }

  @Test(arguments: ["a.wav", "a.aiff", "a.aifc", "a.au", "l.caf", "a.w64", "a.rf64"])
  func filesOfOthersAreGoneOnWith(name: String) throws {
    let recipe = try require(recipes.first { $0.name == name && $0.coding == .s16 })
    let path = try recipe.make(in: folder)
    let file = try SoundFile(FileStore(path: path, isWritable: true))
    let chunks = file.chunkIDs
    try write(recipe.bytes, to: file, at: file.byteCount)
    try write(recipe.bytes.prefix(4), to: file, at: 8)
    try file.close()
    var expected = recipe.bytes + recipe.bytes
    expected.replaceSubrange(8..<12, with: recipe.bytes.prefix(4))
    let again = try SoundFile(path: path)
    expectTrue(try again.contents() == expected && again.chunkIDs == chunks)
    let info = try tool("sndfile-info", [path])
    expectTrue(info.text.contains("Frames      : 2000"), "\(info.text)")
    let width = recipe.isBigEndian ? "be" : "le"
    let decoded = try tool(
      "ffmpeg", ["-v", "error", "-i", path, "-f", "s16\(width)", "-c:a", "pcm_s16\(width)", "-"])
    expectTrue(decoded.output == expected && decoded.errors == "", "\(decoded)")
  }

  // MARK: Kills and full disks

  @Test(arguments: Container.allCases.filter(\.holdsPCM))
  func whatWasWrittenBeforeAKillIsThere(container: Container) throws {
    let shape = try require(
      Shape.all.first { $0.container == container && $0.coding == .s16 && $0.channels == 2 })
    let store = MemoryStore()
    let file = try SoundFile.create(in: store, container: container, format: shape.format())
    if file.hasChunks { try file.setChunk("test", [1, 2, 3]) }
    let samples = shape.samples(44_100)
    let part = 1_000 * 4
    var written = 0
    while written < samples.count {
      try write(samples[written..<min(samples.count, written + part)], to: file, at: Int64(written))
      written += part
      // The remaining file can be opened and misses at most the last second.
      if written % (10 * part) == 0 {
        let left = try SoundFile(MemoryStore(store.data))
        expectTrue(!left.isTruncated)
        try expectEqual(left.contents(), samples.prefix(Int(left.byteCount)))
      }
    }
    let second = try SoundFile(MemoryStore(store.data))
    expectEqual(second.frames, 44_100, "a second of sound sets the sizes")
    try write(samples.prefix(part), to: file, at: Int64(samples.count))
    try file.checkpoint()
    try expectEqual(SoundFile(MemoryStore(store.data)).frames, 45_100)
    file.defersSizes = false
    try write(samples.prefix(4), to: file, at: Int64(samples.count + part))
    try expectEqual(SoundFile(MemoryStore(store.data)).frames, 45_101)
  }

  @Test(arguments: Container.allCases.filter(\.holdsPCM))
  func aFullDiskKeepsWhatFits(container: Container) throws {
    let shape = try require(
      Shape.all.first { $0.container == container && $0.coding == .s16 && $0.channels == 2 })
    let store = MemoryStore()
    store.room = 10_001
    let file = try SoundFile.create(in: store, container: container, format: shape.format())
    let samples = shape.samples(10_000)
    let error = #expect(throws: SoundFileError.self) { try write(samples, to: file, at: 0) }
    expectEqual(error?.kind, .noRoom)
    let kept = file.frames
    expectTrue(kept > 2_400)
    if file.hasChunks { try file.setChunk("test", [UInt8](repeating: 1, count: 200)) }
    // There is no room for the end; the audio data is complete.
    if file.hasChunks {
      #expect(throws: SoundFileError.self) { try file.close() }
    } else {
      try file.close()
    }
    let left = try SoundFile(MemoryStore(store.data))
    expectTrue(left.frames == kept && !left.isTruncated)
    try expectEqual(left.contents(), samples.prefix(Int(kept) * 4))
  }

  @Test func aFileThatVanishesIsNoticed() throws {
    let shape = Shape(container: .wave, coding: .s16)
    let path = folder.file("gone.wav")
    let file = try SoundFile.create(
      path: path, container: .wave, format: shape.format(), isReplacing: false)
    try write(shape.samples(100), to: file, at: 0)
    try FileManager.default.removeItem(atPath: path)
    let error = #expect(throws: SoundFileError.self) { try file.checkpoint() }
    expectEqual(error?.kind, .vanished)
    expectEqual(error?.description, "\(path): the file was deleted while it was written")
  }

  // MARK: Long files

  @Test func aLongWaveFileBecomesRF64() throws {
    let shape = Shape(container: .wave, coding: .s16)
    let path = folder.file("long.wav")
    let file = try SoundFile.create(
      path: path, container: .wave, format: shape.format(), isReplacing: false)
    expectEqual(file.container, .wave)
    // A gap takes no space on the disk.
    let samples = shape.samples(100)
    let start = Int64(UInt32.max) + 1
    try write(samples, to: file, at: start)
    try file.close()
    expectEqual(file.container, .rf64)
    let again = try SoundFile(path: path)
    expectTrue(again.container == .rf64 && again.byteCount == start + 400 && !again.isTruncated)
    let probe = try tool(
      "ffprobe", ["-v", "error", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", path])
    expectTrue(probe.text == "\((start + 400) / 4)\n" && probe.errors == "")
    expectTrue(try tool("sndfile-info", [path]).text.contains("Frames      : \((start + 400) / 4)"))
  }

  @Test func otherKindsEndWhereTheirSizesDo() throws {
    for (container, isBigEndian) in [(Container.aiff, true), (.aifc, true)] {
      let shape = Shape(container: container, coding: .s16, isBigEndian: isBigEndian)
      let path = folder.file("long.\(container)")
      let file = try SoundFile.create(
        path: path, container: container, format: shape.format(), isReplacing: false)
      let error = #expect(throws: SoundFileError.self) {
        try write(shape.samples(1), to: file, at: Int64(UInt32.max))
      }
      expectTrue(error?.kind == .tooLong && file.frames == 0)
    }
    // WAVE files of other programs have no room for the sizes of a long file.
    let path = try Recipe(.sndfile, "a.wav", .s16).make(in: folder)
    let file = try SoundFile(FileStore(path: path, isWritable: true))
    let error = #expect(throws: SoundFileError.self) {
      try write(Data(count: 4), to: file, at: Int64(UInt32.max))
    }
    expectTrue(error?.kind == .tooLong && file.frames == 1000)
  }

  // MARK: Creating files

  @Test func whatAKindCannotHoldIsRefusedBeforeAFileIsMade() throws {
    let path = folder.file("a.wav")
    let format = Shape(container: .wave, coding: .s16, isBigEndian: true).format()
    let error = #expect(throws: SoundFileError.self) {
      try SoundFile.create(path: path, container: .wave, format: format, isReplacing: true)
    }
    expectEqual(
      error?.description,
      "\(path): 16-bit signed integers, big-endian, in 2 channels at 44100.0 Hz "
        + "in WAVE files cannot be written")
    expectTrue(!FileManager.default.fileExists(atPath: path))
  }

  @Test func filesAreReplacedOnlyIfAsked() throws {
    let path = try folder.write(Data([1, 2, 3]), to: "a.wav")
    let format = Shape(container: .wave, coding: .s16).format()
    let error = #expect(throws: SoundFileError.self) {
      try SoundFile.create(path: path, container: .wave, format: format, isReplacing: false)
    }
    expectEqual(error?.kind, .exists)
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: path)), Data([1, 2, 3]))
    try SoundFile.create(path: path, container: .wave, format: format, isReplacing: true).close()
    try expectEqual(SoundFile(path: path).frames, 0)
    let noFolder = #expect(throws: SoundFileError.self) {
      try SoundFile.create(
        path: folder.file("none/a.wav"), container: .wave, format: format, isReplacing: true)
    }
    expectEqual(noFolder?.kind, .cannotWrite("there is no such folder"))
  }

  @Test func aFolderThatMayNotBeWrittenSaysSo() throws {
    let format = Shape(container: .wave, coding: .s16).format()
    let path = folder.file("a.wav")
    try SoundFile.create(path: path, container: .wave, format: format, isReplacing: true).close()
    chmod(path, 0o444)
    chmod(folder.path, 0o555)
    defer { chmod(folder.path, 0o755) }
    // Root may write everywhere, but this thread, as nobody, may not.
    let user = setFileSystemUser(65_534)
    defer { _ = setFileSystemUser(UInt32(bitPattern: user)) }
    let new = folder.file("b.wav")
    let error = #expect(throws: SoundFileError.self) {
      try SoundFile.create(path: new, container: .wave, format: format, isReplacing: true)
    }
    expectEqual(error?.description, "\(new): the file cannot be written: you may not write here")
    let opening = #expect(throws: SoundFileError.self) {
      try FileStore(path: path, isWritable: true)
    }
    expectEqual(opening?.kind, .mayNotWrite)
  }

  @Test(arguments: Container.allCases.filter(\.holdsPCM))
  func soundBeginsWhereItIsAsked(container: Container) throws {
    let shape = try require(
      Shape.all.first { $0.container == container && $0.coding == .s16 && $0.channels == 2 })
    let path = folder.file("a.\(container.extensions[0])")
    let file = try SoundFile.create(
      path: path, container: container, format: shape.format(), isReplacing: false,
      dataAlignment: 4096)
    try write(shape.samples(100), to: file, at: 0)
    try file.close()
    expectEqual(file.dataOffset, (container == .next ? 28 : 4096))
    try expectEqual(SoundFile(path: path).contents(), shape.samples(100))
    expectTrue(try tool("sndfile-info", [path]).text.contains("Frames      : 100"))
  }

  @Test(arguments: [Container.aiff, .aifc, .caf]) func ratesWithFractionsAreKept(
    _ container: Container
  )
    throws
  {
    let shape = try require(
      Shape.all.first { $0.container == container && $0.coding == .s16 && $0.channels == 2 })
    let store = MemoryStore()
    try SoundFile.create(in: store, container: container, format: shape.format(rate: 44_099.5))
      .close()
    try expectEqual(SoundFile(store).format.sampleRate, 44_099.5)
  }

  @Test func fewerBitsThanBytesHoldAreKept() throws {
    for container in [Container.wave, .rf64, .wave64, .aiff, .aifc] {
      let format = PCMFormat(
        sampleRate: 48_000, channels: 1, kind: .signedInteger, bitsPerSample: 20, bytesPerSample: 3,
        isBigEndian: container.isBigEndian, isHighAligned: true)
      let store = MemoryStore()
      let file = try SoundFile.create(in: store, container: container, format: format)
      try file.write([0x10, 0x20, 0x30], at: 0)
      try file.close()
      let again = try SoundFile(store)
      expectTrue(again.sourceBits == 20 && again.format.bitsPerSample == 24)
      try expectEqual(again.contents(), Data([0x10, 0x20, 0x30]))
    }
  }
}

/// Sets the user for this thread's file accesses. Returns the previous one.
@_silgen_name("setfsuid") private func setFileSystemUser(_ user: UInt32) -> Int32
