import FileSupport
import Files
import Foundation
import Testing

/// `cuejack info` on MIDI files.
@Suite(.tags(.program)) struct SongTests {
  let folder: TemporaryFolder
  let cuejack: String
  init() throws {
    folder = try TemporaryFolder()
    cuejack = try buildFolder() + "/cuejack"
  }

  private func file(_ division: StandardMIDIFile.Division = .quarter(ticks: 96), format: Int = 1)
    -> Data
  {
    func meta(_ tick: Int, _ kind: UInt8, _ bytes: [UInt8]) -> StandardMIDIFile.Event {
      StandardMIDIFile.Event(tick: tick, .meta(kind, bytes))
    }
    let conductor = StandardMIDIFile.Track(
      [
        meta(0, 0x51, [0x07, 0xA1, 0x20]), meta(0, 0x58, [3, 2, 24, 8]), meta(0, 0x59, [0xFE, 1]),
        meta(192, 0x51, [0x0F, 0x42, 0x40]), meta(192, 0x06, Array("Verse".utf8)),
      ], end: 192)
    let lead = StandardMIDIFile.Track(
      [
        meta(0, 0x03, Array("Lead".utf8)), meta(0, 0x04, Array("Piano".utf8)),
        StandardMIDIFile.Event(tick: 0, .channel(0x90, 60, 100)),
        StandardMIDIFile.Event(tick: 96, .channel(0x80, 60, 0)),
        StandardMIDIFile.Event(tick: 96, .channel(0x9F, 60, 100)),
        StandardMIDIFile.Event(tick: 384, .channel(0x9F, 60, 0)),
      ], end: 384)
    return Data(
      StandardMIDIFile(format: format, division: division, tracks: [conductor, lead]).bytes)
  }

  private func info(_ data: Data, _ arguments: [String] = []) throws -> Outcome {
    let path = folder.file("song.mid")
    try data.write(to: URL(fileURLWithPath: path))
    return try run(cuejack, ["info"] + arguments + [path])
  }

  @Test func tracksTemposAndLengthsAreShown() throws {
    let result = try info(file())
    expectEqual(result.status, 0, "\(result.errors)")
    for line in [
      "container: Standard MIDI File, format 1", "ticks:     96 a quarter note",
      "duration:  00:03.000 (4 quarter notes)", "tempo:     120 a minute",
      "tempo:     60 a minute at 00:01.000 (beat 2)", "time:      3/4", "key:       G minor",
      "marker:    Verse at 00:01.000 (beat 2)", "track 1:   0 notes, 5 events",
      "track 2:   Lead, Piano: 2 notes, 6 events, channels 1, 16",
    ] {
      expectTrue(result.text.contains("  \(line)\n"), "\(line) is not in \(result.text)")
    }
  }

  @Test func theReportIsJSON() throws {
    let result = try info(file(), ["--json"])
    let all = try require(
      try JSONSerialization.jsonObject(with: result.output) as? [[String: Any]])
    let report = try require(all.first)
    expectEqual(report["format"] as? Int, 1)
    expectEqual(report["beats"] as? Double, 4)
    expectEqual(report["duration"] as? Double, 3)
    let tempos = try require(report["tempos"] as? [[String: Any]])
    expectEqual(tempos.map { $0["beatsPerMinute"] as? Double }, [120, 60])
    let tracks = try require(report["tracks"] as? [[String: Any]])
    expectEqual(tracks[1]["channels"] as? [Int], [1, 16])
    expectEqual(tracks[1]["name"] as? String, "Lead")
  }

  @Test func otherFormatsAndDamageAreTold() throws {
    let code = try info(file(.timeCode(frames: 25, ticks: 40)))
    expectTrue(code.text.contains("40 a frame of time code, 25 fps"), "\(code)")
    expectTrue(code.text.contains("duration:  00:00.384\n"), "\(code)")
    let patterns = try info(file(format: 2))
    expectTrue(patterns.status == 0 && patterns.text.contains("format 2"), "\(patterns)")
    let damaged = try info(file().dropLast(6))
    expectTrue(damaged.status == 1 && damaged.errors.contains("damaged at byte"), "\(damaged)")
  }
}
