import CRealTime
import Foundation
import Graph
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// Isolated plugins that are late, hang or die: playback continues.
@Suite(.tags(.program), .serialized) struct IsolationEndTests {
  private func sine(_ count: Int) -> [Float] {
    (0..<count).map { Float(sin(Double($0) * 2 * Double.pi * 1000 / 48000)) }
  }

  private let sinesOwn = Float(2 * sin(Double.pi * 1000 / 48000))

  /// Returns the largest step between two frames, and the number of frames in silences of two or more
  /// frames.
  private func faults(_ samples: some Sequence<Float>) -> (step: Float, silent: Int) {
    let samples = Array(samples)
    var (step, silent): (Float, Int) = (0, 0)
    for i in 1..<samples.count {
      step = max(step, abs(samples[i] - samples[i - 1]))
      if abs(samples[i]) < 1e-5 && abs(samples[i - 1]) < 1e-5 { silent += 1 }
    }
    return (step, silent)
  }

  private func amp(_ gain: Float, maximumFrames: Int = 256) throws -> IsolatedPlugin {
    let amp = try IsolatedPlugin(
      examples + "amp", in: installed,
      settings: PluginSettings(sampleRate: 48000, maximumFrames: maximumFrames),
      program: isolation())
    try amp.set("gain", to: gain)
    return amp
  }

  /// Sends a signal through a node in blocks of 64 and 17 frames and records the output.
  private final class Stream {
    let run: HandRun
    let input: [Float]
    private(set) var heard: [Float] = []
    init(_ node: any GraphNode, _ input: [Float]) {
      run = HandRun(node)
      self.input = input
    }
    func play(_ frames: Int) {
      let part = Array(input[heard.count..<heard.count + frames])
      heard += run.run([part], blocks: [64, 17]).sound[0]
    }
  }

  /// The output of a plugin that does not change the signal equals its input, however late the plugin
  /// is.
  @Test func whatIsLateIsBridgedOnItsFrame() throws {
    let input = noise(100_000)
    let amp = try amp(0)
    let stream = Stream(amp, input)
    for turn in 0..<20 {
      if turn % 4 == 1 { stop(amp.process.identifier) }
      if turn % 4 == 3 {
        kill(amp.process.identifier, SIGCONT)
        usleep(20_000)
      }
      stream.play(turn % 8 < 4 ? 300 : 5000)
    }
    expectTrue(amp.memory.late > 0)
    let lag = [Float](repeating: 0, count: 256)
    expectEqual(stream.heard, Array((lag + input).prefix(stream.heard.count)))
  }

  /// The plugin's output also returns without a click.
  @Test func beingLateIsNoClick() throws {
    let input = sine(400_000)
    let amp = try amp(-6)
    let factor = powf(10, -6 * 0.05)
    let stream = Stream(amp, input)
    func isWet() -> Bool {
      let last = stream.heard.count - 64
      return (last..<last + 64).allSatisfy { stream.heard[$0] == input[$0 - 256] * factor }
    }
    for length in [100, 20_000] {
      try wait(for: "the plugin's sound") {
        usleep(2000)
        stream.play(81)
        return stream.heard.count > 2000 && isWet()
      }
      stop(amp.process.identifier)
      let late = amp.memory.late
      stream.play(length + 2000)
      expectEqual(amp.memory.late, late + 1)
      kill(amp.process.identifier, SIGCONT)
    }
    try wait(for: "the plugin's sound") {
      usleep(2000)
      stream.play(81)
      return isWet()
    }
    let (step, silent) = faults(stream.heard.dropFirst(300))
    expectTrue(step <= sinesOwn * 1.05 && silent == 0)
  }

  @Test func aKilledPluginIsNoClickAndNoGap() throws {
    let input = sine(60_000)
    let amp = try amp(-6)
    let process = amp.process.identifier
    let told = Mutex(0)
    amp.whenGone { told.withLock { $0 += 1 } }
    let stream = Stream(amp, input)
    stream.run.isFreewheeling = true
    // At the peak of the sine.
    stream.play(10_012)
    kill(process, SIGKILL)
    stream.play(20_000)
    try wait(for: "the end") { amp.isGone && told.withLock { $0 == 1 } }
    stream.play(20_000)
    let factor = powf(10, -6 * 0.05)
    let heard = stream.heard
    let turn = try require(
      heard.indices.first { $0 > 300 && heard[$0] != input[$0 - 256] * factor })
    expectTrue((10_012...30_012).contains(turn))
    // A fade of 10 ms, then the unchanged input with the same latency.
    expectTrue((turn + 480..<heard.count).allSatisfy { heard[$0] == input[$0 - 256] })
    let (step, silent) = faults(heard.dropFirst(300))
    expectTrue(step <= sinesOwn * 1.05 && silent == 0)
    expectTrue(hasEnded(process) && amp.process.identifier == 0)
    expectEqual(amp.latencyFrames, 256)
    #expect(throws: HostError.gone(plugin: examples + "amp", reason: "crashed (Killed)")) {
      try amp.set("gain", to: 0)
    }
    amp.whenGone { told.withLock { $0 += 1 } }
    expectEqual(told.withLock { $0 }, 2)
    // The node can still be prepared for another sample rate.
    try amp.prepare(sampleRate: 44100, maximumFrames: 512)
    let second = HandRun(amp).run([input], blocks: [512]).sound[0]
    expectEqual(Array(second[512...]), Array(input.dropLast(512)))
  }

  /// The plugin's own latency counts, too: the input has the latency of the plugin's output.
  @Test func theInputIsAsLateAsTheSoundWas() throws {
    let limiter = try IsolatedPlugin(
      "urn:cuejack:plugins:limiter", in: builtPlugins(),
      settings: PluginSettings(sampleRate: 48000, maximumFrames: 256), program: isolation())
    let run = HandRun(limiter)
    run.isFreewheeling = true
    let input = noise(20_000).map { $0 / 4 }
    var heard = run.run([Array(input[..<10_000]), Array(input[..<10_000])], blocks: [100]).sound[0]
    kill(limiter.process.identifier, SIGKILL)
    try wait(for: "the end") { limiter.isGone }
    heard += run.run([Array(input[10_000...]), Array(input[10_000...])], blocks: [100]).sound[0]
    expectEqual(limiter.latencyFrames, 496)
    expectEqual(heard, [Float](repeating: 0, count: 496) + input.dropLast(496))
  }

  @Test(arguments: [
    ("CRASHES_LATER", "crashed (Aborted)"), ("HANGS_LATER", "hangs"),
  ])
  func onePluginThatDiesLaterIsPassedBy(kind: String, reason: String) throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, kind)
      let plugin = try IsolatedPlugin(
        Fixture.uri, in: World(path: fixture.path), settings: usual,
        program: isolation(patience: 1))
      let run = try OfflineNode(plugin, blockFrames: 1024)
      let input = noise(40_000)
      var heard: [Float] = []
      for begin in stride(from: 0, to: 40_000, by: 4000) {
        heard += run.offline.run(input[begin..<begin + 4000])
      }
      // The graph waited for the plugin until its process was killed, and bypasses it from then on.
      try wait(for: "the end") { plugin.isGone }
      try wait(for: "the bypass") { "\(run.graph)".contains("bypassed") }
      heard += run.offline.run([], silence: 4000)
      expectTrue(heard.count == 44_000 && heard.prefix(1024).allSatisfy { $0 == 0 })
      // The graph's crossfade rounds.
      expectTrue(zip(heard.dropFirst(1024), input).allSatisfy { abs($0 - $1) < 1e-6 })
      #expect(throws: HostError.gone(plugin: Fixture.uri, reason: reason)) {
        try plugin.value(of: "none")
      }
    }
  }

  /// The exit code reports an error.
  @Test func aRenderingGoesOnWithoutItsPlugin() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "CRASHES_LATER")
      let input = noise(48_000)
      let file = folder.appendingPathComponent("in.wav").path
      let out = folder.appendingPathComponent("out.wav").path
      try writeWave([input], to: file)
      let result = try run(
        builtProduct(named: "cuejack").path,
        ["play", file, "--plugin", Fixture.uri, "--isolate", Fixture.uri, "--render", out],
        environment: ["LV2_PATH": fixture.path, "XDG_CACHE_HOME": folder.path])
      expectTrue(result.status == 1 && result.output == "\(out): wrote 48000 frames\n", "\(result)")
      expectTrue(
        result.errors.hasSuffix(
          "cuejack: “Fixture” crashed (Aborted): its input passes unchanged from now on\n"))
      let written = try readWave(out)[0]
      expectEqual(written.count, input.count)
      expectTrue(zip(written, input).allSatisfy { abs($0 - $1) < 1e-6 })
    }
  }

  @Test func theProcessGoesWithItsPlugin() throws {
    var amp: IsolatedPlugin? = try amp(0)
    let process = try require(amp?.process.identifier)
    expectTrue(!hasEnded(process))
    amp = nil
    expectTrue(hasEnded(process))
    // Including a plugin in a run that never ends, or whose process is stopped.
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "HANGS")
      var plugin: IsolatedPlugin? = try IsolatedPlugin(
        Fixture.uri, in: World(path: fixture.path), settings: usual, program: isolation())
      let process = plugin!.process.identifier
      HandRun(plugin!).run([noise(64)])
      plugin = nil
      expectTrue(hasEnded(process))
    }
  }

  /// The plugin can neither receive the request to end nor answer.
  @Test func aHangingPluginGoesWithItsKilledHost() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "HANGS_LATER")
      let file = folder.appendingPathComponent("in.wav").path
      try writeWave([noise(48_000)], to: file)
      let output = folder.appendingPathComponent("output")
      let host = try Child(
        builtProduct(named: "cuejack").path,
        ["play", file, "--plugin", Fixture.uri, "--isolate", "all", "--render", file + ".wav"],
        environment: ProcessInfo.processInfo.environment.merging(["LV2_PATH": fixture.path]) { $1 },
        output: output)
      try wait(for: "the plugin to hang") { text(of: output).contains("it hangs") }
      let plugins = childProcesses(of: host.processIdentifier)
      expectTrue(plugins.count == 1 && !hasEnded(plugins[0]))
      host.send(signal: SIGKILL)
      _ = host.wait(seconds: 20)
      try wait(for: "the plugin's end") { plugins.allSatisfy(hasEnded) }
    }
  }
}
