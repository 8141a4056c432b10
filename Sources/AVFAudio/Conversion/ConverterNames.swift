/// The algorithms and strategies, and their numbers in the C API.
enum ConverterNames {
  static let algorithms = [
    (AVSampleRateConverterAlgorithm_Normal, kAudioConverterSampleRateConverterComplexity_Normal),
    (
      AVSampleRateConverterAlgorithm_Mastering,
      kAudioConverterSampleRateConverterComplexity_Mastering
    ),
    (
      AVSampleRateConverterAlgorithm_MinimumPhase,
      kAudioConverterSampleRateConverterComplexity_MinimumPhase
    ),
  ].map { ($0.0, UInt32($0.1)) }

  /// Returns the bit rate mode of a strategy; nil if there is no such strategy.
  static func bitRateMode(_ strategy: String) -> UInt32? {
    switch strategy {
    case AVAudioBitRateStrategy_Variable: kAudioCodecBitRateControlMode_Variable
    case AVAudioBitRateStrategy_Constant, AVAudioBitRateStrategy_LongTermAverage,
      AVAudioBitRateStrategy_VariableConstrained:
      kAudioCodecBitRateControlMode_LongTermAverage
    default: nil
    }
  }
}
