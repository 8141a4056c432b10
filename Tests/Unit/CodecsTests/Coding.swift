import Codecs
import Foundation

/// An encoded stream of packets.
struct Encoded {
  var format: PacketFormat
  var cookie: [UInt8]
  var packets: [EncodedPacket]
  var table: PacketTable
  var maximumPacketBytes: Int
}

/// Calls `body` with planes of floats in the form that codecs take.
func withPlanes<R>(
  _ planes: [[Float]], from first: Int = 0, _ body: (Planes.Pointers) throws -> R
) rethrows -> R {
  let memory = planes.map { plane in
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: max(1, plane.count))
    memory.initialize(from: plane, count: plane.count)
    return memory
  }
  let pointers = Planes.Pointers.allocate(capacity: planes.count)
  for (i, plane) in memory.enumerated() { (pointers + i).initialize(to: plane + first) }
  defer {
    pointers.deallocate()
    memory.forEach { $0.deallocate() }
  }
  return try body(pointers)
}

/// Encodes a whole stream, `block` frames at a time.
func encode(_ planes: [[Float]], with encoder: PacketEncoder, block: Int = 1000) throws -> Encoded {
  var packets: [EncodedPacket] = []
  let frames = planes[0].count
  try withPlanes(planes) { pointers in
    var at = 0
    while at < frames {
      let count = min(block, frames - at)
      try encoder.encode(pointers, frames: count)
      for channel in planes.indices { pointers[channel] += count }
      at += count
      while let packet = encoder.takePacket() { packets.append(packet) }
    }
  }
  try encoder.finish()
  while let packet = encoder.takePacket() { packets.append(packet) }
  return Encoded(
    format: encoder.format, cookie: encoder.cookie, packets: packets,
    table: PacketTable(
      validFrames: Int64(frames), primingFrames: encoder.primingFrames,
      remainderFrames: encoder.remainderFrames), maximumPacketBytes: encoder.maximumPacketBytes)
}

/// Takes all available frames.
func takeAll(_ decoder: PacketDecoder) -> [[Float]] {
  let planes = Planes(channels: max(1, decoder.format.channels), capacity: decoder.available)
  let count = decoder.take(into: planes.pointers(), room: planes.capacity)
  let pointers = planes.pointers()
  return (0..<planes.channels).map { Array(UnsafeBufferPointer(start: pointers[$0], count: count)) }
}

/// Decodes packets and drains the decoder.
func decode(_ packets: [[UInt8]], with decoder: PacketDecoder) throws -> [[Float]] {
  for packet in packets { try packet.withUnsafeBytes { try decoder.decode($0) } }
  try decoder.decode(nil)
  return takeAll(decoder)
}

/// Returns the valid frames of a packet table.
func trimmed(_ planes: [[Float]], _ table: PacketTable) -> [[Float]] {
  planes.map { Array($0.dropFirst(table.primingFrames).dropLast(table.remainderFrames)) }
}

/// Returns a sound without repetition, with a chirp and noise in each channel, in `bits` bits.
func music(frames: Int, channels: Int, bits: Int, rate: Double = 44100) -> [[Float]] {
  let scale = Double(1 << (bits - 1))
  return (0..<channels).map { channel in
    var state = UInt64(channel + 1) &* 0x9E37_79B9_7F4A_7C15
    return (0..<frames).map { i in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let noise = Double(Int32(truncatingIfNeeded: state >> 16)) / 0x1p31
      let time = Double(i) / rate
      // From 200 Hz up, with another pitch in each channel. The fourth of six channels is the LFE.
      let pitch = channels == 6 && channel == 3 ? 40 : 200 + 90 * Double(channel)
      let phase = 2 * Double.pi * pitch * time * (1 + 0.3 * time)
      let value = 0.4 * sin(phase) + 0.1 * sin(3.01 * phase) + 0.02 * noise
      return Float((value * scale).rounded() / scale)
    }
  }
}

/// Returns by how many frames `b` lags behind `a`: the lag with the smallest difference.
func lag(_ a: [Float], _ b: [Float], upTo most: Int = 1200) -> Int {
  let first = a.count / 2
  let width = min(2000, a.count - first - most)
  guard width > 100 else { return .max }
  return a.withUnsafeBufferPointer { a in
    b.withUnsafeBufferPointer { b in
      var best = (lag: Int.max, difference: Float.infinity)
      for lag in -most...most where first + lag >= 0 && first + lag + width <= b.count {
        var difference: Float = 0
        var i = 0
        while i < width, difference < best.difference {
          let each = a[first + i] - b[first + lag + i]
          difference += each * each
          i += 1
        }
        if difference < best.difference { best = (lag, difference) }
      }
      return best.lag
    }
  }
}

/// Returns the ratio of the signal `a` to the difference between `b` and `a`, in decibels.
func signalToNoise(_ a: [Float], _ b: [Float]) -> Double {
  var signal = 0.0
  var noise = 0.0
  for (x, y) in zip(a, b) {
    signal += Double(x) * Double(x)
    noise += (Double(x) - Double(y)) * (Double(x) - Double(y))
  }
  return noise == 0 ? .infinity : 10 * log10(signal / noise)
}
