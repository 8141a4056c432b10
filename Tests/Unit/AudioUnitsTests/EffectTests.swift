import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import PluginHost
@testable import RealTime

/// The equalisers among the audio units, compared with the formulas of their filters.
@Suite(.tags(.program)) struct EffectTests {
  private static let world = Result {
    let built = repository.appendingPathComponent(".build/lv2").path
    let made = try run("make", ["-C", "Plugins", "OUT=\(built)"], folder: repository)
    guard made.status == 0 else { throw SupportError("\(made.output)\(made.errors)") }
    return World(path: built)
  }

  /// Frame 0 is 1, all others are 0.
  private static let impulse: cue_render_proc = { _, _, time, _, frames, list in
    let buffers = cue_rt_buffers(list!)
    for channel in 0..<Int(list!.pointee.count) {
      let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
      samples.initialize(repeating: 0, count: Int(frames))
      if time.pointee.sample_time == 0 { samples[0] = 1 }
    }
    return 0
  }

  private func make(_ effect: Effect, rate: Double, channels: Int = 2) throws -> LV2Unit {
    let world = try Self.world.get()
    let unit = try LV2Unit(world.description(of: effect.uri), in: world, as: effect)
    try unit.setFormat(
      require(BusFormat.planar(channels: channels, sampleRate: rate)), .input, 0)
    try unit.setCallback(Self.impulse, nil, 0)
    return unit
  }

  private func set(_ unit: LV2Unit, _ values: [UInt32: Double]) {
    for (id, value) in values {
      expectEqual(
        unit.render.pointee.setParameter(id, scope: 0, element: 0, to: Float(value)), 0, "\(id)")
    }
  }

  /// Returns what each channel makes of an impulse.
  private func responses(_ unit: LV2Unit, channels: Int = 2) throws -> [[Double]] {
    try unit.initialize()
    let list = UnsafeMutablePointer<cue_buffer_list>.allocate(capacity: 8)
    defer { list.deallocate() }
    var found = Array(repeating: [Double](), count: channels)
    var time = cue_time_stamp()
    time.flags = UInt32(cue_time_has_sample)
    for _ in 0..<32 {
      list.pointee.count = UInt32(channels)
      let buffers = cue_rt_buffers(list)
      for channel in 0..<channels {
        buffers[channel] = cue_buffer(channels: 1, bytes: 4 * 2048, data: nil)
      }
      var flags: UInt32 = 0
      expectEqual(unit.render.pointee.render(&flags, &time, bus: 0, frames: 2048, list), 0)
      time.sample_time += 2048
      for channel in 0..<channels {
        let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
        found[channel] += UnsafeBufferPointer(start: samples, count: 2048).map(Double.init)
      }
    }
    unit.dispose()
    return found
  }

  /// Fails unless all channels have the filter's response within 0.1 dB.
  private func check(
    _ unit: LV2Unit, rate: Double, channels: Int = 2, _ expected: (Double) -> Double,
    _ comment: String
  ) throws {
    let found = try responses(unit, channels: channels)
    for channel in found {
      expectEqual(channel, found[0], "\(comment)")
    }
    for frequency in [30, 100, 300, 700, 1000, 1500, 3000, 7000, 12000, 18000] as [Double] {
      let wanted = expected(frequency)
      guard wanted > -50 else { continue }
      let error = abs(decibels(of: found[0], at: frequency, rate: rate) - wanted)
      expectTrue(error < 0.1, "\(comment) at \(frequency) Hz, \(rate) Hz")
    }
  }

  @Test(arguments: [44100, 48000, 96000] as [Double])
  func everyFilterTypeOfTheEqualiserFollowsItsFormula(rate: Double) throws {
    for type in 0...10 {
      let unit = try make(.nBandEQ, rate: rate)
      expectEqual(unit.bandCount, 16)
      try unit.setBandCount(4)
      // The third band; the others are bypassed, as at first.
      set(
        unit,
        [1002: 0, 2002: Double(type), 3002: 1000, 4002: 9, 5002: 1.5, 0: type == 0 ? -3 : 0])
      let filter = Biquad(type: type, frequency: 1000, bandwidth: 1.5, gain: 9, rate: rate)
      try check(
        unit, rate: rate, { filter.response(at: $0, rate: rate) - (type == 0 ? 3 : 0) },
        "type \(type)")
    }
  }

  @Test(arguments: [44100, 48000, 96000] as [Double])
  func theFiltersFollowTheirFormulas(rate: Double) throws {
    func octaves(_ quality: Double) -> Double { 2 / log(2) * asinh(1 / (2 * quality)) }
    let cases: [(effect: Effect, values: [UInt32: Double], type: Int, bandwidth: Double)] = [
      (.parametricEQ, [0: 1500, 1: 2.5, 2: 8], 0, octaves(2.5)),
      (.lowPassFilter, [0: 2000, 1: 6], 3, octaves(pow(10, 0.3))),
      (.highPassFilter, [0: 500, 1: -3], 4, octaves(pow(10, -0.15))),
      (.bandPassFilter, [0: 1000, 1: 1200], 5, 1),
      (.lowShelfFilter, [0: 300, 1: 8], 7, 1),
      (.highShelfFilter, [0: 4000, 1: -8], 8, 1),
    ]
    for (effect, values, type, bandwidth) in cases {
      let channels = type == 0 ? 3 : 1
      let unit = try make(effect, rate: rate, channels: channels)
      set(unit, values)
      let gain = type == 0 ? 8.0 : type == 7 ? 8 : -8
      let filter = Biquad(
        type: type, frequency: values[0]!, bandwidth: bandwidth, gain: gain, rate: rate)
      try check(
        unit, rate: rate, channels: channels, { filter.response(at: $0, rate: rate) }, effect.name)
    }
  }

  @Test(arguments: [0, 1] as [Float])
  func theBandsOfTheGraphicEqualiserAddUp(bands: Float) throws {
    let unit = try make(.graphicEQ, rate: 48000)
    // 31.25 Hz and octaves from there; 1,000 Hz and thirds of an octave below and above.
    let wanted: [(band: UInt32, gain: Double, frequency: Double)] =
      bands == 0
      ? [(2, 6, 125), (5, -9, 1000), (9, 12, 16_000)]
      : [(8, 6, 1000 / pow(2, 3)), (17, -9, 1000), (29, 12, 16_000)]
    set(unit, [10000: Double(bands)])
    for item in wanted { set(unit, [item.band: item.gain]) }
    let filters = wanted.map {
      Biquad(
        type: 0, frequency: $0.frequency, bandwidth: bands == 0 ? 1 : 1.0 / 3, gain: $0.gain,
        rate: 48000)
    }
    try check(
      unit, rate: 48000,
      { frequency in filters.reduce(0) { $0 + $1.response(at: frequency, rate: 48000) } },
      "\(bands)")
  }

  @Test func aDelayRepeatsTheSoundSofter() throws {
    let unit = try make(.delay, rate: 48000, channels: 1)
    // Half of it wet, 10 ms, each echo half as loud, no low pass to speak of.
    set(unit, [0: 50, 1: 0.01, 2: 50, 3: 24_000])
    // 17 echoes of the echo, until it has fallen by 100 dB.
    expectTrue(abs(unit.tailSeconds - 0.18) < 1e-6)
    let found = try responses(unit, channels: 1)[0]
    expectTrue(abs(found[0] - 0.5) < 1e-6)
    // The low pass keeps the sum.
    for echo in 1...4 {
      let sum = found[(480 * echo - 40)..<(480 * echo + 400)].reduce(0, +)
      expectTrue(abs(sum - 0.5 * pow(0.5, Double(echo - 1))) < 1e-4, "echo \(echo): \(sum)")
    }
    expectTrue(found[1..<440].allSatisfy { abs($0) < 1e-9 })
    expectTrue(found[(480 * 19)...].allSatisfy { abs($0) < 0.5e-5 })
    expectTrue(found[(480 * 16)..<(480 * 17)].contains { abs($0) > 0.5e-5 })
    // No feedback: one echo. All feedback: the plugin's most. No echo is heard: none.
    let cases: [(values: [UInt32: Double], seconds: Double)] = [
      ([2: 0], 0.01), ([2: -100], 0.01 * 11509), ([0: 0], 0),
    ]
    for (values, seconds) in cases {
      let other = try make(.delay, rate: 48000, channels: 1)
      set(other, [0: 50, 1: 0.01])
      set(other, values)
      expectTrue(abs(other.tailSeconds - seconds) < 1e-4, "\(values): \(other.tailSeconds)")
    }
  }

  /// Renders a constant of a level until all is settled.
  private func settled(_ effect: Effect, _ level: Float, _ values: [UInt32: Double]) throws
    -> Double
  {
    let unit = try make(effect, rate: 48000, channels: 1)
    var level = level
    return try withUnsafeMutablePointer(to: &level) { level in
      try unit.setCallback(
        { data, _, _, _, frames, list in
          let samples = cue_rt_buffers(list!)[0].data!.assumingMemoryBound(to: Float.self)
          samples.update(
            repeating: data!.assumingMemoryBound(to: Float.self).pointee, count: Int(frames))
          return 0
        }, level, 0)
      set(unit, values)
      try unit.initialize()
      let renderer = Renderer(unit)
      for _ in 0..<40 { _ = try renderer.render(2048) }
      let found = Double(try renderer.render(2048)[0][2047])
      unit.dispose()
      return found
    }
  }

  @Test(arguments: [-60, -30, -20, -15, -10, 0] as [Double])
  func levelsFollowTheCurveOfTheDynamics(input: Double) throws {
    let values: [UInt32: Double] = [0: -20, 1: 5, 2: 2, 3: -40, 4: 0.001, 5: 0.01, 6: 3]
    let level = Float(pow(10, input / 20))
    let found = 20 * log10(try settled(.dynamicsProcessor, level, values))
    var wanted = input
    if input > -20 { wanted = -20 + 5 * (1 - exp((-20 - input) / 5)) }
    if input < -40 { wanted = input - (-40 - input) }
    expectTrue(abs(found - wanted - 3) < 0.05, "\(found) dB instead of \(wanted + 3)")
  }

  @Test func theLimiterHoldsFullScale() throws {
    for attack in [0.001, 0.03] {
      let found = try settled(.peakLimiter, 0.5, [0: attack, 1: 0.06, 2: 20])
      expectTrue(abs(found - 1) < 1e-3 && found <= 1, "\(found)")
    }
    expectTrue(abs(try settled(.peakLimiter, 0.5, [:]) - 0.5) < 1e-6)
  }

  @Test(arguments: [-0.8, -0.1, 0.3, 0.9] as [Float])
  func theDistortionFollowsItsFormula(input: Float) throws {
    func soft(_ value: Double) -> Double { value / (value * value + 1).squareRoot() }
    let x = Double(input)
    let cubic = 0.5 * x + 2 * x * x + 3 * x * x * x
    let polynomial = try settled(
      .distortion, input, [6: 0.5, 7: 2, 8: 3, 9: 75, 14: 0, 15: 100])
    expectTrue(abs(polynomial - soft(x + 0.75 * (cubic - x))) < 1e-5)
    // Two steps of the amplitude on each side of zero.
    let rounded = try settled(.distortion, input, [4: 100, 5: 100, 14: 6, 15: 50])
    let wanted = soft((x * 2).rounded(.toNearestOrEven) / 2 * pow(10, 6.0 / 20))
    expectTrue(abs(rounded - (x + wanted) / 2) < 1e-5, "\(rounded)")
  }

  @Test func aReverberationGoesOn() throws {
    let unit = try Effect.reverb.makeUnit()
    try unit.setFormat(require(BusFormat.planar(channels: 2, sampleRate: 48000)), .input, 0)
    try unit.setCallback(Self.impulse, nil, 0)
    set(unit, [0: 50, 2: 0.02, 4: 2])
    let found = try responses(unit)
    func power(_ frames: Range<Int>) -> Double { found[0][frames].reduce(0) { $0 + $1 * $1 } }
    expectTrue(power(24_000..<34_000) > 1e-9 && power(2000..<12_000) > power(24_000..<34_000))
    expectTrue(power(50_000..<60_000) < power(24_000..<34_000))
  }

  /// Returns the response of the reverberation to an impulse.
  private func reverberation(mix: Double, delay: Double, decay: Double) throws -> [Double] {
    let unit = try Effect.reverb.makeUnit()
    try unit.setFormat(require(BusFormat.planar(channels: 2, sampleRate: 48000)), .input, 0)
    try unit.setCallback(Self.impulse, nil, 0)
    set(unit, [0: mix, 2: delay, 4: decay])
    return try responses(unit)[0]
  }

  @Test func theMixOfTheReverberationIsThatOfDryAndWet() throws {
    let dry = try reverberation(mix: 0, delay: 0.02, decay: 2)
    expectTrue(abs(dry[0] - 1) < 1e-3 && dry.dropFirst().allSatisfy { abs($0) < 1e-6 })
    let wet = try reverberation(mix: 100, delay: 0.02, decay: 2)
    expectTrue(abs(wet[0]) < 1e-3)
    let half = try reverberation(mix: 50, delay: 0.02, decay: 2)
    expectTrue(abs(half[0] - 0.5) < 1e-3)
    func power(_ samples: [Double]) -> Double { samples[2000...].reduce(0) { $0 + $1 * $1 } }
    expectTrue(abs(power(half) / power(wet) - 0.25) < 0.05)
  }

  @Test func theReverberationIsAsLateAndAsLongAsItsParametersSay() throws {
    func power(_ samples: [Double], _ frames: Range<Int>) -> Double {
      samples[frames].reduce(0) { $0 + $1 * $1 }
    }
    let soon = try reverberation(mix: 100, delay: 0.01, decay: 1)
    let late = try reverberation(mix: 100, delay: 0.09, decay: 1)
    // The late reverberation is that of before, 80 ms later.
    let part = 12_000..<24_000
    let error = part.reduce(0.0) { $0 + pow(soon[$1] - late[$1 + 3840], 2) }
    expectTrue(error < 0.01 * power(soon, part), "\(error) of \(power(soon, part))")
    let unit = try Effect.reverb.makeUnit()
    set(unit, [0: 100, 2: 0.01, 4: 0.5])
    expectTrue(abs(unit.tailSeconds - (0.01 + 0.5 * 100 / 60)) < 1e-6)
    for decay in [0.5, 4] {
      let found = try reverberation(mix: 100, delay: 0.01, decay: decay)
      // 60 dB in the time of the decay, more or less.
      let fall = 10 * log10(power(found, 12_000..<14_400) / power(found, 24_000..<26_400))
      expectTrue(
        fall > 0.5 * 15 / decay && fall < 2 * 15 / decay, "\(fall) dB in 0.25 s, \(decay) s")
    }
  }

  @Test func anEffectWithoutItsPluginNamesThePackage() throws {
    var effect = Effect("AUMissing", uri: "urn:cuejack:tests:missing") { _, _, _ in [] }
    effect.package = "some-plugins"
    #expect {
      _ = try effect.makeUnit()
    } throws: { error in
      guard case UnitError.unsupported(let reason) = error else { return false }
      return reason.contains("some-plugins") && reason.contains("urn:cuejack:tests:missing")
    }
  }

  @Test func thePresetsOfTheIPodsEqualiserSoundDifferent() throws {
    let unit = try make(.iPodEQ, rate: 48000)
    let presets = unit.presets
    expectTrue(presets.count == 22 && presets[0].name == "Flat")
    expectEqual(presets.map(\.number), (0..<22).map(Int32.init))
    let flat = try responses(unit)[0]
    expectTrue(flat[0] == 1 && flat.dropFirst().allSatisfy { $0 == 0 })
    var seen: [Double] = []
    for preset in presets.dropFirst() {
      let unit = try make(.iPodEQ, rate: 48000)
      try unit.setPreset(preset)
      expectEqual(unit.preset, preset)
      let found = try responses(unit)[0]
      seen += [100, 1000, 8000].map { decibels(of: found, at: $0, rate: 48000) }
    }
    // Peaks of up to 12 dB.
    expectTrue(seen.allSatisfy { abs($0) < 20 } && seen.contains { abs($0) > 3 })
    #expect(throws: UnitError.self) { try unit.setPreset(UnitPreset(number: 22, name: "")) }
  }

  @Test func settingsOfAnEqualiserComeBack() throws {
    let unit = try make(.nBandEQ, rate: 48000)
    set(unit, [1000: 0, 2000: 7, 3000: 250, 4000: 5])
    let saved = try unit.settings()
    let other = try make(.nBandEQ, rate: 48000)
    try other.restore(saved)
    try expectEqual(other.settings().values, saved.values)
    try expectEqual(responses(unit), responses(other))
    #expect(throws: UnitError.self) { try other.setBandCount(17) }
  }
}
