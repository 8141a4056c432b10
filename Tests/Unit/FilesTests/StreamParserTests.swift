import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Files that can be parsed as streams, and their ffmpeg options.
private let streams: [(name: String, arguments: [String])] = [
  ("a.aac", ["-c:a", "aac"]),
  ("mono.aac", ["-c:a", "aac", "-ac", "1", "-ar", "22050"]),
  ("a.mp3", ["-c:a", "libmp3lame", "-q:a", "4", "-metadata", "title=Stream"]),
  ("plain.mp3", ["-c:a", "libmp3lame", "-b:a", "128k", "-write_xing", "0", "-id3v2_version", "0"]),
  ("low.mp3", ["-c:a", "libmp3lame", "-ar", "22050", "-ac", "1"]),
  ("a.mp2", ["-c:a", "mp2"]),
  ("a.ac3", ["-c:a", "ac3"]),
  ("six.ac3", ["-c:a", "ac3", "-ac", "6", "-ar", "44100", "-b:a", "448k"]),
  ("a.flac", ["-c:a", "flac"]),
  ("small.flac", ["-c:a", "flac", "-frame_size", "256", "-ac", "1", "-ar", "8000"]),
  ("a.m4a", ["-c:a", "aac", "-movflags", "+faststart", "-metadata", "artist=Nobody"]),
  ("alac.m4a", ["-c:a", "alac", "-movflags", "+faststart"]),
  ("a.wav", ["-c:a", "pcm_s16le"]),
  ("six.wav", ["-c:a", "pcm_s24le", "-ac", "6"]),
  ("ulaw.wav", ["-c:a", "pcm_mulaw"]),
  ("ima.wav", ["-c:a", "adpcm_ima_wav"]),
  ("mp3.wav", ["-c:a", "libmp3lame"]),
  ("a.rf64", ["-c:a", "pcm_f32le", "-rf64", "always", "-f", "wav"]),
  ("a.aiff", ["-c:a", "pcm_s16be"]),
  ("f.aiff", ["-c:a", "pcm_f32be"]),
  ("ima.aiff", ["-c:a", "adpcm_ima_qt"]),
  ("a.caf", ["-c:a", "pcm_s16be"]),
  ("ima.caf", ["-c:a", "adpcm_ima_qt"]),
  ("ulaw.caf", ["-c:a", "pcm_mulaw"]),
  ("alac.caf", ["-c:a", "alac"]),
  ("opus.caf", ["-c:a", "libopus", "-ar", "48000"]),
  ("a.au", ["-c:a", "pcm_s16be"]),
  ("ulaw.au", ["-c:a", "pcm_mulaw"]),
]

/// One file of each, created once.
private let corpus = Result {
  let folder = try TemporaryFolder()
  let noise = "anoisesrc=duration=0.5:seed=7:amplitude=0.5:sample_rate=44100"
  for (name, arguments) in streams {
    let path = folder.file(name)
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", noise, "-ac", "2"] + arguments + [path])
    if name.hasSuffix(".caf") { try putSoundLast(path) }
    if name == "ima.wav" { try endWithinABlock(path) }
  }
  return folder
}

/// Changes a WAVE file so that its sound ends before its last block does, as some versions of ffmpeg
/// write it.
private func endWithinABlock(_ path: String) throws {
  var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
  let fact = try require(bytes.range(of: Data("fact".utf8))).upperBound + 4
  withUnsafeBytes(of: UInt32(22_050).littleEndian) {
    bytes.replaceSubrange(fact..<fact + 4, with: $0)
  }
  try bytes.write(to: URL(fileURLWithPath: path))
}

/// Moves the packet table of a CAF file, which ffmpeg writes at the end, before the audio data.
private func putSoundLast(_ path: String) throws {
  let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  var sorted = Array(bytes[..<8])
  var sound: ArraySlice<UInt8> = []
  var offset = 8
  while bytes.count - offset >= 12 {
    let size = 12 + Int(bytes.big(at: offset + 4, bytes: 8))
    let chunk = bytes[offset..<offset + size]
    if bytes.name(at: offset) == "data" { sound = chunk } else { sorted += chunk }
    offset += size
  }
  try Data(sorted + sound).write(to: URL(fileURLWithPath: path))
}

/// The result of parsing a stream.
private struct Heard: Equatable {
  var packets: [[UInt8]] = []
  var frames: [Int] = []
  /// Packets of constant size have no descriptions.
  var hasExtents = true
}

private func parse(
  _ bytes: ArraySlice<UInt8>, piece: (Int) -> Int, with parser: StreamParser,
  isDiscontinuous: Bool = false, packetBytes: Int = 0
) throws -> Heard {
  var heard = Heard()
  try bytes.withUnsafeBytes { bytes in
    var first = 0
    var index = 0
    while first < bytes.count {
      let count = min(max(1, piece(index)), bytes.count - first)
      let part = UnsafeRawBufferPointer(start: bytes.baseAddress! + first, count: count)
      try parser.parse(part, isDiscontinuous: isDiscontinuous && index == 0, ready: {}) {
        data, count, extents in
        heard.hasExtents = extents != nil
        let size = data.count / count
        let list = extents ?? (0..<count).map { PacketExtent(offset: $0 * size, bytes: size) }
        for extent in list {
          heard.packets.append(Array(data[extent.offset..<extent.offset + extent.bytes]))
          heard.frames.append(extent.frames)
        }
      }
      first += count
      index += 1
    }
  }
  return heard
}

/// Returns the same result from the file reader.
private func read(_ path: String) throws -> Heard {
  let store = try FileStore(path: path)
  var heard = Heard()
  let isPCM = try? SoundFile(store)
  if let file = isPCM {
    var data = [UInt8](repeating: 0, count: Int(file.byteCount))
    _ = try data.withUnsafeMutableBytes { try file.readRaw(startingAt: 0, frames: .max, into: $0) }
    let size = file.format.bytesPerFrame
    heard.packets = stride(from: 0, to: data.count, by: size).map { Array(data[$0..<$0 + size]) }
    heard.frames = heard.packets.map { _ in 0 }
    heard.hasExtents = false
    return heard
  }
  let reader = try PacketFileReader(store)
  var memory = [UInt8](repeating: 0, count: 1 << 20)
  heard.hasExtents = reader.format.bytesPerPacket == 0
  var extents: [PacketExtent] = []
  while true {
    let count = try memory.withUnsafeMutableBytes {
      try reader.readPackets(
        from: Int64(heard.packets.count), count: 1000, into: $0, extents: &extents)
    }
    if count == 0 { return heard }
    for extent in extents {
      heard.packets.append(Array(memory[extent.offset..<extent.offset + extent.bytes]))
      heard.frames.append(extent.frames)
    }
  }
}

@Suite(.tags(.program)) struct StreamParserTests {
  private func path(_ name: String) throws -> String { try corpus.get().file(name) }

  private func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  @Test(arguments: streams.map(\.name))
  func theSamePacketsComeOutAsOfTheFile(name: String) throws {
    let bytes = try bytes(name)
    let expected = try read(path(name))
    try require(expected.packets.count > 3)
    // The smallest pieces for the critical part.
    let sizes: [(Int) -> Int] = [{ $0 < 12000 ? 1 : 5000 }, { _ in 997 }, { _ in bytes.count }]
    for (number, size) in sizes.enumerated() {
      let parser = StreamParser(hint: Container(forPath: name))
      let heard = try parse(bytes[...], piece: size, with: parser)
      expectEqual(heard.hasExtents, expected.hasExtents)
      expectEqual(heard.packets.count, expected.packets.count, "pieces \(number)")
      let difference = zip(heard.packets, expected.packets).enumerated().first { $1.0 != $1.1 }
      expectNil(difference, "packet \(difference?.offset ?? 0)")
      expectEqual(heard.frames, expected.frames)
    }
  }

  @Test(arguments: streams.map(\.name))
  func itTellsWhatTheFileTells(name: String) throws {
    let bytes = try bytes(name)
    let file = try MediaFiles.open(path: path(name))
    let parser = StreamParser(hint: nil)
    let heard = try parse(bytes[...], piece: { _ in 100 }, with: parser)
    let details = try require(parser.details)
    expectEqual(details.container, file.container)
    expectEqual(details.format, file.format)
    // The bit rate in the AAC cookie is an estimate.
    if case .packets(let format) = file.format, format.codec == .aac {
      try expectEqual(
        MagicCookie.audioSpecificConfig(details.cookie),
        MagicCookie.audioSpecificConfig(file.cookie))
    } else {
      expectEqual(details.cookie, file.cookie)
    }
    expectEqual(details.channelRoles, file.channelRoles)
    expectEqual(details.tags, (try file.tags() ?? [:]))
    expectTrue(details.packetBytesLimit >= (try file.maximumPacketBytes))
    if let count = details.packetCount { expectEqual(count, (try file.packetCount)) }
    if let bytes = details.dataBytes { expectEqual(bytes, (try file.byteCount)) }
    if let most = details.maximumPacketBytes { expectEqual(most, (try file.maximumPacketBytes)) }
    // Only the file's last packet tells that it is shorter than ffmpeg's table says.
    if name != "alac.caf", details.packetTable != nil || details.packetCount != nil {
      expectEqual(details.packetTable, (try file.packetTable))
    }
    // Positions convert in both directions, exactly or approximately.
    let location = try require(parser.location(ofPacket: 3))
    let back = try require(
      parser.location(ofByte: location.position + (location.isEstimated ? 1 : 0)))
    expectTrue(back.packet == 3 && back.isEstimated == location.isEstimated)
    if !location.isEstimated {
      let offset = Int(details.dataOffset + location.position)
      expectEqual(Array(bytes[offset...].prefix(heard.packets[3].count)), heard.packets[3])
    }
  }

  @Test(arguments: streams.map(\.name))
  func aSeekGoesOnWithThatPacket(name: String) throws {
    let bytes = try bytes(name)
    let expected = try read(path(name)).packets
    let parser = StreamParser(hint: nil)
    let first = try parse(bytes.prefix(bytes.count * 2 / 3), piece: { _ in 999 }, with: parser)
    expectTrue(first.packets.count > 0)
    for packet in [expected.count - 4, 0, 2] {
      let location = try require(parser.seek(toPacket: Int64(packet)))
      let offset = Int(try require(parser.details).dataOffset + location.position)
      let heard = try parse(
        bytes[min(offset, bytes.count)...], piece: { _ in 500 }, with: parser,
        isDiscontinuous: packet != 2)
      if location.isEstimated {
        // The packets are complete and equal those at the file's end.
        let last = expected.suffix(heard.packets.count)
        expectTrue(heard.packets == Array(last) && (packet > 2 || !heard.packets.isEmpty))
      } else {
        expectEqual(heard.packets, Array(expected[packet...]))
      }
    }
    expectNil(parser.seek(toPacket: -1))
  }

  @Test(arguments: ["a.aac", "plain.mp3", "a.mp2", "a.ac3", "small.flac"])
  func framesAreFoundAgainAfterRubbish(name: String) throws {
    let bytes = try bytes(name)
    let expected = try read(path(name)).packets
    var dice = SystemRandomNumberGenerator()
    // Bytes that start no header, followed by some that do.
    var rubbish = (0..<3000).map { _ in UInt8.random(in: 0..<0x0B, using: &dice) }
    rubbish += [0xFF, 0xF1, 0xFF, 0xFB, 0x90, 0x0B, 0x77, 0xFF, 0xF8]
    let half = bytes.count * 2 / 3
    let parser = StreamParser(hint: nil)
    let before = try parse(bytes.prefix(half), piece: { _ in 400 }, with: parser).packets
    expectTrue(before == Array(expected.prefix(before.count)) && before.count > 3)
    let damaged = bytes[..<half] + rubbish + bytes[half...]
    let heard = try parse(damaged[...], piece: { $0 * 7 % 300 }, with: StreamParser(hint: nil))
    // At most the damaged frame is lost, plus what is mistaken for the frame that was cut.
    expectTrue(heard.packets.count >= expected.count - 4)
    expectTrue(heard.packets.starts(with: before))
    expectEqual(heard.packets.suffix(5), expected.suffix(5))

    // The same after a reported gap with the middle missing.
    let after = try parse(
      bytes[(half + 300)...], piece: { _ in 400 }, with: parser, isDiscontinuous: true)
    expectTrue(
      after.packets == Array(expected.suffix(after.packets.count)) && after.packets.count > 1)

    // A stream joined in the middle.
    guard name != "small.flac" else { return }
    let joined = try parse(bytes[half...], piece: { _ in 400 }, with: StreamParser(hint: nil))
    expectEqual(joined.packets, Array(expected.suffix(joined.packets.count)))
    expectTrue(joined.packets.count > expected.count / 5)
  }

  /// Returns all properties of a stream as text.
  private func facts(_ parser: StreamParser) throws -> [String] {
    let details = try require(parser.details)
    return [
      "\(details.container) \(details.format) \(details.cookie) \(details.dataOffset)",
      "\(details.tags.sorted { $0.key < $1.key }) \(details.packetTable as Any)",
      "\(details.channelRoles as Any) \(details.dataBytes as Any) \(details.packetCount as Any)",
      "\(details.maximumPacketBytes as Any) \(details.packetBytesLimit) \(details.bitRate as Any)",
      "\(parser.averagePacketBytes as Any)",
    ]
  }

  @Test(arguments: streams.map(\.name))
  func anySplitGivesTheSame(name: String) throws {
    let bytes = try bytes(name)
    let parser = StreamParser(hint: nil)
    let whole = try parse(bytes[...], piece: { _ in bytes.count }, with: parser)
    let facts = try facts(parser)
    var dice = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 1...UInt64.max, using: &dice)
    var state = seed
    func random(_ count: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state >> 33) % count
    }
    let splits: [(Int) -> Int] = [
      { _ in 1 }, { _ in 7 }, { _ in 4096 }, { _ in 1 + random(3000) },
      { _ in random(3) == 0 ? 1 + random(20_000) : 1 + random(20) },
    ]
    for (number, split) in splits.enumerated() {
      let parser = StreamParser(hint: nil)
      let heard = try parse(bytes[...], piece: split, with: parser)
      expectEqual(heard, whole, "split \(number) of \(seed)")
      try expectEqual(self.facts(parser), facts, "split \(number) of \(seed)")
    }
  }

  @Test(arguments: streams.map(\.name))
  func bytesThatAreLostTakeNoMoreThanTheirPackets(name: String) throws {
    let bytes = try bytes(name)
    let expected = try read(path(name)).packets
    let parser = StreamParser(hint: nil)
    let start = bytes.count / 2
    var heard = try parse(bytes[..<start], piece: { _ in 600 }, with: parser).packets
    let before = heard.count
    var next = start + 1000
    if case .equal(let size) = parser.framing {
      // Only their position shows where these packets start.
      let offset = Int(try require(parser.details).dataOffset)
      next = offset + (next - offset) / size * size
    }
    if case .listed = parser.framing {
      #expect(throws: StreamFailure.lostSync) {
        try parse(bytes[next...], piece: { _ in 600 }, with: parser, isDiscontinuous: true)
      }
      return
    }
    let rest = try parse(
      bytes[next...], piece: { _ in 600 }, with: parser, isDiscontinuous: true)
    heard += rest.packets
    expectTrue(heard.starts(with: expected.prefix(before)))
    if case .equal(let size) = parser.framing {
      let offset = Int(try require(parser.details).dataOffset)
      let kept = expected.dropFirst((next - offset) / size)
      expectTrue(rest.packets.starts(with: kept) && kept.count > 0)
    } else {
      expectEqual(rest.packets, Array(expected.suffix(rest.packets.count)))
      let size = expected.reduce(0) { $0 + $1.count } / expected.count
      expectTrue(expected.count - heard.count <= 1000 / size + 3)
    }
  }

  @Test(arguments: ["a.flac", "small.flac"])
  func aDamagedFrameIsTheOnlyOneThatIsLost(name: String) throws {
    var bytes = try bytes(name)
    let expected = try read(path(name)).packets
    let number = expected.count / 2
    let range = try require(Data(bytes).range(of: Data(expected[number])))
    bytes[(range.lowerBound + range.upperBound) / 2] ^= 0x10
    let heard = try parse(bytes[...], piece: { _ in 500 }, with: StreamParser(hint: nil)).packets
    expectEqual(heard, Array(expected[..<number] + expected[(number + 1)...]))
  }

  /// Returns an ID3 tag with `count` bytes after its header.
  private func tag(_ count: Int, version: UInt8 = 3) -> [UInt8] {
    let size = [21, 14, 7, 0].map { UInt8(count >> $0 & 0x7F) }
    return Array("ID3".utf8) + [version, 0, 0] + size + [UInt8](repeating: 0, count: count)
  }

  @Test(arguments: ["plain.mp3", "a.aac", "a.flac"])
  func tagsInARowArePassedOver(name: String) throws {
    let sound = try bytes(name)
    let expected = try read(path(name)).packets
    for tags in [[100], [10, 0, 3000], [20 << 20], [1 << 18, 20 << 20]] {
      let bytes = tags.flatMap { tag($0) } + sound
      let parser = StreamParser(hint: nil)
      let heard = try parse(bytes[...], piece: { _ in 5000 }, with: parser)
      expectEqual(heard.packets, expected, "\(tags)")
      let offset = bytes.count - expected.reduce(0) { $0 + $1.count }
      expectTrue(parser.details?.dataOffset == Int64(offset) || name == "a.aac")
      try expectEqual(Container(contentOf: ReplayedStore(bytes)), Container(forPath: name))
    }
    // An invalid size means no tag.
    var wrong = tag(100)
    wrong[8] = 0x80
    try expectNil(Container(contentOf: ReplayedStore(wrong + sound)))
  }

  @Test func tagsWithoutEndAreRefused() throws {
    let bytes = (0..<5000).flatMap { _ in tag(0) }
    let store = CountingStore(bytes)
    try expectNil(Container(contentOf: store))
    expectTrue(store.reads < 50)
    expectEqual(failure(bytes), .unsupportedContainer)
  }

  @Test func theLongestFramesOfMPEGAreTaken() throws {
    // Layer 2 of MPEG 2.5: 160 kbit/s at 8 kHz, padded.
    let frame = [0xFF, 0xE5, 0xEA, 0xC0] + [UInt8](repeating: 0, count: 2877)
    let bytes = (0..<8).flatMap { _ in frame }
    let parser = StreamParser(hint: nil)
    let heard = try parse(bytes[...], piece: { _ in 999 }, with: parser)
    expectEqual(heard.packets, [[UInt8]](repeating: frame, count: 8))
    let details = try require(parser.details)
    expectTrue(details.packetBytesLimit >= 2881 && details.container == .mp2)
    expectEqual(details.format.sampleRate, 8000)
  }

  private func failure(_ bytes: [UInt8], hint: Container? = nil) -> StreamFailure? {
    do {
      _ = try parse(bytes[...], piece: { _ in 777 }, with: StreamParser(hint: hint))
      return nil
    } catch {
      return error as? StreamFailure
    }
  }

  @Test func tablesAfterTheSoundAreRefused() throws {
    let folder = try TemporaryFolder()
    for (name, arguments) in [("late.m4a", ["-c:a", "aac"]), ("late.caf", ["-c:a", "alac"])] {
      let noise = "anoisesrc=duration=0.5:sample_rate=44100"
      try tool(
        "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", noise] + arguments + [folder.file(name)])
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file(name))))
      expectEqual(failure(bytes), .notOptimized)
    }
  }

  /// A stream that nothing is found in is refused after 64 KiB, also if each piece is said to follow a gap.
  @Test(arguments: [false, true], [100, 4096, 65_535])
  func aStreamThatCannotBeToldIsRefused(isDiscontinuous: Bool, piece: Int) throws {
    let parser = StreamParser(hint: nil)
    let text = Array("no sound at all ".utf8)
    var sent = 0
    let failure = #expect(throws: StreamFailure.self) {
      while sent < 200_000 {
        let bytes = (0..<piece).map { text[($0 + sent) % text.count] }
        sent += piece
        try bytes.withUnsafeBytes { bytes in
          try parser.parse(bytes, isDiscontinuous: isDiscontinuous, ready: {}) { _, _, _ in }
        }
      }
    }
    expectTrue(failure == .unsupportedContainer && sent <= 2 * 65_535 && sent >= 65_000, "\(sent)")
  }

  @Test func rubbishIsRefusedAndNotKept() throws {
    var dice = SystemRandomNumberGenerator()
    let rubbish = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &dice) }
    expectEqual(failure(rubbish), .unsupportedContainer)
    expectEqual(
      failure([UInt8](repeating: 0xFF, count: 200_000), hint: .mp3), .unsupportedContainer)
    // A header without an end.
    let riff = [UInt8]("RIFF....WAVEjunk".utf8) + [0xFF, 0xFF, 0xFF, 0x7F] + rubbish
    expectEqual(failure(riff), .damaged("its head is too long"))
  }

  /// These have no packets that a stream could be divided into without the whole file.
  @Test(arguments: ["OggS", "#!AMR\n", "wvpk", "TTA1", "MPCK", "MAC "])
  func aContainerThatIsReadAsAFileOnlyIsRefusedAtOnce(name: String) {
    expectEqual(failure(Array(name.utf8) + [UInt8](repeating: 1, count: 60)), .unsupportedContainer)
  }

  @Test func mpegAudioOfAFreeFormatIsRefused() throws {
    let folder = try TemporaryFolder()
    let (source, path) = (folder.file("a.wav"), folder.file("free.mp3"))
    try tool("sox", ["-n", "-r", "44100", "-c", "2", source, "synth", "0.5", "sine", "440"])
    try tool("lame", ["--quiet", "--freeformat", "-b", "400", source, path])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    expectEqual(failure(bytes), .unsupportedEncoding(FreeFormat.name))
    expectEqual(failure(tag(3000) + bytes, hint: .mp3), .unsupportedEncoding(FreeFormat.name))
    // Three headers are needed to tell.
    expectNil(failure(Array(bytes[..<2000])))
  }
}
