import ArgumentParser
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Sessions
import System

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
  private let chosen: ChosenPlugins
  /// The client's name for patchbays.
  let title: String
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
  ///   - delay: The delay of the output.
  init(
    _ plugins: ChosenPlugins, channels: Int, inputs: Int = 0, on server: JackServer,
    named name: String, title: String, delay: TimeValue? = nil, _ connections: Connections,
    _ controllers: ControllerOptions
  ) throws {
    do throws(ServerError) {
      device = try Device(server, clientName: name)
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    chosen = plugins
    self.title = title
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
      if let delay {
        try chain.setDelay(frames: Int(delay.frames(at: device.client.sampleRate)))
      }
      try chain.graph.run(on: device)
      show()
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
  private func show() {
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
    let (latency, delay) = (chain.latencyFrames, chain.delayFrames)
    Screen.shared.say(
      "\(chosen.choices.isEmpty ? "delay" : "plugins"): client \(name)"
        + (latency > 0 ? ", \(latency) frames of latency" : "")
        + (delay > 0 ? ", \(delay) frames of delay" : ""))
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

  /// The addresses of the plugins for remote control.
  var controls: ChainControls {
    ChainControls(chain, chosen, sampleRate: device.client.sampleRate)
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
