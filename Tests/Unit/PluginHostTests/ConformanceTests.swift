import Foundation
import TestSupport
import Testing

/// The script of `make conformance`, with few plugins.
@Suite(.tags(.program), .serialized) struct ConformanceTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"

  /// Runs the script on eg-amp and a plugin that crashes.
  private func table(cuejack: String? = nil, _ body: (CommandResult, String) -> Void) throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "CRASHES_IN_RUN")
      let plugins = folder.appendingPathComponent("plugins").path
      let table = folder.appendingPathComponent("table.md").path
      try "lv2-examples\t\(Self.amp)\t\(fixture.path)\nbroken\t\(Fixture.uri)\t\(fixture.path)\n"
        .write(toFile: plugins, atomically: false, encoding: .utf8)
      let script = repository.appendingPathComponent("Tests/Tools/Conformance/run").path
      let result = try run(
        "/bin/sh", ["-c", "'\(script)' --seconds 0.1 --tries 1 '\(table)' <'\(plugins)'"],
        environment: [
          "CUEJACK": try cuejack ?? builtProduct(named: "cuejack").path,
          "PLAIN": try builtProduct(named: "plain-lv2-host").path,
        ])
      body(result, (try? String(contentsOfFile: table, encoding: .utf8)) ?? "")
    }
  }

  @Test func theTableTellsWhatPassesAndWhoseFaultTheRestIs() throws {
    try table { result, table in
      expectEqual(result.status, 0, "\(result)")
      let lines = table.split(separator: "\n").map(String.init)
      expectTrue(lines.contains("| <\(Self.amp)> | passes |"), "\(table)")
      expectTrue(lines.contains("| <\(Fixture.uri)> | fails by itself |"), "\(table)")
      expectTrue(lines.contains("| broken |  | 1 | 0 | 1 | 0 |"), "\(table)")
      let fault = lines.first {
        $0.hasPrefix("| <\(Fixture.uri)> | crashed (Aborted) while it runs")
      }
      expectEqual(
        fault?.contains("crashes in plain-lv2-host, too, while it runs"), true, "\(table)")
    }
  }

  /// A failure that only Cuejack reports counts as Cuejack's.
  @Test func aFaultThatIsNotShownElsewhereIsTold() throws {
    try withTemporaryFolder { folder in
      let command = folder.appendingPathComponent("cuejack").path
      try "#!/bin/sh\necho 'FAILED  x'\necho '        it hangs while it runs'\nexit 1\n"
        .write(toFile: command, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: command)
      try table(cuejack: command) { result, table in
        expectEqual(result.status, 1)
        expectTrue(
          table.contains("| <\(Self.amp)> | hangs while it runs | NOT KNOWN |"), "\(table)")
        expectTrue(table.contains("| lv2-examples |"))
      }
    }
  }
}
