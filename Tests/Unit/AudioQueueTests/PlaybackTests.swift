import CProbe
import CRealTime
import Foundation
import RealTime
import Server
import TestSupport
import Testing
import Timeline

@testable import AudioQueue

/// Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct PlaybackTests {
  // MARK: In a graph

  @Test func aQueuePlaysIntoInputsOfAGraph() throws {
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 64)
    defer { memory.deallocate() }
    memory.initialize(repeating: .nan, count: 64)
    let input = ClientPort(cue_port(port: nil, memory: memory, connections: nil))
    let rig = try Rig(connections: .graphInputs([input]))
    try rig.enqueue(ramp(100))
    try rig.queue.start(at: .frame(0))
    rig.server.cycle(frames: 64)
    expectEqual(Array(UnsafeBufferPointer(start: memory, count: 64)), ramp(64))
    expectTrue(rig.server.clients[0].outputs.isEmpty)
    try rig.queue.dispose(afterPlaying: false)
    let wrong = try Rig(connections: .graphInputs([input, input]))
    #expect(
      throws: QueueError.cannotStart(.wrongInputCount(count: 2, channels: 1))
    ) { try wrong.queue.start() }
    expectEqual(wrong.server.clients.map(\.isClosed), [true])
  }

  // MARK: Callbacks

  @Test("1: buffers come back in order, each once, when its last frame has left")
  func buffersComeBackInOrder() throws {
    let rig = try Rig()
    let a = try rig.enqueue(ramp(100))
    let b = try rig.enqueue(ramp(28, from: 101))
    let c = try rig.enqueue(ramp(50, from: 129))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.doneBuffers, [])
    rig.cycle()
    expectEqual(rig.doneBuffers, [a, b])
    rig.cycle()
    expectEqual(rig.doneBuffers, [a, b, c])
    expectEqual(rig.output, ramp(178) + silence(14))
  }

  @Test("1, 2: a callback never begins inside another, nor inside a call")
  func callbacksDoNotNest() throws {
    let rig = try Rig()
    let lock = NSLock()
    rig.onBuffer { queue, id in
      lock.withLock {}
      try? queue.enqueue(id, bytes: 4)
      queue.deliverEvents()
    }
    for _ in 0..<3 { try rig.enqueue([1]) }
    try lock.withLock {
      // The callback waits for the lock, so a callback inside one of these calls would hang.
      try rig.queue.start()
      try rig.enqueue([2])
      _ = try rig.queue.prime(frames: 0)
    }
    rig.cycle(10)
    expectTrue(rig.doneBuffers.count > 4)
    expectTrue(!rig.hasNested)
  }

  @Test("3: every call is allowed inside a callback", arguments: 0..<7)
  func callsInsideACallback(which: Int) throws {
    let rig = try Rig()
    let errors = Mutexed<[String]>([])
    let extra = try rig.buffer([9])
    rig.onBuffer { queue, id in
      do {
        switch which {
        case 0: try queue.enqueue(id, bytes: 4)
        case 1: try queue.freeBuffer(id)
        case 2: try queue.stop()
        case 3: try queue.stopAfterPlaying()
        case 4: try queue.flush()
        case 5: try queue.reset()
        default: try queue.freeBuffer(extra)
        }
      } catch { errors.value.append("\(error)") }
      rig.onBuffer { _, _ in }
    }
    let a = try rig.enqueue(ramp(64))
    let b = try rig.enqueue(ramp(64, from: 65))
    try rig.queue.start(at: .frame(0))
    rig.cycle(4)
    expectEqual(errors.value, [])
    // No buffer is lost in any case.
    expectEqual(Array(rig.doneBuffers.prefix(2)), [a, b])
    expectTrue(!rig.hasNested)
  }

  @Test("3, 8: dispose inside a callback", arguments: [true, false])
  func disposeInsideACallback(afterPlaying: Bool) throws {
    let rig = try Rig()
    let errors = Mutexed<[QueueError]>([])
    rig.onBuffer { queue, id in
      do {
        try queue.dispose(afterPlaying: afterPlaying)
        try queue.enqueue(id, bytes: 4)
      } catch { errors.value.append(error as! QueueError) }
    }
    try rig.enqueue(ramp(64))
    try rig.enqueue(ramp(64, from: 65))
    try rig.queue.start(at: .frame(0))
    rig.server.cycle(frames: 64)
    rig.queue.deliverEvents()
    waitUntil { !errors.value.isEmpty }
    expectEqual(errors.value, [afterPlaying ? .disposalPending : .disposed])
    rig.server.cycle(frames: 64)
    rig.server.cycle(frames: 64)
    rig.queue.deliverEvents()
    waitUntil { rig.server.clients[0].isClosed }
    expectEqual(rig.doneBuffers.count, 1)
    if afterPlaying { expectEqual(Array(rig.output.prefix(128)), ramp(128)) }
    #expect(throws: QueueError.disposed) { try rig.queue.start() }
  }

  @Test("4: a run loop is called on its own thread, in its mode; own thread otherwise")
  func dispatchQueueIsCalledThere() throws {
    let queue = DispatchQueue(label: "app")
    let key = DispatchSpecificKey<Int>()
    queue.setSpecific(key: key, value: 5)
    let rig = try Rig(executor: .queue(queue))
    let seen = Mutexed<[Int?]>([])
    rig.onBuffer { _, _ in seen.value.append(DispatchQueue.getSpecific(key: key)) }
    for _ in 0..<3 { try rig.enqueue([1]) }
    try rig.queue.start()
    rig.cycle()
    expectEqual(seen.value, [5, 5, 5])
  }

  // MARK: Stop, reset, flush, pause, dispose

  @Test("5: Stop(false) before Start keeps the buffers; the run ends with them")
  func stopBeforeStart() throws {
    let rig = try Rig()
    let a = try rig.enqueue(ramp(100))
    try rig.queue.stopAfterPlaying()
    try rig.queue.stopAfterPlaying()
    expectEqual(rig.doneBuffers, [])
    try rig.queue.start(at: .frame(0))
    rig.cycle(3)
    expectTrue(
      rig.calls == [.running(true), .done(a), .running(false)]
        || rig.calls == [.running(false), .done(a), .running(false)])
    expectEqual(rig.output, ramp(100) + silence(92))
    expectTrue(!rig.queue.isRunning)
    // The pending stop is used up: the next run continues until it is stopped.
    try rig.enqueue(ramp(10))
    try rig.queue.start()
    rig.cycle(2)
    expectTrue(rig.queue.isRunning)
  }

  @Test("5: Stop(false) before the first Start with nothing queued: that run ends at once")
  func stopOfNothing() throws {
    for rate in [48000.0, 44100] {
      let rig = try Rig(.float(1, rate: rate))
      try rig.queue.stopAfterPlaying()
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
      waitUntil {
        rig.cycle()
        return rig.calls.last == .running(false)
      }
      expectTrue(rig.calls.filter { $0 == .running(false) }.count == 1 && rig.calls.count == 2)
      expectEqual(rig.queue.runs.over, 1)
      // A stop after that run has nothing to end, and the next run goes on.
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
      rig.cycle(4)
      expectTrue(rig.queue.isRunning)
    }
  }

  @Test("5: Stop(false) with nothing queued does not concern a buffer that comes before Start")
  func stopBeforeABuffer() throws {
    let rig = try Rig()
    try rig.queue.stopAfterPlaying()
    try rig.enqueue(ramp(10))
    try rig.queue.start()
    rig.cycle(2)
    expectTrue(rig.queue.isRunning && rig.doneBuffers.count == 1)
    // Nor is it remembered after Stop(true).
    let other = try Rig()
    try other.queue.stopAfterPlaying()
    try other.queue.stop()
    try other.queue.start()
    other.cycle(2)
    expectTrue(other.queue.isRunning)
  }

  @Test("6: Stop(true) hands back every buffer, in order, before it returns")
  func stopHandsBack() throws {
    let rig = try Rig()
    let ids = try (0..<5).map { _ in try rig.enqueue(ramp(100)) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(2)
    try rig.queue.stop()
    expectEqual(rig.doneBuffers, ids)
    expectTrue(!rig.queue.isRunning)
    rig.cycle(3)
    expectEqual(rig.doneBuffers, ids)
    expectEqual(rig.output, ramp(100) + ramp(28) + silence(192))
    // The queue can play again from the start.
    try rig.enqueue(ramp(10, from: 1000))
    try rig.queue.start()
    rig.cycle()
    expectEqual(Array(rig.output.suffix(64)), ramp(10, from: 1000) + silence(54))
  }

  @Test("6: Reset hands back every buffer and does not stop")
  func resetHandsBack() throws {
    let rig = try Rig()
    let ids = try (0..<3).map { _ in try rig.enqueue(ramp(100)) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.reset()
    expectEqual(rig.doneBuffers, ids)
    expectTrue(rig.queue.isRunning)
    rig.cycle()
    try rig.enqueue(ramp(64, from: 500))
    rig.cycle()
    expectEqual(rig.output, ramp(64) + silence(64) + ramp(64, from: 500))
  }

  @Test("6: Enqueue while buffers are handed back is refused and queues nothing")
  func enqueueDuringReset() throws {
    for stops in [true, false] {
      let rig = try Rig()
      let errors = Mutexed<[QueueError]>([])
      rig.onBuffer { queue, id in
        do { try queue.enqueue(id, bytes: 4) } catch { errors.value.append(error as! QueueError) }
      }
      for _ in 0..<3 { try rig.enqueue(ramp(100)) }
      try rig.queue.start()
      if stops { try rig.queue.stop() } else { try rig.queue.reset() }
      expectEqual(errors.value, [.enqueueDuringReset, .enqueueDuringReset, .enqueueDuringReset])
      expectTrue(rig.queue.state.read { $0.waiting.isEmpty && $0.inRing.isEmpty })
      // After the stop, buffers are accepted again.
      try rig.enqueue([1])
    }
  }

  @Test("6: inside a callback, Stop(true) has the rest follow")
  func stopInsideACallback() throws {
    let rig = try Rig()
    let seen = Mutexed<[Int]>([])
    rig.onBuffer { queue, _ in
      if seen.value.isEmpty {
        try? queue.stop()
        seen.value.append(rig.doneBuffers.count)
      }
    }
    let ids = try (0..<3).map { _ in try rig.enqueue(ramp(64)) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(seen.value, [1])
    expectEqual(rig.doneBuffers, ids)
    expectTrue(!rig.queue.isRunning)
  }

  @Test("6: Stop(true) does not wait for ever on a callback that waits for its caller")
  func stopIsBounded() throws {
    let rig = try Rig()
    let lock = NSLock()
    let isInside = Mutexed(false)
    rig.onBuffer { _, _ in
      isInside.value = true
      lock.withLock {}
    }
    for _ in 0..<3 { try rig.enqueue(ramp(64)) }
    lock.lock()
    try rig.queue.start(at: .frame(0))
    rig.server.cycle(frames: 64)
    rig.queue.deliverEvents()
    waitUntil { isInside.value }
    try rig.queue.stop()
    expectEqual(rig.doneBuffers.count, 1)
    lock.unlock()
    rig.settle()
    expectEqual(rig.doneBuffers.count, 1, "no callback after Stop(true) has returned")
    // The app owns the buffers again.
    expectEqual(rig.queue.state.read { $0.buffers.records.map(\.isFree) }, [true, true, true])
  }

  @Test("7: Stop(false) plays what is queued; a Start straight after works")
  func startAfterStop() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    try rig.enqueue(ramp(50, from: 200))
    rig.cycle(3)
    expectEqual(rig.output, ramp(100) + ramp(50, from: 200) + silence(106))
    expectTrue(rig.queue.isRunning)
    let running = rig.calls.filter { if case .running = $0 { true } else { false } }
    expectEqual(running.count, 3)
  }

  @Test("7: runs that are told to follow each other do, even before the first one begins")
  func threeRuns() throws {
    let rig = try Rig()
    for run in 0..<3 {
      try rig.enqueue(ramp(50, from: Float(100 * run + 1)))
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
    }
    rig.cycle(3)
    let runs = ramp(50) + ramp(50, from: 101) + ramp(50, from: 201)
    expectEqual(rig.output, runs + silence(42))
    expectTrue(!rig.queue.isRunning)
    expectEqual(rig.calls.filter { $0 == .running(true) }.count, 3)
  }

  @Test("8: Dispose(false) drains in silence towards the app")
  func disposeDrains() throws {
    let rig = try Rig()
    for i in 0..<3 { try rig.enqueue(ramp(100, from: Float(100 * i + 1))) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.dispose(afterPlaying: true)
    #expect(throws: QueueError.disposalPending) { try rig.queue.start() }
    #expect(throws: QueueError.disposalPending) { try rig.enqueue([1]) }
    let calls = rig.calls.count
    for _ in 0..<6 { rig.server.cycle(frames: 64) }
    rig.queue.deliverEvents()
    waitUntil { rig.server.clients[0].isClosed }
    expectEqual(Array(rig.output.prefix(300)), ramp(300))
    expectEqual(rig.calls.count, calls)
    #expect(throws: QueueError.disposed) { try rig.queue.start() }
  }

  @Test("8: Dispose(false) of a queue that stands still ends it at once")
  func disposeOfAStandingQueue() throws {
    let idle = try Rig()
    try idle.enqueue([1])
    try idle.queue.dispose(afterPlaying: true)
    #expect(throws: QueueError.disposed) { try idle.queue.start() }
    let paused = try Rig()
    try paused.enqueue(ramp(100))
    try paused.queue.start()
    paused.cycle()
    try paused.queue.pause()
    try paused.queue.dispose(afterPlaying: true)
    expectTrue(paused.server.clients[0].isClosed)
  }

  @Test("8: Dispose(true) waits for a callback under way, but not for ever")
  func disposeWaits() throws {
    let rig = try Rig()
    let isInside = Mutexed(false)
    let isOver = Mutexed(false)
    rig.onBuffer { _, _ in
      isInside.value = true
      usleep(200_000)
      isOver.value = true
    }
    try rig.enqueue([1])
    try rig.queue.start()
    rig.server.cycle(frames: 64)
    rig.queue.deliverEvents()
    waitUntil { isInside.value }
    try rig.queue.dispose(afterPlaying: false)
    expectTrue(isOver.value)
  }

  @Test("9: Flush with nothing queued does nothing; with buffers it loses none")
  func flush() throws {
    let rig = try Rig()
    try rig.queue.flush()
    try rig.enqueue(ramp(30))
    try rig.queue.flush()
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.doneBuffers.count, 1)
    expectEqual(rig.output, ramp(30) + silence(34))
  }

  @Test("10: Pause keeps buffers and time; Start goes on where it stood")
  func pauseAndResume() throws {
    let rig = try Rig()
    try rig.queue.pause()
    try rig.enqueue(ramp(1000))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.pause()
    expectEqual(rig.queue.currentFrame, 64)
    rig.cycle(3)
    expectEqual(rig.queue.currentFrame, 64)
    expectTrue(rig.queue.isRunning)
    try rig.queue.start(at: .frame(Int64(rig.server.counter) + 10))
    rig.cycle()
    expectEqual(rig.output, ramp(64) + silence(192) + silence(10) + ramp(54, from: 65))
    try rig.queue.stop()
    try rig.enqueue(ramp(10))
    try rig.queue.start()
    rig.cycle()
    expectEqual(rig.queue.currentFrame, 64, "Stop then Start counts from 0 again")
  }

  @Test("10: Pause of a queue that waits for its time keeps it waiting")
  func pauseWhileArmed() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(64))
    try rig.queue.start(at: .frame(100))
    try rig.queue.pause()
    rig.cycle(4)
    expectEqual(rig.output, silence(256))
    try rig.queue.start()
    rig.cycle()
    expectEqual(Array(rig.output.suffix(64)), ramp(64))
  }

  @Test("11: FreeBuffer takes free buffers, refuses enqueued and foreign ones")
  func freeBuffers() throws {
    let rig = try Rig()
    let other = try Rig()
    let id = try rig.buffer([1])
    try rig.queue.enqueue(id, bytes: 4)
    #expect(throws: QueueError.bufferInQueue) { try rig.queue.freeBuffer(id) }
    #expect(throws: QueueError.invalidBuffer) { try other.queue.freeBuffer(id + 100) }
    try rig.queue.start()
    rig.cycle()
    try rig.queue.freeBuffer(id)
    #expect(throws: QueueError.invalidBuffer) { try rig.queue.freeBuffer(id) }
  }

  // MARK: Start and running dry

  @Test("12: a dry queue plays silence, runs on, and its time goes on")
  func runningDry() throws {
    let rig = try Rig()
    try rig.queue.start(at: .frame(0))
    rig.cycle(2)
    expectTrue(rig.queue.isRunning)
    try rig.enqueue(ramp(32))
    rig.cycle(2)
    expectTrue(rig.queue.isRunning)
    expectEqual(rig.output, silence(128) + ramp(32) + silence(96))
    expectEqual(rig.queue.currentFrame, 256)
    expectEqual(rig.queue.statistics.starvedFrames, 224)
  }

  @Test("13: IsRunning follows the first cycle and the last frame, never the call")
  func isRunning() throws {
    let rig = try Rig()
    let a = try rig.enqueue(ramp(64))
    try rig.queue.start(at: .frame(64))
    expectTrue(!rig.queue.isRunning && rig.calls == [])
    rig.cycle()
    expectTrue(!rig.queue.isRunning, "its time has not come")
    rig.cycle()
    expectTrue(rig.queue.isRunning)
    try rig.queue.stopAfterPlaying()
    expectTrue(rig.queue.isRunning)
    rig.cycle()
    expectTrue(!rig.queue.isRunning)
    expectEqual(rig.calls, [.running(true), .done(a), .running(false)])
  }

  @Test("14: a start frame is met exactly", arguments: [0, 1, 63, 64, 65, 127, 1000])
  func startFrame(frame: Int64) throws {
    let rig = try Rig()
    try rig.enqueue(ramp(10))
    try rig.queue.start(at: .frame(frame))
    rig.cycle(20)
    expectEqual(rig.output, silence(Int(frame)) + ramp(10) + silence(1280 - 10 - Int(frame)))
    expectEqual(rig.queue.statistics.beganAt, frame)
  }

  @Test("14: a host time is met at the frame it falls on")
  func startHostTime() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(10))
    try rig.queue.start(at: .hostTime(1_000_000))
    rig.cycle(2)
    expectEqual(rig.output, silence(48) + ramp(10) + silence(70))
  }

  @Test("14: a time already past starts at once and skips nothing")
  func startInThePast() throws {
    let rig = try Rig()
    _ = try rig.queue.prime(frames: 0)
    rig.cycle(2)
    try rig.enqueue(ramp(10))
    try rig.queue.start(at: .frame(5))
    rig.cycle()
    expectEqual(rig.output, silence(128) + ramp(10) + silence(54))
  }

  @Test("14: queues in different clients given one time start on one frame")
  func queuesStartTogether() throws {
    let server = HandDrivenServer()
    let rigs = try (0..<5).map { _ in try Rig(server: server) }
    for rig in rigs {
      try rig.enqueue(ramp(100))
      try rig.queue.start(at: .frame(77))
    }
    for _ in 0..<4 { server.cycle(frames: 64) }
    for client in server.clients {
      expectEqual(client.samples[0], silence(77) + ramp(100) + silence(79))
    }
  }

  @Test("15: Prime tells the frames that are ready")
  func prime() throws {
    let rig = try Rig()
    try expectEqual(rig.queue.prime(frames: 0), 0)
    try rig.enqueue(ramp(100))
    try rig.enqueue(ramp(50))
    try expectEqual(rig.queue.prime(frames: 0), 150)
    try expectEqual(rig.queue.prime(frames: 150), 150)
    var ready = 0
    #expect(throws: QueueError.primeTimedOut) { try rig.queue.prime(frames: 151, &ready) }
    expectEqual(ready, 150)
  }

  // MARK: Enqueuing

  @Test("17: what cannot be enqueued changes nothing")
  func badEnqueues() throws {
    let rig = try Rig()
    let other = try Rig()
    let id = try rig.buffer([1, 2])
    #expect(throws: QueueError.bufferEmpty) { try rig.queue.enqueue(id, bytes: 0) }
    #expect(throws: QueueError.bufferEmpty) { try rig.queue.enqueue(id, bytes: 3) }
    #expect(throws: QueueError.bufferOverfull) { try rig.queue.enqueue(id, bytes: 12) }
    #expect(throws: QueueError.invalidBuffer) { try rig.queue.enqueue(id + 1, bytes: 4) }
    #expect(throws: QueueError.invalidBuffer) { try other.queue.enqueue(id, bytes: 4) }
    try rig.queue.enqueue(id, bytes: 8)
    #expect(throws: QueueError.enqueuedTwice) { try rig.queue.enqueue(id, bytes: 8) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.output, [1, 2] + silence(62))
    expectEqual(rig.doneBuffers, [id])
  }

  @Test func moreBuffersThanTheRingHolds() throws {
    let rig = try Rig()
    let count = 3 * VoiceMemory.entryCapacity
    for i in 0..<count { try rig.enqueue([Float(i + 1)]) }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    rig.cycle(8, frames: 1000)
    // The cycle that emptied the ring played no more; the rest followed in order.
    expectEqual(rig.output.filter { $0 != 0 }, ramp(count))
    expectEqual(rig.doneBuffers.count, count)
    expectTrue(!rig.queue.isRunning)
  }

  @Test("a run that is going takes many buffers at once and starves at none of them")
  func manyBuffersDuringARun() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(64))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    let count = VoiceMemory.entryCapacity / 2
    for i in 0..<count { try rig.enqueue([Float(65 + i)]) }
    rig.cycle(1, frames: count)
    expectEqual(rig.output, ramp(64 + count))
    expectEqual(rig.queue.statistics.starvedFrames, 0)
    expectEqual(rig.doneBuffers.count, 1 + count)
  }

  @Test("many parameter changes between two cycles wait for no cycle")
  func manyParameterChanges() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(128))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    for i in 1...500 { try rig.queue.change(ParameterChanges(volume: Float(i) / 1000)) }
    expectEqual(rig.queue.memory.voice.pointee.parametersInForce.taken, 0)
    rig.cycle()
    expectEqual(rig.queue.memory.voice.pointee.parametersInForce.taken, 500)
    expectEqual(rig.output, ramp(64) + ramp(64, from: 65).map { $0 * 0.5 })
  }

  @Test("19: volume is clamped and exact")
  func volume() throws {
    let rig = try Rig()
    expectEqual(rig.queue.parameters.volume, 1)
    for (value, expected) in [(-1, 0), (2, 1), (0.25, 0.25), (.nan, 0.25)] as [(Float, Float)] {
      try rig.queue.change(ParameterChanges(volume: value))
      expectEqual(rig.queue.parameters.volume, expected)
    }
    try rig.queue.change(ParameterChanges(volume: 0.3))
    try rig.enqueue(ramp(128))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.change(ParameterChanges(volume: 0.7))
    rig.cycle()
    expectEqual(rig.output, ramp(64).map { $0 * 0.3 } + ramp(64, from: 65).map { $0 * 0.7 })
  }

  // MARK: Other rates

  @Test(arguments: [44100.0, 96000, 22050])
  func anotherRateIsConvertedWhole(rate: Double) throws {
    let rig = try Rig(.float(2, rate: rate))
    let frames = Int(rate)
    let samples = (0..<frames * 2).map { index -> Float in
      let phase: Double = Double(index / 2) * 0.05
      return Float(sin(phase * Double(1 + index % 2)))
    }
    for part in 0..<10 {
      try rig.enqueue(Array(samples[(part * frames / 5)..<((part + 1) * frames / 5)]))
    }
    try rig.queue.stopAfterPlaying()
    expectTrue(try rig.queue.prime(frames: 0) > 0)
    try rig.queue.start(at: .frame(0))
    var cycles = 0
    while cycles < 2000 {
      // The converter runs on its own thread. Give it the time that a real clock would leave it.
      waitUntil {
        rig.queue.state.read {
          $0.readyFrames > 4096 || $0.waiting.isEmpty && !$0.isConverting
        }
      }
      rig.cycle(frames: 256)
      cycles += 1
      if !rig.queue.isRunning && cycles > 2 { break }
    }
    expectEqual(rig.doneBuffers.count, 10)
    expectEqual(rig.queue.statistics.lastedFrames, 48000)
    expectEqual(rig.queue.statistics.starvedFrames, 0)
    // The left channel is the sine at the other rate.
    let step = 0.05 * rate / 48000
    let output = rig.output
    expectTrue((4800..<43200).allSatisfy { abs(output[$0] - Float(sin(Double($0) * step))) < 1e-5 })
  }

  @Test("6: Stop(true) while converting hands everything back, and nothing stale is heard")
  func stopWhileConverting() throws {
    let rig = try Rig(.float(1, rate: 44100))
    for round in 0..<20 {
      let before = rig.doneBuffers.count
      let ids = try (0..<3).map { _ in
        try rig.enqueue([Float](repeating: 0.5, count: 5000))
      }
      try rig.queue.start()
      rig.server.cycle(frames: 64)
      try rig.queue.stop()
      expectEqual(Array(rig.doneBuffers[before...]), ids, "round \(round)")
      let heard = rig.output.count
      rig.cycle(2)
      expectTrue(rig.output[heard...].allSatisfy { $0 == 0 })
    }
  }

  @Test func currentFrameCountsInTheQueuesRate() throws {
    let rig = try Rig(.float(1, rate: 24000))
    expectNil(rig.queue.currentFrame)
    try rig.queue.start(at: .frame(0))
    rig.cycle(2, frames: 480)
    expectEqual(rig.queue.currentFrame, 480)
  }

  // MARK: Devices

  @Test func portsAreConnectedToTheSoundCard() throws {
    let mono = try Rig(.float(1))
    _ = try mono.queue.prime(frames: 0)
    expectEqual(
      mono.server.clients[0].connections, ["out_1": ["system:playback_1", "system:playback_2"]])
    let three = try Rig(.float(3))
    _ = try three.queue.prime(frames: 0)
    expectEqual(
      three.server.clients[0].connections,
      ["out_1": ["system:playback_1"], "out_2": ["system:playback_2"]])
    let none = try Rig(.float(2), connections: .none)
    _ = try none.queue.prime(frames: 0)
    expectEqual(none.server.clients[0].connections, [:])
  }

  @Test func aPortThatDoesNotExistIsNamed() throws {
    let rig = try Rig(.float(2), connections: .ports(["system:playback_1", "nowhere:in"]))
    #expect(throws: QueueError.cannotStart(.noSuchPort(name: "nowhere:in", server: "by-hand"))) {
      try rig.queue.start()
    }
    expectTrue(rig.server.clients[0].isClosed)
  }

  @Test func queuesShareADevice() throws {
    let server = HandDrivenServer()
    let first = try Rig(server: server)
    _ = try first.queue.prime(frames: 0)
    let second = try Rig(server: HandDrivenServer())
    try second.queue.setDeviceUID(first.queue.deviceUID)
    try first.enqueue(ramp(10))
    try second.enqueue(ramp(10, from: 100))
    try first.queue.start(at: .frame(3))
    try second.queue.start(at: .frame(3))
    server.cycle(frames: 64)
    expectEqual(server.clients.count, 1)
    expectEqual(server.clients[0].outputs.map(\.name), ["out_1", "2_out_1"])
    expectEqual(server.clients[0].samples[0], silence(3) + ramp(10) + silence(51))
    expectEqual(server.clients[0].samples[1], silence(3) + ramp(10, from: 100) + silence(51))
    try first.queue.dispose(afterPlaying: false)
    expectTrue(!server.clients[0].isClosed)
    try second.queue.dispose(afterPlaying: false)
    expectTrue(server.clients[0].isClosed)
  }

  @Test("30: an unknown device is an error; a device is set before a start")
  func unknownDevices() throws {
    let rig = try Rig()
    for uid in ["", "nonsense", "jack:", "jack:no-such-server", "jack:by-hand/nobody"] {
      #expect(throws: QueueError.invalidDevice(uid)) { try rig.queue.setDeviceUID(uid) }
    }
    try rig.queue.start()
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setDeviceUID("jack:default") }
  }

  @Test("34: a queue whose server has gone says so")
  func serverLost() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    rig.server.goAway()
    waitUntil { rig.queue.isLost }
    rig.settle()
    expectTrue(rig.calls == [.running(true)] && rig.queue.isRunning)
    #expect(throws: QueueError.invalidated) { try rig.queue.start() }
  }

  @Test func aServerThatCannotBeReachedIsNamed() throws {
    let server = HandDrivenServer()
    server.failure = .unknownServer("studio")
    let rig = try Rig(server: server)
    #expect(throws: QueueError.cannotStart(.unknownServer("studio"))) { try rig.queue.start() }
    // The server may appear later.
    server.failure = nil
    try rig.queue.start()
  }

  @Test(.disabled(if: isSanitized, "a sanitizer ends the program instead"))
  func noMemoryIsAnError() throws {
    let rig = try Rig()
    #expect(throws: QueueError.outOfMemory) {
      try rig.queue.allocateBuffer(capacity: 1 << 46)
    }
  }
}

/// A value shared by threads.
final class Mutexed<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value
  init(_ value: Value) { stored = value }
  var value: Value {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &stored
    }
  }
}

/// Waits until other threads satisfy a condition, with a generous timeout.
func waitUntil(seconds: Double = 20, _ condition: () -> Bool) {
  let end = Date(timeIntervalSinceNow: seconds)
  while !condition() {
    if Date() > end {
      Issue.record("what was waited for did not happen")
      return
    }
    usleep(500)
  }
}
