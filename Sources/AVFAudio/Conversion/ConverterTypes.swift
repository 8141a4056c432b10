import AudioToolbox
public import Foundation

/// The status that a converter's input block reports.
public enum AVAudioConverterInputStatus: Int, Sendable {
  /// It returns a buffer.
  case haveData = 0
  /// It has no sound at present.
  case noDataNow = 1
  /// The stream has ended.
  case endOfStream = 2
}

/// The result of a conversion.
public enum AVAudioConverterOutputStatus: Int, Sendable {
  /// The output is full, or has the last of the stream.
  case haveData = 0
  /// The input block had no sound. The output has what could be converted.
  case inputRanDry = 1
  /// The stream has ended, and the output is empty.
  case endOfStream = 2
  /// The conversion failed.
  case error = 3
}

/// The source of the frames with which a sample rate converter fills its filter before the first frame.
public enum AVAudioConverterPrimeMethod: Int, Sendable {
  /// The stream's own first frames, as many as `primeInfo` says.
  case pre = 0
  /// Silence.
  case normal = 1
  /// Silence, which the output begins with as latency.
  case none = 2
}

/// Frames of priming before a stream, and of padding behind it.
public struct AVAudioConverterPrimeInfo: Hashable, Sendable {
  /// Frames before the stream.
  public var leadingFrames: AVAudioFrameCount
  /// Frames behind the stream.
  public var trailingFrames: AVAudioFrameCount

  /// Creates the numbers.
  public init(leadingFrames: AVAudioFrameCount = 0, trailingFrames: AVAudioFrameCount = 0) {
    self.leadingFrames = leadingFrames
    self.trailingFrames = trailingFrames
  }
}

/// A block that gives a converter its input: the number of packets that it can use, and the status to set.
public typealias AVAudioConverterInputBlock = (
  _ inNumberOfPackets: AVAudioPacketCount,
  _ outStatus: UnsafeMutablePointer<AVAudioConverterInputStatus>
) -> AVAudioBuffer?

/// A pointer to where an error is to be put, as Foundation has it on Apple's systems.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

/// A sample rate converter of moderate quality.
public let AVSampleRateConverterAlgorithm_Normal = "AVSampleRateConverterAlgorithm_Normal"
/// The best sample rate converter, which converters use at first.
public let AVSampleRateConverterAlgorithm_Mastering = "AVSampleRateConverterAlgorithm_Mastering"
/// A sample rate converter without pre-ringing.
public let AVSampleRateConverterAlgorithm_MinimumPhase =
  "AVSampleRateConverterAlgorithm_MinimumPhase"
