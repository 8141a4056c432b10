/// A node with settings for the mixers behind it.
protocol MixedNode: AVAudioNode, AVAudioMixing, PlacedSound {
  var mixing: MixingSettings { get }
}

extension MixedNode {
  var placement: MixingSettings.Values { mixing.current }

  func set(_ body: (inout MixingSettings.Values) -> Void) {
    let values = mixing.change(body)
    engine?.apply(values, from: self)
  }
}
