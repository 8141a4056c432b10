/// A node, or one of its connections, with settings for a mixer.
protocol PlacedSound: AnyObject {
  var placement: MixingSettings.Values { get }
  func set(_ body: (inout MixingSettings.Values) -> Void)
}
