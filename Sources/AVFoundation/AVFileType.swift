/// A type of files, which programs name as a hint for `AVAudioPlayer`.
public struct AVFileType: RawRepresentable, Hashable, Sendable {
  /// The identifier of the type.
  public let rawValue: String
  /// Creates a type from its identifier.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// AC-3.
  public static let ac3 = Self(rawValue: "public.ac3-audio")
  /// AIFF-C.
  public static let aifc = Self(rawValue: "public.aifc-audio")
  /// AIFF.
  public static let aiff = Self(rawValue: "public.aiff-audio")
  /// Adaptive multi-rate.
  public static let amr = Self(rawValue: "org.3gpp.adaptive-multi-rate-audio")
  /// Sun audio.
  public static let au = Self(rawValue: "public.au-audio")
  /// Core Audio Format.
  public static let caf = Self(rawValue: "com.apple.coreaudio-format")
  /// Enhanced AC-3.
  public static let eac3 = Self(rawValue: "public.enhanced-ac3-audio")
  /// MPEG-4 sound.
  public static let m4a = Self(rawValue: "com.apple.m4a-audio")
  /// MPEG layer 3.
  public static let mp3 = Self(rawValue: "public.mp3")
  /// MPEG-4.
  public static let mp4 = Self(rawValue: "public.mpeg-4")
  /// WAVE.
  public static let wav = Self(rawValue: "com.microsoft.waveform-audio")
}
