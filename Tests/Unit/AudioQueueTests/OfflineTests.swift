import AudioToolbox
import CProbe
import CoreFoundation
import Foundation
import RealTime
import Server
import System
import TestSupport
import Testing

@testable import AudioQueue

/// Offline rendering. Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct OfflineTests {
  /// Returns a queue that renders to `output`, or to floats with the queue's rate and channels if that
  /// is nil.
  private func rig(
    _ format: PCMFormat = .float(1), to output: PCMFormat? = nil,
    executor: CallbackExecutor = .ownThread
  ) throws -> Rig {
    let rig = try Rig(format, executor: executor)
    try rig.queue.setOfflineFormat(output ?? .float(format.channels, rate: format.sampleRate))
    return rig
  }

  /// Renders once, up to `frames` frames.
  private func bytes(_ rig: Rig, _ frames: Int, at time: Int64? = nil) throws -> [UInt8] {
    let size = try require(rig.queue.offlineFormat).bytesPerFrame
    // Detects writes beyond the rendered bytes.
    var bytes = [UInt8](repeating: 0xA5, count: (frames + 1) * size)
    let count = try bytes.withUnsafeMutableBytes {
      try rig.queue.render(
        frames: frames, into: .init(rebasing: $0[..<(frames * size)]), at: time)
    }
    expectTrue(bytes[(count * size)...].allSatisfy { $0 == 0xA5 })
    return Array(bytes.prefix(count * size))
  }

  private func render(_ rig: Rig, _ frames: Int, at time: Int64? = nil) throws -> [Float] {
    try bytes(rig, frames, at: time).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  /// Renders until no frames are returned.
  private func renderAll(_ rig: Rig, by frames: Int) throws -> [Float] {
    var all: [Float] = []
    while case let some = try render(rig, frames), !some.isEmpty { all += some }
    return all
  }

  // MARK: The same samples

  @Test(
    "26: volume, ramps, pan, trims and starts give the samples that live playback gives",
    arguments: [1, 37, 4096, 10000])
  func sameAsLive(chunk: Int) throws {
    let format = PCMFormat(
      sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 16)
    func play(_ rig: Rig) throws {
      for (i, schedule) in [
        OutputQueue.Schedule(trimmedAtStart: 3, changes: ParameterChanges(volume: 0.3)),
        OutputQueue.Schedule(
          trimmedAtEnd: 500, changes: ParameterChanges(volume: 1, rampSeconds: 0.01, pan: 0.4),
          start: 1000),
        OutputQueue.Schedule(changes: ParameterChanges(pan: -0.7), start: 1200),
        OutputQueue.Schedule(start: 9000),
      ].enumerated() {
        let (bytes, _) = format.noise(frames: 700, seed: UInt64(i))
        let buffer = try rig.queue.allocateBuffer(capacity: bytes.count)
        bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
        _ = try rig.queue.enqueue(buffer.id, bytes: bytes.count, schedule)
      }
      try rig.queue.change(ParameterChanges(volume: 0.9))
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
    }
    let live = try Rig(format)
    try play(live)
    live.cycle(160, frames: 64)
    let offline = try rig(format, to: .float(2))
    try play(offline)
    let samples = try renderAll(offline, by: chunk)
    expectEqual(samples.count, 2 * 9700)
    let heard = try require(live.server.clients.last).samples
    for channel in 0..<2 {
      let rendered = stride(from: channel, to: samples.count, by: 2).map { samples[$0] }
      expectEqual(rendered, Array(heard[channel].prefix(9700)))
      expectTrue(heard[channel].dropFirst(9700).allSatisfy { $0 == 0 })
    }
    expectTrue(offline.calls.count == live.calls.count && offline.doneBuffers == live.doneBuffers)
  }

  @Test("26: gaps before a start are rendered, and the frames are those that were computed by hand")
  func byHand() throws {
    let rig = try rig()
    _ = try rig.queue.enqueue(
      rig.buffer(ramp(10)), bytes: 40,
      OutputQueue.Schedule(trimmedAtStart: 2, trimmedAtEnd: 1, start: 5))
    _ = try rig.queue.enqueue(
      rig.buffer(ramp(4, from: 100)), bytes: 16,
      OutputQueue.Schedule(changes: ParameterChanges(volume: 0.5), start: 20))
    // The gain rises from 0.5 to 1 over 4 frames. The first frame still has the old gain.
    _ = try rig.queue.enqueue(
      rig.buffer([8, 8, 8, 8, 8]), bytes: 20,
      OutputQueue.Schedule(changes: ParameterChanges(volume: 1, rampSeconds: 4.0 / 48000)))
    try rig.queue.start()
    let expected =
      silence(5) + ramp(7, from: 3) + silence(8) + [50, 50.5, 51, 51.5] + [4, 5, 6, 7, 8]
    try expectEqual(render(rig, 1000), expected)
    try expectEqual(render(rig, 1000), [])
    expectEqual(rig.queue.statistics.starvedFrames, 0)
    expectEqual(rig.queue.currentFrame, 29)
  }

  @Test("A buffer in every layout comes out in every layout", arguments: PCMFormat.all(channels: 2))
  func layouts(output: PCMFormat) throws {
    // Use the top bits only, which every format has.
    let values = (0..<512).map { Int32(truncatingIfNeeded: $0 &* 0x0B5A_3D71) & -0x0100_0000 }
    for input in PCMFormat.all(channels: 2) {
      let rig = try rig(input, to: output)
      let bytes = values.flatMap { input.sample($0).bytes }
      let buffer = try rig.queue.allocateBuffer(capacity: bytes.count)
      bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      try rig.queue.enqueue(buffer.id, bytes: bytes.count)
      try rig.queue.start()
      try expectEqual(self.bytes(rig, 1000), values.flatMap { output.sample($0).bytes })
    }
  }

  @Test("Channels: one to two, many to one, and channel by channel")
  func channels() throws {
    func rendered(_ channels: Int, to outputs: Int, pan: Float = 0) throws -> [Float] {
      let rig = try rig(.float(channels), to: .float(outputs))
      try rig.queue.change(ParameterChanges(pan: pan))
      let samples = (0..<channels * 2).map { Float(1 << $0) }
      try rig.enqueue(samples)
      try rig.queue.start()
      return try render(rig, 10)
    }
    try expectEqual(rendered(1, to: 1), [1, 2])
    try expectEqual(rendered(1, to: 2), [1, 1, 2, 2])
    try expectEqual(rendered(1, to: 3), [1, 1, 0, 2, 2, 0])
    try expectEqual(rendered(1, to: 3, pan: 0.25), [0.75, 1, 0, 1.5, 2, 0])
    try expectEqual(rendered(2, to: 1), [1.5, 6])
    try expectEqual(rendered(3, to: 1), [Float(7.0 / 3), Float(56.0 / 3)])
    try expectEqual(rendered(2, to: 3), [1, 2, 0, 4, 8, 0])
    try expectEqual(rendered(3, to: 2), [1, 2, 8, 16])
    try expectEqual(rendered(2, to: 2, pan: -0.5), [1, 1, 4, 4])
  }

  @Test("Channels: as a mix says")
  func mixes() throws {
    func rendered(_ channels: Int, _ mix: [[Float]], pan: Float = 0) throws -> [Float] {
      let rig = try Rig(.float(channels))
      try rig.queue.setOfflineFormat(.float(mix[0].count), mix: mix)
      try rig.queue.change(ParameterChanges(pan: pan))
      try rig.enqueue((0..<channels * 2).map { Float(1 << $0) })
      try rig.queue.start()
      return try render(rig, 10)
    }
    try expectEqual(rendered(3, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]), [2, 4, 1, 16, 32, 8])
    try expectEqual(rendered(2, [[0, 1, 0], [0, 0.5, 0]]), [0, 2, 0, 0, 8, 0])
    try expectEqual(rendered(1, [[0, 1, 0], [0, 0, 1]], pan: -0.5), [0, 1, 0.5, 0, 2, 1])
    // A mono signal with mono output has no balance.
    try expectEqual(rendered(1, [[0, 0, 1]], pan: -1), [0, 0, 1, 0, 0, 2])
  }

  @Test(
    "From 44.1 to 48 kHz a sine keeps more than 120 dB to all that is not it",
    arguments: [512, 4096, 100_000])
  func resampling(chunk: Int) throws {
    let rig = try rig(.float(1, rate: 44100), to: .float(1, rate: 48000))
    let step: Double = 2 * .pi * 1000 / 44100
    let input = (0..<44100).map { frame -> Float in Float(0.9 * sin(step * Double(frame))) }
    for first in stride(from: 0, to: input.count, by: 4410) {
      try rig.enqueue(Array(input[first..<first + 4410]))
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    let output = try renderAll(rig, by: chunk)
    expectEqual(output.count, 48000)
    expectTrue(rig.doneBuffers.count == 10 && !rig.queue.isRunning)
    var (signal, noise) = (0.0, 0.0)
    let idealStep: Double = 2 * .pi * 1000 / 48000
    for frame in 4800..<43200 {
      let ideal: Double = 0.9 * sin(idealStep * Double(frame))
      noise += (Double(output[frame]) - ideal) * (Double(output[frame]) - ideal)
      signal += ideal * ideal
    }
    expectTrue(10 * log10(signal / noise) > 120)
  }

  // MARK: The order of calls

  @Test(
    "24: start, no frames, enqueue, and a loop; a single buffer goes round in one call",
    arguments: [44100.0, 48000])
  func singleBuffer(rate: Double) throws {
    let loop = try require(CFRunLoopGetCurrent())
    let rig = try rig(.float(1, rate: rate), to: .float(1), executor: .runLoop(loop, mode: nil))
    let thread = pthread_self()
    let total = Int(rate) / 10
    nonisolated(unsafe) var next = 0
    nonisolated(unsafe) var isForeign = false
    let buffer = try rig.queue.allocateBuffer(capacity: 400)
    func fill(_ queue: OutputQueue, _ id: UInt32) {
      if pthread_equal(pthread_self(), thread) == 0 { isForeign = true }
      let count = min(100, total - next)
      if count == 0 {
        try! queue.flush()
        return try! queue.stopAfterPlaying()
      }
      for i in 0..<count {
        buffer.data.bindMemory(to: Float.self)[i] = Float(sin(Double(next + i) * 0.01))
      }
      next += count
      try! queue.enqueue(id, bytes: 4 * count)
    }
    rig.onBuffer(fill)
    try rig.queue.start()
    expectEqual(rig.calls, [])
    try expectEqual(render(rig, 0), [])
    expectTrue(rig.queue.isRunning && rig.calls == [.running(true)])
    fill(rig.queue, buffer.id)
    let first = try render(rig, 2000)
    // At equal rates all frames come. Otherwise the converter may hold some back.
    expectTrue(rate == 48000 ? first.count == 2000 : (1300...2000).contains(first.count))
    expectTrue(rig.doneBuffers.count >= 17 && rig.queue.isRunning)
    // 25: the call in which the app flushes and stops returns all remaining frames.
    let rest = try render(rig, 4000)
    expectTrue(next == total && first.count + rest.count == 4800)
    expectTrue(!rig.queue.isRunning && rig.calls.last == .running(false))
    if rate == 48000 {
      let expected = (0..<total).map { (frame: Int) -> Float in Float(sin(Double(frame) * 0.01)) }
      expectEqual(first + rest, expected)
    }
    expectTrue(try render(rig, 100) == [] && render(rig, 100) == [])
    expectTrue(!isForeign && !rig.hasNested)
    // The run loop has nothing left to call.
    let calls = rig.calls
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false)
    expectEqual(rig.calls, calls)
  }

  @Test(
    "25: an app that renders by small pieces gets the tail with the call it stops in",
    arguments: 215...245)
  func tail(chunk: Int) throws {
    let rig = try rig(.float(1, rate: 44100), to: .float(1))
    nonisolated(unsafe) var left = 3
    nonisolated(unsafe) var hasStopped = false
    rig.onBuffer { queue, id in
      left -= 1
      if left > 0 { return try! queue.enqueue(id, bytes: 441 * 4) }
      try! queue.flush()
      try! queue.stopAfterPlaying()
      hasStopped = true
    }
    try rig.queue.start()
    try rig.enqueue(ramp(441))
    var count = 0
    // Until the app is notified of the stop. No callback follows.
    while !hasStopped { count += try render(rig, 3 * chunk).count }
    expectEqual(count, 1440)
  }

  @Test(
    "24: frames that a time leaves out are silence that is not returned, and the past is an error")
  func timeStamps() throws {
    let rig = try rig()
    try rig.enqueue(ramp(300))
    _ = try rig.queue.enqueue(
      rig.buffer(ramp(10, from: 1000)), bytes: 40, OutputQueue.Schedule(start: 900))
    _ = try rig.queue.enqueue(
      rig.buffer(ramp(10, from: 2000)), bytes: 40, OutputQueue.Schedule(start: 1500))
    try rig.queue.start()
    try expectEqual(render(rig, 0, at: 0), [])
    try expectEqual(render(rig, 100, at: 0), ramp(100))
    try expectEqual(render(rig, 100, at: 100), ramp(100, from: 101))
    try expectEqual(render(rig, 50, at: 250), ramp(50, from: 201))
    expectEqual(rig.queue.currentFrame, 300)
    for past: Int64 in [299, 0, -1] {
      #expect(throws: QueueError.self) { _ = try render(rig, 50, at: past) }
    }
    expectEqual(rig.queue.currentFrame, 300)
    try expectEqual(render(rig, 600, at: nil), ramp(50, from: 251) + silence(550))
    // A skipped start time has passed, so the buffer starts at once.
    try expectEqual(render(rig, 5, at: 1000), ramp(5, from: 1000))
    try expectEqual(
      render(rig, 1000, at: 1005), ramp(5, from: 1005) + silence(490) + ramp(10, from: 2000))
    // The queue has run dry: time advances, and there is nothing to render.
    try expectEqual(render(rig, 100, at: 5000), [])
    expectEqual(rig.queue.currentFrame, 5000)
    try rig.enqueue(ramp(3))
    try rig.queue.stopAfterPlaying()
    try expectEqual(render(rig, 100, at: 5000), ramp(3))
    // After the end of a run, the time argument is ignored. A new run counts from 0.
    expectTrue(try render(rig, 100, at: 7) == [] && render(rig, 100, at: 90_000) == [])
    try rig.queue.start()
    try rig.enqueue(ramp(3))
    try expectEqual(render(rig, 100, at: 20), ramp(3))
    expectEqual(rig.queue.currentFrame, 23)
  }

  @Test("24: times count frames of the render format; a converter's sound goes on after a gap too")
  func timeStampsAtAnotherRate() throws {
    let rig = try rig(.float(1, rate: 24000), to: .float(1))
    let reference = try self.rig(.float(1, rate: 24000), to: .float(1))
    for rig in [rig, reference] {
      try rig.enqueue(ramp(2000))
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
    }
    let expected = try renderAll(reference, by: 10_000)
    expectEqual(expected.count, 4000)
    let parts = try [
      render(rig, 1000, at: 500), render(rig, 1000, at: 1500), render(rig, 3000, at: 9000),
    ]
    expectEqual(parts.flatMap { $0 }, expected)
  }

  @Test("24: nothing enqueued renders nothing, and is no end")
  func nothingEnqueued() throws {
    let rig = try rig()
    try rig.queue.start()
    for _ in 0..<3 { try expectEqual(render(rig, 100), []) }
    expectTrue(rig.queue.isRunning && rig.queue.currentFrame == 0)
    try rig.enqueue(ramp(10))
    try expectEqual(render(rig, 4), ramp(4))
    expectEqual(rig.doneBuffers, [])
    try expectEqual(render(rig, 6), ramp(6, from: 5))
    // 1: the callback runs together with the last frame.
    expectEqual(rig.doneBuffers, [1])
    try expectEqual(render(rig, 100), [])
    try rig.enqueue(ramp(3))
    try expectEqual(render(rig, 100), ramp(3))
    expectTrue(rig.queue.currentFrame == 13 && rig.queue.isRunning)
  }

  @Test("More buffers than the ring has room for, and runs that follow each other")
  func manyBuffersAndRuns() throws {
    let rig = try rig()
    for i in 0..<2500 { try rig.enqueue([Float(i)]) }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    try rig.queue.start()
    try rig.enqueue([-1, -2])
    try rig.queue.stopAfterPlaying()
    try expectEqual(renderAll(rig, by: 100_000), ramp(2500, from: 0) + [-1, -2])
    expectEqual(rig.doneBuffers, Array(1...2501))
    let changes = rig.calls.compactMap { if case .running(let on) = $0 { on } else { nil } }
    expectEqual(changes, [true, false, true, false])
    expectTrue(!rig.queue.isRunning)
  }

  @Test("A paused queue renders nothing and goes on where it stood")
  func pause() throws {
    let rig = try rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    try expectEqual(render(rig, 30), ramp(30))
    try rig.queue.pause()
    #expect(throws: QueueError.invalidRunState) { _ = try render(rig, 30) }
    try rig.queue.start()
    try expectEqual(render(rig, 100), ramp(70, from: 31))
    // Also in a callback.
    rig.onBuffer { queue, _ in try! queue.pause() }
    try rig.enqueue([1])
    try rig.enqueue([2])
    try expectEqual(render(rig, 1), [1])
    #expect(throws: QueueError.invalidRunState) { _ = try render(rig, 1) }
    try rig.queue.start()
    try expectEqual(render(rig, 10), [2])
  }

  // MARK: Ends

  @Test("6: stop and reset hand back on the caller's thread", arguments: [44100.0, 48000])
  func stopAndReset(rate: Double) throws {
    let loop = try require(CFRunLoopGetCurrent())
    let rig = try rig(.float(1, rate: rate), to: .float(1), executor: .runLoop(loop, mode: nil))
    try rig.queue.start()
    for _ in 0..<3 { try rig.enqueue(ramp(1000)) }
    try expectEqual(render(rig, 10).count, 10)
    expectEqual(rig.doneBuffers, [])
    try rig.queue.reset()
    expectTrue(rig.doneBuffers == [1, 2, 3] && rig.queue.isRunning)
    try rig.enqueue(ramp(7))
    if rate == 48000 { try expectEqual(render(rig, 100), ramp(7)) }
    try rig.enqueue(ramp(1000))
    try rig.queue.stop()
    expectEqual(rig.doneBuffers, [1, 2, 3, 4, 5])
    // 13: the listener is notified later, on the run loop.
    expectEqual(rig.calls.last, .done(5))
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false)
    expectEqual(rig.calls.last, .running(false))
    try expectEqual(render(rig, 10), [])
  }

  @Test("3: stop, reset and dispose in a callback end the call")
  func endsInACallback() throws {
    for end in 0..<4 {
      let rig = try rig()
      rig.onBuffer { queue, id in
        guard id == 2 else { return }
        switch end {
        case 0: try! queue.stop()
        case 1: try! queue.reset()
        case 2: try! queue.dispose(afterPlaying: false)
        default: try! queue.dispose(afterPlaying: true)
        }
        if end >= 2 { #expect(throws: QueueError.disposed) { try queue.enqueue(id, bytes: 4) } }
      }
      try rig.queue.start()
      for i in 0..<3 { try rig.enqueue(ramp(5000, from: Float(i * 5000))) }
      // The second buffer ends in the third cycle.
      try expectEqual(render(rig, 100_000), ramp(12288, from: 0))
      expectEqual(rig.doneBuffers, (end < 2 ? [1, 2, 3] : [1, 2]))
      if end >= 2 { #expect(throws: QueueError.disposed) { _ = try render(rig, 10) } }
    }
  }

  @Test("Nothing hangs or is lost when another thread stops, resets and starts meanwhile")
  func anotherThread() throws {
    let rig = try rig(.float(1, rate: 44100), to: .float(1))
    rig.onBuffer { queue, id in try? queue.enqueue(id, bytes: 4000) }
    try rig.queue.start()
    for _ in 0..<3 { try rig.enqueue(ramp(1000)) }
    let queue = rig.queue
    let done = DispatchSemaphore(value: 0)
    Thread {
      for i in 0..<200 {
        switch i % 4 {
        case 0: try? queue.reset()
        case 1: try? queue.stop()
        case 2: try? queue.pause()
        default: _ = try? queue.prime(frames: 0)
        }
        try? queue.start()
      }
      done.signal()
    }.start()
    while done.wait(timeout: .now()) != .success {
      _ = try? render(rig, 5000)
      for id: UInt32 in 1...3 { try? queue.enqueue(id, bytes: 4000) }
    }
    try rig.queue.stop()
    expectTrue(!rig.hasNested)
    for id: UInt32 in 1...3 { try rig.queue.freeBuffer(id) }
  }

  // MARK: Mode

  @Test("The mode is set before a start; what is enqueued stays, there and back")
  func thereAndBack() throws {
    let rig = try Rig()
    #expect(throws: QueueError.invalidOfflineMode) {
      _ = try rig.queue.render(frames: 0, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }
    try rig.queue.setOfflineFormat(nil)
    try rig.enqueue(ramp(64))
    _ = try rig.queue.prime(frames: 0)
    let uid = rig.queue.deviceUID
    try rig.queue.setOfflineFormat(.float(2, rate: 44100))
    expectTrue(rig.server.clients[0].isClosed)
    #expect(throws: QueueError.invalidRunState) { _ = try render(rig, 1) }
    try rig.queue.setOfflineFormat(.float(1))
    expectEqual(rig.queue.offlineFormat, .float(1))
    try rig.queue.start()
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setOfflineFormat(nil) }
    try expectEqual(render(rig, 1000), ramp(64))
    rig.onBuffer { queue, _ in
      #expect(throws: QueueError.invalidRunState) { try queue.setOfflineFormat(nil) }
    }
    try rig.enqueue(ramp(64))
    try rig.queue.stopAfterPlaying()
    try expectEqual(render(rig, 1000), ramp(64))
    try rig.enqueue(ramp(64, from: 100))
    try rig.queue.setOfflineFormat(nil)
    rig.onBuffer { _, _ in }
    try rig.queue.start()
    expectTrue(rig.queue.deviceUID == uid && rig.server.clients.count == 2)
    rig.cycle(2)
    expectEqual(rig.output, ramp(64, from: 100) + silence(64))
  }

  @Test("What asks for a device is refused in offline mode; a time of it is only the host's")
  func refused() throws {
    let rig = try rig()
    try rig.queue.start()
    try expectEqual(render(rig, 0), [])
    expectNil(rig.queue.deviceTime)
    #expect(throws: QueueError.invalidOfflineMode) { try rig.queue.setDeviceUID("jack:other") }
    #expect(throws: QueueError.invalidOfflineMode) { _ = try rig.queue.deviceSampleRate() }
    #expect(throws: QueueError.invalidOfflineMode) { _ = try rig.queue.deviceChannels() }
    #expect(throws: QueueError.invalidOfflineMode) {
      _ = try rig.queue.deviceTime(of: .frame(0))
    }
    #expect(throws: QueueError.invalidOfflineMode) { _ = try rig.queue.nearestStart(to: .atOnce) }
    #expect(throws: QueueError.invalidOfflineMode) {
      _ = try rig.queue.runFrame(atHostTime: HostTime.now)
    }
    expectNil(rig.queue.hostTime(ofRunFrame: 0))
    // The offline client is not visible to others.
    expectNil(Device.named("jack:offline/rig"))
    for format in [PCMFormat.float(65), .float(1, rate: 0), .float(0)] {
      let other = try Rig()
      #expect(throws: QueueError.unsupportedFormat) { try other.queue.setOfflineFormat(format) }
    }
  }

  @Test("Into a buffer of the queue: as much as it has room for, and nobody gets at it meanwhile")
  func intoABuffer() throws {
    let rig = try rig()
    let id = try rig.buffer(silence(10))
    rig.onBuffer { queue, _ in
      #expect(throws: QueueError.bufferInQueue) { try queue.freeBuffer(id) }
      #expect(throws: QueueError.enqueuedTwice) { try queue.enqueue(id, bytes: 4) }
      #expect(throws: QueueError.bufferInQueue) {
        _ = try queue.render(frames: 1, intoBuffer: id)
      }
      #expect(throws: QueueError.invalidRunState) {
        _ = try queue.render(frames: 1, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
      }
    }
    try rig.queue.start()
    let first = try rig.enqueue(ramp(5))
    try rig.enqueue(ramp(100))
    #expect(throws: QueueError.bufferInQueue) {
      _ = try rig.queue.render(frames: 1, intoBuffer: first)
    }
    #expect(throws: QueueError.invalidBuffer) {
      _ = try rig.queue.render(frames: 1, intoBuffer: 99)
    }
    try expectEqual(rig.queue.render(frames: 1000, intoBuffer: id), 40)
    expectEqual(rig.doneBuffers, [first])
    try rig.queue.freeBuffer(id)
  }

  @Test("Rendering allocates nothing, as long as nothing has to be converted")
  func noAllocations() throws {
    try require(cue_probe_works() || isSanitized)
    let rig = try rig(.float(2), to: .float(2))
    try rig.enqueue([Float](repeating: 0.5, count: 2 * 20000))
    try rig.queue.start()
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 * 8192, alignment: 16)
    defer { memory.deallocate() }
    _ = try rig.queue.render(frames: 8192, into: memory)
    cue_probe_enter()
    let count = try rig.queue.render(frames: 8192, into: memory)
    let seen = cue_probe_leave()
    expectEqual(count, 8192)
    expectTrue(seen.allocations == 0 && seen.frees == 0, "\(seen)")
  }
}
