import ArgumentParser
import AudioQueue
import Control
import Dispatch
import Glibc
import Graph
import PluginHost
import Server
import System

/// The running client of `cuejack fx`. Main thread.
struct FxSession {
  private let command: Fx
  private let client: PluginClient
  private let signals: StopSignals
  /// Signalled when a key or a signal arrives.
  private let awake: DispatchSemaphore

  /// Opens the client and connects its ports. Prints an error and ends the command on failure.
  init(_ command: Fx, _ signals: StopSignals, _ awake: DispatchSemaphore) throws {
    self.command = command
    self.signals = signals
    self.awake = awake
    let plugins = try ChosenPlugins(
      command.isolation.marking(command.plugins), threads: command.threads,
      soundFont: command.soundFont)
    let width = plugins.width
    let title = plugins.choices.map { choice in
      (try? plugins.world.description(of: choice.uri).name) ?? choice.uri
    }
    client = try PluginClient(
      plugins, channels: command.channels ?? width.channels,
      inputs: command.channels ?? width.inputs, on: command.jackServer,
      named: command.name ?? Fx.clientName, title: printable(title.joined(separator: ", ")),
      PluginClient.Connections(
        outputs: { client in
          try command.ports("--connect-out", command.connectOut, .input, on: client, signals)
        },
        inputs: { client in
          try command.ports("--connect-in", command.connectIn, .output, on: client, signals)
        }), command.controllers)
  }

  func close() {
    client.close()
    client.device.close()
  }

  /// Runs the plugins until the end, and prints the result. Throws the exit code if it is not 0.
  func run() throws {
    if let signal = signals.received { throw ExitCode(128 + signal) }
    client.announce()
    let device = client.device
    let begin = device.now
    let chain = client.controls
    let keys = FxKeys(client)
    let remote = remote(keys, chain)
    let start = client.chain.graph.framesRun
    let wanted = command.seconds?.frames(at: device.client.sampleRate)
    wait(for: wanted, keys, remote, from: start)
    remote?.end()
    let processed = client.chain.graph.framesRun - start
    let frames = min(processed, wanted ?? .max)
    let isCut = wanted.map { processed < $0 } ?? false
    Screen.shared.draw([])
    Screen.shared.say(
      "\(device.client.name): processed \(frames) frames from frame \(begin); xruns: \(device.xruns)"
    )
    if device.isLost {
      Screen.shared.complain("\(ServerError.lost(server: device.client.serverName))")
    }
    if let signal = signals.received, isCut { throw ExitCode(128 + signal) }
    if client.chain.hasLostPlugins || device.isLost { throw ExitCode.failure }
  }

  /// Starts remote control; nil if there is none.
  private func remote(_ keys: FxKeys, _ chain: ChainControls) -> CommandRemote? {
    let (device, graph) = (client.device, client.chain.graph)
    let (begin, isolation) = (graph.framesRun, command.isolation)
    return CommandRemote(
      command.remote,
      RemoteReport.Origin(
        .fx, client: device.client.name, server: device.client.serverName,
        path: client.title), awake, layout: { chain.layout }
    ) {
      [
        .state("running", types: "T", "whether the plugins run") { .bool(!device.isLost) },
        .state("motion", types: "s", "playing, or waiting for the server") {
          .string(device.isLost ? "waiting" : "playing")
        },
        .meter("position", types: "d", unit: "s", "the time of the sound that was processed") {
          .live { [.double(Double(graph.framesRun - begin) / device.client.sampleRate)] }
        },
        .parameter(
          "gain", range: CommandControl.gains, unit: "dB", "the gain of the output",
          { .float(Float(keys.gain)) }, { try keys.setGain($0.decimal) }),
        .flag("mute", "whether the output is silent", { keys.isMuted }, { try keys.setMuted($0) }),
      ] + CommandControl.client(device, quit: keys.quit) + chain.all { isolation.marking([$0])[0] }
    }
  }

  /// Waits until `wanted` frames have been processed, for a signal or for the key that quits. Shows the state
  /// on a terminal.
  ///
  /// - Parameter start: The graph's frames before the first one. Device time would count frames of a server
  ///   that was away, and the counter of the next server is another one.
  private func wait(
    for wanted: Int64?, _ keys: FxKeys, _ remote: CommandRemote?, from start: Int64
  ) {
    let device = client.device
    let graph = client.chain.graph
    let serverName = device.client.serverName
    var watch = ServerWatch("the sound")
    ServerWatch.wake(awake, onLossOf: device)
    CommandWait(signals: signals, awake: awake).run {
      remote?.serve()
      guard !keys.isAskedToQuit else { return nil }
      let rest =
        wanted.map { Double($0 - (graph.framesRun - start)) / device.client.sampleRate } ?? 1
      guard rest > 0 else { return nil }
      watch.note(device.loss, server: serverName)
      let longest = remote?.isRead == true ? CommandWait.interval : CommandWait.longInterval
      return min(longest, max(0.001, rest))
    } press: {
      keys.press($0)
    } show: {
      guard Screen.shared.isTerminal else { return }
      let seconds = Double(graph.framesRun - start) / device.client.sampleRate
      let line = "\(device.client.name) \(clock(seconds))  \(keys.state)"
      Screen.shared.draw([fitted(line, to: min(columns(of: line), Screen.shared.size.columns - 1))])
    }
  }
}

/// The actions of the keys of `cuejack fx`. Main thread.
private final class FxKeys {
  private let client: PluginClient
  /// Gain of the output in decibels, and whether the output is silent.
  private(set) var gain = 0.0
  private(set) var isMuted = false
  /// True if q was pressed.
  private(set) var isAskedToQuit = false

  private static let keyGains = -60.0...24.0
  private static let help = "up, down  gain by 1 dB    b  bypass    q  quit"

  init(_ client: PluginClient) { self.client = client }

  /// The state in words.
  var state: String {
    var words: [String] = []
    if gain != 0 { words.append("gain \(gain > 0 ? "+" : "")\(plain(gain)) dB") }
    if isMuted { words.append("muted") }
    if client.chain.isBypassed { words.append("bypassed") }
    return words.joined(separator: "  ")
  }

  func press(_ key: KeyReader.Key) {
    do {
      switch key {
      case .up: try setGain(min(gain + 1, Self.keyGains.upperBound))
      case .down: try setGain(max(gain - 1, Self.keyGains.lowerBound))
      case .character("b"): try client.chain.setBypassed(!client.chain.isBypassed)
      case .character("q"): quit()
      case .character("?"): Screen.shared.say(Self.help)
      default: break
      }
    } catch {
      Screen.shared.complain("\(error)")
    }
  }

  func quit() { isAskedToQuit = true }

  func setGain(_ decibels: Double) throws {
    gain = decibels
    try applyGain()
  }

  func setMuted(_ isMuted: Bool) throws {
    self.isMuted = isMuted
    try applyGain()
  }

  private func applyGain() throws {
    try client.chain.setGain(isMuted ? 0 : factor(decibels: gain))
  }
}
