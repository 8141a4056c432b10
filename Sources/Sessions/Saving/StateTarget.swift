import PluginHost

/// A running plugin of a session and the folder for its state.
package struct StateTarget: Sendable {
  /// The plugin's path, such as `tracks[0].chain[1]`, and what the document says of it.
  let path: SessionPath
  package let plugin: SessionPlugin
  let instance: any HostedPlugin
  /// The state's folder, as the document names it.
  package let name: String
}
