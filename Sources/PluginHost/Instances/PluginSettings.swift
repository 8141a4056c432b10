/// The conditions under which a plugin runs.
package struct PluginSettings: Hashable, Codable, Sendable {
  /// Sample rate in Hz.
  package var sampleRate: Double
  /// Maximum frames in a block.
  package var maximumFrames: Int
  /// Whether the plugin runs offline: work is done at once, and waiting is allowed.
  package var isOffline: Bool
  /// Whether every block has exactly `maximumFrames` frames. No run is split then for a change within a
  /// block. Set it only if it is true.
  package var hasFixedBlocks: Bool
  /// Symbols of optional ports that stay unconnected. The node has no planes for them.
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
