import CProbe
import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// The matrix mixer, the 3D mixer, and the meters of mixers.
@Suite struct MixerTests {
  @Test func everyCrossingOfTheMatrixHasItsVolume() throws {
    let unit = try require(try make(.matrixMixer) as? MatrixUnit)
    try unit.setBusCount(2, .input)
    try unit.setBusCount(2, .output)
    for bus in 0..<2 {
      try unit.setFormat(planar(2), .output, UInt32(bus))
      try unit.setCallback(
        steps, UnsafeMutableRawPointer(bitPattern: bus == 0 ? 1 : 10), UInt32(bus))
    }
    try unit.setFormat(planar(2), .input, 0)
    try unit.setFormat(planar(1), .input, 1)
    expectTrue(unit.dimensions.inputs == 3 && unit.dimensions.outputs == 4)
    // Crossings are silent at first.
    try unit.initialize()
    let renderer = Renderer(unit)
    try expectEqual(
      renderer.render(64), [[Float]](repeating: .init(repeating: 0, count: 64), count: 2))
    let volumes: [[Float]] = [[0.5, 0, 0.25, 0], [0, 1, 0, 0], [0.125, 0, 0, 0.75]]
    for (input, row) in volumes.enumerated() {
      for (output, volume) in row.enumerated() {
        expectEqual(unit.set(0, volume, element: UInt32(input << 16 | output)), 0)
      }
    }
    expectEqual(unit.set(0, 0.5, scope: 1, element: 2), 0)
    expectEqual(unit.set(0, 0.25, scope: 2, element: 1), 0)
    expectEqual(unit.set(0, 0.5, element: 0xFFFF_FFFF), 0)
    // Gains move in a straight line over one render.
    let ramp = try renderer.render(64)[0]
    expectTrue(abs(ramp[31] - ramp[63] / 2) < 1e-6)
    let sources: [Float] = [1, 2, 10 * 0.5]
    let outputs: [Float] = [1, 0.25, 1, 1]
    var wanted: [Float] = []
    for output in 0..<4 {
      let sum = (0..<3).reduce(Float(0)) { $0 + sources[$1] * volumes[$1][output] }
      wanted.append(sum * outputs[output] * 0.5)
    }
    let first = try renderer.render(64, bus: 0, isLast: false)
    let second = try renderer.render(64, bus: 1)
    for (i, plane) in (first + second).enumerated() {
      expectTrue(plane.allSatisfy { abs($0 - wanted[i]) < 1e-6 }, "output \(i): \(plane[0])")
    }
    expectTrue(
      unit.levels[2] == [0.125, 0, 0, 0.75, 0.5] && unit.levels[3] == [1, 0.25, 1, 1, 0.5])
    // A switch silences an input channel.
    expectEqual(unit.set(1, 0, scope: 1, element: 1), 0)
    _ = try renderer.render(64)
    try expectEqual(renderer.render(64)[1][0], 0)
    // Elements that are none.
    expectEqual(unit.set(0, 1, element: 3 << 16), RenderError.invalidElement)
    expectEqual(unit.set(0, 1, scope: 2, element: 4), RenderError.invalidElement)
    expectEqual(unit.set(7, 1, scope: 2, element: 3), RenderError.invalidParameter)
    unit.dispose()
  }

  @Test func aScheduledVolumeOfTheMatrixBeginsAtItsFrame() throws {
    let unit = try make(.matrixMixer)
    try unit.setFormat(planar(1), .input, 0)
    try unit.setFormat(planar(1), .output, 0)
    try unit.setCallback(steps, nil, 0)
    expectEqual(unit.set(0, 0.25, element: 0), 0)
    try unit.initialize()
    let renderer = Renderer(unit)
    _ = try renderer.render(100)
    expectEqual(
      unit.render.pointee.schedule(
        0, scope: 0, element: 0, start: 37, frames: 0, from: 1, to: 1), 0)
    let found = try renderer.render(100)[0]
    expectTrue(found[..<37].allSatisfy { $0 == 0.25 } && found[37...].allSatisfy { $0 == 1 })
    unit.dispose()
  }

  /// The first render has the gains that were set before it, not a way to them. So has the first one with
  /// sound after silence.
  @Test func theMatrixBeginsAtItsVolumes() throws {
    let unit = try make(.matrixMixer)
    try unit.setFormat(planar(1), .input, 0)
    try unit.setFormat(planar(1), .output, 0)
    try unit.setCallback(steps, nil, 0)
    expectEqual(unit.set(0, 0.5, element: 0), 0)
    try unit.initialize()
    let renderer = Renderer(unit)
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0.5 })
    try unit.setCallback(
      { _, flags, _, _, _, _ in
        flags.pointee |= UInt32(cue_render_is_silent)
        return 0
      }, nil, 0)
    expectEqual(unit.set(0, 0.125, element: 0), 0)
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0 })
    // A source that fails is left out.
    try unit.setCallback(
      { data, flags, time, bus, frames, list in
        _ = steps(data, flags, time, bus, frames, list)
        return 1234
      }, nil, 0)
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0 } && renderer.status == 0)
    try unit.setCallback(steps, nil, 0)
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0.125 })
    unit.dispose()
  }

  @Test(
    arguments: [
      (0, 0), (90, 0), (-90, 0), (45, 0), (90, 60), (30, -30), (180, 0),
    ] as [(Double, Double)])
  func aDirectionHasItsGainsAndOnePower(azimuth: Double, elevation: Double) throws {
    let unit = try make(.spatialMixer)
    try unit.setBusCount(1, .input)
    try unit.setFormat(planar(1), .input, 0)
    try unit.setFormat(planar(2), .output, 0)
    try unit.setCallback(steps, nil, 0)
    expectTrue(
      unit.set(0, Float(azimuth), scope: 1) == 0 && unit.set(1, Float(elevation), scope: 1) == 0)
    expectEqual(unit.set(3, -6, scope: 1), 0)
    try unit.initialize()
    let found = try Renderer(unit).render(32).map { Double($0[31]) }
    let side = sin(azimuth * .pi / 180) * cos(elevation * .pi / 180)
    let gain = pow(10, -6.0 / 20)
    let angle = (side + 1) * .pi / 4
    expectTrue(abs(found[0] - gain * cos(angle)) < 1e-6 && abs(found[1] - gain * sin(angle)) < 1e-6)
    unit.dispose()
  }

  @Test func aSoundGetsSofterWithItsDistance() throws {
    let unit = try require(try make(.embeddedSpatialMixer) as? MixerUnit)
    expectEqual(unit.busCount(.input), 64)
    try unit.setBusCount(1, .input)
    try unit.setFormat(planar(1), .input, 0)
    try unit.setFormat(planar(2), .output, 0)
    try unit.setCallback(steps, nil, 0)
    try unit.initialize()
    let renderer = Renderer(unit)
    let centre = Float(0.5).squareRoot()
    for (distance, wanted) in [(0, 1), (1, 1), (4, 0.25), (2000, 0.001), (10_000, 0.001)]
      as [(Float, Float)]
    {
      expectEqual(unit.set(2, distance, scope: 1), 0)
      _ = try renderer.render(16)
      expectTrue(abs(try renderer.render(16)[0][0] - wanted * centre) < 1e-6, "\(distance) m")
    }
    unit.setDistance(DistanceRange(reference: 2, most: 20, attenuation: 6), ofBus: 0)
    for (distance, wanted) in [(2, 1), (3, 2.0 / 3), (100, pow(10, -0.3))] as [(Float, Float)] {
      expectEqual(unit.set(2, distance, scope: 1), 0)
      _ = try renderer.render(16)
      expectTrue(abs(try renderer.render(16)[0][0] - wanted * centre) < 1e-6, "\(distance) m")
    }
    // From the farthest distance on it gets no softer.
    unit.setDistance(DistanceRange(reference: 1, most: 10, attenuation: 60), ofBus: 0)
    expectEqual(unit.set(2, 100, scope: 1), 0)
    _ = try renderer.render(16)
    expectTrue(abs(try renderer.render(16)[0][0] - 0.1 * centre) < 1e-6)
    expectEqual(unit.set(5, 0, scope: 1), 0)
    _ = try renderer.render(16)
    try expectEqual(renderer.render(16)[0][0], 0)
    unit.dispose()
  }

  @Test func metersShowLevelsBeforeAndAfterTheGains() throws {
    let unit = try make(.multiChannelMixer)
    try unit.setFormat(planar(2), .input, 0)
    try unit.setFormat(planar(2), .output, 0)
    try unit.setCallback(steps, nil, 0)
    expectTrue(unit.set(0, 0.5, scope: 1) == 0 && unit.set(0, 0.25, scope: 2) == 0)
    try unit.initialize()
    let renderer = Renderer(unit)
    _ = try renderer.render(512)
    expectEqual(unit.value(1000, scope: 1), -120)
    unit.setMetering(true, .input, bus: 0)
    unit.setMetering(true, .output, bus: 0)
    expectEqual(unit.isMetering(.input, bus: 0), true)
    for _ in 0..<300 { _ = try renderer.render(512) }
    func level(_ value: Double) -> Float { Float(20 * log10(value)) }
    let wanted: [(UInt32, UInt32, Double)] = [
      (1, 1000, 1), (1, 1001, 2), (1, 2001, 2), (1, 3000, 0.5), (1, 3001, 1), (1, 4001, 1),
      (2, 1000, 0.5), (2, 3000, 0.125), (2, 4001, 0.25),
    ]
    for (scope, id, value) in wanted {
      let found = try require(unit.value(id, scope: scope))
      expectTrue(abs(found - level(value)) < 0.05, "\(id) of scope \(scope): \(found)")
    }
    // Programs only read them, and there are as many as channels.
    expectEqual(unit.set(1000, 0, scope: 1), RenderError.invalidParameter)
    expectNil(unit.value(1002, scope: 1))
    // A held peak falls by 20 dB in a second.
    try unit.setCallback(
      { _, flags, _, _, _, _ in
        flags.pointee |= UInt32(cue_render_is_silent)
        return 0
      }, nil, 0)
    for _ in 0..<48 { _ = try renderer.render(1000) }
    let fallen = try require(unit.value(2001, scope: 1))
    expectTrue(abs(fallen - (level(2) - 20)) < 0.1, "\(fallen)")
    unit.setMetering(false, .input, bus: 0)
    _ = try renderer.render(512)
    expectEqual(unit.value(1000, scope: 1), -120)
    unit.dispose()
  }

  @Test func metersOfTheMatrixShowEachChannel() throws {
    let unit = try make(.matrixMixer)
    try unit.setFormat(planar(2), .input, 0)
    try unit.setFormat(planar(1), .output, 0)
    try unit.setCallback(steps, nil, 0)
    // Channels of 1 and 2, halved and quartered; the crossings add them to an eighth.
    expectEqual(unit.set(0, 0.5, scope: 1, element: 0), 0)
    expectEqual(unit.set(0, 0.25, scope: 1, element: 1), 0)
    for input in 0..<2 as Range<UInt32> { expectEqual(unit.set(0, 0.125, element: input << 16), 0) }
    // Buses of a matrix's meters are channels.
    for channel in 0..<2 { unit.setMetering(true, .input, bus: channel) }
    unit.setMetering(true, .output, bus: 0)
    try unit.initialize()
    let renderer = Renderer(unit)
    for _ in 0..<300 { _ = try renderer.render(512) }
    let wanted: [(scope: UInt32, channel: UInt32, id: UInt32, value: Double)] = [
      (1, 0, 1000, 1), (1, 1, 2000, 2), (1, 0, 3000, 0.5), (1, 1, 4000, 0.5),
      (2, 0, 1000, 0.125), (2, 0, 4000, 0.125),
    ]
    for (scope, channel, id, value) in wanted {
      let found = try require(unit.value(id, scope: scope, element: channel))
      expectTrue(
        abs(found - Float(20 * log10(value))) < 0.05, "\(id) of \(scope), \(channel): \(found)")
    }
    unit.dispose()
  }

  @Test func rendersOfMixersAllocateNothing() throws {
    try require(cue_probe_works() || isSanitized)
    for kind in [UnitKind.matrixMixer, .spatialMixer, .multiChannelMixer] {
      let unit = try make(kind)
      try unit.setBusCount(2, .input)
      for bus in 0..<2 as Range<UInt32> {
        try unit.setFormat(planar(2), .input, bus)
        try unit.setCallback(steps, nil, bus)
        unit.setMetering(true, .input, bus: Int(bus))
      }
      unit.setMetering(true, .output, bus: 0)
      try unit.initialize()
      let counts = try countingCalls(unit)
      expectEqual(counts, 0, "\(kind)")
      unit.dispose()
    }
  }
}
