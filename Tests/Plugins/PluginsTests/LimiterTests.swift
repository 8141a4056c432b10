import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct LimiterTests {
    static let rates = [44100.0, 48000, 96000, 192000]

    /// Noise with bursts of up to 40 dB, single peaks, and constantly changing controls.
    @Test(arguments: rates, ["limiter", "limiter-mono"])
    func noSampleIsAboveTheCeiling(rate: Double, name: String) throws {
      for seed in 1...2 as ClosedRange<UInt64> {
        let plugin = try Plugin(name, rate: rate, ["release": 1])
        let frames = 60000
        var sound = plugin.noise(frames, seed: seed)
        var generator = SplitMix(state: seed)
        var level: Float = 1
        for frame in 0..<frames {
          if Int.random(in: 0..<500, using: &generator) == 0 {
            level = pow(10, Float.random(in: -1...2, using: &generator))
          }
          let isPeak = Int.random(in: 0..<900, using: &generator) == 0
          for i in sound.indices { sound[i][frame] *= isPeak ? 1000 : level }
        }
        let changes = plugin.randomChanges(every: 601, until: frames, seed: seed, toggles: false)
        let found = plugin.run(sound, changes: changes)
        // The ceiling for a frame is the one in effect when the frame arrived.
        var ceiling: Float = -1
        var next = changes[...]
        let latency = Int(plugin["latency"])
        for frame in 0..<frames - latency {
          while let change = next.first, change.frame <= frame {
            if change.symbol == "ceiling" { ceiling = change.value }
            next.removeFirst()
          }
          let limit = Float(pow(10, Double(ceiling) / 20))
          for samples in found where !(abs(samples[frame + latency]) <= limit) {
            Issue.record("\(samples[frame + latency]) above \(limit) at \(frame)")
            return
          }
        }
      }
    }

    /// Neither NaN nor any other value that must not reach a loudspeaker is output.
    @Test(arguments: ["limiter", "limiter-mono"], [Float.nan, .infinity, -.infinity, 3e38])
    func whatIsNoSoundIsSilence(name: String, sample: Float) throws {
      let plugin = try Plugin(name)
      var sound = plugin.noise(5000)
      for i in sound.indices { sound[i][2000] = sample }
      let limit = Float(pow(10, -1 / 20.0))
      expectTrue(plugin.run(sound).allSatisfy { $0.allSatisfy { abs($0) <= limit } })
    }

    /// Unchanged except for the latency that the port reports, from the first run on.
    @Test(arguments: rates, ["limiter", "limiter-mono"])
    func soundBelowTheCeilingIsOnlyLate(rate: Double, name: String) throws {
      let plugin = try Plugin(name, rate: rate)
      let sound = plugin.noise(9000, amplitude: 0.89)
      let found = plugin.run(sound) { 1 }
      let latency = Int(plugin["latency"])
      expectEqual(latency, Int((rate * 0.005).rounded()))
      expectEqual(plugin["reduction"], 0)
      for (samples, input) in zip(found, sound) {
        expectTrue(samples[latency...].elementsEqual(input.dropLast(latency)))
        expectTrue(samples[..<latency].allSatisfy { $0 == 0 })
      }
    }

    /// The latency is known before the first frame.
    @Test func aRunOfNoFramesTellsTheLatency() throws {
      let plugin = try Plugin("limiter", rate: 96000)
      _ = plugin.run(plugin.silence(1)) { plugin["latency"] == 0 ? 0 : 1 }
      expectEqual(plugin["latency"], 480)
    }

    @Test(arguments: rates)
    func aLoudToneComesToTheCeilingAndTheReductionSaysHowFar(rate: Double) throws {
      let plugin = try Plugin("limiter", rate: rate, ["gain": 6, "ceiling": -6, "release": 50])
      let found = plugin.run(plugin.sine(1000, Int(rate)))
      let loudest = found[0].dropFirst(Int(rate) / 2).map(abs).max()!
      expectTrue(abs(20 * log10(Double(loudest)) + 6) < 0.01)
      expectTrue(abs(plugin["reduction"] + 12) < 0.01)
    }

    /// After a peak, the gain recovers with the release time: the distance falls to 1/e in that time.
    @Test(arguments: rates, [20, 200] as [Float])
    func theReleaseTakesItsTime(rate: Double, release: Float) throws {
      let plugin = try Plugin("limiter-mono", rate: rate, ["ceiling": 0, "release": release])
      let frames = Int(rate)
      var sound = [Float](repeating: 0.25, count: frames)
      sound[1000] = 4
      let found = plugin.run([sound])[0]
      let latency = Int(plugin["latency"])
      let time = Double(release) / 1000 * rate
      // The peak's gain is held for the look-ahead, and the average of the gains lags by half of that.
      for part in [0.5, 1, 2] {
        let frame = 1000 + latency + Int(part * time) + latency / 2
        guard Int(part * time) > latency else { continue }
        let expected = 1 - 0.75 * exp(-part)
        expectTrue(abs(Double(found[frame]) / 0.25 - expected) < 0.02, "after \(part)")
      }
      // After fifty release times the gain has recovered completely.
      if release == 20 { expectEqual(found[frames - 1], 0.25) }
    }

    /// The gain falls in a straight line over the attack, as soon as a peak enters the look-ahead.
    @Test(arguments: rates, [1, 5] as [Float])
    func theAttackTakesItsTime(rate: Double, attack: Float) throws {
      let plugin = try Plugin("limiter-mono", rate: rate, ["ceiling": 0, "attack": attack])
      var sound = [Float](repeating: 0.25, count: 10_000)
      sound[4000] = 4
      let found = plugin.run([sound])[0]
      let latency = Int(plugin["latency"])
      let window = 1 + Int((rate * Double(attack) / 1000).rounded())
      for frame in 3900..<4000 + latency {
        let gain = 1 - 0.75 * Double(min(window, max(0, frame - 3999))) / Double(window)
        expectTrue(abs(Double(found[frame]) - 0.25 * gain) < 1e-6, "at \(frame)")
      }
      expectTrue(abs(found[4000 + latency] - 1) < 1e-6)
    }

    /// Both channels get the same gain, which keeps the stereo image.
    @Test func theChannelsAreOne() throws {
      let plugin = try Plugin("limiter", ["gain": 20])
      let noise = plugin.noise(20000)[0]
      let found = plugin.run([noise, noise.map { $0 / 2 }])
      expectTrue(zip(found[0], found[1]).allSatisfy { abs($0 / 2 - $1) < 1e-6 })
    }
  }
}
