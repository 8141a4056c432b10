import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// 33: levels of the most recent cycle.
@Suite(.serialized) struct MeteringTests {
  /// Returns the level of samples, computed like the cycle: in single precision and in order.
  private func level(of samples: [Float]) -> Level {
    let power = samples.reduce(Float(0)) { $0 + $1 * $1 }
    return Level(
      peak: samples.map(abs).max() ?? 0, rms: (power / Float(samples.count)).squareRoot())
  }

  private let noise = (0..<320).map { index -> Float in
    Float((index * 7919) % 641 - 320) / 400
  }
  private let none = Level(peak: 0, rms: 0)

  @Test func levelsAreThoseOfTheLastCycle() throws {
    let rig = try Rig(.float(2))
    let queue = rig.queue
    expectNil(queue.levels)
    queue.isMetering = true
    expectEqual(queue.levels, [none, none])
    // The right channel has half the amplitude, and the volume applies to both.
    try queue.change(ParameterChanges(volume: 0.5))
    try rig.enqueue(noise.flatMap { [$0, $0 / 2] })
    try queue.start()
    for cycle in 0..<5 {
      rig.cycle()
      let part = noise[(cycle * 64)..<(cycle * 64 + 64)].map { $0 * 0.5 }
      let expected = [level(of: part), level(of: part.map { $0 / 2 })]
      // Reading does not reset the level.
      expectTrue(queue.levels == expected && queue.levels == expected)
    }
    // After the queue has run dry, the level is silence. The peak can still be taken once.
    rig.cycle()
    expectEqual(queue.levels, [none, none])
    let highest = try require(noise.map(abs).max())
    expectEqual(queue.takePeaks(), [highest / 2, highest / 4])
    expectEqual(queue.takePeaks(), [0, 0])
  }

  /// The command's gain is before the meter, the device's volume behind it.
  @Test func levelsHaveTheOutputGain() throws {
    let rig = try Rig(server: HandDrivenServer(name: "metered"))
    let queue = rig.queue
    queue.isMetering = true
    queue.openTap(frames: 1000)
    queue.setOutputGain(2)
    try rig.enqueue([Float](repeating: 0.25, count: 1000))
    try queue.start()
    rig.cycle()
    expectEqual(queue.levels, [Level(peak: 0.5, rms: 0.5)])
    // It changes over a cycle, in a straight line.
    queue.setOutputGain(4)
    rig.cycle()
    rig.cycle()
    expectEqual(queue.levels, [Level(peak: 1, rms: 1)])
    expectTrue(queue.clippedSamples.reduce(0, +) > 0)
    var heard = [Float](repeating: 0, count: 192)
    let count = heard.withUnsafeMutableBufferPointer { queue.takeSamples(into: $0) }
    expectEqual(count, 192)
    expectTrue(heard[..<64].allSatisfy { $0 == 0.5 } && heard[128...].allSatisfy { $0 == 1 })
    expectTrue(heard[64..<128].elementsEqual(heard[64..<128].sorted()) && heard[127] == 1)
    OutputGain.set(0.5, ofServer: rig.server.name)
    defer { OutputGain.set(1, ofServer: rig.server.name) }
    rig.cycle()
    rig.cycle()
    expectEqual(queue.levels, [Level(peak: 1, rms: 1)])
  }

  @Test func aQueueThatStandsStillIsSilent() throws {
    let rig = try Rig()
    rig.queue.isMetering = true
    try rig.enqueue([Float](repeating: 0.5, count: 1000))
    try rig.queue.start()
    let half = Level(peak: 0.5, rms: 0.5)
    rig.cycle()
    expectEqual(rig.queue.levels, [half])
    // At once, not only in the next cycle.
    try rig.queue.pause()
    expectEqual(rig.queue.levels, [none])
    rig.cycle()
    expectEqual(rig.queue.levels, [none])
    try rig.queue.start()
    rig.cycle()
    expectEqual(rig.queue.levels, [half])
    try rig.queue.stop()
    expectEqual(rig.queue.levels, [none])
    // No level is left from before, either.
    try rig.enqueue([Float](repeating: 0.5, count: 1000))
    try rig.queue.start()
    rig.cycle()
    rig.queue.isMetering = false
    expectNil(rig.queue.levels)
    rig.queue.isMetering = true
    expectEqual(rig.queue.levels, [none])
    rig.cycle()
    expectEqual(rig.queue.levels, [half])
  }

  @Test func aLostQueueIsSilent() throws {
    let rig = try Rig()
    rig.queue.isMetering = true
    try rig.enqueue([Float](repeating: 0.5, count: 1000))
    try rig.queue.start()
    rig.cycle()
    rig.server.goAway()
    let isLost: Void? = rig.queue.state.wait(seconds: 20) { $0.isLost ? () : nil }
    expectTrue(isLost != nil)
    expectEqual(rig.queue.levels, [none])
  }
}

/// 12, 27, 29: the queue's time and its discontinuities.
@Suite(.serialized) struct DiscontinuityTests {
  @Test func missedCyclesCountWhileARunGoesOn() throws {
    let rig = try Rig()
    let queue = rig.queue
    try rig.enqueue(ramp(10_000))
    _ = try queue.prime(frames: 0)
    rig.cycle()
    rig.server.miss(frames: 64)
    rig.cycle()
    expectEqual(queue.discontinuities, Discontinuities())
    try queue.start()
    rig.cycle(2)
    expectEqual(queue.discontinuities, Discontinuities())
    rig.server.miss(frames: 100)
    rig.cycle()
    expectEqual(queue.discontinuities, Discontinuities(interruptions: 1))
    rig.cycle(3)
    expectEqual(queue.discontinuities, Discontinuities(interruptions: 1))
    try queue.pause()
    rig.server.miss(frames: 100)
    rig.cycle()
    try queue.start()
    rig.cycle()
    expectEqual(queue.discontinuities, Discontinuities(interruptions: 1))
    try queue.stop()
    rig.server.miss(frames: 100)
    rig.cycle(2)
    expectEqual(queue.discontinuities, Discontinuities(interruptions: 1))
  }

  @Test("each frame of a run is heard, starved or unheard, whatever the client missed")
  func missedFramesCountOnce() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    rig.cycle()
    rig.server.miss(frames: 10_000)
    rig.cycle()
    try rig.queue.stop()
    let starved = rig.queue.statistics
    expectEqual(starved.lastedFrames, 64 + 10_000 + 64)
    expectEqual(starved.unheardFrames, 10_000)
    expectEqual(starved.starvedFrames, 64)
    // The run ends within the missed frames.
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    try rig.queue.stopAfterPlaying()
    rig.cycle()
    rig.server.miss(frames: 10_000)
    rig.cycle()
    let ended = rig.queue.statistics
    expectEqual(ended.lastedFrames, 100)
    expectEqual(ended.unheardFrames - starved.unheardFrames, 36)
    expectEqual(ended.starvedFrames, starved.starvedFrames)
  }

  @Test func aStarvationCountsWhenItBegins() throws {
    let rig = try Rig()
    let queue = rig.queue
    try rig.enqueue(ramp(100))
    try queue.start()
    rig.cycle()
    expectEqual(queue.discontinuities, Discontinuities())
    rig.cycle(5)
    expectEqual(queue.discontinuities, Discontinuities(starvations: 1))
    try rig.enqueue(ramp(64))
    rig.cycle()
    // The buffer ends with the cycle, so nothing is missing yet.
    expectEqual(queue.discontinuities, Discontinuities(starvations: 1))
    rig.cycle()
    expectEqual(queue.discontinuities, Discontinuities(starvations: 2))
    // The starved frames count once in the queue's time.
    expectEqual(queue.currentFrame, 512)
  }

  @Test func theEndOfARunIsNone() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    try rig.queue.stopAfterPlaying()
    rig.cycle(4)
    expectEqual(rig.calls.last, .running(false))
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    rig.cycle()
    try rig.queue.stop()
    rig.cycle(2)
    expectEqual(rig.queue.discontinuities, Discontinuities())
  }

  /// In the cycle in which a run starts, the time counts from the run's first frame, not from the
  /// cycle's.
  @Test(arguments: [0, 1, 20, 63], [0, 10, 40, 63])
  func theTimeIsExactWhereARunBegins(start: Int, now: Int) throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    _ = try rig.queue.prime(frames: 0)
    rig.cycle()
    try rig.queue.start(at: .frame(64 + Int64(start)))
    rig.cycle()
    // The clock is in the middle of the cycle.
    rig.server.counter = 64 + UInt32(now)
    expectEqual(rig.queue.currentFrame, Double(max(0, now - start)))
    rig.server.counter = 128
    expectEqual(rig.queue.currentFrame, Double(64 - start))
    rig.cycle()
    rig.server.counter = 128 + UInt32(now)
    expectEqual(rig.queue.currentFrame, Double(64 - start + now))
  }

  @Test(
    "27: before a start in the future the time counts up from below zero",
    arguments: [
      48000.0, 24000,
    ])
  func theTimeBeforeAStart(rate: Double) throws {
    let server = HandDrivenServer()
    let player = try Rig(.float(1, rate: rate), server: server)
    let recorder = try InputRig(.float(1, rate: rate), server: server)
    let ratio = rate / 48000
    let queues: [any Queue] = [player.queue, recorder.queue]
    func expect(_ deviceFrames: Double?, _ line: SourceLocation = #_sourceLocation) {
      for queue in queues {
        expectEqual(queue.currentFrame, deviceFrames.map { $0 * ratio }, sourceLocation: line)
      }
    }
    func cycle() {
      player.cycle()
      recorder.queue.deliverEvents()
      recorder.settle()
    }
    expect(nil)
    for queue in queues { try queue.start(at: .frame(1000)) }
    expect(-1000)
    cycle()
    expect(-936)
    // A new start replaces the first.
    for queue in queues { try queue.start(at: .hostTime(10_000_000)) }
    expect(-416)
    for queue in queues { try queue.pause() }
    expect(nil)
    for queue in queues { try queue.start(at: .frame(96)) }
    expect(-32)
    cycle()
    expect(32)
    for queue in queues { try queue.stop(atOnce: true) }
    expect(nil)
    // A start time in the past waits for the next cycle.
    for queue in queues { try queue.start(at: .frame(100)) }
    expect(0)
    cycle()
    expect(64)
  }

  @Test("27: a run that follows another counts up to its start, too")
  func theTimeBeforeARunThatFollows() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(64))
    try rig.queue.start(at: .frame(0))
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(500))
    rig.cycle(2)
    expectEqual(rig.queue.currentFrame, -372)
  }

  @Test func theTimeIsExactWhereARunGoesOn() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    try rig.queue.start()
    rig.cycle()
    try rig.queue.pause()
    rig.cycle()
    try rig.queue.start(at: .frame(128 + 20))
    rig.cycle()
    for (now, expected) in [(128, 64), (148, 64), (149, 65), (191, 107), (192, 108)] {
      rig.server.counter = UInt32(now)
      expectEqual(rig.queue.currentFrame, Double(expected))
    }
  }

  @Test func theTimeIsExactAfterMissedCycles() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    try rig.queue.start()
    rig.cycle()
    rig.server.miss(frames: 100)
    rig.cycle()
    rig.server.counter = 164 + 10
    expectEqual(rig.queue.currentFrame, 174)
  }
}

/// Channel assignment and property notifications.
@Suite(.serialized) struct AssignmentTests {
  private func server() -> HandDrivenServer {
    let server = HandDrivenServer()
    server.physicalOutputs = (1...4).map { "card:\($0)" }
    return server
  }

  @Test func theFirstOutputsAreTheDefault() throws {
    let cases: [(Int, OutputQueue.Options.Connections, [Int])] = [
      (1, .physical, [1]), (3, .physical, [1, 2, 3]),
      (6, .physical, [1, 2, 3, 4, 0, 0]), (2, .none, [0, 0]),
      (2, .ports(["card:4"]), [4, 0]),
    ]
    for (channels, connections, expected) in cases {
      let rig = try Rig(.float(channels), server: server(), connections: connections)
      try expectEqual(rig.queue.assignments(), expected)
    }
  }

  @Test("31: each channel goes to the port of its place, and the ports stay in order")
  func channelsGoToTheirPorts() throws {
    let rig = try Rig(.float(3), server: server())
    try rig.queue.setPortOrder([2, 0, 1])
    try rig.enqueue([1, 10, 100, 2, 20, 200])
    try rig.queue.start()
    rig.cycle(1, frames: 2)
    let client = rig.server.clients[0]
    expectEqual(client.samples, [[10, 20], [100, 200], [1, 2]])
    expectEqual(
      client.connections, ["out_1": ["card:1"], "out_2": ["card:2"], "out_3": ["card:3"]])
    try expectEqual(rig.queue.assignments(), [3, 1, 2])
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setPortOrder([]) }
    try rig.queue.stop()
    // Assignments belong to channels, independent of the port order.
    try rig.queue.setAssignments([4, 0, 1])
    expectEqual(client.connections, ["out_1": [], "out_2": ["card:1"], "out_3": ["card:4"]])
    try rig.queue.setPortOrder([1, 2, 0])
    expectTrue(client.isClosed)
    try expectEqual(rig.queue.assignments(), [4, 0, 1])
    expectEqual(
      rig.server.clients[1].connections, ["out_1": ["card:1"], "out_2": ["card:4"]])
    // Primed frames are already assigned to ports.
    try rig.enqueue([1, 10, 100])
    _ = try rig.queue.prime(frames: 0)
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setPortOrder([]) }
    // Offline rendering uses no ports.
    try rig.queue.stop()
    try rig.enqueue([1, 10, 100])
    try rig.queue.setOfflineFormat(.float(3))
    try rig.queue.start()
    var samples = [Float](repeating: 0, count: 3)
    let count = try samples.withUnsafeMutableBytes { try rig.queue.render(frames: 1, into: $0) }
    expectTrue(count == 1 && samples == [1, 10, 100])
  }

  @Test("31: a server that is back finds each channel at its port")
  func channelsGoToTheirPortsAgain() throws {
    let rig = try Rig(.float(2), server: server())
    try rig.queue.setPortOrder([1, 0])
    try rig.queue.start()
    rig.cycle()
    rig.server.goAway()
    rig.server.comeBack()
    waitUntil { rig.server.clients.count == 2 && !rig.queue.isLost }
    try rig.enqueue([1, 10, 2, 20])
    rig.cycle(2)
    let samples = try require(rig.server.clients.last).samples
    expectEqual(samples.map { $0.filter { $0 != 0 } }, [[10, 20], [1, 2]])
  }

  @Test("31: each channel of a recording comes from the port of its place")
  func channelsComeFromTheirPorts() throws {
    let rig = try InputRig(.float(2))
    _ = try rig.queue.deviceSampleRate()
    try rig.queue.setPortOrder([1, 0])
    try rig.enqueue(3)
    try rig.queue.start(at: .frame(5))
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setPortOrder([]) }
    rig.cycle()
    // The first port carries the frame's number, the second the negative number.
    expectEqual(rig.samples, [-5, 5, -6, 6, -7, 7])
  }

  @Test func channelsGoWhereTheyAreAssigned() throws {
    let rig = try Rig(.float(3), server: server())
    try rig.queue.setAssignments([4, 0, 1])
    let client = rig.server.clients[0]
    expectEqual(client.connections, ["out_1": ["card:4"], "out_2": [], "out_3": ["card:1"]])
    try expectEqual(rig.queue.assignments(), [4, 0, 1])
    expectEqual(rig.queue.statistics.connections, [["card:4"], [], ["card:1"]])
    // Two channels may share an output, but a channel has only one.
    try rig.queue.setAssignments([2, 2, 2])
    expectEqual(
      client.connections, ["out_1": ["card:2"], "out_2": ["card:2"], "out_3": ["card:2"]])
    for wrong in [[5, 0, 0], [-1, 0, 0], [1, 2], [1, 2, 3, 4]] {
      #expect(throws: QueueError.invalidPropertyValue) { try rig.queue.setAssignments(wrong) }
    }
    try expectEqual(rig.queue.assignments(), [2, 2, 2])
    try rig.queue.start()
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setAssignments([1, 2, 3]) }
    rig.cycle()
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setAssignments([1, 2, 3]) }
    try rig.queue.stop()
    try rig.queue.setAssignments([1, 2, 3])
    rig.settle()
    expectEqual(rig.changes, [.device] + Array(repeating: .channelAssignments, count: 3))
  }

  @Test func oneChannelTakesOneOutput() throws {
    let rig = try Rig(.float(1), server: server())
    _ = try rig.queue.prime(frames: 0)
    expectEqual(rig.server.clients[0].connections, ["out_1": ["card:1", "card:2"]])
    try rig.queue.setAssignments([3])
    expectEqual(rig.server.clients[0].connections, ["out_1": ["card:3"]])
  }

  @Test func aCardWithoutOutputsTakesNone() throws {
    let server = HandDrivenServer()
    server.physicalOutputs = []
    let rig = try Rig(.float(2), server: server)
    try expectEqual(rig.queue.assignments(), [0, 0])
    try rig.queue.setAssignments([0, 0])
    #expect(throws: QueueError.invalidPropertyValue) { try rig.queue.setAssignments([1, 0]) }
  }

  @Test func anotherDeviceForgetsThem() throws {
    let rig = try Rig(.float(2), server: server())
    try rig.queue.setAssignments([4, 3])
    let server = HandDrivenServer(sampleRate: 44_100)
    server.physicalOutputs = ["other:1"]
    let other = try Device(server, clientName: "other")
    try rig.queue.setDeviceUID(other.uid)
    try expectEqual(rig.queue.assignments(), [1, 0])
    rig.settle()
    // Opened under its own name, assigned, replaced by a device with another rate and one output.
    expectEqual(
      rig.changes,
      [
        .device, .channelAssignments, .channelAssignments, .device, .deviceSampleRate,
        .deviceChannels,
      ])
    try expectEqual(rig.queue.deviceSampleRate(), 44_100)
  }

  @Test func aChangeIsToldOnceItIsThere() throws {
    let rig = try Rig()
    rig.queue.isMetering = true
    rig.queue.isMetering = true
    rig.queue.isMetering = false
    rig.settle()
    expectEqual(rig.changes, [.metering, .metering])
    // The notification never runs inside the call, even on the app's callback queue.
    let loop = DispatchQueue(label: "changes")
    let other = try Rig(executor: .queue(loop))
    loop.sync {
      other.queue.isMetering = true
      expectEqual(other.changes, [])
    }
    other.settle()
    expectEqual(other.changes, [.metering])
  }

  @Test func primedIsTheStateBeforeAStart() throws {
    let rig = try Rig()
    try rig.queue.checkNotPrimed()
    _ = try rig.queue.prime(frames: 0)
    // There was nothing to prime.
    try rig.queue.checkNotPrimed()
    try rig.enqueue(ramp(100))
    _ = try rig.queue.prime(frames: 0)
    #expect(throws: QueueError.invalidRunState) { try rig.queue.checkNotPrimed() }
    try rig.queue.checkIdle()
    try rig.queue.reset()
    try rig.queue.checkNotPrimed()
    try rig.enqueue(ramp(100))
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start()
    #expect(throws: QueueError.invalidRunState) { try rig.queue.checkIdle() }
    try rig.queue.stopAfterPlaying()
    rig.cycle(3)
    try rig.queue.checkNotPrimed()
  }
}
