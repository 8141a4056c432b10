import ArgumentParser
import Foundation
import Graph
import PluginHost

/// `cuejack plugins`: commands for the installed LV2 plugins.
struct Plugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List, describe and check the LV2 plugins that are installed.",
    subcommands: [
      ListPlugins.self, PluginInfo.self, PluginPresets.self, CheckPlugins.self, ServeProbe.self,
      ServePlugin.self,
    ])
}

/// Prints a value as readable JSON.
func printJSON(_ value: some Encodable) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  // Values from plugins may be infinite or NaN.
  encoder.nonConformingFloatEncodingStrategy = .convertToString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  print(String(decoding: try encoder.encode(value), as: UTF8.self))
}

private func complain(_ message: String) {
  FileHandle.standardError.write(Data("cuejack: \(message)\n".utf8))
}

/// Returns the description from a plugin's bundle. Prints an error and ends the command if there is
/// none.
private func description(of uri: String) throws -> PluginDescription {
  do throws(HostError) {
    return try World().description(of: uri)
  } catch {
    complain(error.description)
    throw ExitCode.failure
  }
}

/// `cuejack plugins list`.
struct ListPlugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the plugins, and what is wrong with bundles.",
    discussion: """
      What is wrong with a bundle is found out in a process of its own, the first time and again when it \
      has changed. Plugins that a bundle tells by a library only (dynmanifest) are not listed. The environment's LV2_PATH tells where to look.
      """)

  @Flag(help: "Print a JSON object: “plugins” and “problems”.")
  var json = false

  @Argument(help: "Only plugins whose URI, name, class or author contains this.")
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
    let world = World()
    let validator = PluginValidator()
    var report = Report()
    for bundle in world.bundles {
      let problems = try validator.bundle(bundle).problems
      if !problems.isEmpty { report.problems[bundle] = problems }
    }
    for uri in world.uris {
      let plugin = try world.description(of: uri)
      let found = [uri, plugin.name, plugin.className, plugin.author ?? ""]
      if let text, !found.contains(where: { $0.localizedCaseInsensitiveContains(text) }) {
        continue
      }
      report.plugins.append(
        Report.Plugin(uri: uri, name: plugin.name, kind: plugin.className, author: plugin.author))
    }
    if json { return try printJSON(report) }
    let width = report.plugins.map(\.uri.count).max() ?? 0
    for plugin in report.plugins {
      let space = String(repeating: " ", count: width - plugin.uri.count)
      print("\(plugin.uri)\(space)  \(printable(plugin.name)) (\(printable(plugin.kind)))")
    }
    for (bundle, problems) in report.problems.sorted(by: { $0.key < $1.key }) {
      for problem in problems { complain("\(bundle): \(printable(problem))") }
    }
  }
}

/// `cuejack plugins info`.
struct PluginInfo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Show what a plugin's bundle says of it.")

  @Flag(help: "Print a JSON object with everything.")
  var json = false

  @Argument(help: "The plugin's URI.")
  var uri: String

  func run() throws {
    let plugin = try description(of: uri)
    if json { return try printJSON(plugin) }
    print(printable(plugin.uri))
    var rows = [("name", plugin.name), ("class", plugin.className)]
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
      print("  \(name):\(String(repeating: " ", count: 10 - name.count))\(printable(value))")
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
    commandName: "presets", abstract: "List a plugin's presets.")

  @Flag(help: "Print an array of JSON objects.")
  var json = false

  @Argument(help: "The plugin's URI.")
  var uri: String

  func run() throws {
    let presets = try description(of: uri).presets
    if json { return try printJSON(presets) }
    for preset in presets { print("\(printable(preset.uri))  \(printable(preset.label))") }
  }
}

/// `cuejack plugins check`.
struct CheckPlugins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Try whether plugins bear all that a host may do to them.",
    discussion: """
      Each is instantiated at 44.1, 48 and 96 kHz and runs noise and MIDI in blocks of 64, 17 and 1024 \
      frames; every control is turned over its range, the state is saved and restored, every preset \
      loaded, the block length and the rate changed, and it runs offline. Its controls must have \
      the right values after a state, a preset and another block length. That happens in another \
      process, so that a plugin that crashes or hangs takes nothing with it. The exit code is 1 if a \
      plugin failed.
      """)

  @Flag(help: "Check all plugins that are installed.")
  var all = false

  @Option(help: ArgumentHelp("Seconds of noise at each rate.", valueName: "seconds"))
  var seconds = 10.0

  @Option(
    help: ArgumentHelp(
      "Seconds that one step may take, not counting those in which it waits for a processor.",
      valueName: "seconds"))
  var patience = 60.0

  @Flag(help: "Print a JSON object: each plugin's “failures” and “remarks” by its URI.")
  var json = false

  @Argument(help: "The plugins' URIs.")
  var uris: [String] = []

  func validate() throws {
    if all != uris.isEmpty {
      throw ValidationError("Name the plugins to check by their URIs, or say --all.")
    }
    if !(seconds >= 0.1 && seconds <= 3600) {
      throw ValidationError("--seconds takes a number from 0.1 to 3600.")
    }
    if !(patience >= 1 && patience <= 3600) {
      throw ValidationError("--patience takes a number from 1 to 3600.")
    }
  }

  func run() throws {
    let world = World()
    let validator = PluginValidator(cacheFolder: nil, patience: patience)
    var reports: [String: ValidationReport] = [:]
    var failed = 0
    let chosen = all ? world.uris : uris
    for uri in chosen {
      do throws(HostError) {
        _ = try world.description(of: uri)
        let report = try validator.trial(uri, in: world, .full(seconds: seconds))
        reports[uri] = report
        if !report.failures.isEmpty { failed += 1 }
        if json { continue }
        print("\(report.failures.isEmpty ? "passed" : "FAILED")  \(printable(uri))")
        for failure in report.failures { print("        it \(printable(failure))") }
        for remark in report.remarks { print("        (it \(printable(remark)))") }
      } catch {
        complain(error.description)
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

  func run() { PluginProcessMain.serve() }
}
