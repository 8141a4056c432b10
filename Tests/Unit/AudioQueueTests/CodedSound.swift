import Codecs
import Foundation

/// Encoded packets and their decoded samples.
struct CodedSound {
  var format: PacketFormat
  let cookie: [UInt8]
  let packets: [EncodedPacket]
  let table: PacketTable
  /// All frames that the packets decode to, per channel.
  let decoded: [[Float]]

  /// Encodes `frames` frames of noise that differs between channels.
  init(_ codec: Codec, frames: Int, channels: Int = 2, rate: Double = 48000) throws {
    let encoder = try PacketEncoder(
      PacketFormat(codec: codec, sampleRate: rate, channels: channels, bitsPerSample: 16))
    let sound = Self.sound(frames: frames, channels: channels)
    let planes = Planes(channels: channels, capacity: frames)
    for (channel, samples) in sound.enumerated() {
      planes.pointers()[channel].update(from: samples, count: frames)
    }
    try encoder.encode(planes.pointers(), frames: frames)
    try encoder.finish()
    format = encoder.format
    cookie = encoder.cookie
    var packets: [EncodedPacket] = []
    while let packet = encoder.takePacket() { packets.append(packet) }
    self.packets = packets
    table = PacketTable(
      validFrames: Int64(frames), primingFrames: encoder.primingFrames,
      remainderFrames: encoder.remainderFrames)
    decoded = try Self.decode(packets.map(\.bytes), format, cookie)
  }

  /// Returns tones with noise, in 16 bits.
  static func sound(frames: Int, channels: Int) -> [[Float]] {
    (0..<channels).map { channel in
      var noise: UInt32 = 77 + UInt32(channel)
      return (0..<frames).map { i in
        noise = noise &* 1_664_525 &+ 1_013_904_223
        let tone = sin(Double(i) * 0.05 * Double(channel + 1)) * 12000
        return Float(Int(tone) + Int(noise >> 21) - 1024) / 32768
      }
    }
  }

  /// Returns the decoded samples of packets.
  static func decode(_ packets: [[UInt8]], _ format: PacketFormat, _ cookie: [UInt8]) throws
    -> [[Float]]
  {
    let decoder = try PacketDecoder(format, cookie: cookie)
    for packet in packets { try packet.withUnsafeBytes { try decoder.decode($0) } }
    try decoder.decode(nil)
    let frames = decoder.available
    let planes = Planes(channels: format.channels, capacity: frames)
    _ = decoder.take(into: planes.pointers(), room: frames)
    return (0..<format.channels).map {
      Array(UnsafeBufferPointer(start: planes.pointers()[$0], count: frames))
    }
  }

  /// The valid frames, without priming and remainder.
  var sound: [[Float]] {
    decoded.map {
      Array($0.dropFirst(table.primingFrames).prefix(Int(table.validFrames)))
    }
  }

  /// Returns consecutive packets as bytes, and the extent of each.
  func bytes(_ range: Range<Int>) -> (bytes: [UInt8], extents: [PacketExtent]) {
    var bytes: [UInt8] = []
    var extents: [PacketExtent] = []
    for packet in packets[range] {
      extents.append(
        PacketExtent(
          offset: bytes.count, bytes: packet.bytes.count,
          frames: format.framesPerPacket == 0 ? packet.frames : 0))
      bytes += packet.bytes
    }
    return (bytes, extents)
  }
}
