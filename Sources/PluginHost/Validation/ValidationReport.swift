/// The result of validating a plugin.
package struct ValidationReport: Codable, Hashable, Sendable {
  /// Failures of the plugin, in words that follow “it”; empty for a sound plugin.
  package var failures: [String] = []
  /// Oddities that do no harm.
  package var remarks: [String] = []

  package init(failures: [String] = [], remarks: [String] = []) {
    self.failures = failures
    self.remarks = remarks
  }
}
