package import Graph

/// The installed plugins, as the validator knows their bundles. Only bundles that have changed are read.
package struct PluginCatalog: Sendable {
  /// All plugins in alphabetical order of their URIs.
  package let plugins: [PluginSummary]
  /// Descriptions of the faults of bundles, by the paths of the bundles.
  package let problems: [String: [String]]

  /// - Throws: `HostError.noProbe`.
  package init(of folders: BundleFolders, by validator: PluginValidator) throws(HostError) {
    var plugins: [String: PluginSummary] = [:]
    var problems: [String: [String]] = [:]
    for (bundle, report) in try validator.reports(ofBundles: folders.bundles, in: folders) {
      if !report.problems.isEmpty { problems[bundle] = report.problems }
      // Of several bundles with the same plugin, the first one counts.
      for plugin in report.plugins where plugins[plugin.uri] == nil { plugins[plugin.uri] = plugin }
    }
    self.plugins = plugins.values.sorted { $0.uri < $1.uri }
    self.problems = problems
  }

  /// Returns the URI of the plugin with a name: its URI, the end of that behind a slash, a # or a colon,
  /// the plugin's name, or its name without regard to case. The first of these readings that finds plugins
  /// counts.
  ///
  /// - Returns: Nil if no plugin has this name.
  /// - Throws: `HostError.ambiguousPlugin`.
  package func uri(named name: String) throws(HostError) -> String? {
    if plugins.contains(where: { $0.uri == name }) { return name }
    var found = plugins.filter { Self.isEnd(name, of: $0.uri) }
    if found.isEmpty { found = plugins.filter { $0.name == name } }
    if found.isEmpty {
      let wanted = name.lowercased()
      found = plugins.filter { $0.name.lowercased() == wanted }
    }
    guard found.count < 2 else {
      throw .ambiguousPlugin(name: name, uris: found.map(\.uri))
    }
    return found.first?.uri
  }

  /// Returns whether `text` is all of `uri` behind one of its separators.
  package static func isEnd(_ text: String, of uri: String) -> Bool {
    guard !text.isEmpty, uri.utf8.count > text.utf8.count, uri.hasSuffix(text) else { return false }
    return "/#:".utf8.contains(uri.utf8.dropLast(text.utf8.count).last!)
  }
}

extension World {
  /// Returns the URI of the plugin that `name` names. Without a validator, only URIs are names.
  ///
  /// - Returns: Nil if no plugin has this name.
  /// - Throws: `HostError.ambiguousPlugin`, `.noProbe`.
  package func uri(named name: String) throws(HostError) -> String? {
    if hasPlugin(name) { return name }
    return try catalog()?.uri(named: name)
  }
}
