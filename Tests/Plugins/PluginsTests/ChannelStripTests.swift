import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct ChannelStripTests {
    @Test(arguments: [44100.0, 48000, 96000, 192000])
    func gainAndPanFollowTheFormulas(rate: Double) throws {
      for name in ["channel-strip", "channel-strip-mono"] {
        for gain in [-90, -60.5, -6, 0, 12.25, 24] as [Float] {
          for pan in [-1, -0.5, 0, 0.125, 1] as [Float] {
            let plugin = try Plugin(name, rate: rate, ["gain": gain, "pan": pan])
            let sound = plugin.noise(500)
            let found = plugin.run(sound)
            let factor = gain == -90 ? 0 : pow(10, Double(gain) / 20)
            let angle = (Double(pan) + 1) * .pi / 4
            let sides = [
              pan == 1 ? 0 : factor * 2.squareRoot() * cos(angle),
              pan == -1 ? 0 : factor * 2.squareRoot() * sin(angle),
            ]
            for (i, samples) in found.enumerated() {
              let input = sound[min(i, sound.count - 1)]
              let worst = zip(samples, input).map { abs(Double($0) - Double($1) * sides[i]) }.max()!
              expectTrue(worst <= 1e-6 * max(1, sides[i]), "\(gain) dB at \(pan)")
              if sides[i] == 0 { expectTrue(samples.allSatisfy { $0 == 0 }) }
            }
          }
        }
      }
    }

    @Test func aNewStripChangesNothing() throws {
      let plugin = try Plugin("channel-strip")
      let sound = plugin.noise(5000)
      expectEqual(bits(plugin.run(sound)), bits(sound))
    }

    /// Linear over 20 ms for every change, ending in exact silence.
    @Test(arguments: [44100.0, 48000, 96000, 192000])
    func muteIsALineToSilence(rate: Double) throws {
      let plugin = try Plugin("channel-strip", rate: rate)
      let ramp = fadeFrames(rate)
      let constant = plugin.inputs.map { _ in [Float](repeating: 1, count: 3 * ramp) }
      let found = plugin.run(
        constant, changes: [Plugin.Change(frame: ramp, symbol: "mute", value: 1)])
      for i in 0..<3 * ramp {
        let expected = 1 - Double(min(max(i + 1 - ramp, 0), ramp)) / Double(ramp)
        expectTrue(abs(Double(found[0][i]) - expected) < 1e-6)
      }
      expectTrue(found[0][(2 * ramp - 1)...].allSatisfy { $0 == 0 })
    }
  }
}
