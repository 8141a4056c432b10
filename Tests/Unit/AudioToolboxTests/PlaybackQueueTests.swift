import AudioToolbox
import Foundation
import Synchronization
import TestSupport
import Testing

/// Playback by the Swift layer on a running jackd, checked by a capture client.
@Suite(
  .tags(.server), .serialized, .timeLimit(.minutes(2)),
  .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct PlaybackQueueTests {
  /// Returns a sample that is never 0 and exact in every tested format.
  private static func sample(_ frame: Int, channel: Int = 0) -> Float {
    Float((frame * 7 + channel * 13) % 9973 + 1) / 16384
  }

  private static func samples(_ frames: Range<Int>, channels: Int = 1) -> [Float] {
    frames.flatMap { frame in (0..<channels).map { sample(frame, channel: $0) } }
  }

  private static func queue(in studio: Studio, channels: Int = 1) throws -> PlaybackQueue {
    let queue = try PlaybackQueue(.pcm(channels: channels), bufferFrames: 9600)
    try queue.setValue(studio.device, of: .device)
    return queue
  }

  /// Creates a queue that renders `frames` frames.
  private static func rendering(_ frames: Int, in studio: Studio) throws -> PlaybackQueue {
    let queue = try PlaybackQueue(Float.self, channels: 1, bufferFrames: 9600) { frame, output in
      let end = min(frames, frame + output.freeCapacity)
      for frame in frame..<max(frame, end) { output.append(sample(frame)) }
    }
    try queue.setValue(studio.device, of: .device)
    return queue
  }

  // MARK: Writing

  @Test func whatIsWrittenIsHeard() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio, channels: 2)
    expectTrue(!queue.isRunning)
    try queue.start()
    // A piece that needs many buffers, one of a single frame, and one that is no array.
    let all = Self.samples(0..<100_000, channels: 2)
    try await queue.write(all.prefix(160_000))
    expectTrue(queue.isRunning)
    try await queue.write(all[160_000..<160_002])
    try await queue.write(all[160_002...].lazy.map { $0 })
    try await queue.stopAfterPlaying()
    expectTrue(!queue.isRunning)
    studio.wait(cycles: 1)
    let heard = studio.heard(channels: 2)
    for channel in 0..<2 {
      let expected = (0..<100_000).map { Self.sample($0, channel: channel) }
      expectEqual(heard[channel], expected, "\(heard[channel].count) frames")
    }
  }

  @Test func everyTypeOfSampleIsHeard() async throws {
    func check<Sample: LinearPCMSample>(_ type: Sample.Type, _ sample: (Float) -> Sample)
      async throws
    {
      let studio = try Studio()
      let queue = try PlaybackQueue(.pcm(Sample.self, channels: 1))
      try queue.setValue(studio.device, of: .device)
      // Sixteen levels, which 8 bits represent exactly.
      let levels = (0..<5000).map { Float($0 % 15 + 1) / 16 }
      try queue.start()
      try await queue.write(levels.map(sample))
      try await queue.stopAfterPlaying()
      studio.wait(cycles: 1)
      expectEqual(studio.heard(), [levels], "\(type)")
    }
    try await check(Float.self) { $0 }
    try await check(Double.self) { Double($0) }
    try await check(Int8.self) { Int8($0 * 128) }
    try await check(Int16.self) { Int16($0 * 32768) }
    try await check(Int32.self) { Int32($0 * 2_147_483_648) }
  }

  @Test func bytesOfAnyFormatAreWritten() async throws {
    let studio = try Studio()
    // 24 bits, big-endian.
    let format = AudioStreamBasicDescription(
      mSampleRate: 48000, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked
        | kAudioFormatFlagIsBigEndian, mBytesPerPacket: 3, mFramesPerPacket: 1, mBytesPerFrame: 3,
      mChannelsPerFrame: 1, mBitsPerChannel: 24, mReserved: 0)
    let queue = try PlaybackQueue(format)
    try queue.setValue(studio.device, of: .device)
    try queue.start()
    let samples = Self.samples(0..<9000)
    let bytes = samples.flatMap { sample in
      let value = Int32(sample * 8_388_608)
      return [16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    try await queue.write(bytes: Data(bytes))
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    expectEqual(studio.heard(), [samples])
  }

  /// Two tasks write at once: the pieces are played whole, one after the other.
  @Test func piecesOfSeveralTasksStayWhole() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio)
    try queue.start()
    let pieces = [Self.samples(0..<60_000), Self.samples(100_000..<160_000)]
    try await withThrowingTaskGroup { group in
      for piece in pieces { group.addTask { try await queue.write(piece) } }
      try await group.waitForAll()
    }
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    let heard = studio.heard()[0]
    expectTrue(heard == pieces[0] + pieces[1] || heard == pieces[1] + pieces[0])
  }

  /// Cancelling a task ends its waiting write. Frames already enqueued are played.
  @Test func aCancelledWriteThrows() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio)
    let all = Self.samples(0..<100_000)
    let writing = Task { () async -> AudioQueueError? in
      do throws(AudioQueueError) {
        try await queue.write(all)
        return nil
      } catch { return error }
    }
    let next = Task { () async -> AudioQueueError? in
      do throws(AudioQueueError) {
        // The first write is waiting inside, so this one has to wait.
        while try queue.prime() < 4 * 9600 { await Task.yield() }
        try await queue.write([1] as [Float])
        return nil
      } catch { return error }
    }
    while try queue.prime() < 4 * 9600 { await Task.yield() }
    next.cancel()
    await expectEqual(next.value, .cancelled)
    writing.cancel()
    await expectEqual(writing.value, .cancelled)
    // The write lock and the buffers are available again.
    try queue.start()
    try await queue.write(all[(4 * 9600)...])
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    expectEqual(studio.heard(), [all])
  }

  // MARK: Rendering

  @Test func whatIsRenderedIsHeard() async throws {
    let studio = try Studio()
    let queue = try Self.rendering(100_000, in: studio)
    queue.volume = 0.5
    expectEqual(queue.volume, 0.5)
    try queue.start()
    try await queue.waitForEnd()
    expectTrue(!queue.isRunning)
    studio.wait(cycles: 1)
    let expected = Self.samples(0..<100_000).map { $0 / 2 }
    let heard = studio.heard()
    expectEqual(heard, [expected], "\(heard[0].count) frames")
  }

  /// The closure may have its own state. It is called in order on another thread.
  @Test func aClosureHasStateOfItsOwn() async throws {
    let studio = try Studio()
    var position = 0
    let caller = pthread_self()
    let callsHere = Atomic(0)
    let noteThread = { @Sendable in
      if pthread_equal(caller, pthread_self()) != 0 { callsHere.add(1, ordering: .relaxed) }
    }
    let queue = try PlaybackQueue(Int16.self, channels: 2, buffers: 8) { frame, output in
      noteThread()
      precondition(frame == position)
      // A buffer need not be full, and the last frame is incomplete.
      for frame in position..<min(position + 1000, 5000) {
        output.append(Int16(frame + 1))
        output.append(Int16(-frame - 1))
      }
      if position < 5000 { output.append(1) }
      position = min(position + 1000, 5000)
    }
    try queue.setValue(studio.device, of: .device)
    try queue.start()
    try await queue.waitForEnd()
    studio.wait(cycles: 1)
    let expected = (1...5000).map { Float($0) / 32768 }
    expectEqual(studio.heard(channels: 2), [expected, expected.map { -$0 }])
    expectEqual(callsHere.load(ordering: .relaxed), 0)
  }

  @Test func aClosureThatHasNothingStartsNothing() async throws {
    let studio = try Studio()
    let queue = try Self.rendering(0, in: studio)
    try queue.start()
    try await queue.waitForEnd()
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 2)
    expectTrue(!queue.isRunning && queue.currentFrame == nil)
    expectEqual(studio.heard(), [[]])
  }

  /// Each run renders from frame 0 on, whether the previous one ended or was stopped.
  @Test func aQueueIsStartedAgain() async throws {
    let studio = try Studio()
    let queue = try Self.rendering(20_000, in: studio)
    try queue.start()
    try await queue.waitForEnd()
    try queue.start()
    // All frames and their end are enqueued, so the next run follows.
    try queue.start()
    try await queue.waitForEnd()
    try queue.start()
    try queue.stop()
    try queue.start()
    try await queue.waitForEnd()
    studio.wait(cycles: 1)
    let heard = studio.heard()[0].filter { $0 != 0 }
    let run = Self.samples(0..<20_000)
    expectTrue(heard.count >= 80_000)
    expectEqual(heard.prefix(60_000), (run + run + run)[...])
    expectEqual(heard.suffix(20_000), run[...])
  }

  /// The closure stops its queue and releases it.
  @Test func aClosureUsesItsQueue() async throws {
    let studio = try Studio()
    let current = Mutex<PlaybackQueue?>(nil)
    let calls = Atomic(0)
    weak var isAlive: PlaybackQueue?
    do {
      let queue = try PlaybackQueue(Float.self, channels: 1, bufferFrames: 9600) { frame, output in
        for frame in frame..<frame + output.freeCapacity { output.append(Self.sample(frame)) }
        switch calls.add(1, ordering: .relaxed).newValue {
        case 6: try? current.withLock { $0 }?.stop()
        case 8: current.withLock { $0 = nil }
        default: break
        }
      }
      try queue.setValue(studio.device, of: .device)
      current.withLock { $0 = queue }
      isAlive = queue
      try queue.start()
      try await queue.waitForEnd()
      expectTrue(calls.load(ordering: .relaxed) == 6 && !queue.isRunning)
    }
    do { try current.withLock { $0 }?.start() }
    let deadline = Date(timeIntervalSinceNow: 30)
    while isAlive != nil, Date() < deadline { await Task.yield() }
    expectNil(isAlive)
    studio.wait(cycles: 2)
    let frames = studio.card.capturedFrames
    studio.wait(cycles: 2)
    studio.card.disarm()
    expectTrue(studio.card.samples(channel: 0)[frames...].allSatisfy { $0 == 0 })
  }

  // MARK: Parameters

  /// A ramp has its exact length in frames. Afterwards a volume takes effect at once.
  @Test func theGainRampsFrameByFrame() async throws {
    let studio = try Studio()
    let queue = try PlaybackQueue(Float.self, channels: 1, bufferFrames: 9600) { frame, output in
      for _ in frame..<max(frame, min(30_000, frame + output.freeCapacity)) { output.append(1) }
    }
    try queue.setValue(studio.device, of: .device)
    // A ramp set before the start begins with the first frame.
    queue.volume = 1
    try queue.prime()
    queue.ramp(to: 0.5, over: 0.5)
    try queue.start()
    try await queue.waitForEnd()
    expectEqual(queue.volume, 0.5)
    studio.wait(cycles: 1)
    let heard = studio.heard()[0]
    let steps = Set(zip(heard, heard.dropFirst()).prefix(23_000).map { $0 - $1 })
    expectTrue(
      heard.count == 30_000 && heard.last == 0.5 && heard[24_001...].allSatisfy { $0 == 0.5 })
    expectTrue(steps.allSatisfy { abs($0 - 0.5 / 24_000) < 1e-6 })
    queue.volume = 0.25
    expectEqual(queue.volume, 0.25)
  }

  @Test func aBalanceIsHeard() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio, channels: 2)
    expectEqual(queue.pan, 0)
    queue.pan = -0.5
    expectEqual(queue.pan, -0.5)
    try queue.start()
    let samples = Self.samples(0..<10_000)
    try await queue.write(samples.flatMap { [$0, $0] })
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    expectEqual(studio.heard(channels: 2), [samples, samples.map { $0 / 2 }])
  }

  // MARK: Control

  @Test func aPauseLosesNothing() async throws {
    let studio = try Studio()
    let queue = try Self.rendering(60_000, in: studio)
    try queue.start()
    studio.wait(cycles: 3)
    try queue.pause()
    studio.wait(cycles: 2)
    let frame = try require(queue.currentFrame)
    studio.wait(cycles: 2)
    expectTrue(queue.currentFrame == frame && frame > 0 && frame < 60_000)
    try queue.start()
    try await queue.waitForEnd()
    studio.wait(cycles: 1)
    expectEqual(studio.heard()[0].filter { $0 != 0 }, Self.samples(0..<60_000))
  }

  @Test func aResetForgetsAndGoesOn() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio)
    try queue.start()
    let old = Self.samples(0..<20_000).map { -$0 }
    try await queue.write(old)
    try queue.reset()
    try expectEqual(queue.prime(), 0)
    let new = Self.samples(0..<20_000)
    try await queue.write(new)
    try queue.flush()
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    let heard = studio.heard()[0]
    expectEqual(heard.suffix(20_000), new[...])
    expectTrue(heard.count(where: { $0 < 0 }) < 20_000)
  }

  /// Before a start there is nothing to wait for. The next run ends by itself.
  @Test func aStopMayComeBeforeTheStart() async throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio)
    try await queue.write(Self.samples(0..<5000))
    try await queue.stopAfterPlaying()
    try queue.start()
    try await queue.waitForEnd()
    studio.wait(cycles: 1)
    expectEqual(studio.heard(), [Self.samples(0..<5000)])
  }

  @Test func aCancelledWaitLeavesTheQueueAlone() async throws {
    let studio = try Studio()
    let queue = try Self.rendering(.max, in: studio)
    try queue.start()
    let waiting = Task { () async -> AudioQueueError? in
      do throws(AudioQueueError) {
        try await queue.waitForEnd()
        return nil
      } catch { return error }
    }
    // The event thread of a busy machine may tell it some cycles after the first frame.
    expectTrue(waits { queue.isRunning })
    waiting.cancel()
    await expectEqual(waiting.value, .cancelled)
    expectTrue(queue.isRunning)
    try await queue.stopAfterPlaying()
    expectTrue(!queue.isRunning)
  }

  // MARK: Time

  @Test func queuesStartOnOneFrame() async throws {
    let studio = try Studio()
    let queues = try (0..<3).map { _ in try Self.rendering(20_000, in: studio) }
    #expect(throws: AudioQueueError(kAudioQueueErr_InvalidRunState)) { try queues[0].deviceTime }
    for queue in queues { try expectEqual(queue.prime(), 20_000) }
    let start = try queues[0].nearestStartTime().frame + 2 * 4096 + 321
    let hostTime = try queues[0].deviceTime(of: .deviceFrame(start)).hostTime
    expectTrue(abs(try queues[0].deviceTime(of: .hostTime(hostTime)).frame - start) <= 1)
    for queue in queues { try queue.start(at: .deviceFrame(start)) }
    for queue in queues { try await queue.waitForEnd() }
    studio.wait(cycles: 1)
    let first = studio.card.firstFrame
    let heard = studio.heard()[0]
    expectEqual(heard, Self.samples(0..<20_000).map { $0 * 3 })
    let offset = Int(UInt32(truncatingIfNeeded: start) &- first)
    expectEqual(studio.card.samples(channel: 0)[offset - 1...offset], [0, heard[0]])
    expectTrue(try queues[0].deviceTime.frame > start + 20_000)
  }

  // MARK: Properties

  @Test func propertiesAreRead() throws {
    let studio = try Studio()
    let queue = try Self.queue(in: studio, channels: 2)
    try expectEqual(queue.value(of: .device), studio.device)
    try expectEqual(queue.value(of: .deviceSampleRate), 48000)
    try expectEqual(queue.value(of: .deviceChannels), 2)
    expectTrue(try queue.value(of: .device).hasPrefix(studio.device + "/"))
    let format = PlaybackQueue.Property(
      kAudioQueueProperty_StreamDescription, initial: AudioStreamBasicDescription())
    try expectEqual(queue.value(of: format).mBytesPerFrame, 8)
    let other = try PlaybackQueue(.pcm(channels: 2))
    try other.setValue(queue.value(of: .device), of: .device)
    try expectEqual(other.value(of: .device), queue.value(of: .device))
  }

  /// Changes arrive in order and end with the queue, which they do not retain.
  @Test func changesEndWithTheQueue() async throws {
    final class Token: Sendable {}
    let studio = try Studio()
    weak var isAlive: PlaybackQueue?
    weak var token: Token?
    let changes: AsyncStream<Bool>
    do {
      let kept = Token()
      token = kept
      let queue = try PlaybackQueue(Float.self, channels: 1) { frame, output in
        withExtendedLifetime(kept) { if frame == 0 { output.append(1) } }
      }
      isAlive = queue
      try queue.setValue(studio.device, of: .device)
      changes = try queue.changes(of: .isRunning)
      // A sequence without a listener.
      _ = try queue.changes(of: .isRunning)
      // More often than there are buffers: none is lost at an end.
      for _ in 0..<6 {
        try queue.start()
        try await queue.waitForEnd()
      }
    }
    expectNil(isAlive)
    var seen: [Bool] = []
    for await isRunning in changes { seen.append(isRunning) }
    expectEqual(seen, (0..<12).map { $0.isMultiple(of: 2) })
    let deadline = Date(timeIntervalSinceNow: 30)
    while token != nil, Date() < deadline { await Task.yield() }
    expectNil(token)
  }

  /// Releasing a playing queue silences it at once and releases its closure.
  @Test func aQueueThatPlaysCanBeLetGo() async throws {
    let studio = try Studio()
    var queue: PlaybackQueue? = try Self.rendering(.max, in: studio)
    weak let isAlive = queue
    try queue?.start()
    studio.wait(cycles: 3)
    queue = nil
    expectNil(isAlive)
    studio.wait(cycles: 1)
    let frames = studio.card.capturedFrames
    studio.wait(cycles: 2)
    studio.card.disarm()
    let samples = studio.card.samples(channel: 0)
    expectTrue(samples[frames...].allSatisfy { $0 == 0 } && samples.contains { $0 != 0 })
  }

  // MARK: Errors

  @Test func errorsSayWhatWentWrong() async throws {
    func error(_ body: () async throws(AudioQueueError) -> Void) async -> OSStatus {
      do throws(AudioQueueError) {
        try await body()
        return noErr
      } catch { return error.status }
    }
    let queue = try PlaybackQueue(.pcm(channels: 2))
    await expectEqual(
      error { () throws(AudioQueueError) in
        try queue.setValue("jack:there-is-none", of: .device)
      }, kAudioQueueErr_InvalidDevice)
    await expectEqual(
      error { () throws(AudioQueueError) in
        try queue.setValue(44100, of: .deviceSampleRate)
      }, kAudioQueueErr_Permissions)
    await expectEqual(
      error { () throws(AudioQueueError) in
        _ = try queue.changes(of: .init(1, initial: 0))
      }, kAudioQueueErr_InvalidProperty)
    await expectEqual(
      error { () async throws(AudioQueueError) in
        try await queue.write([1, 2] as [Int16])
      }, kAudioFormatUnsupportedDataFormatError)
    await expectEqual(
      error { () async throws(AudioQueueError) in
        try await queue.write([1, 2, 3] as [Float])
      }, kAudio_ParamError)
    await expectEqual(
      error { () throws(AudioQueueError) in
        _ = try PlaybackQueue(.pcm(channels: 0))
      }, kAudioFormatUnsupportedDataFormatError)
    await expectEqual(
      error { () throws(AudioQueueError) in
        _ = try PlaybackQueue(.pcm(sampleRate: .nan))
      }, kAudioFormatUnsupportedDataFormatError)
    await expectEqual(
      error { () throws(AudioQueueError) in
        _ = try PlaybackQueue(.pcm(), bufferFrames: -1)
      }, kAudio_ParamError)
    await expectEqual(
      error { () throws(AudioQueueError) in
        _ = try PlaybackQueue(Float.self, channels: -1, buffers: 0) { _, _ in }
      }, kAudioFormatUnsupportedDataFormatError)
    let renderer = try PlaybackQueue(Float.self) { _, _ in }
    await expectEqual(
      error { () async throws(AudioQueueError) in
        try await renderer.write([1, 2] as [Float])
      }, kAudio_ParamError)
  }

  @Test func theServerMayGo() async throws {
    // Use no client but the queue's: libjack cannot close one while another client of the process has
    // not been notified that the server is gone.
    let jack = try JackDaemon(period: 4096)
    let queue = try PlaybackQueue(Float.self, channels: 1, bufferFrames: 9600) { _, output in
      while output.freeCapacity > 0 { output.append(0.5) }
    }
    try queue.setValue("jack:\(jack.name)", of: .device)
    try queue.start()
    while (queue.currentFrame ?? 0) < 4096 { try await Task.sleep(for: .milliseconds(1)) }
    let waiting = Task { try await queue.waitForEnd() }
    jack.kill()
    while (try? queue.start()) != nil { try await Task.sleep(for: .milliseconds(1)) }
    #expect(throws: AudioQueueError(kAudioQueueErr_QueueInvalidated)) { try queue.start() }
    // The run would go on with the next server: only a stop ends it.
    expectTrue(queue.isRunning)
    try queue.stop()
    try await waiting.value
    expectTrue(!queue.isRunning)
  }

  @Test func anErrorIsDescribed() {
    expectEqual(
      "\(AudioQueueError(kAudioQueueErr_CannotStart))",
      "kAudioQueueErr_CannotStart (-66681): the sound server cannot be reached; the log says why"
    )
    expectEqual("\(AudioQueueError(12345))", "OSStatus 12345")
    let any: any Error = AudioQueueError.cancelled
    expectEqual(any.localizedDescription, "userCanceledErr (-128): it was cancelled")
  }
}
