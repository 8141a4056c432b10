import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct DistortionTests {
    /// Settings with which the sound passes the last stage alone, the soft limit, without a gain.
    private static func settings(_ more: [String: Float]) -> [String: Float] {
      ["drive": 0, "mix": 100].merging(more) { $1 }
    }

    private func soft(_ value: Double) -> Double { value / (1 + value * value).squareRoot() }

    @Test(arguments: ["distortion", "distortion-mono"])
    func echoesFallByTheirDecay(name: String) throws {
      let plugin = try Plugin(
        name, Self.settings(["delay": 10, "decay": 2, "delay_mix": 40]))
      var sound = plugin.silence(3000)
      for i in sound.indices { sound[i][0] = 0.5 }
      for found in plugin.run(sound) {
        expectTrue(abs(Double(found[0]) - soft(0.5)) < 1e-6)
        for echo in 1...5 {
          // 60 dB in two echoes, so 30 dB each.
          let wanted = soft(0.4 * 0.5 * pow(10, -1.5 * Double(echo - 1)))
          expectTrue(abs(Double(found[480 * echo]) - wanted) < 1e-6, "echo \(echo)")
        }
        let others = found.indices.filter { $0 % 480 != 0 }
        expectTrue(others.allSatisfy { found[$0] == 0 })
      }
    }

    @Test(arguments: [50, 100] as [Float])
    func aDecimatedSampleIsHeld(mix: Float) throws {
      let plugin = try Plugin(
        "distortion-mono", Self.settings(["decimation": 50, "decimation_mix": mix]))
      let sound = (0..<2000).map { Float($0) / 4000 }
      let found = plugin.run([sound])[0]
      // 1 + 99 · 0.5² frames.
      for frame in found.indices {
        let (now, held) = (Double(sound[frame]), Double(sound[frame - frame % 25]))
        let wanted = soft(now + (held - now) * Double(mix) / 100)
        expectTrue(abs(Double(found[frame]) - wanted) < 1e-6, "at \(frame)")
      }
    }

    @Test(arguments: [44100, 48000, 96000] as [Double], [0, 25, 100] as [Float])
    func theRingModulatorHasTwoSines(rate: Double, balance: Float) throws {
      let plugin = try Plugin(
        "distortion-mono", rate: rate,
        Self.settings([
          "frequency_1": 130, "frequency_2": 710, "balance": balance, "ring_mix": 60,
        ]))
      let found = plugin.run([[Float](repeating: 0.1, count: 4000)])[0]
      for frame in found.indices {
        let turns = 2 * Double.pi * Double(frame + 1) / rate
        let share = Double(balance) / 100
        let ring = sin(130 * turns) * (1 - share) + sin(710 * turns) * share
        let wanted = soft(0.1 * (1 + (ring - 1) * 0.6))
        expectTrue(abs(Double(found[frame]) - wanted) < 1e-5, "at \(frame)")
      }
    }

    /// The polynomial and the steps of the amplitude, with both channels at once.
    @Test func theChannelsAreShapedAlone() throws {
      let plugin = try Plugin(
        "distortion",
        Self.settings([
          "linear": 0.5, "squared": 2, "cubic": 3, "polynomial_mix": 75, "drive": 6, "mix": 80,
        ]))
      let inputs: [Float] = [0.3, -0.2]
      let found = plugin.run(inputs.map { [Float](repeating: $0, count: 100) })
      for (samples, input) in zip(found, inputs) {
        let x = Double(input)
        let shaped = 0.5 * x + 2 * x * x + 3 * x * x * x
        let driven = soft((x + (shaped - x) * 0.75) * pow(10, 6.0 / 20))
        let wanted = x + (driven - x) * 0.8
        expectTrue(samples.allSatisfy { abs(Double($0) - wanted) < 1e-6 })
      }
    }
  }
}
