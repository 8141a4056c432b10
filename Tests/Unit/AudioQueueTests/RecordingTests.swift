import CProbe
import Foundation
import RealTime
import Server
import TestSupport
import Testing
import Timeline

@testable import AudioQueue

private func frames(_ first: Int, _ count: Int) -> [Float] { ramp(count, from: Float(first)) }

/// Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct RecordingTests {
  // MARK: Buffers

  @Test("1, 21: buffers come back full, in order, each with the time of its first frame")
  func buffersComeBackFull() throws {
    let rig = try InputRig()
    let ids = try [100, 28, 50].map { try rig.enqueue($0) }
    try rig.queue.start(at: .frame(10))
    rig.cycle()
    expectEqual(rig.calls, [.running(true)])
    rig.cycle(3)
    expectEqual(
      rig.calls,
      [
        .running(true), .done(ids[0], frames: 100, at: 0), .done(ids[1], frames: 28, at: 100),
        .done(ids[2], frames: 50, at: 128), .underrun,
      ])
    expectEqual(rig.samples, frames(10, 178))
    // Host times correspond to the device frames 10, 110 and 138 at 48 kHz. Servers report the time of
    // a cycle in microseconds.
    let hostTimes = [10, 110, 138].map { Int64(Double($0) / 48000 * 1e9) }
    expectTrue(zip(rig.hostTimes, hostTimes).allSatisfy { abs(Int64($0) - $1) < 1000 })
    expectEqual(rig.queue.statistics.beganAt, 10)
    expectTrue(!rig.hasNested)
  }

  @Test("a run that is going takes many buffers at once and loses no frame")
  func manyBuffersDuringARun() throws {
    let rig = try InputRig()
    try rig.enqueue(64)
    try rig.enqueue(1)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    let count = RecorderMemory.spaceCapacity / 2
    for _ in 0..<count { try rig.enqueue(1) }
    rig.cycle(1, frames: count)
    expectEqual(rig.samples, frames(0, 64 + count))
    expectTrue(!rig.calls.contains(.underrun))
  }

  @Test("21: every layout is written bit for bit", arguments: PCMFormat.all(channels: 2))
  func everyLayout(format: PCMFormat) throws {
    let rig = try InputRig(format)
    let (bytes, channels) = format.noise(frames: 300, seed: 3)
    rig.server.hears = { frame, input in frame < 300 ? channels[input - 1][Int(frame)] : 0 }
    for _ in 0..<3 { try rig.enqueue(100) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(5)
    // A float input has no finer resolution.
    let isExact = format.kind == .float || format.bitsPerSample <= 24
    let expected =
      isExact
      ? bytes
      : (0..<600).flatMap { i -> [UInt8] in
        let value = Double(channels[i % 2][i / 2]) * 0x1p31
        return format.sample(Int32(min(value, 0x1p31 - 1))).bytes
      }
    expectEqual(rig.bytes, expected)
  }

  @Test(
    "21: refilled in the callback, for ever; times grow by what was delivered",
    arguments: [
      1, 3, 8,
    ])
  func refilling(channels: Int) throws {
    let rig = try InputRig(.float(channels))
    rig.onBuffer { queue, recording in try? queue.enqueue(recording.buffer) }
    for size in [64, 100, 37] { try rig.enqueue(size) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(100, frames: 17)
    try rig.queue.stop(atOnce: true)
    expectEqual(rig.samples.count, 1700 * channels)
    let left = stride(from: 0, to: rig.samples.count, by: channels).map { rig.samples[$0] }
    expectEqual(left, frames(0, 1700))
    if channels > 1 {
      let right = stride(from: 1, to: rig.samples.count, by: channels).map { rig.samples[$0] }
      expectEqual(right, frames(0, 1700).map { -$0 })
    }
    var at: Int64 = 0
    for case .done(_, let count, let start) in rig.calls {
      expectEqual(start, at)
      at += Int64(count)
    }
    expectEqual(at, 1700)
    expectTrue(rig.queue.statistics.underruns == 0 && rig.queue.statistics.lastedFrames == 1700)
  }

  @Test("17: what cannot be enqueued")
  func whatCannotBeEnqueued() throws {
    let rig = try InputRig(.float(2))
    #expect(throws: QueueError.invalidBuffer) { try rig.queue.enqueue(99) }
    let small = try rig.queue.allocateBuffer(capacity: 7)
    #expect(throws: QueueError.bufferTooSmall) { try rig.queue.enqueue(small.id) }
    let id = try rig.enqueue(10)
    #expect(throws: QueueError.enqueuedTwice) { try rig.queue.enqueue(id) }
    #expect(throws: QueueError.bufferInQueue) { try rig.queue.freeBuffer(id) }
    try rig.queue.freeBuffer(small.id)
    // The remaining part of a frame is not written.
    let odd = try rig.queue.allocateBuffer(capacity: 15)
    try rig.queue.enqueue(odd.id)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectTrue(rig.calls.contains(.done(odd.id, frames: 1, at: 10)))
  }

  // MARK: Underrun

  @Test("22: each gap is told once, and the next buffer's time shows the hole")
  func underruns() throws {
    let rig = try InputRig()
    expectNil(rig.queue.converterError)
    try rig.queue.start(at: .frame(0))
    rig.cycle(3)
    expectEqual(rig.calls, [.running(true), .underrun])
    expectEqual(rig.queue.converterError, .recordUnderrun)
    let a = try rig.enqueue(100)
    rig.cycle(3)
    let b = try rig.enqueue(10)
    rig.cycle()
    expectEqual(
      rig.calls,
      [
        .running(true), .underrun, .done(a, frames: 100, at: 192), .underrun,
        .done(b, frames: 10, at: 384), .underrun,
      ])
    expectEqual(rig.samples, frames(192, 100) + frames(384, 10))
    expectEqual(rig.queue.statistics.underruns, 3)
    expectEqual(rig.queue.statistics.lostFrames, 192 + 92 + 54)
  }

  @Test("cycles that do not come are silence in the buffer at hand, so that it keeps the time")
  func missedCycles() throws {
    let rig = try InputRig()
    let ids = try [200, 64].map { try rig.enqueue($0) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    rig.server.miss(frames: 64)
    rig.cycle(4)
    expectEqual(rig.samples, frames(0, 64) + silence(64) + frames(128, 136))
    expectTrue(rig.calls.contains(.done(ids[1], frames: 64, at: 200)))
    expectEqual(rig.queue.statistics.missedFrames, 64)
    expectEqual(rig.queue.statistics.silencedFrames, 64)
  }

  // MARK: Start and pause

  @Test(
    "14: a run begins on its frame, inside a cycle; two queues on one",
    arguments: [
      1, 63, 64, 100, 1000,
    ])
  func starts(start: Int64) throws {
    let server = HandDrivenServer()
    let rigs = try (0..<2).map { _ in try InputRig(server: server) }
    for rig in rigs {
      try rig.enqueue(300)
      try rig.queue.start(at: .frame(start))
    }
    for _ in 0..<30 { server.cycle(frames: 64) }
    for rig in rigs {
      rig.queue.deliverEvents()
      rig.settle()
      expectEqual(rig.samples, frames(Int(start), 300))
      expectEqual(rig.queue.statistics.beganAt, start)
    }
  }

  @Test("14: at a host time, and at one that is past")
  func hostTimes() throws {
    let rig = try InputRig()
    try rig.enqueue(64)
    try rig.queue.start(at: .hostTime(UInt64(100.0 / 48000 * 1e9) + 10_000))
    rig.cycle(4)
    expectEqual(rig.samples, frames(100, 64))
    try rig.queue.stop(atOnce: true)
    try rig.enqueue(10)
    try rig.queue.start(at: .hostTime(1))
    rig.cycle()
    expectEqual(rig.samples.suffix(10), frames(256, 10)[...])
  }

  @Test("10: a pause keeps the buffer and the time; stop and start begin at 0")
  func pauses() throws {
    let rig = try InputRig()
    let a = try rig.enqueue(100)
    let b = try rig.enqueue(20)
    // Pausing before a start has no effect.
    try rig.queue.pause()
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.pause()
    let time = rig.queue.currentFrame
    rig.cycle(3)
    expectTrue(rig.queue.currentFrame == time && rig.queue.isRunning)
    try rig.queue.start()
    rig.cycle(2)
    expectEqual(rig.samples, frames(0, 64) + frames(256, 56))
    expectTrue(rig.calls.contains(.done(b, frames: 20, at: 100)))
    try rig.queue.stop(atOnce: true)
    try rig.queue.enqueue(a)
    try rig.queue.start()
    rig.cycle(2)
    expectEqual(rig.calls.suffix(2), [.done(a, frames: 100, at: 0), .underrun])
  }

  // MARK: Stop, reset, flush, dispose

  @Test("6, 21: Stop(true) gives the partial buffer, then the empty ones, before it returns")
  func stopsAtOnce() throws {
    let rig = try InputRig()
    let refused = Mutexed(0)
    rig.onBuffer { queue, recording in
      do { try queue.enqueue(recording.buffer) } catch QueueError.enqueueDuringReset {
        refused.value += 1
      } catch {}
    }
    let ids = try (0..<4).map { _ in try rig.enqueue(50) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stop(atOnce: true)
    expectEqual(
      rig.calls.filter { $0 != .running(true) && $0 != .running(false) },
      [
        .done(ids[0], frames: 50, at: 0), .done(ids[1], frames: 14, at: 50),
        .done(ids[2], frames: 0, at: 64), .done(ids[3], frames: 0, at: 64),
        .done(ids[0], frames: 0, at: 64),
      ])
    expectEqual(refused.value, 4)
    expectEqual(rig.samples, frames(0, 64))
    expectTrue(!rig.queue.isRunning)
    let count = rig.calls.filter { $0 != .running(false) }.count
    rig.cycle(3)
    expectEqual(rig.calls.filter { $0 != .running(false) }.count, count)
    expectEqual(rig.calls.last, .running(false))
    // Unused buffers return too.
    rig.onBuffer { _, _ in }
    try rig.queue.enqueue(ids[3])
    try rig.queue.stop(atOnce: true)
    expectEqual(rig.calls.last, .done(ids[3], frames: 0, at: 0))
  }

  @Test("7, 21: Stop(false) goes on until the enqueued buffers are full, and refuses others")
  func stopsWhenFull() throws {
    let rig = try InputRig()
    let ids = try (0..<3).map { _ in try rig.enqueue(50) }
    let other = try rig.queue.allocateBuffer(capacity: 80).id
    // Stopping before a start has no effect.
    try rig.queue.stop(atOnce: false)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stop(atOnce: false)
    try rig.queue.stop(atOnce: false)
    #expect(throws: QueueError.enqueueDuringReset) { try rig.queue.enqueue(other) }
    expectTrue(rig.queue.isRunning)
    rig.cycle()
    expectTrue(rig.queue.isRunning)
    rig.cycle()
    waitUntil { !rig.queue.isRunning }
    rig.settle()
    expectEqual(
      rig.calls,
      [
        .running(true), .done(ids[0], frames: 50, at: 0), .done(ids[1], frames: 50, at: 50),
        .done(ids[2], frames: 50, at: 100), .running(false),
      ])
    expectEqual(rig.samples, frames(0, 150))
    // Frames after the last buffer are not counted as lost.
    expectTrue(rig.queue.statistics.underruns == 0 && rig.queue.statistics.lastedFrames == 150)
    try rig.queue.enqueue(other)
    try rig.queue.start()
    rig.cycle()
    try rig.queue.stop(atOnce: true)
    expectTrue(rig.calls.contains(.done(other, frames: 20, at: 0)))
  }

  @Test("21: what a callback enqueues after Stop(false) is refused", arguments: [48000.0, 24000])
  func enqueuedAfterAStop(rate: Double) throws {
    let rig = try InputRig(.float(1, rate: rate))
    let refused = Mutexed(0)
    rig.onBuffer { queue, recording in
      do { try queue.enqueue(recording.buffer) } catch { refused.value += 1 }
    }
    for _ in 0..<3 { try rig.enqueue(500) }
    try rig.queue.start()
    rig.cycle(4)
    try rig.queue.stop(atOnce: false)
    rig.cycle(60)
    waitUntil { !rig.queue.isRunning }
    rig.settle()
    expectEqual(refused.value, 3)
    expectEqual(rig.samples.count, 1500)
    expectEqual(rig.queue.statistics.underruns, 0)
    for id: UInt32 in 1...3 { try rig.queue.enqueue(id) }
    try rig.queue.start()
    rig.cycle(4)
    try rig.queue.stop(atOnce: true)
    expectTrue(refused.value == 6 && rig.samples.count > 1500)
  }

  @Test("21: Stop(false) of a queue that cannot fill a buffer ends the run soon")
  func stopsWithNothingToFill() throws {
    // Nothing is enqueued.
    let empty = try InputRig()
    try empty.queue.start(at: .frame(0))
    empty.cycle()
    try empty.queue.stop(atOnce: false)
    empty.settle()
    expectTrue(!empty.queue.isRunning)
    // The queue is paused.
    let paused = try InputRig()
    let id = try paused.enqueue(100)
    try paused.queue.start(at: .frame(0))
    paused.cycle()
    try paused.queue.pause()
    try paused.queue.stop(atOnce: false)
    paused.settle()
    expectEqual(
      paused.calls, [.running(true), .done(id, frames: 64, at: 0), .running(false)])
    // The queue's buffers are reset.
    let reset = try InputRig()
    try reset.enqueue(100)
    try reset.queue.start(at: .frame(0))
    reset.cycle()
    try reset.queue.stop(atOnce: false)
    try reset.queue.reset()
    waitUntil { !reset.queue.isRunning }
    // The server goes away.
    let lost = try InputRig()
    try lost.enqueue(100)
    try lost.enqueue(100)
    try lost.queue.start(at: .frame(0))
    lost.cycle()
    try lost.queue.stop(atOnce: false)
    lost.server.goAway()
    waitUntil { lost.recordings.count == 2 }
    lost.settle()
    expectTrue(!lost.queue.isRunning && lost.recordings.map(\.frames) == [64, 0])
  }

  @Test("7: a Start straight after Stop(false) takes the stop back")
  func startAfterAStop() throws {
    let rig = try InputRig()
    let ids = try (0..<2).map { _ in try rig.enqueue(100) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stop(atOnce: false)
    try rig.queue.start()
    let third = try rig.enqueue(56)
    rig.cycle(3)
    expectEqual(
      rig.calls,
      [
        .running(true), .done(ids[0], frames: 100, at: 0), .done(ids[1], frames: 100, at: 100),
        .done(third, frames: 56, at: 200),
      ])
    expectTrue(rig.queue.isRunning && rig.samples == frames(0, 256))
    // Once the last buffer is full, a start begins another run.
    try rig.enqueue(50)
    try rig.queue.stop(atOnce: false)
    rig.cycle()
    try rig.queue.start(at: .frame(0))
    let last = try rig.enqueue(64)
    rig.cycle()
    expectEqual(
      rig.calls.suffix(3), [.running(false), .running(true), .done(last, frames: 64, at: 0)])
  }

  @Test("6: Reset hands everything back and goes on; the time shows what was left out")
  func resets() throws {
    let rig = try InputRig()
    let a = try rig.enqueue(100)
    let b = try rig.enqueue(100)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.reset()
    expectEqual(
      rig.calls, [.running(true), .done(a, frames: 64, at: 0), .done(b, frames: 0, at: 64)])
    expectTrue(rig.queue.isRunning)
    try rig.queue.enqueue(b)
    rig.cycle(2)
    expectTrue(rig.calls.contains(.done(b, frames: 100, at: 64)))
    expectEqual(rig.samples, frames(0, 64) + frames(64, 100))
  }

  @Test("9: Flush does not block and takes nothing away")
  func flushes() throws {
    let rig = try InputRig()
    try rig.queue.flush()
    try rig.enqueue(100)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.flush()
    rig.cycle()
    try rig.queue.flush()
    expectEqual(rig.samples, frames(0, 100))
  }

  @Test("3: every call is allowed inside a callback", arguments: 0..<8)
  func callsInsideACallback(which: Int) throws {
    let rig = try InputRig()
    let errors = Mutexed<[String]>([])
    rig.onBuffer { queue, recording in
      rig.onBuffer { _, _ in }
      do {
        switch which {
        case 0: try queue.enqueue(recording.buffer)
        case 1: try queue.freeBuffer(recording.buffer)
        case 2: try queue.stop(atOnce: true)
        case 3: try queue.stop(atOnce: false)
        case 4: try queue.flush()
        case 5: try queue.reset()
        case 6: try queue.pause()
        default: expectTrue(queue.isRunning)
        }
      } catch { errors.value.append("\(error)") }
    }
    for _ in 0..<3 { try rig.enqueue(64) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(4)
    expectEqual(errors.value, [])
    expectTrue(!rig.hasNested)
    if which != 6 {
      let done = rig.calls.filter { if case .done = $0 { true } else { false } }
      expectEqual(done.count, (which == 0 ? 4 : 3))
    }
  }

  @Test(
    "8: Dispose gives the device back, with what was recorded first if it is not at once",
    arguments: [
      true, false,
    ])
  func disposes(atOnce: Bool) throws {
    let rig = try InputRig()
    let isDone = Mutexed(false)
    rig.queue.whenDisposed { isDone.value = true }
    let a = try rig.enqueue(100)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.dispose(atOnce: atOnce)
    expectTrue(isDone.value && rig.server.clients[0].isClosed)
    expectEqual(rig.server.clients[0].inputs.map(\.name), ["in_1"])
    let isDelivered = rig.calls.contains(.done(a, frames: 64, at: 0))
    expectEqual(isDelivered, !atOnce)
    #expect(throws: QueueError.disposed) { try rig.queue.start() }
    #expect(throws: QueueError.disposed) { try rig.queue.enqueue(a) }
    #expect(throws: QueueError.disposed) { try rig.queue.dispose(atOnce: true) }
  }

  @Test("3, 8: Dispose inside a callback", arguments: [true, false])
  func disposesInsideACallback(atOnce: Bool) throws {
    let rig = try InputRig()
    let errors = Mutexed<[QueueError]>([])
    rig.onBuffer { queue, recording in
      do throws(QueueError) {
        try queue.dispose(atOnce: atOnce)
        try queue.enqueue(recording.buffer)
      } catch { errors.value.append(error) }
    }
    for _ in 0..<2 { try rig.enqueue(32) }
    try rig.queue.start(at: .frame(0))
    rig.server.cycle(frames: 64)
    rig.queue.deliverEvents()
    waitUntil { !errors.value.isEmpty }
    expectEqual(errors.value, [.disposed])
    waitUntil { rig.server.clients[0].isClosed }
  }

  @Test("a queue that nobody holds any more ends")
  func letGo() throws {
    let server = HandDrivenServer()
    weak var queue: InputQueue?
    do {
      let rig = try InputRig(server: server)
      queue = rig.queue
      try rig.enqueue(100)
      try rig.queue.start(at: .frame(0))
      rig.cycle()
    }
    waitUntil { queue == nil }
    expectTrue(server.clients[0].isClosed)
    server.cycle(frames: 64)
  }

  // MARK: Rates

  @Test("23: a rate of 0 is the device's", arguments: [44100.0, 48000])
  func rateOfTheDevice(rate: Double) throws {
    let rig = try InputRig(.float(1, rate: 0), server: HandDrivenServer(sampleRate: rate))
    expectEqual(rig.queue.format.sampleRate, rate)
    try rig.enqueue(64)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.samples, frames(0, 64))
    let server = HandDrivenServer()
    server.failure = .notRunning("none")
    #expect(throws: QueueError.cannotStart(.notRunning("none"))) {
      _ = try InputRig(.float(1, rate: 0), server: server)
    }
  }

  /// A 1 kHz sine is resampled cleanly to the exact number of frames.
  @Test(arguments: [(48000.0, 44100.0), (44100, 48000), (48000, 96000), (96000, 8000)], [1, 2])
  func otherRates(rates: (Double, Double), channels: Int) throws {
    let (deviceRate, rate) = rates
    let rig = try InputRig(
      .float(channels, rate: rate), server: HandDrivenServer(sampleRate: deviceRate))
    rig.server.hears = { frame, input in
      Float(sin(2 * .pi * 1000 * Double(frame) / deviceRate) / Double(input))
    }
    rig.onBuffer { queue, recording in try? queue.enqueue(recording.buffer) }
    for size in [1000, 333, 4096, 4000] { try rig.enqueue(size) }
    try rig.queue.start(at: .frame(64))
    rig.cycle(301)
    try rig.queue.stop(atOnce: true)
    let taken = 300 * 64
    let expected = Int((Double(taken) * rate / deviceRate).rounded())
    expectEqual(rig.samples.count, expected * channels)
    var at: Int64 = 0
    for case .done(_, let count, let start) in rig.calls {
      expectEqual(start, at)
      at += Int64(count)
    }
    expectTrue(at == expected)
    expectEqual(rig.queue.statistics.underruns, 0)
    // Away from the ends of the stream.
    for channel in 0..<channels {
      var noise = 0.0
      var signal = 0.0
      for i in (expected / 4)..<(3 * expected / 4) {
        let time = Double(i) / rate + 64 / deviceRate
        let ideal = sin(2 * .pi * 1000 * time) / Double(channel + 1)
        let found = Double(rig.samples[i * channels + channel])
        signal += ideal * ideal
        noise += (found - ideal) * (found - ideal)
      }
      expectTrue(10 * log10(signal / noise) > 120)
    }
  }

  /// With a converter the app also sees gaps. They start once the converter's staging buffers are full.
  @Test func underrunsAtAnotherRate() throws {
    let rig = try InputRig(.float(1, rate: 24000))
    rig.server.hears = { _, _ in 0.5 }
    try rig.queue.start(at: .frame(0))
    let stagingBuffers = RecordConverter.stagingBufferCount * RecordConverter.stagingFrames
    rig.cycle(stagingBuffers / 64)
    expectEqual(rig.calls, [.running(true)])
    rig.cycle(100)
    expectEqual(rig.calls, [.running(true), .underrun])
    // All kept frames come in one buffer, which ends at the gap. The next buffer starts after it.
    let a = try rig.enqueue(stagingBuffers)
    let b = try rig.enqueue(100)
    rig.settle()
    rig.cycle(40)
    expectEqual(
      rig.calls,
      [
        .running(true), .underrun, .done(a, frames: stagingBuffers / 2, at: 0),
        .done(b, frames: 100, at: Int64(stagingBuffers / 2 + 3200)),
      ])
  }

  /// The converter's remaining frames also need a buffer when the queue stops. Without one it is an
  /// underrun.
  @Test func aTailWithoutABufferIsTold() throws {
    let rig = try InputRig(.float(1, rate: 44100))
    let a = try rig.enqueue(10)
    try rig.queue.start(at: .frame(0))
    rig.cycle(32)
    try rig.queue.stop(atOnce: true)
    rig.settle()
    expectEqual(
      rig.calls, [.running(true), .done(a, frames: 10, at: 0), .underrun, .running(false)])
    // The next run is not affected.
    try rig.queue.enqueue(a)
    try rig.queue.start()
    rig.cycle(32)
    expectEqual(rig.calls.suffix(2), [.running(true), .done(a, frames: 10, at: 0)])
  }

  // MARK: Device

  @Test("the ports are connected to the sound card, as far as it goes")
  func connections() throws {
    let one = try InputRig(.float(1))
    try one.queue.start()
    expectEqual(one.server.clients[0].connections, ["in_1": ["system:capture_1"]])
    let three = try InputRig(.float(3))
    try three.queue.start()
    expectEqual(
      three.server.clients[0].connections,
      [
        "in_1": ["system:capture_1"], "in_2": ["system:capture_2"],
      ])
    try expectEqual(three.queue.deviceChannels(), 2)
    let none = try InputRig(connections: .none)
    try none.queue.start()
    expectEqual(none.server.clients[0].connections, [:])
    let wrong = try InputRig(connections: .ports(["nowhere:out"]))
    #expect(
      throws: QueueError.cannotStart(.noSuchSource(name: "nowhere:out", server: "by-hand"))
    ) {
      try wrong.queue.start()
    }
    expectTrue(wrong.server.clients[0].isClosed)
  }

  @Test("28: device time")
  func deviceTime() throws {
    let rig = try InputRig()
    expectNil(rig.queue.deviceTime)
    try rig.queue.start(at: .frame(64))
    rig.cycle(2)
    let second = try rig.queue.deviceTime(of: .frame(48000))
    expectTrue(second.frame == 48000 && abs(Int64(second.hostTime) - 1_000_000_000) < 1000)
    expectEqual(rig.queue.currentFrame, 64)
  }

  @Test("30: the app is told of another device")
  func anotherDeviceIsToldOf() throws {
    let other = try InputRig()
    _ = try other.queue.deviceSampleRate()
    let rig = try InputRig()
    try rig.queue.setDeviceUID(other.queue.deviceUID)
    rig.settle()
    expectEqual(rig.changes, [.device])
  }

  @Test func levels() throws {
    let rig = try InputRig(.float(2))
    rig.server.hears = { frame, input in frame % 2 == 0 ? 0.5 : -0.5 }
    try rig.queue.start()
    rig.cycle()
    expectNil(rig.queue.levels)
    rig.queue.isMetering = true
    rig.cycle()
    expectEqual(rig.queue.levels, [Level(peak: 0.5, rms: 0.5), Level(peak: 0.5, rms: 0.5)])
  }

  /// Random calls from four threads while cycles run: nothing hangs, no buffer is lost, and the times
  /// of a run's buffers never overlap.
  @Test(arguments: [1, 2, 3]) func manyThreads(seed: UInt64) throws {
    let rig = try InputRig(.float(1, rate: seed == 2 ? 44100 : 48000))
    rig.onBuffer { queue, recording in try? queue.enqueue(recording.buffer) }
    let ids = try (0..<6).map { try rig.enqueue(30 + 10 * $0) }
    let isOver = Mutexed(false)
    let driver = Thread {
      while !isOver.value {
        rig.server.cycle(frames: 32)
        rig.queue.deliverEvents()
      }
    }
    driver.start()
    let group = DispatchGroup()
    for worker in 0..<4 {
      DispatchQueue.global().async(group: group) {
        var generator = SplitMix(state: seed &* 100 &+ UInt64(worker))
        for _ in 0..<200 {
          switch Int.random(in: 0..<8, using: &generator) {
          case 0: try? rig.queue.start()
          case 1: try? rig.queue.stop(atOnce: true)
          case 2: try? rig.queue.stop(atOnce: false)
          case 3: try? rig.queue.pause()
          case 4: try? rig.queue.reset()
          case 5: _ = rig.queue.isRunning
          case 6: _ = rig.queue.currentFrame
          default: if let id = ids.randomElement(using: &generator) { try? rig.queue.enqueue(id) }
          }
        }
      }
    }
    expectEqual(group.wait(timeout: .now() + 120), .success)
    isOver.value = true
    waitUntil { driver.isFinished }
    rig.onBuffer { _, _ in }
    try rig.queue.stop(atOnce: true)
    rig.settle()
    expectEqual(rig.queue.state.read { $0.buffers.records.count { $0.isFree } }, ids.count)
    expectTrue(
      rig.queue.state.read {
        $0.waiting.isEmpty && $0.inRing.isEmpty && $0.part.stagingBuffers.isEmpty
      })
    expectTrue(!rig.hasNested)
  }
}
