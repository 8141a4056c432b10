import FileSupport
import Foundation
import Testing

/// `cuejack plugins` with lv2-examples and mda-lv2.
@Suite(.tags(.program)) struct PluginsTests {
  let folder: TemporaryFolder
  let cuejack: String
  private let amp = "http://lv2plug.in/plugins/eg-amp"
  init() throws {
    folder = try TemporaryFolder()
    cuejack = try buildFolder() + "/cuejack"
  }

  /// Runs the command with a separate cache and, with `path`, separate bundles.
  private func plugins(_ arguments: [String], path: String? = nil) throws -> Outcome {
    var settings = ["XDG_CACHE_HOME=\(folder.path)/cache"]
    if let path { settings.append("LV2_PATH=\(path)") }
    return try run("env", settings + [cuejack, "plugins"] + arguments)
  }

  /// Creates a folder with two of Debian's bundles and an unreadable one.
  private func bundles() throws -> String {
    let bundles = "\(folder.path)/bundles"
    try FileManager.default.createDirectory(
      atPath: bundles + "/broken.lv2", withIntermediateDirectories: true)
    try "<urn:a> nonsense .".write(
      toFile: bundles + "/broken.lv2/manifest.ttl", atomically: false, encoding: .utf8)
    for name in ["eg-amp.lv2", "eg-fifths.lv2"] {
      try FileManager.default.createSymbolicLink(
        atPath: bundles + "/" + name, withDestinationPath: "/usr/lib/lv2/" + name)
    }
    return bundles
  }

  @Test func installedPluginsAreListedAndBrokenBundlesNamed() throws {
    let path = try bundles()
    let outcome = try plugins(["list"], path: path)
    expectEqual(outcome.status, 0)
    expectEqual(
      outcome.text,
      """
      http://lv2plug.in/plugins/eg-amp     Simple Amplifier (Plugin)
      http://lv2plug.in/plugins/eg-fifths  Example Fifths (Plugin)

      """)
    expectTrue(
      outcome.errors.contains("cuejack: \(path)/broken.lv2/: error: "), "\(outcome.errors)")
    expectTrue(outcome.errors.contains("manifest.ttl:1:"))
    try expectEqual(plugins(["list", "FIFTHS"], path: path).text.split(separator: "\n").count, 1)
    let json = try plugins(["list", "--json", "EG-amp"], path: path)
    let object = try JSONSerialization.jsonObject(with: json.output) as? [String: Any]
    expectEqual((object?["plugins"] as? [[String: Any]])?.map { $0["uri"] as? String }, [amp])
    expectEqual((object?["problems"] as? [String: Any])?.keys.sorted(), ["\(path)/broken.lv2/"])
  }

  @Test func aPluginIsDescribed() throws {
    let words = try plugins(["info", amp])
    expectTrue(words.status == 0 && words.errors.isEmpty, "\(words)")
    expectTrue(
      words.text.contains("audio unit: 'aufx' 'vlBr' 'LV2 '\n")
        && words.text.contains(
          "port:       0 gain “Gain”: control in, -90.0 to 24.0, 0.0 at first, in dB; -10.0 -10,")
    )
    let json = try plugins(["info", "--json", amp])
    let object = try JSONSerialization.jsonObject(with: json.output) as? [String: Any]
    expectEqual(object?["uri"] as? String, amp)
    expectEqual(
      (object?["ports"] as? [[String: Any]])?.map { $0["symbol"] as? String },
      [
        "gain", "in", "out",
      ])
  }

  @Test func presetsAreListed() throws {
    let outcome = try plugins(["presets", "http://drobilla.net/plugins/mda/EPiano"])
    expectTrue(
      outcome.text.contains("http://drobilla.net/plugins/mda/presets#EPiano-bright  Bright\n"))
    let none = try plugins(["presets", amp])
    expectTrue(none.status == 0 && none.text == "", "\(none)")
  }

  @Test(arguments: ["info", "presets", "check"])
  func aWrongURIIsNamed(command: String) throws {
    let outcome = try plugins([command, "urn:nothing"])
    expectEqual(outcome.status, 1)
    expectEqual(
      outcome.errors,
      "cuejack: no plugin <urn:nothing> is installed (LV2_PATH tells where to look)\n")
  }

  @Test func pluginsAreChecked() throws {
    let fifths = "http://lv2plug.in/plugins/eg-fifths"
    let outcome = try plugins(["check", "--all", "--seconds", "0.2"], path: bundles())
    expectEqual(outcome.status, 0)
    expectEqual(outcome.text, "passed  \(amp)\npassed  \(fifths)\n2 of 2 passed\n")
    let json = try plugins(["check", "--json", "--seconds", "0.2", amp])
    let object =
      try JSONSerialization.jsonObject(with: json.output) as? [String: [String: [String]]]
    expectEqual(object, [amp: ["failures": [], "remarks": []]])
    try expectEqual(plugins(["check"]).status, 64)
    try expectEqual(plugins(["check", "--all", amp]).status, 64)
    try expectEqual(plugins(["check", amp, "--seconds", "nan"]).status, 64)
  }

  /// By the end of its URI and by its name.
  @Test func pluginsAreFoundByName() throws {
    let path = try bundles()
    for name in ["eg-amp", "plugins/eg-amp", "Simple Amplifier", "simple amplifier"] {
      let outcome = try plugins(["info", name], path: path)
      expectTrue(outcome.status == 0 && outcome.text.hasPrefix("\(amp)\n"), "\(outcome)")
    }
    let checked = try plugins(["check", "eg-amp", "--seconds", "0.1"], path: path)
    expectEqual(checked.text, "passed  \(amp)\n")
    for (name, message) in [
      (
        "eg-fifth",
        "no plugin <eg-fifth> is installed (LV2_PATH tells where to look); did you mean “eg-fifths”?"
      ),
      ("Simple Amplifer", "did you mean “Simple Amplifier”?"),
    ] {
      let outcome = try plugins(["info", name], path: path)
      expectTrue(outcome.status == 1 && outcome.errors.contains(message), "\(outcome.errors)")
    }
    let twins = try plugins(["info", "mono"], path: "/usr/lib/lv2")
    expectEqual(twins.status, 1)
    expectTrue(
      twins.errors.hasPrefix(
        "cuejack: “mono” is the name of 3 plugins: <http://gareus.org/oss/lv2/darc#mono>, "),
      "\(twins.errors)")
  }

  /// A library's own words about a broken bundle are seen with --verbose only.
  @Test func librariesAreHushed() throws {
    let path = try bundles()
    let sound = "\(folder.path)/a.wav"
    try require(run("sox", ["-n", "-r", "48000", sound, "trim", "0", "0.01"]).status == 0)
    for isVerbose in [false, true] {
      let outcome = try run(
        "env",
        ["XDG_CACHE_HOME=\(folder.path)/cache", "LV2_PATH=\(path)", cuejack, "play", sound]
          + ["--plugin", amp, "--render", "\(folder.path)/\(isVerbose).wav"]
          + (isVerbose ? ["--verbose"] : []))
      expectEqual(outcome.status, 0)
      expectEqual(outcome.errors.contains("broken.lv2"), isVerbose, "\(outcome.errors)")
      expectTrue(isVerbose || outcome.errors.isEmpty, "\(outcome.errors)")
    }
  }

  @Test func theProbeIsNotShown() throws {
    let help = try plugins(["--help"]).text
    expectTrue(help.contains("presets") && !help.contains("probe"))
  }
}
