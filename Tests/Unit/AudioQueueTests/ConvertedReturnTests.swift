import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// When buffers come back that are converted: with their last frame. Line 1 of the behaviour.
@Suite(.serialized) struct ConvertedReturnTests {
  /// Returns the output so far without the silence at its end.
  private func heard(_ rig: Rig) -> Int { (rig.output.lastIndex { $0 != 0 } ?? -1) + 1 }

  /// Waits until the converter has nothing to do, flushes included.
  private func waitForConverter(_ rig: Rig) {
    waitUntil {
      rig.queue.state.read { state in
        guard let converter = state.converter, !state.isConverting, !state.isReturning else {
          return false
        }
        return converter.isFull(state)
          || state.waiting.isEmpty
            && (!state.part.holdsBack || converter.isAhead(state) || state.phase != .started)
      }
    }
  }

  private func cycle(_ rig: Rig, _ count: Int = 1, frames: Int = 64) {
    for _ in 0..<count {
      waitForConverter(rig)
      rig.cycle(frames: frames)
    }
  }

  @Test(
    "1: a buffer comes back in the cycle that plays its last frame", arguments: [64, 256, 1024])
  func withItsLastFrame(period: Int) throws {
    let rig = try Rig(.float(1, rate: 24000))
    for _ in 0..<3 { try rig.enqueue([Float](repeating: 0.5, count: 1200)) }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    for end in 1...3 {
      while rig.doneBuffers.count < end && rig.output.count < 20_000 {
        cycle(rig, frames: period)
      }
      let frames = rig.output.count
      expectTrue(frames >= 2400 * end && frames < 2400 * end + period, "\(frames)")
    }
    expectEqual(rig.doneBuffers, [1, 2, 3])
    expectEqual(rig.queue.statistics.lastedFrames, 7200)
  }

  @Test("1: a short sound is heard to its end without a stop, and then its buffer comes back")
  func shortSounds() throws {
    for frames in [20, 441, 4410, 13_230] {
      let rig = try Rig(.float(1, rate: 44100))
      try rig.enqueue([Float](repeating: 0.5, count: frames))
      try rig.queue.start()
      let length = Int((Double(frames) * 48000 / 44100).rounded())
      while rig.doneBuffers.isEmpty && rig.output.count < 40_000 { cycle(rig) }
      // The last callback is the signal to stop at once.
      try rig.queue.stop()
      expectTrue(heard(rig) == length && rig.doneBuffers == [1])
      expectTrue(rig.output.count < length + 64 && !rig.output.prefix(length).contains(0), "\(rig)")
    }
  }

  /// The server's cycles wake the event thread here: nothing else reads what has been played.
  @Test("1: the conversion goes on in time, however long the converted pieces are")
  func longPieces() throws {
    let server = HandDrivenServer(sampleRate: 44100)
    let rig = try Rig(.float(1, rate: 96000), server: server)
    try rig.queue.setDecodeFrames(16384)
    for _ in 0..<12 { try rig.enqueue([Float](repeating: 0.5, count: 24000)) }
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    for _ in 0..<120 {
      server.cycle(frames: 1024)
      let voice = rig.queue.memory.voice
      waitUntil {
        let played = voice.pointee.playedFrames.load(ordering: .relaxed)
        return rig.queue.state.read { $0.part.pushedFrames } >= played + 1024
      }
    }
    expectEqual(rig.queue.statistics.starvedFrames, 0)
  }

  @Test("1: linear PCM is read as late as 20 ms before it is heard")
  func lateFilling() throws {
    let rig = try Rig(.float(1, rate: 24000), server: HandDrivenServer())
    rig.server.periodFrames = 64
    let buffer = try rig.queue.allocateBuffer(capacity: 24000 * 4)
    buffer.data.bindMemory(to: Float.self).update(repeating: 0)
    try rig.queue.enqueue(buffer.id, bytes: 24000 * 4)
    try rig.queue.start()
    cycle(rig, 100)
    waitForConverter(rig)
    buffer.data.bindMemory(to: Float.self).update(repeating: 0.5)
    let now = rig.output.count
    cycle(rig, 200)
    let first = try require(rig.output.firstIndex { abs($0) > 0.25 })
    // The resampler's own latency comes on top.
    let latency = 2 * 1024
    expectTrue(first > now && first <= now + 960 + latency, "\(first - now)")
  }

  @Test("1: buffers that are together shorter than the latency come back early, but for the last")
  func smallBuffers() throws {
    let rig = try Rig(.float(1, rate: 44100))
    rig.server.periodFrames = 64
    let sound = (0..<44_100).map { Float(0.5 * sin(Double($0) * 0.05)) }
    let buffers = try (0..<3).map { _ in try rig.queue.allocateBuffer(capacity: 200 * 4) }
    let at = Mutexed(0)
    func fill(_ id: UInt32) {
      guard let buffer = buffers.first(where: { $0.id == id }), at.value < 40_000 else { return }
      for i in 0..<200 { buffer.data.bindMemory(to: Float.self)[i] = sound[at.value + i] }
      at.value += 200
      try? rig.queue.enqueue(id, bytes: 800)
    }
    rig.onBuffer { _, id in fill(id) }
    for buffer in buffers { fill(buffer.id) }
    try rig.queue.start()
    cycle(rig, 500)
    // One stream: no flush has broken it.
    let begin = try require(rig.output.firstIndex { $0 != 0 })
    let jumps = zip(rig.output.dropFirst(begin + 1), rig.output.dropFirst(begin))
      .map { abs($0 - $1) }
    expectTrue(!jumps.isEmpty && jumps.allSatisfy { $0 < 0.05 }, "\(jumps.max() ?? 1)")
    expectTrue(!rig.hasNested)
  }

  @Test("6: Stop and Reset return buffers that have been read and not heard")
  func stopped() throws {
    for resets in [false, true] {
      let rig = try Rig(.float(1, rate: 44100))
      try rig.enqueue([Float](repeating: 0.5, count: 100))
      try rig.enqueue([Float](repeating: 0.5, count: 20_000))
      try rig.enqueue([Float](repeating: 0.5, count: 100))
      try rig.queue.start()
      cycle(rig)
      if resets { try rig.queue.reset() } else { try rig.queue.stop() }
      expectEqual(rig.doneBuffers, [1, 2, 3])
      // They may be enqueued again.
      try rig.queue.enqueue(1, bytes: 400)
      try rig.queue.stop()
      expectEqual(rig.doneBuffers, [1, 2, 3, 1])
    }
  }

  @Test("11: a buffer that has been read and not heard is still enqueued")
  func enqueued() throws {
    let rig = try Rig(.float(1, rate: 44100))
    let id = try rig.enqueue([Float](repeating: 0.5, count: 100))
    _ = try rig.queue.prime(frames: 0)
    #expect(throws: QueueError.bufferInQueue) { try rig.queue.freeBuffer(id) }
    #expect(throws: QueueError.enqueuedTwice) { try rig.queue.enqueue(id, bytes: 400) }
  }

  @Test("18: start times ascend among buffers that have been read and not heard")
  func startTimes() throws {
    let rig = try Rig(.float(1, rate: 44100))
    let id = try rig.buffer([Float](repeating: 0.5, count: 100))
    _ = try rig.queue.enqueue(id, bytes: 400, OutputQueue.Schedule(start: 500))
    _ = try rig.queue.prime(frames: 0)
    let other = try rig.buffer([0.5])
    #expect(throws: QueueError.startsOutOfOrder) {
      _ = try rig.queue.enqueue(other, bytes: 4, OutputQueue.Schedule(start: 499))
    }
  }

  @Test("frames are there for the first cycle of a longer period")
  func longerPeriod() throws {
    let rig = try Rig(.float(1, rate: 44100))
    rig.server.periodFrames = 64
    try rig.enqueue([Float](repeating: 0.5, count: 44_100))
    try rig.queue.start()
    cycle(rig, 10)
    // Events of the cycles before do not undo the announcement.
    Thread.detachNewThread { [queue = rig.queue] in for _ in 0..<100 { queue.deliverEvents() } }
    rig.queue.deviceWillChangePeriod(to: 4096)
    rig.cycle(frames: 4096)
    expectEqual(rig.queue.statistics.starvations, 0)
  }

  @Test("a converter that holds frames back for a later start does not wake up")
  func armed() throws {
    let rig = try Rig(.float(1, rate: 44100))
    try rig.queue.start(at: .frame(1 << 30))
    try rig.enqueue([Float](repeating: 0.5, count: 100))
    waitUntil { rig.queue.state.read { $0.waiting.isEmpty && !$0.isConverting } }
    let patience = rig.queue.state.read { $0.converter?.patience($0) }
    expectTrue(patience == nil && rig.doneBuffers == [])
  }

  @Test("primed buffers are converted again for another device, and none is lost")
  func otherDevice() throws {
    let rig = try Rig(.float(1, rate: 44100))
    for _ in 0..<3 { try rig.enqueue([Float](repeating: 0.5, count: 441)) }
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.setOfflineFormat(.float(1))
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    var samples = [Float](repeating: 0, count: 4000)
    let frames = try samples.withUnsafeMutableBytes { try rig.queue.render(frames: 4000, into: $0) }
    expectTrue(frames == 1440 && rig.doneBuffers == [1, 2, 3])
  }
}
