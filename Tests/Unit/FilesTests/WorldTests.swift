import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// The sound that a file's usual reader decodes, mono, and what it says about the file.
struct HeardFile {
  var samples: [Float] = []
  var frames: Int64 = 0
  var missing = MissingSound()
  var warning: String?
  var notice: String?

  /// Reads from a frame to the end.
  init(_ bytes: some Sequence<UInt8>, from first: Int64 = 0) throws {
    let file = try MediaFiles.open(ReplayedStore(bytes), decodesOthers: true)
    frames = try file.frameCount
    warning = file.warning
    notice = file.notice
    let pcm = PCMFormat(
      sampleRate: file.format.sampleRate, channels: 1, kind: .float, bitsPerSample: 32)
    var options = StreamConverter.Options()
    options.cookie = file.cookie
    let converter = try StreamConverter(from: file.format, to: .pcm(pcm), options)
    let reader = MediaReader(file)
    reader.seek(to: first)
    samples = [Float](repeating: 0, count: Int(clamping: min(frames, 1 << 22)) + 100)
    let count = try samples.withUnsafeMutableBytes { memory in
      let buffers = try require(SampleBuffers(pcm, at: [memory.baseAddress!]))
      var sink = StreamConverter.Sink.frames(
        buffers, room: memory.count / MemoryLayout<Float>.size)
      try reader.read(&sink, through: converter)
      return sink.count
    }
    samples.removeLast(samples.count - count)
    missing = reader.missing
  }

  /// Frames of one part of silence and its position; nil if there is none.
  func silence(in part: Range<Int>) -> Range<Int>? {
    guard let first = part.first(where: { at in samples[at..<at + 64].allSatisfy { $0 == 0 } })
    else { return nil }
    let end = samples[first...].firstIndex { $0 != 0 } ?? samples.count
    return first..<end
  }

  /// Crossings of zero upwards in a second of the sound at `rate`.
  func pitch(from first: Int, rate: Int) -> Int {
    guard first + rate <= samples.count else { return 0 }
    return (first..<first + rate - 1).count { samples[$0] < 0 && samples[$0 + 1] >= 0 }
  }
}

private typealias Heard = HeardFile

/// Files of a rising tone, made once.
private let corpus = Result {
  let folder = try TemporaryFolder()
  func make(_ name: String, _ source: String, _ arguments: [String]) throws {
    try tool(
      "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", source] + arguments + [folder.file(name)])
  }
  let sweep = "aevalsrc='0.4*sin(2*PI*(200+300*t)*t)':d=1.5:s=44100"
  try make("a.flac", sweep, ["-c:a", "flac", "-frame_size", "4096"])
  try make("a.aac", sweep, ["-c:a", "aac"])
  try make("a.mp3", sweep, ["-c:a", "libmp3lame", "-b:a", "128k"])
  try make("a.ac3", sweep, ["-c:a", "ac3"])
  try make("a.oga", sweep, ["-c:a", "flac", "-page_duration", "100000", "-f", "ogg"])
  try make("a.opus", sweep, ["-c:a", "libopus", "-page_duration", "100000"])
  try make("a.ogg", sweep, ["-c:a", "libvorbis", "-q:a", "9", "-page_duration", "100000"])
  try make("alac.m4a", sweep, ["-c:a", "alac"])
  try make("alac.caf", sweep, ["-c:a", "alac"])
  try make("aac.m4a", sweep, ["-c:a", "aac"])
  try make(
    "fragments.mp4", sweep,
    ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov", "-frag_duration", "200000"])
  try make(
    "lossless.mp4", sweep,
    ["-c:a", "alac", "-movflags", "frag_keyframe+empty_moov", "-frag_duration", "200000"])
  for rate in [44100, 48000] {
    let tone = "sine=f=1000:d=2:r=\(rate)"
    try make("tone\(rate).mp3", tone, ["-c:a", "libmp3lame", "-write_xing", "0", "-b:a", "96k"])
    try make("tone\(rate).aac", tone, ["-c:a", "aac"])
    try make("tone\(rate).ogg", tone, ["-c:a", "libvorbis"])
    try make("stereo\(rate).aac", tone, ["-c:a", "aac", "-ac", "2"])
  }
  return folder
}

/// Returns one of those files.
func worldFile(_ name: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: URL(fileURLWithPath: corpus.get().file(name))))
}

private func bytes(_ name: String) throws -> [UInt8] { try worldFile(name) }

private func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

private let tag: [UInt8] =
  Array("ID3".utf8) + [3, 0, 0, 0, 0, 8, 0] + [UInt8](repeating: 0, count: 1024)
private let behind: [UInt8] = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)

/// A file of linear PCM with 3001 frames of two channels, and where its header has sizes.
private struct Plain: Sendable, CustomTestStringConvertible {
  let container: Container
  /// The name before the sound's size, and the bytes of the size field.
  let name: String
  let gap: Int
  let sizeBytes: Int

  static let all = [
    Plain(container: .wave, name: "data", gap: 0, sizeBytes: 4),
    Plain(container: .aiff, name: "SSND", gap: 0, sizeBytes: 4),
    Plain(container: .aifc, name: "SSND", gap: 0, sizeBytes: 4),
    Plain(container: .caf, name: "data", gap: 0, sizeBytes: 8),
    Plain(container: .wave64, name: "data", gap: 12, sizeBytes: 8),
    Plain(container: .next, name: ".snd", gap: 4, sizeBytes: 4),
    Plain(container: .rf64, name: "ds64", gap: 12, sizeBytes: 8),
  ]
  static let frames = 3001
  var testDescription: String { "\(container)" }

  func make() throws -> [UInt8] {
    let store = ReplayedStore()
    let format = PCMFormat(
      sampleRate: 44_100, channels: 2, kind: .signedInteger, bitsPerSample: 16,
      isBigEndian: container.isBigEndian)
    let file = try MediaFiles.create(store, container: container, format: .pcm(format))
    let sound = (0..<Self.frames * 4).map { UInt8(truncatingIfNeeded: $0 &* 29 &+ 3) }
    try sound.withUnsafeBytes { try file.writePackets(at: 0, from: $0, extents: []) }
    try file.close()
    return store.bytes
  }

  /// Returns the file with another size of the sound.
  func make(size: Int64) throws -> [UInt8] {
    var bytes = try make()
    let at =
      try require(
        (0..<bytes.count - 8).first { bytes.name(at: $0) == name }) + name.utf8.count + gap
    let isBig = ![.wave, .wave64, .rf64].contains(container)
    bytes.replaceSubrange(
      at..<at + sizeBytes, with: [UInt8](size, count: sizeBytes, bigEndian: isBig))
    return bytes
  }
}

@Suite(.tags(.program)) struct WorldTests {
  // MARK: Sizes and tags

  @Test(arguments: Plain.all)
  private func aSizeThatWasLeftOpenMeansTheRestOfTheFile(plain: Plain) throws {
    let whole = try Heard(plain.make())
    expectTrue(whole.frames == Plain.frames)
    for size in [0, -1] as [Int64] {
      let heard = try Heard(plain.make(size: size))
      expectTrue(heard.frames == Plain.frames && heard.warning == nil, "\(size)")
      expectEqual(heard.samples, whole.samples, "\(size)")
    }
    // A size beyond the end of the file is told.
    let short = try Heard(plain.make(size: 20_000))
    expectTrue(short.frames >= Plain.frames && short.frames <= Plain.frames + 3)
    expectEqual(short.warning?.contains("cut short"), true)
  }

  @Test func aSizeThatLostItsHighBitsIsRestored() throws {
    let folder = try TemporaryFolder()
    var bytes = try Plain.all[0].make()
    let data = try require((0..<bytes.count).first { bytes.name(at: $0) == "data" })
    bytes = joined(Array(bytes[..<data]), ChunkID("data").bytes, [8, 0, 0, 0])
    let path = try folder.write(Data(bytes), to: "long.wav")
    // A hole of 4 GiB, 8 bytes and a chunk behind the sound.
    let sound = Int64(1) << 32 + 8
    let handle = try require(FileHandle(forWritingAtPath: path))
    try handle.seek(toOffset: UInt64(Int64(bytes.count) + sound))
    try handle.write(
      contentsOf: Data(joined(ChunkID("LIST").bytes, [4, 0, 0, 0], ChunkID("INFO").bytes)))
    try handle.close()
    let file = try MediaFiles.open(path: path)
    expectTrue(try file.frameCount == sound / 4 && file.warning == nil)
  }

  @Test func anEmptySoundChunkBeforeOthersIsEmpty() throws {
    let plain = Plain.all[0]
    let bytes = try plain.make()
    let data = try require((0..<bytes.count).first { bytes.name(at: $0) == "data" })
    let head = Array(bytes[..<data])
    let text = joined(
      ChunkID("LIST").bytes, [12, 0, 0, 0], Array("INFOISFT".utf8), [0, 0, 0, 0])
    try expectEqual(Heard(joined(head, ChunkID("data").bytes, [0, 0, 0, 0], text)).frames, 0)
  }

  @Test func theFirstOfTwoSoundChunksIsReadAndTheOtherTold() throws {
    let heard = try Heard(
      joined(
        Plain.all[0].make(), ChunkID("data").bytes, [80, 0, 0, 0],
        [UInt8](repeating: 1, count: 80)))
    expectTrue(heard.frames == Plain.frames && heard.warning?.contains("20 frames") == true)
  }

  @Test(arguments: Plain.all)
  private func aTagBeforeAContainerIsPassedOver(plain: Plain) throws {
    let bytes = try plain.make()
    let file = try MediaFiles.open(ReplayedStore(tag + bytes))
    let whole = try MediaFiles.open(ReplayedStore(bytes))
    try expectEqual(file.frameCount, Int64(Plain.frames))
    try expectEqual(file.dataOffset, whole.dataOffset + Int64(tag.count))
    try expectEqual(Heard(tag + bytes).samples, Heard(bytes).samples)
    try expectEqual(file.id3Tag?.count, tag.count)
  }

  @Test(
    arguments: [
      "a.flac", "a.aac", "a.mp3", "a.ac3", "a.oga", "a.opus", "a.ogg", "alac.m4a", "alac.caf",
    ])
  func tagsBeforeAndBehindPacketsArePassedOver(name: String) throws {
    let bytes = try bytes(name)
    let whole = try Heard(bytes)
    let heard = try Heard(tag + bytes)
    expectTrue(heard.samples == whole.samples && heard.warning == nil)
    let other = try Heard(bytes + behind)
    expectTrue(other.samples == whole.samples && other.missing.isEmpty)
    if !name.hasSuffix("og") { expectTrue(other.warning == nil || name.hasPrefix("a.o")) }
  }

  /// They leave the check sum of the last frame unchanged.
  @Test(arguments: [1, 100, 20_000])
  func zerosBehindFLACArePassedOver(count: Int) throws {
    let bytes = try bytes("a.flac")
    let heard = try Heard(bytes + [UInt8](repeating: 0, count: count))
    try expectEqual(heard.samples, Heard(bytes).samples)
    expectTrue(heard.warning == nil && heard.missing.isEmpty)
  }

  @Test(arguments: Plain.all.filter { [.wave, .rf64, .aiff].contains($0.container) })
  private func aFileBehindAnotherIsPassedOver(plain: Plain) throws {
    let bytes = try plain.make()
    try expectEqual(Heard(bytes + bytes).samples, Heard(bytes).samples)
  }

  // MARK: Lengths

  @Test func flacWithoutALengthIsMeasuredToTheFrame() throws {
    var bytes = try bytes("a.flac")
    let whole = try Heard(bytes)
    bytes.replaceSubrange(8 + 14..<8 + 18, with: [0, 0, 0, 0])
    bytes[8 + 13] &= 0xF0
    let heard = try Heard(bytes)
    expectTrue(heard.frames == 66_150 && heard.samples == whole.samples && heard.warning == nil)
  }

  @Test func theLastPacketOfAppleLosslessCountsItsOwnFrames() throws {
    try expectEqual(Heard(bytes("alac.caf")).samples.count, 66_150)
    try expectEqual(Heard(bytes("alac.caf")).frames, 66_150)
  }

  @Test func theTypeOfALengthSaysHowSureItIs() throws {
    let folder = try TemporaryFolder()
    for name in ["a.wav", "a.mp2"] {
      try tool("ffmpeg", ["-v", "error", "-i", corpus.get().file("a.flac"), folder.file(name)])
    }
    // libsndfile estimates the length of MPEG audio. Frames of a free format give no bit rate.
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("a.mp2"))))
    var start = 0
    while start + 4 <= bytes.count, let head = FrameKind.mpeg.head(bytes, at: start) {
      bytes[start + 2] &= 0x0F
      start += head.bytes
    }
    let file = try MediaFiles.open(ReplayedStore(bytes), decodesOthers: true)
    guard case .estimated = try file.length else {
      Issue.record("\(try file.length)")
      return
    }
    // Once the sound has been decoded, its length is known.
    let frames = try file.frameCount
    expectTrue(try file.length == .exact(frames) && frames > 60_000)
    try expectEqual(MediaFiles.open(path: folder.file("a.wav")).length, .exact(66_150))
  }

  // MARK: Damage

  @Test func flacLosesOnlyWhatIsDamagedAndKeepsItsTime() throws {
    var bytes = try bytes("a.flac")
    let whole = try Heard(bytes)
    let middle = bytes.count / 2
    for index in middle..<middle + 40 { bytes[index] = 0x55 }
    let heard = try Heard(bytes)
    expectTrue(heard.frames == whole.frames && heard.warning?.contains("4096 frames") == true)
    let silence = try require(heard.silence(in: 0..<60_000))
    expectTrue(silence.count >= 4096 && silence.count < 4200)
    expectEqual(heard.samples[..<silence.lowerBound], whole.samples[..<silence.lowerBound])
    expectEqual(heard.samples[silence.upperBound...], whole.samples[silence.upperBound...])
  }

  @Test func timeThatIsLostWithoutALengthIsALowerBound() throws {
    let whole = try bytes("a.aac")
    var bytes = whole
    let middle = bytes.count / 2
    // One frame loses its data only, and those behind it their headers.
    for index in middle..<middle + 2000 { bytes[index] = 0x55 }
    let words = try require(Heard(bytes).missing.words(sampleRate: 44_100))
    expectTrue(words.hasPrefix("at least 0.0"), "\(words)")
    bytes = whole
    for index in middle..<middle + 40 { bytes[index] = 0x55 }
    if let words = try Heard(bytes).missing.words(sampleRate: 44_100) {
      expectTrue(words.hasPrefix("0.0"), "\(words)")
    }
  }

  @Test(arguments: ["alac.m4a", "alac.caf"])
  func aPacketThatCannotBeDecodedIsSilentAndTold(name: String) throws {
    var bytes = try bytes(name)
    let whole = try Heard(bytes)
    let media = try MediaFiles.open(ReplayedStore(bytes))
    let reader = try PacketFileReader(ReplayedStore(bytes))
    let offset = Int(try require(try reader.packetOffset(of: 7)))
    for index in offset..<offset + 300 { bytes[index] = 0x55 }
    let heard = try Heard(bytes)
    expectTrue(heard.frames == whole.frames && heard.missing.first == 7 * 4096)
    expectEqual(heard.missing.frames, 4096)
    expectEqual(
      heard.missing.words(sampleRate: media.format.sampleRate), "0.093 s missing at 00:00.650")
    expectEqual(heard.samples[..<28_672], whole.samples[..<28_672])
    expectEqual(heard.samples[32_768...], whole.samples[32_768...])
  }

  @Test(arguments: ["a.aac", "a.mp3", "a.ac3"])
  func framesBehindRubbishAreHeard(name: String) throws {
    let bytes = try bytes(name)
    let whole = try Heard(bytes)
    let middle = bytes.count / 2
    let rubbish = (0..<2000).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
    let heard = try Heard(joined(Array(bytes[..<middle]), rubbish, Array(bytes[middle...])))
    expectTrue(abs(heard.frames - whole.frames) < 6 * 1536)
    expectEqual(heard.warning?.contains("damaged at 00:00."), true)
    // The end is heard as it was.
    let last = zip(heard.samples.suffix(15_000), whole.samples.suffix(15_000))
    // MP3's Xing header says where the padding begins, which is not there any more.
    expectTrue(
      last.allSatisfy { abs($0 - $1) < 0.01 }
        || name == "a.mp3" && heard.samples.suffix(15_000).contains { $0 > 0.3 })
  }

  @Test(
    arguments: ["a.aac", "a.ac3", "a.mp3", "a.flac", "a.opus", "a.oga", "a.ogg", "fragments.mp4"])
  func whatIsCutIsHeardUpToTheCutAndTold(name: String) throws {
    let bytes = try bytes(name)
    let whole = try Heard(bytes)
    let heard = try Heard(bytes[..<(bytes.count * 2 / 3)])
    expectEqual(heard.warning?.contains("cut short"), true)
    expectTrue(heard.missing.isEmpty && heard.frames > whole.frames / 4)
    let frames = Int(heard.frames) - 3000
    let both = zip(heard.samples[..<frames], whole.samples[..<frames])
    expectTrue(both.allSatisfy { abs($0 - $1) < 0.01 })
  }

  /// The file ends behind a packet then, which has its size in its header.
  @Test func aFileMayShrinkWhileItIsOpen() throws {
    let (name, bytes) = ("a.aac", try bytes("a.aac"))
    var end = 0
    while end < bytes.count / 2 {
      end += Int(bytes[end + 3] & 3) << 11 + Int(bytes[end + 4]) << 3 + Int(bytes[end + 5]) >> 5
    }
    let folder = try TemporaryFolder()
    try Data(bytes).write(to: URL(fileURLWithPath: folder.file(name)))
    let file = try MediaFiles.open(path: folder.file(name))
    truncate(folder.file(name), end)
    let (frames, whole) = try (file.frameCount, Heard(bytes).frames)
    expectTrue(frames > 0 && frames < whole)
  }

  @Test func aFileThatEndsBehindItsHeadIsRefused() throws {
    let head = try bytes("a.flac")[..<200]
    let error = #expect(throws: SoundFileError.self) { try Heard(head) }
    expectEqual(error?.description.contains("ends before its sound begins"), true)
  }

  // MARK: Changes

  @Test(arguments: ["mp3", "aac", "ogg"])
  func anotherRateKeepsItsPitch(kind: String) throws {
    for (first, second) in [(44_100, 48_000), (48_000, 44_100)] {
      let one = try bytes("tone\(first).\(kind)")
      let other = try bytes("tone\(second).\(kind)")
      let lengths = try (Heard(one).frames, Heard(other).frames)
      let heard = try Heard(one + other)
      let expected = Double(lengths.0) + Double(lengths.1) * Double(first) / Double(second)
      expectTrue(abs(Double(heard.frames) - expected) < 3000)
      expectTrue(heard.samples.count == Int(heard.frames) && heard.warning == nil)
      expectEqual(heard.notice?.contains("changes its form at 00:02.0"), true)
      expectTrue(abs(heard.pitch(from: 20_000, rate: first) - 1000) < 3)
      expectTrue(abs(heard.pitch(from: 2 * first + first / 2, rate: first) - 1000) < 3)
    }
  }

  @Test func otherChannelsAreMapped() throws {
    let one = try bytes("tone44100.aac")
    let other = try bytes("stereo44100.aac")
    for pair in [one + other, other + one] {
      let heard = try Heard(pair)
      expectTrue(heard.missing.isEmpty && heard.notice != nil)
      expectTrue(abs(heard.pitch(from: 120_000, rate: 44_100) - 1000) < 3)
    }
  }

  @Test(arguments: ["a.opus", "a.ogg", "a.oga", "a.flac"])
  func chainedStreamsLoseTheirOwnPadding(name: String) throws {
    let bytes = try bytes(name)
    let one = try Heard(bytes)
    let two = try Heard(bytes + bytes)
    expectTrue(two.frames == 2 * one.frames && two.samples.count == 2 * one.samples.count)
    let last = zip(two.samples.suffix(30_000), one.samples.suffix(30_000))
    expectTrue(last.allSatisfy { abs($0 - $1) < 0.01 })
  }

  // MARK: Streams

  private func packets(_ bytes: [UInt8], _ piece: Int) throws -> [[UInt8]] {
    let parser = StreamParser(hint: nil)
    var packets: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes {
        try parser.parse($0, isDiscontinuous: false, ready: {}) { data, count, extents in
          let each = extents ?? []
          packets += each.map { Array(data[$0.offset..<$0.offset + $0.bytes]) }
          if each.isEmpty { packets += [Array(data)] }
        }
      }
    }
    return packets
  }

  @Test func fragmentsAreParsedOneAfterAnother() throws {
    let bytes = try bytes("fragments.mp4")
    let whole = try PacketFileReader(ReplayedStore(bytes)).allPackets().map(\.bytes)
    expectTrue(whole.count > 60)
    for piece in [bytes.count, 1000, 77] {
      try expectEqual(packets(bytes, piece), whole, "\(piece)")
    }
    // Offsets in a file behind a tag do not count the tag.
    try expectEqual(packets(tag + bytes, 999), whole)
  }

  /// The head of the first file promises the length of that one.
  @Test func joinedFilesAreParsedToTheEnd() throws {
    let bytes = try bytes("a.mp3")
    let single = try packets(bytes, 1000)
    let joined = try packets(bytes + bytes, 1000)
    expectTrue(single.count > 20 && joined.count >= 2 * single.count)
    expectEqual(Array(joined.suffix(single.count)), single)
  }

  @Test(arguments: Plain.all.filter { $0.container != .wave64 })
  private func aStreamWithoutASizeIsParsedToItsEnd(plain: Plain) throws {
    for bytes in [try plain.make(size: 0), try plain.make(size: -1), tag + (try plain.make())] {
      let sound = try packets(bytes, 500).reduce(0) { $0 + $1.count }
      expectEqual(sound / 4, Plain.frames)
    }
  }

  // MARK: Any damage

  /// Each container, with a byte changed at some of the first places and cut at others: `make fuzz` has
  /// all. Whatever is there is read to its end.
  @Test(
    arguments: [
      "a.flac", "a.aac", "a.mp3", "a.ac3", "a.oga", "a.opus", "a.ogg", "alac.m4a", "alac.caf",
      "aac.m4a", "fragments.mp4",
    ])
  func damageAnywhereIsSurvived(name: String) throws {
    let bytes = try bytes(name)
    let whole = try Heard(bytes)
    for place in stride(from: 0, to: min(4096, bytes.count), by: 251) {
      var damaged = bytes
      damaged[place] ^= 0xFF
      // Not every header can be read; what can is no longer than the file allows.
      if let heard = try? Heard(damaged) {
        expectTrue(heard.samples.count <= max(0, Int(heard.frames)), "\(place)")
      }
    }
    let isOrdered = !["alac.m4a", "aac.m4a", "alac.caf"].contains(name)
    for part in 1..<12 {
      let heard = try? Heard(bytes[..<(bytes.count * part / 12)])
      guard isOrdered, part > 3, let heard else { continue }
      let frames = heard.samples.count - 3000
      expectTrue(frames > 0 || name.hasPrefix("a.o"), "\(part)")
      guard frames > 0 else { continue }
      let both = zip(heard.samples.prefix(frames), whole.samples)
      expectTrue(both.allSatisfy { abs($0 - $1) < 0.01 }, "\(part)")
    }
  }

  @Test(arguments: Plain.all)
  private func damageOfAHeaderIsSurvived(plain: Plain) throws {
    let bytes = try plain.make()
    for place in stride(from: 0, to: min(200, bytes.count), by: 3) {
      var damaged = bytes
      damaged[place] ^= 0xFF
      _ = try? Heard(damaged)
    }
    let file = try MediaFiles.open(ReplayedStore(bytes))
    let start = Int(try file.dataOffset)
    for part in 1..<10 {
      let cut = start + (bytes.count - start) * part / 10
      expectTrue(try Heard(bytes[..<cut]).frames >= Int64((cut - start) / 4))
    }
  }
}
