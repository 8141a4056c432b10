import AVFAudio
import CBench
import CJack
import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import System
import TestSupport

/// A plugin of a chain with its control values.
struct ChainPlugin: Codable {
  var uri: String
  /// Control values by symbol; all other controls have their defaults.
  var values: [String: Float] = [:]
}

/// A chain of plugins that every host runs.
struct PluginRow {
  var name: String
  var plugins: [ChainPlugin]
  var channels: Int
  /// True if the plugins stand side by side: all get the input, and their outputs are added.
  var isMix = false
  /// The plugins' descriptions from their bundles, in order.
  let descriptions: [PluginDescription]

  /// - Throws: `HostError.unknownPlugin` if a plugin is not installed.
  init(
    _ name: String, _ plugins: [ChainPlugin], channels: Int, isMix: Bool = false, in world: World
  ) throws(HostError) {
    self.isMix = isMix
    self.name = name
    self.plugins = plugins
    self.channels = channels
    var descriptions: [PluginDescription] = []
    for plugin in plugins { descriptions.append(try world.description(of: plugin.uri)) }
    self.descriptions = descriptions
  }

  /// Returns the symbols of a plugin's audio ports in one direction, as far as they are in the
  /// chain.
  func ports(_ plugin: Int, _ direction: PluginPort.Direction) -> [String] {
    descriptions[plugin].ports.filter { $0.direction == direction && $0.kind == .audio }
      .prefix(channels).map(\.symbol)
  }
}

/// A host that runs a chain of plugins as JACK clients.
enum PluginHost: String, Codable, CaseIterable {
  case floor, cuejack = "Cuejack", units = "audio units", engine = "AVAudioEngine", ecasound, jalv

  /// Maximum plugins in a chain. jackd supports 64 clients, and in jalv each plugin is one.
  var mostPlugins: Int {
    switch self {
    case .jalv: 48
    case .floor, .cuejack, .units, .engine, .ecasound: .max
    }
  }

  /// True if the host is available. External hosts have the name of their program and Debian
  /// package.
  var isThere: Bool {
    switch self {
    case .floor, .cuejack, .units, .engine: true
    case .ecasound, .jalv: cuejack_bench.isThere(rawValue)
    }
  }
  var absence: String { "not here: Debian package \(rawValue)" }
}

/// A host's processes, which run a chain of plugins between the head and the tail of a stopwatch.
final class HostedRow {
  private var children: [Child] = []
  private let stopwatch: Stopwatch

  /// Starts the processes, and waits until sound comes out of the last plugin.
  init(
    _ host: PluginHost, _ row: PluginRow, on jack: JackDaemon, _ stopwatch: Stopwatch,
    in folder: URL
  ) throws {
    self.stopwatch = stopwatch
    let environment = ProcessInfo.processInfo.environment.merging([
      "JACK_DEFAULT_SERVER": jack.name, "JACK_NO_START_SERVER": "1",
      "LV2_PATH": try Self.bundles(of: row, in: folder),
    ]) { $1 }
    let words = folder.appendingPathComponent("words")
    let channels = 1...row.channels
    // Pairs of ports to connect: the head's, each client's, the tail's.
    var ends = [channels.map { "\(stopwatch.name)-head:out_\($0)" }]
    do {
      for (name, path, arguments) in try Self.commands(host, row, period: jack.period, jack.name) {
        children.append(
          try Child(path, arguments, environment: environment, output: words))
        if host == .jalv {
          let plugin = children.count - 1
          ends.append(row.ports(plugin, .input).map { "\(name):\($0)" })
          ends.append(row.ports(plugin, .output).map { "\(name):\($0)" })
        } else {
          ends.append(channels.map { "\(name):in_\($0)" })
          ends.append(channels.map { "\(name):out_\($0)" })
        }
      }
      ends.append(channels.map { "\(stopwatch.name)-tail:in_\($0)" })
      stopwatch.play(CUE_NOISE)
      try wait(for: "its ports") {
        stride(from: 0, to: ends.count, by: 2).allSatisfy { i in
          zip(ends[i], ends[i + 1]).allSatisfy { stopwatch.connect($0, to: $1) }
        }
      }
      try wait(for: "its sound") { stopwatch.level > 0 }
    } catch {
      end()
      throw SupportError(
        "\(host.rawValue): \(row.name): \(error): \(text(of: words).suffix(1000))")
    }
  }

  deinit { end() }

  /// Ends the processes. jalv may hang as it closes its client: after two seconds it is killed.
  private func end() {
    for child in children { child.send(signal: SIGTERM) }
    let deadline = HostTime.now + 2_000_000_000
    for child in children {
      let now = HostTime.now
      let left = deadline > now ? Double(deadline - now) / 1e9 : 0
      if child.wait(seconds: left) == nil { child.end(seconds: 0) }
    }
    children = []
  }

  private func wait(for what: String, _ isThere: () -> Bool) throws {
    let deadline = HostTime.now + 30_000_000_000
    while !isThere() {
      if children.contains(where: { $0.wait(seconds: 0) != nil }) { throw SupportError("it ended") }
      if HostTime.now > deadline { throw SupportError("waited for \(what) in vain") }
      usleep(5000)
    }
  }

  /// Creates a folder with only the chain's bundles, because scanning all installed bundles takes
  /// long.
  static func bundles(of row: PluginRow, in folder: URL) throws -> String {
    let place = folder.appendingPathComponent("lv2")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    for bundle in Set(row.descriptions.map(\.bundle)) {
      let target = URL(fileURLWithPath: bundle)
      let link = place.appendingPathComponent(target.lastPathComponent)
      if !FileManager.default.fileExists(atPath: link.path) {
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
      }
    }
    return place.path
  }

  /// Returns ecasound's options for a chain with each of the effects, all with one input, and their sum.
  private static func sideBySide(_ effects: [String]) -> [String] {
    let names = effects.indices.map { "\($0 + 1)" }
    let chains: [[String]] = zip(names, effects).map { ["-a:\($0)", $1] }
    return ["-a:\(names.joined(separator: ","))", "-i:jack"] + chains.joined() + [
      "-a:all", "-o:jack",
    ]
  }

  /// Returns the clients' names and the commands that start them.
  private static func commands(
    _ host: PluginHost, _ row: PluginRow, period: Int, _ server: String
  ) throws -> [(name: String, path: String, arguments: [String])] {
    switch host {
    case .floor, .cuejack, .units, .engine:
      let plugins = String(decoding: try JSONEncoder().encode(row.plugins), as: UTF8.self)
      return [
        (
          "row", try builtProduct(named: "cuejack-bench").path,
          [
            "--host", host.rawValue, "--host-plugins", plugins, "--host-channels",
            "\(row.channels)", "--host-server", server,
          ] + (row.isMix ? ["--host-mixes"] : [])
        )
      ]
    case .ecasound:
      let chain = zip(row.plugins, row.descriptions).map { plugin, description in
        // ecasound takes control values by position, so all of them are given.
        let values = description.ports.filter { $0.direction == .input && $0.kind == .control }
          .map { plugin.values[$0.symbol] ?? $0.range(sampleRate: 48000).default ?? 0 }
        return (["-elv2:" + plugin.uri] + values.map { "\($0)" }).joined(separator: ",")
      }
      return [
        (
          // On exit, ecasound may signal its whole process group.
          "row", "setsid",
          [
            "ecasound", "-q", "-B:rt", "-b:\(period)", "-f:f32_le,\(row.channels),48000",
            "-G:jack,row,notransport",
          ] + (row.isMix ? sideBySide(chain) : ["-i:jack", "-o:jack"] + chain)
        )
      ]
    case .jalv:
      return row.plugins.enumerated().map { i, plugin in
        let values = plugin.values.sorted { $0.key < $1.key }
        return (
          "row-\(i + 1)", "jalv",
          ["-i", "-x", "-n", "row-\(i + 1)"] + values.flatMap { ["-c", "\($0.key)=\($0.value)"] }
            + [plugin.uri]
        )
      }
    }
  }
}

/// The measured host process. It never returns.
enum HostJob {
  static func run(
    _ host: PluginHost, _ plugins: String, channels: Int, isMix: Bool, server: String
  ) throws {
    let plugins = try JSONDecoder().decode([ChainPlugin].self, from: Data(plugins.utf8))
    // The plugins stay loaded for as long as the process runs.
    switch host {
    case .units:
      let mix = try UnitMix(plugins, isMix: isMix, channels: channels, on: server, named: "row")
      withExtendedLifetime(mix) { wait() }
    case .engine:
      let mix = try EngineMix(plugins, isMix: isMix, channels: channels, on: server, named: "row")
      withExtendedLifetime(mix) { wait() }
    case .floor:
      let floor = try Floor(plugins, channels: channels, frames: 8192)
      guard cue_floor_serve(floor.chain, server, "row") else {
        throw SupportError("the floor does not run on \(server)")
      }
      withExtendedLifetime(floor) { wait() }
    case .cuejack:
      let device = try Device(JackServer(named: server), clientName: "row")
      let choices = plugins.map { PluginChoice(uri: $0.uri, values: $0.values) }
      let rate = device.client.sampleRate
      let graph =
        try isMix
        ? sideBySide(choices, channels: channels, sampleRate: rate)
        : inARow(choices, channels: channels, sampleRate: rate)
      try graph.run(on: device)
      withExtendedLifetime((device, graph)) { wait() }
    case .ecasound, .jalv: throw SupportError("\(host.rawValue) has a program of its own")
    }
  }

  private static func inARow(
    _ plugins: [PluginChoice], channels: Int, sampleRate: Double
  ) throws -> Graph {
    let chain = try PluginChain(
      plugins, in: World(), channels: channels, sampleRate: sampleRate, isOffline: false)
    let inputs = try chain.graph.addInputs(
      named: "inputs", audio: (1...channels).map { "in_\($0)" })
    try chain.graph.connect(inputs, to: chain.entrance)
    return chain.graph
  }

  /// Returns a graph in which all plugins get the input, and their outputs are added.
  private static func sideBySide(
    _ plugins: [PluginChoice], channels: Int, sampleRate: Double
  ) throws -> Graph {
    let settings = PluginSettings(sampleRate: sampleRate, maximumFrames: 1024)
    let graph = Graph(sampleRate: sampleRate, blockFrames: settings.maximumFrames)
    let inputs = try graph.addInputs(named: "inputs", audio: (1...channels).map { "in_\($0)" })
    let outputs = try graph.addOutputs(named: "outputs", audio: (1...channels).map { "out_\($0)" })
    let world = World()
    for plugin in plugins {
      let instance = try PluginInstance(plugin.uri, in: world, settings: settings)
      for (symbol, value) in plugin.values { try instance.set(symbol, to: value) }
      let node = try graph.add(instance)
      try graph.connect(inputs, to: node)
      try graph.connect(node, to: outputs)
    }
    return graph
  }

  private static func wait() { while true { pause() } }
}

/// The minimal host: see CBench.h.
final class Floor {
  let chain: OpaquePointer

  init(_ plugins: [ChainPlugin], channels: Int, frames: Int) throws {
    var failed: UInt32 = 0
    let uris = plugins.map { UnsafePointer(strdup($0.uri)) }
    defer { for uri in uris { free(UnsafeMutablePointer(mutating: uri)) } }
    guard
      let chain = cue_floor_make(
        uris, UInt32(uris.count), UInt32(channels), 48000, UInt32(frames), &failed)
    else { throw SupportError("the floor cannot have \(plugins[Int(failed)].uri)") }
    self.chain = chain
    for (i, plugin) in plugins.enumerated() {
      for (symbol, value) in plugin.values {
        guard cue_floor_set(chain, UInt32(i), symbol, value) else {
          throw SupportError("\(plugin.uri) has no \(symbol)")
        }
      }
    }
  }

  deinit { cue_floor_free(chain) }
}

/// The result of measuring a number of cycles.
struct Timing {
  /// Median time between the stamps.
  var microseconds: Double
  /// JACK's CPU load during the measurement, in percent of a cycle.
  var load: Double
  /// Number of xruns.
  var xruns: Int
}

/// The stopwatch clients before and after a chain of plugins, in a server's cycles.
final class Stopwatch {
  let name = "watch"
  private let watch: OpaquePointer
  private let wakefulness = cue_wakefulness_begin()

  init(on jack: JackDaemon, channels: Int) throws {
    var status = JackStatus(rawValue: 0)
    guard let watch = cue_stopwatch_open(jack.name, name, UInt32(channels), &status) else {
      throw SupportError("\(name) cannot be opened: JACK status \(status.rawValue)")
    }
    self.watch = watch
  }
  deinit {
    cue_wakefulness_end(wakefulness)
    cue_stopwatch_close(watch)
  }

  /// Peak sample after the chain in the latest cycle.
  var level: Float { cue_stopwatch_level(watch) }
  var isRealtime: Bool { cue_stopwatch_is_realtime(watch) }
  func play(_ sound: cue_sound) { cue_stopwatch_play(watch, sound) }

  /// Connects two ports; returns false if one does not exist yet or the connection fails.
  func connect(_ source: String, to destination: String) -> Bool {
    let client = cue_stopwatch_client(watch)
    guard jack_port_by_name(client, source) != nil, jack_port_by_name(client, destination) != nil
    else { return false }
    let status = jack_connect(client, source, destination)
    return status == 0 || status == EEXIST
  }

  func measure(cycles: Int) throws -> Timing {
    let xruns = cue_stopwatch_xruns(watch)
    cue_stopwatch_start(watch, UInt32(cycles))
    let deadline = HostTime.now + 60_000_000_000
    var loads: [Double] = []
    while cue_stopwatch_count(watch) < cycles {
      if HostTime.now > deadline { throw SupportError("the server stands still") }
      usleep(20_000)
      loads.append(Double(jack_cpu_load(cue_stopwatch_client(watch))))
    }
    let times = (0..<cycles).map { Double(cue_stopwatch_nanoseconds(watch, UInt32($0))) / 1000 }
    return Timing(
      microseconds: median(times), load: median(loads),
      xruns: Int(cue_stopwatch_xruns(watch) - xruns))
  }
}
