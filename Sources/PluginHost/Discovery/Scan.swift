import CLilv
import System

/// One scan of the installed bundles by lilv. A lock protects its C objects.
@safe
final class Scan: @unchecked Sendable {
  private let lock = Lock()
  private let world: OpaquePointer

  /// Reads the manifests of all bundles in `path`; nil for LV2_PATH or lilv's own default.
  init(path: String?) {
    unsafe world = unsafe Self.newWorld()
    if let path {
      let node = unsafe lilv_new_string(world, path)
      unsafe lilv_world_set_option(world, LILV_OPTION_LV2_PATH, node)
      unsafe lilv_node_free(node)
    }
    ForeignOutput.hushed { unsafe lilv_world_load_all(world) }
  }

  /// Reads the manifest of one bundle, and the classes of plugins from LV2's own bundle if it is given.
  init(bundle: String, vocabulary: String? = nil) {
    unsafe world = unsafe Self.newWorld()
    for path in [vocabulary, bundle] {
      guard let path else { continue }
      let node = unsafe lilv_new_file_uri(world, nil, path)
      unsafe lilv_world_load_bundle(world, node)
      unsafe lilv_node_free(node)
    }
    if vocabulary == nil { return }
    unsafe lilv_world_load_specifications(world)
    unsafe lilv_world_load_plugin_classes(world)
  }

  /// Creates a lilv world that reads files and runs no code of bundles.
  private static func newWorld() -> OpaquePointer {
    let world = unsafe lilv_world_new()!
    let no = unsafe lilv_new_bool(world, false)
    unsafe lilv_world_set_option(world, LILV_OPTION_DYN_MANIFEST, no)
    unsafe lilv_node_free(no)
    return unsafe world
  }

  deinit { unsafe lilv_world_free(world) }

  /// Whether a bundle has a dynamic manifest. lilv does not load it, because that would run its code.
  var hasDynamicManifest: Bool {
    unsafe withWorld { world in
      let nodes = unsafe LilvNodes(world: world)
      return unsafe nodes.withURI(LV2.dynamicManifest) { kind in
        unsafe nodes.withURI(LV2.type) { unsafe lilv_world_ask(world, nil, $0, kind) }
      }
    }
  }

  /// Calls `body` with the world, while holding its lock. What lilv and plugins print is not seen in the
  /// command.
  func withWorld<Result, Failure>(_ body: (OpaquePointer) throws(Failure) -> Result)
    throws(Failure) -> Result
  {
    lock.lock()
    defer { lock.unlock() }
    return try ForeignOutput.hushed { () throws(Failure) in unsafe try body(world) }
  }

  /// Returns the plugin with a URI. The caller holds the lock of `world`.
  func plugin(_ uri: String, in world: OpaquePointer) -> OpaquePointer? {
    unsafe LilvNodes(world: world).ifURI(uri) { node in
      unsafe lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), node)
    } ?? nil
  }

  /// URIs of all plugins in alphabetical order.
  var uris: [String] {
    unsafe withWorld { world in
      let plugins = unsafe lilv_world_get_all_plugins(world)
      var found: [String] = []
      var iterator = unsafe lilv_plugins_begin(plugins)
      while unsafe !lilv_plugins_is_end(plugins, iterator) {
        if let plugin = unsafe lilv_plugins_get(plugins, iterator),
          let uri = unsafe lilv_node_as_uri(lilv_plugin_get_uri(plugin))
        {
          unsafe found.append(String(cString: uri))
        }
        unsafe iterator = unsafe lilv_plugins_next(plugins, iterator)
      }
      return found.sorted()
    }
  }

  /// Returns the description of the plugin with a URI, or nil if there is no such plugin.
  func description(of uri: String) -> PluginDescription? {
    unsafe withWorld { world in
      unsafe plugin(uri, in: world).map {
        unsafe PluginReader(world: world, plugin: $0).description
      }
    }
  }
}
