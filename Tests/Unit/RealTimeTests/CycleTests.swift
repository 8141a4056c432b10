import CProbe
import CRealTime
import RealTime
import Server
import TestSupport
import Testing
import Timeline

/// A hand-driven device with one voice, and ring entries for it.
private final class Rig {
  let server = HandDrivenServer()
  let device: Device
  let memory: VoiceMemory
  let owner = PassiveOwner()
  var voice: UnsafeMutablePointer<Voice> { memory.voice }

  init(channels: Int = 2) throws {
    device = try Device(server, clientName: "rig")
    memory = VoiceMemory(channels: channels)
    _ = try device.attach(memory, owner: owner)
  }

  deinit { device.detach(memory) }

  func start(at frame: Int64 = .min / 2) throws {
    try device.holding(memory) { voice.pointee.start(at: StartPoint(.frame(frame))) }
  }

  var output: [[Float]] { server.clients[0].samples }

  /// Pushes the samples in five entries, numbered 0 to 4, and the end of the run.
  func pushInFive(_ source: UnsafeRawBufferPointer) {
    let bytes = source.count / 5
    for part in 0..<5 {
      _ = voice.pointee.entries.push(
        Entry(
          source.baseAddress! + part * bytes, frames: bytes / 4, layout: .float32(channels: 1),
          token: UInt32(part)))
    }
    _ = voice.pointee.entries.push(.end)
  }

  func events() -> [Event] {
    var events: [Event] = []
    while let event = voice.pointee.events.pop() { events.append(event) }
    return events
  }
}

@Suite(.serialized) struct CycleTests {
  /// In every situation a cycle allocates, locks and retains nothing.
  @Test(arguments: PCMFormat.all(channels: 2), [0, 1, 3, 64])
  func aCycleNeitherAllocatesNorLocksNorRetains(format: PCMFormat, queued: Int) throws {
    try require(cue_probe_works() || isSanitized)
    let rig = try Rig()
    let layout = try require(format.layout)
    let bytes = format.noise(frames: 100, seed: 1).bytes
    try rig.start(at: 300)
    rig.voice.pointee.setMetering(true)
    rig.memory.openTap(frames: 512)
    for volume in [0, 0.5, 1] as [Float] {
      let isTaken = rig.voice.pointee.change(
        ParameterChanges(volume: volume, rampSeconds: 0.001))
      expectTrue(isTaken)
    }
    try bytes.withUnsafeBytes { bytes in
      for i in 0..<queued {
        let isTaken = rig.voice.pointee.entries.push(
          Entry(
            bytes.baseAddress!, frames: 100, layout: layout, token: UInt32(i),
            start: Int64(i * 110),
            changes: ParameterChanges(volume: 0.25, rampSeconds: 0.001, pan: Float(i) / 64)))
        expectTrue(isTaken)
      }
      if queued == 3 { _ = rig.voice.pointee.entries.push(.end) }
      try expectRealTimeCycles(of: rig.server)
    }
  }

  @Test(arguments: [1, 64, 255, 256, 257, 1024], [1, 17, 64, 256])
  func aRunStartsAndEndsOnTheFrame(start: Int64, period: Int) throws {
    let rig = try Rig(channels: 1)
    let source = (1...500).map { Float($0) }
    try source.withUnsafeBytes { source in
      rig.pushInFive(source)
      try rig.start(at: start)
      while rig.server.counter < UInt32(start) + 700 { rig.server.cycle(frames: period) }
    }
    let output = rig.output[0]
    let total = output.count
    expectEqual(
      output,
      [Float](repeating: 0, count: Int(start)) + source
        + [Float](repeating: 0, count: total - Int(start) - 500))
    let events = rig.events()
    expectEqual(
      events.map(\.kind),
      [.runBegan] + [.played, .played, .played, .played, .played] + [
        .runEnded
      ])
    expectEqual(events.first?.frame, start)
    expectEqual(events.last?.frame, start + 500)
    expectEqual(events.dropFirst().dropLast().map(\.token), [0, 1, 2, 3, 4])
    expectEqual(events.dropFirst().dropLast().map(\.frame), (1...5).map { start + 100 * $0 })
    expectEqual(rig.voice.pointee.starvedFrames.load(ordering: .relaxed), 0)
  }

  @Test func aDryVoiceIsSilentAndGoesOn() throws {
    let rig = try Rig(channels: 1)
    try rig.start()
    rig.server.cycle(frames: 64)
    let source = [Float](repeating: 1, count: 32)
    source.withUnsafeBytes { source in
      _ = rig.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 32, layout: .float32(channels: 1), token: 1))
      rig.server.cycle(frames: 64)
    }
    expectEqual(
      rig.output[0],
      [Float](repeating: 0, count: 64) + source
        + [Float](repeating: 0, count: 32))
    expectEqual(rig.voice.pointee.starvations.load(ordering: .relaxed), 2)
    expectEqual(rig.voice.pointee.starvedFrames.load(ordering: .relaxed), 96)
    let reading = rig.voice.pointee.clock.read()
    expectEqual(reading.position + reading.ranFrames, 128)
  }

  /// After missed cycles, a run is at the same frame as without them. So two queues that started on one
  /// frame stay in step.
  @Test(arguments: [1, 63, 64, 100, 400, 700], [0, 70, 130, 200])
  func missedCyclesAreSkipped(missed: Int, start: Int64) throws {
    let rig = try Rig(channels: 1)
    let source = (1...500).map { Float($0) }
    try source.withUnsafeBytes { source in
      rig.pushInFive(source)
      try rig.start(at: start)
      for _ in 0..<2 { rig.server.cycle(frames: 64) }
      rig.server.miss(frames: missed)
      for _ in 0..<16 { rig.server.cycle(frames: 64) }
    }
    // The sample at a device frame depends only on that frame.
    let heard = (0..<(18 * 64)).map { (i: Int) -> Float in
      let frame = i < 128 ? i : i + missed
      let position = frame - Int(start)
      return position >= 0 && position < 500 ? source[position] : 0
    }
    expectEqual(rig.output[0], heard)
    let events = rig.events()
    expectEqual(events.map(\.kind).filter { $0 == .played }.count, 5)
    expectEqual(events.first?.frame, start)
    expectTrue(events.last?.kind == .runEnded && events.last?.frame == start + 500)
    expectEqual(rig.voice.pointee.starvedFrames.load(ordering: .relaxed), 0)
  }

  /// JACK calls a late client once for each cycle that it owes, with the frame time of the latest.
  /// Playing these would put the queue ahead of all others for good.
  @Test(arguments: [1, 3]) func aCycleThatComesAgainLeavesThePortsAsTheyAre(times: Int) throws {
    let rig = try Rig(channels: 1)
    let source = (1...500).map { Float($0) }
    try source.withUnsafeBytes { source in
      rig.pushInFive(source)
      try rig.start(at: 0)
      for _ in 0..<2 { rig.server.cycle(frames: 64) }
      for _ in 0..<times {
        rig.server.counter &-= 64
        rig.server.cycle(frames: 64)
      }
      for _ in 0..<7 { rig.server.cycle(frames: 64) }
    }
    let heard = rig.output[0]
    expectEqual(Array(heard[..<128]), Array(source[..<128]))
    // The hand-driven server marks unwritten samples with NaN.
    expectTrue(heard[128..<(128 + times * 64)].allSatisfy { $0.isNaN })
    expectEqual(
      Array(heard[(128 + times * 64)...]),
      Array(source[128...])
        + [Float](repeating: 0, count: 76))
  }

  @Test func aLateStartAfterMissedCyclesSkipsNothing() throws {
    let rig = try Rig(channels: 1)
    rig.server.cycle(frames: 64)
    try rig.start()
    rig.server.miss(frames: 1000)
    let source: [Float] = [1, 2, 3]
    source.withUnsafeBytes { source in
      _ = rig.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 3, layout: .float32(channels: 1), token: 1))
      rig.server.cycle(frames: 64)
    }
    expectEqual(Array(rig.output[0][64..<68]), [1, 2, 3, 0])
  }

  @Test func aHeldVoiceIsSilentAndLosesNothing() throws {
    let rig = try Rig(channels: 1)
    let source = (1...256).map { Float($0) }
    source.withUnsafeBytes { source in
      _ = rig.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 256, layout: .float32(channels: 1), token: 1))
      rig.voice.pointee.hold()
      rig.server.cycle(frames: 64)
      rig.voice.pointee.release()
      rig.voice.pointee.start(at: StartPoint(.frame(0)))
      for _ in 0..<4 { rig.server.cycle(frames: 64) }
    }
    expectEqual(rig.output[0], [Float](repeating: 0, count: 64) + source)
  }

  @Test func aNextRunBeginsWhenTheFirstIsOver() throws {
    let rig = try Rig(channels: 1)
    let source = [Float](repeating: 1, count: 10)
    source.withUnsafeBytes { source in
      let entry = Entry(
        source.baseAddress!, frames: 10, layout: .float32(channels: 1), token: 1)
      _ = rig.voice.pointee.entries.push(entry)
      _ = rig.voice.pointee.entries.push(.end)
      _ = rig.voice.pointee.entries.push(entry)
      _ = rig.voice.pointee.entries.push(.end)
      rig.voice.pointee.start(at: StartPoint(.frame(0)))
      rig.voice.pointee.startAfterEnd(at: StartPoint(.frame(30)))
      rig.server.cycle(frames: 64)
    }
    let silence = [Float](repeating: 0, count: 20)
    expectEqual(rig.output[0], source + silence + source + silence + [0, 0, 0, 0])
    expectEqual(
      rig.events().map(\.kind), [.runBegan, .played, .runEnded, .runBegan, .played, .runEnded])
  }

  @Test func deviceTimeGoesOnWhereTheCounterWraps() throws {
    let server = HandDrivenServer(counter: .max - 127)
    let device = try Device(server, clientName: "wrap")
    let memory = VoiceMemory(channels: 1)
    let owner = PassiveOwner()
    _ = try device.attach(memory, owner: owner)
    defer { device.detach(memory) }
    let start = Int64(1) << 32 + 10
    try device.holding(memory) { memory.voice.pointee.start(at: StartPoint(.frame(start))) }
    let source: [Float] = [1, 2, 3]
    source.withUnsafeBytes { source in
      _ = memory.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 3, layout: .float32(channels: 1), token: 1))
      for _ in 0..<3 { server.cycle(frames: 64) }
    }
    expectEqual(Array(server.clients[0].samples[0][138..<142]), [1, 2, 3, 0])
    expectEqual(memory.voice.pointee.events.pop()?.frame, start)
  }

  /// Cycles of more than 64 voices fetch the memory of the next voices while one plays.
  @Test func manyVoicesPlayTheirOwnSamples() throws {
    try withManyVoices { server, sounds in
      for _ in 0..<3 { server.cycle(frames: 64) }
      let heard = server.clients[0].samples
      for (voice, sound) in sounds.enumerated() {
        expectTrue(
          Array(heard[voice][10..<110]) == sound && heard[voice][110...].allSatisfy { $0 == 0 },
          "\(voice)")
      }
    }
  }

  @Test func aCycleOfManyVoicesNeitherAllocatesNorLocksNorRetains() throws {
    try require(cue_probe_works() || isSanitized)
    try withManyVoices { server, _ in try expectRealTimeCycles(of: server) }
  }

  /// Runs `body` with 70 voices that start on frame 10 and play 100 samples each: those that `body` gets. Every
  /// seventh voice has nothing to play.
  private func withManyVoices(_ body: (HandDrivenServer, [[Float]]) throws -> Void) throws {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "many")
    let owner = PassiveOwner()
    let voices = (0..<70).map { _ in VoiceMemory(channels: 1) }
    for voice in voices { _ = try device.attach(voice, owner: owner) }
    defer { for voice in voices { device.detach(voice) } }
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 7000)
    defer { memory.deallocate() }
    for i in 0..<7000 { memory[i] = Float(i + 1) }
    var sounds: [[Float]] = []
    for (i, voice) in voices.enumerated() {
      let source = memory + 100 * i
      let isSilent = i % 7 == 0
      sounds.append((0..<100).map { isSilent ? 0 : source[$0] })
      if !isSilent {
        _ = voice.voice.pointee.entries.push(
          Entry(source, frames: 100, layout: .float32(channels: 1), token: 1))
      }
      try device.holding(voice) { voice.voice.pointee.start(at: StartPoint(.frame(10))) }
    }
    try body(server, sounds)
  }

  @Test func levelsAreMeasuredOnlyWhenAskedFor() throws {
    let rig = try Rig(channels: 2)
    let source: [Float] = [0.5, -0.25, -0.5, 0.25]
    source.withUnsafeBytes { source in
      let entry = Entry(
        source.baseAddress!, frames: 2, layout: .float32(channels: 2), token: 1)
      rig.voice.pointee.start(at: StartPoint(.frame(0)))
      _ = rig.voice.pointee.entries.push(entry)
      rig.server.cycle(frames: 2)
      expectEqual(rig.voice.pointee.level(ofChannel: 0), Level(peak: 0, rms: 0))
      rig.voice.pointee.setMetering(true)
      _ = rig.voice.pointee.entries.push(entry)
      rig.server.cycle(frames: 2)
    }
    expectEqual(rig.voice.pointee.level(ofChannel: 0), Level(peak: 0.5, rms: 0.5))
    expectEqual(rig.voice.pointee.level(ofChannel: 1), Level(peak: 0.25, rms: 0.25))
    // A held peak is taken once; the level of a cycle stays.
    expectEqual(rig.voice.pointee.takePeak(ofChannel: 0), 0.5)
    expectEqual(rig.voice.pointee.takePeak(ofChannel: 0), 0)
    expectEqual(rig.voice.pointee.level(ofChannel: 0), Level(peak: 0.5, rms: 0.5))
  }

  @Test func samplesAtFullScaleAreCountedAsClips() throws {
    let rig = try Rig(channels: 2)
    let most: Float = 32767.0 / 32768
    let left: [Float] = [most, -1, 2, -most.nextDown, 0, .infinity]
    let source: [Float] = left.flatMap { [$0, 0.9] as [Float] }
    source.withUnsafeBytes { source in
      rig.voice.pointee.setMetering(true)
      rig.voice.pointee.start(at: StartPoint(.frame(0)))
      _ = rig.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 6, layout: .float32(channels: 2), token: 1))
      for _ in 0..<2 { rig.server.cycle(frames: 3) }
    }
    expectEqual(rig.voice.pointee.clippedSamples(ofChannel: 0), 4)
    expectEqual(rig.voice.pointee.clippedSamples(ofChannel: 1), 0)
  }

  /// The tap has the frames of runs as they are heard, in whatever cycles.
  @Test(arguments: [7, 64, 200]) func theTapHasTheFramesOfRuns(period: Int) throws {
    let rig = try Rig(channels: 2)
    rig.memory.openTap(frames: 1000)
    let source = (1...500).flatMap { (i: Int) -> [Float] in [Float(i), -Float(i)] }
    var heard: [Float] = []
    var buffer = [Float](repeating: 0, count: 60)
    try source.withUnsafeBytes { source in
      _ = rig.voice.pointee.change(ParameterChanges(volume: 0.5, pan: 1))
      _ = rig.voice.pointee.entries.push(
        Entry(source.baseAddress!, frames: 500, layout: .float32(channels: 2), token: 0))
      _ = rig.voice.pointee.entries.push(.end)
      try rig.start(at: 33)
      while rig.server.counter < 700 {
        rig.server.cycle(frames: period)
        while case let count = buffer.withUnsafeMutableBufferPointer({
          rig.memory.readTap(into: $0)
        }),
          count > 0
        {
          heard += buffer[..<(2 * count)]
        }
      }
    }
    // The pan silences the left side.
    expectEqual(heard, (1...500).flatMap { (i: Int) -> [Float] in [0, -Float(i) / 2] })
    expectEqual(rig.memory.droppedTapFrames, 0)
  }

  /// The second port of a channel takes over in the very cycle in which the first has lost its
  /// connection. On its side, nothing is repeated or missing.
  @Test(arguments: [0, 0.5, -1] as [Float]) func theSecondPortTakesOverWithoutAGap(pan: Float)
    throws
  {
    let rig = try Rig(channels: 1)
    let source = ramp(64 * 6)
    let connections = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
    let right = UnsafeMutablePointer<Float>.allocate(capacity: 64)
    defer {
      connections.deallocate()
      right.deallocate()
    }
    connections.pointee = 2
    right.initialize(repeating: .nan, count: 64)
    rig.memory.ports[0].connections = UnsafePointer(connections)
    rig.memory.ports[1] = cue_port(port: nil, memory: right, connections: nil)
    _ = rig.voice.pointee.change(ParameterChanges(pan: pan))
    var heard: [Float] = []
    source.withUnsafeBytes { source in
      _ = rig.voice.pointee.entries.push(
        Entry(
          source.baseAddress!, frames: 64 * 6, layout: .float32(channels: 1), token: 0))
      try? rig.start()
      for cycle in 0..<6 {
        switch cycle {
        case 1: rig.voice.pointee.secondPort.open()
        case 2: rig.voice.pointee.secondPort.use(fromConnections: 1)
        case 4: connections.pointee = 1
        default: break
        }
        rig.server.cycle(frames: 64)
        // The right input of the card receives the first port while it is connected.
        let first = Array(rig.output[0].suffix(64))
        let second = cycle < 1 ? [Float](repeating: 0, count: 64) : (0..<64).map { right[$0] }
        heard += connections.pointee == 2 ? zip(first, second).map { $0 + $1 } : second
      }
    }
    let balance = 1 + min(0, pan)
    expectEqual(heard, source[..<256] + source[256...].map { $0 * balance })
    let left = source[256...].map { $0 * (1 - max(0, pan)) }
    expectEqual(rig.output[0], source[..<256] + left)
  }
}

private func ramp(_ frames: Int) -> [Float] { (1...frames).map { Float($0) } }
