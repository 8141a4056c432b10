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
    #expect(outcome.status == 0 && outcome.errors.isEmpty)
    #expect(
      outcome.text == """
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
    let files = try #require(
      try JSONSerialization.jsonObject(with: outcome.output) as? [[String: Any]])
    #expect(files.count == 2)
    let file = files[0]
    #expect(file["path"] as? String == first)
    #expect(file["container"] as? String == "CAF")
    #expect(file["format"] as? String == "32-bit float, big-endian")
    #expect(file["sampleType"] as? String == "float")
    #expect(file["byteOrder"] as? String == "big")
    #expect(file["bitsPerSample"] as? Int == 32)
    #expect(file["channels"] as? Int == 2)
    #expect(file["sampleRate"] as? Double == 44_100)
    #expect(file["frames"] as? Int == 1000)
    #expect(file["truncated"] as? Bool == false)
    #expect(try abs(#require(file["duration"] as? Double) - 1000 / 44_100.0) < 1e-12)
    #expect(file["sourceBits"] as? Int == 32)
    #expect(file["chunks"] as? [String] == ["desc", "chan", "info", "data"])
    #expect(file["soundBytes"] as? Int == 8000)
    #expect(file["largestPacket"] as? Int == 8)
    #expect(file["optimized"] as? Bool == true)
    let size = try #require(file["size"] as? Int)
    #expect(file["dataOffset"] as? Int == size - 8000)
    #expect(files[1]["layout"] as? [String] == ["left", "right"])
  }

  @Test func errorsDoNotHideTheOtherFiles() throws {
    let path = try Recipe(.sox, "a.wav", .s16).make(in: folder)
    let missing = folder.file("missing.wav")
    let words = try run(cuejack, ["info", missing, path])
    #expect(words.status == 1)
    #expect(words.errors == "cuejack: \(missing): there is no such file\n")
    #expect(words.text.hasPrefix("\(path)\n"))
    let json = try run(cuejack, ["info", "--json", missing])
    #expect(json.status == 1)
    #expect(try JSONSerialization.jsonObject(with: json.output) as? [String] == [])
  }

  @Test func aFileCutShortIsShownWithAWarning() throws {
    let whole = try Data(
      contentsOf: URL(fileURLWithPath: Recipe(.sox, "a.wav", .s16).make(in: folder)))
    let path = try folder.write(whole.dropLast(4), to: "cut.wav")
    let outcome = try run(cuejack, ["info", path])
    #expect(outcome.status == 1)
    #expect(
      outcome.errors
        == "cuejack: \(path): the file is cut short: 999 of 1000 frames are there\n")
  }
}
