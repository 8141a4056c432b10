import Foundation
import Graph
import TestSupport
import Testing

@testable import PluginHost

/// What the process of an isolated plugin may do: the plugin of `confined.c` tries it.
@Suite(.serialized) struct ConfinementTests {
  private static let allowed = [
    "reads its bundle", "writes in its temporary folder", "opens /dev/null", "starts threads",
    "sends itself a signal",
  ]
  private static let attempts =
    allowed + [
      "reads a file of the user", "writes a file of the user", "creates a file elsewhere",
      "creates a file in its bundle", "changes permissions", "truncates a file", "removes a file",
      "opens a socket", "opens a pair of sockets", "starts a program", "forks",
      "sends a signal to its host", "reads its host's environment", "reads its host's limits",
    ]

  /// Calls `body` with a world of the plugin, and a folder outside its bundle.
  private func withPlugin(facts: String = "", _ body: (World, URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, source: "confined", facts: facts)
      // Folders of bundles may be read.
      let outside = folder.deletingLastPathComponent()
        .appendingPathComponent("cuejack-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: outside) }
      let secret = outside.appendingPathComponent("secret")
      try "secret".write(to: secret, atomically: false, encoding: .utf8)
      setenv("CUE_SECRET", secret.path, 1)
      setenv("CUE_OUTSIDE", outside.path, 1)
      defer {
        unsetenv("CUE_SECRET")
        unsetenv("CUE_OUTSIDE")
      }
      try body(World(path: fixture.path), outside)
    }
  }

  private func isolated(_ world: World, isTrusted: Bool = false) throws -> IsolatedPlugin {
    try IsolatedPlugin(
      Fixture.uri, in: world, settings: usual, isTrusted: isTrusted, program: isolation())
  }

  /// Returns the output for a constant input.
  private func output(of plugin: any HostedPlugin, for input: Float) -> Float {
    let run = HandRun(plugin)
    run.isFreewheeling = true
    let block = [[Float](repeating: input, count: usual.maximumFrames)]
    run.run(block)
    return run.run(block).sound[0].last ?? .nan
  }

  /// Returns what the plugin could do when it was instantiated.
  private func successes(of plugin: any HostedPlugin) -> [String] {
    let sum = Int(output(of: plugin, for: 0))
    return Self.attempts.indices.filter { sum >> $0 & 1 == 1 }.map { Self.attempts[$0] }
  }

  @Test func aPluginReachesNothingButItsOwnFiles() throws {
    try withPlugin { world, outside in
      let plugin = try isolated(world)
      expectEqual(successes(of: plugin), Self.allowed)
      let names = try FileManager.default.contentsOfDirectory(atPath: outside.path)
      expectEqual(names, ["secret"])
      let secret = outside.appendingPathComponent("secret").path
      expectEqual(FileManager.default.contents(atPath: secret), Data("secret".utf8))
    }
  }

  @Test func aTrustedPluginMayDoWhatItsUserMay() throws {
    try withPlugin { world, _ in
      let plugin = try isolated(world, isTrusted: true)
      expectEqual(successes(of: plugin), Self.attempts)
    }
  }

  /// A parameter for files lets the user choose any.
  @Test func aPluginThatOpensFilesReadsThemAll() throws {
    let facts = """
      <http://lv2plug.in/ns/ext/patch#writable> <urn:fixture:sample> ;
      """
    try withPlugin(facts: facts) { world, _ in
      let bundle = try world.description(of: Fixture.uri).bundle
      let parameter = """
        <urn:fixture:sample> a lv2:Parameter ; rdfs:label "Sample" ; rdfs:range atom:Path .
        """
      let file = URL(fileURLWithPath: bundle + "fixture.ttl")
      let text = try String(contentsOf: file, encoding: .utf8)
      try (text + "\n" + parameter).write(to: file, atomically: false, encoding: .utf8)
      let plugin = try isolated(World(path: world.path))
      expectEqual(successes(of: plugin), Self.allowed + ["reads a file of the user"])
    }
  }

  /// States and their files pass between a confined plugin and any folder.
  @Test func aStateIsSavedAndRestored() throws {
    try withPlugin { world, outside in
      let folder = outside.appendingPathComponent("deep/state").path
      let plugin = try isolated(world)
      for number in 1...3 {
        try plugin.save(to: folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        expectEqual(names, ["manifest.ttl", "number.txt", "state.ttl"])
        let file = folder + "/number.txt"
        expectEqual(FileManager.default.contents(atPath: file), Data("\(number)".utf8))
        let status = try FileManager.default.attributesOfItem(atPath: file)
        expectEqual(status[.type] as? FileAttributeType, .typeRegular)
        try plugin.restore(PluginState(folder: folder, world: world))
        expectEqual(output(of: plugin, for: 1), Float(number))
      }
      // A second process begins with the state, also with one that was never in a folder of the user.
      let other = try plugin.replacement(restoring: plugin.capture())
      expectEqual(output(of: other, for: 1), 4)
      // In the process of the host as well.
      let here = try PluginInstance(Fixture.uri, in: world, settings: usual)
      try here.restore(PluginState(folder: folder, world: world))
      expectEqual(output(of: here, for: 1), 3)
    }
  }

  @Test func aStateThatCannotBeSavedNamesItsFolder() throws {
    try withPlugin { world, outside in
      let folder = outside.appendingPathComponent("secret/state").path
      let error = #expect(throws: HostError.self) { try isolated(world).save(to: folder) }
      guard case .unwritableState(folder, _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  /// Files that are used from elsewhere stay where they are.
  @Test func linksOfAStateLeadToTheOriginals() throws {
    try withTemporaryFolder { folder in
      let sample = folder.appendingPathComponent("click.wav")
      let bundled = "/usr/lib/lv2/eg-sampler.lv2/click.wav"
      try FileManager.default.copyItem(atPath: bundled, toPath: sample.path)
      let offline = PluginSettings(
        sampleRate: usual.sampleRate, maximumFrames: usual.maximumFrames, isOffline: true)
      let sampler = try IsolatedPlugin(
        examples + "sampler", in: installed, settings: offline, program: isolation())
      try sampler.setParameter(examples + "sampler#sample", to: .path(sample.path))
      _ = output(of: sampler, for: 0)
      var last = folder.path
      for name in ["one", "two", "two"] {
        last = folder.appendingPathComponent(name).path
        try sampler.save(to: last)
        let link = last + "/click.wav"
        expectEqual(
          FileManager.default.contents(atPath: link), FileManager.default.contents(atPath: bundled))
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
        expectEqual(target, "../click.wav")
        try sampler.restore(PluginState(folder: last, world: installed))
      }
    }
  }
}
