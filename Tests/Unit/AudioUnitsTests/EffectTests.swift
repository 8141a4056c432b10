import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import PluginHost
@testable import RealTime

/// The equalisers among the audio units, compared with the formulas of their filters.
@Suite struct EffectTests {
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
      #require(BusFormat.planar(channels: channels, sampleRate: rate)), .input, 0)
    try unit.setCallback(Self.impulse, nil, 0)
    return unit
  }

  private func set(_ unit: LV2Unit, _ values: [UInt32: Double]) {
    for (id, value) in values {
      #expect(
        unit.render.pointee.setParameter(id, scope: 0, element: 0, to: Float(value)) == 0, "\(id)")
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
      #expect(unit.render.pointee.render(&flags, &time, bus: 0, frames: 2048, list) == 0)
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
      #expect(channel == found[0], "\(comment)")
    }
    for frequency in [30, 100, 300, 700, 1000, 1500, 3000, 7000, 12000, 18000] as [Double] {
      let wanted = expected(frequency)
      guard wanted > -50 else { continue }
      let error = abs(decibels(of: found[0], at: frequency, rate: rate) - wanted)
      #expect(error < 0.1, "\(comment) at \(frequency) Hz, \(rate) Hz")
    }
  }

  @Test(arguments: [44100, 48000, 96000] as [Double])
  func everyFilterTypeOfTheEqualiserFollowsItsFormula(rate: Double) throws {
    for type in 0...10 {
      let unit = try make(.nBandEQ, rate: rate)
      #expect(unit.bandCount == 16)
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

  @Test func thePresetsOfTheIPodsEqualiserSoundDifferent() throws {
    let unit = try make(.iPodEQ, rate: 48000)
    let presets = unit.presets
    #expect(presets.count == 22 && presets[0].name == "Flat")
    #expect(presets.map(\.number) == (0..<22).map(Int32.init))
    let flat = try responses(unit)[0]
    #expect(flat[0] == 1 && flat.dropFirst().allSatisfy { $0 == 0 })
    var seen: [Double] = []
    for preset in presets.dropFirst() {
      let unit = try make(.iPodEQ, rate: 48000)
      try unit.setPreset(preset)
      #expect(unit.preset == preset)
      let found = try responses(unit)[0]
      seen += [100, 1000, 8000].map { decibels(of: found, at: $0, rate: 48000) }
    }
    // Peaks of up to 12 dB.
    #expect(seen.allSatisfy { abs($0) < 20 } && seen.contains { abs($0) > 3 })
    #expect(throws: UnitError.self) { try unit.setPreset(UnitPreset(number: 22, name: "")) }
  }

  @Test func settingsOfAnEqualiserComeBack() throws {
    let unit = try make(.nBandEQ, rate: 48000)
    set(unit, [1000: 0, 2000: 7, 3000: 250, 4000: 5])
    let saved = try unit.settings()
    let other = try make(.nBandEQ, rate: 48000)
    try other.restore(saved)
    #expect(try other.settings().values == saved.values)
    #expect(try responses(unit) == responses(other))
    #expect(throws: UnitError.self) { try other.setBandCount(17) }
  }
}
