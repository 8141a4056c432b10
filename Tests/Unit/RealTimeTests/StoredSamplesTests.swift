import Glibc
import RealTime
import TestSupport
import Testing

@Suite struct StoredSamplesTests {
  /// Calls `body` with planes that contain these samples from frame 1 on.
  private func withPlanes(
    _ channels: [[Float]],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<Float>>) throws -> Void
  ) rethrows {
    var planes = channels.map { samples in
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: samples.count + 1)
      plane[0] = .nan
      for (i, sample) in samples.enumerated() { (plane + 1 + i).initialize(to: sample) }
      return plane
    }
    defer { planes.forEach { $0.deallocate() } }
    try body(&planes)
  }

  private func store(_ format: PCMFormat, _ channels: [[Float]]) throws -> [UInt8] {
    let layout = try require(format.layout, "\(format)")
    let frames = channels[0].count
    var bytes = [UInt8](repeating: 0xa5, count: frames * format.bytesPerFrame)
    withPlanes(channels) { planes in
      bytes.withUnsafeMutableBytes { bytes in
        layout.store(
          from: planes, at: 1, frames: frames, to: bytes.baseAddress!, planeFrames: 0)
      }
    }
    return bytes
  }

  /// In every format with 1 to 64 channels, samples that were read are written with the same bits.
  @Test(arguments: [1, 2, 3, 8, 64])
  func whatWasReadIsWrittenAlike(channels: Int) throws {
    for format in PCMFormat.all(channels: channels) where format.bitsPerSample != 32 {
      let (bytes, samples) = format.noise(frames: 300, seed: 7)
      try expectEqual(store(format, samples), bytes, "\(format)")
    }
    // 32-bit samples keep the bits that a float holds: the low eight are 0.
    for format in PCMFormat.all(channels: channels) where format.bitsPerSample == 32 {
      var generator = SplitMix(state: 9)
      var bytes: [UInt8] = []
      var samples = [[Float]](repeating: [], count: channels)
      for _ in 0..<300 {
        for channel in 0..<channels {
          let sample = format.sample(Int32(truncatingIfNeeded: generator.next()) & ~0xff)
          bytes += sample.bytes
          samples[channel].append(sample.float)
        }
      }
      try expectEqual(store(format, samples), bytes, "\(format)")
    }
  }

  /// Every integer of up to 20 bits; of 24 bits, every fifth block.
  @Test func everyIntegerIsWrittenAlike() throws {
    for format in PCMFormat.all(channels: 1)
    where format.kind != .float && format.bitsPerSample <= 24 {
      let layout = try require(format.layout)
      let bits = format.bitsPerSample
      let width = format.bytesPerSample
      let count = 1 << 16
      var before = [UInt8](repeating: 0, count: count * width)
      var after = before
      var plane = [Float](repeating: 0, count: count)
      for block in stride(from: 0, to: max(1, (1 << bits) / count), by: bits == 24 ? 5 : 1) {
        let values = min(count, 1 << bits)
        let isBigEndian = format.isBigEndian
        let least = format.kind == .signedInteger ? -(1 << (bits - 1)) : 0
        let shift = format.isHighAligned ? 8 * width - bits : 0
        // Unoptimised code runs `while` loops over pointers ten times as fast as `for` loops.
        before.withUnsafeMutableBytes { before in
          let bytes = before.baseAddress!.assumingMemoryBound(to: UInt8.self)
          var i = 0
          while i < values {
            let raw = (block &* count &+ i &+ least) &<< shift
            var byte = 0
            while byte < width {
              bytes[i &* width &+ (isBigEndian ? width &- 1 &- byte : byte)] =
                UInt8(truncatingIfNeeded: raw &>> (8 &* byte))
              byte &+= 1
            }
            i &+= 1
          }
        }
        plane.withUnsafeMutableBufferPointer { plane in
          var planes = [plane.baseAddress!]
          before.withUnsafeBytes {
            layout.copy(
              $0.baseAddress!, planeFrames: 0, frames: values, gain: ChannelGain(1), to: &planes,
              at: 0)
          }
          after.withUnsafeMutableBytes {
            layout.store(
              from: &planes, at: 0, frames: values, to: $0.baseAddress!, planeFrames: 0)
          }
        }
        if memcmp(before, after, before.count) != 0 {
          Issue.record("\(format): block \(block) differs")
          return
        }
      }
    }
  }

  /// Samples are rounded to the nearest value, ties to even, and clipped, compared with double
  /// precision. Forty thousand samples at, between and beyond the steps of each integer format.
  @Test(arguments: PCMFormat.all(channels: 1).filter { $0.kind != .float })
  func samplesAreRoundedAndClipped(format: PCMFormat) throws {
    var generator = SplitMix(state: 11)
    let bits = format.bitsPerSample
    let full = Double(1 << (bits - 1))
    var samples: [Float] = [
      0, -0, 1, -1, 1.5, -1.5, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
      .leastNonzeroMagnitude, Float(1).nextDown, Float(-1).nextDown, Float(-1).nextUp,
    ]
    for _ in 0..<10_000 {
      let step = Double(Int32(truncatingIfNeeded: generator.next()) >> (32 - bits))
      // Halfway between two steps, right beside that, and anywhere.
      let half = Float((step + 0.5) / full)
      samples += [half, half.nextUp, half.nextDown, .random(in: -1.1...1.1, using: &generator)]
    }
    let bytes = try store(format, [samples])
    let width = format.bytesPerSample
    for (i, sample) in samples.enumerated() {
      let rounded = sample.isNaN ? 0 : (Double(sample) * full).rounded(.toNearestOrEven)
      let top = Int64(min(max(rounded, -full), full - 1))
      let expected = format.sample(Int32(top << Int64(32 - bits))).bytes
      if Array(bytes[i * width..<(i + 1) * width]) != expected {
        Issue.record("\(format): \(sample) became \(bytes[i * width..<(i + 1) * width])")
        return
      }
    }
  }

  /// Floats stay unchanged, including those beyond full scale, infinities and NaN.
  @Test(arguments: PCMFormat.all(channels: 1).filter { $0.kind == .float })
  func floatsAreNotTouched(format: PCMFormat) throws {
    let samples: [Float] = [1.5, -7, .infinity, -.infinity, .nan, 0, -0, 1e-30, .pi]
    let width = format.bytesPerSample
    let expected = samples.flatMap { sample -> [UInt8] in
      let bytes =
        width == 4
        ? withUnsafeBytes(of: sample.bitPattern) { Array($0) }
        : withUnsafeBytes(of: Double(sample).bitPattern) { Array($0) }
      return format.isBigEndian ? bytes.reversed() : bytes
    }
    try expectEqual(store(format, [samples]), expected)
  }

  /// Any length, interleaved or in planes. The page after the last byte is not accessible.
  @Test(arguments: [1, 2, 3], [0, 1, 2, 3, 4, 5, 17])
  func nothingIsWrittenBeyondTheLastByte(channels: Int, frames: Int) throws {
    try withGuardedPage { page in
      for format in PCMFormat.all(channels: channels) where format.bitsPerSample != 32 {
        let layout = try require(format.layout, "\(format)")
        let (bytes, samples) = format.noise(frames: frames, seed: 5)
        let width = format.bytesPerSample
        let start = page.baseAddress! + page.count - bytes.count
        for planeFrames in [0, frames] {
          memset(page.baseAddress!, 0x5a, page.count)
          withPlanes(samples) { planes in
            layout.store(
              from: planes, at: 1, frames: frames, to: start, planeFrames: planeFrames)
          }
          for i in 0..<frames * channels {
            let (frame, channel) = (i / channels, i % channels)
            let at = planeFrames == 0 ? i : channel * planeFrames + frame
            let found = (0..<width).map {
              start.load(fromByteOffset: at * width + $0, as: UInt8.self)
            }
            expectEqual(found, Array(bytes[i * width..<(i + 1) * width]), "\(format)")
          }
          let before = start.load(fromByteOffset: -1, as: UInt8.self)
          expectEqual(before, 0x5a, "writes before the first frame")
        }
      }
    }
  }
}
