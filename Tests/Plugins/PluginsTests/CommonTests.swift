import CProbe
import Foundation
import TestSupport
import Testing

extension PluginsTests {
  /// Tests that apply to every plugin.
  @Suite(.tags(.program)) struct CommonTests {
    /// Returns settings with which a plugin changes the sound.
    static func busy(_ name: String) -> [String: Float] {
      if name.hasPrefix("channel") { return ["gain": -3, "pan": 0.4] }
      if name.hasPrefix("limiter") { return ["gain": 12, "ceiling": -3, "release": 20] }
      if name.hasPrefix("parametric") {
        return [
          "type_1": 2, "frequency_2": 300, "gain_2": 6, "type_5": 9, "gain_5": -9, "gain_9": 3,
          "type_16": 3, "frequency_16": 9000, "gain": -1,
        ]
      }
      if name.hasPrefix("preset") { return ["preset": 16] }
      if name.hasPrefix("graphic") { return ["bands": 1, "gain_3": 6, "gain_17": -9, "gain": 1] }
      if name.hasPrefix("delay") { return ["time": 0.01, "feedback": 60, "cutoff": 4000] }
      if name.hasPrefix("dynamics") { return ["threshold": -30, "floor": -10, "gain": 3] }
      if name.hasPrefix("distortion") {
        return [
          "delay": 5, "delay_mix": 40, "decimation": 30, "decimation_mix": 50,
          "squared": 3, "cubic": 2, "polynomial_mix": 50, "frequency_2": 700, "ring_mix": 30,
        ]
      }
      return [:]
    }

    @Test(arguments: Bundles.plugins)
    func theSoundIsTheSameHoweverItIsDivided(name: String) throws {
      let frames = 10000
      let whole = try Plugin(name, rate: 44100, Self.busy(name))
      var sound = whole.noise(frames)
      // An invalid sample must not last longer with shorter blocks.
      sound[0][4321] = .infinity
      let changes =
        whole.randomChanges(every: 997, until: frames, seed: 7)
        + [
          Plugin.Change(frame: 3000, symbol: "enabled", value: 0),
          Plugin.Change(frame: 3300, symbol: "enabled", value: 1),
          Plugin.Change(frame: 5000, symbol: "enabled", value: 0),
          Plugin.Change(frame: 7000, symbol: "enabled", value: 1),
        ]
      let expected = bits(whole.run(sound, changes: changes) { frames })
      for (seed, longest) in [(1, 1), (2, 3), (3, 100), (4, 700), (5, 5000)] {
        let divided = try Plugin(name, rate: 44100, Self.busy(name))
        var generator = SplitMix(state: UInt64(seed))
        let found = divided.run(sound, changes: changes) {
          // Including blocks of no frames, which a host may run.
          Int.random(in: longest == 1 ? 1...1 : 0...longest, using: &generator)
        }
        expectEqual(bits(found), expected, "in blocks of up to \(longest)")
        expectEqual(divided.readings, whole.readings)
      }
    }

    @Test(arguments: Bundles.plugins)
    func aPluginStartsAnewWhenItIsActivated(name: String) throws {
      let plugin = try Plugin(name, Self.busy(name))
      let sound = plugin.noise(5000)
      let first = bits(plugin.run(sound))
      plugin.activate()
      expectEqual(bits(plugin.run(sound)), first)
    }

    /// A host may connect one buffer to an input and an output, even of different channels.
    @Test(arguments: Bundles.plugins)
    func memoryMayBeShared(name: String) throws {
      let plugin = try Plugin(name, Self.busy(name))
      let sound = plugin.noise(1000)
      let expected = plugin.run(sound) { 1000 }
      if plugin.inputs.count < plugin.outputs.count {
        plugin.activate()
        // With both outputs in one buffer, the second one remains.
        expectEqual(plugin.runInPlace(sound, shared: [0, 0])[1], expected[1])
        return
      }
      for shared in plugin.outputs.count == 2 ? [[0, 1], [1, 0]] : [[0]] {
        plugin.activate()
        expectEqual(plugin.runInPlace(sound, shared: shared), expected, "\(shared)")
      }
    }

    @Test(
      .disabled(if: isSanitized, "a sanitizer defines malloc itself"), arguments: Bundles.plugins)
    func runningNeitherAllocatesNorLocks(name: String) throws {
      let plugin = try Plugin(name, Self.busy(name))
      let changes = plugin.randomChanges(every: 100, until: 20000, seed: 3)
      var costs: [cue_probe_counts] = []
      costs.reserveCapacity(1000)
      _ = plugin.run(
        plugin.noise(20000), changes: changes, block: { 256 },
        during: { run in
          cue_probe_enter()
          run()
          costs.append(cue_probe_leave())
        })
      expectTrue(costs.count > 50)
      expectTrue(costs.allSatisfy { $0.allocations == 0 && $0.frees == 0 && $0.locks == 0 })
    }

    /// The dry signal passes bit for bit, with the latency of the wet one.
    @Test(arguments: Bundles.plugins)
    func aPluginThatIsNotEnabledPassesTheSound(name: String) throws {
      let plugin = try Plugin(name, Self.busy(name).merging(["enabled": 0]) { $1 })
      var sound = plugin.noise(2000)
      sound[0][7] = .leastNonzeroMagnitude
      let found = plugin.run(sound)
      let latency = Int(plugin.readings["latency"] ?? 0)
      for (i, samples) in found.enumerated() {
        let input = sound[min(i, sound.count - 1)]
        expectEqual(
          samples[latency...].map(\.bitPattern), input.dropLast(latency).map(\.bitPattern))
        expectTrue(samples[..<latency].allSatisfy { $0 == 0 })
      }
    }

    /// A low sine has small steps. Enabling and disabling 200 times adds only the steps of the fade.
    @Test(arguments: Bundles.plugins)
    func enablingDoesNotClick(name: String) throws {
      let settings: [String: Float] =
        name.hasPrefix("parametric") ? ["gain_5": 6, "frequency_5": 100] : Self.busy(name)
      let plugin = try Plugin(name, settings)
      let frames = 200 * 1500
      let changes = (0..<200).map {
        Plugin.Change(frame: 1500 * $0 + 750, symbol: "enabled", value: Float($0 % 2))
      }
      let found = plugin.run(plugin.sine(100, frames, amplitude: 0.25), changes: changes)
      // At most twice (6 dB) the sine's step plus that of a full-scale fade.
      let step = Float(4 * 0.25 * (2 * Double.pi * 100 / 48000 + 1 / 960.0))
      for samples in found {
        for i in 2000..<frames where abs(samples[i] - samples[i - 1]) > step {
          Issue.record("a step of \(samples[i] - samples[i - 1]) at \(i)")
          return
        }
      }
    }

    /// The same for every other control over its whole range. A resonant filter has steps of its own,
    /// so the input is a constant.
    @Test(arguments: ["channel-strip", "channel-strip-mono", "limiter", "limiter-mono"])
    func changingAControlDoesNotClick(name: String) throws {
      let plugin = try Plugin(name)
      let frames = 200_000
      let constant = plugin.inputs.map { _ in [Float](repeating: 0.05, count: frames) }
      let changes = plugin.randomChanges(every: 501, until: frames, seed: 11)
      let found = plugin.run(constant, changes: changes)
      // 24 dB and the pan of both channels amplify by up to 22.4.
      let step = Float(0.05 * 23 / 240)
      for samples in found {
        let largest = zip(samples.dropFirst(300), samples.dropFirst(301)).map { abs($1 - $0) }.max()
        expectTrue(largest! <= step)
      }
    }

    /// Very quiet sounds and tails would give subnormal numbers, with which processors are slow.
    /// Plugins do not write them. (The meter writes nothing of its own.)
    @Test(arguments: Bundles.plugins.filter { !$0.hasPrefix("meter") })
    func nothingThatIsWrittenIsSubnormal(name: String) throws {
      let plugin = try Plugin(name, Self.busy(name))
      var sound = plugin.silence(200_000)
      for i in sound.indices {
        sound[i][10] = 1
        for frame in 100_000..<110_000 { sound[i][frame] = 1e-38 * Float(frame % 7) }
      }
      let found = plugin.run(sound)
      expectTrue(found.allSatisfy { $0.contains { $0 != 0 } })
      expectTrue(found.allSatisfy { !$0.contains { $0.isSubnormal } })
      expectTrue(found.allSatisfy { $0.last == 0 })
    }

    @Test(arguments: Bundles.plugins, [Float.nan, .infinity, 1e38])
    func aPluginRecoversFromAnything(name: String, sample: Float) throws {
      let plugin = try Plugin(name, Self.busy(name))
      var sound = plugin.noise(40_000, amplitude: 0.25)
      let expected = plugin.run(sound)
      for i in sound.indices { sound[i][100] = sample }
      plugin.activate()
      let found = plugin.run(sound)
      for (samples, expected) in zip(found, expected) {
        expectTrue(samples.dropFirst(1000).allSatisfy { $0.isFinite })
        let late = zip(samples, expected).dropFirst(36_000).map { abs($0 - $1) }.max()!
        expectTrue(late < 1e-3)
      }
      expectTrue(plugin.readings.values.allSatisfy { !$0.isNaN })
    }

    /// A control with NaN or a value out of range acts like its default or limit.
    @Test(arguments: Bundles.plugins, [Float.nan, .infinity, -.infinity, 1e30, -1e30])
    func aControlMayHoldAnything(name: String, value: Float) throws {
      for symbol in try Plugin(name).ranges.keys {
        let plugin = try Plugin(name, Self.busy(name))
        plugin[symbol] = value
        let found = plugin.run(plugin.noise(600))
        expectTrue(found.allSatisfy { $0.allSatisfy { abs($0) < 1e4 } }, "\(symbol)")
      }
    }
  }
}
