import CProbe
import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// The generators that play samples and files of the app.
@Suite struct PlayerTests {
  /// Samples that count up, the first one being `first`.
  private final class Samples: @unchecked Sendable {
    let memory: BufferMemory
    init(_ frames: Int, from first: Float, channels: Int = 1) throws {
      memory = BufferMemory(try planar(channels), capacity: frames)
      let buffers = cue_rt_buffers(memory.list)
      for channel in 0..<channels {
        let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
        for i in 0..<frames { samples[i] = first + Float(i) + Float(channel) / 2 }
      }
    }
  }

  private func player() throws -> PlayerUnit {
    let unit = try require(try make(.soundPlayer) as? PlayerUnit)
    try unit.setFormat(planar(1), .output, 0)
    try unit.initialize()
    return unit
  }

  /// Renders in parts of different lengths.
  private func frames(_ unit: AudioUnits.Unit, _ count: Int, _ renderer: Renderer) throws -> [Float]
  {
    var found: [Float] = []
    var part = 0
    while found.count < count {
      found += try renderer.render(min([64, 100, 7, 256][part % 4], count - found.count))[0]
      part += 1
    }
    return found
  }

  @Test func slicesBeginAtTheirFrames() throws {
    let unit = try player()
    let events = Mutex<[String]>([])
    let slices = try (0..<4).map { try Samples(100, from: Float(1000 * ($0 + 1))) }
    // The second one right behind the first, the third at its frame, the last one too early.
    for (i, start) in ([10, nil, 300, 350] as [Int64?]).enumerated() {
      try unit.play(slices[i].memory.list, frames: 100, start: start) { kind in
        events.withLock { $0.append("\(i) \(kind)") }
      }
    }
    let renderer = Renderer(unit, from: 5000)
    expectTrue(try frames(unit, 200, renderer).allSatisfy { $0 == 0 } && unit.playedFrames == nil)
    try unit.start(.sample(5250))
    let found = try frames(unit, 600, renderer)
    var wanted = [Float](repeating: 0, count: 600)
    // The start is at frame 50 of these.
    for (first, value) in [(60, 1000), (160, 2000), (350, 3000), (450, 4050)] {
      for i in 0..<(value % 1000 == 0 ? 100 : 50) { wanted[first + i] = Float(value + i) }
    }
    expectEqual(found, wanted)
    expectEqual(unit.playedFrames, 550)
    let all = [
      "0 began", "0 ended", "1 began", "1 ended", "2 began", "2 ended", "3 beganLate", "3 ended",
    ]
    expectTrue(waits { events.withLock { $0 } == all }, "\(events.withLock { $0 })")
    unit.dispose()
  }

  /// A slice that the one before it covers is late from its first frame to its last, and moves no other.
  @Test func aSliceWithinAnotherIsLeftOut() throws {
    let unit = try player()
    let events = Mutex<[String]>([])
    let slices = try (0..<3).map { try Samples(100, from: Float(1000 * ($0 + 1))) }
    let parts: [(start: Int64?, frames: Int)] = [(0, 100), (10, 20), (nil, 50)]
    for (i, part) in parts.enumerated() {
      try unit.play(slices[i].memory.list, frames: part.frames, start: part.start) { kind in
        events.withLock { $0.append("\(i) \(kind)") }
      }
    }
    try unit.start(.nextRender)
    let found = try frames(unit, 200, Renderer(unit))
    let wanted =
      [1000..<1100, 3000..<3050].joined().map { Float($0) }
      + [Float](repeating: 0, count: 50)
    expectEqual(found, wanted)
    let all = ["0 began", "0 ended", "1 beganLate", "1 ended", "2 began", "2 ended"]
    expectTrue(waits { events.withLock { $0 } == all }, "\(events.withLock { $0 })")
    unit.dispose()
  }

  /// A slice that plays begins again with another start.
  @Test func anotherStartBeginsAgain() throws {
    let unit = try player()
    let events = Mutex<[String]>([])
    let samples = try Samples(100, from: 1)
    try unit.play(samples.memory.list, frames: 100, start: 5) { kind in
      events.withLock { $0.append("\(kind)") }
    }
    try unit.start(.nextRender)
    let renderer = Renderer(unit)
    try expectEqual(renderer.render(55)[0][54], 50)
    try unit.start(.nextRender)
    let found = try renderer.render(150)[0]
    expectEqual(
      found,
      [Float](repeating: 0, count: 5) + (1...100).map(Float.init)
        + [Float](repeating: 0, count: 45))
    expectTrue(waits { events.withLock { $0 } == ["began", "began", "ended"] })
    unit.dispose()
  }

  @Test func aPlayerStartsWithTheNextRenderOrAtAHostTime() throws {
    let unit = try player()
    let samples = try Samples(50, from: 1)
    try unit.play(samples.memory.list, frames: 50, start: 0) { _ in }
    try unit.start(.nextRender)
    try expectEqual(Renderer(unit, from: 777).render(50)[0], (1...50).map(Float.init))
    _ = unit.render.pointee.reset()
    try unit.play(samples.memory.list, frames: 50, start: 0) { _ in }
    // A millisecond after the first frame.
    try unit.start(.host(5_001_000_000))
    let list = BufferMemory.allocateList(buffers: 1)
    defer { list.deallocate() }
    list.pointee.count = 1
    cue_rt_buffers(list)[0] = cue_buffer(channels: 1, bytes: 400, data: nil)
    var time = cue_time_stamp()
    time.flags = UInt32(cue_time_has_sample | cue_time_has_host)
    time.host_time = 5_000_000_000
    var flags: UInt32 = 0
    expectEqual(unit.render.pointee.render(&flags, &time, bus: 0, frames: 100, list), 0)
    let found = cue_rt_buffers(list)[0].data!.assumingMemoryBound(to: Float.self)
    expectTrue(found[47] == 0 && found[48] == 1 && found[97] == 50 && found[98] == 0)
    unit.dispose()
  }

  @Test func aResetRemovesSlicesAndTheStart() throws {
    let unit = try player()
    let events = Mutex<[String]>([])
    let samples = try Samples(100, from: 1)
    for i in 0..<3 {
      try unit.play(samples.memory.list, frames: 100, start: nil) { kind in
        events.withLock { $0.append("\(i) \(kind)") }
      }
    }
    try unit.start(.nextRender)
    let renderer = Renderer(unit)
    try expectEqual(renderer.render(150)[0][149], 50)
    _ = unit.render.pointee.reset()
    // What comes after the reset stays.
    try unit.play(samples.memory.list, frames: 100, start: 20) { _ in }
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0 })
    expectTrue(waits { events.withLock { $0.suffix(2) == ["1 cancelled", "2 cancelled"] } })
    try unit.start(.nextRender)
    let found = try renderer.render(64)[0]
    expectTrue(found[19] == 0 && found[20] == 1 && found[63] == 44)
    unit.dispose()
  }

  /// Slices and starts that no render has taken over are removed, too.
  @Test func aResetBeforeARenderRemovesWhatWasAskedFor() throws {
    let unit = try player()
    let events = Mutex<[String]>([])
    let samples = try Samples(100, from: 1)
    try unit.play(samples.memory.list, frames: 100, start: 0) { kind in
      events.withLock { $0.append("0 \(kind)") }
    }
    try unit.start(.nextRender)
    _ = unit.render.pointee.reset()
    try unit.play(samples.memory.list, frames: 100, start: 10) { kind in
      events.withLock { $0.append("1 \(kind)") }
    }
    let renderer = Renderer(unit)
    expectTrue(try renderer.render(64)[0].allSatisfy { $0 == 0 })
    expectTrue(waits { events.withLock { $0 == ["0 cancelled"] } })
    try unit.start(.nextRender)
    let found = try renderer.render(64)[0]
    expectTrue(found[..<10].allSatisfy { $0 == 0 } && found[10] == 1 && found[63] == 54)
    unit.dispose()
  }

  /// A buffer may hold less than the slice has: the rest is silence.
  @Test func aShortBufferIsFollowedBySilence() throws {
    let unit = try player()
    let samples = try Samples(100, from: 1)
    cue_rt_buffers(samples.memory.list)[0].bytes = 4 * 30
    try unit.play(samples.memory.list, frames: 100, start: 0) { _ in }
    try unit.start(.nextRender)
    let renderer = Renderer(unit)
    var found: [Float] = []
    for _ in 0..<6 { found += try renderer.render(20)[0] }
    expectEqual(found, (1...30).map(Float.init) + [Float](repeating: 0, count: 90))
    unit.dispose()
  }

  /// Without sample times, each render goes on where the one before ended.
  @Test func aPlayerNeedsNoSampleTimes() throws {
    let unit = try player()
    let samples = try Samples(200, from: 1)
    try unit.play(samples.memory.list, frames: 200, start: 0) { _ in }
    try unit.start(.nextRender)
    let list = BufferMemory.allocateList(buffers: 1)
    defer { list.deallocate() }
    var found: [Float] = []
    for _ in 0..<3 {
      list.pointee.count = 1
      cue_rt_buffers(list)[0] = cue_buffer(channels: 1, bytes: 400, data: nil)
      var time = cue_time_stamp()
      var flags: UInt32 = 0
      expectEqual(unit.render.pointee.render(&flags, &time, bus: 0, frames: 50, list), 0)
      let memory = cue_rt_buffers(list)[0].data!.assumingMemoryBound(to: Float.self)
      found += (0..<50).map { memory[$0] }
    }
    expectEqual(found, (1...150).map(Float.init))
    unit.dispose()
  }

  @Test func rendersOfPlayersAllocateNothing() throws {
    try require(cue_probe_works() || isSanitized)
    let unit = try player()
    let samples = try Samples(200, from: 1)
    for _ in 0..<40 { try unit.play(samples.memory.list, frames: 200, start: nil) { _ in } }
    try unit.start(.nextRender)
    try expectEqual(countingCalls(unit), 0)
    unit.dispose()
  }

  @Test func onlySoManySlicesWait() throws {
    let unit = try player()
    let samples = try Samples(1, from: 1)
    for _ in 0..<SlicePlayer.capacity {
      try unit.play(samples.memory.list, frames: 1, start: nil) { _ in }
    }
    #expect(throws: UnitError.self) {
      try unit.play(samples.memory.list, frames: 1, start: nil) { _ in }
    }
    unit.dispose()
  }

  /// A file whose frames have their own numbers as samples.
  private final class CountingFile: PlayerFile, @unchecked Sendable {
    let sampleRate = 48000.0
    let length: Int64
    private let next = Mutex<Int64>(0)
    let reads = Mutex(0)
    init(_ length: Int64) { self.length = length }
    func seek(to frame: Int64) { next.withLock { $0 = frame } }
    func read(_ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int) -> Int {
      reads.withLock { $0 += 1 }
      return next.withLock { next in
        let count = max(0, min(frames, Int(length - next)))
        let samples = cue_rt_buffers(list)[0].data!.assumingMemoryBound(to: Float.self)
        for i in 0..<count { samples[i] = Float(next) + Float(i) }
        next += Int64(count)
        return count
      }
    }
  }

  /// A region behind the end of its file is over at once, however often it is repeated.
  @Test func aRegionWithoutFramesEnds() throws {
    let unit = try require(try make(.filePlayer) as? FilePlayerUnit)
    try unit.setFormat(planar(1), .output, 0)
    let ends = Mutex<[String]>([])
    let file = CountingFile(2000)
    let region = PlayerRegion(file, start: 0, firstFrame: 3000, frames: nil, loops: 1000)
    try unit.play(region) { end in ends.withLock { $0.append("\(end)") } }
    expectTrue(ends.withLock { $0 } == ["played"] && file.reads.withLock { $0 } == 1)
    unit.dispose()
  }

  @Test func regionsOfFilesPlayWithoutGaps() throws {
    let unit = try require(try make(.filePlayer) as? FilePlayerUnit)
    try unit.setFormat(planar(1), .output, 0)
    unit.readAhead = (256, 3)
    try unit.initialize()
    let ends = Mutex<[String]>([])
    let file = CountingFile(2000)
    let regions = [
      // Twice 700 frames, then the last 500 of the file, then one at its frame.
      PlayerRegion(file, start: 30, firstFrame: 100, frames: 700, loops: 1),
      PlayerRegion(file, start: nil, firstFrame: 1500, frames: nil, loops: 0),
      PlayerRegion(file, start: 2500, firstFrame: 0, frames: 10, loops: 2),
    ]
    for (i, region) in regions.enumerated() {
      try unit.play(region) { end in ends.withLock { $0.append("\(i) \(end)") } }
    }
    try unit.start(.nextRender)
    let renderer = Renderer(unit)
    var found: [Float] = []
    while found.count < 2600 {
      found += try renderer.render(50)[0]
      // The thread reads ahead.
      let played = found.count
      expectTrue(waits { unit.readyFrames >= min(2600, played + 50) }, "\(played)")
    }
    var wanted = [Float](repeating: 0, count: 2600)
    for i in 0..<1400 { wanted[30 + i] = Float(100 + i % 700) }
    for i in 0..<500 { wanted[1430 + i] = Float(1500 + i) }
    for i in 0..<30 { wanted[2500 + i] = Float(i % 10) }
    expectEqual(found, wanted)
    expectTrue(
      waits { ends.withLock { $0 } == ["0 played", "1 played", "2 played"] },
      "\(ends.withLock { $0 })")
    unit.dispose()
  }
}
