import CRealTime
import Foundation
import RealTime
import Server
import Synchronization
import System
import TestSupport
import Testing

@testable import AudioQueue

/// 34: a server goes away and returns, cycle by cycle.
@Suite(.tags(.slow)) struct ReturnTests {
  /// Waits until the device has noticed that its server is gone.
  private func waitForLoss(_ rig: Rig) {
    waitUntil { rig.queue.isLost && rig.server.clients.last!.isClosed }
  }

  private func goAndReturn(_ rig: Rig, sampleRate: Double? = nil, counter: UInt32 = 0) {
    rig.server.goAway()
    waitForLoss(rig)
    rig.server.comeBack(sampleRate: sampleRate, counter: counter)
    waitUntil { !rig.queue.isLost }
    rig.settle()
  }

  @Test("34: the very next frame follows, under the same names and over the same connections")
  func theNextFrameFollows() throws {
    let rig = try Rig(server: HandDrivenServer(counter: 5_000_000))
    rig.server.otherInputs = ["recorder:in"]
    let first = try rig.enqueue(ramp(100))
    let second = try rig.enqueue(ramp(400, from: 101))
    try rig.queue.start()
    try rig.queue.change(ParameterChanges(volume: 0.5))
    rig.cycle(3)
    let client = rig.server.clients[0]
    // Change connections by hand, as in a patchbay.
    client.disconnect("out_1", from: "system:playback_2")
    try client.connect("out_1", to: "recorder:in")
    rig.server.goAway()
    waitForLoss(rig)
    rig.settle()
    // The run goes on later: it is not over.
    expectEqual(rig.calls, [.running(true), .done(first)])
    expectTrue(rig.queue.isRunning && rig.queue.runs.over == 0)
    #expect(throws: QueueError.invalidated) { try rig.queue.start() }
    // The queue's time stands still, and device time is translated as before.
    expectTrue(rig.queue.currentFrame == 192 && rig.queue.deviceTime?.frame == 5_000_192)
    let later = try rig.queue.deviceTime(of: .frame(5_048_192))
    expectTrue(abs(Int64(later.hostTime) - 105_170_666_000) < 1000_000)
    try expectEqual(rig.queue.deviceTime(of: .hostTime(later.hostTime)).frame, 5_048_192)
    expectEqual(rig.queue.statistics.lastedFrames, 192)

    rig.server.comeBack(counter: 77)
    waitUntil { !rig.queue.isLost }
    rig.settle()
    expectTrue(rig.queue.isRunning)
    expectEqual(rig.calls, [.running(true), .done(first)])
    let fresh = try require(rig.server.clients.last)
    expectTrue(rig.server.clients.count == 2 && fresh.name == "rig")
    expectEqual(fresh.outputs.map(\.name), ["out_1"])
    expectEqual(fresh.connections, ["out_1": ["system:playback_1", "recorder:in"]])
    rig.cycle(6)
    let heard = client.samples[0] + fresh.samples[0]
    expectEqual(Array(heard.prefix(500)), ramp(500).map { $0 / 2 })
    expectEqual(rig.calls.last, .done(second))
    expectEqual(rig.queue.currentFrame, 576)
    let statistics = rig.queue.statistics
    expectEqual(statistics.restarts, 1)
    expectEqual(statistics.starvedFrames, 76)
    expectEqual(statistics.portNames, ["out_1"])
    // Calls work as before.
    try rig.enqueue(ramp(10))
    try rig.queue.stopAfterPlaying()
    rig.cycle()
    expectEqual(rig.calls.last, .running(false))
    expectEqual(rig.queue.statistics.lastedFrames, 586)
  }

  /// Also if the device that lost the server is disposed of before the server is back.
  @Test func theLogTellsOfServers() throws {
    let lines = Mutex<[String]>([])
    Log.set(level: .notice) { _, text in lines.withLock { $0.append(text) } }
    defer { Log.set(level: .error) { _, _ in } }
    let away = "the JACK server “by-hand” went away: queues and units go on when it is back"
    let back = "the JACK server “by-hand” is back"
    let rig = try Rig()
    try rig.queue.start()
    rig.cycle()
    goAndReturn(rig)
    expectEqual(lines.withLock { $0 }, [away, back])
    rig.server.goAway()
    waitForLoss(rig)
    try rig.queue.dispose(afterPlaying: false)
    expectEqual(lines.withLock { $0 }, [away, back, away])
    rig.server.comeBack()
    let next = try Rig(server: rig.server)
    try next.queue.start()
    expectEqual(lines.withLock { $0 }, [away, back, away, back])
    withExtendedLifetime(next) {}
  }

  @Test("34: what needs no server works while it is gone", arguments: [48000.0, 44100])
  func callsWhileGone(rate: Double) throws {
    func rigWithoutServer() throws -> (Rig, [UInt32]) {
      let rig = try Rig(.float(1, rate: rate))
      let ids = try (0..<3).map { _ in try rig.enqueue(ramp(4800)) }
      try rig.queue.start()
      rig.cycle()
      rig.server.goAway()
      waitForLoss(rig)
      return (rig, ids)
    }
    // A stop stays one, and hands every buffer back.
    let (stopped, ids) = try rigWithoutServer()
    try stopped.queue.stop()
    expectEqual(stopped.doneBuffers, ids)
    stopped.settle()
    expectTrue(!stopped.queue.isRunning && stopped.calls.contains(.running(false)))
    stopped.server.comeBack(counter: 9)
    waitUntil { !stopped.queue.isLost }
    stopped.cycle(3)
    expectTrue(stopped.output == silence(192) && !stopped.queue.isRunning, "\(stopped)")
    try stopped.enqueue(ramp(4800))
    try stopped.queue.start()
    waitUntil {
      stopped.cycle()
      return stopped.output.last != 0
    }

    // Reset hands them back, too, and the run goes on with what is enqueued meanwhile.
    let (reset, old) = try rigWithoutServer()
    try reset.queue.reset()
    expectEqual(reset.doneBuffers, old)
    try reset.queue.change(ParameterChanges(volume: 0.5))
    let new = try reset.enqueue([Float](repeating: 1, count: 4800))
    try reset.queue.flush()
    try reset.queue.stopAfterPlaying()
    reset.server.comeBack(counter: 9)
    waitUntil { !reset.queue.isLost }
    waitUntil {
      reset.cycle()
      return reset.calls.last == .running(false)
    }
    expectEqual(reset.doneBuffers, old + [new])
    expectTrue(reset.output.contains { abs($0 - 0.5) < 0.01 })

    // A pause lasts until a start.
    let (paused, _) = try rigWithoutServer()
    try paused.queue.pause()
    paused.server.comeBack(counter: 9)
    waitUntil { !paused.queue.isLost }
    paused.cycle(3)
    expectTrue(paused.output == silence(192) && paused.queue.isRunning, "\(paused)")
    try paused.queue.start()
    waitUntil {
      paused.cycle()
      return paused.output.last != 0
    }
  }

  @Test("34: a connection whose other side comes later is made then")
  func laterPorts() throws {
    let rig = try Rig(
      server: HandDrivenServer(), connections: .ports(["system:playback_1"]))
    rig.server.otherInputs = ["recorder:in"]
    try rig.queue.start()
    rig.cycle()
    try rig.server.clients[0].connect("out_1", to: "recorder:in")
    rig.server.goAway()
    waitForLoss(rig)
    rig.server.otherInputs = []
    rig.server.comeBack()
    waitUntil { !rig.queue.isLost }
    let fresh = try require(rig.server.clients.last)
    expectEqual(fresh.connections, ["out_1": ["system:playback_1"]])
    rig.server.otherInputs = ["another:in", "recorder:in"]
    waitUntil { fresh.connections(of: "out_1").count == 2 }
    expectEqual(fresh.connections, ["out_1": ["system:playback_1", "recorder:in"]])
    // The queue still requests the connection if the server goes away before the port appears.
    rig.server.otherInputs = []
    goAndReturn(rig)
    goAndReturn(rig)
    expectEqual(rig.server.clients.last?.connections, ["out_1": ["system:playback_1"]])
    rig.server.otherInputs = ["recorder:in"]
    waitUntil { rig.server.clients.last?.connections(of: "out_1").count == 2 }
  }

  @Test("34: many restarts, none of which loses or repeats a frame")
  func manyRestarts() throws {
    let rig = try Rig(.float(2))
    let frames = 3000
    try rig.enqueue((0..<(2 * frames)).map { Float($0) })
    try rig.queue.start()
    for _ in 0..<5 {
      rig.cycle(2, frames: 100)
      goAndReturn(rig)
    }
    rig.cycle(3, frames: 1000)
    for channel in 0..<2 {
      let heard = rig.server.clients.flatMap { $0.samples[channel] }
      expectEqual(Array(heard.prefix(frames)), (0..<frames).map { Float(2 * $0 + channel) })
    }
    expectEqual(rig.queue.statistics.restarts, 5)
    expectTrue(rig.server.clients.dropLast().allSatisfy { $0.isClosed })
    expectEqual(rig.calls.filter { $0 == .running(true) }.count, 1)
  }

  @Test("34: a paused queue comes back paused")
  func restartWhilePaused() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(200))
    try rig.queue.start()
    rig.cycle()
    try rig.queue.pause()
    rig.cycle()
    goAndReturn(rig, counter: 9)
    rig.cycle(2)
    expectEqual(rig.output, silence(128))
    try rig.queue.start()
    rig.cycle()
    expectEqual(rig.output, silence(128) + ramp(64, from: 65))
    expectEqual(rig.queue.currentFrame, 128)
  }

  @Test("34: what was disposed of while the server was gone does not come back")
  func disposedWhileGone() throws {
    for afterPlaying in [false, true] {
      let rig = try Rig()
      try rig.enqueue(ramp(200))
      try rig.queue.start()
      rig.cycle()
      rig.server.goAway()
      waitForLoss(rig)
      try rig.queue.dispose(afterPlaying: afterPlaying)
      rig.server.comeBack()
      // Longer than the device would take.
      usleep(1_200_000)
      expectEqual(rig.server.clients.count, 1)
      #expect(throws: QueueError.disposed) { try rig.queue.start() }
    }
  }

  @Test("34: a disposal that drains ends with the server")
  func drainingWhileLost() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(200))
    try rig.queue.start()
    rig.cycle()
    try rig.queue.dispose(afterPlaying: true)
    rig.server.goAway()
    waitUntil { rig.queue.state.read { $0.disposal == .disposed && $0.device == nil } }
    // A thread of its own closes the client.
    waitUntil { rig.server.clients[0].isClosed }
  }

  @Test("34: queues that share a device stay together")
  func sharedDevices() throws {
    let server = HandDrivenServer()
    let first = try Rig(.float(2), server: server)
    _ = try first.queue.prime(frames: 0)
    let second = try Rig(server: HandDrivenServer())
    try second.queue.setDeviceUID(first.queue.deviceUID)
    try first.enqueue((0..<2000).map { Float($0 / 2 + 1) })
    try second.enqueue(ramp(1000))
    try first.queue.start(at: .frame(10))
    try second.queue.start(at: .frame(10))
    server.cycle(frames: 100)
    server.goAway()
    waitUntil { first.queue.isLost && second.queue.isLost && server.clients[0].isClosed }
    server.comeBack(counter: 1 << 30)
    waitUntil { !first.queue.isLost && !second.queue.isLost }
    server.cycle(frames: 100)
    expectEqual(server.clients.count, 2)
    let client = server.clients[1]
    expectEqual(client.outputs.map(\.name), ["out_1", "out_2", "2_out_1"])
    for samples in client.samples { expectEqual(samples, ramp(100, from: 91)) }
    expectEqual(second.queue.deviceUID, first.queue.deviceUID)
  }

  @Test("34: a start that was to come comes at its time")
  func armedStart() throws {
    // The simulated host time follows the counter, so both servers have the same time.
    let rig = try Rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start(at: .frame(500))
    rig.cycle()
    goAndReturn(rig, counter: 400)
    rig.cycle(3)
    expectEqual(rig.output, silence(100) + ramp(92))
    expectEqual(rig.queue.statistics.beganAt, 500)
  }

  @Test("34: missed cycles are not counted over a restart")
  func nothingIsMissed() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(500))
    try rig.queue.start()
    rig.cycle()
    goAndReturn(rig, counter: 100_000)
    rig.server.miss(frames: 5000)
    rig.cycle()
    expectEqual(rig.output, ramp(64, from: 65))
    // Later frames are.
    rig.server.miss(frames: 10)
    rig.cycle()
    expectEqual(Array(rig.output.suffix(64)), ramp(64, from: 139))
  }

  // MARK: Rates

  /// Returns a 441 Hz sine at `rate`.
  private func sine(_ frames: Int, rate: Double) -> [Float] {
    (0..<frames).map { Float(sin(2 * .pi * 441 * Double($0) / rate)) }
  }

  /// Returns the largest error of `heard` relative to the sine from queue time `seconds` on; infinity if a
  /// sample is no number. It ignores frames at the ends, where a resampler borders on silence.
  private func error(
    _ heard: ArraySlice<Float>, from seconds: Double, rate: Double, atBegin: Int = 400,
    atEnd: Int = 0
  ) -> Double {
    heard.enumerated().dropFirst(atBegin).dropLast(atEnd).map { i, sample in
      sample.isNaN
        ? Double.infinity : abs(Double(sample) - sin(2 * .pi * 441 * (seconds + Double(i) / rate)))
    }.max() ?? 1
  }

  @Test(
    "34: another rate: position and pitch stay",
    arguments: [48000.0, 44100],
    [[44100.0], [96000], [44100, 96000, 48000], [48000, 44100, 32000]])
  func anotherRate(first: Double, others: [Double]) throws {
    let source = 48000.0
    let rig = try Rig(
      .float(1, rate: source), server: HandDrivenServer(sampleRate: first))
    let frames = 96000
    let ids = try stride(from: 0, to: frames, by: 4800).map { at in
      try rig.enqueue(Array(sine(frames, rate: source)[at..<(at + 4800)]))
    }
    try rig.queue.stopAfterPlaying()
    var seconds = 0.0
    var rate = first
    func play(_ count: Int) {
      for _ in 0..<count {
        // Cycles wait for the converter here, so that none runs dry.
        _ = try? rig.queue.prime(frames: 4096)
        rig.cycle(frames: 512)
      }
    }
    func check(atBegin: Int, atEnd: Int = 0) {
      let heard = rig.output
      let end = min(heard.count, Int((2 - seconds) * rate))
      expectTrue(
        error(heard[..<end], from: seconds, rate: rate, atBegin: atBegin, atEnd: atEnd) < 1e-4)
      // The queue's time follows the signal, up to the end of the run.
      seconds += Double(heard.count) / rate
      expectTrue(rig.queue.currentFrame.map { abs($0 - seconds * source) < 4 } ?? (atEnd > 0))
    }
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start()
    play(30)
    check(atBegin: 400)
    for (i, other) in others.enumerated() {
      let changes = other != rate
      goAndReturn(rig, sampleRate: other)
      rate = other
      expectEqual(rig.queue.state.read { $0.device!.client.sampleRate }, other)
      play(i == others.count - 1 ? Int((2 - seconds) * rate) / 512 + 3 : 20)
      check(atBegin: changes ? 400 : 0, atEnd: i == others.count - 1 ? 400 : 0)
    }
    expectEqual(rig.doneBuffers, ids)
    expectEqual(rig.calls.last, .running(false))
    expectEqual(rig.queue.statistics.starvedFrames, 0)
    let lasted = Double(rig.queue.statistics.lastedFrames) / rate
    expectTrue(abs(lasted - 2) < 0.0005)
  }

  @Test("34: a server that changes its rate while it runs")
  func rateChange() throws {
    let rig = try Rig(.float(1, rate: 48000))
    try rig.enqueue(sine(48000, rate: 48000))
    try rig.queue.start()
    rig.cycle(10, frames: 512)
    rig.server.changeRate(to: 96000)
    let device = try require(rig.queue.state.read { $0.device })
    waitUntil { device.rateChanges == 1 && !rig.queue.isLost }
    expectEqual(rig.server.clients.count, 1)
    rig.settle()
    _ = try rig.queue.prime(frames: 4096)
    rig.cycle(10, frames: 512)
    // The same client has output 5,120 frames before.
    expectTrue(error(rig.output[5120...], from: 5120 / 48000, rate: 96000) < 1e-4)
    expectEqual(device.restarts, 0)
  }

  @Test("34: several runs in the ring are carried over, too")
  func runsInTheRing() throws {
    let rig = try Rig(.float(1, rate: 48000), server: HandDrivenServer(sampleRate: 44100))
    try rig.queue.setDecodeFrames(16384)
    for run in 0..<3 {
      try rig.enqueue(sine(2400, rate: 48000))
      try rig.queue.stopAfterPlaying()
      _ = try rig.queue.prime(frames: 0)
      try rig.queue.start()
      if run == 0 { rig.cycle(2, frames: 512) }
    }
    _ = try rig.queue.prime(frames: 0)
    goAndReturn(rig, sampleRate: 96000)
    waitUntil { rig.queue.state.read { $0.waiting.isEmpty && !$0.isConverting } }
    rig.cycle(40, frames: 512)
    expectEqual(rig.calls.filter { $0 == .running(false) }.count, 3)
    expectEqual(rig.doneBuffers.count, 3)
    // The second and third run are complete.
    let restSeconds: Double = 0.05 - 1024 / 44100
    let rest = Int((restSeconds * 96000).rounded())
    let heard = rig.output
    for run in 0..<2 {
      let begin = rest + run * 4800
      expectTrue(error(heard[begin..<(begin + 4800)], from: 0, rate: 96000, atEnd: 400) < 1e-3)
    }
  }

  // MARK: A second port

  @Test("19: a second port takes every second connection over, and no frame is heard twice or lost")
  func secondPort() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(10000))
    try rig.queue.start()
    rig.cycle()
    let client = rig.server.clients[0]
    let steps = Mutexed<[String]>([])
    client.onRewire = { [weak client, memory = rig.queue.memory] in
      let connections = client?.connections ?? [:]
      let left = memory.voice.pointee.secondPort.connectionsLeft.map { "left \($0)" } ?? "silent"
      steps.value.append(
        "\(connections["out_1"]?.count ?? 0) \(connections["out_2"]?.count ?? 0) \(left)")
    }
    let device = try require(rig.queue.state.read { $0.device })
    rig.queue.state.change { $0.part.needsSecondPort = true }
    try rig.queue.openSecondPort(of: device)
    // The voice knows of the switch before the first port loses its connection.
    expectEqual(steps.value, ["2 1 silent", "1 1 left 1"])
    expectEqual(cue_rt_port_connections(rig.queue.memory.ports[1]), 1)
    expectEqual(client.outputs.map(\.name), ["out_1", "out_2"])
    expectEqual(
      client.connections, ["out_1": ["system:playback_1"], "out_2": ["system:playback_2"]])
    let statistics = rig.queue.statistics
    expectEqual(statistics.portNames, ["out_1", "out_2"])
    expectEqual(statistics.connections, [["system:playback_1"], ["system:playback_2"]])
    // The second port returns with the others.
    client.onRewire = nil
    goAndReturn(rig)
    let fresh = try require(rig.server.clients.last)
    expectEqual(fresh.outputs.map(\.name), ["out_1", "out_2"])
    expectEqual(
      fresh.connections, ["out_1": ["system:playback_1"], "out_2": ["system:playback_2"]])
    expectEqual(cue_rt_port_connections(rig.queue.memory.ports[1]), 1)
    rig.cycle()
    expectEqual(fresh.samples[0], ramp(64, from: 65))
    // There is only one.
    #expect(throws: ServerError.self) { try device.addSecondPort(to: rig.queue.memory) }
    try rig.queue.dispose(afterPlaying: false)
    expectTrue(fresh.outputs.allSatisfy { $0.isRemoved } || fresh.isClosed)
  }
}
