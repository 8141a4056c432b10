import AudioQueue
import CJack
import CTestSupport
import Foundation
import RealTime
import Server
import System
import TestSupport

/// Latency from the call that enqueues a buffer on a running, dry queue to the buffer's first frame
/// at the port.
struct Latency: Row {
  var path: String
  /// Period of the server in frames, at 48 kHz.
  var period: Int
  /// Buffers that were enqueued and heard.
  var count: Int
  /// Attempts left out of the numbers: the listening client missed a cycle, or the server's next
  /// cycle was late by more than its length.
  var missed: Int
  /// In device frames. A buffer that is enqueued just before a late cycle begins may still be heard
  /// in it, so the minimum can be negative.
  var least: Int, median: Double, almostAll: Int, most: Int
  /// Comparison with a C client that was triggered at the same moment.
  var againstFloor: Comparison?

  struct Comparison: Codable {
    /// Fraction of the buffers that were heard in the same cycle as the C client.
    var sameCycle: Double
    /// Average delay in frames relative to the C client.
    var laterFrames: Double
    /// Mean latency divided by the C client's mean latency; nil if that is not above 0, as it may be after a few
    /// late cycles.
    var ratio: Double?
  }

  /// Frames of a buffer: more than the resampler takes in before its first output.
  static let framesPerBuffer = 2048

  static func all(_ effort: Effort, found: (Latency) -> Void) throws {
    for period in effort.latencyPeriods {
      progress("latency: cycles of \(period) frames, \(effort.buffers) buffers")
      try measure(period: period, count: effort.buffers).forEach(found)
    }
  }

  private static func measure(period: Int, count: Int) throws -> [Latency] {
    let jack = try JackDaemon(rate: 48000, period: period)
    defer { jack.stop() }
    let ear = try Ear(on: jack)
    let floor = try Floor(on: jack, heardBy: ear, input: 0)
    let queues = try [48000, 44100].enumerated().map { i, rate in
      try DryQueue(rate: rate, on: jack, heardBy: ear, input: i + 1)
    }
    defer { queues.forEach { $0.end() } }
    // A new clock makes large corrections at first.
    usleep(1_000_000)
    var floors = queues.map { _ in [Int]() }
    var found = floors
    var tries = queues.map { _ in 0 }
    // The number of rounds is limited, in case the machine is too busy for the period.
    for round in 0..<4 * count + 20 where found.contains(where: { $0.count < count }) {
      for (i, queue) in queues.enumerated() where found[i].count < count {
        tries[i] += 1
        // A random moment within a cycle. The order alternates, so that neither source has an
        // advantage.
        usleep(UInt32.random(in: 0..<UInt32(period * 1_000_000 / 48000)))
        let pair: [any Source] = round % 2 == 0 ? [floor, queue] : [queue, floor]
        let gaps = ear.gaps
        let moments = try pair.map { source in
          ear.listen(to: source.input)
          // One clock for both: the queue's clock is never behind the latest cycle.
          let now = try queue.now
          try source.ask()
          return now
        }
        let latencies = try zip(pair, moments).compactMap { source, moment in
          try ear.hear(source.input, unlessMissedSince: gaps).map {
            Int(Int32(bitPattern: $0 &- moment))
          }
        }
        // A cycle that is late by more than its length is not a valid measurement.
        if latencies.count == 2, ear.gaps == gaps, latencies[round % 2] >= -period {
          floors[i].append(latencies[round % 2])
          found[i].append(latencies[1 - round % 2])
        }
        for source in pair { try source.settle() }
        for source in pair { try ear.awaitSilence(of: source.input, period: period) }
      }
    }
    guard found.allSatisfy({ !$0.isEmpty }) else {
      progress("the machine is too busy for cycles of \(period) frames: they are left out")
      return []
    }
    let missed = zip(tries, found).map { $0 - $1.count }
    return [
      Latency(
        "C client, a flag", period, floors.flatMap { $0 }, missed.reduce(0, +), floor: nil)
    ]
      + queues.indices.map {
        Latency(queues[$0].path, period, found[$0], missed[$0], floor: floors[$0])
      }
  }

  private init(_ path: String, _ period: Int, _ frames: [Int], _ missed: Int, floor: [Int]?) {
    self.path = path
    self.period = period
    count = frames.count
    self.missed = missed
    let sorted = frames.sorted()
    least = sorted[0]
    median = cuejack_bench.median(frames.map(Double.init))
    almostAll = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    most = sorted[sorted.count - 1]
    guard let floor else { return }
    func mean(_ values: [Int]) -> Double { Double(values.reduce(0, +)) / Double(values.count) }
    let later = zip(frames, floor).map { $0 - $1 }
    // Differences below half a cycle count as the same cycle, because the two calls are not
    // simultaneous.
    let same = later.filter { abs($0) < period / 2 }.count
    againstFloor = Comparison(
      sameCycle: Double(same) / Double(later.count), laterFrames: mean(later),
      ratio: mean(floor) > 0 ? mean(frames) / mean(floor) : nil)
  }

  private protocol Source {
    var input: Int { get }
    func ask() throws
    /// Prepares the source for the next trigger, once the sound has been heard.
    func settle() throws
  }

  private final class Ear {
    static let name = "latency-ear"
    private let ear: OpaquePointer

    init(on jack: JackDaemon) throws {
      var status = JackStatus(rawValue: 0)
      guard let ear = cue_ear_open(jack.name, Self.name, 3, &status) else {
        throw SupportError("\(Self.name) cannot be opened: JACK status \(status.rawValue)")
      }
      self.ear = ear
    }
    deinit { cue_ear_close(ear) }

    /// How often the listening client may have missed a cycle.
    var gaps: UInt32 { cue_ear_gaps(ear) }
    func listen(to input: Int) { cue_ear_listen(ear, UInt32(input)) }
    /// Returns the JACK frame time of the first sound after `listen`; nil if it was missed.
    func hear(_ input: Int, unlessMissedSince gaps: UInt32) throws -> UInt32? {
      let patience = HostTime.now + 500_000_000
      var heard: Int64 = -1
      try wait(for: "a sound") {
        heard = cue_ear_heard(ear, UInt32(input))
        return heard >= 0 || self.gaps != gaps && HostTime.now > patience
      }
      return heard < 0 ? nil : UInt32(truncatingIfNeeded: heard)
    }
    /// Waits for a silence longer than any pause before the resampler's last frames.
    func awaitSilence(of input: Int, period: Int) throws {
      try wait(for: "silence") {
        cue_ear_silent_cycles(ear, UInt32(input)) >= UInt32(max(2, 2048 / period))
      }
    }
    private func wait(for what: String, _ isThere: () -> Bool) throws {
      let deadline = HostTime.now + 30_000_000_000
      while !isThere() {
        if HostTime.now > deadline { throw SupportError("\(Self.name) waited for \(what) in vain") }
        usleep(300)
      }
    }
  }

  private final class Floor: Source {
    private let pulse: OpaquePointer
    let input: Int

    init(on jack: JackDaemon, heardBy ear: Ear, input: Int) throws {
      var status = JackStatus(rawValue: 0)
      let port = "\(Ear.name):in_\(input + 1)"
      guard let pulse = cue_pulse_open(jack.name, "latency-floor", port, &status) else {
        throw SupportError("latency-floor cannot be opened: JACK status \(status.rawValue)")
      }
      self.pulse = pulse
      self.input = input
    }
    deinit { cue_pulse_close(pulse) }

    func ask() { cue_pulse_ask(pulse) }
    func settle() {}
  }

  private final class DryQueue: Source {
    let path: String
    let input: Int
    private let queue: OutputQueue
    private let buffer: QueueBuffer
    private let isDone = DispatchSemaphore(value: 0)
    private let isResampled: Bool

    init(rate: Int, on jack: JackDaemon, heardBy ear: Ear, input: Int) throws {
      self.input = input
      isResampled = rate != jack.rate
      path = isResampled ? "queue, resampled from \(Double(rate) / 1000) kHz" : "queue"
      let format = PCMFormat(
        sampleRate: Double(rate), channels: 1, kind: .float, bitsPerSample: 32)
      queue = try OutputQueue(
        format,
        options: OutputQueue.Options(
          clientName: "latency-\(rate)", connections: .ports(["\(Ear.name):in_\(input + 1)"])),
        server: JackServer(named: jack.name), callingBackOn: .ownThread,
        OutputQueue.Handlers(
          bufferDone: { [isDone] _, _ in isDone.signal() }, changed: { _, _ in }))
      buffer = try queue.allocateBuffer(capacity: Latency.framesPerBuffer * format.bytesPerFrame)
      buffer.data.bindMemory(to: Float.self).update(repeating: 0.5)
      try queue.start()
      let deadline = HostTime.now + 30_000_000_000
      while !queue.isRunning {
        if HostTime.now > deadline { throw SupportError("\(path): it does not run") }
        usleep(1000)
      }
    }

    func end() { try? queue.dispose(afterPlaying: false) }

    /// The current frame of the device's clock.
    var now: UInt32 {
      get throws {
        guard let time = queue.deviceTime else { throw SupportError("\(path): the server is gone") }
        return UInt32(truncatingIfNeeded: time.frame)
      }
    }
    func ask() throws { try queue.enqueue(buffer.id, bytes: buffer.data.count) }
    func settle() throws {
      guard isDone.wait(timeout: .now() + 30) == .success else {
        throw SupportError("\(path): the buffer does not come back")
      }
      // Frames that remain in the resampler would precede the next buffer.
      if isResampled { try queue.flush() }
    }
  }
}

extension Latency {
  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "From enqueuing on a running, dry queue (buffers of \(framesPerBuffer) frames) to the port"
        + " of a server at 48 kHz;",
      "a C client asked at the same moment, with one atomic flag, is the floor",
      "",
      "                                                           frames                        periods"
        + "                 against the C client",
      "frames  path                             count  missed     min  median    99 %     max"
        + "    min  median  99 %   max    same cycle   later  ratio",
    ]
  }

  func lines(after rows: [Latency]) -> [String] {
    func periods(_ frames: Double) -> String { number(frames / Double(period), 2) }
    var line = right("\(period)", 6) + "  " + left(path, 32) + right("\(count)", 6)
    line += right("\(missed)", 8)
    line += right("\(least)", 8) + right(number(median, 1), 8)
    line += right("\(almostAll)", 8) + right("\(most)", 8)
    line += right(periods(Double(least)), 7) + right(periods(median), 8)
    line += right(periods(Double(almostAll)), 6) + right(periods(Double(most)), 6)
    if let floor = againstFloor {
      line += right("\(number(100 * floor.sameCycle, 1)) %", 14)
      line += right(number(floor.laterFrames, 1), 8)
      line += right(floor.ratio.map { number($0, 3) } ?? "-", 7)
    }
    return [line]
  }

  static func tail(_ rows: [Latency]) -> [String] {
    [
      "missed: the server was late by more than a cycle, for all of its clients; not in the numbers"
    ]
  }
}
