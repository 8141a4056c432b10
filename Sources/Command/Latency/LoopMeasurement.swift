import Analysis
import Glibc
import Graph
import PluginHost
import Server
import System

/// A measurement of `cuejack measure-latency`. Main thread.
struct LoopMeasurement {
  let report: LatencyReport
  /// Warnings about the figures.
  private(set) var remarks: [String] = []

  /// The reason why there is no figure.
  private struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private static let signalFrames = 4096
  private static let rounds = 3
  /// The longest round trip in seconds.
  private static let longest = 2.0
  /// The peak below which an input counts as silent.
  private static let silence: Float = 1e-5
  /// The coefficient below which the noise is told to be weak.
  private static let goodCoefficient = 0.5

  /// Opens the client, plays the noise and looks for it. Blocks.
  ///
  /// - Parameter isStopped: Called while waiting; returns true to give up.
  init(_ command: MeasureLatency, isStopped: () -> Bool) throws {
    let device = try Device(
      command.server.jack(), clientName: command.name ?? "cuejack-latency")
    defer { device.close() }
    // The rounds come one after another.
    try device.hold()
    func port(_ option: String, _ name: String?, _ direction: PortDirection, _ card: [String])
      throws -> String
    {
      guard let name else {
        if let first = card.first { return first }
        throw Failure(
          "the JACK server “\(device.client.serverName)” has no port of a sound card: give \(option)"
        )
      }
      let ports = try PortChoice(option: option, values: [name], direction: direction).ports(
        on: device.client, waiting: 0, isStopped: isStopped)
      guard ports.count == 1 else {
        throw Failure("\(option) “\(name)”: it names \(ports.count) ports: \(listed(ports))")
      }
      return ports[0]
    }
    let output = try port("--output", command.output, .input, device.client.physicalOutputs)
    let input = try port("--input", command.input, .output, device.client.physicalInputs)
    let signal = SignalMatch.noise(frames: Self.signalFrames, level: command.level.factor)
    var matches: [SignalMatch] = []
    var failure: Failure?
    var peak: Float = 0
    var latencies: (playback: ClosedRange<Int>, capture: ClosedRange<Int>) = (0...0, 0...0)
    for _ in 0..<Self.rounds where matches.count > 0 || failure == nil {
      // The first round has found where the others must look.
      let rate = device.client.sampleRate
      let most = matches.first.map { 2 * $0.frames + Int(rate / 10) } ?? Int(Self.longest * rate)
      let loop = SignalLoop(signal, frames: signal.count + most)
      latencies = try Self.play(loop, on: device, output, input, isStopped)
      let heard = loop.heard
      let found = heard.map(abs).max() ?? 0
      peak = max(peak, found)
      guard found > Self.silence, let match = SignalMatch(of: signal, in: heard) else {
        failure = Failure(
          "nothing came back to \(input) within \(plain(Self.longest)) s: is there a way from \(output) to it, and is "
            + "the level high enough?")
        continue
      }
      guard abs(match.coefficient) >= SignalMatch.leastCoefficient else {
        let level = formatted("%.1f", Double(decibels(found, atLeast: -120)))
        failure = Failure(
          "what comes to \(input), at \(level) dB, is not the noise of \(output), or the noise is lost in other "
            + "sound: stop what else plays, or turn the level up")
        continue
      }
      matches.append(match)
    }
    if let failure, matches.isEmpty { throw failure }
    let sorted = matches.sorted { $0.frames < $1.frames }
    let match = sorted[sorted.count / 2]
    let rate = device.client.sampleRate
    let known = latencies.playback.upperBound + latencies.capture.upperBound
    report = LatencyReport(
      server: device.client.serverName, output: output, input: input, sampleRate: rate,
      roundTripFrames: match.frames, leastFrames: sorted[0].frames,
      greatestFrames: sorted[sorted.count - 1].frames,
      roundTripMilliseconds: Double(match.frames) / rate * 1000,
      playbackLatency: .init(latencies.playback), captureLatency: .init(latencies.capture),
      knownFrames: known, systemicFrames: match.frames - known,
      gain: decibels(abs(match.gain)) ?? -.infinity, isInverted: match.gain < 0,
      coefficient: abs(match.coefficient))
    if matches.count < Self.rounds {
      remarks.append("the noise came back in \(matches.count) of \(Self.rounds) rounds only")
    }
    if report.leastFrames != report.greatestFrames {
      remarks.append(
        "the round trip varies from \(report.leastFrames) to \(report.greatestFrames) frames")
    }
    if report.coefficient < Self.goodCoefficient {
      remarks.append(
        "other sound or noise is louder than what came back: turn the level up, or stop what else plays"
      )
    }
    if peak >= 1 { remarks.append("\(input) is overdriven: turn the level down") }
  }

  /// Plays the signal of a loop once.
  ///
  /// - Returns: The latencies that JACK knows: from the output port to the card, and from the card to the input port.
  private static func play(
    _ loop: SignalLoop, on device: Device, _ output: String, _ input: String,
    _ isStopped: () -> Bool
  ) throws -> (playback: ClosedRange<Int>, capture: ClosedRange<Int>) {
    let graph = Graph(sampleRate: device.client.sampleRate, blockFrames: device.periodFrames)
    let (player, listener) = loop.nodes
    let (signal, ear) = (try graph.add(player), try graph.add(listener))
    let (outs, ins) = (
      try graph.addOutputs(named: "output", audio: ["out"]),
      try graph.addInputs(named: "input", audio: ["in"])
    )
    try graph.connect(signal, to: outs)
    try graph.connect(ins, to: ear)
    try graph.run(on: device)
    defer { graph.stop() }
    try device.connect("out", to: output)
    try device.connect("in", to: input)
    try device.awaitHeard(device.connectionMark)
    let xruns = device.xruns
    loop.start(at: device.now + 4 * Int64(device.periodFrames))
    while !loop.isOver {
      if isStopped() { throw Failure("stopped") }
      if device.isLost { throw ServerError.lost(server: device.client.serverName) }
      usleep(20_000)
    }
    if device.xruns != xruns {
      Screen.shared.remark("an xrun disturbed the measurement: the figures may be wrong")
    }
    return (
      device.client.latency(of: "out", .output), device.client.latency(of: "in", .input)
    )
  }
}
