import ArgumentParser
import AudioQueue
import Glibc
import Host
import RealTime
import Server

/// What `--plugin` takes: a plugin, perhaps a preset of it, and values of its controls.
struct PluginOption: ExpressibleByArgument {
  /// All that comes before the values.
  let plugin: String
  let values: [String: Float]
  /// It is to have a process of its own.
  var isIsolated = false

  /// True if `--isolate` means it by `name`: as it was given, or by its URI alone.
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
  /// What `--plugin` asks for; an error is told and ends the command.
  ///
  /// - Parameters:
  ///   - client: Whose cycles are to run it; nil if none.
  ///   - hearsControllers: Controllers are to move controls.
  init(
    _ options: [PluginOption], channels: Int, sampleRate: Double, isOffline: Bool = false,
    on client: (any ServerClient)? = nil, hearsControllers: Bool = false
  ) throws {
    do throws(HostError) {
      let world = World(prober: Prober())
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

/// The client that all files play through when there are plugins.
struct PluginClient {
  let device: Device
  let chain: PluginChain
  /// For each port what it is connected to.
  private(set) var connections: [[String]] = []
  /// What the MIDI ports are connected to.
  private(set) var midiInputs: [String] = []
  private(set) var midiOutputs: [String] = []

  /// Opens the client and connects its ports; an error is told and ends the command.
  init(
    _ options: [PluginOption], channels: Int, _ client: ClientOptions,
    _ controllers: ControllerOptions, files: [String]
  ) throws {
    do throws(ServerError) {
      device = try Device(client.jackServer(for: files), clientName: client.name)
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
      try connect(client)
      try connectMIDI(controllers)
      try follow(controllers)
      // Plugins tell of their latency when they run.
      try device.awaitHeard(device.connectionMark)
      let deadline = HostTime.now + 2_000_000_000
      while !chain.hasRun, !device.isLost, HostTime.now < deadline { usleep(1000) }
      try device.awaitHeard(device.connectionMark)
      _ = chain.graph.tend()
    } catch {
      close()
      device.close()
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }

  private mutating func connect(_ client: ClientOptions) throws(ServerError) {
    let ports = chain.portNames
    let physical = device.client.physicalOutputs.prefix(max(2, ports.count))
    let others =
      client.noConnect ? [] : client.connect.isEmpty ? Array(physical) : client.connect
    connections = ports.map { _ in [] }
    // What is more than the ports goes round; one port is connected to all.
    for (i, other) in others.enumerated() {
      let port = i % ports.count
      try device.connect(ports[port], to: other)
      connections[port].append(other)
    }
  }

  private mutating func connectMIDI(_ options: ControllerOptions) throws {
    midiInputs = options.inputs
    midiOutputs = options.outputs
    for (option, port, others) in [
      ("--midi-in", chain.midiInput, midiInputs), ("--midi-out", chain.midiOutput, midiOutputs),
    ] {
      guard let port else {
        if others.isEmpty { continue }
        throw MIDIError(
          option == "--midi-in"
            ? "--midi-in: no plugin takes MIDI"
            : "--midi-out: no plugin writes MIDI that no other takes")
      }
      for other in others { try device.connect(port, to: other) }
    }
  }

  /// Why MIDI ports cannot be connected.
  private struct MIDIError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// Where the channels of a file are to be played.
  ///
  /// - Parameter pan: The balance of a file of one channel, if there are two for it.
  func places(for file: SoundReader, pan: Float) throws(HostError) -> [ClientPort] {
    let graph = chain.graph
    let source = graph.addSource(named: fileName(file.path), channels: file.format.channels)
    let entrance = chain.entrance
    try graph.connect(source, to: entrance)
    if file.format.channels == 1, chain.channels > 1 {
      try graph.connect(Wire(from: source, 0, to: entrance, 0), gain: min(1, 1 - pan))
      try graph.connect(Wire(from: source, 0, to: entrance, 1), gain: min(1, 1 + pan))
    }
    return try graph.places(of: source)
  }

  /// Ends the client. No queue may play through it any more.
  func close() {
    chain.cancelLearning()
    chain.graph.stop()
  }
}
