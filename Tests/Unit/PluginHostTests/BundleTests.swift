import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// Broken bundles. The host must survive each and name the error.
@Suite(.tags(.program), .serialized) struct BundleTests {
  private func fixture(
    _ kind: String = "SOUND", ports: String = Fixture.sound, facts: String = "",
    hasLibrary: Bool = true, _ body: (Fixture) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      try body(
        Fixture(in: folder, kind, ports: ports, facts: facts, hasLibrary: hasLibrary))
    }
  }

  /// Returns the error of instantiating, with validation in a separate process.
  private func refusal(_ fixture: Fixture, patience: Double = 20) throws -> String {
    let world = World(path: fixture.path, validator: try fixture.validator(patience: patience))
    do {
      _ = try PluginInstance(Fixture.uri, in: world, settings: usual)
      return "nothing"
    } catch {
      return "\(error)"
    }
  }

  /// The fixture as a list shows it.
  private let summary = PluginSummary(uri: Fixture.uri, name: "Fixture", className: "Plugin")

  @Test func aSoundBundleIsTaken() throws {
    try fixture { fixture in
      let validator = try fixture.validator()
      let report = try validator.bundle(fixture.bundle)
      expectEqual(report, BundleReport(plugins: [summary], problems: []))
      let words = try refusal(fixture)
      expectEqual(words, "nothing")
    }
  }

  @Test func aSyntaxErrorIsToldWithItsPlace() throws {
    try fixture { fixture in
      try fixture.write("@prefix lv2: <urn:x> .\n<urn:a> lv2:b [ .\n", to: "manifest.ttl")
      let report = try fixture.validator().bundle(fixture.bundle)
      expectEqual(report.plugins, [])
      expectTrue(
        report.problems.contains { $0.contains("fixture.lv2/manifest.ttl:2:") }, "\(report)")
      #expect(throws: HostError.unknownPlugin(uri: Fixture.uri)) {
        try World(path: fixture.path).description(of: Fixture.uri)
      }
    }
    try fixture { fixture in
      try fixture.write("nonsense", to: "fixture.ttl")
      let report = try fixture.validator().bundle(fixture.bundle)
      expectTrue(
        report.problems.contains { $0.contains("fixture.lv2/fixture.ttl:1:") }, "\(report)")
      let words = try refusal(fixture)
      expectTrue(words.contains("it has no name"))
    }
  }

  @Test func aPortThatAsksForTooMuchIsTold() throws {
    let port = """
      [ a atom:AtomPort, lv2:InputPort ; lv2:index 0 ; lv2:symbol "in" ; lv2:name "In" ;
        <http://lv2plug.in/ns/ext/resize-port#minimumSize> 90000000 ]
      """
    try fixture(ports: port) { fixture in
      let words = try refusal(fixture)
      expectTrue(words.contains("port 0 (in) asks for 90000000 bytes"), "\(words)")
    }
  }

  @Test func aMissingLibraryIsTold() throws {
    try fixture(hasLibrary: false) { fixture in
      let problem = "its library \(fixture.bundle)fixture.so is missing"
      let words = try refusal(fixture)
      expectEqual(
        words, "the bundle \(fixture.bundle) of <urn:fixture> is faulty: \(problem)")
      let problems = try fixture.validator().bundle(fixture.bundle).problems
      expectEqual(problems, ["<urn:fixture>: \(problem)"])
    }
  }

  @Test func aPortWithoutANameIsTold() throws {
    let ports = Fixture.sound.replacingOccurrences(of: "; lv2:name \"Out\"", with: "")
    try fixture(ports: ports) { fixture in
      let words = try refusal(fixture)
      expectTrue(words.contains("port 1 (out) has no name (lv2:name)"))
    }
    let noSymbol = Fixture.sound.replacingOccurrences(of: "; lv2:symbol \"out\"", with: "")
    try fixture(ports: noSymbol) { fixture in
      let words = try refusal(fixture)
      expectTrue(words.contains("ports lack a type, an index or a symbol"))
    }
  }

  @Test func aFeatureThatIsNotThereIsToldBeforeInstantiating() throws {
    try fixture("CRASHES_AT_ONCE", facts: "lv2:requiredFeature <urn:magic>, <urn:more> ;") {
      fixture in
      #expect(
        throws: HostError.missingFeatures(uri: Fixture.uri, features: ["urn:magic", "urn:more"])
      ) {
        try PluginInstance(Fixture.uri, in: World(path: fixture.path), settings: usual)
      }
    }
  }

  @Test(arguments: ["HAS_NO_DESCRIPTOR", "REFUSES"])
  func onePluginThatCannotBeMadeIsTold(kind: String) throws {
    try fixture(kind) { fixture in
      #expect(throws: HostError.notInstantiated(uri: Fixture.uri, sampleRate: 48000)) {
        try PluginInstance(Fixture.uri, in: World(path: fixture.path), settings: usual)
      }
      let words = try refusal(fixture)
      expectTrue(words.contains("cannot be instantiated at 48000.0 Hz"))
    }
  }

  @Test func onePluginThatCrashesTakesNothingWithIt() throws {
    try fixture("CRASHES_AT_ONCE") { fixture in
      let words = try refusal(fixture)
      expectEqual(
        words,
        "the plugin <urn:fixture> is faulty: "
          + "it crashed (Segmentation fault) while it is instantiated at 48000 Hz")
    }
    try fixture("CRASHES_IN_RUN") { fixture in
      let words = try refusal(fixture)
      expectEqual(
        words, "the plugin <urn:fixture> is faulty: it crashed (Aborted) while it runs")
      // A new process validates the next plugin.
      let validator = try fixture.validator()
      let world = World(path: fixture.path)
      try expectEqual(
        validator.plugin(Fixture.uri, in: world).failures, ["crashed (Aborted) while it runs"]
      )
      try expectEqual(validator.plugin(examples + "amp", in: world), ValidationReport())
    }
  }

  @Test(arguments: ["HANGS", "SPINS"])
  func onePluginThatHangsIsEnded(kind: String) throws {
    try fixture(kind) { fixture in
      let words = try refusal(fixture, patience: 2)
      expectEqual(
        words, "the plugin <urn:fixture> is faulty: it hangs while it runs")
    }
  }

  @Test func whatIsNoNumberIsTold() throws {
    try fixture("WRITES_NAN") { fixture in
      let words = try refusal(fixture)
      expectEqual(
        words,
        "the plugin <urn:fixture> is faulty: "
          + "it writes samples that are no numbers, with its default controls")
    }
  }

  @Test func anIncredibleLatencyIsTold() throws {
    let ports =
      Fixture.sound + ", [ a lv2:ControlPort, lv2:OutputPort ; lv2:index 2 ; "
      + "lv2:symbol \"latency\" ; lv2:name \"Latency\" ; lv2:portProperty lv2:reportsLatency ]"
    try fixture("IS_LATE", ports: ports) { fixture in
      let late = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: usual)
      HandRun(late).run([noise(64)])
      expectEqual(late.latencyFrames, 0)
      let words = try refusal(fixture)
      expectTrue(words.contains("it says that its latency is 1e+12 frames"))
    }
  }

  /// The bounds are multiples of the sample rate; the default is not.
  @Test func boundsFollowTheRate() throws {
    let ports =
      Fixture.sound + ", [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol \"f\" ; "
      + "lv2:name \"F\" ; lv2:minimum 0.0 ; lv2:maximum 0.4 ; lv2:default 440.0 ; "
      + "lv2:portProperty lv2:sampleRate ]"
    try fixture(ports: ports) { fixture in
      let plugin = try PluginInstance(Fixture.uri, in: World(path: fixture.path), settings: usual)
      try expectEqual(plugin.value(of: "f"), 440)
      try plugin.set("f", to: 19200)
      #expect(
        throws: HostError.valueOutOfRange(
          plugin: Fixture.uri, symbol: "f", value: 19201, range: 0...19200)
      ) { try plugin.set("f", to: 19201) }
    }
  }

  @Test func whatAPluginPrintsIsNoAnswer() throws {
    try fixture("PRINTS") { fixture in
      let words = try refusal(fixture)
      expectEqual(words, "nothing")
    }
  }

  /// The result is valid until a file of the bundle changes.
  @Test func aSoundVerdictIsRemembered() throws {
    try fixture { fixture in
      let cache = fixture.folder.appendingPathComponent("cache").path
      let world = World(path: fixture.path)
      try expectEqual(
        fixture.validator(cache: cache).plugin(Fixture.uri, in: world), ValidationReport())
      // This validator cannot start, so the answer comes from the cache.
      let none = PluginValidator(executable: "/no/such/probe", cacheFolder: cache)
      try expectEqual(none.plugin(Fixture.uri, in: world), ValidationReport())
      try fixture.write("# changed", to: "more.ttl")
      #expect(throws: HostError.self) { try none.plugin(Fixture.uri, in: world) }
    }
  }

  /// The cause of the failure may be gone later.
  @Test func aBadVerdictIsRememberedByWhoAskedOnly() throws {
    try fixture("CRASHES_AT_ONCE") { fixture in
      let cache = fixture.folder.appendingPathComponent("cache").path
      let starts = fixture.folder.appendingPathComponent("starts").path
      let script = fixture.folder.appendingPathComponent("probe").path
      let cuejack = try builtProduct(named: "cuejack").path
      try "#!/bin/sh\necho >>\(starts)\nexec \(cuejack) plugins probe\n"
        .write(toFile: script, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      let world = World(path: fixture.path)
      for asked in 1...2 {
        let validator = PluginValidator(executable: script, arguments: [], cacheFolder: cache)
        for _ in 0..<2 {
          let failures = try validator.plugin(Fixture.uri, in: world).failures
          expectEqual(
            failures, ["crashed (Segmentation fault) while it is instantiated at 48000 Hz"])
        }
        try expectEqual(String(contentsOfFile: starts, encoding: .utf8).count, asked)
      }
    }
  }

  @Test func aProbeThatDoesNotStartIsNamed() throws {
    let none = PluginValidator(executable: "/no/such/probe", cacheFolder: nil)
    #expect(
      throws: HostError.noProbe(path: "/no/such/probe", reason: "No such file or directory")
    ) { try none.bundle("/usr/lib/lv2/eg-amp.lv2/") }
    let mute = PluginValidator(executable: "/bin/true", cacheFolder: nil)
    let failures = try mute.plugin(examples + "amp", in: installed).failures
    expectEqual(failures, ["ended the process with code 0"])
  }

  /// For example blop's oscillators, whose tables fit one sample rate for as long as the library is
  /// loaded.
  @Test func aLibraryThatBearsOneRateIsLetGoFirst() throws {
    try fixture("BEARS_ONE_RATE") { fixture in
      let plugin = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: usual)
      let input = noise(64)
      try plugin.prepare(sampleRate: 44100, maximumFrames: 1024)
      expectEqual(HandRun(plugin).run([input]).sound, [input])
      // If the new rate is refused, the plugin continues as before.
      #expect(throws: HostError.notInstantiated(uri: Fixture.uri, sampleRate: 192_000)) {
        try plugin.prepare(sampleRate: 192_000, maximumFrames: 1024)
      }
      expectEqual(HandRun(plugin).run([input]).sound, [input])
    }
  }

  /// For example, GLib's types cannot be registered twice.
  @Test func librariesThatAPluginBringsAlongStay() throws {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "CUE_FIXTURES_LIBRARY"]
    let before = names.map { name in getenv(name).map { String(cString: $0) } }
    defer {
      for (name, value) in zip(names, before) {
        if let value { setenv(name, value, 1) } else { unsetenv(name) }
      }
    }
    for name in names { unsetenv(name) }
    try withTemporaryFolder { folder in
      // The name resembles one of Qt's libraries, so the host sets the platform to offscreen.
      let fixture = try Fixture(in: folder, "BRINGS_A_LIBRARY", brought: "libQtBrought.so")
      let world = World(path: fixture.path)
      for _ in 0..<2 { _ = try PluginInstance(Fixture.uri, in: world, settings: usual) }
      expectEqual(getenv("QT_QPA_PLATFORM").map { String(cString: $0) }, "offscreen")
    }
  }

  @Test func aLibraryThatDoesNotLoadIsToldWithTheReason() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "BRINGS_A_LIBRARY", brought: "libbrought.so")
      try FileManager.default.removeItem(atPath: fixture.bundle + "libbrought.so")
      let words = try refusal(fixture)
      expectTrue(
        words.contains("cannot be loaded: \(fixture.bundle)libbrought.so: cannot open shared"))
    }
  }

  /// Neither this process nor the validator runs a library that a manifest names.
  @Test func manifestsRunNoCode() throws {
    try fixture("TELLS_MORE") { fixture in
      let dynamic = "<urn:more> a <http://lv2plug.in/ns/ext/dynmanifest#DynManifest> ; lv2:binary"
      let manifest = try String(contentsOfFile: fixture.bundle + "manifest.ttl", encoding: .utf8)
      try fixture.write(manifest + "\n\(dynamic) <fixture.so> .\n", to: "manifest.ttl")
      expectTrue(World(path: fixture.path).uris.contains(Fixture.uri))
      try expectEqual(
        fixture.validator().bundle(fixture.bundle),
        BundleReport(
          plugins: [summary],
          problems: ["more of it is told by a library (dynmanifest), which is not run"]))
    }
  }

  // MARK: Impossible values

  /// Returns the result of `cuejack plugins` for a fixture.
  private func command(_ fixture: Fixture, _ arguments: String...) throws -> CommandResult {
    try run(
      builtProduct(named: "cuejack").path, ["plugins"] + arguments,
      environment: ["LV2_PATH": fixture.path, "XDG_CACHE_HOME": "/nonexistent"])
  }

  @Test(arguments: [
    (#"<http://lv2plug.in/ns/ext/patch#writable> "gain" ;"#, "“gain”, which is no URI"),
    ("<http://lv2plug.in/ns/ext/patch#readable> [ rdfs:label \"x\" ] ;", "which is no URI"),
    ("lv2:port [ a lv2:AudioPort, lv2:InputPort ; lv2:index -1 ; lv2:symbol \"x\" ] ;", "index"),
    (
      "lv2:port [ a lv2:AudioPort, lv2:InputPort ; lv2:index 3000000000 ; lv2:symbol \"x\" ] ;",
      "index"
    ),
  ])
  func whatCannotBeIsToldWithItsBundle(facts: String, words: String) throws {
    try fixture(facts: facts) { fixture in
      let list = try command(fixture, "list")
      expectTrue(list.status == 0 && list.output.contains(Fixture.uri), "\(list)")
      let told = list.errors.split(separator: "\n")
      expectTrue(
        told.contains { $0.hasPrefix("cuejack: \(fixture.bundle): ") && $0.contains(words) },
        "\(list)")
      let info = try command(fixture, "info", Fixture.uri)
      expectTrue(info.status == 0 && info.output.contains(words), "\(info)")
    }
  }

  /// lilv's own function for scale points aborts the process.
  @Test func scalePointsWithoutAValueAreLeftOut() throws {
    let control =
      Fixture.sound + ", [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol \"x\" ; "
      + "lv2:name \"X\" ; lv2:scalePoint [ rdfs:label \"Unity\" ] ]"
    try fixture(ports: control) { fixture in
      let info = try command(fixture, "info", Fixture.uri)
      expectTrue(info.status == 0 && info.output.contains("2 x “X”: control in\n"), "\(info)")
    }
  }

  @Test func aPresetWithoutAURIIsToldAndLeftOut() throws {
    try fixture { fixture in
      let manifest = try String(contentsOfFile: fixture.bundle + "manifest.ttl", encoding: .utf8)
      let preset = """
        [] a <http://lv2plug.in/ns/ext/presets#Preset> ; lv2:appliesTo <urn:fixture> ;
          rdfs:label "Nameless" .
        """
      try fixture.write(manifest + "\n" + preset, to: "manifest.ttl")
      let list = try command(fixture, "list")
      expectTrue(list.status == 0 && list.errors.contains("\(fixture.bundle): "), "\(list)")
      expectTrue(list.errors.contains("preset") && list.errors.contains("no URI"), "\(list)")
      let presets = try command(fixture, "presets", Fixture.uri)
      expectTrue(presets.status == 0 && presets.output == "", "\(presets)")
      let passed = try command(fixture, "check", "--seconds", "0.1", Fixture.uri)
      expectEqual(passed.status, 0, "\(passed)")
    }
  }

  @Test(arguments: ["NaN", "INF", "1e300"]) func aBoundThatIsNoNumberIsLeftOut(number: String)
    throws
  {
    let ports =
      Fixture.sound + ", [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol \"x\" ; "
      + "lv2:name \"X\" ; lv2:minimum \"\(number)\"^^<http://www.w3.org/2001/XMLSchema#double> ; "
      + "lv2:maximum 1.0 ; lv2:default 0.5 ]"
    try fixture(ports: ports) { fixture in
      let list = try command(fixture, "list")
      expectEqual(list.status, 0, "\(list)")
      expectTrue(
        list.errors.contains("\(fixture.bundle): ") && list.errors.contains("lv2:minimum"),
        "\(list)")
      // It moves the control over the remaining range.
      let passed = try command(fixture, "check", "--seconds", "0.1", Fixture.uri)
      expectEqual(passed.status, 0, "\(passed)")
      let plugin = try PluginInstance(Fixture.uri, in: World(path: fixture.path), settings: usual)
      expectNil(plugin.description.port("x")?.minimum)
      try plugin.set("x", to: -7)
      #expect(throws: HostError.self) { try plugin.set("x", to: 1.5) }
    }
  }

  // MARK: Conformance

  @Test func aStateThatDoesNotComeBackIsRemarked() throws {
    let facts = """
      lv2:requiredFeature <http://lv2plug.in/ns/ext/urid#map> ;
      lv2:extensionData <http://lv2plug.in/ns/ext/state#interface> ;
      """
    try fixture("FORGETS", facts: facts) { fixture in
      let report = try fixture.validator().validate(
        Fixture.uri, in: World(path: fixture.path), .full(seconds: 0.1))
      expectEqual(
        report, ValidationReport(remarks: ["saves something else after its state was restored"]))
    }
  }

  @Test(arguments: ["amp", "fifths", "metro", "midigate", "params", "sampler"])
  func theExamplesPass(name: String) throws {
    let validator = PluginValidator(
      executable: try builtProduct(named: "cuejack").path, cacheFolder: nil)
    let report = try validator.validate(examples + name, in: installed, .full(seconds: 0.5))
    expectEqual(report, ValidationReport())
  }

  @Test func everyMDAPluginPasses() throws {
    let validator = PluginValidator(
      executable: try builtProduct(named: "cuejack").path, cacheFolder: nil)
    let uris = installed.uris.filter { $0.hasPrefix("http://drobilla.net/plugins/mda/") }
    expectEqual(uris.count, 36)
    for uri in uris {
      let report = try validator.validate(uri, in: installed, .full(seconds: 0.3))
      expectEqual(report.failures, [], "\(uri)")
    }
  }
}
