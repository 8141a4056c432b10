import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Scheduled buffers. Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct ScheduleTests {
  @discardableResult
  private func enqueue(
    _ rig: Rig, _ samples: [Float], trim: (Int, Int) = (0, 0), at start: Int64? = nil,
    changing changes: ParameterChanges = ParameterChanges()
  ) throws -> Int64 {
    try rig.queue.enqueue(
      rig.buffer(samples), bytes: samples.count * 4,
      OutputQueue.Schedule(
        trimmedAtStart: trim.0, trimmedAtEnd: trim.1, changes: changes, start: start))
  }

  // MARK: Trims

  @Test("18: trims leave frames out, at either end", arguments: [1, 17, 64, 200])
  func trims(period: Int) throws {
    let rig = try Rig()
    try enqueue(rig, ramp(100), trim: (10, 0))
    try enqueue(rig, ramp(100, from: 1000), trim: (0, 25))
    try enqueue(rig, ramp(100, from: 2000), trim: (99, 0))
    try enqueue(rig, ramp(100, from: 3000), trim: (40, 60))
    try enqueue(rig, ramp(100, from: 4000), trim: (1, 98))
    try rig.queue.start(at: .frame(0))
    rig.cycle(200 / period + 1, frames: period)
    let expected =
      ramp(90, from: 11) + ramp(75, from: 1000) + [2099, 4001]
      + silence(rig.output.count - 167)
    expectEqual(rig.output, expected)
    expectEqual(rig.doneBuffers.count, 5)
  }

  @Test("18: more than there is cannot be trimmed")
  func trimsTooLong() throws {
    let rig = try Rig()
    let id = try rig.buffer(ramp(10))
    for (start, end) in [(11, 0), (0, 11), (6, 5), (Int(UInt32.max), Int(UInt32.max))] {
      #expect(throws: QueueError.trimmedTooMuch) {
        _ = try rig.queue.enqueue(
          id, bytes: 40, OutputQueue.Schedule(trimmedAtStart: start, trimmedAtEnd: end))
      }
    }
    try rig.queue.freeBuffer(id)
  }

  @Test("17: a balance that was refused with its buffer gives no second port")
  func refusedBalance() throws {
    let rig = try Rig()
    try rig.queue.start(at: .frame(0))
    #expect(throws: QueueError.trimmedTooMuch) {
      try enqueue(rig, ramp(10), trim: (11, 0), changing: ParameterChanges(pan: 1))
    }
    try enqueue(rig, ramp(10))
    expectEqual(rig.queue.statistics.portNames, ["out_1"])
  }

  // MARK: Start times

  @Test("18: a start time is exact, and the time before it silent", arguments: [1, 17, 64, 300])
  func startTimes(period: Int) throws {
    let rig = try Rig()
    try expectEqual(enqueue(rig, ramp(50), at: 0), 0)
    try expectEqual(enqueue(rig, ramp(50, from: 100), trim: (10, 0), at: 77), 77)
    // The start time has passed, so the buffer follows at once.
    try expectEqual(enqueue(rig, ramp(50, from: 200), at: 100), 117)
    try expectEqual(enqueue(rig, ramp(5, from: 300)), 167)
    try expectEqual(enqueue(rig, ramp(5, from: 400), at: 256), 256)
    try rig.queue.start(at: .frame(3))
    rig.cycle(300 / period + 1, frames: period)
    let run =
      ramp(50) + silence(27) + ramp(40, from: 110) + ramp(50, from: 200) + ramp(5, from: 300)
      + silence(84) + ramp(5, from: 400)
    expectEqual(rig.output, silence(3) + run + silence(rig.output.count - 264))
    // Waiting for a start time is no starvation; only the time after the last buffer is.
    expectEqual(rig.queue.statistics.starvations, 1)
  }

  @Test("17, 18: start times must not go back; a refused buffer changes nothing")
  func startTimesInOrder() throws {
    let rig = try Rig()
    try enqueue(rig, [1], at: 10)
    let id = try rig.buffer([2])
    #expect(throws: QueueError.startsOutOfOrder) {
      _ = try rig.queue.enqueue(id, bytes: 4, OutputQueue.Schedule(start: 9))
    }
    try expectEqual(rig.queue.enqueue(id, bytes: 4, OutputQueue.Schedule(start: 10)), 11)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.output, silence(10) + [1, 2] + silence(52))
  }

  @Test(
    "18: a start time need not come after that of a buffer that has been played",
    arguments: [
      48000.0, 24000,
    ])
  func startTimeBeforeAPlayedOne(rate: Double) throws {
    let rig = try Rig(.float(1, rate: rate))
    try enqueue(rig, ramp(10), at: 40)
    let waiting = try rig.buffer([7])
    #expect(throws: QueueError.startsOutOfOrder) {
      _ = try rig.queue.enqueue(waiting, bytes: 4, OutputQueue.Schedule(start: 20))
    }
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    rig.cycle(3)
    expectEqual(rig.doneBuffers, [1])
    // Its start time has also passed, so it starts as soon as possible.
    let begin = try rig.queue.enqueue(waiting, bytes: 4, OutputQueue.Schedule(start: 20))
    expectEqual(begin, Int64(192 * rate / 48000))
    // A later buffer must not start before waiting ones. A converter has already taken those.
    if rate == 48000 {
      #expect(throws: QueueError.startsOutOfOrder) { try enqueue(rig, [8], at: 19) }
    }
    try expectEqual(enqueue(rig, [8], at: 1000), 1000)
  }

  @Test("17: a start that no device comes to is refused", arguments: [8000, 44100, 48000.0])
  func startsOutOfRange(rate: Double) throws {
    let rig = try Rig(.float(1, rate: rate))
    let id = try rig.buffer(ramp(10))
    let seconds = OutputQueue.Schedule.latestSeconds
    for start in [3_000_000_000_000_000_000, -3_000_000_000_000_000_000, .max, .min] as [Int64] {
      #expect(throws: QueueError.startOutOfRange) {
        _ = try rig.queue.enqueue(id, bytes: 40, OutputQueue.Schedule(start: start))
      }
    }
    // The latest accepted start time and the buffer after it.
    let latest = Int64(seconds * rate)
    try rig.queue.start(at: .frame(0))
    try expectEqual(rig.queue.enqueue(id, bytes: 40, OutputQueue.Schedule(start: latest)), latest)
    try rig.enqueue(ramp(10))
    let isQuiet: Void? = rig.queue.state.wait(seconds: 20) {
      ($0.waiting.isEmpty || $0.converter == nil) && !$0.isConverting ? () : nil
    }
    expectTrue(isQuiet != nil)
    rig.server.cycle(frames: 64)
    expectEqual(rig.output, silence(64))
  }

  @Test("18: each run counts its own time, and a reset forgets the order")
  func startTimesOfTheNextRun() throws {
    let rig = try Rig()
    try enqueue(rig, [1], at: 20)
    try rig.queue.stopAfterPlaying()
    try expectEqual(enqueue(rig, [2], at: 5), 5)
    try rig.queue.start(at: .frame(0))
    try rig.queue.start()
    rig.cycle()
    // The second run starts on the frame after the first, frame 21.
    expectEqual(rig.output, silence(20) + [1] + silence(5) + [2] + silence(37))

    try enqueue(rig, [3], at: 1000)
    try rig.queue.reset()
    // 64 - 21 frames of the run have passed.
    try expectEqual(enqueue(rig, [4], at: 50), 50)
    rig.cycle()
    expectEqual(Array(rig.output[64...]), silence(7) + [4] + silence(56))
  }

  @Test("12, 18: a start time that passed while the queue ran dry is as soon as can be")
  func startTimeInThePast() throws {
    let rig = try Rig()
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try expectEqual(enqueue(rig, [1], at: 10), 64)
    try expectEqual(enqueue(rig, [2], at: 100), 100)
    rig.cycle()
    expectEqual(rig.output, silence(64) + [1] + silence(35) + [2] + silence(27))
  }

  @Test("10, 18: while the queue is paused a scheduled buffer waits with it")
  func startTimeAcrossAPause() throws {
    let rig = try Rig()
    try enqueue(rig, [1], at: 0)
    try enqueue(rig, [2], at: 70)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.pause()
    rig.cycle()
    try rig.queue.start()
    rig.cycle()
    expectEqual(rig.output, [1] + silence(127) + silence(6) + [2] + silence(57))
  }

  @Test("14, 18: missed cycles count for start times too")
  func startTimeAcrossAnXrun() throws {
    let rig = try Rig()
    try enqueue(rig, [1], at: 0)
    try enqueue(rig, ramp(10, from: 2), at: 95)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    rig.server.miss(frames: 36)
    rig.cycle()
    // The first five of the ten frames fall into the frames that were not heard.
    expectEqual(rig.output, [1] + silence(63) + ramp(5, from: 7) + silence(59))
  }

  // MARK: Parameters

  @Test("18: parameters change with the buffer's first frame", arguments: [1, 17, 64])
  func changesOnABuffer(period: Int) throws {
    let rig = try Rig()
    try enqueue(rig, ramp(30))
    try enqueue(rig, ramp(30), changing: ParameterChanges(volume: 0.3))
    try enqueue(rig, ramp(30))
    try enqueue(rig, ramp(30), at: 100, changing: ParameterChanges(volume: 2))
    try rig.queue.start(at: .frame(0))
    rig.cycle(60 / period, frames: period)
    expectEqual(rig.queue.parameters.volume, (rig.output.count > 30 ? 0.3 : 1))
    rig.cycle(140 / period + 1, frames: period)
    let quiet = ramp(30).map { $0 * 0.3 }
    let expected = ramp(30) + quiet + quiet + silence(10) + ramp(30)
    expectEqual(rig.output, expected + silence(rig.output.count - 130))
    expectEqual(rig.queue.parameters.volume, 1)
  }

  /// Returns the gain of each frame of a ramp.
  private func gains(_ count: Int, from: Float, to: Float, over length: Int) -> [Float] {
    (0..<count).map { k in
      k >= length
        ? to : Float(Double(from) + Double(to - from) * (Double(k) / Double(length)))
    }
  }

  @Test("19: a ramp is linear, frame by frame", arguments: [1, 17, 64, 333])
  func rampOfTheVolume(period: Int) throws {
    let rig = try Rig()
    let ones = [Float](repeating: 1, count: 2000)
    try rig.enqueue(ones)
    try rig.queue.change(ParameterChanges(volume: 0))
    try rig.queue.change(ParameterChanges(rampSeconds: 0.01))
    try rig.queue.change(ParameterChanges(volume: 1))
    // The change waits for the run. Until then the old value is in effect.
    expectEqual(rig.queue.parameters.volume, 0)
    try rig.queue.start(at: .frame(Int64(4 * period)))
    rig.cycle(1400 / period + 4, frames: period)
    let run = gains(2000, from: 0, to: 1, over: 480)
    let played = rig.output.count - 4 * period
    expectEqual(rig.output, silence(4 * period) + run.prefix(played))
    expectEqual(rig.queue.parameters.volume, 1)
    expectEqual(rig.queue.parameters.rampSeconds, 0.01)
  }

  @Test("19: a ramp may turn round in the middle, and the value in force can be read there")
  func rampInTheMiddleOfAnother() throws {
    let rig = try Rig()
    try rig.enqueue([Float](repeating: 1, count: 1000))
    try rig.queue.change(ParameterChanges(rampSeconds: 200 / 48000))
    try rig.queue.change(ParameterChanges(volume: 0))
    try rig.queue.start(at: .frame(0))
    rig.cycle(1, frames: 100)
    expectEqual(rig.queue.parameters.volume, 0.5)
    try rig.queue.change(ParameterChanges(volume: 1))
    rig.cycle(1, frames: 300)
    let expected =
      gains(100, from: 1, to: 0, over: 200) + gains(300, from: 0.5, to: 1, over: 200)
    expectEqual(rig.output, expected)
  }

  @Test("19: a ramp stands still with the queue, and goes on while it is dry")
  func rampStandsStill() throws {
    let rig = try Rig()
    try rig.enqueue([Float](repeating: 1, count: 64))
    try rig.queue.change(ParameterChanges(rampSeconds: 256 / 48000))
    try rig.queue.change(ParameterChanges(volume: 0))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.pause()
    rig.cycle(2)
    expectEqual(rig.queue.parameters.volume, 0.75)
    try rig.queue.start()
    rig.cycle()  // runs dry
    try rig.enqueue([Float](repeating: 1, count: 64))
    rig.cycle()
    let ramp = gains(192, from: 1, to: 0, over: 256)
    var expected = Array(ramp[..<64])
    expected += silence(192)
    expected += ramp[128...]
    expectEqual(rig.output, expected)
  }

  @Test("18, 19: a buffer may begin a ramp of its own")
  func rampOnABuffer() throws {
    let rig = try Rig()
    try enqueue(rig, [1, 1, 1])
    let changes = ParameterChanges(volume: 0, rampSeconds: 4 / 48000)
    try enqueue(rig, [Float](repeating: 1, count: 10), changing: changes)
    try rig.queue.start(at: .frame(0))
    rig.cycle(20, frames: 1)
    expectEqual(rig.output, [1, 1, 1, 1, 0.75, 0.5, 0.25] + silence(13))
  }

  @Test("19: volume, ramp and pan on every format", arguments: PCMFormat.all(channels: 2))
  func parametersOnEveryFormat(format: PCMFormat) throws {
    let noise = format.noise(frames: 300, seed: 7)
    let rig = try Rig(format)
    func enqueue(changing changes: ParameterChanges) throws {
      let buffer = try rig.queue.allocateBuffer(capacity: noise.bytes.count)
      noise.bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      _ = try rig.queue.enqueue(
        buffer.id, bytes: noise.bytes.count, OutputQueue.Schedule(changes: changes))
    }
    try enqueue(changing: ParameterChanges(volume: 0.3, pan: 0.25))
    try enqueue(changing: ParameterChanges(volume: 0.9, rampSeconds: 128 / 48000, pan: -0.75))
    try rig.queue.start(at: .frame(0))
    rig.cycle(10)
    let outputs = try require(rig.server.clients.first?.samples)
    let ramp = gains(300, from: 0.3, to: 0.9, over: 128)
    for (channel, balance) in [(0.75, 1.0), (1.0, 0.25)].enumerated() {
      let source = noise.channels[channel]
      let first = source.map { $0 * (Float(0.3) * Float(balance.0)) }
      // During a ramp, the balance is applied before the gain.
      let second = source.indices.map { i in
        i < 128 ? source[i] * Float(balance.1) * ramp[i] : 0
      }
      expectEqual(Array(outputs[channel][..<300]), first)
      for i in 0..<128 {
        expectTrue(abs(outputs[channel][300 + i] - second[i]) <= abs(second[i]) * 0x1p-23)
      }
      for i in 128..<300 {
        let expected = source[i] * Float(balance.1) * 0.9
        expectTrue(abs(outputs[channel][300 + i] - expected) <= abs(expected) * 0x1p-22)
      }
    }
  }

  @Test(
    "19: pan is a balance with unity at the centre",
    arguments: [
      (-2, 1, 0), (-1, 1, 0), (-0.5, 1, 0.5), (0, 1, 1), (0.25, 0.75, 1), (1, 0, 1), (5, 0, 1),
    ] as [(Float, Float, Float)])
  func pan(value: Float, left: Float, right: Float) throws {
    let rig = try Rig(.float(2))
    try rig.queue.change(ParameterChanges(pan: value))
    expectEqual(rig.queue.parameters.pan, min(max(value, -1), 1))
    try rig.enqueue([1, 10, 2, 20, 3, 30])
    try rig.queue.start(at: .frame(0))
    rig.cycle(1, frames: 3)
    let outputs = try require(rig.server.clients.first?.samples)
    expectEqual(outputs, [[left, 2 * left, 3 * left], [10 * right, 20 * right, 30 * right]])
  }

  @Test("19: more than two channels ignore pan")
  func panOfManyChannels() throws {
    let rig = try Rig(.float(3))
    try rig.queue.change(ParameterChanges(pan: 1))
    try rig.enqueue([1, 2, 3])
    try rig.queue.start(at: .frame(0))
    rig.cycle(1, frames: 1)
    expectEqual(rig.server.clients.first?.samples, [[1], [2], [3]])
  }

  @Test("very many changes between two cycles are all taken")
  func manyChanges() throws {
    let rig = try Rig()
    try rig.enqueue([Float](repeating: 1, count: 64))
    try rig.queue.start(at: .frame(0))
    for i in 0..<5000 { try rig.queue.change(ParameterChanges(volume: Float(i % 100) / 100)) }
    try rig.queue.change(ParameterChanges(volume: 0.625))
    expectEqual(rig.queue.parameters.volume, 0.625)
    rig.cycle()
    expectEqual(rig.output, [Float](repeating: 0.625, count: 64))
  }
}
