import CRealTime
import Foundation
import RealTime
import Server
import System
import TestSupport
import Testing

@testable import AudioQueue

extension GatedServer {
  /// Ends `jack` and waits until the queue has lost it.
  fileprivate func end(_ jack: JackDaemon, crash: Bool, _ queue: OutputQueue) {
    end(jack, crash: crash) { queue.isLost }
  }
}

/// 34: a running jackd is stopped or killed, and restarted.
@Suite(.tags(.server), .serialized, .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct JackReturnTests {
  private func makeQueue(
    _ format: PCMFormat, on server: GatedServer,
    connections: OutputQueue.Options.Connections = .physical
  ) throws -> OutputQueue {
    try OutputQueue(
      format, options: OutputQueue.Options(clientName: "player", connections: connections),
      server: server, callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
  }

  private func enqueue(_ samples: [Float], in queue: OutputQueue) throws {
    let buffer = try queue.allocateBuffer(capacity: samples.count * 4)
    samples.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
    try queue.enqueue(buffer.id, bytes: samples.count * 4)
  }

  /// Returns the captured frames, starting with the first that is not silent.
  private func sound(_ capture: CaptureClient, channel: Int = 0) -> ArraySlice<Float> {
    let samples = capture.samples(channel: channel)
    return samples[(samples.firstIndex { $0 != 0 } ?? samples.endIndex)...]
  }

  /// Returns the samples that `capture` must contain for a ramp without loss. The ramp has the value
  /// `first` at captured frame `begin`. A gap in JACK's time advances it by the same number of frames.
  ///
  /// - Parameter changes: Sizes, in order, of gaps in which no time was lost.
  private func heard(
    _ capture: CaptureClient, from first: Float, at begin: Int, changes: [Int] = []
  ) -> [Float] {
    var changes = changes[...]
    var gaps = capture.gaps[...]
    var next = first
    return (begin..<capture.capturedFrames).map { frame in
      while let gap = gaps.first, gap.frame <= frame {
        let step = Int(Int32(bitPattern: gap.found &- gap.expected))
        if step == changes.first {
          changes = changes.dropFirst()
        } else if gap.frame > begin {
          next += Float(step)
        }
        gaps = gaps.dropFirst()
      }
      defer { next += 1 }
      return next
    }
  }

  /// Guarantees: no frame is heard twice. After the return, playback continues with the frame after the
  /// last one that the queue gave to JACK. The frames given but not heard are at most the running cycle
  /// of each of the two clients.
  @Test(arguments: [false, true]) func itGoesOnWithTheNextFrame(crash: Bool) throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(2), on: server)
    defer { try? queue.dispose(afterPlaying: false) }
    let frames = 60 * jack.rate
    try enqueue((0..<(2 * frames)).map { Float($0 / 2 + 1) }, in: queue)
    _ = try queue.prime(frames: 0)
    var capture: CaptureClient! = try CaptureClient(
      on: jack, channels: 2, capacity: 20 * jack.rate)
    // Change the connections by hand: add one, remove one.
    for channel in 1...2 { try capture.connect("player:out_\(channel)", toInput: channel) }
    try capture.disconnect("player:out_2", from: "system:playback_2")
    capture.arm()
    // Start later, since a connection takes effect with the next cycle.
    try queue.start(at: .frame(require(queue.deviceTime).frame + 4 * 4096))
    waitUntil { queue.statistics.lastedFrames > 5 * 4096 }
    server.end(jack, crash: crash, queue)
    let given = queue.statistics.lastedFrames
    capture.disarm()
    let before = Array(sound(capture))
    capture = nil
    expectTrue(queue.isRunning)
    #expect(throws: QueueError.invalidated) { try queue.start() }

    try jack.start()
    capture = try CaptureClient(on: jack, channels: 2, capacity: 20 * jack.rate)
    capture.arm()
    try require(capture.wait(untilFrames: 1))
    server.open()
    waitUntil { !queue.isLost }
    let heardUntil = capture.capturedFrames
    try require(capture.wait(untilFrames: heardUntil + 4 * 4096))
    capture.disarm()
    let after = Array(sound(capture).prefix(4 * 4096))
    expectEqual(after.first, Float(given + 1))
    expectTrue(after == after.indices.map { Float(given + 1) + Float($0) } || capture.xruns > 0)
    expectEqual(sound(capture, channel: 1).first, after.first)
    let last = Int64(before.last ?? 0)
    expectTrue(last > 0 && last <= given && given - last <= 2 * 4096)
    expectEqual(before.first, 1)

    expectEqual(capture.ports(matching: "^player:"), ["player:out_1", "player:out_2"])
    expectEqual(
      Set(capture.connections(of: "player:out_1")), ["system:playback_1", "capture:in_1"])
    expectEqual(capture.connections(of: "player:out_2"), ["capture:in_2"])
    expectEqual(queue.statistics.clientName, "player")
    expectEqual(queue.statistics.restarts, 1)
  }

  /// Collects the buffers of a recording queue and enqueues each again.
  private final class Take: @unchecked Sendable {
    private let lock = NSLock()
    private var memory: [UInt32: QueueBuffer] = [:]
    private var _pieces: [(recording: Recording, samples: [Float])] = []
    var pieces: [(recording: Recording, samples: [Float])] { lock.withLock { _pieces } }
    var frames: Int { pieces.reduce(0) { $0 + $1.samples.count } }

    func add(_ queue: InputQueue, _ recording: Recording) {
      lock.withLock {
        guard let data = memory[recording.buffer]?.data, recording.frames > 0 else { return }
        let samples = Array(data.bindMemory(to: Float.self).prefix(recording.frames))
        _pieces.append((recording, samples))
      }
      try? queue.enqueue(recording.buffer)
    }

    func enqueue(_ count: Int, frames: Int, in queue: InputQueue) throws {
      for _ in 0..<count {
        let buffer = try queue.allocateBuffer(capacity: frames * 4)
        lock.withLock { memory[buffer.id] = buffer }
        try queue.enqueue(buffer.id)
      }
    }
  }

  /// A recording resumes by itself with the same connection. It loses only what was played while the
  /// server was gone, and its times show the length of the gap.
  @Test(arguments: [(true, 48000), (false, 48000), (true, 44100)])
  func aRecordingGoesOn(crash: Bool, rate: Int) throws {
    let jack = try JackDaemon(period: 1024)
    defer { jack.stop() }
    let server = GatedServer(jack)
    var emitter: Emitter? = try Emitter(on: jack, channels: 1)
    let take = Take()
    let queue = try InputQueue(
      .float(1),
      options: InputQueue.Options(clientName: "recorder", connections: .ports(["emitter:out_1"])),
      server: server, callingBackOn: .ownThread,
      InputQueue.Handlers(
        bufferDone: { queue, recording in take.add(queue, recording) }, changed: { _, _ in }))
    defer { try? queue.dispose(atOnce: true) }
    try take.enqueue(10, frames: 4800, in: queue)
    try queue.start()
    waitUntil { take.frames >= 2 * 4800 }
    server.end(jack, crash: crash) { queue.state.read { $0.isLost } }
    waitUntil { queue.isLost }
    let gone = HostTime.now
    emitter = nil
    usleep(1_000_000)
    let begun = HostTime.now
    try jack.start(rate: rate)
    emitter = try Emitter(on: jack, channels: 1)
    server.open()
    waitUntil { !queue.isLost }
    // A buffer from before the loss may arrive after it is known.
    func pieces(after isAfter: Bool) -> [(recording: Recording, samples: [Float])] {
      take.pieces.filter { ($0.recording.hostTime >= begun) == isAfter }
    }
    waitUntil { pieces(after: true).count > 2 }
    let over = HostTime.now
    try queue.stop(atOnce: true)
    let (before, after) = (pieces(after: false), pieces(after: true))
    for pieces in [before, after] {
      for (samples, recording) in pieces.map({ ($0.samples, $0.recording) }) {
        // At another rate, the samples are interpolated.
        if rate == 48000 {
          expectTrue(zip(samples, samples.dropFirst()).allSatisfy { $1 == $0 + 1 })
        } else {
          expectTrue(samples.contains { $0 != 0 }, "from \(recording.startFrame)")
        }
      }
      for (a, b) in zip(pieces, pieces.dropFirst()) {
        // Cycles missed on a busy machine fall between two buffers, and the times show their number.
        let missed = b.recording.startFrame - a.recording.startFrame - Int64(a.recording.frames)
        expectTrue(missed >= 0)
        if rate == 48000 {
          let last = try require(a.samples.last)
          expectEqual(b.samples.first, last + Float(missed + 1))
        }
      }
    }
    let (last, first) = try (require(before.last).recording, require(after.first).recording)
    expectTrue(first.startFrame > last.startFrame + Int64(last.frames))
    expectTrue(queue.statistics.lostFrames > 0 && queue.statistics.underruns == 0)
    expectEqual(queue.discontinuities.restarts, 1)
    withExtendedLifetime(emitter) {}
    // The gap is longer than the time without a server, and shorter than the time from the last buffer to now,
    // but for half a second: JACK's clock runs behind on a busy machine.
    let seconds = Double(first.startFrame - last.startFrame) / 48000
    expectTrue(seconds > Double(begun - gone) / 1e9 - 0.5)
    expectTrue(seconds < Double(over) / 1e9 - Double(last.hostTime) / 1e9 + 0.5)
  }

  @Test func itReturnsTimeAndAgain() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(1), on: server)
    defer { try? queue.dispose(afterPlaying: false) }
    try enqueue(ramp(3000), in: queue)
    try queue.start()
    var position = 0.0
    for round in 1...5 {
      waitUntil { (queue.currentFrame ?? 0) > position + 4096 }
      server.end(jack, crash: round % 2 == 0, queue)
      let given = Double(queue.statistics.lastedFrames)
      expectTrue(given > position)
      position = given
      try jack.start()
      server.open()
      waitUntil { !queue.isLost }
      expectTrue((queue.currentFrame ?? 0) >= position)
      expectEqual(queue.statistics.restarts, UInt64(round))
      expectEqual(queue.statistics.clientName, "player")
    }
    let viewer = try CaptureClient(on: jack, capacity: 0)
    expectEqual(
      viewer.connections(of: "player:out_1"), ["system:playback_1", "system:playback_2"])
  }

  @Test func aPausedQueueReturnsPaused() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(1), on: server)
    defer { try? queue.dispose(afterPlaying: false) }
    try enqueue(ramp(20 * jack.rate), in: queue)
    try queue.start()
    waitUntil { (queue.currentFrame ?? 0) > 4096 }
    try queue.pause()
    let position = try require(queue.currentFrame)
    server.end(jack, crash: true, queue)
    try jack.start()
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 20 * jack.rate)
    server.open()
    waitUntil { !queue.isLost }
    try capture.connect("player:out_1", toInput: 1)
    capture.arm()
    try require(capture.wait(untilFrames: 3 * 4096))
    expectEqual(queue.currentFrame, position)
    try queue.start()
    waitUntil { (queue.currentFrame ?? 0) > position + 3 * 4096 }
    capture.disarm()
    expectEqual(sound(capture).first, Float(position + 1))
  }

  @Test func whatWasDisposedOfDoesNotReturn() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(1), on: server)
    try enqueue(ramp(20 * jack.rate), in: queue)
    try queue.start()
    waitUntil { (queue.currentFrame ?? 0) > 4096 }
    server.end(jack, crash: true, queue)
    try queue.dispose(afterPlaying: false)
    try jack.start()
    server.open()
    let viewer = try CaptureClient(on: jack, capacity: 0)
    // Longer than a return takes.
    usleep(1_500_000)
    expectEqual(viewer.ports(matching: "^player:"), [])
  }

  @Test(arguments: [(44100, 1024), (96000, 8192)])
  func anotherRateAndPeriod(rate: Int, period: Int) throws {
    let wrong = try unlessBusy(patience: 0.01) { try playOver(rate: rate, period: period) }
    expectNil(wrong)
  }

  /// Plays a sine over the return of a server with another rate and period.
  ///
  /// - Returns: How it sounds wrong; nil if it is right.
  private func playOver(rate: Int, period: Int) throws -> String? {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(1), on: server)
    defer { try? queue.dispose(afterPlaying: false) }
    let first = jack.rate
    func sine(_ seconds: Double) -> Double { cos(2 * .pi * 441 * seconds) }
    try enqueue((0..<(30 * first)).map { Float(sine(Double($0) / Double(first))) }, in: queue)
    try queue.start()
    waitUntil { (queue.currentFrame ?? 0) > 3 * 4096 }
    server.end(jack, crash: true, queue)
    let given = Double(queue.statistics.lastedFrames) / Double(first)
    try jack.start(rate: rate, period: period)
    let capture = try CaptureClient(on: jack, channels: 2, capacity: 20 * rate)
    server.open()
    waitUntil { !queue.isLost }
    try expectEqual(queue.deviceSampleRate(), Double(rate))
    try capture.connect("player:out_1", toInput: 1)
    capture.arm()
    try require(capture.wait(untilFrames: rate))
    // The queue's clock tells when each frame is heard.
    let reading = queue.memory.voice.pointee.clock.read()
    capture.disarm()
    expectTrue(Double(reading.position) / Double(rate) > given)
    let origin = reading.frame - reading.position
    let samples = capture.samples(channel: 0)
    let begin = Int(UInt32(truncatingIfNeeded: origin) &- capture.firstFrame)
    let gap = capture.gaps.first?.frame ?? samples.count
    let frames = (0..<min(gap, samples.count)).drop { samples[$0] == 0 }.dropFirst(600)
    guard frames.count > rate / 4 else { return "\(frames.count) frames are heard" }
    // Positions are whole frames at the new rate.
    let most = 2 * .pi * 441 / Double(rate)
    let wrong = frames.first {
      let seconds = Double($0 - Int(Int32(truncatingIfNeeded: begin))) / Double(rate)
      return abs(Double(samples[$0]) - sine(seconds)) >= most
    }
    return wrong.map {
      "frame \($0) of \(frames.count) is \(samples[$0]); starvations: \(queue.statistics.starvations)"
    }
  }

  @Test func anotherPeriodIsNothing() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let queue = try makeQueue(.float(1), on: server)
    defer { try? queue.dispose(afterPlaying: false) }
    try enqueue(ramp(60 * jack.rate), in: queue)
    _ = try queue.prime(frames: 0)
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 20 * jack.rate)
    try capture.connect("player:out_1", toInput: 1)
    capture.arm()
    try require(capture.wait(untilFrames: 1))
    try queue.start()
    let periods = [4096, 1024, 8192, 4096]
    for period in periods.dropFirst() {
      let frames = capture.capturedFrames
      try require(capture.wait(untilFrames: frames + 3 * 8192))
      try capture.setPeriod(period)
    }
    let frames = capture.capturedFrames
    try require(capture.wait(untilFrames: frames + 3 * 8192))
    capture.disarm()
    expectTrue(!queue.isLost && queue.statistics.restarts == 0)
    // On a change, JACK's counter advances by the new period, but no time is lost.
    let changes = zip(periods, periods.dropFirst()).map { $1 - $0 }
    let samples = sound(capture)
    let expected = heard(capture, from: 1, at: samples.startIndex, changes: changes)
    let wrong = zip(samples, expected).count { $0 != $1 }
    expectTrue(wrong == 0 && !samples.isEmpty, "\(capture.gaps)")
  }

  @Test("19: the first pan gives one channel its second port, and neither side clicks")
  func secondPort() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = GatedServer(jack)
    let capture = try CaptureClient(on: jack, channels: 2, capacity: 20 * jack.rate)
    let queue = try makeQueue(
      .float(1), on: server, connections: .ports(["capture:in_1", "capture:in_2"]))
    defer { try? queue.dispose(afterPlaying: false) }
    try enqueue(ramp(60 * jack.rate), in: queue)
    capture.arm()
    try queue.start()
    waitUntil { (queue.currentFrame ?? 0) > 4096 }
    try queue.change(ParameterChanges(pan: -0.5))
    expectEqual(queue.statistics.portNames, ["out_1", "out_2"])
    // JACK reports changed connections in its next cycle.
    waitUntil { queue.statistics.connections == [["capture:in_1"], ["capture:in_2"]] }
    expectEqual(capture.connections(of: "player:out_1"), ["capture:in_1"])
    expectEqual(capture.connections(of: "player:out_2"), ["capture:in_2"])
    let frames = capture.capturedFrames
    try require(capture.wait(untilFrames: frames + 3 * 4096))
    capture.disarm()
    // The left channel is unchanged. From one frame on, the right channel has half the amplitude.
    let left = capture.samples(channel: 0)
    let right = capture.samples(channel: 1)
    let begin = try require(left.firstIndex { $0 != 0 })
    expectEqual(
      Array(left[begin...]), heard(capture, from: left[begin], at: begin), "\(capture.gaps)")
    let turn = try require(left.indices.first { $0 > begin && right[$0] != left[$0] })
    expectEqual(Array(right[..<turn]), Array(left[..<turn]))
    expectEqual(Array(right[turn...]), left[turn...].map { $0 / 2 })
  }
}
