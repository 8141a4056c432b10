import Codecs
import FileSupport
import Foundation
import Testing

@testable import Files

/// Files of six seconds, created once.
private let long = Result {
  let folder = try TemporaryFolder()
  let tone = "aevalsrc='0.5*sin(2*PI*(300*t+200*t*t))':d=6:s=44100"
  for codec in ["aac", "alac"] {
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", tone, "-c:a", codec, folder.file("\(codec).m4a")])
  }
  return folder
}

@Suite(.tags(.program)) struct EditListTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Returns a copy of a file with another edit list: lengths in milliseconds, starts in frames.
  private func edited(
    _ name: String, _ edits: [(length: Int, start: Int)]
  ) throws -> String {
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: long.get().file(name))))
    func box(_ name: String) throws -> Int {
      try require(Data(bytes).range(of: Data(name.utf8))).lowerBound - 4
    }
    let offset = try box("elst")
    let old = Int(bytes.big(at: offset, bytes: 4))
    var list = [UInt8](edits.count, count: 4, bigEndian: true)
    for edit in edits {
      list += [UInt8](edit.length, count: 4, bigEndian: true)
      list += [UInt8](edit.start, count: 4, bigEndian: true) + [0, 1, 0, 0]
    }
    bytes.replaceSubrange(offset + 12..<offset + old, with: list)
    for name in ["moov", "trak", "edts", "elst"] {
      let offset = try box(name)
      let size = Int(bytes.big(at: offset, bytes: 4)) + list.count + 12 - old
      bytes.replaceSubrange(offset..<offset + 4, with: [UInt8](size, count: 4, bigEndian: true))
    }
    return try folder.write(Data(bytes), to: "edited-\(name)")
  }

  private func check(
    _ path: String, _ name: String, from start: Int, frames: Int? = nil, after skipped: Int = 0
  ) throws {
    let whole = try decodedSound(long.get().file(name))
    let sound = try decodedSound(path)
    if let frames { expectEqual(sound.count, frames) }
    let expected = whole[start..<min(whole.count, start + sound.count)]
    let difference = zip(sound, expected).dropFirst(skipped).reduce(Float(0)) {
      max($0, abs($1.0 - $1.1))
    }
    // AAC adds different noise each time.
    expectTrue(difference <= (name == "alac.m4a" ? 0 : 0.01))
  }

  @Test(arguments: [("alac.m4a", 0), ("aac.m4a", 1024)])
  func anEditMayBeginAnywhere(name: String, priming: Int) throws {
    for start in [10_000, 110_250, 200_001] {
      try check(
        edited(name, [(1_000, priming + start)]), name, from: start, frames: 44_100)
      // Silence before and after the sound is left out.
      try check(
        edited(name, [(500, -1), (1_000, priming + start), (200, -1)]), name, from: start,
        frames: 44_100)
    }
  }

  @Test(arguments: [("alac.m4a", 0), ("aac.m4a", 1024)])
  func partsThatFollowOneAnotherAreOne(name: String, priming: Int) throws {
    let start = priming + 66_150
    try check(
      edited(name, [(1_000, start), (333, start + 44_100), (1_000, start + 44_100 + 14_685)]),
      name, from: 66_150, frames: 44_100 + 14_685 + 44_100)
    let apart: [[(length: Int, start: Int)]] = [
      [(1_000, start), (1_000, start + 50_000)], [(1_000, start), (1_000, start)],
      [(1_000, start), (300, -1), (1_000, start + 44_100)], [(1_000, start), (1_000, 0)],
    ]
    for edits in apart {
      let path = try edited(name, edits)
      let error = #expect(throws: SoundFileError.self) { try MediaFiles.open(path: path) }
      expectEqual(
        error?.description,
        "\(path): its edits join parts of the sound that do not follow one another")
    }
  }

  @Test func whatFfmpegCutsOutIsThere() throws {
    for name in ["aac.m4a", "alac.m4a"] {
      let path = folder.file("cut-\(name)")
      try tool(
        "ffmpeg",
        ["-v", "error", "-ss", "2.5", "-t", "2", "-i", long.get().file(name), "-c", "copy", path])
      let sound = try MediaFiles.open(path: path)
      expectTrue(try abs(sound.frameCount - 88_200) < 4_096)
      // The first packet of AAC would need the previous one, which was left out.
      try check(path, name, from: 110_250, after: name == "aac.m4a" ? 1_024 : 0)
    }
  }

  // MARK: Impossible times

  @Test func wildTimesOfFragmentsAreNoDanger() throws {
    let source = try PacketFileReader(FileStore(path: PacketRecipe.all[0].make()))
    let store = ReplayedStore()
    let writer = try PacketFileWriter(store, container: .m4a, format: source.format)
    writer.cookie = source.cookie
    writer.packetTable = try source.packetTable
    for packet in try source.allPackets() {
      try packet.bytes.withUnsafeBytes {
        try writer.append($0, [PacketExtent(offset: 0, bytes: $0.count)])
      }
    }
    try writer.checkpoint()
    let bytes = store.bytes
    let data = Data(bytes)
    var offsets: [Int] = []
    while let next = data.range(
      of: Data("tfdt".utf8), in: (offsets.last ?? 0) + 1..<data.endIndex)
    {
      offsets.append(next.lowerBound)
    }
    expectTrue(offsets.count > 1 && bytes[offsets[0] + 4] == 1)
    let times: [Int64] = [.min, .min + 1, .max, .max - 100, -1, 1 << 32, 1 << 62]
    for time in times {
      for offset in offsets {
        var wild = bytes
        wild.replaceSubrange(
          offset + 8..<offset + 16, with: [UInt8](time, count: 8, bigEndian: true))
        guard let file = try? PacketFileReader(ReplayedStore(wild)) else { continue }
        expectTrue(try (0...file.frameCount).contains(file.validFrames))
      }
    }
    let file = try MPEG4File(ReplayedStore(bytes))
    for spanned in [Int64.min, -1, .max] {
      let table = try require(
        file.table(frames: 10_000, spanned: spanned, sampleRate: 44_100, gapless: nil))
      // Frames of unknown meaning are not taken for silence.
      expectTrue((5000...10_000).contains(table.validFrames))
    }
  }

  // MARK: Writing

  @Test(arguments: [1_500, 2_048, 5_000])
  func aRemainderMayBeLongerThanAPacket(remainder: Int) throws {
    let source = try PacketFileReader(FileStore(path: PacketRecipe.all[0].make()))
    let table = PacketTable(
      validFrames: try source.frameCount - 1024 - Int64(remainder), primingFrames: 1024,
      remainderFrames: remainder)
    let path = folder.file("a.m4a")
    let writer = try PacketFileWriter(
      FileStore(creating: path, isReplacing: false), container: .m4a, format: source.format)
    writer.cookie = source.cookie
    writer.packetTable = table
    for packet in try source.allPackets() {
      try packet.bytes.withUnsafeBytes {
        try writer.append($0, [PacketExtent(offset: 0, bytes: $0.count)])
      }
    }
    try writer.close()
    try expectEqual(PacketFileReader(FileStore(path: path)).packetTable, table)
    let probe = try tool(
      "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path])
    let seconds = try require(Double(probe.text.dropLast()))
    expectTrue(abs(seconds * 44_100 - Double(table.validFrames)) < 1)
  }
}
