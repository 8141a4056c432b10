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
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var samples: [[Float]] = Array(repeating: [], count: channels)
    var data = Data()
    for _ in 0..<frames {
      for channel in 0..<channels {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        // Odd, so never zero.
        let integer = Int32(truncatingIfNeeded: state >> 32) | 0x101
        switch coding {
        case .s16:
          let value = Int16(truncatingIfNeeded: integer)
          samples[channel].append(Float(value) / 32768)
          withUnsafeBytes(of: value) { data.append(contentsOf: $0) }
        case .s24:
          let value = integer >> 8 | 1
          samples[channel].append(Float(value) / 8_388_608)
          withUnsafeBytes(of: value) { data.append(contentsOf: $0.prefix(3)) }
        case .f32:
          let value = Float(integer) / 2_147_483_648 * 0.7
          samples[channel].append(value)
          withUnsafeBytes(of: value) { data.append(contentsOf: $0) }
        }
      }
    }
    let bytes = [.s16: 2, .s24: 3, .f32: 4][coding]!
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
    self.samples = samples
  }
}
