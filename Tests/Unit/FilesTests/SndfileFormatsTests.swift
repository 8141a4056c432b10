import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Reads frames of linear PCM and returns the samples as numbers from -1 to 1.
private func samples(
  _ file: any MediaFile, from frame: Int64 = 0, count: Int = .max
) throws -> [Double] {
  guard case .pcm(let format) = file.format else { return [] }
  let frames = Int(min(Int64(count), max(0, try file.packetCount - frame)))
  var bytes = [UInt8](repeating: 0, count: frames * format.bytesPerFrame)
  var extents: [PacketExtent] = []
  let read = try bytes.withUnsafeMutableBytes {
    try file.readPackets(from: frame, count: count, into: $0, extents: &extents)
  }
  return stride(from: 0, to: read * format.bytesPerFrame, by: format.bytesPerSample).map { start in
    var sample = Array(bytes[start..<start + format.bytesPerSample])
    if !format.isBigEndian { sample.reverse() }
    let bits = sample.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let unused = 64 - 8 * format.bytesPerSample
    return switch (format.kind, sample.count) {
    case (.float, 4): Double(Float(bitPattern: UInt32(bits)))
    case (.float, _): Double(bitPattern: bits)
    case (.unsignedInteger, _): (Double(bits) - 128) / 128
    default: Double(Int64(bitPattern: bits << unused)) / 0x1p63
    }
  }
}

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
    expectEqual(try samples(file), expected.samples[...], "from the start")
    // Reads begin anywhere, even where libsndfile cannot seek.
    for frame in [700, 300, 0, 310] {
      let start = frame * format.channels
      let part = expected.samples[start..<start + 50 * format.channels]
      let read = try samples(file, from: Int64(frame), count: 50)
      #expect(read.count == part.count)
      expectEqual(read, part, "from frame \(frame)")
    }
  }
}
