import FoundationEssentials

/// The contents of a bundle.
package struct BundleReport: Codable, Hashable, Sendable {
  /// Its plugins in alphabetical order of their URIs.
  package var plugins: [PluginSummary]
  /// Errors in the bundle, in words.
  package var problems: [String]

  package init(plugins: [PluginSummary] = [], problems: [String] = []) {
    self.plugins = plugins
    self.problems = problems
  }
}
