import AudioUnits

/// A node that adds its inputs, each with a level.
protocol MixingNode: AVAudioNode {
  var mixer: EngineMixerUnit { get }
  /// Returns the volume and the balance of an input.
  func level(_ values: MixingSettings.Values, channels: AVAudioChannelCount)
    -> (volume: Float, pan: Float)
}

extension MixingNode {
  /// The first input that is connected to nothing.
  var firstFreeInput: AVAudioNodeBus {
    let used = Set(engine?.connections(to: self).map(\.input) ?? [])
    return (0...used.count).first { !used.contains($0) } ?? used.count
  }
}
