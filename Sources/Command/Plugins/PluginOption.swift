import ArgumentParser
import AudioQueue
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Sessions
import System

/// The value of `--plugin`: a plugin, optionally a preset, and control values.
struct PluginOption: ExpressibleByArgument {
  static var defaultCompletionKind: CompletionKind { .plugins }

  /// Everything before the control values.
  let plugin: String
  let values: [String: Float]
  /// True if the plugin runs in its own process.
  var isIsolated = false
  /// True if that process is not confined.
  var isTrusted = false

  /// Returns true if `--isolate name` or `--trust name` selects this plugin: as given, without its preset, by another of its
  /// names, or with "all".
  ///
  /// - Parameter names: The names of the installed plugins; called if the texts differ.
  func isMeant(by name: String, in names: () -> PluginCatalog?) -> Bool {
    if name == "all" || name == plugin || plugin.hasPrefix(name + "#") { return true }
    guard let names = names(), let wanted = try? names.uri(named: name) else { return false }
    let starts = plugin.indices.filter { plugin[$0] == "#" }.map { String(plugin[..<$0]) }
    return ([plugin] + starts).contains { (try? names.uri(named: $0)) == wanted }
  }

  init?(argument: String) {
    guard
      let parts = argument.wholeMatch(
        of: #/(.+?)(?::([A-Za-z_]\w*=[^,=]*(?:,[A-Za-z_]\w*=[^,=]*)*))?/#)
    else { return nil }
    plugin = String(parts.1)
    var values: [String: Float] = [:]
    for setting in parts.2?.split(separator: ",") ?? [] {
      let sides = setting.split(separator: "=")
      guard sides.count == 2, let value = Float(withoutDecibels(String(sides[1]))), value.isFinite
      else { return nil }
      values[String(sides[0])] = value
    }
    self.values = values
  }
}

/// The plugins of `--plugin` options, found among the installed ones.
struct ChosenPlugins {
  let world: World
  let choices: [PluginChoice]
  /// The number of threads that run them.
  let threads: Int

  /// Finds the plugins. Prints an error and ends the command if one of them is not there.
  init(_ options: [PluginOption], threads: ThreadOptions) throws {
    let world = World.named
    self.world = world
    self.threads = threads.count
    do throws(HostError) {
      var choices: [PluginChoice] = []
      for option in options {
        var choice = try PluginChoice(option.plugin, values: option.values, in: world)
        choice.isIsolated = option.isIsolated
        choice.isTrusted = option.isTrusted
        choices.append(choice)
      }
      self.choices = choices
    } catch {
      Screen.shared.complain(world.words(for: error))
      throw ExitCode.failure
    }
  }

  /// The channels that the chain needs, and how many of them come in from outside.
  ///
  /// An instrument at the beginning needs none from outside, nor do plugins of MIDI alone, whose chain has
  /// one silent channel.
  var width: (channels: Int, inputs: Int) {
    let sizes = choices.compactMap { try? world.description(of: $0.uri) }.map { plugin in
      (
        inputs: plugin.planes(.input).count { $0.kind == .audio },
        outputs: plugin.planes(.output).count { $0.kind == .audio }
      )
    }.filter { $0.inputs + $0.outputs > 0 }
    guard let first = sizes.first, first.inputs > 0 else { return (1, 0) }
    let widest = sizes.map(\.inputs).max() ?? 1
    return (widest, widest)
  }
}

extension PluginChain {
  /// Creates the chain of plugins. Prints an error and ends the command on failure.
  ///
  /// - Parameters:
  ///   - client: The client whose cycles run the chain; nil if there is none.
  ///   - hearsControllers: True if MIDI controllers control plugin controls.
  ///   - track: MIDI messages to be played to the plugins; nil for none.
  init(
    _ plugins: ChosenPlugins, channels: Int, sampleRate: Double, isOffline: Bool = false,
    on client: (any ServerClient)? = nil, hearsControllers: Bool = false,
    playing track: MIDITrack? = nil
  ) throws {
    do throws(HostError) {
      let period = plugins.choices.contains { $0.isIsolated } ? client?.periodFrames : nil
      try self.init(
        plugins.choices, in: plugins.world, channels: channels, sampleRate: sampleRate,
        isOffline: isOffline, priority: client?.realTimePriority,
        blockFrames: max(1, period ?? 1024), hearsControllers: hearsControllers, playing: track,
        threads: plugins.threads)
    } catch {
      Screen.shared.complain(plugins.world.words(for: error))
      throw ExitCode.failure
    }
  }
}

/// The client of a chain of plugins: that through which all files of `cuejack play` play, or that of
/// `cuejack fx`.
struct PluginClient {
  /// The audio ports of other clients that are connected to the client's ports.
  struct Connections {
    /// Returns those that hear the chain, and those that it hears, in the order of the chain's ports; nil for
    /// those of the sound card. Called with the client.
    var outputs: (any ServerClient) throws -> [String]?
    var inputs: (any ServerClient) throws -> [String]? = { _ in [] }
  }

  let device: Device
  let chain: PluginChain
  /// Names of the audio input ports.
  let inputNames: [String]
  /// The connections of each output port, and of each input port.
  private(set) var connections: [[String]] = []
  private(set) var inputConnections: [[String]] = []
  /// The connections of the MIDI ports.
  private(set) var midiInputs: [String] = []
  private(set) var midiOutputs: [String] = []

  /// Opens the client and connects its ports. Prints an error and ends the command on failure.
  ///
  /// - Parameters:
  ///   - channels: Channels that enter the chain.
  ///   - inputs: Audio input ports, whose sound enters the chain.
  ///   - title: The client's name for patchbays.
  init(
    _ plugins: ChosenPlugins, channels: Int, inputs: Int = 0, on server: JackServer,
    named name: String, title: String, _ connections: Connections,
    _ controllers: ControllerOptions
  ) throws {
    do throws(ServerError) {
      device = try Device(server, clientName: name)
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    inputNames = (0..<inputs).map { "in_\($0 + 1)" }
    do {
      chain = try PluginChain(
        plugins, channels: channels, sampleRate: device.client.sampleRate, on: device.client,
        hearsControllers: controllers.hearsControllers)
    } catch {
      device.close()
      throw error
    }
    do {
      if inputs > 0 {
        let source = try chain.graph.addInputs(named: "inputs", audio: inputNames)
        try chain.graph.connect(source, to: chain.entrance)
      }
      try chain.graph.run(on: device)
      show(title)
      self.connections = try connect(chain.portNames, .output, connections.outputs)
      inputConnections = try connect(inputNames, .input, connections.inputs)
      try connectMIDI(controllers)
      try follow(controllers)
      // Plugins report their latency only after they have run.
      try device.awaitHeard(device.connectionMark)
      let deadline = HostTime.now + 2_000_000_000
      while !chain.hasRun, !device.isLost, HostTime.now < deadline { usleep(1000) }
      try device.awaitHeard(device.connectionMark)
      _ = chain.graph.service()
    } catch {
      close()
      device.close()
      if error is ExitCode { throw error }
      Screen.shared.complain((error as? HostError).map(plugins.world.words) ?? "\(error)")
      throw ExitCode.failure
    }
  }

  /// Names the client and its ports for patchbays.
  private func show(_ title: String) {
    var ports = ClientAppearance.channels(chain.portNames, of: "mix")
    if !inputNames.isEmpty { ports += ClientAppearance.channels(inputNames, of: "input") }
    for (port, text) in [(chain.midiInput, "MIDI in"), (chain.midiOutput, "MIDI out")] {
      if let port { ports.append(ClientAppearance.Port(port, prettyName: text, signal: .midi)) }
    }
    device.show(ClientAppearance(prettyName: title, ports: ports))
  }

  /// Connects ports of the client, and returns the connections of each.
  private func connect(
    _ ports: [String], _ direction: PortDirection,
    _ others: (any ServerClient) throws -> [String]?
  ) throws -> [[String]] {
    var connections: [[String]] = ports.map { _ in [] }
    if ports.isEmpty { return connections }
    guard let others = try others(device.client) else {
      // A single channel is heard on both sides.
      let count = direction == .output ? max(2, ports.count) : ports.count
      return try device.connectToCard(ports, direction, count: count)
    }
    // Surplus ports of others are assigned round robin, so a single port is connected to all of them.
    for (i, other) in others.enumerated() {
      let port = i % ports.count
      try device.connect(ports[port], to: other)
      connections[port].append(other)
    }
    return connections
  }

  private mutating func connectMIDI(_ options: ControllerOptions) throws {
    midiInputs = try connect(
      chain.midiInput, to: options.inputs, "--midi-in", .output,
      orElse: "--midi-in: no plugin takes MIDI")
    midiOutputs = try connect(
      chain.midiOutput, to: options.outputs, "--midi-out", .input,
      orElse: "--midi-out: no plugin writes MIDI that no other takes")
  }

  /// Connects a MIDI port, and returns the ports that it is connected to.
  ///
  /// - Parameter reason: The error if the chain has no such port.
  private func connect(
    _ port: String?, to names: [String], _ option: String, _ direction: PortDirection,
    orElse reason: String
  ) throws -> [String] {
    if names.isEmpty { return [] }
    guard let port else { throw MIDIError(reason) }
    let choice = PortChoice(option: option, values: names, direction: direction, kind: .midi)
    let others = try choice.ports(on: device.client, waiting: 0, isStopped: { true })
    for other in others { try device.connect(port, to: other) }
    return others
  }

  /// The reason why MIDI ports cannot be connected.
  private struct MIDIError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// Prints the client's name, its latency and its connections.
  func announce() {
    let name = device.client.name
    let latency = chain.latencyFrames
    Screen.shared.say(
      "plugins: client \(name)" + (latency > 0 ? ", \(latency) frames of latency" : ""))
    for (port, connections) in zip(inputNames, inputConnections) {
      Screen.shared.say("  \(name):\(port) <- \(listed(connections))")
    }
    for (port, connections) in zip(chain.portNames, connections) {
      Screen.shared.say("  \(name):\(port) -> \(listed(connections))")
    }
    for (port, arrow, others) in [
      (chain.midiInput, "<-", midiInputs), (chain.midiOutput, "->", midiOutputs),
    ] {
      guard let port else { continue }
      Screen.shared.say("  \(name):\(port) \(arrow) \(listed(others))")
    }
  }

  /// Adds a source for a file to the graph, and returns the ports for its channels.
  ///
  /// - Parameter pan: The balance of a mono file, if the chain has two channels.
  func graphInputs(for file: any SoundSource, pan: Float) throws(HostError) -> [ClientPort] {
    let graph = chain.graph
    let source = graph.addSource(named: fileName(file.path), channels: file.format.channels)
    let entrance = chain.entrance
    try graph.connect(source, to: entrance)
    if file.format.channels == 1, chain.channels > 1 {
      let balance = ChannelGain(pan: pan)
      try graph.connect(Wire(from: source, 0, to: entrance, 0), gain: balance.others)
      try graph.connect(Wire(from: source, 0, to: entrance, 1), gain: balance.second)
    }
    return try graph.inputPorts(of: source)
  }

  /// Stops the client. No queue may play through it any more.
  func close() {
    chain.cancelLearning()
    chain.graph.stop()
  }
}
