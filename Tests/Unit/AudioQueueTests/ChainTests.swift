import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// The processing of buffers before the cycles: resampling, schedules and parameters in it, taps, rate
/// and pitch.
@Suite(.serialized) struct ChainTests {
  private static func sine(_ frequency: Double, rate: Double, frames: Int) -> [Float] {
    (0..<frames).map { Float(0.5 * sin(2 * .pi * frequency * Double($0) / rate)) }
  }

  /// Returns a signal resampled to the device's sample rate.
  private static func resampled(_ sound: [Float], from rate: Double, to deviceRate: Double = 48000)
    throws -> [Float]
  {
    let resampler = try require(Resampler(from: rate, to: deviceRate, channels: 1))
    let input = Planes(channels: 1, capacity: sound.count)
    let room = Int(Double(sound.count) * deviceRate / rate) + 1000
    let output = Planes(channels: 1, capacity: room)
    for (i, sample) in sound.enumerated() { input.pointers()[0][i] = sample }
    var (at, given) = (0, 0)
    while true {
      let left = sound.count - at
      let (consumed, produced) = try resampler.process(
        left > 0 ? UnsafePointer(input.pointers(at: at)) : nil, frames: left,
        into: output.pointers(at: given), room: room - given)
      at += consumed
      given += produced
      if left == 0 && produced == 0 { break }
    }
    return Array(UnsafeBufferPointer(start: output.pointers()[0], count: given))
  }

  /// Runs cycles until the run ends, and gives the converter the time that a real clock would leave it.
  private func play(_ rig: Rig, frames: Int = 256, mostCycles: Int = 20000) {
    for _ in 0..<mostCycles {
      let isReady: Void? = rig.queue.state.wait(seconds: 10) { state in
        let isDone = state.waiting.isEmpty && !state.isConverting
        return isDone || state.converter?.isFull(state) ?? true ? () : nil
      }
      if isReady == nil { break }
      rig.cycle(frames: frames)
      if rig.calls.last == .running(false) { return }
    }
    Issue.record("the run does not end")
  }

  private func wait(_ rig: Rig) {
    let isDone: Void? = rig.queue.state.wait(seconds: 20) {
      $0.waiting.isEmpty && !$0.isConverting ? () : nil
    }
    expectTrue(isDone != nil)
  }

  @Test(
    "frames ahead of a low rate are not as many as its ratio to the device's",
    arguments: [
      (1, 48000), (10, 48000), (100, 192000), (8000, 48000), (48000, 44100),
    ])
  func memoryAhead(rate: Double, deviceRate: Double) throws {
    let rig = try Rig(.float(8, rate: rate), server: HandDrivenServer(sampleRate: deviceRate))
    try rig.queue.setDecodeFrames(16384)
    let frames = rig.queue.plan(deviceRate).framesAhead(period: 1024, speed: 1)
    expectTrue(frames >= min(16384, Int(16384 * deviceRate / rate)) && frames <= (1 << 24) / 8)
  }

  @Test(
    "1: time pitch works ahead as many times longer as it plays faster", arguments: [0.5, 1, 2])
  func framesAheadOfTimePitch(rate: Double) throws {
    let rig = try Rig(.float(1, rate: 48000))
    rig.server.periodFrames = 64
    try rig.queue.setTimePitchEnabled(true)
    try rig.queue.setTimePitchAlgorithm(.varispeed)
    try rig.queue.change(TimePitchChanges(rate: rate))
    expectEqual(
      rig.queue.plan(48000).framesAhead(period: 1024, speed: rate), Int(2048 * max(1, rate)))
    try rig.enqueue(Self.sine(440, rate: 48000, frames: 48000))
    try rig.queue.start()
    let most = Int(960 * max(1, rate))
    expectTrue(waits { rig.queue.state.read { $0.part.framesInRing } > most * 3 / 4 })
    expectTrue(rig.queue.state.read { $0.part.framesInRing } <= most)
  }

  @Test("1: PCM is converted two cycles ahead, 20 ms at least; packets 2,048 frames")
  func framesAhead() throws {
    let rig = try Rig(.float(2, rate: 44100))
    let pcm = rig.queue
    expectEqual(pcm.plan(48000).framesAhead(period: 64, speed: 1), 960)
    expectEqual(pcm.plan(48000).framesAhead(period: 1024, speed: 1), 2048)
    expectEqual(pcm.plan(96000).framesAhead(period: 1024, speed: 1), 2048)
    let coded = try Rig(.packets(CodedSound(.aac, frames: 4096).format))
    let packets = coded.queue
    expectEqual(packets.decodeFrames, 2048)
    expectTrue(packets.plan(48000).framesAhead(period: 64, speed: 1) >= 2048)
    try pcm.setDecodeFrames(4410)
    expectEqual(pcm.plan(48000).framesAhead(period: 64, speed: 1), 4800)
  }

  @Test("what an app asks to have ready at the device's own rate it gets")
  func memoryAheadThatIsAskedFor() throws {
    let rig = try Rig(.float(1, rate: 48000), server: HandDrivenServer(sampleRate: 44100))
    try rig.queue.setDecodeFrames(1 << 20)
    expectTrue(rig.queue.plan(44100).framesAhead(period: 1024, speed: 1) >= 1 << 19)
  }

  // MARK: Schedules and parameters

  @Test(arguments: [44100.0, 22050, 96000])
  func aStartTimeIsKeptThroughTheResampler(rate: Double) throws {
    let rig = try Rig(.float(1, rate: rate))
    let first = Self.sine(440, rate: rate, frames: 3001)
    let second = Self.sine(600, rate: rate, frames: 2003)
    for (sound, start) in [(first, 0), (second, 10007)] as [([Float], Int64)] {
      let id = try rig.buffer(sound)
      let actual = try rig.queue.enqueue(
        id, bytes: sound.count * 4, OutputQueue.Schedule(start: start))
      expectEqual(actual, start)
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    let ratio = 48000 / rate
    let a = try Self.resampled(first, from: rate)
    let b = try Self.resampled(second, from: rate)
    let start = Int((10007 * ratio).rounded())
    expectTrue(a.count == Int((3001 * ratio).rounded()) && b.count == Int((2003 * ratio).rounded()))
    let expected = a + silence(start - a.count) + b
    expectEqual(Array(rig.output.prefix(expected.count)), expected)
    expectTrue(rig.output.dropFirst(expected.count).allSatisfy { $0 == 0 })
    expectEqual(rig.queue.statistics.lastedFrames, Int64(expected.count))
  }

  @Test func aStartWithoutAGapDoesNotBreakTheStream() throws {
    let rate = 44100.0
    let rig = try Rig(.float(1, rate: rate))
    let sound = Self.sine(440, rate: rate, frames: 9000)
    var at = 0
    for count in [1000, 17, 3000, 4983] {
      let id = try rig.buffer(Array(sound[at..<(at + count)]))
      // The last buffer is scheduled too late.
      let start = at == 4017 ? Int64(at) - 5 : Int64(at)
      try _ = rig.queue.enqueue(id, bytes: count * 4, OutputQueue.Schedule(start: start))
      at += count
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    let expected = try Self.resampled(sound, from: rate)
    expectEqual(Array(rig.output.prefix(expected.count)), expected)
    expectEqual(rig.queue.statistics.lastedFrames, Int64(expected.count))
  }

  @Test func parametersChangeWithTheBuffersFirstFrame() throws {
    let rate = 44100.0
    let rig = try Rig(.float(1, rate: rate))
    // Smaller and larger than a staging buffer.
    let counts = [700, 1, 64, 5000, 333, 0, 20]
    let gains: [Float] = [1, 0.5, 0.25, 0.75, 0.125, 0.625, 0.375]
    let sound = Self.sine(440, rate: rate, frames: counts.reduce(0, +))
    var at = 0
    for (count, gain) in zip(counts, gains) {
      // The schedule trims ten frames at each end.
      let id = try rig.buffer(silence(10) + sound[at..<(at + count)] + silence(10))
      _ = try rig.queue.enqueue(
        id, bytes: (count + 20) * 4,
        OutputQueue.Schedule(
          trimmedAtStart: 10, trimmedAtEnd: 10, changes: ParameterChanges(volume: gain)))
      at += count
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    var expected = try Self.resampled(sound, from: rate)
    let total = expected.count
    var input = 0
    for (i, (count, gain)) in zip(counts, gains).enumerated() {
      let begin = Int((Double(input) * 48000 / rate).rounded())
      input += count
      let end = i == counts.count - 1 ? total : Int((Double(input) * 48000 / rate).rounded())
      for frame in begin..<end { expected[frame] *= gain }
    }
    expectEqual(Array(rig.output.prefix(total)), expected)
    expectEqual(rig.queue.statistics.lastedFrames, Int64(total))
    expectEqual(rig.queue.parameters.volume, 0.375)
  }

  @Test func manySmallBuffersWithParametersFit() throws {
    let rig = try Rig(.float(1, rate: 24000))
    try rig.queue.setDecodeFrames(256)
    let sound = ramp(3000)
    for i in 0..<1500 {
      let id = try rig.buffer([sound[2 * i], sound[2 * i + 1]])
      _ = try rig.queue.enqueue(
        id, bytes: 8, OutputQueue.Schedule(changes: ParameterChanges(volume: i % 2 == 0 ? 1 : 0)))
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig, frames: 64)
    let whole = try Self.resampled(sound, from: 24000)
    let expected = whole.enumerated().map { $0 / 4 % 2 == 0 ? $1 : 0 }
    expectEqual(Array(rig.output.prefix(6000)), expected)
    expectEqual(rig.queue.statistics.starvations, 0)
    expectEqual(rig.doneBuffers.count, 1500)
  }

  // MARK: Decoding ahead

  @Test(
    "15: Prime prepares as much as it is asked for, in as many stagingBuffers as that takes",
    arguments: [44100.0, 24000, 96000], [256, 1001, 16384, 100_000])
  func primingGoesBeyondTheDecodeBuffer(rate: Double, frames: Int) throws {
    let rig = try Rig(.float(1, rate: rate))
    expectEqual(rig.queue.decodeFrames, 2048)
    try rig.queue.setDecodeFrames(frames)
    try rig.enqueue([Float](repeating: 0.5, count: 300_000))
    let few = try rig.queue.prime(frames: 1)
    expectTrue(few >= 1 && few <= max(frames, Int(2048 * rate / 48000)) + 2)
    let some = try rig.queue.prime(frames: 120_000)
    expectTrue(some >= 120_000 && some < 120_000 + 2 * StagingBuffer.mostFrames)
    // Converted frames cannot be taken back.
    #expect(throws: QueueError.invalidRunState) { try rig.queue.setDecodeFrames(500) }
    let all = try rig.queue.prime(frames: 0)
    rig.settle()
    // The resampler still holds a few frames.
    expectTrue(all > 298_000 && all <= 300_000 && rig.doneBuffers == [])
    try expectEqual(rig.queue.prime(frames: 300_000), all)
    var ready = 0
    #expect(throws: QueueError.primeTimedOut) {
      try rig.queue.prime(frames: 300_010, &ready)
    }
    expectEqual(ready, all)
    try rig.queue.stopAfterPlaying()
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    rig.cycle(Int(300_000 * 48000 / rate / 4096) + 2, frames: 4096)
    expectEqual(rig.queue.statistics.lastedFrames, Int64((300_000 * 48000 / rate).rounded()))
    expectEqual(rig.queue.statistics.starvations, 0)
    expectTrue(rig.output.filter { $0 != 0 }.count >= Int(299_000 * 48000 / rate))
  }

  @Test("15: after a Prime no more than the decode buffer is decoded ahead again")
  func theDecodeBufferHoldsAfterPriming() throws {
    let rig = try Rig(.float(1, rate: 24000))
    try rig.queue.setDecodeFrames(16384)
    for _ in 0..<40 { try rig.enqueue([Float](repeating: 0.5, count: 4096)) }
    _ = try rig.queue.prime(frames: 60_000)
    func waiting() -> Int { rig.queue.state.read { $0.waiting.count } }
    let before = waiting()
    try rig.queue.start(at: .frame(0))
    // At least 80,000 of the 120,000 ready device frames are played before anything is decoded.
    rig.cycle(20, frames: 4096)
    expectEqual(waiting(), before)
    for _ in 0..<16 {
      rig.cycle(1, frames: 4096)
      let isFull: Void? = rig.queue.state.wait(seconds: 20) { state in
        let isDone = state.waiting.isEmpty && !state.isConverting
        return isDone || state.converter?.isFull(state) ?? true ? () : nil
      }
      expectTrue(isFull != nil)
    }
    // The buffer pool plus the buffer being filled.
    expectTrue(rig.queue.state.read { $0.readyFrames } <= 2 * 16384)
    expectTrue(waiting() < before && rig.queue.statistics.starvations == 0)
  }

  @Test("15: Prime says so if the ring of the cycles is too small for all")
  func primingMoreThanTheRingTakes() throws {
    let rig = try Rig(.float(1, rate: 24000))
    for i in 0..<1200 {
      let changes = ParameterChanges(volume: Float(i % 2))
      _ = try rig.queue.enqueue(
        rig.buffer(ramp(10)), bytes: 40, OutputQueue.Schedule(changes: changes))
    }
    var ready = 0
    #expect(throws: QueueError.primeTimedOut) { try rig.queue.prime(frames: 0, &ready) }
    expectTrue(ready > 5000 && ready < 12_000)
    // Frames that need no conversion are ready at once.
    let direct = try Rig()
    for _ in 0..<1200 { try direct.enqueue(ramp(10)) }
    try expectEqual(direct.queue.prime(frames: 0), 12_000)
    try expectEqual(direct.queue.prime(frames: 12_000), 12_000)
    #expect(throws: QueueError.primeTimedOut) { _ = try direct.queue.prime(frames: 12_001) }
  }

  @Test func theDecodeBufferHasLimits() throws {
    let rig = try Rig(.float(1, rate: 44100))
    for frames in [0, 255, (1 << 20) + 1] {
      #expect(throws: QueueError.invalidPropertyValue) { try rig.queue.setDecodeFrames(frames) }
    }
    try rig.queue.setDecodeFrames(1 << 20)
    let direct = try Rig()
    try direct.queue.setDecodeFrames(256)
    expectEqual(direct.queue.decodeFrames, 256)
    try direct.enqueue(ramp(5000))
    try expectEqual(direct.queue.prime(frames: 0), 5000)
  }

  // MARK: Taps

  /// The arguments of a tap's call.
  private struct Seen: Equatable {
    var frames: Int
    var time: Double
    var queueTime: Double
    var queueFrames: Int
    var isStart = false
    var isEnd = false
  }

  private static func see(_ call: TapCall) -> Seen {
    Seen(
      frames: call.frames, time: call.sampleTime, queueTime: call.queueTime,
      queueFrames: call.queueFrames, isStart: call.isStart, isEnd: call.isEnd)
  }

  /// Multiplies the source signal by 2.
  private static func double(_ call: TapCall) {
    var at = 0
    while true {
      let (planes, frames, _) = call.takeSource(100)
      if frames == 0 { break }
      for channel in 0..<call.channels {
        for i in 0..<frames { call.output[channel][at + i] = planes[channel][i] * 2 }
      }
      at += frames
    }
    call.givenFrames = at
    call.hasEnded = call.isEnd
  }

  @Test(arguments: [ProcessingTap.Position.preEffects, .postEffects])
  func aTapMakesTheSound(place: ProcessingTap.Position) throws {
    let rig = try Rig(.float(2))
    // Blocks of 1,024 frames.
    try rig.queue.setDecodeFrames(16384)
    let seen = Mutexed<[Seen]>([])
    try rig.queue.addTap(
      ProcessingTap(place, isSiphon: false) { call in
        seen.value.append(Self.see(call))
        Self.double(call)
      })
    let sound = ramp(2 * 2500)
    try rig.enqueue(sound)
    try rig.enqueue([7, 8])
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    let samples = rig.server.clients[0].samples
    for channel in 0..<2 {
      let expected =
        (0..<2500).map { sound[2 * $0 + channel] * 2 } + [Float(14 + 2 * channel)]
      expectEqual(Array(samples[channel].prefix(2501)), expected)
      expectTrue(samples[channel].dropFirst(2501).allSatisfy { $0 == 0 })
    }
    expectEqual(
      seen.value,
      [
        Seen(frames: 1024, time: 0, queueTime: 0, queueFrames: 1024, isStart: true),
        Seen(frames: 1024, time: 1024, queueTime: 1024, queueFrames: 1024),
        Seen(frames: 452, time: 2048, queueTime: 2048, queueFrames: 452),
        Seen(frames: 1, time: 2500, queueTime: 2500, queueFrames: 1),
        Seen(frames: 1024, time: 2501, queueTime: 2501, queueFrames: 1024, isEnd: true),
      ])
    expectNil(rig.queue.converterFailure)
    #expect(throws: QueueError.tooManyTaps) {
      try rig.queue.addTap(ProcessingTap(.preEffects, isSiphon: true) { _ in })
    }
  }

  @Test func aSiphonOnlyLooks() throws {
    let rig = try Rig()
    let heard = Mutexed<[Float]>([])
    let seen = Mutexed<[Seen]>([])
    try rig.queue.addTap(
      ProcessingTap(.postEffects, isSiphon: true) { call in
        seen.value.append(Self.see(call))
        heard.value += UnsafeBufferPointer(start: call.output[0], count: call.frames)
        call.output[0].update(repeating: 9, count: call.frames)
      })
    try rig.enqueue(ramp(1500))
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    expectEqual(Array(rig.output.prefix(1500)), ramp(1500))
    expectEqual(heard.value, ramp(1500))
    expectEqual(
      seen.value.last, Seen(frames: 0, time: 1500, queueTime: 1500, queueFrames: 0, isEnd: true))
    expectEqual(rig.queue.statistics.lastedFrames, 1500)
  }

  @Test func aTapMayGiveMoreAtTheEnd() throws {
    let rig = try Rig(.float(1, rate: 24000))
    let tails = Mutexed(0)
    try rig.queue.addTap(
      ProcessingTap(.preEffects, isSiphon: false) { call in
        if !call.isEnd { return Self.double(call) }
        tails.value += 1
        call.output[0].update(repeating: 0, count: 500)
        call.givenFrames = 500
        call.hasEnded = tails.value == 3
      })
    try rig.enqueue(ramp(1000))
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    expectEqual(rig.queue.statistics.lastedFrames, 5000)
    expectNil(rig.queue.converterFailure)
    let expected = try Self.resampled(ramp(1000).map { $0 * 2 } + silence(1500), from: 24000)
    expectEqual(Array(rig.output.prefix(5000)), expected)
  }

  @Test func aTapIsToldOfGapsAndRuns() throws {
    let rig = try Rig()
    let starts = Mutexed<[Double]>([])
    let times = Mutexed<[Double]>([])
    try rig.queue.addTap(
      ProcessingTap(.preEffects, isSiphon: true) { call in
        if call.isStart { starts.value.append(call.queueTime) }
        if call.frames > 0 { times.value.append(call.sampleTime) }
      })
    for start in [nil, nil, 300, 350, 400, nil] as [Int64?] {
      let id = try rig.buffer(ramp(50))
      _ = try rig.queue.enqueue(id, bytes: 200, OutputQueue.Schedule(start: start))
    }
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(0))
    play(rig)
    expectEqual(starts.value, [0, 300])
    expectEqual(times.value, [0, 50, 100, 150, 200, 250])
    let expected = ramp(50) + ramp(50) + silence(200) + ramp(50) + ramp(50) + ramp(50) + ramp(50)
    expectEqual(Array(rig.output.prefix(500)), expected)
    // A new run starts at 0.
    try rig.enqueue(ramp(10))
    wait(rig)
    expectTrue(starts.value == [0, 300, 0] && times.value.last == 0)
  }

  @Test func aTapThatMiscountsIsReported() throws {
    for (given, failure) in [(3000, ConverterFailure.tapGaveTooMuch), (1, .tapGaveTooLittle)] {
      let rig = try Rig()
      try rig.queue.setDecodeFrames(16384)
      try rig.queue.addTap(
        ProcessingTap(.preEffects, isSiphon: false) { call in
          if call.isEnd { return }
          Self.double(call)
          call.givenFrames = given
        })
      try rig.enqueue(ramp(800))
      try rig.queue.stopAfterPlaying()
      try rig.queue.start(at: .frame(0))
      play(rig)
      expectEqual(rig.queue.converterFailure, failure)
      // Every frame keeps its position.
      let doubled = ramp(800).map { $0 * 2 }
      expectEqual(Array(rig.output.prefix(800)), (given == 1 ? [2] + silence(799) : doubled))
      expectEqual(rig.queue.statistics.lastedFrames, 800)
    }
  }

  @Test func tapsComeAndGoOnlyWhileNothingRuns() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(64))
    // Enqueued buffers pass through the tap, even if the cycles could already play them directly.
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.addTap(ProcessingTap(.postEffects, isSiphon: false, process: Self.double))
    wait(rig)
    try rig.queue.start(at: .frame(0))
    rig.cycle(2)
    expectEqual(Array(rig.output.prefix(64)), ramp(64).map { $0 * 2 })
    #expect(throws: QueueError.invalidRunState) { try rig.queue.removeTap() }
    try rig.queue.stop()
    try rig.queue.removeTap()
    // Without the tap, the cycles read the app's buffers directly again.
    expectTrue(rig.queue.state.read { $0.converter == nil })
    try rig.enqueue(ramp(64))
    try rig.queue.start()
    rig.cycle(2)
    expectEqual(rig.output.suffix(128), (ramp(64) + silence(64))[...])
  }

  @Test func aTapThatDoesNotReturnStopsNobody() throws {
    let rig = try Rig()
    let gate = DispatchSemaphore(value: 0)
    let entered = DispatchSemaphore(value: 0)
    try rig.queue.addTap(
      ProcessingTap(.preEffects, isSiphon: true) { _ in
        entered.signal()
        gate.wait()
      })
    let id = try rig.enqueue(ramp(64))
    try rig.queue.start()
    entered.wait()
    try rig.queue.stop()
    expectEqual(rig.doneBuffers, [id])
    gate.signal()
    // The buffer in progress is discarded, and the queue continues.
    gate.signal()
    try rig.queue.enqueue(id, bytes: 256)
    wait(rig)
    try rig.queue.start()
    rig.cycle(3)
    expectEqual(rig.output.filter { $0 != 0 }, ramp(64))
  }

  // MARK: Rate and pitch

  @Test func rateAndPitchNeedTheProcessor() throws {
    let rig = try Rig()
    #expect(throws: QueueError.invalidParameter) {
      try rig.queue.change(TimePitchChanges(rate: 2))
    }
    let id = try rig.buffer(ramp(10))
    var schedule = OutputQueue.Schedule()
    schedule.timePitch.cents = 100
    #expect(throws: QueueError.invalidParameter) {
      try rig.queue.enqueue(id, bytes: 40, schedule)
    }
    #if RubberBand
      try rig.queue.setTimePitchEnabled(true)
      _ = try rig.queue.enqueue(id, bytes: 40, schedule)
      try rig.queue.change(TimePitchChanges(rate: 5, cents: -9999))
      expectEqual(rig.queue.timePitch, TimePitch.Setting(rate: 2, cents: -2400))
      try rig.queue.start()
      #expect(throws: QueueError.invalidRunState) { try rig.queue.setTimePitchEnabled(false) }
      #expect(throws: QueueError.invalidRunState) {
        try rig.queue.setTimePitchAlgorithm(.varispeed)
      }
    #endif
  }

  #if RubberBand
    @Test(arguments: [48000.0, 44100], [TimePitch.Algorithm.spectral, .timeDomain, .varispeed])
    func aNeutralProcessorChangesNothing(rate: Double, algorithm: TimePitch.Algorithm) throws {
      let rig = try Rig(.float(1, rate: rate))
      try rig.queue.setTimePitchAlgorithm(algorithm)
      try rig.queue.setTimePitchEnabled(true)
      let sound = Self.sine(440, rate: rate, frames: 7001)
      try rig.enqueue(sound)
      try rig.queue.stopAfterPlaying()
      try rig.queue.start(at: .frame(0))
      play(rig)
      let expected = rate == 48000 ? sound : try Self.resampled(sound, from: rate)
      expectEqual(Array(rig.output.prefix(expected.count)), expected)
      expectEqual(rig.queue.statistics.lastedFrames, Int64(expected.count))
    }

    @Test(arguments: [48000.0, 44100])
    func rateAndPitchAreHeard(rate: Double) throws {
      let rig = try Rig(.float(1, rate: rate))
      try rig.queue.setTimePitchEnabled(true)
      try rig.queue.change(TimePitchChanges(rate: 0.8, cents: 700))
      let frames = Int(rate) * 2
      try rig.enqueue(Self.sine(440, rate: rate, frames: frames))
      try rig.queue.stopAfterPlaying()
      try rig.queue.start(at: .frame(0))
      play(rig, frames: 1024)
      expectEqual(rig.queue.statistics.lastedFrames, 120_000)
      let sound = rig.output[12000..<108_000]
      let rises = sound.indices.dropFirst().filter {
        rig.output[$0 - 1] < 0 && rig.output[$0] >= 0
      }
      let first = try require(rises.first)
      let last = try require(rises.last)
      let frequency = Double(rises.count - 1) * 48000 / Double(last - first)
      expectTrue(abs(frequency / (440 * exp2(7.0 / 12)) - 1) < 0.001, "\(frequency)")
    }

    @Test func eventsOfABufferChangeItsRateAndVolume() throws {
      let rig = try Rig(.float(1, rate: 24000))
      try rig.queue.setTimePitchEnabled(true)
      try rig.queue.setTimePitchAlgorithm(.varispeed)
      let sound = [Float](repeating: 0.5, count: 6000)
      for (rate, volume) in [(1, 1), (2, 0.5), (0.5, 0.25)] as [(Double, Float)] {
        let id = try rig.buffer(sound)
        var schedule = OutputQueue.Schedule(changes: ParameterChanges(volume: volume))
        schedule.timePitch.rate = rate
        let start = try rig.queue.enqueue(id, bytes: 24000, schedule)
        expectEqual(start, (rate == 1 ? 0 : rate == 2 ? 6000 : 9000))
      }
      try rig.queue.stopAfterPlaying()
      try rig.queue.start(at: .frame(0))
      play(rig)
      expectEqual(rig.queue.statistics.lastedFrames, 2 * (6000 + 3000 + 12000))
      expectEqual(rig.queue.timePitch.rate, 0.5)
      // The volume changes exactly on the frame.
      for (edge, before, after) in [(12000, 1, 0.5), (18000, 0.5, 0.25)] as [(Int, Float, Float)] {
        expectTrue(abs(rig.output[edge - 1] / before - rig.output[edge] / after) < 0.05)
      }
      expectTrue(abs(rig.output[6000] - 0.5) < 0.001 && abs(rig.output[30000] - 0.125) < 0.001)
    }

    @Test func aChangeIsHeardWithinOneDecodeBuffer() throws {
      let rig = try Rig()
      try rig.queue.setDecodeFrames(2048)
      try rig.queue.setTimePitchEnabled(true)
      let sound = ramp(1 << 16)
      for at in stride(from: 0, to: sound.count, by: 4096) {
        try rig.enqueue(Array(sound[at..<(at + 4096)]))
      }
      _ = try rig.queue.prime(frames: 2048)
      try rig.queue.start(at: .frame(0))
      try rig.queue.change(TimePitchChanges(rate: 2))
      try rig.queue.stopAfterPlaying()
      play(rig, frames: 128)
      let passed = zip(rig.output, sound).prefix { $0 == $1 }.count
      expectTrue(passed >= 2048 && passed <= 2048 + Chain.blockFrames, "\(passed)")
      // Afterwards the signal passes unchanged, and no frame is lost.
      expectEqual(rig.queue.statistics.lastedFrames, Int64(passed + (sound.count - passed) / 2))
    }

    @Test func theBypassWorksWhileItRuns() throws {
      let rig = try Rig()
      try rig.queue.setDecodeFrames(16384)
      try rig.queue.setTimePitchEnabled(true)
      try rig.queue.change(TimePitchChanges(rate: 0.5, cents: 300))
      rig.queue.isTimePitchBypassed = true
      try rig.queue.start(at: .frame(0))
      try rig.enqueue(ramp(3000))
      wait(rig)
      rig.queue.isTimePitchBypassed = false
      try rig.enqueue(silence(3000))
      wait(rig)
      rig.queue.isTimePitchBypassed = true
      try rig.enqueue(ramp(3000))
      try rig.queue.stopAfterPlaying()
      play(rig)
      expectEqual(Array(rig.output.prefix(3000)), ramp(3000))
      expectEqual(Array(rig.output[9000..<12000]), ramp(3000))
      expectEqual(rig.queue.statistics.lastedFrames, 12000)
    }

    @Test func tapsSeeBothSidesOfTheRate() throws {
      for place in [ProcessingTap.Position.preEffects, .postEffects] {
        let rig = try Rig()
        let frames = Mutexed(0)
        let queueFrames = Mutexed(0)
        let times = Mutexed<[Double]>([])
        try rig.queue.addTap(
          ProcessingTap(place, isSiphon: true) { call in
            times.value.append(call.queueTime - Double(queueFrames.value))
            frames.value += call.frames
            queueFrames.value += call.queueFrames
          })
        try rig.queue.setTimePitchEnabled(true)
        try rig.queue.change(TimePitchChanges(rate: 0.5))
        try rig.enqueue(ramp(8192))
        try rig.queue.stopAfterPlaying()
        try rig.queue.start(at: .frame(0))
        play(rig)
        expectEqual(frames.value, (place == .preEffects ? 8192 : 16384))
        expectEqual(queueFrames.value, 16384)
        expectTrue(times.value.allSatisfy { $0 == 0 })
      }
    }
  #endif
}
