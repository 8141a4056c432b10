import Glibc
import RealTime
import TestSupport
import Testing

@Suite struct SamplesTests {
  /// In every format with 1 to 64 channels, the result is the exact value times the gain.
  @Test(arguments: [1, 2, 3, 8, 64])
  func everyLayoutIsReadExactly(channels: Int) throws {
    for format in PCMFormat.all(channels: channels) {
      let layout = try require(format.layout, "\(format)")
      let (bytes, expected) = format.noise(frames: 300, seed: 7)
      for gain: Float in [1, 0.5, 0.3, 0] {
        let planes = (0..<channels).map { _ in UnsafeMutablePointer<Float>.allocate(capacity: 301) }
        defer { planes.forEach { $0.deallocate() } }
        planes.forEach { $0.initialize(repeating: .nan, count: 301) }
        var pointers = planes
        bytes.withUnsafeBytes { bytes in
          layout.copy(
            bytes.baseAddress!, planeFrames: 0, frames: 300, gain: ChannelGain(gain), to: &pointers,
            at: 1)
        }
        for channel in 0..<channels {
          let found = Array(UnsafeBufferPointer(start: planes[channel] + 1, count: 300))
          expectEqual(found, expected[channel].map { $0 * gain }, "\(format), gain \(gain)")
          expectTrue(planes[channel][0].isNaN, "writes before the first frame")
        }
      }
    }
  }

  /// Any length, interleaved or in planes. The page after the last byte is not accessible.
  @Test(arguments: [1, 2, 3], [0, 1, 2, 3, 4, 5, 17])
  func nothingIsReadBeyondTheLastByte(channels: Int, frames: Int) throws {
    try withGuardedPage { page in
      for format in PCMFormat.all(channels: channels) {
        let layout = try require(format.layout, "\(format)")
        let (bytes, expected) = format.noise(frames: frames, seed: 5)
        let width = format.bytesPerSample
        let start = page.baseAddress! + page.count - bytes.count
        for planeFrames in [0, frames] {
          for i in 0..<frames * channels {
            let (frame, channel) = (i / channels, i % channels)
            let at = planeFrames == 0 ? i : channel * planeFrames + frame
            for byte in 0..<width {
              start.storeBytes(
                of: bytes[i * width + byte], toByteOffset: at * width + byte, as: UInt8.self)
            }
          }
          var planes = (0..<channels).map { _ in
            UnsafeMutablePointer<Float>.allocate(capacity: frames + 1)
          }
          defer { planes.forEach { $0.deallocate() } }
          planes.forEach { $0.initialize(repeating: .nan, count: frames + 1) }
          layout.copy(
            start, planeFrames: planeFrames, frames: frames, gain: ChannelGain(0.3), to: &planes,
            at: 0)
          let found = planes.map { Array(UnsafeBufferPointer(start: $0, count: frames)) }
          expectEqual(found, expected.map { $0.map { $0 * 0.3 } }, "\(format)")
          expectTrue(planes.allSatisfy { $0[frames].isNaN }, "writes after the last frame")
        }
      }
    }
  }

  @Test func aByteMayStandAnywhere() throws {
    // Samples need no alignment.
    let format = PCMFormat(sampleRate: 48000, channels: 1, kind: .float, bitsPerSample: 64)
    let layout = try require(format.layout)
    let (bytes, expected) = format.noise(frames: 10, seed: 3)
    let shifted = [0] + bytes
    var out = [Float](repeating: 0, count: 10)
    out.withUnsafeMutableBufferPointer { out in
      var pointers = [out.baseAddress!]
      shifted.withUnsafeBytes {
        layout.copy(
          $0.baseAddress! + 1, planeFrames: 0, frames: 10, gain: ChannelGain(1), to: &pointers,
          at: 0)
      }
    }
    expectEqual(out, expected[0])
  }

  @Test(arguments: [
    PCMFormat(sampleRate: 48000, channels: 0, kind: .float, bitsPerSample: 32),
    PCMFormat(sampleRate: 48000, channels: 65, kind: .float, bitsPerSample: 32),
    PCMFormat(sampleRate: 0, channels: 2, kind: .float, bitsPerSample: 32),
    PCMFormat(sampleRate: .nan, channels: 2, kind: .float, bitsPerSample: 32),
    PCMFormat(sampleRate: .infinity, channels: 2, kind: .float, bitsPerSample: 32),
    PCMFormat(sampleRate: 48000, channels: 2, kind: .float, bitsPerSample: 16),
    PCMFormat(sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 64),
    PCMFormat(sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 4),
    PCMFormat(
      sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 24, bytesPerSample: 2),
  ])
  func whatCannotBeReadHasNoLayout(format: PCMFormat) { expectNil(format.layout) }
}
