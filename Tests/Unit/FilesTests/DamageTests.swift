import Codecs
import FileSupport
import Foundation
import Testing

@testable import Files

private typealias Heard = HeardFile

/// Files of packets that are joined or damaged: readers also find the sound behind the join or the damage.
@Suite(.tags(.program)) struct DamageTests {
  /// Returns the offsets of a name in a file.
  private func places(_ name: String, _ bytes: [UInt8]) -> [Int] {
    (0..<bytes.count - 4).filter { bytes[$0] == name.utf8.first && bytes.name(at: $0) == name }
  }

  /// Returns the packets that a stream's parser finds.
  private func streamed(_ bytes: [UInt8], _ piece: Int) throws -> [[UInt8]] {
    let parser = StreamParser(hint: nil)
    var packets: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes {
        try parser.parse($0, isDiscontinuous: false, ready: {}) { data, _, extents in
          packets += (extents ?? []).map { Array(data[$0.offset..<$0.offset + $0.bytes]) }
        }
      }
    }
    return packets
  }

  // MARK: Fragments

  /// A kind of damage to the third fragment.
  enum Harm: CaseIterable {
    case table, name, size, hole, insertion, loss

    func apply(_ bytes: inout [UInt8], _ table: Int, _ sound: Int) {
      switch self {
      case .table: for index in table + 30..<table + 70 { bytes[index] = 0x55 }
      case .name: bytes[table] = 0
      case .size: bytes[sound - 2] ^= 0x0F
      case .hole: bytes.removeSubrange(sound + 700..<sound + 1100)
      case .insertion: bytes.insert(contentsOf: [UInt8](repeating: 7, count: 400), at: sound + 700)
      case .loss:
        let end = sound - 4 + Int(bytes.big(at: sound - 4, bytes: 4))
        bytes.removeSubrange(table - 4..<end)
      }
    }
  }

  @Test(arguments: ["fragments.mp4", "lossless.mp4"], Harm.allCases)
  func fragmentsBehindDamageAreHeard(name: String, harm: Harm) throws {
    var bytes = try worldFile(name)
    let whole = try Heard(bytes)
    let single = try streamed(bytes, 1 << 20)
    let (table, sound) = (places("moof", bytes)[2], places("mdat", bytes)[2])
    harm.apply(&bytes, table, sound)
    let heard = try Heard(bytes)
    expectEqual(heard.frames, whole.frames)
    expectEqual(heard.warning?.contains("is damaged"), true)
    if ![.size, .insertion].contains(harm) {
      expectEqual(heard.warning?.contains("frames are missing"), true)
    }
    // The fragments before and behind it are whole.
    expectTrue(heard.samples.prefix(14_000).elementsEqual(whole.samples.prefix(14_000)), "begin")
    let ends = zip(heard.samples.suffix(20_000), whole.samples.suffix(20_000))
    expectTrue(ends.allSatisfy { abs($0 - $1) < 0.02 }, "end")
    let packets = try streamed(bytes, 777)
    let behind = single.count * 2 / 5
    expectTrue(packets.suffix(behind).elementsEqual(single.suffix(behind)), "stream's end")
    expectTrue(packets.prefix(4).elementsEqual(single.prefix(4)), "stream's begin")
  }

  /// A fragment that comes twice moves those behind it, and nothing is lost.
  @Test func aFragmentThatComesTwiceIsHeardTwice() throws {
    var bytes = try worldFile("fragments.mp4")
    let whole = try Heard(bytes)
    let tables = places("moof", bytes)
    bytes.insert(contentsOf: bytes[tables[2] - 4..<tables[3] - 4], at: tables[3] - 4)
    let heard = try Heard(bytes)
    expectTrue(heard.frames > whole.frames + 4096)
    let ends = zip(heard.samples.suffix(20_000), whole.samples.suffix(20_000))
    expectTrue(ends.allSatisfy { abs($0 - $1) < 0.02 })
  }

  /// libavformat takes half a minute for the fragments of a track that has no number.
  @Test func aTrackWithoutANumberIsHidden() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mp4")
    let tone = try Self.tones.get().file("44100.flac")
    let flags = ["-movflags", "frag_keyframe+empty_moov", "-frag_duration", "500000"]
    try tool(
      "ffmpeg",
      ["-v", "error", "-i", tone, "-map", "0:a", "-map", "0:a", "-c:a", "alac"] + flags + [path])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    bytes[try require(places("tkhd", bytes).last) + 1] = 0
    let shown = try MPEG4Fragments(ReplayedStore(bytes)).repaired
    let seen = try require(try shown.bytes(at: 0, count: bytes.count))
    expectEqual(places("trak", seen).count, 1)
    try expectEqual(Heard(bytes).frames, 74_970)
  }

  @Test func opusInFragmentsKeepsItsEnd() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mp4")
    let flags = ["-movflags", "frag_keyframe+delay_moov", "-frag_duration", "500000"]
    try tool(
      "ffmpeg",
      ["-v", "error", "-i", Self.tones.get().file("48000.flac"), "-c:a", "libopus"] + flags + [path]
    )
    try expectEqual(Heard(Data(contentsOf: URL(fileURLWithPath: path))).frames, 81_600)
  }

  // MARK: Other forms

  private static let tones = Result {
    let folder = try TemporaryFolder()
    func make(_ name: String, _ rate: Int, _ arguments: [String]) throws {
      try tool(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "sine=f=1000:d=1.7:r=\(rate)"] + arguments
          + [folder.file(name)])
    }
    for rate in [22_050, 44_100, 48_000] {
      try make("\(rate).flac", rate, ["-sample_fmt", "s16"])
      try make("\(rate).oga", rate, ["-c:a", "flac", "-sample_fmt", "s16", "-f", "ogg"])
      try make("\(rate).ogg", rate, ["-c:a", "libvorbis"])
    }
    try make("24.flac", 48_000, ["-c:a", "flac", "-sample_fmt", "s32", "-ac", "2"])
    try make("24.oga", 48_000, ["-c:a", "flac", "-sample_fmt", "s32", "-ac", "2", "-f", "ogg"])
    return folder
  }

  private func tone(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.tones.get().file(name))))
  }

  /// Each stream has the frames that it has alone, and begins where the one before ends.
  @Test(
    arguments: [
      ("44100", "22050"), ("44100", "48000"), ("48000", "44100"), ("22050", "48000"),
      ("44100", "24"),
    ], ["flac", "oga", "ogg"])
  func joinedStreamsKeepTheirLengthAndPitch(rates: (String, String), kind: String) throws {
    if rates.1 == "24", kind == "ogg" { return }
    let (one, other) = try (tone("\(rates.0).\(kind)"), tone("\(rates.1).\(kind)"))
    let (first, second) = try (Heard(one), Heard(other))
    let rate = try require(Double(rates.0))
    let ratio = try rate / (rates.1 == "24" ? 48_000 : require(Double(rates.1)))
    let heard = try Heard(one + other)
    let expected = first.frames + Int64((Double(second.frames) * ratio).rounded())
    expectTrue(heard.frames == expected && heard.samples.count == Int(expected))
    expectTrue(heard.warning == nil && heard.missing.isEmpty)
    expectEqual(heard.notice?.contains("changes its form at 00:01.70"), true)
    expectTrue(heard.samples.prefix(30_000).elementsEqual(first.samples.prefix(30_000)), "begin")
    expectTrue(abs(heard.pitch(from: Int(2.2 * rate), rate: Int(rate)) - 1000) < 3)
    // The tone crosses zero where it does alone.
    func crossing(_ samples: ArraySlice<Float>, _ rate: Double) -> Double {
      let start = samples.startIndex + Int(rate / 2)
      let place = (start..<samples.endIndex - 1).first { samples[$0] < 0 && samples[$0 + 1] >= 0 }
      guard let place else { return -1 }
      let part = samples[place] / (samples[place] - samples[place + 1])
      return Double(place - samples.startIndex) + Double(part)
    }
    let alone = crossing(second.samples[...], rate / ratio) * ratio
    let joined = crossing(heard.samples[first.samples.count...], rate)
    let period = rate / 1000
    let off = (joined - alone).truncatingRemainder(dividingBy: period)
    expectTrue(min(abs(off), period - abs(off)) < 0.6, "\(joined) \(alone)")
  }

  @Test(arguments: ["22050", "48000"], ["flac", "oga", "ogg"])
  func joinedStreamsAreReadFromAnyFrame(rate: String, kind: String) throws {
    let bytes = try tone("44100.\(kind)") + tone("\(rate).\(kind)")
    let whole = try Heard(bytes).samples
    for first in [60_000, 90_000, 120_001] {
      let heard = try Heard(bytes, from: Int64(first))
      expectTrue(heard.samples.count == whole.count - first && heard.missing.isEmpty)
      // Frames of the other rate do not lie on whole frames of the first one.
      let both = zip(heard.samples, whole[first...]).dropFirst(1000)
      expectTrue(both.allSatisfy { abs($0 - $1) < 0.03 }, "\(first)")
    }
  }

  /// The head of the second stream comes as a packet, which a decoder needs.
  @Test(arguments: [77, 1 << 20])
  func streamsOfJoinedFLACHaveTheirHeads(piece: Int) throws {
    let parts = try ["44100.flac", "24.flac", "24.flac", "44100.flac"].map(tone)
    let packets = try streamed(Array(parts.joined()), piece)
    let single = try parts.map { try streamed($0, 1 << 20) }
    let heads = parts.map { Array($0.prefix(42)) }
    expectEqual(packets, single[0] + [heads[1]] + single[1] + single[2] + [heads[3]] + single[3])
  }

  // MARK: MPEG audio of a free format

  private static let free = Result {
    let folder = try TemporaryFolder()
    let wav = folder.file("a.wav")
    try tool("ffmpeg", ["-v", "error", "-i", tones.get().file("44100.flac"), wav])
    for rate in ["200", "400"] {
      try tool("lame", ["--quiet", "--freeformat", "-b", rate, wav, folder.file("\(rate).mp3")])
    }
    try tool("lame", ["--quiet", "-b", "128", wav, folder.file("128.mp3")])
    let low = ["--resample", "8", "--freeformat", "-b", "400"]
    try tool("lame", ["--quiet"] + low + [wav, folder.file("8000.mp3")])
    return folder
  }

  private func free(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.free.get().file("\(name).mp3"))))
  }

  /// libsndfile decodes it, too.
  @Test(arguments: ["200", "400"]) func freeFormatIsDecoded(rate: String) throws {
    let bytes = try free(rate)
    let heard = try Heard(bytes)
    expectTrue(heard.frames == 74_970 && heard.warning == nil && heard.missing.isEmpty)
    let file = try MediaFiles.open(ReplayedStore(bytes))
    expectTrue(try file.packetCount > 60 && !file.hasPlainPackets)
    let other = try require(DecodedFile(ReplayedStore(bytes), container: .mp3))
    let samples = try storedSamples(other)
    expectEqual(samples.count, heard.samples.count)
    expectTrue(zip(samples, heard.samples).allSatisfy { abs($0 - Double($1)) < 1e-4 })
    let behind = try Heard(bytes, from: 40_001)
    expectTrue(zip(behind.samples, heard.samples[40_001...]).allSatisfy { abs($0 - $1) < 1e-4 })
  }

  @Test func frameSizesOfAFreeFormatAreThoseOfItsFrames() throws {
    // Larger than the frames that libmpg123 decodes.
    let low = try Heard(free("8000"))
    expectTrue(low.frames >= 13_600 && low.pitch(from: 3000, rate: 8000) == 1000)
    // Two frames of the second file are as long as one of the first.
    let parts = try [free("400"), free("200"), free("128"), free("200")]
    let joined = try Heard(Array(parts.joined()))
    let single = try parts.map { try Heard($0).frames }
    expectTrue(abs(joined.frames - single.reduce(0, +)) < 4 * 3 * 1152)
    expectTrue(joined.warning == nil && joined.missing.isEmpty)
    for second in 0..<4 {
      expectEqual(joined.pitch(from: second * 76_500 + 12_000, rate: 44_100), 1000)
    }
  }

  @Test func damageToAFreeFormatIsTold() throws {
    let bytes = try free("400")
    let whole = try Heard(bytes)
    try expectEqual(Heard(bytes.dropLast(9000)).warning?.contains("is cut short"), true)
    let junk = [UInt8](repeating: 7, count: 900)
    let damaged = try Heard(bytes[..<40_490] + junk + bytes[40_490...])
    expectEqual(damaged.warning?.contains("at 00:00.784: 900 bytes are no sound"), true)
    expectEqual(damaged.frames, whole.frames)
    expectTrue(damaged.samples.suffix(20_000).elementsEqual(whole.samples.suffix(20_000)))
    let padded = try Heard(bytes + [UInt8](repeating: 0, count: 5000))
    expectTrue(padded.warning == nil && padded.samples == whole.samples)
    let other = try Heard(bytes + tone("44100.flac"))
    expectEqual(other.warning?.contains("up to byte \(bytes.count): sound of another kind"), true)
  }

  // MARK: What follows

  /// Readers skip what lies between joined files, and tell how much it is and when it comes.
  @Test func bytesBetweenJoinedFLACAreCounted() throws {
    let (one, junk) = (try tone("44100.flac"), [UInt8](repeating: 7, count: 3000))
    let two = try Heard(one + junk + one)
    expectEqual(two.warning?.contains("at 00:01.700: 3000 bytes are no sound"), true)
    expectEqual(two.frames, 2 * 74_970)
    let other = try Heard(one + junk + tone("48000.flac"))
    expectEqual(other.warning?.contains("at 00:01.700: 3000 bytes are no sound"), true)
  }

  @Test(arguments: ["tta", "wv"]) func aSecondFileOfTypesWithoutIDIsTold(kind: String) throws {
    let folder = try TemporaryFolder()
    func make(_ name: String, _ rate: Int) throws -> [UInt8] {
      let path = folder.file("\(rate).\(kind)")
      try tool("ffmpeg", ["-v", "error", "-i", Self.tones.get().file("\(name).flac"), path])
      return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
    let (one, other) = try (make("44100", 44_100), make("24", 48_000))
    let heard = try Heard(one + other)
    expectEqual(heard.frames, 74_970)
    expectEqual(heard.warning?.contains("up to byte \(one.count): sound of another kind"), true)
    for packets in try [worldFile("a.mp3"), worldFile("a.aac"), tone("44100.flac")] {
      let before = try Heard(packets + one)
      expectEqual(before.warning?.contains("up to byte \(packets.count): sound of another"), true)
    }
  }

  /// A few of its bytes look like frames.
  @Test(arguments: ["wav", "flac", "aac", "ogg", "mp4"])
  func otherSoundBehindPacketsIsToldAndNotRead(kind: String) throws {
    let bytes = try worldFile("a.mp3")
    let whole = try Heard(bytes)
    var other = try worldFile("tone44100.aac")
    switch kind {
    case "wav":
      let (folder, path) = (try TemporaryFolder(), "tone.wav")
      try tool(
        "ffmpeg", ["-v", "error", "-i", Self.tones.get().file("44100.flac"), folder.file(path)])
      other = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file(path))))
    case "flac", "ogg": other = try tone("44100.\(kind)")
    case "mp4": other = try worldFile("fragments.mp4")
    default: break
    }
    let heard = try Heard(bytes + other)
    expectTrue(heard.samples == whole.samples && heard.missing.isEmpty && heard.notice == nil)
    expectEqual(heard.warning?.contains("up to byte \(bytes.count): sound of another kind"), true)
  }

  @Test func framesWithinOtherBytesNeedProof() throws {
    let bytes = try worldFile("tone44100.mp3")
    let whole = try Heard(bytes)
    // Headers of frames in other forms, which no others follow.
    let false1: [UInt8] = [0xFF, 0xF3, 0x40, 0xC0] + [UInt8](repeating: 0x11, count: 500)
    let false2: [UInt8] = [0xFF, 0xFB, 0x94, 0x00] + [UInt8](repeating: 0x22, count: 900)
    let heard = try Heard(bytes + false1 + false2 + false1 + false2)
    expectNil(heard.notice)
    expectTrue(abs(heard.samples.count - whole.samples.count) < 3000)
  }

  @Test(arguments: [100, 5000, 20_000])
  func zerosBehindMP3KeepItsPadding(count: Int) throws {
    let bytes = try worldFile("a.mp3")
    let heard = try Heard(bytes + [UInt8](repeating: 0, count: count))
    expectTrue(try heard.samples == Heard(bytes).samples && heard.frames == 66_150)
  }

  // MARK: Tables and times

  @Test(arguments: [true, false])
  func rf64WithoutItsSizesIsReadToTheEnd(isOpen: Bool) throws {
    let format: [UInt8] = [1, 0, 2, 0, 0x44, 0xAC, 0, 0, 0x10, 0xB1, 2, 0, 4, 0, 16, 0]
    let size: [UInt8] = isOpen ? [0xFF, 0xFF, 0xFF, 0xFF] : [0xE0, 0x2E, 0, 0]
    for name in ["RF64", "BW64"] {
      var bytes = Array(name.utf8) + [0xFF, 0xFF, 0xFF, 0xFF] + Array("WAVEfmt ".utf8)
      bytes += [16, 0, 0, 0] + format + Array("data".utf8) + size
      let heard = try Heard(bytes + [UInt8](repeating: 1, count: 12_000))
      expectTrue(heard.frames == 3000 && heard.warning == nil)
    }
  }

  /// 16 million packets in each of 100 runs: a list of them would take 12 GiB.
  @Test func fragmentsOfManyPacketsOfOneSizeTakeNoList() throws {
    func box(_ name: String, _ body: [UInt8]) -> [UInt8] {
      [UInt8](8 + body.count, count: 4, bigEndian: true) + Array(name.utf8) + body
    }
    let count = [UInt8](1 << 24, count: 4, bigEndian: true)
    let runs = (0..<100).flatMap { _ in box("trun", [0, 0, 0, 0] + count) }
    let head = box("tfhd", [0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 3])
    let bytes = box(
      "moof", box("mfhd", [0, 0, 0, 0, 0, 0, 0, 1]) + box("traf", head + runs))
    let table = try require(MPEG4FragmentTable(bytes))
    let changes = table.changes(at: 0, end: 0, room: 3 << 24 + 31, isShifted: false)
    expectEqual(changes.count, 99)
    expectTrue(changes[0].bytes == [0, 0, 0, 10] && changes[98].bytes == [0, 0, 0, 0])
  }

  @Test func aPacketTableThatIsCutNamesThePacketsBeforeTheCut() throws {
    let bytes = try worldFile("alac.caf")
    let whole = try Heard(bytes)
    let table = try require(places("pakt", bytes).last)
    for cut in [1, 3, 10] {
      let heard = try Heard(bytes.dropLast(cut))
      expectTrue(heard.frames < whole.frames && heard.frames > 4096 * 6)
      expectEqual(heard.samples, Array(whole.samples.prefix(Int(heard.frames))))
      expectEqual(heard.warning?.contains("cut short at 00:0"), true)
    }
    // A file that ends before its first packet is refused.
    for end in [table + 30, table + 36] {
      #expect(throws: SoundFileError.self) { try Heard(bytes[..<end]) }
    }
    let fragments = try worldFile("fragments.mp4")
    let sound = try require(places("mdat", fragments).first)
    #expect(throws: SoundFileError.self) { try Heard(fragments[..<(sound + 50)]) }
  }

  @Test(arguments: ["a.opus", "a.ogg", "a.oga"])
  func oggTellsTheTimeOfItsDamage(name: String) throws {
    let bytes = try worldFile(name)
    let pages = places("OggS", bytes)
    var damaged = bytes
    damaged[pages[pages.count / 2] + 100] ^= 0xFF
    let warning = try require(try Heard(damaged).warning)
    expectTrue(
      warning.contains(/damaged at 00:0[01]\.[1-9][0-9]{2}: [1-9][0-9]+ frames are missing/))
    try expectEqual(Heard(bytes.dropLast(30)).warning?.contains("cut short at 00:01."), true)
  }
}
