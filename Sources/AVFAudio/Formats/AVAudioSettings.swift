// Keys of the dictionaries that describe formats, files and encoders.

/// The format, such as `kAudioFormatLinearPCM`.
public let AVFormatIDKey = "AVFormatIDKey"
/// The sample rate in Hz.
public let AVSampleRateKey = "AVSampleRateKey"
/// The number of channels.
public let AVNumberOfChannelsKey = "AVNumberOfChannelsKey"
/// The roles of the channels: `Data` with an `AudioChannelLayout`.
public let AVChannelLayoutKey = "AVChannelLayoutKey"

/// Linear PCM: bits of a sample, 8 to 32, and 64 for floats.
public let AVLinearPCMBitDepthKey = "AVLinearPCMBitDepthKey"
/// Linear PCM: true if the most significant byte of a sample comes first.
public let AVLinearPCMIsBigEndianKey = "AVLinearPCMIsBigEndianKey"
/// Linear PCM: true for floats.
public let AVLinearPCMIsFloatKey = "AVLinearPCMIsFloatKey"
/// Linear PCM: true for a buffer for each channel. Files ignore the value.
public let AVLinearPCMIsNonInterleaved = "AVLinearPCMIsNonInterleaved"

/// The type of a new file, such as `kAudioFileWAVEType`.
public let AVAudioFileTypeKey = "AVAudioFileTypeKey"

/// Encoders: the `AVAudioQuality`.
public let AVEncoderAudioQualityKey = "AVEncoderQualityKey"
/// Encoders with a variable bit rate: the `AVAudioQuality`.
public let AVEncoderAudioQualityForVBRKey = "AVEncoderQualityForVBRKey"
/// Encoders: bits per second.
public let AVEncoderBitRateKey = "AVEncoderBitRateKey"
/// Encoders: bits per second of each channel.
public let AVEncoderBitRatePerChannelKey = "AVEncoderBitRatePerChannelKey"
/// Encoders: one of the strategies `AVAudioBitRateStrategy_…`.
public let AVEncoderBitRateStrategyKey = "AVEncoderBitRateStrategyKey"
/// Lossless encoders: bits of a sample to keep.
public let AVEncoderBitDepthHintKey = "AVEncoderBitDepthHintKey"

/// The same size for all packets. Encoders take it for `AVAudioBitRateStrategy_LongTermAverage`.
public let AVAudioBitRateStrategy_Constant = "AVAudioBitRateStrategy_Constant"
/// A bit rate that is kept in the long run.
public let AVAudioBitRateStrategy_LongTermAverage = "AVAudioBitRateStrategy_LongTermAverage"
/// A bit rate that varies within limits. Encoders take it for `AVAudioBitRateStrategy_LongTermAverage`.
public let AVAudioBitRateStrategy_VariableConstrained = "AVAudioBitRateStrategy_VariableConstrained"
/// A bit rate that follows from the sound and the quality.
public let AVAudioBitRateStrategy_Variable = "AVAudioBitRateStrategy_Variable"

/// A quality of an encoder or a sample rate converter.
public enum AVAudioQuality: Int, Sendable {
  case min = 0
  case low = 0x20
  case medium = 0x40
  case high = 0x60
  case max = 0x7F
}
