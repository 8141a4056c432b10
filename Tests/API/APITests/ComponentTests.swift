import Foundation
import TestSupport
import Testing

/// Every audio unit of the library, of lv2-examples and of mda-lv2, by `components.c`. `make conformance` does the
/// same with the plugins of all Debian packages.
@Suite(.tags(.program)) struct ComponentTests {
  /// Lines of a command that lists files.
  private func lines(_ command: String, _ arguments: String...) throws -> [String] {
    try run(command, arguments).output.split(separator: "\n").map(String.init)
  }

  @Test func everyComponentIsRestoredToTheSameOutput() throws {
    let builds = try ProgramBuilds.shared.get()
    let binary = try builds.build("components.c", isSanitized: false)
    let folder = try makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    // Dragonfly is for kAudioUnitSubType_Reverb2.
    for package in ["lv2-examples", "mda-lv2", "dragonfly-reverb-lv2"] {
      for manifest in try lines("dpkg", "-L", package) where manifest.hasSuffix("/manifest.ttl") {
        let bundle = URL(fileURLWithPath: manifest).deletingLastPathComponent()
        try FileManager.default.createSymbolicLink(
          at: folder.appendingPathComponent(bundle.lastPathComponent), withDestinationURL: bundle)
      }
    }
    let ours = builds.installation.appendingPathComponent("lib/lv2").path
    let environment = ["LV2_PATH": "\(folder.path):\(ours)", "LD_LIBRARY_PATH": ""]
    let count = try run(binary.path, ["count"], environment: environment)
    expectTrue((Int(count.output.dropLast()) ?? 0) > 80, "\(count)")
    let result = try run(binary.path, environment: environment)
    expectTrue(result.status == 0 && result.output == "ok components\n", "\(result.errors)")
  }
}
