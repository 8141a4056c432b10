import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// The player of an engine, driven by hand.
@Suite struct BufferPlayerTests {
  /// A player of one channel at 48,000 Hz, with its thread, and the handlers that were called.
  private final class Bench: Sendable {
    let unit: BufferPlayerUnit
    let thread = EngineThread(named: "test player")
    let ends = Mutex<[Int]>([])

    init() throws {
      unit = try BufferPlayerUnit("player")
      try unit.setFormat(planar(1), .output, 0)
      try unit.initialize()
      unit.setThreads(thread, reading: nil)
    }

    deinit { thread.end() }

    /// Schedules samples that count up from `first`.
    func schedule(
      _ frames: Int, from first: Float, at start: BufferStart = .next, loops: Bool = false,
      turn: BufferTurn = .queued, _ number: Int = 0
    ) throws {
      let memory = BufferMemory(try planar(1), capacity: max(1, frames))
      memory.reset(frames: frames)
      let samples = cue_rt_buffers(memory.list)[0].data!.assumingMemoryBound(to: Float.self)
      for i in 0..<frames { samples[i] = first + Float(i) }
      var sound = ScheduledSound(.samples(memory.list, memory.format, frames: frames, memory))
      (sound.start, sound.loops, sound.turn) = (start, loops, turn)
      sound.handler = { [weak self] in self?.ends.withLock { $0.append(number) } }
      unit.schedule(sound)
    }

    func hasEnded(_ numbers: [Int]) -> Bool { waits { ends.withLock { $0 } == numbers } }
  }

  private func ramp(_ first: Int, _ count: Int) -> [Float] { (0..<count).map { Float(first + $0) } }
  private func silence(_ count: Int) -> [Float] { Array(repeating: 0, count: count) }

  @Test func buffersFollowEachOtherAndBeginAtTheirFrames() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit, from: 10_000)
    try bench.schedule(100, from: 1000, 0)
    try bench.schedule(50, from: 2000, 1)
    try bench.schedule(100, from: 3000, at: .frame(300), 2)
    // Too early: it begins behind the one before.
    try bench.schedule(100, from: 4000, at: .frame(320), 3)
    try expectEqual(renderer.render(64)[0], silence(64), "the clock does not run")
    bench.unit.play(.nextRender)
    var found: [Float] = []
    for frames in [64, 7, 256, 200] { found += try renderer.render(frames)[0] }
    let wanted =
      ramp(1000, 100) + ramp(2000, 50) + silence(150) + ramp(3000, 100) + ramp(4000, 100)
      + silence(27)
    expectEqual(found, wanted)
    expectTrue(bench.hasEnded([0, 1, 2, 3]))
    let clock = try require(bench.unit.clock)
    expectEqual(clock.sampleTime - Double(clock.frame), 10_064)
  }

  @Test func startsAreKeptToTheFrame() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit, from: 0)
    try bench.schedule(100, from: 1000)
    bench.unit.play(.sample(150))
    try expectEqual(renderer.render(100)[0], silence(100))
    expectEqual(bench.unit.clock?.frame, -150)
    try expectEqual(renderer.render(100)[0], silence(50) + ramp(1000, 50))
    try expectEqual(renderer.render(100)[0], ramp(1050, 50) + silence(50))
    // A moment that is past is the present one.
    bench.unit.stop()
    try bench.schedule(100, from: 2000)
    bench.unit.play(.sample(20))
    try expectEqual(renderer.render(100)[0], ramp(2000, 100))
  }

  @Test func aPauseHoldsTheClock() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    try bench.schedule(600, from: 1000)
    try bench.schedule(100, from: 5000, at: .frame(1000))
    bench.unit.play(.nextRender)
    try expectEqual(renderer.render(500)[0], ramp(1000, 500))
    bench.unit.pause()
    expectNil(bench.unit.clock)
    try expectEqual(renderer.render(1000)[0], silence(1000))
    bench.unit.play(.nextRender)
    try expectEqual(
      renderer.render(700)[0], ramp(1500, 100) + silence(400) + ramp(5000, 100) + silence(100)
    )
  }

  @Test func aLoopGoesOnUntilItIsInterruptedAtItsEnd() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    try bench.schedule(1000, from: 1, loops: true, 0)
    bench.unit.play(.nextRender)
    var found: [Float] = []
    for _ in 0..<3 { found += try renderer.render(512)[0] }
    expectEqual(found, ramp(1, 1000) + ramp(1, 536))
    try bench.schedule(100, from: 5000, turn: .interruptsAtLoop, 1)
    found = []
    for _ in 0..<2 { found += try renderer.render(512)[0] }
    expectEqual(found, ramp(537, 464) + ramp(5000, 100) + silence(460))
    expectTrue(bench.hasEnded([0, 1]))
  }

  @Test func anInterruptEndsAllThatWasScheduled() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    for i in 0..<5 { try bench.schedule(1000, from: 1, loops: i == 2, i) }
    bench.unit.play(.nextRender)
    try expectEqual(renderer.render(512)[0], ramp(1, 512))
    try bench.schedule(100, from: 5000, turn: .interrupts, 5)
    try expectEqual(renderer.render(512)[0], ramp(5000, 100) + silence(412))
    expectTrue(bench.hasEnded([0, 1, 2, 3, 4, 5]))
    // At a frame of its own, inside a render.
    try bench.schedule(5000, from: 1, 6)
    try bench.schedule(100, from: 7000, at: .frame(1224), turn: .interrupts, 7)
    try expectEqual(renderer.render(512)[0], ramp(1, 200) + ramp(7000, 100) + silence(212))
    expectTrue(bench.hasEnded([0, 1, 2, 3, 4, 5, 6, 7]))
  }

  @Test func fiveThousandBuffersPlayAndEndInOrder() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    for i in 0..<5000 { try bench.schedule(64, from: Float(64 * i), i) }
    bench.unit.play(.nextRender)
    var found: [Float] = []
    while found.count < 320_000 { found += try renderer.render(4000)[0] }
    expectEqual(found, ramp(0, 320_000))
    expectTrue(bench.hasEnded(Array(0..<5000)))
  }

  @Test func aStopEndsEachBufferOnce() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    for i in 0..<5000 { try bench.schedule(64, from: Float(64 * i), i) }
    bench.unit.play(.nextRender)
    for _ in 0..<40 { _ = try renderer.render(4000) }
    bench.unit.stop()
    expectTrue(!bench.unit.isPlaying)
    expectTrue(bench.hasEnded(Array(0..<5000)))
    try expectEqual(renderer.render(64)[0], silence(64))
    // The clock begins anew.
    try bench.schedule(10, from: 7, at: .frame(5), 5000)
    bench.unit.play(.nextRender)
    try expectEqual(renderer.render(20)[0], silence(5) + ramp(7, 10) + silence(5))
    expectTrue(bench.hasEnded(Array(0...5000)))
  }

  /// Without a render: nothing tells the player.
  @Test func aStopEndsWhatHasNeverPlayed() throws {
    let bench = try Bench()
    for round in 0..<3 {
      for i in 0..<3 { try bench.schedule(64, from: 0, 3 * round + i) }
      bench.unit.stop()
    }
    expectTrue(bench.hasEnded(Array(0..<9)))
  }

  @Test func aHandlerMayStopThePlayer() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    var sound = ScheduledSound(
      .samples(BufferMemory.allocateList(buffers: 1), try planar(1), frames: 0, bench))
    sound.handler = { [unit = bench.unit] in unit.stop() }
    bench.unit.schedule(sound)
    for i in 0..<10 { try bench.schedule(64, from: 0, i) }
    bench.unit.play(.nextRender)
    _ = try renderer.render(64)
    expectTrue(bench.hasEnded(Array(0..<10)))
  }

  /// The engine's stop: what is scheduled goes on, the clock begins anew.
  @Test func aHaltKeepsWhatIsScheduled() throws {
    let bench = try Bench()
    let renderer = Renderer(bench.unit)
    try bench.schedule(600, from: 1000, 0)
    bench.unit.play(.nextRender)
    _ = try renderer.render(200)
    bench.unit.halt()
    try expectEqual(renderer.render(200)[0], silence(200))
    // Without a render between.
    bench.unit.play(.nextRender)
    bench.unit.halt()
    bench.unit.play(.nextRender)
    try expectEqual(renderer.render(500)[0], ramp(1200, 400) + silence(100))
    expectEqual(bench.unit.clock?.frame, 0)
  }

  @Test func rendersCallNothingThatWaits() throws {
    let bench = try Bench()
    for i in 0..<500 { try bench.schedule(64, from: 0, loops: i == 400, i) }
    bench.unit.play(.nextRender)
    try expectEqual(countingCalls(bench.unit), 0)
  }

  /// A part of a file and buffers keep their order, and the file is read ahead.
  @Test func filesAndBuffersKeepTheirOrder() throws {
    final class Counting: PlayerFile, @unchecked Sendable {
      let sampleRate = 48000.0
      private var next: Int64 = 0
      func seek(to frame: Int64) { next = frame }
      func read(_ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int) -> Int {
        let count = max(0, min(frames, Int(100_000 - next)))
        let samples = cue_rt_buffers(list)[0].data!.assumingMemoryBound(to: Float.self)
        for i in 0..<count { samples[i] = Float(next + Int64(i)) }
        next += Int64(count)
        return count
      }
    }
    let bench = try Bench()
    bench.unit.setThreads(bench.thread, reading: bench.thread)
    bench.unit.isConnected()
    let renderer = Renderer(bench.unit)
    func schedule(_ first: Int64, _ frames: Int64?, _ number: Int) {
      var sound = ScheduledSound(
        .file(firstFrame: first, frames: frames) { _ in Counting() })
      sound.handler = { bench.ends.withLock { $0.append(number) } }
      bench.unit.schedule(sound)
    }
    try bench.schedule(10, from: 1, 0)
    schedule(20_000, nil, 1)
    try bench.schedule(10, from: 1, 2)
    schedule(5, 10, 3)
    // Longer than the file.
    schedule(99_990, 50, 4)
    try bench.schedule(10, from: 1, 5)
    bench.unit.play(.nextRender)
    var found: [Float] = []
    while found.count < 81_000 {
      bench.unit.readAhead()
      found += try renderer.render(1000)[0]
    }
    let one = ramp(1, 10)
    let sound = one + ramp(20_000, 80_000) + one + ramp(5, 10) + ramp(99_990, 10) + one
    expectEqual(found, sound + silence(81_000 - sound.count))
    expectTrue(bench.hasEnded([0, 1, 2, 3, 4, 5]))
  }
}
