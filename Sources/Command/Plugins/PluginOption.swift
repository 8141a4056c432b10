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

  /// Returns true if `--isolate name` selects this plugin: as given, by its URI alone, or with
  /// "all".
  func isMeant(by name: String) -> Bool {
    name == "all" || name == plugin || plugin.hasPrefix(name + "#")
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
      guard sides.count == 2, let value = Float(sides[1]), value.isFinite else { return nil }
      values[String(sides[0])] = value
    }
    self.values = values
  }
}

extension PluginChain {
  /// Creates the chain for `--plugin` options. Prints an error and ends the command on failure.
  ///
  /// - Parameters:
  ///   - client: The client whose cycles run the chain; nil if there is none.
  ///   - hearsControllers: True if MIDI controllers control plugin controls.
  init(
    _ options: [PluginOption], channels: Int, sampleRate: Double, isOffline: Bool = false,
    on client: (any ServerClient)? = nil, hearsControllers: Bool = false
  ) throws {
    do throws(HostError) {
      let world = World(validator: PluginValidator())
      var choices: [PluginChoice] = []
      for option in options {
        var choice = try PluginChoice(option.plugin, values: option.values, in: world)
        choice.isIsolated = option.isIsolated
        choices.append(choice)
      }
      let period = choices.contains { $0.isIsolated } ? client?.periodFrames : nil
      try self.init(
        choices, in: world, channels: channels, sampleRate: sampleRate, isOffline: isOffline,
        priority: client?.realTimePriority, blockFrames: max(1, period ?? 1024),
        hearsControllers: hearsControllers)
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }
}

/// The client through which all files play if there are plugins.
struct PluginClient {
  let device: Device
  let chain: PluginChain
  /// The connections of each port.
  private(set) var connections: [[String]] = []
  /// The connections of the MIDI ports.
  private(set) var midiInputs: [String] = []
  private(set) var midiOutputs: [String] = []

  /// Opens the client and connects its ports. Prints an error and ends the command on failure.
  init(
    _ options: [PluginOption], channels: Int, _ client: ClientOptions,
    _ controllers: ControllerOptions, _ signals: StopSignals, named name: String, files: [String]
  ) throws {
    do throws(ServerError) {
      device = try Device(client.jackServer(for: files), clientName: name)
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    do {
      chain = try PluginChain(
        options, channels: channels, sampleRate: device.client.sampleRate,
        on: device.client, hearsControllers: controllers.hearsControllers)
    } catch {
      device.close()
      throw error
    }
    do {
      try chain.graph.run(on: device)
      try connect(client, signals)
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
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }

  private mutating func connect(_ client: ClientOptions, _ signals: StopSignals) throws {
    let ports = chain.portNames
    let physical = device.client.physicalOutputs.prefix(max(2, ports.count))
    let others =
      client.noConnect
      ? []
      : client.connect.isEmpty
        ? Array(physical) : try client.connectedPorts(on: device.client, .input, signals)
    connections = ports.map { _ in [] }
    // Surplus target ports are assigned round robin, so a single port is connected to all of them.
    for (i, other) in others.enumerated() {
      let port = i % ports.count
      try device.connect(ports[port], to: other)
      connections[port].append(other)
    }
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

  /// Adds a source for a file to the graph, and returns the ports for its channels.
  ///
  /// - Parameter pan: The balance of a mono file, if the chain has two channels.
  func graphInputs(for file: any SoundSource, pan: Float) throws(HostError) -> [ClientPort] {
    let graph = chain.graph
    let source = graph.addSource(named: fileName(file.path), channels: file.format.channels)
    let entrance = chain.entrance
    try graph.connect(source, to: entrance)
    if file.format.channels == 1, chain.channels > 1 {
      try graph.connect(Wire(from: source, 0, to: entrance, 0), gain: min(1, 1 - pan))
      try graph.connect(Wire(from: source, 0, to: entrance, 1), gain: min(1, 1 + pan))
    }
    return try graph.inputPorts(of: source)
  }

  /// Stops the client. No queue may play through it any more.
  func close() {
    chain.cancelLearning()
    chain.graph.stop()
  }
}
