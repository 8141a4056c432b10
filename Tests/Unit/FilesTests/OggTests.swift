import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Ogg files with pages of a tenth of a second, created once.
private let corpus = Result {
  let folder = try TemporaryFolder()
  func make(_ name: String, _ source: String, _ arguments: [String]) throws {
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", source] + arguments
        + ["-page_duration", "100000", folder.file(name)])
  }
  // A rising tone, so that no two positions sound alike.
  let sweep = "aevalsrc='0.4*sin(2*PI*(200+300*t)*t)':d=2"
  try make("opus", sweep + ":s=48000", ["-c:a", "libopus", "-f", "ogg"])
  try make("vorbis", sweep + ":s=44100", ["-c:a", "libvorbis", "-f", "ogg"])
  try make("better vorbis", sweep + ":s=44100", ["-c:a", "libvorbis", "-q:a", "9", "-f", "ogg"])
  try make("slow vorbis", sweep + ":s=22050", ["-c:a", "libvorbis", "-f", "ogg"])
  try make("wide vorbis", sweep + ":s=44100", ["-c:a", "libvorbis", "-ac", "2", "-f", "ogg"])
  try make("flac", sweep + ":s=44100", ["-c:a", "flac", "-f", "ogg"])
  for milliseconds in [20, 100, 500, 900] {
    let source = "sine=r=44100:d=\(Double(milliseconds) / 1000)"
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", source, "-c:a", "libvorbis", "-f", "ogg"]
        + [folder.file("\(milliseconds)")])
  }
  return folder
}

private func bytes(_ name: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: URL(fileURLWithPath: corpus.get().file(name))))
}

private func reader(_ bytes: [UInt8]) throws -> PacketFileReader {
  try PacketFileReader(ReplayedStore(bytes))
}

/// Returns the ranges of the pages of an undamaged file.
private func pages(_ bytes: [UInt8]) -> [Range<Int>] {
  var pages: [Range<Int>] = []
  var start = 0
  while start + 27 <= bytes.count {
    let laces = Int(bytes[start + 26])
    let end = bytes[(start + 27)...].prefix(laces).reduce(start + 27 + laces) { $0 + Int($1) }
    pages.append(start..<end)
    start = end
  }
  return pages
}

/// Returns the samples from a frame on, decoded by the usual reader.
private func sound(_ bytes: [UInt8], from frame: Int64 = 0) throws -> [Float] {
  let media = try MediaFiles.open(ReplayedStore(bytes))
  return try sound(MediaReader(media), from: [frame])[0]
}

/// Returns the samples from several frames on, at most a second each, from one reader.
private func sound(_ reader: MediaReader, from frames: [Int64]) throws -> [[Float]] {
  let format = reader.file.format
  let pcm = PCMFormat(
    sampleRate: format.sampleRate, channels: 1, kind: .float, bitsPerSample: 32)
  var options = StreamConverter.Options()
  options.cookie = reader.file.cookie
  let converter = try StreamConverter(from: format, to: .pcm(pcm), options)
  return try frames.map { frame in
    reader.seek(to: frame)
    var samples = [Float](repeating: 0, count: 10 * Int(format.sampleRate))
    let count = try samples.withUnsafeMutableBytes { memory in
      let buffers = SampleBuffers(pcm, at: [memory.baseAddress!])!
      var sink = StreamConverter.Sink.frames(
        buffers, room: memory.count / MemoryLayout<Float>.size)
      try reader.read(&sink, through: converter)
      return sink.count
    }
    return Array(samples[..<count])
  }
}

/// Returns the largest difference of two ranges, or 2, an impossible value, if one is too short.
private func difference(
  _ a: some Collection<Float>, _ b: some Collection<Float>, at frame: Int, frames: Int = 15_000
) -> Float {
  guard min(a.count, b.count) >= frame + frames else { return 2 }
  return difference(a.dropFirst(frame).prefix(frames), b.dropFirst(frame).prefix(frames))
}

/// Returns the largest difference of two ranges.
private func difference(_ a: some Sequence<Float>, _ b: some Sequence<Float>) -> Float {
  zip(a, b).reduce(0) { max($0, abs($1.0 - $1.1)) }
}

@Suite(.tags(.program)) struct OggTests {
  /// RFC 7845: a stream's head gives the gain of its own sound.
  @Test func joinedOpusHasItsOwnGain() throws {
    let whole = try bytes("opus")
    var head = Array(whole[pages(whole)[0]])
    // -6.02 decibels, in units of 1/256.
    head.replaceSubrange(28 + 16..<28 + 18, with: [0xFB, 0xF9])
    head.replaceSubrange(OggPage.sum, with: OggPage.checkSum(head))
    let single = try sound(whole)
    let joined = try sound(whole + head + whole[head.count...])
    expectEqual(joined.count, 2 * single.count)
    let ends = zip(joined[single.count...], single).dropFirst(4800)
    expectTrue(ends.allSatisfy { abs($0 - $1 / 2) < 0.01 })
  }

  @Test("nothing is missing before a stream that was under way when it was recorded")
  func joinedLate() throws {
    let whole = try bytes("opus")
    let pages = pages(whole)
    // The header pages, followed by the second half.
    let late = Array(whole[..<pages[1].upperBound] + whole[pages[pages.count / 2].lowerBound...])
    let file = try reader(late)
    let all = try reader(whole).allPackets().map(\.bytes)
    let packets = try file.allPackets().map(\.bytes)
    expectTrue(packets.allSatisfy { !$0.isEmpty } && packets.count > 20)
    expectTrue(all.suffix(packets.count).elementsEqual(packets))
    expectTrue(file.hasPlainPackets)
  }

  @Test(
    "a damaged page takes its own packets with it, and silence of their length is heard",
    arguments: ["opus", "vorbis", "flac"])
  func aDamagedPage(name: String) throws {
    var bytes = try bytes(name)
    let whole = try sound(bytes)
    let intact = try reader(bytes)
    let packets = try intact.allPackets().map(\.bytes)
    expectNil(intact.warning)
    let page = pages(bytes)[pages(bytes).count / 2]
    bytes[page.upperBound - 20] ^= 0x40

    let file = try reader(bytes)
    let left = try file.allPackets()
    let missing = left.filter { $0.bytes.isEmpty }
    // A single packet, so that programs receive no empty buffer.
    expectEqual(missing.count, 1)
    expectTrue(max(missing.first?.frames ?? 0, file.format.framesPerPacket) > 2000)
    try expectEqual(file.frameCount, intact.frameCount)
    try expectEqual(file.packetTable, intact.packetTable)
    // The remaining packets on both sides are unchanged.
    let first = try require(left.firstIndex { $0.bytes.isEmpty })
    let after = left[first...].drop { $0.bytes.isEmpty }.map(\.bytes)
    expectTrue(left[..<first].map(\.bytes).elementsEqual(packets[..<first]))
    expectTrue(after == packets.suffix(after.count) && after.count > 3)
    expectTrue(packets.count - first - after.count <= 12)
    expectTrue(!file.hasPlainPackets && intact.hasPlainPackets)
    let warning = try require(file.warning)
    expectTrue(warning.hasPrefix("memory: the file is damaged at 00:0"))

    let heard = try sound(bytes)
    expectEqual(heard.count, whole.count)
    let start = heard.count * 3 / 10
    expectEqual(difference(heard[..<start], whole[..<start]), 0)
    expectTrue(heard.count { $0 == 0 } > 2000)
    let end = heard.count * 8 / 10
    expectTrue(difference(heard[end...], whole[end...]) < (name == "opus" ? 0.02 : 1e-6))
  }

  @Test("what is no page is passed over", arguments: ["opus", "vorbis", "flac"])
  func rubbishBetweenPages(name: String) throws {
    let bytes = try bytes(name)
    let packets = try reader(bytes).allPackets().map(\.bytes)
    let offset = pages(bytes)[pages(bytes).count / 2].lowerBound
    // Garbage that contains something like a page.
    let rubbish = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 * 7) } + bytes[..<40]
    let file = try reader(bytes[..<offset] + rubbish + bytes[offset...])
    try expectEqual(file.allPackets().map(\.bytes), packets)
    expectTrue(try require(file.warning).contains("\(rubbish.count) bytes belong to nothing"))

    // A missing page.
    let lost = pages(bytes)[pages(bytes).count / 2]
    let cut = try reader(Array(bytes[..<lost.lowerBound] + bytes[lost.upperBound...]))
    try expectEqual(cut.frameCount, reader(bytes).frameCount)
    expectTrue(try cut.allPackets().contains { $0.bytes.isEmpty })
  }

  @Test(
    "links of a chain are read as one",
    arguments: [
      ("opus", "opus"), ("vorbis", "vorbis"), ("vorbis", "better vorbis"), ("flac", "flac"),
    ])
  func aChain(first: String, second: String) throws {
    let links = try [bytes(first), bytes(second), bytes(first)]
    let files = try links.map { try reader($0) }
    let chain = try reader(links.flatMap { $0 })
    expectNil(chain.warning)
    let heads = first == "vorbis" ? 3 : 0
    // Priming and remainder inside a file cannot be copied with the packets.
    expectEqual(chain.hasPlainPackets, (first == "flac"))
    try expectEqual(
      chain.packetCount, files.reduce(0) { try $0 + $1.packetCount } + Int64(2 * heads))
    // Each stream is heard without its own priming and remainder.
    let whole = try sound(links.flatMap { $0 })
    try expectEqual(chain.validFrames, files.reduce(0) { try $0 + $1.validFrames })
    try expectEqual(Int64(whole.count), chain.validFrames)

    // Each chained stream sounds like it does alone, and any position can be reached from any other.
    let media = try MediaFiles.open(ReplayedStore(links.flatMap { $0 }))
    let alone = try sound(links[1])
    let priming = try files[0].packetTable?.primingFrames ?? 0
    let start = try files[0].validFrames
    let middle = start + 40_000
    let heard = try sound(MediaReader(media), from: [middle, 30_000, start])
    let limit: Float = first == "opus" ? 0.03 : 1e-6
    expectTrue(difference(heard[0], alone.dropFirst(40_000), at: 5000) < limit)
    expectTrue(difference(heard[1], whole.dropFirst(30_000), at: 5000) < limit)
    expectTrue(difference(heard[2], alone, at: 5000) < limit)
    expectEqual(priming, (first == "opus" ? 312 : 0))
  }

  @Test("a chain ends before a link of another codec, which is told")
  func anotherCodec() throws {
    let (one, two) = try (bytes("vorbis"), bytes("opus"))
    let file = try reader(one + two)
    let alone = try reader(one)
    expectEqual(
      file.warning, "memory: it is read up to byte \(one.count): sound of another codec follows")
    try expectEqual(file.validFrames, alone.validFrames)
    try expectEqual(file.allPackets().map(\.bytes), alone.allPackets().map(\.bytes))
    // Links of the first codec behind it are read.
    let more = try reader(one + two + one)
    expectTrue(try more.validFrames == 2 * alone.validFrames && more.warning == nil)
  }

  @Test("streams that lie beside the sound are passed over, in each link")
  func streamsBesideTheSound() throws {
    let link = try bytes("vorbis")
    // A page of an unknown stream, and no end of the stream before it.
    var beside = Array("OggS".utf8) + [0, 2] + [UInt8](repeating: 0, count: 8) + [9, 9, 9, 9]
    beside += [UInt8](repeating: 0, count: 8) + [1, 8] + Array("strange".utf8) + [0]
    beside.replaceSubrange(OggPage.sum, with: OggPage.checkSum(beside))
    let last = try require(pages(link).last)
    let cut = Array(link[..<last.lowerBound])
    let packets = try reader(link).allPackets().map(\.bytes)
    let count = try reader(cut).packetCount
    for first in [beside + cut, cut] {
      let chain = try reader(first + beside + link)
      expectNil(chain.warning)
      let found = try chain.allPackets().map(\.bytes)
      expectEqual(found.count, Int(count) + 3 + packets.count)
      expectEqual(Array(found.suffix(packets.count)), packets)
    }
  }

  /// The same as oggdec and sox; ffmpeg removes 128 frames from the start.
  @Test("Vorbis in a single page has its exact length", arguments: [20, 100, 500, 900])
  func aSinglePage(milliseconds: Int) throws {
    let bytes = try bytes("\(milliseconds)")
    expectEqual(pages(bytes).count, 3)
    let file = try reader(bytes)
    let frames = 441 * milliseconds / 10
    try expectEqual(file.validFrames, Int64(frames))
    try expectEqual(sound(bytes).count, frames)
    let path = try corpus.get().file("\(milliseconds)")
    let raw = try tool("sox", ["-t", "ogg", path, "-t", "raw", "-e", "float", "-b", "32", "-"])
    let theirs = raw.output.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    expectEqual(theirs.count, frames)
    expectTrue(difference(try sound(bytes), theirs) < 1e-3)
  }

  @Test("pages that are made up are not looked at without end")
  func madeUpPages() throws {
    let bytes = try bytes("opus")
    let offset = pages(bytes)[3].lowerBound
    let fake = Array("OggS".utf8) + [UInt8](repeating: 0, count: 23)
    let rubbish = (0..<30_000).flatMap { _ in fake }
    let store = CountingStore(bytes[..<offset] + rubbish + bytes[offset...])
    _ = try PacketFileReader(store).packetCount
    expectTrue(store.reads < 60_000)
  }
}
