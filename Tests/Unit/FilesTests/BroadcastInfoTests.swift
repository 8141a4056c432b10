import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Broadcast metadata of WAVE and RF64 files.
@Suite(.tags(.program)) struct BroadcastInfoTests {
  private var info: BroadcastInfo {
    var info = BroadcastInfo()
    info.description = "Take 3, the quiet one"
    info.originator = "Cuejack 9.9"
    info.originatorReference = "XX-1234"
    info.date = "2026-11-25"
    info.time = "23:59:58"
    // More than 32 bits.
    info.timeReference = 0x1_2345_6789
    info.codingHistory = "A=PCM,F=48000,W=16,M=mono,T=Cuejack 9.9\r\n"
    return info
  }

  private let format = PCMFormat(
    sampleRate: 48_000, channels: 1, kind: .signedInteger, bitsPerSample: 16)

  @Test(arguments: [Container.wave, .rf64]) func theyAreReadAsWritten(container: Container) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.wav")
    let file = try SoundFile.create(
      path: path, container: container, format: format, isReplacing: false)
    try expectNil(file.broadcastInfo())
    try file.setBroadcastInfo(info)
    try [UInt8](repeating: 1, count: 2000).withUnsafeBytes {
      try file.writeBytes(at: 0, from: $0)
    }
    try expectEqual(file.broadcastInfo(), info)
    // The file is complete already, as after a kill.
    let opened = try SoundFile(FileStore(path: path, isWritable: false))
    try expectEqual(opened.broadcastInfo(), info)
    try file.close()
    let chunks = opened.chunkIDs
    expectTrue(chunks.firstIndex(of: "bext")! < chunks.firstIndex(of: "data")!)
    // As others read it.
    let probe = try tool("ffprobe", ["-v", "error", "-show_entries", "format_tags", path])
    for line in [
      "comment=Take 3, the quiet one", "encoded_by=Cuejack 9.9", "originator_reference=XX-1234",
      "date=2026-11-25", "creation_time=23:59:58", "time_reference=4886718345",
      "coding_history=A=PCM,F=48000,W=16,M=mono,T=Cuejack 9.9",
    ] {
      expectTrue(
        probe.text.split(whereSeparator: \.isNewline).contains { $0 == "TAG:\(line)" },
        "\(line) in \(probe.text)")
    }
  }

  @Test func whatOthersWriteIsRead() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.wav")
    _ = try tool(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "sine=d=0.1", "-write_bext", "1", "-metadata",
        "originator=Other", "-metadata", "time_reference=5000000000", "-metadata",
        "origination_date=2001-02-03", "-metadata", "origination_time=04:05:06", path,
      ])
    let read = try SoundFile(FileStore(path: path, isWritable: false)).broadcastInfo()
    expectTrue(read?.originator == "Other" && read?.timeReference == 5_000_000_000)
    expectTrue(read?.date == "2001-02-03" && read?.time == "04:05:06")
  }

  @Test func aShortChunkIsNone() throws {
    let store = MemoryStore()
    let file = try SoundFile.create(in: store, container: .wave, format: format)
    try file.setChunk("bext", [UInt8](repeating: 0x41, count: 345))
    try expectNil(file.broadcastInfo())
    try file.setChunk("bext", [UInt8](repeating: 0x41, count: 346))
    let long = try require(try file.broadcastInfo())
    expectTrue(long.description.count == 256 && long.time == "AAAAAAAA")
    expectTrue(long.timeReference == 0x4141_4141_4141_4141 && long.codingHistory == "")
  }

  @Test func otherContainersHaveNone() throws {
    let file = try SoundFile.create(
      in: MemoryStore(), container: .caf,
      format: .init(
        sampleRate: 48_000, channels: 1, kind: .signedInteger, bitsPerSample: 16))
    try expectNil(file.broadcastInfo())
    #expect(throws: SoundFileError.self) { try file.setBroadcastInfo(info) }
  }
}
