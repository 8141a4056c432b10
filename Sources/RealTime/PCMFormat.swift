/// How the samples of one interleaved linear PCM stream lie in memory.
///
/// A sample stands in a container of `bytesPerSample` bytes. Integers of fewer bits than their
/// container holds lie in its low bits, or in its high bits if `isHighAligned`.
package struct PCMFormat: BitwiseCopyable, Equatable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    case signedInteger, unsignedInteger, float
  }

  /// The most channels that a stream may have.
  package static var maximumChannels: Int { 64 }

  /// Frames per second.
  package var sampleRate: Double
  package var channels: Int
  package var kind: Kind
  /// Significant bits of a sample.
  package var bitsPerSample: Int
  /// Bytes of a sample's container.
  package var bytesPerSample: Int
  package var isBigEndian: Bool
  package var isHighAligned: Bool

  package var bytesPerFrame: Int { bytesPerSample &* channels }

  /// A format; the container is the smallest that holds `bitsPerSample` unless one is given.
  package init(
    sampleRate: Double, channels: Int, kind: Kind, bitsPerSample: Int, bytesPerSample: Int? = nil,
    isBigEndian: Bool = false, isHighAligned: Bool = false
  ) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.kind = kind
    self.bitsPerSample = bitsPerSample
    self.bytesPerSample = bytesPerSample ?? (bitsPerSample + 7) / 8
    self.isBigEndian = isBigEndian
    self.isHighAligned = isHighAligned
  }

  /// The form of this format that a cycle reads; nil if a cycle cannot read it.
  ///
  /// Readable are integers of 8 to 32 bits in containers of 1 to 4 bytes and floats of 32 and 64
  /// bits, of either byte order, in 1 to 64 channels.
  package var layout: SampleLayout? {
    guard sampleRate.isFinite, sampleRate >= 1, sampleRate <= 1_000_000,
      channels >= 1, channels <= Self.maximumChannels
    else { return nil }
    let container: SampleLayout.Container
    switch (kind, bytesPerSample) {
    case (.float, 4) where bitsPerSample == 32: container = .float32
    case (.float, 8) where bitsPerSample == 64: container = .float64
    case (.float, _): return nil
    case (_, 1): container = .int8
    case (_, 2): container = .int16
    case (_, 3): container = .int24
    case (_, 4): container = .int32
    default: return nil
    }
    let bits = bytesPerSample * 8
    if kind != .float, bitsPerSample < 8 || bitsPerSample > bits { return nil }
    return SampleLayout(
      container: container,
      isSwapped: bytesPerSample > 1 && isBigEndian,
      isPlain: kind == .float || (kind == .signedInteger && bitsPerSample == bits),
      isUnsigned: kind == .unsignedInteger,
      bits: UInt8(bitsPerSample),
      shift: kind == .float ? 0 : UInt8(32 - (isHighAligned ? bits : bitsPerSample)),
      bytesPerSample: UInt8(bytesPerSample),
      channels: UInt8(channels))
  }
}

/// A PCM format in the form that a cycle reads.
package struct SampleLayout: BitwiseCopyable, Equatable, Sendable {
  package enum Container: UInt8, BitwiseCopyable, Sendable {
    case int8, int16, int24, int32, float32, float64
  }
  let container: Container
  /// The byte order is not the machine's, which is little-endian.
  let isSwapped: Bool
  /// Floats, or signed integers that fill their container.
  let isPlain: Bool
  let isUnsigned: Bool
  /// Significant bits of an integer.
  let bits: UInt8
  /// Brings the most significant bit of an integer to bit 31.
  let shift: UInt8
  let bytesPerSample: UInt8
  let channels: UInt8

  /// Native 32-bit floats, as ports and slabs hold them.
  package static func float32(channels: Int) -> SampleLayout {
    SampleLayout(
      container: .float32, isSwapped: false, isPlain: true, isUnsigned: false, bits: 32, shift: 0,
      bytesPerSample: 4, channels: UInt8(channels))
  }
}
