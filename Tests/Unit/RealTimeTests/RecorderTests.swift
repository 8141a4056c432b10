import CProbe
import RealTime
import Server
import TestSupport
import Testing
import Timeline

/// A hand-driven device with one recorder, whose input carries frame numbers.
private final class Rig {
  let server: HandDrivenServer
  let device: Device
  let memory: RecorderMemory
  let owner = PassiveOwner()
  private var spaces: [UnsafeMutableBufferPointer<Float>] = []
  var recorder: UnsafeMutablePointer<Recorder> { memory.recorder }

  init(channels: Int = 1, counter: UInt32 = 0) throws {
    server = HandDrivenServer(counter: counter)
    server.hears = { frame, input in input == 1 ? Float(frame) : -Float(frame) }
    device = try Device(server, clientName: "rig")
    memory = RecorderMemory(channels: channels)
    try expectEqual(device.attach(memory, owner: owner), (1...channels).map { "in_\($0)" })
  }

  deinit {
    device.detach(memory)
    spaces.forEach { $0.deallocate() }
  }

  func start(at frame: Int64 = .min / 2) throws {
    try device.holding(memory) { recorder.pointee.start(at: StartPoint(.frame(frame))) }
  }

  /// Pushes a buffer for `frames` frames. Its token is its number, counted from 0.
  func push(_ frames: Int) {
    let space = UnsafeMutableBufferPointer<Float>.allocate(capacity: frames)
    space.initialize(repeating: .nan)
    let isTaken = recorder.pointee.spaces.push(
      Space(
        space.baseAddress!, frames: frames, layout: .float32(channels: 1),
        token: UInt32(spaces.count)))
    expectTrue(isTaken)
    spaces.append(space)
  }

  func samples(_ token: Int) -> [Float] { Array(spaces[token]) }

  func events() -> [RecordEvent] {
    var events: [RecordEvent] = []
    while let event = recorder.pointee.events.pop() { events.append(event) }
    return events
  }
}

extension RecordEvent: CustomStringConvertible {
  /// The fields that the tests compare.
  public var description: String {
    switch kind {
    case .filled: "filled \(token) with \(frames) from \(frame) at \(position)"
    case .runBegan: "began \(frame)"
    case .ranOut: "ran out \(frame)"
    case .missed: "missed \(frames) before \(frame)"
    }
  }
}

private func ramp(_ first: Int, _ count: Int) -> [Float] {
  (first..<(first + count)).map { Float($0) }
}

@Suite(.serialized) struct RecorderTests {
  @Test(arguments: PCMFormat.all(channels: 2), [0, 1, 3, 64])
  func aCycleNeitherAllocatesNorLocksNorRetains(format: PCMFormat, queued: Int) throws {
    try require(cue_probe_works() || isSanitized)
    let rig = try Rig(channels: 2)
    let layout = try require(format.layout)
    let bytes = UnsafeMutableRawBufferPointer.allocate(
      byteCount: 100 * format.bytesPerFrame, alignment: 16)
    defer { bytes.deallocate() }
    try rig.start(at: 300)
    rig.recorder.pointee.setMetering(true)
    for i in 0..<queued {
      let isTaken = rig.recorder.pointee.spaces.push(
        Space(bytes.baseAddress!, frames: 100, layout: layout, token: UInt32(i)))
      expectTrue(isTaken)
    }
    // A cycle is missed in the middle.
    try expectRealTimeCycles(of: rig.server, skippingAfter: 4)
    expectEqual(rig.events().contains { $0.kind == .ranOut }, (queued != 64))
  }

  @Test(arguments: [1, 64, 255, 256, 257, 1024], [1, 17, 64, 256])
  func aRunStartsOnTheFrame(start: Int64, period: Int) throws {
    let rig = try Rig()
    rig.push(100)
    rig.push(1)
    rig.push(399)
    try rig.start(at: start)
    while rig.server.counter < UInt32(start) + 700 { rig.server.cycle(frames: period) }
    let first = Int(start)
    expectEqual(rig.samples(0), ramp(first, 100))
    expectEqual(rig.samples(1), ramp(first + 100, 1))
    expectEqual(rig.samples(2), ramp(first + 101, 399))
    expectEqual(
      rig.events().map(\.description),
      [
        "began \(start)", "filled 0 with 100 from \(start) at 0",
        "filled 1 with 1 from \(start + 100) at 100",
        "filled 2 with 399 from \(start + 101) at 101", "ran out \(start + 500)",
      ])
  }

  @Test func aCycleInFreewheelWaitsForSpaces() throws {
    let rig = try Rig()
    rig.push(100)
    try rig.start()
    rig.server.cycle(frames: 64)
    let engine = try require(rig.server.clients.first?.bareEngine)
    func lacks(_ frames: UInt32, givingUp: Bool = false) -> Bool {
      engine.pointee.lacksBuffers(for: frames, givingUp: givingUp)
    }
    expectTrue(!lacks(64))
    engine.pointee.setFreewheeling(true)
    expectTrue(!lacks(36))
    expectTrue(lacks(37))
    rig.push(28)
    expectTrue(!lacks(64))
    expectTrue(lacks(65))
    // A wait in vain is the last one until another space is filled.
    expectTrue(!lacks(65, givingUp: true))
    expectTrue(!lacks(65))
    rig.server.cycle(frames: 64)
    expectTrue(lacks(1))
    try rig.device.holding(rig.memory) { rig.recorder.pointee.pause() }
    expectTrue(!lacks(1))
  }

  @Test func aStartThatIsPastBeginsAtOnce() throws {
    let rig = try Rig()
    rig.server.cycle(frames: 64)
    rig.push(64)
    try rig.start(at: 10)
    rig.server.cycle(frames: 64)
    expectEqual(rig.samples(0), ramp(64, 64))
  }

  @Test func eachGapIsToldOnceAndShowsInThePosition() throws {
    let rig = try Rig()
    try rig.start(at: 0)
    rig.server.cycle(frames: 64)
    rig.server.cycle(frames: 64)
    rig.push(32)
    rig.server.cycle(frames: 64)
    rig.server.cycle(frames: 64)
    rig.push(64)
    rig.server.cycle(frames: 64)
    expectEqual(
      rig.events().map(\.description),
      [
        "began 0", "ran out 0", "filled 0 with 32 from 128 at 128", "ran out 160",
        "filled 1 with 64 from 256 at 256",
      ])
    expectTrue(rig.samples(0) == ramp(128, 32) && rig.samples(1) == ramp(256, 64))
    expectEqual(rig.recorder.pointee.lostFrames.load(ordering: .relaxed), 128 + 32 + 64)
  }

  /// Missed cycles are silence within the current buffer, and a gap beyond it.
  @Test(arguments: [1, 63, 100, 172, 173, 700])
  func missedCyclesKeepTheTime(missed: Int) throws {
    let rig = try Rig()
    rig.push(300)
    rig.push(50)
    try rig.start(at: 0)
    rig.server.cycle(frames: 64)
    rig.server.cycle(frames: 64)
    rig.server.miss(frames: missed)
    for _ in 0..<5 { rig.server.cycle(frames: 64) }
    let filled = min(missed, 172)
    let after = 128 + missed
    expectEqual(
      rig.samples(0),
      ramp(0, 128) + [Float](repeating: 0, count: filled) + ramp(after, 172 - filled))
    let second = max(300, after)
    expectEqual(rig.samples(1), ramp(second, 50))
    let events = rig.events().map(\.description)
    expectTrue(events.contains("missed \(missed) before \(after)"))
    expectTrue(events.contains("filled 1 with 50 from \(second) at \(second)"))
  }

  @Test func aPauseStopsTheTimeAndKeepsTheSpace() throws {
    let rig = try Rig()
    rig.push(128)
    rig.push(10)
    try rig.start(at: 0)
    rig.server.cycle(frames: 64)
    try rig.device.holding(rig.memory) { rig.recorder.pointee.pause() }
    rig.server.cycle(frames: 64)
    try rig.start(at: 150)
    rig.server.cycle(frames: 64)
    rig.server.cycle(frames: 64)
    expectEqual(rig.samples(0), ramp(0, 64) + ramp(150, 64))
    expectEqual(
      rig.events().map(\.description),
      [
        "began 0", "filled 0 with 128 from 0 at 0", "filled 1 with 10 from 214 at 128",
        "ran out 224",
      ])
  }

  @Test func whatWasBegunIsGivenOutAtAStop() throws {
    let rig = try Rig()
    rig.push(50)
    rig.push(50)
    rig.push(50)
    try rig.start(at: 0)
    rig.server.cycle(frames: 64)
    let last = try rig.device.holding(rig.memory) { rig.recorder.pointee.stop() }
    expectEqual(last?.description, "filled 1 with 14 from 50 at 50")
    expectEqual(rig.samples(1).prefix(14), ramp(50, 14)[...])
    _ = rig.events()
    rig.server.cycle(frames: 64)
    expectTrue(rig.events().isEmpty)
    // The next run starts at 0 again.
    rig.push(10)
    try rig.start(at: 0)
    rig.server.cycle(frames: 64)
    expectEqual(
      rig.events().map(\.description),
      [
        "began 128", "filled 3 with 10 from 128 at 0", "ran out 138",
      ])
  }

  /// If the host does not read its events, no buffer is lost: the cycle takes none that it could not
  /// return.
  @Test func noSpaceIsLostIfNobodyReads() throws {
    let rig = try Rig()
    try rig.start(at: 0)
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 1)
    defer { memory.deallocate() }
    var pushed = 0
    // A gap in each cycle, and one buffer in between.
    for _ in 0..<3000 {
      rig.server.cycle(frames: 2)
      let isTaken = rig.recorder.pointee.spaces.push(
        Space(memory, frames: 1, layout: .float32(channels: 1), token: UInt32(pushed)))
      if isTaken { pushed += 1 }
    }
    expectTrue((1..<3000).contains(pushed))
    var tokens = rig.events().filter { $0.kind == .filled }.map(\.token)
    rig.server.cycle(frames: 4096)
    tokens += rig.events().filter { $0.kind == .filled }.map(\.token)
    expectEqual(tokens, (0..<UInt32(pushed)).map { $0 })
  }

  @Test func deviceTimeGoesOnWhereTheCounterWraps() throws {
    let rig = try Rig(counter: .max - 127)
    rig.push(4)
    let start = Int64(1) << 32 + 10
    try rig.start(at: start)
    for _ in 0..<3 { rig.server.cycle(frames: 64) }
    expectEqual(rig.samples(0), [10, 11, 12, 13])
    expectEqual(rig.events().first?.frame, start)
  }

  @Test func levelsAreMeasuredOnlyWhenAskedFor() throws {
    let rig = try Rig(channels: 2)
    rig.server.hears = { frame, input in (input == 1 ? 0.5 : 0.25) * (frame % 2 == 0 ? 1 : -1) }
    rig.server.cycle(frames: 64)
    expectEqual(rig.recorder.pointee.level(ofChannel: 0), Level(peak: 0, rms: 0))
    rig.recorder.pointee.setMetering(true)
    rig.server.cycle(frames: 64)
    expectEqual(rig.recorder.pointee.level(ofChannel: 0), Level(peak: 0, rms: 0), "no run")
    try rig.start()
    rig.server.cycle(frames: 64)
    expectEqual(rig.recorder.pointee.level(ofChannel: 0), Level(peak: 0.5, rms: 0.5))
    expectEqual(rig.recorder.pointee.level(ofChannel: 1), Level(peak: 0.25, rms: 0.25))
    expectEqual(rig.recorder.pointee.takePeak(ofChannel: 0), 0.5)
    try rig.device.holding(rig.memory) { rig.recorder.pointee.pause() }
    rig.server.cycle(frames: 64)
    expectEqual(rig.recorder.pointee.level(ofChannel: 0), Level(peak: 0, rms: 0), "it stands still")
    expectEqual(rig.recorder.pointee.takePeak(ofChannel: 0), 0)
  }

  /// A voice and a recorder on one device, with output and input ports.
  @Test func voicesAndRecordersShareADevice() throws {
    let rig = try Rig()
    let voice = VoiceMemory(channels: 1)
    try expectEqual(rig.device.attach(voice, owner: rig.owner), ["out_1"])
    let second = RecorderMemory(channels: 2)
    try expectEqual(rig.device.attach(second, owner: rig.owner), ["2_in_1", "2_in_2"])
    rig.push(64)
    try rig.start(at: 0)
    try rig.device.holding(voice) { voice.voice.pointee.start(at: StartPoint(.frame(0))) }
    rig.device.detach(second)
    let source: [Float] = [1, 2, 3]
    source.withUnsafeBytes {
      _ = voice.voice.pointee.entries.push(
        Entry($0.baseAddress!, frames: 3, layout: .float32(channels: 1), token: 1))
      rig.server.cycle(frames: 64)
    }
    expectEqual(rig.samples(0), ramp(0, 64))
    expectEqual(Array(rig.server.clients[0].samples[0].prefix(4)), [1, 2, 3, 0])
    rig.device.detach(voice)
    expectTrue(!rig.server.clients[0].isClosed)
  }
}
