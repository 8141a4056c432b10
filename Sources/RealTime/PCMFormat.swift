/// How the samples of one interleaved linear PCM stream lie in memory.
///
/// A sample stands in a container of `bytesPerSample` bytes. Integers of fewer bits than their
/// container holds lie in its low bits, or in its high bits if `isHighAligned`.
package struct PCMFormat: BitwiseCopyable, Hashable, Sendable {
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

  /// True if the cycle can read this format: the layouts named in the README, 1 to 64 channels.
  package var isReadable: Bool {
    guard sampleRate.isFinite, sampleRate > 0, sampleRate <= 1_000_000 else { return false }
    guard channels >= 1, channels <= Self.maximumChannels else { return false }
    switch kind {
    case .float:
      return (bitsPerSample, bytesPerSample) == (32, 4)
        || (bitsPerSample, bytesPerSample) == (64, 8)
    case .signedInteger, .unsignedInteger:
      return (1...4).contains(bytesPerSample) && bitsPerSample >= 8
        && bitsPerSample <= 8 * bytesPerSample
    }
  }
}
