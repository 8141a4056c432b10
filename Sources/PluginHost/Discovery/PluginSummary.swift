/// A plugin as a list shows it.
package struct PluginSummary: Codable, Hashable, Sendable {
  package let uri: String
  package let name: String
  /// Name of the plugin's class.
  package let className: String
  package let author: String?

  package init(uri: String, name: String, className: String, author: String? = nil) {
    self.uri = uri
    self.name = name
    self.className = className
    self.author = author
  }
}
