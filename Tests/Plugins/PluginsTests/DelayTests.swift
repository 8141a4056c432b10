import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct DelayTests {
    /// Each echo passes the low pass once more. The first one is its impulse response.
    @Test(arguments: [44100, 48000, 96000] as [Double], ["delay", "delay-mono"])
    func anEchoIsTheLowPassOfTheSound(rate: Double, name: String) throws {
      let plugin = try Plugin(
        name, rate: rate, ["time": 0.02, "mix": 75, "feedback": 0, "cutoff": 2000])
      var sound = plugin.silence(5000)
      for i in sound.indices { sound[i][0] = 1 }
      let late = Int((0.02 * rate).rounded())
      let opening = 1 - exp(-2 * Double.pi * 2000 / rate)
      for found in plugin.run(sound) {
        expectTrue(abs(found[0] - 0.25) < 1e-6)
        expectTrue(found[1..<late].allSatisfy { $0 == 0 })
        for i in 0..<200 {
          let wanted = 0.75 * opening * pow(1 - opening, Double(i))
          expectTrue(abs(Double(found[late + i]) - wanted) < 1e-6, "\(i) frames after the echo")
        }
        expectTrue(found.dropFirst(late + 1000).allSatisfy { abs($0) < 1e-6 })
      }
    }

    @Test(arguments: [80, -40] as [Float])
    func eachEchoIsTheOneBeforeTimesTheFeedback(feedback: Float) throws {
      let plugin = try Plugin(
        "delay-mono", ["time": 0.05, "mix": 100, "feedback": feedback, "cutoff": 24000])
      var sound = plugin.silence(16000)
      sound[0][0] = 1
      let found = plugin.run(sound)[0]
      for echo in 1...5 {
        // The low pass keeps the sum.
        let sum = found[(2400 * echo)..<(2400 * echo + 2000)].reduce(0, +)
        expectTrue(abs(sum - pow(feedback / 100, Float(echo - 1))) < 1e-4, "echo \(echo): \(sum)")
      }
    }

    @Test func anotherTimeFadesOver() throws {
      let plugin = try Plugin(
        "delay-mono", ["time": 0.1, "mix": 100, "feedback": 0, "cutoff": 24000])
      let sound = plugin.sine(100, 40_000, amplitude: 0.25)
      let change = 20_000
      let found = plugin.run(
        sound, changes: [Plugin.Change(frame: change, symbol: "time", value: 0.125)])[0]
      // Half a period later, the sine has the opposite sign.
      let fade = fadeFrames(48000)
      let largest = zip(found.dropFirst(10_000), found.dropFirst(10_001)).map { abs($1 - $0) }
        .max()!
      let step = Float(0.25 * (2 * Double.pi * 100 / 48000 + 2 / Double(fade)))
      expectTrue(largest < step, "a step of \(largest)")
      for frame in stride(from: 10_000, to: 40_000, by: 101) {
        let isOld = frame < change
        if !isOld && frame < change + fade { continue }
        // The low pass at half the rate is late by less than a frame.
        let wanted = sound[0][frame - (isOld ? 4800 : 6000)]
        expectTrue(abs(found[frame] - wanted) < 1e-3, "at \(frame)")
      }
    }
  }
}
