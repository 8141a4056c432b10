import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// States and presets of real plugins.
@Suite(.serialized) struct StateTests {
  private func instance(_ uri: String) throws -> PluginInstance {
    try PluginInstance(uri, in: installed, settings: usual)
  }

  private func offline(_ uri: String) throws -> PluginInstance {
    try PluginInstance(
      uri, in: installed,
      settings: PluginSettings(sampleRate: 48000, maximumFrames: 1024, isOffline: true))
  }

  @Test func controlsAreSavedAndRestored() throws {
    try withTemporaryFolder { folder in
      let amp = try instance(examples + "amp")
      try amp.set("gain", to: -12.5)
      let target = folder.appendingPathComponent("new/amp").path
      try amp.save(to: target)
      let state = try PluginState(folder: target, world: installed)
      expectEqual(state.plugin, examples + "amp")
      let second = try instance(examples + "amp")
      try second.restore(state)
      try expectEqual(second.value(of: "gain"), -12.5)
      let ones = [Float](repeating: 1, count: 64)
      expectEqual(HandRun(second).run([ones]).sound, HandRun(amp).run([ones]).sound)
    }
  }

  @Test func aPresetIsRestored() throws {
    let uri = "http://drobilla.net/plugins/mda/EPiano"
    let piano = try instance(uri)
    let presets = piano.description.presets
    var seen: Set<[Float]> = []
    for preset in presets {
      try piano.restore(installed.preset(preset.uri, of: uri))
      seen.insert(try piano.controls.map { try piano.value(of: $0) })
    }
    expectEqual(seen.count, presets.count)
    #expect(throws: HostError.unknownPreset(plugin: uri, preset: "urn:no")) {
      try installed.preset("urn:no", of: uri)
    }
    let preset = try installed.preset(presets[0].uri, of: uri)
    expectEqual(preset.label, presets[0].label)
    #expect(throws: HostError.stateOfAnother(plugin: examples + "amp", other: uri)) {
      try instance(examples + "amp").restore(preset)
    }
  }

  /// Properties that the plugin stores itself, including a path.
  @Test func parametersAreSavedAndRestored() throws {
    try withTemporaryFolder { folder in
      let params = try instance(examples + "params")
      try params.setParameter(examples + "params#string", to: .string("kept"))
      try params.setParameter(examples + "params#path", to: .path("/etc/hostname"))
      HandRun(params).run(frames: 64)
      try params.save(to: folder.path)
      let second = try params.replacement(
        restoring: PluginState(folder: folder.path, world: installed))
      expectTrue(second !== params)
      try second.requestParameter()
      HandRun(second).run(frames: 64)
      let end = Date() + 20
      while second.parameterValues.isEmpty && Date() < end { usleep(1000) }
      expectEqual(second.parameterValues[examples + "params#string"], .string("kept"))
      guard case .path(let path)? = second.parameterValues[examples + "params#path"] else {
        Issue.record("no path: \(second.parameterValues)")
        return
      }
      expectEqual(
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path, "/etc/hostname", "\(path)")
    }
  }

  /// An instance created with a state has its sample in the first block.
  @Test func aReplacementIsReadyWithItsFirstBlock() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("sample.wav").path
      try writeWave([[Float](repeating: 0.25, count: 48000)], to: path)
      let sampler = try offline(examples + "sampler")
      try sampler.setParameter(examples + "sampler#sample", to: .path(path))
      HandRun(sampler).run(frames: 64)
      let state = folder.appendingPathComponent("state").path
      try sampler.save(to: state)
      expectTrue(FileManager.default.fileExists(atPath: path))
      expectTrue(FileManager.default.fileExists(atPath: state + "/sample.wav"))
      let second = try instance(examples + "sampler").replacement(
        restoring: PluginState(folder: state, world: installed))
      let note = [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]
      let sound = HandRun(second).run(frames: 64, midi: note).sound[0]
      expectTrue(sound.allSatisfy { abs($0 - 0.25) < 1e-4 })
    }
  }

  /// Even if the folder is reached by a link and contains the sample.
  @Test func savingLeavesFilesWhereTheyAre() throws {
    try withTemporaryFolder { folder in
      let stateFolder = folder.appendingPathComponent("state")
      let link = folder.appendingPathComponent("link").path
      try FileManager.default.createDirectory(at: stateFolder, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: stateFolder.path)
      let path = stateFolder.appendingPathComponent("sample.wav").path
      try writeWave([[Float](repeating: 0.25, count: 480)], to: path)
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let sampler = try offline(examples + "sampler")
      try sampler.setParameter(examples + "sampler#sample", to: .path(path))
      HandRun(sampler).run(frames: 64)
      for target in [link, stateFolder.path, link] {
        try sampler.save(to: target)
        let kind = try FileManager.default.attributesOfItem(atPath: path)[.type]
        expectEqual(kind as? FileAttributeType, .typeRegular)
        try expectEqual(Data(contentsOf: URL(fileURLWithPath: path)), before)
      }
    }
  }

  /// eg-sampler's own sample, which its bundle names in the default state.
  @Test func theDefaultStateIsLoaded() throws {
    let sampler = try instance(examples + "sampler")
    let note = [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]
    let sound = HandRun(sampler).run(frames: 4800, midi: note).sound[0]
    expectTrue(sound.contains { $0 != 0 })
  }

  @Test func aRestoreThatIsSafeMayMeetACycle() throws {
    expectTrue(try instance(examples + "sampler").canRestoreWhileRunning)
    expectTrue(try instance(examples + "amp").canRestoreWhileRunning)
    expectTrue(try !instance(examples + "params").canRestoreWhileRunning)
    let sampler = try instance(examples + "sampler")
    let state = try sampler.capture()
    let run = HandRun(sampler)
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      for _ in 0..<50 { try? sampler.restore(state) }
      done.signal()
    }
    while done.wait(timeout: .now()) != .success {
      run.run(frames: 64, midi: [TimedEvent(frame: 0, bytes: [0x90, 60, 127])])
    }
    let sound = run.run(frames: 4800, midi: [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]).sound[0]
    expectTrue(sound.contains { $0 != 0 })
  }

  /// A preset may apply to several plugins.
  @Test func aPresetOfSeveralPluginsIsTakenByEach() throws {
    try withTemporaryFolder { folder in
      let second = "urn:fixture"
      let fixture = try Fixture(in: folder)
      try fixture.write(
        """
        @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
        @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <urn:fixture> a lv2:Plugin ; lv2:binary <fixture.so> ; rdfs:seeAlso <fixture.ttl> .
        <urn:preset> a pset:Preset ; lv2:appliesTo <\(examples)amp> , <urn:fixture> ;
          rdfs:label "Both" ; lv2:port [ lv2:symbol "gain" ; pset:value -6.0 ] .
        """, to: "manifest.ttl")
      let world = World(path: fixture.path)
      for uri in [examples + "amp", second] {
        let plugin = try PluginInstance(uri, in: world, settings: usual)
        try plugin.restore(world.preset("urn:preset", of: uri))
        if uri != second { try expectEqual(plugin.value(of: "gain"), -6) }
      }
    }
  }

  @Test func whatIsNoStateIsNamed() throws {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("state.ttl")
      #expect(throws: HostError.unreadableState(path: file.path)) {
        try PluginState(folder: folder.path, world: installed)
      }
      try "rubbish".write(to: file, atomically: false, encoding: .utf8)
      #expect(throws: HostError.unreadableState(path: file.path)) {
        try PluginState(folder: folder.path, world: installed)
      }
      #expect(
        throws: HostError.unwritableState(
          folder: "/proc/nowhere", reason: "No such file or directory")
      ) { try instance(examples + "amp").save(to: "/proc/nowhere") }
    }
  }

  /// Nothing but plain files is opened. A pipe would block for ever.
  @Test(arguments: ["pipe", "device", "link", "pipe beside", "link to a pipe", "pipe below"])
  func statesThatAreNoPlainFilesAreRefused(kind: String) throws {
    try withTemporaryFolder { folder in
      let amp = try instance(examples + "amp")
      try amp.save(to: folder.path)
      let state = folder.path + "/state.ttl"
      var path = state
      switch kind {
      case "pipe":
        unlink(state)
        expectEqual(mkfifo(state, 0o600), 0)
      case "device":
        unlink(state)
        guard mknod(state, S_IFCHR | 0o600, 0x103) == 0 else { return }
      case "link":
        expectEqual(rename(state, folder.path + "/other.ttl"), 0)
        expectEqual(symlink("other.ttl", state), 0)
      case "pipe beside":
        path = folder.path + "/sample.wav"
        expectEqual(mkfifo(path, 0o600), 0)
      case "link to a pipe":
        path = folder.path + "/sample.wav"
        expectEqual(mkfifo(folder.path + "-pipe", 0o600), 0)
        expectEqual(symlink(folder.path + "-pipe", path), 0)
      default:
        path = folder.path + "/below/sample.wav"
        expectTrue(mkdir(folder.path + "/below", 0o700) == 0 && mkfifo(path, 0o600) == 0)
      }
      defer { unlink(folder.path + "-pipe") }
      #expect(throws: HostError.unsafeState(path: path)) {
        try PluginState(folder: folder.path, world: installed)
      }
    }
  }
}
