/// A PCM format in the form that the process thread reads and writes.
package struct SampleLayout: BitwiseCopyable, Equatable, Sendable {
  package enum Container: UInt8, BitwiseCopyable, Sendable {
    case int8, int16, int24, int32, float32, float64
  }
  let container: Container
  /// Set if the byte order is not the machine's, which is little-endian.
  let isSwapped: Bool
  /// Set for floats, and for signed integers that fill their container.
  let isPlain: Bool
  let isUnsigned: Bool
  /// Significant bits of an integer.
  let bits: UInt8
  /// Left shift that brings the most significant bit of an integer to bit 31.
  let shift: UInt8
  let bytesPerSample: UInt8
  let channels: UInt8

  /// Returns the layout of native 32-bit floats, which ports and staging buffers hold.
  package static func float32(channels: Int) -> SampleLayout {
    SampleLayout(
      container: .float32, isSwapped: false, isPlain: true, isUnsigned: false, bits: 32, shift: 0,
      bytesPerSample: 4, channels: UInt8(channels))
  }
}
