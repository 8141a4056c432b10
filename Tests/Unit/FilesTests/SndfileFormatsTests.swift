import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Every file type of libsndfile in every encoding that it writes.
@Suite struct SndfileFormatsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: SndfileFormat.all)
  func everyFormatOfLibsndfileIsRead(format: SndfileFormat) throws {
    let path = try format.make(in: folder)
    let expected = try sndfileSamples(path)
    let file = try MediaFiles.open(path: path, decodesOthers: true)
    expectEqual(file.format.channels, expected.channels)
    expectEqual(file.format.sampleRate, Double(expected.rate))
    func expectNear(_ samples: [Double], _ expected: ArraySlice<Double>, _ words: String) {
      let difference = zip(samples, expected).map { abs($0 - $1) }.max() ?? .infinity
      expectTrue(difference <= format.tolerance, "\(words)")
    }
    guard case .pcm = file.format else {
      let decoded = try decodedSound(file).map(Double.init)
      // libsndfile does not leave out the padding of the last packet.
      expectTrue(decoded.count >= SndfileFormat.frames * format.channels)
      expectTrue(decoded.count <= expected.samples.count)
      expectNear(decoded, expected.samples[...], "decoded by libavcodec")
      return
    }
    try expectEqual(file.frameCount, Int64(expected.samples.count / expected.channels))
    expectTrue(expected.samples.count >= SndfileFormat.frames * format.channels)
    expectNear(try storedSamples(file), expected.samples[...], "from the start")
    // Reads begin anywhere, even where libsndfile cannot seek.
    for frame in [700, 300, 0, 310] {
      let start = frame * format.channels
      let part = expected.samples[start..<start + 50 * format.channels]
      let read = try storedSamples(file, from: Int64(frame), count: 50)
      expectEqual(read.count, part.count)
      expectNear(read, part, "from frame \(frame)")
    }
  }
}
