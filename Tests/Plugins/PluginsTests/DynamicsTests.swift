import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct DynamicsTests {
    /// Returns the change of a level in decibels, without an expander.
    private func change(at level: Double, threshold: Double, headroom: Double) -> Double {
      let over = 20 * log10(level) - threshold
      return over > 0 ? headroom * (1 - exp(-over / headroom)) - over : 0
    }

    /// The level comes as near as 1/e to a louder sound in the attack, and to a softer one in the release.
    @Test(arguments: [44100, 96000] as [Double])
    func theLevelFollowsInAttackAndRelease(rate: Double) throws {
      let plugin = try Plugin(
        "dynamics-mono", rate: rate,
        ["threshold": -30, "headroom": 6, "attack": 0.01, "release": 0.1])
      let turn = Int(rate / 2)
      let loud = [Float](repeating: 0.8, count: turn)
      let quiet = [Float](repeating: 0.1, count: turn)
      let found = plugin.run([loud + quiet])[0]
      for part in [0.25, 0.5, 1, 2, 4] {
        let frame = Int(part * 0.01 * rate)
        let level = 0.8 * (1 - exp(-Double(frame + 1) / (0.01 * rate)))
        let wanted = 0.8 * pow(10, change(at: level, threshold: -30, headroom: 6) / 20)
        expectTrue(abs(Double(found[frame]) - wanted) < 1e-5, "attack, \(part)")

        let later = Int(part * 0.1 * rate)
        let fallen = 0.1 + 0.7 * exp(-Double(later + 1) / (0.1 * rate))
        let rest = 0.1 * pow(10, change(at: fallen, threshold: -30, headroom: 6) / 20)
        expectTrue(abs(Double(found[turn + later]) - rest) < 1e-5, "release, \(part)")
      }
    }

    @Test func bothChannelsGetTheGainOfTheLouderOne() throws {
      let plugin = try Plugin("dynamics", ["threshold": -20, "headroom": 3, "gain": 6])
      let inputs: [Float] = [-0.02, 0.9]
      let found = plugin.run(inputs.map { [Float](repeating: $0, count: 96000) })
      let reduction = change(at: 0.9, threshold: -20, headroom: 3)
      let gain = pow(10, (reduction + 6) / 20)
      for (samples, input) in zip(found, inputs) {
        expectTrue(abs(Double(samples[95999]) - Double(input) * gain) < 1e-6)
      }
      expectTrue(abs(Double(plugin["reduction"]) - reduction) < 1e-3)
      expectTrue(abs(Double(plugin["level"]) - 20 * log10(0.9)) < 1e-3)
    }

    /// What is below the expansion threshold falls by the ratio, but never further than 200 dB.
    @Test(arguments: [2, 5] as [Float])
    func quietSoundsAreExpanded(ratio: Float) throws {
      let plugin = try Plugin("dynamics-mono", ["floor": -40, "ratio": ratio])
      for (decibels, isExpanded) in [(-30, false), (-50, true), (-60, true)] as [(Double, Bool)] {
        let input = pow(10, decibels / 20)
        let found = plugin.run([[Float](repeating: Float(input), count: 96000)])[0]
        let wanted = isExpanded ? decibels - (Double(ratio) - 1) * (-40 - decibels) : decibels
        expectTrue(abs(20 * log10(Double(found[95999])) - wanted) < 0.01, "\(decibels) dB")
      }
    }
  }
}
