import CTestSupport
import Foundation

/// A WAVE file with known samples, none of them zero.
package struct WaveFile {
  package enum Coding: CaseIterable { case s16, s24, f32 }

  package let path: String
  package let frames: Int
  /// The expected port samples of each channel.
  package let samples: [[Float]]

  /// Writes the file. Different seeds give different samples.
  package init(
    _ name: String, in folder: URL, coding: Coding = .s16, channels: Int = 2, rate: Int = 48000,
    frames: Int, seed: UInt64 = 1
  ) throws {
    let bytes = [.s16: 2, .s24: 3, .f32: 4][coding]!
    var data = Data(count: frames * channels * bytes)
    var planes = [Float](repeating: 0, count: frames * channels)
    data.withUnsafeMutableBytes {
      cue_noise(
        seed, Int32(8 * bytes), coding == .f32, UInt32(channels), frames,
        $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &planes)
    }
    func number<T: FixedWidthInteger>(_ value: T) -> Data {
      withUnsafeBytes(of: value) { Data($0) }
    }
    var file = Data("RIFF".utf8) + number(UInt32(36 + data.count)) + Data("WAVEfmt ".utf8)
    file += number(UInt32(16)) + number(UInt16(coding == .f32 ? 3 : 1)) + number(UInt16(channels))
    file += number(UInt32(rate)) + number(UInt32(rate * channels * bytes))
    file += number(UInt16(channels * bytes)) + number(UInt16(8 * bytes))
    file += Data("data".utf8) + number(UInt32(data.count)) + data
    path = folder.appendingPathComponent(name).path
    try file.write(to: URL(fileURLWithPath: path))
    self.frames = frames
    samples = (0..<channels).map { Array(planes[$0 * frames..<($0 + 1) * frames]) }
  }
}
