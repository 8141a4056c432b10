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
    #expect(file.format.channels == expected.channels)
    #expect(file.format.sampleRate == Double(expected.rate))
    func expectEqual(_ samples: [Double], _ expected: ArraySlice<Double>, _ words: String) {
      let difference = zip(samples, expected).map { abs($0 - $1) }.max() ?? .infinity
      #expect(difference <= format.tolerance, "\(words)")
    }
    guard case .pcm = file.format else {
      let decoded = try decodedSound(file).map(Double.init)
      // libsndfile does not leave out the padding of the last packet.
      #expect(decoded.count >= SndfileFormat.frames * format.channels)
      #expect(decoded.count <= expected.samples.count)
      expectEqual(decoded, expected.samples[...], "decoded by libavcodec")
      return
    }
    #expect(try file.frameCount == Int64(expected.samples.count / expected.channels))
    #expect(expected.samples.count >= SndfileFormat.frames * format.channels)
    expectEqual(try storedSamples(file), expected.samples[...], "from the start")
    // Reads begin anywhere, even where libsndfile cannot seek.
    for frame in [700, 300, 0, 310] {
      let start = frame * format.channels
      let part = expected.samples[start..<start + 50 * format.channels]
      let read = try storedSamples(file, from: Int64(frame), count: 50)
      #expect(read.count == part.count)
      expectEqual(read, part, "from frame \(frame)")
    }
  }
}
