import Foundation

/// Writes channels of equal length to a WAVE file of 32-bit floats.
package func writeWave(_ channels: [[Float]], rate: Int = 48000, to path: String) throws {
  let frames = channels[0].count
  var bytes = Data()
  func add(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }
  let size = frames * channels.count * 4
  bytes.append(contentsOf: "RIFF".utf8)
  add(UInt32(36 + size))
  bytes.append(contentsOf: "WAVEfmt ".utf8)
  add(UInt32(16))
  add(UInt16(3))
  add(UInt16(channels.count))
  add(UInt32(rate))
  add(UInt32(rate * 4 * channels.count))
  add(UInt16(4 * channels.count))
  add(UInt16(32))
  bytes.append(contentsOf: "data".utf8)
  add(UInt32(size))
  var samples = [Float](repeating: 0, count: frames * channels.count)
  samples.withUnsafeMutableBufferPointer { samples in
    for (number, channel) in channels.enumerated() {
      channel.withUnsafeBufferPointer { channel in
        for frame in channel.indices { samples[frame * channels.count + number] = channel[frame] }
      }
    }
  }
  samples.withUnsafeBytes { bytes.append(contentsOf: $0) }
  try bytes.write(to: URL(fileURLWithPath: path))
}

/// Returns the channels of a WAVE file of floats.
package func readWave(_ path: String) throws -> [[Float]] {
  let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  func number(_ offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }
  var offset = 12
  var channels = 0
  while offset + 8 <= bytes.count {
    let size = number(offset + 4, 4)
    let name = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
    if name == "fmt " { channels = number(offset + 10, 2) }
    if name == "data" {
      let data = offset + 8
      return bytes.withUnsafeBytes { bytes in
        (0..<channels).map { channel in
          stride(from: channel, to: size / 4, by: channels).map {
            bytes.loadUnaligned(fromByteOffset: data + 4 * $0, as: Float.self)
          }
        }
      }
    }
    offset += 8 + size + size % 2
  }
  throw SupportError("\(path) has no sound")
}
