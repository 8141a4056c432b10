package import Graph

/// The choice of a plugin for a chain, and its settings.
package struct PluginChoice: Hashable, Sendable {
  package var uri: String
  /// URI of one of its presets.
  package var preset: String?
  /// Values of controls by symbol, applied after the preset.
  package var values: [String: Float]
  /// Folder of a saved state, applied after the preset and before the values.
  package var stateFolder: String?
  /// Path of the file of `SoundFontPlugin` or `ConvolverPlugin`; nil for that of its state, or the default.
  package var file: String?
  /// Values of parameters by URI, applied last.
  package var parameters: [String: Float] = [:]
  /// Whether the plugin runs in a process of its own.
  package var isIsolated = false
  /// Whether that process may do all that its user may. Otherwise it is confined.
  package var isTrusted = false

  package init(uri: String, preset: String? = nil, values: [String: Float] = [:]) {
    self.uri = uri
    self.preset = preset
    self.values = values
  }

  /// Parses `PLUGIN` or `PLUGIN#PRESET`. The plugin is named as in `PluginCatalog.uri(named:)`, the preset
  /// by its URI, by the part of that after a `#`, or by its label.
  ///
  /// - Throws: `HostError`: no such plugin, several plugins of this name, or no such preset.
  package init(_ text: String, values: [String: Float], in world: World) throws(HostError) {
    self.init(uri: text, values: values)
    if let uri = try world.uri(named: text) {
      self.uri = uri
      return
    }
    for mark in text.indices.reversed() where text[mark] == "#" {
      guard let uri = try world.uri(named: String(text[..<mark])) else { continue }
      let name = String(text[text.index(after: mark)...])
      let presets = try world.description(of: uri).presets
      let found =
        presets.first {
          $0.uri == name || $0.uri == "\(uri)#\(name)" || $0.uri.hasSuffix("#" + name)
        } ?? presets.first { $0.label.lowercased() == name.lowercased() }
      guard let found else { throw .unknownPreset(plugin: uri, preset: name) }
      self.uri = uri
      preset = found.uri
      return
    }
    throw .unknownPlugin(uri: text)
  }

  /// Creates an instance with these settings, ready to run.
  ///
  /// - Parameter priority: The real-time priority of the cycles; nil if they are not real-time.
  func instance(in world: World, _ settings: PluginSettings, priority: Int?) throws(HostError)
    -> any HostedPlugin
  {
    var given: PluginState?
    if let file {
      guard PluginFile.plugins.contains(uri) else {
        throw .unknownPort(plugin: uri, symbol: "file")
      }
      given = try PluginState(text: PluginFile.state(of: uri, path: file), world: world)
    }
    let instance: any HostedPlugin
    if isIsolated {
      instance = try IsolatedPlugin(
        uri, in: world, settings: settings, priority: priority, isTrusted: isTrusted)
    } else {
      instance = try PluginInstance(
        uri, in: world, settings: settings, state: stateFolder == nil ? given : nil)
    }
    if let preset { try instance.restore(world.preset(preset, of: uri)) }
    if let stateFolder { try instance.restore(PluginState(folder: stateFolder, world: world)) }
    if let given, isIsolated || stateFolder != nil { try instance.restore(given) }
    for (symbol, value) in values.sorted(by: { $0.key < $1.key }) {
      try instance.set(symbol, to: value, at: nil, over: 0)
    }
    for (uri, value) in parameters.sorted(by: { $0.key < $1.key }) {
      try instance.setParameter(uri, to: .float(value), at: nil)
    }
    try SoundFontPlugin.check(instance, path: file)
    try ConvolverPlugin.check(instance, path: file)
    return instance
  }
}
