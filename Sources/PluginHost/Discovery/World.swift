package import Graph
import Synchronization

/// The plugins that were installed when the object was created. Any thread.
package final class World: Sendable {
  private struct State {
    var scan: Scan
    var descriptions: [String: PluginDescription] = [:]
    var catalog: PluginCatalog?
  }
  private let state: Mutex<State>
  /// Folders of bundles; nil for LV2_PATH or lilv's own default.
  package let path: String?
  /// Validates plugins before they are instantiated in this process.
  let validator: PluginValidator?

  /// Scans the folders of `path`, which are separated by colons.
  ///
  /// - Parameters:
  ///   - path: Folders of bundles; nil for LV2_PATH or, if that is not set, lilv's own default.
  ///   - validator: Validates each plugin before its first instance; nil if plugins are trusted.
  package init(path: String? = nil, validator: PluginValidator? = nil) {
    self.path = path
    self.validator = validator
    state = Mutex(State(scan: Scan(path: path)))
  }

  /// URIs of all plugins in alphabetical order.
  package var uris: [String] { scan.uris }

  /// Returns the description of a plugin.
  ///
  /// - Throws: `HostError.unknownPlugin`.
  package func description(of uri: String) throws(HostError) -> PluginDescription {
    try found(uri).description
  }

  var scan: Scan { state.withLock { $0.scan } }

  /// Returns a plugin's description and the scan that it comes from.
  func found(_ uri: String) throws(HostError) -> (scan: Scan, description: PluginDescription) {
    let (scan, known) = state.withLock { ($0.scan, $0.descriptions[uri]) }
    if let known { return (scan, known) }
    guard let description = scan.description(of: uri) else { throw .unknownPlugin(uri: uri) }
    state.withLock { if $0.scan === scan { $0.descriptions[uri] = description } }
    return (scan, description)
  }

  /// Returns whether a plugin with this URI is installed.
  func hasPlugin(_ uri: String) -> Bool {
    let scan = scan
    return unsafe scan.withWorld { unsafe scan.plugin(uri, in: $0) != nil }
  }

  /// The plugins by name; nil without a validator. The first call takes a while if bundles have changed.
  ///
  /// - Throws: `HostError.noProbe`.
  package func catalog() throws(HostError) -> PluginCatalog? {
    if let known = state.withLock({ $0.catalog }) { return known }
    guard let validator else { return nil }
    let catalog = try PluginCatalog(of: BundleFolders(path), by: validator)
    state.withLock { $0.catalog = catalog }
    return catalog
  }
}
