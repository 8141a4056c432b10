import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// WavPack, TTA and Musepack files, which have no Core Audio format id.
@Suite(.tags(.program)) struct TypesWithoutIDTests {
  private static let corpus = Result {
    let folder = try TemporaryFolder()
    for (name, form) in [
      ("8", ["-b", "8"]), ("16", ["-b", "16"]), ("24", ["-b", "24"]), ("32", ["-b", "32"]),
      ("float", ["-e", "float", "-b", "32"]),
    ] {
      let source = folder.file("\(name).wav")
      try tool(
        "sox",
        ["-n", "-R", "-D", "-r", "44100", "-c", "2"] + form
          + [source, "synth", "1.2", "pinknoise", "sine", "440", "vol", "0.4"])
      // A block without frames has the checksum.
      let sum = name == "24" ? ["-m"] : []
      try tool("wavpack", ["-q", source, "-o", folder.file("\(name).wv")] + sum)
      if ["8", "16", "24"].contains(name) {
        try tool("ffmpeg", ["-v", "error", "-i", source, folder.file("\(name).tta")])
      }
    }
    // WavPack divides channels into blocks of two at most.
    let six = folder.file("six.wav")
    try tool("sox", ["-n", "-R", "-r", "44100", "-c", "6", six, "synth", "1.2", "pinknoise"])
    try tool("wavpack", ["-q", six, "-o", folder.file("six.wv")])
    // A file of three channels whose roles nobody knows.
    let three = folder.file("three.wav")
    try tool(
      "sox", ["-n", "-R", "-r", "44100", "-c", "3", "-b", "16", three, "synth", "1.2", "pinknoise"])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: three)))
    let mask = 20 + 20
    try Data(bytes[..<mask] + [0, 0, 0, 0] + bytes[(mask + 4)...])
      .write(to: URL(fileURLWithPath: three))
    try tool("wavpack", ["-q", three, "-o", folder.file("three.wv")])
    try tool("mpcenc", ["--silent", folder.file("16.wav"), folder.file("16.mpc")])
    // A packet of Musepack has 1.7 seconds.
    try tool("sox", [folder.file("16.wav"), folder.file("long.wav"), "repeat", "4"])
    try tool("mpcenc", ["--silent", folder.file("long.wav"), folder.file("long.mpc")])
    try tool(
      "mpccut",
      ["-s", "50000", "-e", "250000", folder.file("long.mpc"), folder.file("part.mpc")])
    return folder
  }

  private func path(_ name: String) throws -> String { try Self.corpus.get().file(name) }
  private func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  private func open(_ name: String) throws -> any MediaFile {
    try MediaFiles.open(path: path(name), decodesOthers: true)
  }
  private func open(_ bytes: [UInt8]) throws -> any MediaFile {
    try MediaFiles.open(ReplayedStore(bytes), decodesOthers: true)
  }

  @Test(arguments: [
    ("8.wv", "WavPack", 8), ("16.wv", "WavPack", 16), ("24.wv", "WavPack", 24),
    ("32.wv", "WavPack", 32), ("float.wv", "WavPack", 32), ("8.tta", "TTA", 8),
    ("16.tta", "TTA", 16), ("24.tta", "TTA", 24),
  ])
  func everySampleIsTheSource(name: String, type: String, bits: Int) throws {
    let file = try open(name)
    expectTrue(file.containerName == type && file.coding == type && file.warning == nil)
    guard case .pcm(let format) = file.format else {
      Issue.record("\(file.format)")
      return
    }
    expectTrue(format.bitsPerSample == bits && (format.kind == .float) == name.hasPrefix("float"))
    let source = try storedSamples(open("\(name.prefix { $0 != "." }).wav"))
    let read = try storedSamples(file)
    expectTrue(source.count == 2 * 52_920 && read == source)
    // Reads begin anywhere.
    for frame in [30_000, 11_024, 0, 11_025, 52_900] {
      let part = try storedSamples(file, from: Int64(frame), count: 1000)
      expectEqual(part[...], source[(2 * frame)...].prefix(2000), "from frame \(frame)")
    }
    expectTrue(file.missing.isEmpty)
  }

  @Test(arguments: ["six", "three"]) func channelsInFurtherBlocksAreOneSound(name: String) throws {
    let file = try open("\(name).wv")
    try expectEqual(file.frameCount, 52_920)
    expectNil(file.warning)
    try expectEqual(storedSamples(file), storedSamples(open("\(name).wav")))
    expectTrue(file.missing.isEmpty)
  }

  @Test(arguments: [("long.mpc", 264_600), ("part.mpc", 200_000)])
  func musepackIsAlignedAndHasItsLength(name: String, frames: Int) throws {
    let decoded = try path("\(name).wav")
    try tool("mpcdec", [path(name), decoded])
    let expected = try storedSamples(MediaFiles.open(path: decoded))
    let file = try open(name)
    let read = try storedSamples(file)
    expectTrue(expected.count == 2 * frames && read.count == expected.count)
    func differ(_ some: ArraySlice<Double>, _ others: ArraySlice<Double>) -> Double {
      zip(some, others).map { abs($0 - $1) }.max() ?? .infinity
    }
    expectTrue(differ(read[...], expected[...]) <= 4 / 32768)
    for frame in [190_000, 0, 80_000, 3000, frames - 500] {
      let part = try storedSamples(file, from: Int64(frame), count: 500)
      expectEqual(part.count, 1000)
      expectTrue(differ(part[...], expected[(2 * frame)...]) <= 4 / 32768, "from frame \(frame)")
    }
  }

  /// The offset of a WavPack file's third block; each has 11,025 frames.
  private func thirdBlock(_ bytes: [UInt8]) throws -> Int {
    let data = Data(bytes)
    var found = 0
    for _ in 0..<2 {
      found = try require(data[(found + 4)...].range(of: Data("wvpk".utf8))).lowerBound
    }
    return found
  }

  /// Expects that one part of the sound is silent and told, and the rest exact.
  private func expect(_ bytes: [UInt8], of source: String, missing part: Range<Int>) throws {
    let file = try open(bytes)
    let read = try storedSamples(file)
    var expected = try storedSamples(open(source))
    for sample in 2 * part.lowerBound..<2 * part.upperBound { expected[sample] = 0 }
    expectEqual(read, expected)
    expectTrue(file.missing.frames == part.count && file.missing.first == Int64(part.lowerBound))
  }

  @Test func aDamagedBlockOfWavPackCostsItsFrames() throws {
    var bytes = try bytes("16.wv")
    bytes[try thirdBlock(bytes) + 1000] ^= 0x55
    try expect(bytes, of: "16.wav", missing: 22_050..<33_075)
  }

  @Test func aBlockOfWavPackWithoutItsNameCostsItsFrames() throws {
    var bytes = try bytes("16.wv")
    bytes[try thirdBlock(bytes)] ^= 0x55
    try expect(bytes, of: "16.wav", missing: 22_050..<33_075)
    try expectEqual(open(bytes).warning?.hasSuffix("the file is damaged at 00:00.500"), true)
  }

  @Test func otherBytesBetweenBlocksOfWavPackArePassedOver() throws {
    var bytes = try bytes("16.wv")
    bytes.insert(contentsOf: [UInt8](repeating: 0x77, count: 5000), at: try thirdBlock(bytes))
    let file = try open(bytes)
    try expectEqual(storedSamples(file), storedSamples(open("16.wav")))
    expectTrue(file.missing.isEmpty && file.warning != nil)
  }

  @Test func aDamagedFrameOfTTACostsItsFrames() throws {
    var bytes = try bytes("24.tta")
    // Only the frame's checksum tells of a wrong bit.
    bytes[20_000] ^= 1
    try expect(bytes, of: "24.wav", missing: 0..<46_080)
  }

  @Test(arguments: ["16.wv", "24.tta", "long.mpc"])
  func whatIsCutIsReadUpToTheCut(name: String) throws {
    let bytes = try bytes(name)
    let whole = try storedSamples(open(bytes))
    let file = try open(Array(bytes.dropLast(500)))
    let read = try storedSamples(file)
    expectTrue(file.warning?.contains("cut short") == true && file.missing.isEmpty)
    expectTrue(read.count < whole.count && read[...] == whole.prefix(read.count))
    expectTrue(read.count >= 2 * 44_100)
  }

  @Test func joinedFilesOfWavPackPlayOn() throws {
    let file = try open(bytes("16.wv") + bytes("16.wv"))
    let source = try storedSamples(open("16.wav"))
    try expectEqual(storedSamples(file), source + source)
  }

  @Test func tagsAroundTheFileArePassedOver() throws {
    let tag: [UInt8] =
      Array("ID3".utf8) + [3, 0, 0, 0, 0, 8, 0] + [UInt8](repeating: 0, count: 1024)
    let behind: [UInt8] = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
    for name in ["16.wv", "16.tta", "16.mpc"] {
      let expected = try storedSamples(open(name))
      try expectEqual(storedSamples(open(tag + bytes(name) + behind)), expected, "\(name)")
    }
  }

  @Test func damageAnywhereIsSurvived() throws {
    for name in ["16.wv", "16.tta", "16.mpc"] {
      let bytes = try bytes(name)
      for at in stride(from: 4, to: 400, by: 37) {
        var changed = bytes
        changed[at] ^= 0xFF
        if let file = try? open(changed) { _ = try? storedSamples(file, count: 3000) }
        if let file = try? open(Array(bytes[..<at])) { _ = try? storedSamples(file, count: 3000) }
      }
    }
  }

  @Test func withoutAnIDTheFilesAreRefused() throws {
    for name in ["16.wv", "16.tta", "16.mpc"] {
      let error = #expect(throws: SoundFileError.self) { try MediaFiles.open(path: path(name)) }
      guard case .unsupportedContainer = error?.kind else {
        Issue.record("\(name): \(String(describing: error))")
        continue
      }
    }
  }
}
