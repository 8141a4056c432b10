import ArgumentParser
import AudioUnits
import Graph
import PluginHost
import System

/// `cuejack plugins`: commands for the installed LV2 plugins.
struct Plugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plugins", abstract: "List, describe and check the installed LV2 plugins.",
    discussion: onlyExamples(
      "cuejack plugins list reverb",
      "cuejack plugins info urn:cuejack:plugins:limiter"),
    subcommands: [
      ListPlugins.self, PluginInfo.self, PluginPresets.self, CheckPlugins.self, ServeProbe.self,
      ServePlugin.self,
    ])
}

/// Returns the description from the bundle of the plugin that `name` names. Prints an error and ends the
/// command if there is none.
private func description(of name: String) throws -> PluginDescription {
  let world = World.named
  do throws(HostError) {
    return try world.description(of: world.knownURI(named: name))
  } catch {
    Screen.shared.remark(world.words(for: error))
    throw ExitCode.failure
  }
}

/// `cuejack plugins list`.
struct ListPlugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the plugins, and report faulty bundles.",
    discussion: """
      A separate process reads each bundle, once and again after the bundle changes. What it found is kept \
      in cuejack/plugins.json in $XDG_CACHE_HOME, or ~/.cache. Plugins that only a dynamic manifest declares \
      are not listed. The environment variable LV2_PATH selects the folders.
      """
        + examples(
          "cuejack plugins list",
          "cuejack plugins list reverb --json"))

  @Flag(help: "Print a JSON object: “plugins” and “problems”.")
  var json = false

  @Argument(help: "List only plugins whose URI, name, class or author contains this text.")
  var text: String?

  private struct Report: Encodable {
    struct Plugin: Encodable {
      let uri, name, kind: String
      let author: String?
    }
    var plugins: [Plugin] = []
    /// Problems by bundle path.
    var problems: [String: [String]] = [:]
  }

  func run() throws {
    let catalog = try PluginCatalog(of: BundleFolders(), by: PluginValidator())
    var report = Report(problems: catalog.problems)
    let wanted = text?.lowercased()
    for plugin in catalog.plugins {
      let found = [plugin.uri, plugin.name, plugin.className, plugin.author ?? ""]
      if let wanted, !found.contains(where: { $0.lowercased().contains(wanted) }) { continue }
      report.plugins.append(
        Report.Plugin(
          uri: plugin.uri, name: plugin.name, kind: plugin.className, author: plugin.author))
    }
    if json { return try printJSON(report) }
    let width = report.plugins.map(\.uri.count).max() ?? 0
    for plugin in report.plugins {
      let space = String(repeating: " ", count: width - plugin.uri.count)
      print("\(plugin.uri)\(space)  \(printable(plugin.name)) (\(printable(plugin.kind)))")
    }
    for (bundle, problems) in report.problems.sorted(by: { $0.key < $1.key }) {
      for problem in problems { Screen.shared.remark("\(bundle): \(printable(problem))") }
    }
  }
}

/// `cuejack plugins info`.
struct PluginInfo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Show a plugin's description from its bundle.",
    discussion: onlyExamples(
      "cuejack plugins info urn:cuejack:plugins:limiter"))

  @Flag(help: "Print a JSON object with everything.")
  var json = false

  @Argument(
    help: "The plugin's URI, the end of it, or its name.", completion: .pluginURIs)
  var plugin: String

  func run() throws {
    let plugin = try description(of: self.plugin)
    if json { return try printJSON(plugin) }
    print(printable(plugin.uri))
    var rows = [("name", plugin.name), ("class", plugin.className)]
    rows.append(("audio unit", PluginIdentity.description(of: plugin).characters))
    if let author = plugin.author { rows.append(("author", author)) }
    if let license = plugin.license { rows.append(("license", license)) }
    rows.append(("bundle", plugin.bundle))
    rows += plugin.requiredFeatures.map { ("requires", $0) }
    rows += plugin.optionalFeatures.map { ("can use", $0) }
    rows += plugin.extensionData.map { ("has", $0) }
    rows += plugin.ports.map { ("port", words(for: $0)) }
    rows += plugin.parameters.map { parameter in
      let access = [parameter.isWritable ? "write" : nil, parameter.isReadable ? "read" : nil]
      return (
        "parameter",
        "<\(parameter.uri)> \(parameter.label ?? "")"
          + " (\(access.compactMap(\.self).joined(separator: ", ")))"
      )
    }
    if !plugin.presets.isEmpty { rows.append(("presets", "\(plugin.presets.count)")) }
    rows += plugin.problems.map { ("fault", $0) }
    rows += plugin.remarks.map { ("left out", $0) }
    for (name, value) in rows {
      print("  \(name):\(String(repeating: " ", count: 11 - name.count))\(printable(value))")
    }
  }

  private func words(for port: PluginPort) -> String {
    var words = "\(port.index) \(port.symbol) “\(port.name)”: \(port.kind.rawValue)"
    words += port.direction == .input ? " in" : " out"
    if let low = port.minimum, let high = port.maximum { words += ", \(low) to \(high)" }
    if let usual = port.defaultValue { words += ", \(usual) at first" }
    if let unit = port.unit?.symbol ?? port.unit?.name { words += ", in \(unit)" }
    let marks = [
      (port.isLogarithmic, "logarithmic"), (port.isInteger, "integer"), (port.isToggled, "toggle"),
      (port.isEnumeration, "enumeration"), (port.isTrigger, "trigger"),
      (port.isOptional, "optional"), (port.isSampleRate, "times the sample rate"),
      (port.reportsLatency, "latency"),
    ]
    for (holds, name) in marks where holds { words += ", \(name)" }
    if !port.eventTypes.isEmpty {
      words += ", takes \(port.eventTypes.map { "<\($0)>" }.joined(separator: " "))"
    }
    if !port.scalePoints.isEmpty {
      words += "; "
      words += port.scalePoints.map { "\($0.value) \($0.label)" }.joined(separator: ", ")
    }
    return words
  }
}

/// `cuejack plugins presets`.
struct PluginPresets: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presets", abstract: "List a plugin's presets.",
    discussion: onlyExamples(
      "cuejack plugins presets urn:cuejack:plugins:preset-eq"))

  @Flag(help: "Print an array of JSON objects.")
  var json = false

  @Argument(
    help: "The plugin's URI, the end of it, or its name.", completion: .pluginURIs)
  var plugin: String

  func run() throws {
    let presets = try description(of: plugin).presets
    if json { return try printJSON(presets) }
    for preset in presets { print("\(printable(preset.uri))  \(printable(preset.label))") }
  }
}

/// `cuejack plugins check`.
struct CheckPlugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Test plugins with everything that a host may do to them.",
    discussion: """
      Instantiates each plugin at 44.1, 48 and 96 kHz and runs noise and MIDI through it in blocks of 64, \
      17 and 1024 frames. Moves every control over its range, saves and restores the state, loads every \
      preset, changes block length and rate, and runs it offline. The controls must have the right values \
      after a state, a preset and a new block length. Each plugin runs in a separate process, which may \
      crash or hang. The exit code is 1 if a plugin fails.
      """
        + examples(
          "cuejack plugins check urn:cuejack:plugins:limiter --seconds 2",
          "cuejack plugins check --all --json"))

  @Flag(help: "Check all installed plugins.")
  var all = false

  @Option(help: ArgumentHelp("Seconds of noise at each rate.", valueName: "seconds"))
  var seconds = 10.0

  @Option(
    help: ArgumentHelp(
      "Longest duration of one step, without the time in which it waits for a processor.",
      valueName: "seconds"))
  var patience = 60.0

  @Flag(help: "Print a JSON object: the “failures” and “remarks” of each plugin, by its URI.")
  var json = false

  @Argument(
    help: "The plugins' URIs, the ends of them, or their names.", completion: .pluginURIs)
  var plugins: [String] = []

  func validate() throws {
    try check(all == plugins.isEmpty, "name the plugins to check, or say --all")
    try check((0.1...3600).contains(seconds), "--seconds takes a number from 0.1 to 3600")
    try check((1...3600).contains(patience), "--patience takes a number from 1 to 3600")
  }

  func run() throws {
    let world = World.named
    let validator = PluginValidator(cacheFolder: nil, patience: patience)
    var reports: [String: ValidationReport] = [:]
    var failed = 0
    let chosen = all ? world.uris : plugins
    for name in chosen {
      do throws(HostError) {
        let uri = try all ? name : world.knownURI(named: name)
        let report = try validator.validate(uri, in: world, .full(seconds: seconds))
        reports[uri] = report
        if !report.failures.isEmpty { failed += 1 }
        if json { continue }
        print("\(report.failures.isEmpty ? "passed" : "FAILED")  \(printable(uri))")
        for failure in report.failures { print("        it \(printable(failure))") }
        for remark in report.remarks { print("        (it \(printable(remark)))") }
      } catch {
        Screen.shared.remark(world.words(for: error))
        failed += 1
      }
    }
    if json {
      try printJSON(reports)
    } else if chosen.count > 1 {
      print("\(chosen.count - failed) of \(chosen.count) passed")
    }
    if failed > 0 { throw ExitCode.failure }
  }
}

/// `cuejack plugins probe`: the process that `PluginValidator` starts.
struct ServeProbe: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Try plugins for another process.", shouldDisplay: false)

  func run() { Probe.serve() }
}

/// `cuejack plugins host`: the process that an `IsolatedPlugin` starts.
struct ServePlugin: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "host", abstract: "Run a plugin for another process.", shouldDisplay: false)

  func run() { PluginProcessMain.serve { CommandLog.hushLibraries(isVerbose: false) } }
}
