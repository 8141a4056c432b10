import AudioToolbox
import CoreFoundation
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Stress test: many threads and the callbacks themselves call queues at random while cycles run.
/// Nothing may crash, hang or lose a buffer.
///
/// `CUEJACK_STRESS_SEED` repeats a run as far as thread timing permits. `CUEJACK_STRESS_CALLS` sets the
/// number of calls.
@Suite(.tags(.server), .serialized) struct StressTests {
  private static func setting(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test func randomCallsFromManyThreads() throws {
    let seed = Self.setting("CUEJACK_STRESS_SEED") ?? UInt64.random(in: 1...999_999)
    let calls = Int(Self.setting("CUEJACK_STRESS_CALLS") ?? (isSanitized ? 20_000 : 200_000))
    print("stress: CUEJACK_STRESS_SEED=\(seed) CUEJACK_STRESS_CALLS=\(calls)")
    let stage = Stage(seed: seed)
    let threads = 8
    let group = DispatchGroup()
    for number in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        var random = Random(seed: seed &* 31 &+ UInt64(number))
        for _ in 0..<(calls / threads) { stage.act(&random) }
        group.leave()
      }
    }
    guard group.wait(timeout: .now() + 300) == .success else {
      fatalError("stress: hung; seed \(seed)")
    }
    stage.finish()
    expectEqual(stage.faults, [], "seed \(seed)")
  }
}

/// A small generator that returns the same numbers for the same seed (SplitMix64).
private struct Random: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

/// The queues, the server and the threads that drive them.
private final class Stage: @unchecked Sendable {
  private static let queues = 5
  private let server = HandDrivenServer(keepsSamples: false)
  private let lock = NSLock()
  private var slots: [Actor] = []
  private var _faults: [String] = []
  private let loop: RunLoopThread
  private let dispatchQueue = DispatchQueue(label: "stress")
  private let isOver = Mutexed(false)
  private let cycles = DispatchGroup()
  private var made: UInt64 = 0
  private let seed: UInt64

  init(seed: UInt64) {
    self.seed = seed
    loop = RunLoopThread()
    for number in 0..<Self.queues { slots.append(make(number)) }
    cycles.enter()
    Thread.detachNewThread { [self] in
      var random = Random(seed: seed)
      while !isOver.value {
        server.cycle(frames: 1 + random.below(256))
        usleep(100)
      }
      cycles.leave()
    }
  }

  var faults: [String] { lock.withLock { _faults } }
  func fault(_ text: String) { lock.withLock { _faults.append(text) } }

  private func make(_ number: Int) -> Actor {
    let rates: [Double] = [48000, 44100, 48000, 22050, 48000]
    let places: [CallbackExecutor] = [
      .ownThread, .ownThread, .runLoop(loop.loop, mode: nil), .queue(dispatchQueue), .ownThread,
    ]
    made += 1
    return Actor(
      .float(1 + number % 2, rate: rates[number]), server, places[number], self,
      seed: seed &+ made)
  }

  /// Makes one random call of a random queue.
  func act(_ random: inout Random) {
    let number = random.below(Self.queues)
    let actor = lock.withLock { slots[number] }
    switch random.below(400) {
    case 0...1: actor.dispose(afterPlaying: random.below(2) == 0)
    case 2:
      // The server goes away and returns, or changes its rate.
      if random.below(8) != 0 { return }
      if random.below(3) == 0 {
        server.changeRate(to: [44100, 48000, 96000][random.below(3)])
      } else {
        server.clients.last?.lose()
      }
    case 3...6:
      // Two queues may share a client.
      let other = lock.withLock { slots[random.below(Self.queues)] }
      let uid = other.queue.deviceUID
      if uid.contains("/") { try? actor.queue.setDeviceUID(uid) }
    default: actor.act(&random)
    }
    guard actor.isUseless else { return }
    lock.withLock { if slots[number] === actor { slots[number] = make(number) } }
    actor.dispose(afterPlaying: false)
  }

  /// Stops every queue. Afterwards the app owns all buffers.
  func finish() {
    for actor in lock.withLock({ slots }) {
      actor.isQuiet.value = true
      waitUntil { !actor.queue.isLost }
      actor.stopAndCount()
      actor.dispose(afterPlaying: false)
    }
    // Queues being disposed of first play to their end.
    let end = Date(timeIntervalSinceNow: 20)
    while server.clients.contains(where: { !$0.isClosed }) && Date() < end { usleep(1000) }
    for client in server.clients where !client.isClosed { fault("a client stays open") }
    isOver.value = true
    cycles.wait()
    loop.end()
  }
}

/// A thread with a run loop.
private final class RunLoopThread: @unchecked Sendable {
  let loop: CFRunLoop
  private let isOver = Mutexed(false)

  init() {
    let found = Mutexed<CFRunLoop?>(nil)
    let isOver = isOver
    Thread.detachNewThread {
      found.value = CFRunLoopGetCurrent()
      while !isOver.value {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false)
        usleep(200)
      }
    }
    waitUntil { found.value != nil }
    loop = found.value!
  }

  func end() { isOver.value = true }
}

/// An app with one queue, which it calls at random, and counts for its buffers.
private final class Actor: @unchecked Sendable {
  private(set) var queue: OutputQueue!
  private unowned let stage: Stage
  private let lock = NSLock()
  private let format: PCMFormat
  /// Accepted or running calls of enqueue, and callbacks, by buffer.
  private var tries: [UInt32: Int] = [:]
  private var returns: [UInt32: Int] = [:]
  private var ids: [UInt32] = []
  private var random: Random
  private var depth = 0
  /// Set to stop calls from callbacks.
  let isQuiet = Mutexed(false)

  init(
    _ format: PCMFormat, _ server: HandDrivenServer, _ executor: CallbackExecutor, _ stage: Stage,
    seed: UInt64
  ) {
    self.stage = stage
    self.format = format
    random = Random(seed: seed)
    let queue = try? OutputQueue(
      format, options: OutputQueue.Options(clientName: "stress"), server: server,
      callingBackOn: executor,
      OutputQueue.Handlers(
        bufferDone: { [weak self] _, id in self?.bufferDone(id) },
        changed: { queue, _ in _ = queue.isRunning }))
    guard let queue else { fatalError("stress: no queue") }
    self.queue = queue
  }

  private func bufferDone(_ id: UInt32) {
    var random = lock.withLock {
      depth += 1
      if depth > 1 { stage.fault("a callback inside another") }
      returns[id, default: 0] += 1
      if returns[id]! > tries[id, default: 0] { stage.fault("buffer \(id) came back twice") }
      return Random(seed: self.random.next())
    }
    if !isQuiet.value {
      switch random.below(10) {
      case 0: act(&random)
      case 1: free(id)
      case 2...6: enqueue(id, &random)
      default: break
      }
      if random.below(500) == 0 { dispose(afterPlaying: random.below(2) == 0) }
    }
    lock.withLock { depth -= 1 }
  }

  private func enqueue(_ id: UInt32, _ random: inout Random) {
    lock.withLock { tries[id, default: 0] += 1 }
    do {
      try queue.enqueue(id, bytes: format.bytesPerFrame * (1 + random.below(400)))
    } catch {
      lock.withLock { tries[id]! -= 1 }
    }
  }

  private func free(_ id: UInt32) {
    guard (try? queue.freeBuffer(id)) != nil else { return }
    lock.withLock { ids.removeAll { $0 == id } }
  }

  private func anyBuffer(_ random: inout Random) -> UInt32? {
    lock.withLock { ids.isEmpty ? nil : ids[random.below(ids.count)] }
  }

  func act(_ random: inout Random) {
    switch random.below(40) {
    case 0...2: try? queue.start()
    case 3:
      let now = queue.deviceTime?.frame ?? 0
      try? queue.start(at: .frame(now + Int64(random.below(2000)) - 500))
    case 4: try? queue.pause()
    case 5: try? queue.stop()
    case 6...7: try? queue.stopAfterPlaying()
    case 8: try? queue.reset()
    case 9: try? queue.flush()
    case 10: _ = try? queue.prime(frames: random.below(3000))
    case 11: try? queue.change(ParameterChanges(volume: Float(random.below(10)) / 8))
    case 12...13: _ = queue.currentFrame
    case 14: _ = queue.statistics
    case 15: queue.isMetering = random.below(2) == 0
    case 16: _ = (queue.takePeaks(), queue.levels, queue.discontinuities, try? queue.assignments())
    case 17: _ = queue.deviceTime
    case 18: if let id = anyBuffer(&random) { free(id) }
    case 19...22:
      guard lock.withLock({ ids.count }) < 40 else { return }
      let capacity = format.bytesPerFrame * 400
      if let buffer = try? queue.allocateBuffer(capacity: capacity) {
        lock.withLock { ids.append(buffer.id) }
      }
    default: if let id = anyBuffer(&random) { enqueue(id, &random) }
    }
  }

  func dispose(afterPlaying: Bool) { try? queue.dispose(afterPlaying: afterPlaying) }

  /// Whether the queue has been disposed of.
  var isUseless: Bool { queue.state.read { $0.disposal != .none } }

  func stopAndCount() {
    guard (try? queue.stop()) != nil else { return }
    let state = queue.state.read { $0 }
    if !state.waiting.isEmpty || !state.inRing.isEmpty { stage.fault("something stays queued") }
    for record in state.buffers.records where !record.isFree {
      stage.fault("\(record.id) is not free")
    }
    if state.isRunning { stage.fault("a stopped queue runs") }
    lock.withLock {
      // Every accepted enqueue must have had its callback.
      for (id, count) in tries where count != returns[id, default: 0] {
        stage.fault("buffer \(id): \(count) times enqueued, \(returns[id, default: 0]) back")
      }
    }
  }
}
