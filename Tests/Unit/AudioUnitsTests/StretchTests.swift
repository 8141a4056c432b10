import CProbe
import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// The units that change speed and pitch.
@Suite(.tags(.slow)) struct StretchTests {
  /// A sine of 1,000 Hz at 48,000 Hz.
  private static let sine: cue_render_proc = { _, _, time, _, frames, list in
    let buffers = cue_rt_buffers(list!)
    for channel in 0..<Int(list!.pointee.count) {
      let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
      for i in 0..<Int(frames) {
        samples[i] = Float(sin((time.pointee.sample_time + Double(i)) * 2 * .pi * 1000 / 48000))
      }
    }
    return 0
  }

  /// Returns the frequency of a sound by its zero crossings.
  private func frequency(_ samples: [Float], rate: Double) -> Double {
    let crossings = samples.indices.dropFirst().filter { samples[$0 - 1] < 0 && samples[$0] >= 0 }
    guard let first = crossings.first, let last = crossings.last, last > first else { return 0 }
    return Double(crossings.count - 1) * rate / Double(last - first)
  }

  private func sound(_ unit: AudioUnits.Unit, seconds: Double, rate: Double) throws -> [Float] {
    let renderer = Renderer(unit)
    var found: [Float] = []
    while Double(found.count) < seconds * rate { found += try renderer.render(512)[0] }
    return Array(found.suffix(Int(rate / 2)))
  }

  @Test(
    arguments: [(1, 0), (0.5, 0), (2, 0), (1, 1200), (1.5, -300), (4, 0), (0.25, 0)]
      as [(Float, Float)])
  func theTapeChangesThePitchWithTheSpeed(speed: Float, cents: Float) throws {
    for rate in [48000.0, 44100] {
      let unit = try make(.varispeed)
      try unit.setFormat(planar(2, 48000), .input, 0)
      try unit.setFormat(planar(2, rate), .output, 0)
      try unit.setCallback(Self.sine, nil, 0)
      expectTrue(unit.set(0, speed) == 0 && unit.set(1, cents) == 0)
      try unit.initialize()
      let found = try sound(unit, seconds: 1, rate: rate)
      let wanted = 1000 * Double(speed) * pow(2, Double(cents) / 1200)
      expectTrue(
        abs(frequency(found, rate: rate) - wanted) < wanted * 0.001, "\(speed), \(cents), \(rate)")
      expectTrue(abs((found.max() ?? 0) - 1) < 0.02)
      unit.dispose()
    }
  }

  #if RubberBand
    @Test(arguments: [(1, 0), (0.5, 0), (2, 0), (1, 700), (1.25, -500)] as [(Float, Float)])
    func speedAndPitchAreIndependent(speed: Float, cents: Float) throws {
      for kind in [UnitKind.timePitch, .newTimePitch] {
        let unit = try make(kind)
        try unit.setFormat(planar(1, 48000), .input, 0)
        try unit.setFormat(planar(1, 44100), .output, 0)
        try unit.setCallback(Self.sine, nil, 0)
        expectTrue(unit.set(0, speed) == 0 && unit.set(1, cents) == 0)
        try unit.initialize()
        expectTrue(unit.latencySeconds > 0 && unit.latencySeconds < 0.5)
        let found = try sound(unit, seconds: 3, rate: 44100)
        let wanted = 1000 * pow(2, Double(cents) / 1200)
        expectTrue(
          abs(frequency(found, rate: 44100) - wanted) < wanted * 0.01,
          "\(speed), \(cents): \(frequency(found, rate: 44100))")
        unit.dispose()
      }
    }
  #endif

  /// A better conversion has a longer filter, and so a longer delay.
  @Test func aConverterHasTheQualityThatIsAskedFor() throws {
    let unit = try make(.converter)
    try unit.setFormat(planar(1, 48000), .input, 0)
    try unit.setFormat(planar(1, 44100), .output, 0)
    try unit.initialize()
    expectEqual(unit.quality, 0x60)
    let usual = unit.latencySeconds
    var latencies: [Double] = []
    for quality in [0, 0x20, 0x40, 0x60, 0x7F] as [UInt32] {
      try unit.setQuality(quality)
      latencies.append(unit.latencySeconds)
    }
    expectEqual(latencies[3], usual)
    expectTrue(Set(latencies).count == 5 && latencies == latencies.sorted(), "\(latencies)")
    #expect(throws: UnitError.self) { try unit.setQuality(128) }
    expectEqual(unit.quality, 0x7F)
    let player = try make(.soundPlayer)
    expectNil(player.quality)
    unit.dispose()
  }

  #if RubberBand
    @Test func theFasterEngineKeepsSpeedAndPitch() throws {
      let unit = try make(.newTimePitch)
      try unit.setFormat(planar(1, 48000), .input, 0)
      try unit.setFormat(planar(1, 48000), .output, 0)
      try unit.setCallback(Self.sine, nil, 0)
      expectTrue(unit.set(0, 1.25) == 0 && unit.set(1, 700) == 0)
      try unit.initialize()
      let delay = unit.latencySeconds
      try unit.setQuality(0x40)
      expectTrue(unit.latencySeconds != delay)
      let found = try sound(unit, seconds: 1, rate: 48000)
      let wanted = 1000 * pow(2, 700.0 / 1200)
      expectTrue(abs(frequency(found, rate: 48000) - wanted) < wanted * 0.01)
      unit.dispose()
    }
  #endif

  /// A second of sound takes as many frames of the input as the speed says, whatever the pitch.
  @Test(arguments: [(1, 0), (0.5, 300), (2, -700), (1.25, 1200)] as [(Float, Float)])
  func theInputRunsAtTheSpeed(speed: Float, cents: Float) throws {
    var kinds: [(UnitKind, pitch: Double)] = [(.varispeed, pow(2, Double(cents) / 1200))]
    #if RubberBand
      kinds += [(.timePitch, 1), (.newTimePitch, 1)]
    #endif
    for (kind, pitch) in kinds {
      let unit = try make(kind)
      try unit.setFormat(planar(1, 48000), .input, 0)
      try unit.setFormat(planar(1, 44100), .output, 0)
      // The frame up to which the input was read.
      var end = 0
      try withUnsafeMutablePointer(to: &end) { end in
        try unit.setCallback(
          { data, _, time, _, frames, list in
            let samples = cue_rt_buffers(list!)[0].data!.assumingMemoryBound(to: Float.self)
            samples.initialize(repeating: 0.5, count: Int(frames))
            data!.assumingMemoryBound(to: Int.self).pointee =
              Int(time.pointee.sample_time) + Int(frames)
            return 0
          }, end, 0)
        expectTrue(unit.set(0, speed) == 0 && unit.set(1, cents) == 0)
        try unit.initialize()
        let renderer = Renderer(unit)
        for _ in 0..<100 { _ = try renderer.render(441) }
        let first = end.pointee
        for _ in 0..<300 { _ = try renderer.render(441) }
        // What was read ahead of the output varies by some hundredths of a second.
        let seconds = Double(end.pointee - first) / 48000
        expectTrue(abs(seconds - 3 * Double(speed) * pitch) < 0.1, "\(kind): \(seconds) s")
        unit.dispose()
      }
    }
  }

  @Test func rendersAllocateNothing() throws {
    try require(cue_probe_works() || isSanitized)
    let speeds: [(Float, Float)] = [(1, 0), (0.25, 2400), (4, -2400), (1.1, 100)]
    var kinds: [(UnitKind, UInt32, [(Float, Float)])] = [(.varispeed, 0x60, speeds)]
    #if RubberBand
      let all = speeds + [(32, 0), (0.03125, 0), (7, -2400), (0.13, 2400), (14, 300), (0.06, 0)]
      kinds += [(.newTimePitch, 0x60, all), (.newTimePitch, 0x20, all)]
    #endif
    for (kind, quality, speeds) in kinds {
      let unit = try make(kind)
      try unit.setQuality(quality)
      try unit.setFormat(planar(2, 44100), .input, 0)
      try unit.setFormat(planar(2, 48000), .output, 0)
      try unit.setCallback(steps, nil, 0)
      try unit.initialize()
      for (speed, cents) in speeds {
        expectTrue(unit.set(0, speed) == 0 && unit.set(1, cents) == 0)
        try expectEqual(countingCalls(unit), 0, "\(kind) \(quality) at \(speed), \(cents)")
      }
      unit.dispose()
    }
  }
}
