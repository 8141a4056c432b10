import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct GraphicEQTests {
    /// With ten bands, the gains of the others have no effect. The gain of all is exact.
    @Test(arguments: ["graphic-eq", "graphic-eq-mono"])
    func bandsThatAreNotUsedDoNothing(name: String) throws {
      var settings: [String: Float] = ["bands": 0, "gain": -6]
      for band in 11...31 { settings["gain_\(band)"] = 12 }
      let plugin = try Plugin(name, settings)
      let sound = plugin.noise(2000)
      let gain = pow(10, -6.0 / 20)
      for (samples, input) in zip(plugin.run(sound), sound) {
        expectTrue(zip(samples, input).allSatisfy { abs(Double($0) - Double($1) * gain) < 1e-6 })
      }
    }
  }
}
