import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// The mixer of an engine, and what hears an output.
@Suite struct EngineMixerTests {
  private func mixer(_ inputs: [Int], output: Int) throws -> EngineMixerUnit {
    let unit = try EngineMixerUnit("mixer", inputs: inputs.count)
    try unit.setOutputFormat(planar(output))
    for (bus, channels) in inputs.enumerated() {
      try unit.setFormat(planar(channels), .input, UInt32(bus))
      try unit.setCallback(steps, nil, UInt32(bus))
    }
    try unit.initialize()
    return unit
  }

  @Test(
    arguments: [
      (1, 2, [1, 1]), (2, 1, [1.5]), (2, 4, [1, 2, 0, 0]), (4, 4, [1, 2, 3, 4]),
      (4, 2, [1 + 3 * 0.70710677, 2 + 4 * 0.70710677]),
      // Left, right, centre, low frequencies, and the pair behind.
      (6, 2, [1 + (3 + 5) * 0.70710677, 2 + (3 + 6) * 0.70710677]),
      (6, 1, [(1 + 2) * 0.5 + 3 * 0.70710677 + (5 + 6) * 0.35355338]), (1, 1, [1]),
    ] as [(Int, Int, [Float])])
  func channelsAreMixedDown(_ inputs: Int, _ outputs: Int, _ wanted: [Float]) throws {
    let found = try Renderer(mixer([inputs], output: outputs)).render(64)
    for channel in 0..<outputs {
      expectTrue(
        found[channel].allSatisfy { abs($0 - wanted[channel]) < 1e-5 }, "\(found[channel][0])")
    }
  }

  @Test func volumesMoveInAStraightLine() throws {
    let unit = try mixer([1, 1], output: 2)
    unit.level(ofInput: 0).pointee.set(volume: 0.5)
    unit.level(ofInput: 1).pointee.set(pan: -1)
    let renderer = Renderer(unit)
    var found = try renderer.render(64)
    expectEqual(found[0], Array(repeating: 1.5, count: 64))
    expectEqual(found[1], Array(repeating: 0.5, count: 64))
    unit.outputLevel.pointee.set(volume: 0)
    found = try renderer.render(64)
    for i in 0..<64 { expectTrue(abs(found[0][i] - 1.5 * (1 - Float(i + 1) / 64)) < 1e-6) }
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0 })
  }

  /// A mixer that would only copy lets its source render for it, until its volume changes or the source fails.
  @Test func aMixerThatChangesNothingPassesItsSourceOn() throws {
    let source = try mixer([1], output: 1)
    let converter = try mixer([1], output: 1)
    try converter.connect(source, output: 0, to: 0)
    let renderer = Renderer(converter)
    for _ in 0..<3 { try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64)) }
    expectEqual(converter.render.pointee.latestTime?.sampleTime, 128)
    converter.level(ofInput: 0).pointee.set(volume: 0)
    let fade = try renderer.render(64)[0]
    for i in 0..<64 { expectTrue(abs(fade[i] - (1 - Float(i + 1) / 64)) < 1e-6) }
    converter.level(ofInput: 0).pointee.set(volume: 1)
    for _ in 0..<2 { _ = try renderer.render(64) }
    try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
    try expectEqual(countingCalls(converter), 0)
    source.uninitialize()
    try expectEqual(renderer.render(64)[0], Array(repeating: 0, count: 64))
    expectEqual(renderer.status, 0)
  }

  /// Inputs are added while the unit renders; those before them go on.
  @Test func inputsAreAddedBetweenRenders() throws {
    let unit = try mixer([2], output: 2)
    let renderer = Renderer(unit)
    try expectEqual(renderer.render(64)[0][63], 1)
    try unit.provideInput(99)
    expectEqual(unit.busCount(.input), 100)
    try unit.setCallback(steps, nil, 99)
    try expectEqual(renderer.render(64)[0], Array(repeating: 2, count: 64))
    #expect(throws: UnitError.self) { try unit.provideInput(1024) }
    try expectEqual(countingCalls(unit), 0)
  }

  // MARK: Taps

  private final class Heard: Sendable {
    let pieces = Mutex<[TapPiece]>([])
    var samples: [Float] { pieces.withLock { $0.flatMap { $0.channels[0] } } }
  }

  /// Two mixers take one source: the tap hears each frame once.
  @Test func aTapHearsEachFrameOnce() throws {
    let player = try BufferPlayerUnit("player")
    try player.setFormat(planar(1), .output, 0)
    let (first, second) = (try mixer([1], output: 1), try mixer([1], output: 1))
    let sum = try mixer([1, 1], output: 1)
    for unit in [first, second] { try unit.connect(player, output: 0, to: 0) }
    try sum.connect(first, output: 0, to: 0)
    try sum.connect(second, output: 0, to: 1)
    let thread = EngineThread(named: "test tap")
    defer { thread.end() }
    let heard = Heard()
    let tap = OutputTap(channels: 1, sampleRate: 48000, size: 100, frames: 4096, on: thread) {
      piece in heard.pieces.withLock { $0.append(piece) }
    }
    thread.add(tap)
    try player.setTap(tap, onOutput: 0)
    try player.initialize()
    let memory = BufferMemory(try planar(1), capacity: 1000)
    let samples = cue_rt_buffers(memory.list)[0].data!.assumingMemoryBound(to: Float.self)
    for i in 0..<1000 { samples[i] = Float(i) }
    player.schedule(ScheduledSound(.samples(memory.list, memory.format, frames: 1000, memory)))
    player.play(.nextRender)
    let renderer = Renderer(sum, from: 500)
    for frames in [64, 300, 36, 600] { _ = try renderer.render(frames) }
    expectTrue(waits { heard.samples.count == 1000 })
    expectEqual(heard.samples, (0..<1000).map { Float($0) })
    let times = heard.pieces.withLock { $0.map { Int($0.sampleTime) } }
    expectEqual(times, Array(stride(from: 500, to: 1500, by: 100)))
    tap.remove()
    _ = try renderer.render(200)
    expectEqual(heard.samples.count, 1000)
  }

  /// A piece never goes over a jump of the time.
  @Test func aJumpOfTheTimeEndsAPiece() throws {
    let unit = try mixer([1], output: 1)
    let thread = EngineThread(named: "test tap")
    defer { thread.end() }
    let heard = Heard()
    let tap = OutputTap(channels: 1, sampleRate: 48000, size: 100, frames: 4096, on: thread) {
      piece in heard.pieces.withLock { $0.append(piece) }
    }
    thread.add(tap)
    try unit.setTap(tap, onOutput: 0)
    _ = try Renderer(unit, from: 0).render(150)
    _ = try Renderer(unit, from: 1000).render(150)
    expectTrue(waits { heard.pieces.withLock { $0.count } == 3 })
    heard.pieces.withLock { pieces in
      expectEqual(pieces.map(\.sampleTime), [0, 100, 1000])
      expectEqual(pieces.map { $0.channels[0].count }, [100, 50, 100])
    }
    try expectEqual(countingCalls(unit), 0)
  }
}
