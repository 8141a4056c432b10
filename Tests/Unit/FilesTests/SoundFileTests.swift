import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Returns all frames of a file.
private func contents(of file: SoundFile) throws -> Data {
  var data = Data(count: Int(file.byteCount))
  let read = try data.withUnsafeMutableBytes {
    try file.readRaw(startingAt: 0, frames: .max, into: $0)
  }
  expectEqual(Int64(read), file.frames)
  return data
}

private func failure(_ path: String) -> SoundFileError? {
  do throws(SoundFileError) {
    _ = try SoundFile(path: path)
    return nil
  } catch {
    return error
  }
}

private struct Probe: Decodable {
  struct Stream: Decodable {
    let codec_name: String
    let sample_rate: String
    let channels: Int
    let duration_ts: Int64
  }
  let streams: [Stream]
}

@Suite(.tags(.program)) struct SoundFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: recipes)
  func everyKindInEveryCodingIsReadByteForByte(recipe: Recipe) throws {
    let path = try recipe.make(in: folder)
    let file = try SoundFile(path: path)
    let kind: PCMFormat.Kind =
      switch recipe.coding {
      case .u8: .unsignedInteger
      case .f32, .f64: .float
      default: .signedInteger
      }
    expectEqual(
      file.format,
      PCMFormat(
        sampleRate: 44_100, channels: 2, kind: kind, bitsPerSample: recipe.coding.bits,
        isBigEndian: recipe.isBigEndian && recipe.coding.bytes > 1))
    expectEqual(file.frames, Int64(Recipe.frames))
    expectTrue(!file.isTruncated && file.warning == nil)
    try expectEqual(contents(of: file), recipe.bytes)

    let report = try tool(
      "ffprobe", ["-v", "error", "-show_streams", "-of", "json", path])
    let stream = try require(
      try JSONDecoder().decode(Probe.self, from: report.output).streams.first)
    let width = recipe.coding.bytes == 1 ? "" : recipe.isBigEndian ? "be" : "le"
    expectEqual(stream.codec_name, "pcm_\(recipe.coding)\(width)")
    expectEqual(stream.channels, file.format.channels)
    expectEqual(Double(stream.sample_rate), file.format.sampleRate)
    expectEqual(stream.duration_ts, file.frames)
  }

  @Test(arguments: [
    ("a.wav", Container.wave), ("a.aiff", .aiff), ("a.aifc", .aifc), ("a.au", .next),
    ("a.caf", .caf), ("a.w64", .wave64), ("a.rf64", .rf64),
  ])
  func theContainerIsTold(name: String, container: Container) throws {
    let recipe = try require(recipes.first { $0.name == name && $0.coding == .s16 })
    try expectEqual(SoundFile(path: recipe.make(in: folder)).container, container)
  }

  @Test func readsStartAnywhereAndEndAtTheEnd() throws {
    let recipe = Recipe(.sox, "a.wav", .s24)
    let file = try SoundFile(path: recipe.make(in: folder))
    let whole = recipe.bytes
    var memory = [UInt8](repeating: 0, count: 100 * 6)
    func read(from frame: Int64, frames: Int) throws -> Data {
      let count = try memory.withUnsafeMutableBytes {
        try file.readRaw(startingAt: frame, frames: frames, into: $0)
      }
      return Data(memory.prefix(count * 6))
    }
    try expectEqual(read(from: 500, frames: 10), whole[3000..<3060])
    try expectEqual(read(from: 3, frames: 1), whole[18..<24])
    try expectEqual(read(from: 0, frames: 1000), whole[0..<600], "as many as the memory holds")
    try expectEqual(read(from: 990, frames: 100), whole[5940..<6000])
    expectTrue(try read(from: 1000, frames: 100).isEmpty)
    expectTrue(try read(from: .max, frames: 100).isEmpty)
    expectTrue(try read(from: -1, frames: 100).isEmpty)
  }

  @Test func threadsMayReadOneFile() async throws {
    let recipe = Recipe(.ffmpeg, "a.caf", .s32, bigEndian: true)
    let file = try SoundFile(path: recipe.make(in: folder))
    let whole = recipe.bytes
    await withTaskGroup(of: Bool.self) { group in
      for frame in stride(from: 0, to: Recipe.frames, by: 10) {
        group.addTask {
          var data = Data(count: 80)
          let read = data.withUnsafeMutableBytes {
            try? file.readRaw(startingAt: Int64(frame), frames: 10, into: $0)
          }
          return read == 10 && data == whole[(frame * 8)..<(frame * 8 + 80)]
        }
      }
      for await isRight in group { expectTrue(isRight) }
    }
  }

  @Test func channelsKnowWhatTheyAreFor() throws {
    var recipe = Recipe(.ffmpeg, "six.wav", .s16)
    recipe.channels = 6
    try expectEqual(
      SoundFile(path: recipe.make(in: folder)).channelRoles,
      [.left, .right, .centre, .lowFrequency, .leftSurround, .rightSurround])
    try expectNil(SoundFile(path: Recipe(.sox, "a.au", .s16).make(in: folder)).channelRoles)
  }

  @Test func ratesKeepTheirFractions() throws {
    let path = try Recipe(.ffmpeg, "a.caf", .s16).make(in: folder)
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let rate = withUnsafeBytes(of: (44_099.5).bitPattern.bigEndian) { Data($0) }
    data.replaceSubrange(20..<28, with: rate)
    try expectEqual(SoundFile(path: folder.write(data, to: "b.caf")).format.sampleRate, 44_099.5)
  }

  // MARK: Truncated files

  @Test(arguments: ["a.wav", "a.aiff", "a.aifc", "a.au", "a.caf", "a.w64", "a.rf64"])
  func whatIsLeftOfAFilePlays(name: String) throws {
    let recipe = try require(recipes.first { $0.name == name && $0.coding == .s16 })
    let whole = try Data(contentsOf: URL(fileURLWithPath: recipe.make(in: folder)))
    let sound = try require(whole.range(of: recipe.bytes))
    // 600 and a half frames.
    let path = try folder.write(whole.prefix(sound.lowerBound + 2402), to: "cut-\(name)")
    let file = try SoundFile(path: path)
    expectTrue(file.frames == 600 && file.promisedFrames == 1000 && file.isTruncated)
    expectEqual(file.warning, "\(path): the file is cut short: 600 of 1000 frames are there")
    try expectEqual(contents(of: file), recipe.bytes.prefix(2400))

    for length in [5, 13, sound.lowerBound - 1, sound.lowerBound, sound.lowerBound + 3] {
      let path = try folder.write(whole.prefix(length), to: "head-\(length)-\(name)")
      expectEqual(failure(path)?.kind, .truncated, "\(length) bytes")
    }
  }

  @Test func aLengthThatWasNotKnownIsNoFault() throws {
    let recipe = Recipe(.ffmpeg, "a.wav", .s16)
    let raw = ["-f", "s16le", "-ar", "44100", "-ac", "2", "-i", folder.file("a.wav.raw")]
    _ = try recipe.make(in: folder)
    let piped = try tool("ffmpeg", ["-v", "error"] + raw + ["-f", "wav", "-"]).output
    let file = try SoundFile(path: folder.write(piped, to: "piped.wav"))
    expectTrue(file.frames == 1000 && !file.isTruncated)
    try expectEqual(contents(of: file), recipe.bytes)
  }

  @Test func aFileMayHaveNoFrames() throws {
    let path = folder.file("none.wav")
    try tool("sox", ["-n", "-r", "8000", path, "trim", "0", "0"])
    let file = try SoundFile(path: path)
    expectTrue(file.frames == 0 && !file.isTruncated)
  }

  // MARK: Unreadable files

  @Test func eachReasonHasItsMessage() throws {
    let text = try folder.write(Data("This is a text and no sound at all.".utf8), to: "text.wav")
    let empty = try folder.write(Data(), to: "empty.wav")
    let missing = folder.file("missing.wav")
    let expected: [(String, SoundFileError.Kind, String)] = [
      (missing, .notFound, "there is no such file"),
      ("\(text)/inside.wav", .notFound, "there is no such file"),
      (folder.path, .isDirectory, "this is a directory, not a sound file"),
      (empty, .empty, "the file is empty"),
      (text, .notASoundFile, "this is not a sound file"),
      ("/dev/null", .notASoundFile, "this is not a sound file"),
    ]
    for (path, kind, reason) in expected {
      let error = failure(path)
      expectEqual(error?.kind, kind)
      expectEqual(error?.description, "\(path): \(reason)")
    }
  }

  @Test(arguments: [
    ("x.flac", "FLAC"), ("x.ogg", "Ogg"), ("x.mp3", "MPEG Layer 3"),
    ("x.m4a", "Apple MPEG-4 Audio"), ("x.mp2", "MPEG Layer 2"),
    ("x.wv", "WavPack"), ("x.voc", "VOC (Creative Labs)"),
  ])
  func otherKindsAreRefusedByName(name: String, words: String) throws {
    _ = try Recipe(.ffmpeg, "a.wav", .s16).make(in: folder)
    let path = folder.file(name)
    try tool("ffmpeg", ["-v", "error", "-i", folder.file("a.wav"), path])
    expectEqual(failure(path)?.kind, .unsupportedContainer(words))
    expectEqual(failure(path)?.description, "\(path): \(words) files cannot be read")
  }

  @Test(arguments: [
    ("wav", "pcm_mulaw", "WAVE format 7"), ("wav", "pcm_alaw", "WAVE format 6"),
    ("wav", "adpcm_ms", "WAVE format 2"),
    ("wav", "adpcm_ima_wav", "WAVE format 17"), ("wav", "libmp3lame", "WAVE format 85"),
    ("aiff", "pcm_mulaw", "'ulaw'"), ("aiff", "adpcm_ima_qt", "'ima4'"), ("caf", "alac", "'alac'"),
    ("caf", "pcm_alaw", "'alaw'"),
    ("w64", "pcm_mulaw", "WAVE format 7"), ("au", "pcm_mulaw", "U-Law"),
  ])
  func otherCodingsAreRefusedByName(ending: String, codec: String, words: String) throws {
    _ = try Recipe(.ffmpeg, "a.wav", .s16).make(in: folder)
    let path = folder.file("x.\(ending)")
    try tool("ffmpeg", ["-v", "error", "-i", folder.file("a.wav"), "-c:a", codec, path])
    expectEqual(failure(path)?.kind, .unsupportedEncoding(words))
    expectEqual(failure(path)?.description, "\(path): sound coded as \(words) cannot be read")
  }

  @Test func aFileThatMayNotBeReadSaysSo() throws {
    let path = try Recipe(.sox, "a.wav", .s16).make(in: folder)
    chmod(path, 0)
    // Root may read everything, but this thread, as nobody, may not. If it already runs as another
    // user, the call has no effect.
    let user = setFileSystemUser(65_534)
    defer { _ = setFileSystemUser(UInt32(bitPattern: user)) }
    let error = failure(path)
    expectEqual(error?.kind, .permissionDenied)
    expectEqual(error?.description, "\(path): you may not read this file")
  }
}

/// Sets the user for this thread's file accesses. Returns the previous one.
@_silgen_name("setfsuid") private func setFileSystemUser(_ user: UInt32) -> Int32
