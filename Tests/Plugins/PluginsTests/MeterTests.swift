import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct MeterTests {
    /// For any sample, including NaN and subnormal numbers.
    @Test(arguments: ["meter", "meter-mono"])
    func theSoundPassesToTheBit(name: String) throws {
      let plugin = try Plugin(name)
      var generator = SplitMix(state: 5)
      var sound = plugin.inputs.map { _ in
        (0..<5000).map { _ in
          Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
        }
      }
      sound[0][17] = Float(bitPattern: 0x7fa0_0001)
      expectEqual(bits(plugin.run(sound)), bits(sound))
    }

    @Test(arguments: [44100.0, 48000, 96000, 192000])
    func itTellsPeakAndRMS(rate: Double) throws {
      let plugin = try Plugin("meter", rate: rate)
      let sine = plugin.sine(997, Int(rate * 4), amplitude: 0.5)[0]
      _ = plugin.run([sine, sine.map { $0 / 10 }])
      let expected: [String: Double] = [
        "peak_l": 20 * log10(0.5), "rms_l": 20 * log10(0.5 / 2.squareRoot()),
        "peak_r": 20 * log10(0.05), "rms_r": 20 * log10(0.05 / 2.squareRoot()),
      ]
      for (symbol, expected) in expected {
        expectTrue(abs(Double(plugin[symbol]) - expected) < 0.05, "\(symbol)")
      }
    }

    /// After a second of silence, the peak is 20 dB lower and the mean square has decayed by its time
    /// constant.
    @Test(arguments: [44100.0, 48000, 96000, 192000])
    func theyFallAsTheyAreToldTo(rate: Double) throws {
      let plugin = try Plugin("meter-mono", rate: rate)
      _ = plugin.run([[Float](repeating: 0.5, count: Int(rate * 6))])
      let peak = plugin["peak"]
      let rms = plugin["rms"]
      expectTrue(abs(Double(peak) - 20 * log10(0.5)) < 0.001)
      expectTrue(abs(Double(rms) - 20 * log10(0.5)) < 0.001)
      _ = plugin.run(plugin.silence(Int(rate)))
      expectTrue(abs(peak - plugin["peak"] - 20) < 0.001)
      expectTrue(abs(Double(rms - plugin["rms"]) - 10 * log10(exp(1 / 0.3))) < 0.01)
    }

    @Test func silenceIsTheEndOfTheScale() throws {
      let plugin = try Plugin("meter")
      _ = plugin.run(plugin.silence(100))
      expectTrue(plugin.readings.values.allSatisfy { $0 == -120 })
      _ = plugin.run(plugin.noise(100))
      expectTrue(plugin.readings.values.allSatisfy { $0 > -40 })
      plugin["enabled"] = 0
      _ = plugin.run(plugin.noise(100))
      expectTrue(plugin.readings.values.allSatisfy { $0 == -120 })
    }
  }
}
