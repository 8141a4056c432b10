/// The settings with which a plugin's process starts.
struct IsolatedStart: Codable {
  var uri: String
  /// Folders of bundles; nil for LV2_PATH or lilv's default.
  var path: String?
  var settings: PluginSettings
  var name: String
  var state: StateOrigin?
  /// The files and calls that the process may use; nil if the kernel does not confine it.
  var confinement: Confinement?
  /// Real-time priority of the host's cycles; nil if they are not real-time.
  var priority: Int?
}
