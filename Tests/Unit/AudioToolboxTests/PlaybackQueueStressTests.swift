import AudioToolbox
import Foundation
import Synchronization
import TestSupport
import Testing

/// Calls from many tasks at once, without a server, for ThreadSanitizer.
@Suite(.serialized) struct PlaybackQueueStressTests {
  /// A generator that repeats its numbers for the same seed.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  private static func expect(
    _ allowed: Set<OSStatus>, _ body: () async throws -> Void
  ) async {
    do { try await body() } catch let error as AudioQueueError {
      expectTrue(allowed.contains(error.status), "\(error)")
    } catch {
      Issue.record(error)
    }
  }

  @Test(arguments: [1, 2, 3]) func callsMeetWithoutHarm(seed: UInt64) async throws {
    setenv("JACK_NO_START_SERVER", "1", 1)
    setenv("JACK_DEFAULT_SERVER", "there-is-none", 1)
    defer {
      unsetenv("JACK_NO_START_SERVER")
      unsetenv("JACK_DEFAULT_SERVER")
    }
    let calls = Atomic(0)
    weak var wasWritten: PlaybackQueue?
    weak var wasRendered: PlaybackQueue?
    let changes: AsyncStream<Bool>
    do {
      let format = AudioStreamBasicDescription.pcm(Int16.self, channels: 1)
      let written = try PlaybackQueue(format, bufferFrames: 16)
      let rendered = try PlaybackQueue(Int16.self, channels: 1, bufferFrames: 16) { _, output in
        // Some calls return no more data.
        guard calls.add(1, ordering: .relaxed).newValue % 7 != 0 else { return }
        while output.freeCapacity > 0 { output.append(1) }
      }
      (wasWritten, wasRendered) = (written, rendered)
      changes = try rendered.changes(of: .isRunning)
      await withTaskGroup { group in
        for task in 0..<6 as Range<UInt64> {
          group.addTask {
            var dice = Dice(state: seed &* 97 &+ task)
            for _ in 0..<150 {
              let queue = Bool.random(using: &dice) ? written : rendered
              switch Int.random(in: 0..<9, using: &dice) {
              case 0...2:
                // More than the buffers hold, so the write ends by cancellation or by a stop.
                let samples = [Int16](repeating: 1, count: .random(in: 0..<200, using: &dice))
                let writing = Task {
                  await Self.expect([-128]) { try await written.write(samples) }
                }
                await Task.yield()
                writing.cancel()
                await writing.value
              case 3: await Self.expect([]) { try queue.stop() }
              case 4: await Self.expect([]) { try queue.reset() }
              case 5: await Self.expect([kAudioQueueErr_CannotStart]) { try queue.start() }
              case 6: await Self.expect([]) { try await queue.stopAfterPlaying() }
              case 7: await Self.expect([]) { _ = try queue.changes(of: .isRunning) }
              default:
                queue.ramp(to: 0.5, over: 1)
                await Self.expect([]) { try queue.pause() }
              }
            }
          }
        }
      }
      // No buffer was lost: the queue accepts its full capacity at once.
      try written.stop()
      try await written.write([Int16](repeating: 1, count: 4 * 16))
    }
    for await _ in changes {}
    expectTrue(calls.load(ordering: .relaxed) > 0)
    let deadline = Date(timeIntervalSinceNow: 30)
    while wasRendered != nil || wasWritten != nil, Date() < deadline { await Task.yield() }
    expectTrue(wasRendered == nil && wasWritten == nil)
  }
}
