package import RealTime

extension PCMFormat {
  /// Returns every linear PCM format that a queue plays, for a channel count and a sample rate.
  package static func all(channels: Int, sampleRate: Double = 48000) -> [PCMFormat] {
    var formats: [PCMFormat] = []
    func add(_ kind: Kind, _ bits: Int, _ bytes: Int, high: Bool = false) {
      for bigEndian in bytes == 1 ? [false] : [false, true] {
        formats.append(
          PCMFormat(
            sampleRate: sampleRate, channels: channels, kind: kind, bitsPerSample: bits,
            bytesPerSample: bytes, isBigEndian: bigEndian, isHighAligned: high))
      }
    }
    add(.unsignedInteger, 8, 1)
    add(.signedInteger, 8, 1)
    add(.signedInteger, 16, 2)
    add(.unsignedInteger, 16, 2)
    add(.signedInteger, 24, 3)
    add(.signedInteger, 24, 4)
    add(.signedInteger, 24, 4, high: true)
    add(.signedInteger, 20, 3, high: true)
    add(.signedInteger, 32, 4)
    add(.float, 32, 4)
    add(.float, 64, 8)
    return formats
  }

  /// Returns the bytes of one sample in this format, and the float value expected from them.
  ///
  /// - Parameter value: 32 random bits. The sample uses the most significant ones.
  package func sample(_ value: Int32) -> (bytes: [UInt8], float: Float) {
    var bytes: [UInt8]
    let float: Float
    if kind == .float {
      // 24 bits, exact in a 32-bit float, so that both float formats give the same value.
      let exact = Float(value >> 8) / 8_388_608
      float = exact
      bytes =
        bytesPerSample == 4
        ? withUnsafeBytes(of: exact.bitPattern) { Array($0) }
        : withUnsafeBytes(of: Double(exact).bitPattern) { Array($0) }
    } else {
      let top = value >> (32 - bitsPerSample)
      // The quotient is rounded once, to the nearest float.
      float = Float(Double(top) / Double(1 << (bitsPerSample - 1)))
      var raw = Int64(top)
      if kind == .unsignedInteger { raw += 1 << (bitsPerSample - 1) }
      if isHighAligned { raw <<= Int64(8 * bytesPerSample - bitsPerSample) }
      bytes = (0..<bytesPerSample).map { UInt8(truncatingIfNeeded: raw >> Int64(8 * $0)) }
    }
    if isBigEndian { bytes.reverse() }
    return (bytes, float)
  }

  /// Returns `frames` frames of noise in this format, and the samples expected in each channel. The
  /// first and the last sample are not 0.
  package func noise(frames: Int, seed: UInt64) -> (bytes: [UInt8], channels: [[Float]]) {
    var generator = SplitMix(state: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frames * bytesPerFrame)
    var planes = [[Float]](repeating: [], count: channels)
    for frame in 0..<frames {
      for channel in 0..<channels {
        var value = Int32(truncatingIfNeeded: generator.next())
        if frame == 0 || frame == frames - 1 { value |= 1 << 30 }
        // Include the ends of the range.
        if frame == 1 { value = .min }
        if frame == 2 { value = .max }
        let sample = self.sample(value)
        bytes += sample.bytes
        planes[channel].append(sample.float)
      }
    }
    return (bytes, planes)
  }
}

/// A generator that returns the same numbers for the same seed.
package struct SplitMix: RandomNumberGenerator {
  package var state: UInt64
  package init(state: UInt64) { self.state = state }
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
