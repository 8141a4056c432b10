import AVFoundation
import TestSupport
import Testing

/// Effects in an engine, by samples.
@Suite(.tags(.program)) struct EffectNodeTests {
  private let impulse: [[Float]] = [[1], [1]]

  /// The level in dB of an equaliser's band, by the formulas of the Audio EQ Cookbook with the band edges that the
  /// plugin keeps.
  private func expected(
    _ type: AVAudioUnitEQFilterType, _ hertz: Double, _ octaves: Double, _ gain: Double,
    at wanted: Double
  ) -> Double {
    // An analog filter of frequency w0 under the bilinear transform.
    let angle = Double.pi * hertz / 48000
    var w0 = tan(angle)
    let w = tan(.pi * wanted / 48000)
    let root = pow(10, gain / 40)
    var damping = 2.0.squareRoot()
    switch type {
    case .parametric, .bandPass, .bandStop:
      let edge = w0 / tan(angle / pow(2, octaves / 2))
      damping = edge - 1 / edge
    case .resonantLowPass, .resonantHighPass, .resonantLowShelf, .resonantHighShelf:
      damping = pow(2, octaves / 2) - pow(2, -octaves / 2)
    default: break
    }
    // Numerator a + b·i·s + c·s², denominator 1 + damping·i·s - s² with s = w / w0.
    var (a, b, c) = (0.0, 0.0, 0.0)
    switch type {
    case .parametric: (a, b, c, damping) = (1, damping * root, 1, damping / root)
    case .lowPass, .resonantLowPass: a = 1
    case .highPass, .resonantHighPass: c = 1
    case .bandPass: b = damping
    case .bandStop: (a, c) = (1, 1)
    case .lowShelf, .resonantLowShelf:
      w0 /= root.squareRoot()
      (a, b, c) = (root * root, damping * root, 1)
    case .highShelf, .resonantHighShelf:
      w0 *= root.squareRoot()
      (a, b, c) = (1, damping * root, root * root)
    }
    let s = w / w0
    let above = pow(a - c * s * s, 2) + pow(b * s, 2)
    let below = pow(1 - s * s, 2) + pow(damping * s, 2)
    return 10 * log10(above / below + 1e-30)
  }

  @Test(arguments: 0...10) func aBandHasTheResponseOfItsFilter(_ number: Int) throws {
    try findPlugins()
    let type = try require(AVAudioUnitEQFilterType(rawValue: number))
    let eq = AVAudioUnitEQ(numberOfBands: 3)
    expectTrue(eq.bands.count == 3 && eq.bands.allSatisfy { $0.bypass && $0.gain == 0 })
    let band = eq.bands[1]
    (band.filterType, band.frequency, band.bandwidth, band.gain) = (type, 2000, 1, -9)
    band.bypass = false
    eq.globalGain = 6
    expectTrue(band.filterType == type && band.frequency == 2000 && band.bandwidth == 1)
    expectTrue(band.gain == -9 && !band.bypass && eq.globalGain == 6)
    let heard = try OfflineEngine().render(impulse, through: eq, 16_384)
    for hertz in [100.0, 700, 1500, 2000, 2600, 6000, 15_000] {
      let wanted = expected(type, 2000, 1, -9, at: hertz) + 6
      if wanted < -80 { continue }
      for channel in 0..<2 {
        let found = level(heard[channel], at: hertz)
        expectTrue(abs(found - wanted) < 0.01, "\(type) \(hertz) Hz: \(found), not \(wanted)")
      }
    }
  }

  @Test func hostileNumbersAreHeldOrIgnored() throws {
    try findPlugins()
    let eq = AVAudioUnitEQ(numberOfBands: -5)
    expectEqual(eq.bands.count, 1)
    expectEqual(AVAudioUnitEQ(numberOfBands: .max).bands.count, 16)
    expectEqual(AVAudioUnitEQ().bands.count, 1)
    for value in [Float.nan, .infinity, -.infinity, 1e30, -1e30, 0] {
      eq.bands[0].gain = value
      eq.bands[0].frequency = value
      eq.bands[0].bandwidth = value
      eq.globalGain = value
      expectTrue(
        (-96...24).contains(eq.bands[0].gain) && (20...22_050).contains(eq.bands[0].frequency))
      expectTrue((0.05...5).contains(eq.bands[0].bandwidth) && (-96...24).contains(eq.globalGain))
    }
    eq.globalGain = 3
    eq.globalGain = .nan
    expectEqual(eq.globalGain, 3)
    let delay = AVAudioUnitDelay()
    for value in [TimeInterval.nan, .infinity, -1] {
      delay.delayTime = value
      expectTrue((0...2).contains(delay.delayTime))
    }
    delay.feedback = 1e9
    delay.lowPassCutoff = -1
    delay.wetDryMix = 101
    expectTrue(delay.feedback == 100 && delay.lowPassCutoff == 10 && delay.wetDryMix == 100)
  }

  @Test func anEchoComesAfterItsTime() throws {
    try findPlugins()
    let delay = AVAudioUnitDelay()
    expectTrue(delay.delayTime == 1 && delay.feedback == 50)
    expectTrue(delay.lowPassCutoff == 15_000 && delay.wetDryMix == 100)
    delay.delayTime = 0.01
    delay.lowPassCutoff = 22_050
    delay.wetDryMix = 40
    let heard = try OfflineEngine().render(impulse, through: delay, 2400)
    for channel in 0..<2 {
      expectTrue(abs(heard[channel][0] - 0.6) < 1e-6)
      // The low pass takes the part 1 - e^(-2π · 22050 / 48000).
      let part = Float(1 - exp(-2 * Double.pi * 22_050 / 48_000))
      expectTrue(abs(heard[channel][480] - 0.4 * part) < 1e-6, "\(heard[channel][480])")
      expectTrue(abs(heard[channel][960] - 0.2 * part * part) < 1e-6, "\(heard[channel][960])")
      expectTrue(heard[channel][1..<480].allSatisfy { $0 == 0 })
    }
  }

  @Test func aBypassIsBitExactAndDoesNotClick() throws {
    try findPlugins()
    let eq = AVAudioUnitEQ(numberOfBands: 1)
    eq.bands[0].filterType = .lowShelf
    eq.bands[0].frequency = 2000
    eq.bands[0].gain = 12
    eq.bands[0].bypass = false
    let offline = try OfflineEngine()
    let player = offline.player(before: eq)
    let sound = tones(60_000, [220, 330]).map { $0.map { $0 / 4 } }
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    expectTrue(!eq.bypass)
    let before = try offline.render(9728)
    eq.bypass = true
    expectTrue(eq.bypass)
    let bypassed = try offline.render(20_480)
    eq.bypass = false
    let after = try offline.render(20_480)
    for channel in 0..<2 {
      let all = before[channel] + bypassed[channel] + after[channel]
      // A step from the one sound to the other would have 0.1.
      expectTrue(roughness(all.dropFirst(5000)) < 0.005, "\(roughness(all.dropFirst(5000)))")
      expectEqual(Array(all[12_000..<30_208]), Array(sound[channel][12_000..<30_208]))
      let raised = all[45_000..<50_000].map(abs).max()! / sound[channel].map(abs).max()!
      expectTrue(raised > 3.5, "\(raised)")
    }
  }

  @Test func distortionsHaveTheirSounds() throws {
    try findPlugins()
    let sound = tones(24_000, [440, 440])
    var found: [[Float]] = []
    for number in 0...21 {
      let distortion = AVAudioUnitDistortion()
      expectTrue(distortion.preGain == -6 && distortion.wetDryMix == 50)
      distortion.preGain = 0
      distortion.wetDryMix = 100
      distortion.loadFactoryPreset(try require(AVAudioUnitDistortionPreset(rawValue: number)))
      expectTrue(distortion.preGain == 0 && distortion.wetDryMix == 100)
      let heard = try OfflineEngine().render(sound, through: distortion, 36_000)
      expectTrue(heard[0].allSatisfy { $0.isFinite && abs($0) < 1 })
      found.append(heard[0])
    }
    expectEqual(Set(found.map { $0.map(\.bitPattern) }).count, 22)
    // A square curve makes the octave, echoes come after the sound.
    expectTrue(
      level(found[11][4800..<24_000], at: 880) > level(found[0][4800..<24_000], at: 880) + 20)
    expectTrue(found[12][24_500...].contains { abs($0) > 0.01 })
    let dry = AVAudioUnitDistortion()
    dry.loadFactoryPreset(.multiEverythingIsBroken)
    dry.wetDryMix = 0
    let same = try OfflineEngine().render(sound, through: dry, 24_000)
    expectEqual(same, sound)
  }

  @Test func roomsHaveTheirTails() throws {
    try findPlugins()
    func energy(_ preset: AVAudioUnitReverbPreset, after frame: Int) throws -> Double {
      let reverb = AVAudioUnitReverb()
      reverb.loadFactoryPreset(preset)
      expectEqual(reverb.wetDryMix, 100)
      // One channel goes into a plugin of two.
      let heard = try OfflineEngine().render(
        [[Float](repeating: 0.5, count: 100)], through: reverb, 96_000)
      return 10 * log10(heard[0][frame...].reduce(1e-30) { $0 + Double($1) * Double($1) })
    }
    let small = try energy(.smallRoom, after: 48_000)
    let large = try energy(.largeHall, after: 48_000)
    let church = try energy(.cathedral, after: 48_000)
    expectTrue(small + 20 < large && large + 3 < church, "\(small) \(large) \(church)")
    let reverb = AVAudioUnitReverb()
    reverb.wetDryMix = 0
    let dry = try OfflineEngine().render(noise(4800), through: reverb, 4800)
    expectTrue(ratio(dry[0], to: noise(4800)[0]) > 100)
  }

  @Test func unitsTakeAnyFormat() throws {
    try findPlugins()
    // A rate, a number of channels and a kind of sample that the next node has not.
    let offline = try OfflineEngine()
    let eq = AVAudioUnitEQ(numberOfBands: 1)
    let player = offline.player(before: eq, .standard(48000, 1), to: .standard(48000, 2))
    expectEqual(eq.inputFormat(forBus: 0), .standard(48000, 1))
    expectEqual(eq.outputFormat(forBus: 0), .standard(48000, 2))
    let sound = noise(4800, channels: 1)
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    let heard = try offline.render(4800)
    expectTrue(heard[0] == sound[0] && heard[1] == sound[0])
    expectEqual(eq.latency, 0)

    let other = try OfflineEngine()
    let second = AVAudioUnitEQ(numberOfBands: 1)
    let tone = tones(44_100, [441], rate: 44_100)
    let tuned = other.player(before: second, .standard(44_100, 1), to: .standard(48_000, 1))
    tuned.scheduleBuffer(AVAudioPCMBuffer(tone, .standard(44_100, 1)))
    tuned.play()
    let high = try other.render(48_000)
    expectTrue(abs(frequency(of: high[0][4800..<40_000]) - 441) < 0.1)
    expectTrue(second.latency > 0)
    // Without a connection behind it, the output follows the input.
    let third = AVAudioUnitEQ(numberOfBands: 1)
    other.engine.attach(third)
    other.engine.connect(tuned, to: third, format: .standard(96_000, 6))
    expectEqual(third.outputFormat(forBus: 0), .standard(96_000, 6))
  }

  /// JACK's process thread has a stack of 512 kB.
  @Test func aChainOfManyEffectsRendersOnASmallStack() async throws {
    try findPlugins()
    try await onSmallStack {
      let offline = try OfflineEngine()
      let effects = (0..<256).map { _ in AVAudioUnitEQ(numberOfBands: 1) }
      let player = offline.player(before: effects[0])
      for (i, effect) in effects.enumerated() {
        effect.globalGain = i % 2 == 0 ? 6 : -6
        if i == 0 { continue }
        offline.engine.attach(effect)
        offline.engine.connect(effects[i - 1], to: effect, format: .standard())
      }
      offline.engine.connect(effects[255], to: offline.engine.mainMixerNode, format: .standard())
      let sound = noise(2048)
      player.scheduleBuffer(AVAudioPCMBuffer(sound))
      player.play()
      let heard = try offline.render(2048)
      for (a, b) in zip(heard[0], sound[0]) { expectTrue(abs(a - b) < 1e-3) }
      expectTrue(player.lastRenderTime?.sampleTime == 1536)
      expectEqual(player.outputPresentationLatency, 0)
    }
  }

  @Test func aDetachedEffectLeavesItsNeighboursConnected() throws {
    try findPlugins()
    let offline = try OfflineEngine()
    let (first, second) = (AVAudioUnitEQ(numberOfBands: 1), AVAudioUnitDistortion())
    first.globalGain = 6
    let player = offline.player(before: first)
    let engine = offline.engine
    engine.attach(second)
    engine.connect(first, to: second, format: nil)
    engine.connect(second, to: engine.mainMixerNode, format: nil)
    let sound = noise(9600)
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    expectTrue(try offline.render(4800)[0] != Array(sound[0][..<4800]))
    engine.detach(first)
    expectTrue(first.engine == nil)
    expectTrue(engine.inputConnectionPoint(for: second, inputBus: 0)?.node === player)
    engine.detach(second)
    let points = engine.outputConnectionPoints(for: player, outputBus: 0)
    expectTrue(points.count == 1 && points[0].node === engine.mainMixerNode)
    expectEqual(try offline.render(4800), sound.map { Array($0[4800...]) })
    // A player leaves nothing.
    engine.detach(player)
    expectTrue(engine.inputConnectionPoint(for: engine.mainMixerNode, inputBus: 0) == nil)
    expectEqual(try offline.render(512), [silence(512), silence(512)])
    engine.attach(first)
    expectTrue(first.engine === engine)
  }

  @Test func aResetForgetsTheEchoes() throws {
    try findPlugins()
    let offline = try OfflineEngine()
    let delay = AVAudioUnitDelay()
    delay.delayTime = 0.1
    let player = offline.player(before: delay)
    player.scheduleBuffer(AVAudioPCMBuffer(impulse))
    player.play()
    expectTrue(try offline.render(5120)[0].contains { $0 != 0 })
    delay.reset()
    expectTrue(try offline.render(48_000)[0].allSatisfy { $0 == 0 })
  }
}
