import Foundation
import Graph
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// The folders for files that plugins create.
@Suite(.tags(.program), .serialized) struct ScratchFolderTests {
  /// Calls `body` with a world whose plugin creates a file, and a function that finds the file.
  private func withFile(_ body: (World, () -> URL?) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let world = World(path: try Fixture(in: folder, "MAKES_FILES").path)
      let name = "made-\(UUID().uuidString)"
      setenv("CUE_FIXTURE_FILE", "deep/\(name)", 1)
      defer { unsetenv("CUE_FIXTURE_FILE") }
      try body(world) {
        let temporary = URL(fileURLWithPath: NSTemporaryDirectory())
        let files = FileManager.default.enumerator(at: temporary, includingPropertiesForKeys: nil)
        return files?.compactMap { $0 as? URL }.first { $0.lastPathComponent == name }
      }
    }
  }

  /// Expects that another user cannot read the folders on the path.
  private func expectPrivate(_ file: URL?) throws {
    let file = try require(file)
    let temporary = URL(fileURLWithPath: NSTemporaryDirectory()).pathComponents.count
    let top = file.pathComponents[0...temporary].joined(separator: "/")
    let mode = try FileManager.default.attributesOfItem(atPath: top)[.posixPermissions] as? Int
    expectEqual(mode, 0o700, "\(top)")
  }

  @Test func anInstancesFilesAreItsOwnAndGoWithIt() throws {
    try withFile { world, file in
      do {
        let plugin = try PluginInstance(Fixture.uri, in: world, settings: usual)
        try expectPrivate(file())
        withExtendedLifetime(plugin) {}
      }
      expectNil(file())
    }
  }

  @Test func aKilledPluginsFilesGo() throws {
    try withFile { world, file in
      let plugin = try IsolatedPlugin(
        Fixture.uri, in: world, settings: usual, program: isolation())
      try expectPrivate(file())
      let isGone = DispatchSemaphore(value: 0)
      plugin.whenGone { isGone.signal() }
      kill(plugin.process.identifier, SIGKILL)
      expectEqual(isGone.wait(timeout: .now() + 30), .success)
      expectNil(file())
    }
  }

  @Test func aProbesFilesGo() throws {
    try withFile { world, file in
      do {
        let validator = PluginValidator(
          executable: try builtProduct(named: "cuejack").path, cacheFolder: nil)
        try expectEqual(validator.plugin(Fixture.uri, in: world), ValidationReport())
      }
      expectNil(file())
    }
  }

  /// The folder of a captured state is private as well.
  @Test func aCapturedStateIsPrivate() throws {
    let plugin = try IsolatedPlugin(
      examples + "amp", in: installed, settings: usual, program: isolation())
    let temporary = NSTemporaryDirectory()
    let before = try FileManager.default.contentsOfDirectory(atPath: temporary)
    let state = try plugin.capture()
    let after = try FileManager.default.contentsOfDirectory(atPath: temporary)
    let made = after.filter { !before.contains($0) && $0.hasPrefix("cuejack-plugin-") }
    expectTrue(!made.isEmpty)
    for name in made {
      let path = temporary + "/" + name
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      expectEqual(mode, 0o700, "\(path)")
    }
    withExtendedLifetime(state) {}
  }
}
