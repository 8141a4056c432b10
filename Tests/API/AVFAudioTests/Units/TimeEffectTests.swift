import AVFoundation
import TestSupport
import Testing

/// Nodes that take more or fewer frames than they give.
@Suite(.tags(.slow)) struct TimeEffectTests {
  @Test(arguments: [0.25, 0.5, 1, 1.5, 2, 4] as [Float])
  func aVarispeedChangesLengthAndFrequency(_ rate: Float) throws {
    let offline = try OfflineEngine()
    let varispeed = AVAudioUnitVarispeed()
    expectTrue(varispeed.rate == 1 && !varispeed.bypass)
    varispeed.rate = rate
    let player = offline.player(before: varispeed)
    var sound = tones(48_000, [500, 750])
    for channel in 0..<2 { sound[channel][0] = 0.5 }
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    expectTrue(varispeed.latency > 0.004 / Double(rate))
    let delay = varispeed.latency * 48_000
    let length = 48_000 / Double(rate)
    let frames = Int(length + delay) + 5000
    let heard = try offline.render(frames)
    for (channel, hertz) in [500.0, 750].enumerated() {
      let (first, last) = (Int(delay) + 1000, Int(length + delay) - 1000)
      let found = frequency(of: heard[channel][first..<last])
      expectTrue(abs(found - hertz * Double(rate)) < 0.5, "\(found)")
      let end = heard[channel].lastIndex { abs($0) > 0.01 } ?? 0
      expectTrue(abs(Double(end) - length - delay) < 10 / Double(min(rate, 1)), "\(end) \(delay)")
    }
    // The player has given what was taken, up to a render's length and what the converter holds.
    let time = try require(player.playerTime(forNodeTime: require(player.lastRenderTime)))
    let taken = Double(frames) * Double(rate)
    let lead = Double(time.sampleTime) - taken
    expectTrue(lead > -512 && lead < 2048 + 512 * Double(rate), "\(lead)")
  }

  @Test func aPlayerBehindAVarispeedStartsOnItsFrame() throws {
    let offline = try OfflineEngine()
    let varispeed = AVAudioUnitVarispeed()
    varispeed.rate = 2
    let player = offline.player(before: varispeed)
    // An impulse is half as long: it has half the area of a step's derivative.
    let step = [Float](repeating: 0.5, count: 20_000)
    player.scheduleBuffer(
      AVAudioPCMBuffer([step, step]), at: AVAudioTime(sampleTime: 9600, atRate: 48_000))
    player.play()
    let heard = try offline.render(24_000)
    let middle = Double(try require(heard[0].firstIndex { $0 > 0.25 }))
    expectTrue(abs(middle - 4800 - varispeed.latency * 48_000) < 3, "\(middle)")
  }

  @Test func aBypassedTimeEffectKeepsSpeedAndPitch() throws {
    let offline = try OfflineEngine()
    let varispeed = AVAudioUnitVarispeed()
    varispeed.rate = 2
    let player = offline.player(before: varispeed)
    player.scheduleBuffer(AVAudioPCMBuffer(tones(192_000, [500, 500])))
    player.play()
    let fast = try offline.render(9600)
    varispeed.bypass = true
    expectTrue(varispeed.bypass && varispeed.rate == 2)
    let normal = try offline.render(9600)
    varispeed.bypass = false
    let again = try offline.render(9600)
    let all = (fast[0] + normal[0] + again[0]).dropFirst(2000)
    expectTrue(roughness(all) < 0.02, "\(roughness(all))")
    expectTrue(abs(frequency(of: normal[0][2000..<8000]) - 500) < 1)
    expectTrue(abs(frequency(of: again[0][2000..<8000]) - 1000) < 1)
  }

  #if RubberBand
    @Test func speedAndPitchAreIndependent() throws {
      for (rate, pitch) in [(1, 1200), (0.5, 0), (2, -1200), (1, 0), (1.5, 700)] as [(Float, Float)]
      {
        let offline = try OfflineEngine()
        let stretch = AVAudioUnitTimePitch()
        expectTrue(stretch.rate == 1 && stretch.pitch == 0 && stretch.overlap == 8)
        stretch.rate = rate
        stretch.pitch = pitch
        let player = offline.player(before: stretch)
        player.scheduleBuffer(AVAudioPCMBuffer(tones(48_000, [440, 440])))
        player.play()
        let delay = stretch.latency * 48_000
        let length = 48_000 / Double(rate)
        let heard = try offline.render(Int(length + delay) + 8000)[0]
        let wanted = 440 * pow(2, Double(pitch) / 1200)
        let found = frequency(of: heard[Int(delay + length / 4)..<Int(delay + length / 2)])
        expectTrue(abs(found / wanted - 1) < 0.002, "\(rate) \(pitch): \(found)")
        let end = Double(heard.lastIndex { abs($0) > 0.1 } ?? 0)
        expectTrue(
          abs(end - length - delay) < 5000, "\(rate) \(pitch): \(end), not \(length + delay)")
      }
    }

    @Test(arguments: [1.0 / 32, 32] as [Float]) func theSlowestAndTheFastest(_ rate: Float) throws {
      for maximum in [512, 1] as [AVAudioFrameCount] {
        let offline = try OfflineEngine(maximum: maximum)
        let stretch = AVAudioUnitTimePitch()
        stretch.rate = rate > 1 ? 100 : 0
        expectEqual(stretch.rate, rate)
        let player = offline.player(before: stretch)
        player.scheduleBuffer(
          AVAudioPCMBuffer(tones(96_000, [440, 440])), at: nil, options: .loops)
        player.play()
        let heard = try offline.render(maximum == 1 ? 1000 : 48_000)
        expectTrue(heard[0].allSatisfy(\.isFinite))
        if maximum == 1 { continue }
        expectTrue(heard[0][24_000...].contains { abs($0) > 0.05 })
        let time = try require(player.playerTime(forNodeTime: require(player.lastRenderTime)))
        let taken = 48_000 * Double(min(rate, 8))
        expectTrue(
          abs(Double(time.sampleTime) - taken) < 20_000 * max(1, Double(rate) / 8),
          "\(time.sampleTime) \(taken)")
      }
    }

    /// The middle of a sound's energy comes as much later as the latency says.
    @Test(arguments: [8, 3] as [Float]) func theLatencyIsTheDelay(_ overlap: Float) throws {
      func middle(_ samples: [Float]) -> Double {
        let powers = samples.map { Double($0) * Double($0) }
        let sum = powers.enumerated().reduce(0) { $0 + Double($1.offset) * $1.element }
        return sum / powers.reduce(0, +)
      }
      let sound = silence(9600) + tones(4800, [440])[0] + silence(9600)
      let stretch = AVAudioUnitTimePitch()
      stretch.overlap = overlap
      let heard = try OfflineEngine().render([sound, sound], through: stretch, 36_000)[0]
      let delay = middle(heard) - middle(sound)
      expectTrue(
        abs(delay - stretch.latency * 48_000) < 100, "\(delay), not \(stretch.latency * 48_000)")
    }

    @Test func theOverlapChoosesTheComputation() throws {
      let stretch = AVAudioUnitTimePitch()
      for (value, held) in [(1, 3), (100, 32), (4, 4), (.nan, 4), (8, 8)] as [(Float, Float)] {
        stretch.overlap = value
        expectEqual(stretch.overlap, held)
      }
      func sound(_ overlap: Float) throws -> [Float] {
        let stretch = AVAudioUnitTimePitch()
        stretch.overlap = overlap
        stretch.pitch = 300
        return try OfflineEngine().render(noise(24_000), through: stretch, 24_000)[0]
      }
      expectTrue(try sound(8) == sound(32) && sound(3) != sound(8))
    }

    /// Of more than 8 times the speed, Rubber Band makes what is no number.
    @Test func everySpeedSounds() throws {
      for (rate, cents) in [(13, 0), (12.5, 0), (15.9, 0), (3.3, -2400), (7, -1200), (28, 1200)]
        as [(Float, Float)]
      {
        let effect = AVAudioUnitTimePitch()
        (effect.rate, effect.pitch) = (rate, cents)
        let sound = noise(480_000)
        let heard = try OfflineEngine().render(sound, through: effect, 20_000)
        expectTrue(heard[0].allSatisfy { $0.isFinite && abs($0) < 4 }, "\(rate), \(cents)")
        expectTrue(heard[0].contains { abs($0) > 0.1 }, "\(rate), \(cents)")
      }
    }

    @Test func hostileSpeedsAreHeldOrIgnored() {
      let stretch = AVAudioUnitTimePitch()
      let varispeed = AVAudioUnitVarispeed()
      for value in [Float.nan, .infinity, -.infinity, -1, 0, 1e20] {
        stretch.rate = value
        stretch.pitch = value
        varispeed.rate = value
        expectTrue((1 / 32...32).contains(stretch.rate) && (-2400...2400).contains(stretch.pitch))
        expectTrue((0.25...4).contains(varispeed.rate))
      }
    }
  #endif
}
