import FileSupport
import Foundation
import Testing

@Suite(.tags(.program)) struct InfoTests {
  let folder: TemporaryFolder
  let cuejack: String
  init() throws {
    folder = try TemporaryFolder()
    cuejack = try buildFolder() + "/cuejack"
  }

  @Test func aFileIsShownInWords() throws {
    let path = try Recipe(.sox, "a.wav", .s24).make(in: folder)
    let outcome = try run(cuejack, ["info", path])
    let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
    expectTrue(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
    expectEqual(
      outcome.text,
      """
      \(path)
        container: WAVE
        format:    24-bit signed integer, little-endian
        channels:  2 (left, right)
        rate:      44100 Hz
        duration:  00:00.023 (1000 frames)
        bit rate:  2116800 bits per second
        size:      \(size) bytes, 6000 of sound from byte \(size - 6000) on
        chunks:    fmt , fact, data

      """)
  }

  @Test func jsonIsAnArrayWithStableKeys() throws {
    let first = try Recipe(.ffmpeg, "a.caf", .f32, bigEndian: true).make(in: folder)
    let second = try Recipe(.sox, "b.wav", .s24).make(in: folder)
    let outcome = try run(cuejack, ["info", "--json", first, second])
    let files = try require(
      try JSONSerialization.jsonObject(with: outcome.output) as? [[String: Any]])
    expectEqual(files.count, 2)
    let file = files[0]
    expectEqual(file["path"] as? String, first)
    expectEqual(file["container"] as? String, "CAF")
    expectEqual(file["format"] as? String, "32-bit float, big-endian")
    expectEqual(file["sampleType"] as? String, "float")
    expectEqual(file["byteOrder"] as? String, "big")
    expectEqual(file["bitsPerSample"] as? Int, 32)
    expectEqual(file["channels"] as? Int, 2)
    expectEqual(file["sampleRate"] as? Double, 44_100)
    expectEqual(file["frames"] as? Int, 1000)
    expectEqual(file["truncated"] as? Bool, false)
    expectTrue(try abs(require(file["duration"] as? Double) - 1000 / 44_100.0) < 1e-12)
    expectEqual(file["sourceBits"] as? Int, 32)
    expectEqual(file["chunks"] as? [String], ["desc", "chan", "info", "data"])
    expectEqual(file["soundBytes"] as? Int, 8000)
    expectEqual(file["largestPacket"] as? Int, 8)
    expectEqual(file["optimized"] as? Bool, true)
    let size = try require(file["size"] as? Int)
    expectEqual(file["dataOffset"] as? Int, size - 8000)
    expectEqual(files[1]["layout"] as? [String], ["left", "right"])
  }

  @Test func errorsDoNotHideTheOtherFiles() throws {
    let path = try Recipe(.sox, "a.wav", .s16).make(in: folder)
    let missing = folder.file("missing.wav")
    let words = try run(cuejack, ["info", missing, path])
    expectEqual(words.status, 1)
    expectEqual(words.errors, "cuejack: \(missing): there is no such file\n")
    expectTrue(words.text.hasPrefix("\(path)\n"))
    let json = try run(cuejack, ["info", "--json", missing])
    expectEqual(json.status, 1)
    try expectEqual(JSONSerialization.jsonObject(with: json.output) as? [String], [])
  }

  @Test func aFileCutShortIsShownWithAWarning() throws {
    let whole = try Data(
      contentsOf: URL(fileURLWithPath: Recipe(.sox, "a.wav", .s16).make(in: folder)))
    let path = try folder.write(whole.dropLast(4), to: "cut.wav")
    let outcome = try run(cuejack, ["info", path])
    expectEqual(outcome.status, 1)
    expectEqual(
      outcome.errors, "cuejack: \(path): the file is cut short: 999 of 1000 frames are there\n")
  }
}
