import Foundation
import PluginHost
import Sessions
import TestSupport
import Testing

/// The messages of a session engine to people, in order. Any thread.
package final class Messages: @unchecked Sendable {
  private let lock = NSLock()
  private var _lines: [String] = []
  package init() {}
  package func add(_ line: String) { lock.withLock { _lines.append(line) } }
  package var lines: [String] { lock.withLock { _lines } }
}

/// Runs `cuejack` to validate a plugin. The sessions of a test read the result from the cache, because the test
/// program itself validates no plugin.
package func validate(_ plugin: String) throws {
  let validator = PluginValidator(executable: try builtProduct(named: "cuejack").path)
  let report = try validator.plugin(plugin, in: World())
  expectEqual(report.failures, [])
}

/// Returns a session with a track for each list of files.
package func session(_ tracks: [(name: String, files: [WaveFile])]) -> SessionDocument {
  var document = SessionDocument(name: "session")
  document.tracks = tracks.map { SessionTrack(name: $0.name, files: $0.files.map(\.path)) }
  return document
}
