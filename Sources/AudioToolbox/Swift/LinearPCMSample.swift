public import CAudioToolbox

/// A sample type for linear PCM: `Float`, `Double`, `Int8`, `Int16` or `Int32`.
public protocol LinearPCMSample: BitwiseCopyable, Sendable {
  /// The format flags for these samples, including this machine's byte order.
  static var linearPCMFlags: AudioFormatFlags { get }
}

extension LinearPCMSample where Self: SignedInteger {
  /// Signed integers that fill their bytes.
  public static var linearPCMFlags: AudioFormatFlags {
    kAudioFormatFlagIsSignedInteger | kAudioFormatFlagsNativeEndian | kAudioFormatFlagIsPacked
  }
}

extension LinearPCMSample where Self: BinaryFloatingPoint {
  /// Floating point samples; 1 is full scale.
  public static var linearPCMFlags: AudioFormatFlags { kAudioFormatFlagsNativeFloatPacked }
}
