import FileSupport
import Foundation
import Testing

/// `cuejack convert`, `cuejack info` and `cuejack play` with file types that libsndfile opens.
@Suite(.tags(.program)) struct SndfileCommandTests {
  let folder: TemporaryFolder
  let cuejack: String
  init() throws {
    folder = try TemporaryFolder()
    cuejack = try buildFolder() + "/cuejack"
  }

  /// The first stereo encoding of each file type, or the first mono one.
  private static let types: [SndfileFormat] = {
    var types: [SndfileFormat] = []
    for format in SndfileFormat.all where !types.contains(where: { $0.type == format.type }) {
      types.append(
        SndfileFormat.all.first { $0.type == format.type && $0.channels == 2 } ?? format)
    }
    return types
  }()

  private func succeed(_ arguments: [String]) throws -> Outcome {
    let outcome = try run(
      cuejack, arguments,
      environment: [
        "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())", "JACK_NO_START_SERVER": "1",
      ])
    expectTrue(outcome.status == 0 && outcome.errors.isEmpty, "\(arguments): \(outcome.errors)")
    return outcome
  }

  private func expectNear(
    _ path: String, _ expected: [Double], rate: Int, _ format: SndfileFormat
  ) throws {
    let found = try sndfileSamples(path)
    expectTrue(found.rate == rate && found.channels == format.channels)
    expectTrue(found.samples.count >= SndfileFormat.frames * format.channels)
    expectTrue(found.samples.count <= expected.count)
    let difference = zip(found.samples, expected).map { abs($0 - $1) }.max() ?? 1
    expectTrue(difference <= format.tolerance)
  }

  @Test(arguments: types) func aFileIsConvertedDescribedAndPlayed(format: SndfileFormat) throws {
    let path = try format.make(in: folder)
    // Some types round the rate.
    let (expected, _, rate) = try sndfileSamples(path)

    let converted = folder.file("converted.wav")
    _ = try succeed(["convert", path, converted])
    try expectNear(converted, expected, rate: rate, format)

    let rendered = folder.file("rendered.caf")
    _ = try succeed(["play", path, "--render", rendered])
    try expectNear(rendered, expected, rate: rate, format)

    let report = try succeed(["info", "--json", path]).output
    let files = try require(try JSONSerialization.jsonObject(with: report) as? [[String: Any]])
    expectEqual(files[0]["channels"] as? Int, format.channels)
    expectEqual(files[0]["sampleRate"] as? Int, rate)
    let frames = try require(files[0]["frames"] as? Int)
    expectTrue(frames >= SndfileFormat.frames && frames * format.channels <= expected.count)
  }

  @Test func whatLibsndfileReadsHasItsNames() throws {
    let voc = try require(SndfileFormat.all.first { $0.fileExtension == "voc" })
    expectTrue(
      try succeed(["info", voc.make(in: folder)]).text.contains("container: VOC (Creative Labs)\n"))
    let xi = try require(SndfileFormat.all.first { $0.fileExtension == "xi" })
    let words = try succeed(["info", xi.make(in: folder)]).text
    expectTrue(words.contains("container: XI (FastTracker 2)\n"))
    expectTrue(!words.contains("of sound from byte"))
    expectTrue(words.contains("coding:    \(xi.encoding), decoded\n"))
  }

  @Test func aTextIsNoSound() throws {
    for name in ["text.au", "text.voc", "text.txt", "text.sd2"] {
      let text = Data("This is a text and no sound at all, whatever its name is.".utf8)
      let path = try folder.write(text, to: name)
      let outcome = try run(cuejack, ["info", path])
      expectEqual(outcome.status, 1)
      expectEqual(outcome.errors, "cuejack: \(path): this is not a sound file\n")
    }
  }
}
