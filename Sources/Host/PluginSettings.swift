/// Under what conditions a plugin runs.
package struct PluginSettings: Hashable, Codable, Sendable {
  /// Frames per second.
  package var sampleRate: Double
  /// Frames of the longest block.
  package var maximumFrames: Int
  /// Nothing runs in real time: work is done at once, and waiting is allowed.
  package var isOffline: Bool
  /// Every block has `maximumFrames` frames, and no run is split for a change within one. Claim it only
  /// if it is true.
  package var hasFixedBlocks: Bool
  /// Symbols of optional ports that are to stay unconnected: the node has no planes for them.
  package var leftOut: Set<String>

  package init(
    sampleRate: Double, maximumFrames: Int, isOffline: Bool = false, hasFixedBlocks: Bool = false,
    leftOut: Set<String> = []
  ) {
    self.sampleRate = sampleRate
    self.maximumFrames = maximumFrames
    self.isOffline = isOffline
    self.hasFixedBlocks = hasFixedBlocks
    self.leftOut = leftOut
  }
}
