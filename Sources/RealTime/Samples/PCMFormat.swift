/// Memory layout of the samples of one interleaved linear PCM stream.
///
/// A sample has a container of `bytesPerSample` bytes. Integers of fewer bits lie in its low bits,
/// or in its high bits if `isHighAligned`.
package struct PCMFormat: BitwiseCopyable, Equatable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    case signedInteger, unsignedInteger, float
  }

  /// Largest number of channels of a stream.
  package static var maximumChannels: Int { 64 }

  /// Sample rate in Hz.
  package var sampleRate: Double
  package var channels: Int
  package var kind: Kind
  /// Significant bits of a sample.
  package var bitsPerSample: Int
  /// Bytes of a sample's container.
  package var bytesPerSample: Int
  package var isBigEndian: Bool
  package var isHighAligned: Bool

  package var bytesPerFrame: Int { @_noLocks get { bytesPerSample &* channels } }

  /// Creates a format. The default container is the smallest that holds `bitsPerSample`.
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

  /// The layout that the process thread reads and writes; nil if it does not support this format.
  ///
  /// Supported are integers of 8 to 32 bits in containers of 1 to 4 bytes, and floats of 32 and 64
  /// bits. Either byte order, 1 to 64 channels, and 1 Hz to 1 MHz are allowed.
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
