import AudioQueue
import Foundation
import RealTime
import Server
import System
import TestSupport

/// Cost of a number of queues on one client.
struct QueueCost: Row {
  var queues: Int
  /// A cycle of all queues, driven by hand, compared with a copy of the bytes that it reads.
  var cycle: CycleCost.Comparison
  /// Measurement on a running server.
  var playing: PlayingQueues
  /// Cost that each queue adds, compared with the previous row.
  var each: Each?

  struct Each: Codable {
    var cycleNanoseconds: Double
    var copyNanoseconds: Double
    var processorMicroseconds: Double
    var proportionalKilobytes: Double
    var residentKilobytes: Double
    /// The part of it that the app requested: its buffers.
    var bufferKilobytes: Double
  }

  /// Frames per hand-driven cycle, and per cycle of the server.
  static let handDrivenPeriod = 256
  static let period = 1024

  static func all(_ effort: Effort, found: (QueueCost) -> Void) throws {
    progress("queues: their cycles, driven by hand")
    let cycles = try handDriven(effort.queues, effort)
    let server = try JackDaemon(
      rate: 48000, period: period, maximumPorts: 4 + 2 * (effort.queues.max() ?? 0) + 64)
    defer { server.stop() }
    var last: QueueCost?
    for (count, cycle) in zip(effort.queues, cycles) {
      progress("queues: \(count) play for \(effort.queueSeconds) s")
      let playing = try PlayingQueues.measured(
        count, on: server, seconds: effort.queueSeconds)
      var cost = QueueCost(queues: count, cycle: cycle, playing: playing)
      if let last {
        func slope(_ value: (QueueCost) -> Double) -> Double {
          (value(cost) - value(last)) / Double(count - last.queues)
        }
        cost.each = Each(
          cycleNanoseconds: slope(\.cycle.cycleNanoseconds.median),
          copyNanoseconds: slope(\.cycle.copyNanoseconds),
          processorMicroseconds: slope { 1000 * $0.playing.processorMilliseconds.median },
          proportionalKilobytes: slope(\.playing.proportionalKilobytes),
          residentKilobytes: slope(\.playing.residentKilobytes),
          bufferKilobytes: slope(\.playing.bufferKilobytes))
      }
      last = cost
      found(cost)
    }
  }

  private static func handDriven(_ counts: [Int], _ effort: Effort) throws
    -> [CycleCost.Comparison]
  {
    let sets = counts.map { Queues($0, PlayingQueues.format, period: handDrivenPeriod) }
    var times = counts.map { _ in (played: [Double](), copied: [Double]()) }
    let most = effort.framesPerRound / handDrivenPeriod
    for _ in 0..<effort.rounds {
      for (i, set) in sets.enumerated() {
        let cycles = max(4, most / counts[i])
        set.fill(cycles: cycles)
        times[i].played.append(CycleCost.nanoseconds(of: cycles, set.play))
        times[i].copied.append(CycleCost.nanoseconds(of: cycles, set.copy))
      }
    }
    guard sets.allSatisfy(\.haveAllPlayed) else { throw SupportError("queues did not play") }
    return times.map { CycleCost.Comparison($0.played, $0.copied) }
  }
}

/// Resources used by a process in which queues played through one client of a server.
struct PlayingQueues: Codable {
  /// Growth of the process's memory from before the first queue to the end. The proportional set
  /// size counts only its share of pages used by several processes; the resident set size counts
  /// them in full.
  var proportionalKilobytes: Double
  var residentKilobytes: Double
  /// The part of it that the app requested: its buffers.
  var bufferKilobytes: Double
  /// Processor time of the process per second of sound, in user and kernel mode: that of each second.
  var processorMilliseconds: Spread
  /// Callbacks that returned a buffer to the app, per second of sound.
  var callbacks: Double
  var threads: Int
  /// Frames of silence because a queue had run dry; sum of all queues.
  var starvedFrames: UInt64
  var xruns: UInt64

  static let format = PCMFormat(sampleRate: 48000, channels: 1, kind: .float, bitsPerSample: 32)
  /// Buffers of each queue, and their size.
  static let buffers = 3
  static let framesPerBuffer = 4096

  /// Measures in a separate process, because earlier work of this one would show in its memory.
  static func measured(_ count: Int, on server: JackDaemon, seconds: Int) throws -> PlayingQueues {
    let result = try TestSupport.run(
      builtProduct(named: "cuejack-bench").path,
      ["--playing", "\(count)", "--playing-seconds", "\(seconds)"],
      environment: ["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"],
      timeout: 300 + Double(seconds))
    guard result.status == 0 else {
      throw SupportError("\(count) queues did not play: \(result.errors.suffix(1000))")
    }
    return try JSONDecoder().decode(PlayingQueues.self, from: Data(result.output.utf8))
  }

  /// Plays on the default server, in this process.
  init(_ count: Int, seconds: Int) throws {
    let callbacks = Counter()
    let before = Memory()
    var queues: [OutputQueue] = []
    defer { for queue in queues { try? queue.dispose(afterPlaying: false) } }
    for _ in 0..<count {
      let queue = try OutputQueue(
        Self.format,
        options: OutputQueue.Options(
          clientName: "bench", connections: .ports(["system:playback_1"])),
        server: JackServer(), callingBackOn: .ownThread,
        OutputQueue.Handlers(
          bufferDone: { queue, id in
            callbacks.add()
            try? queue.enqueue(id, bytes: Self.framesPerBuffer * Self.format.bytesPerFrame)
          }, changed: { _, _ in }))
      queues.append(queue)
      if queues.count > 1 { try queue.setDeviceUID(queues[0].deviceUID) }
      for _ in 0..<Self.buffers {
        let buffer = try queue.allocateBuffer(
          capacity: Self.framesPerBuffer * Self.format.bytesPerFrame)
        buffer.data.bindMemory(to: Float.self).update(repeating: 0.25)
        try queue.enqueue(buffer.id, bytes: buffer.capacity)
      }
      _ = try queue.prime(frames: 0)
    }
    for queue in queues { try queue.start() }
    // Once every buffer has been played, all the memory that they need is resident.
    try Self.wait("not every queue plays") {
      callbacks.value >= UInt64(count * Self.buffers) && queues.allSatisfy(\.isRunning)
    }
    guard let first = queues.first, let began = first.deviceTime else {
      throw SupportError("the server is gone")
    }
    let starved = queues.map(\.statistics.starvedFrames).reduce(0, +)
    let xrunsBefore = first.statistics.xruns
    let callbacksBefore = callbacks.value
    var processor: [Double] = []
    var (frame, took) = (began.frame, Self.processorSeconds)
    for second in 1...seconds {
      try Self.wait("the server stands still") {
        (first.deviceTime?.frame ?? 0) - began.frame >= Int64(second * 48000)
      }
      let (nextFrame, next) = (first.deviceTime?.frame ?? 0, Self.processorSeconds)
      guard nextFrame > frame else { throw SupportError("the server is gone") }
      processor.append(1000 * (next - took) * 48000 / Double(nextFrame - frame))
      (frame, took) = (nextFrame, next)
    }
    let sound = Double(frame - began.frame) / 48000
    processorMilliseconds = Spread(processor)
    self.callbacks = Double(callbacks.value - callbacksBefore) / sound
    let after = Memory()
    proportionalKilobytes = after.proportional - before.proportional
    residentKilobytes = after.resident - before.resident
    bufferKilobytes =
      Double(count * Self.buffers * Self.framesPerBuffer * Self.format.bytesPerFrame) / 1024
    threads =
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    starvedFrames = queues.map(\.statistics.starvedFrames).reduce(0, +) - starved
    xruns = first.statistics.xruns - xrunsBefore
  }

  private static func wait(_ failure: String, until isThere: () -> Bool) throws {
    let deadline = HostTime.now + 120_000_000_000
    while !isThere() {
      if HostTime.now > deadline { throw SupportError(failure) }
      usleep(50_000)
    }
  }

  private static var processorSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var count: UInt64 = 0
    var value: UInt64 { lock.withLock { count } }
    func add() { lock.withLock { count += 1 } }
  }

  /// Memory of this process in kilobytes, as the kernel reports it.
  private struct Memory {
    let resident: Double
    let proportional: Double

    init() {
      let facts = text(of: URL(fileURLWithPath: "/proc/self/smaps_rollup"))
      func kilobytes(_ pattern: Regex<(Substring, Substring)>) -> Double {
        facts.firstMatch(of: pattern).flatMap { Double($0.output.1) } ?? 0
      }
      resident = kilobytes(#/(?m)^Rss:\s*(\d+) kB/#)
      proportional = kilobytes(#/(?m)^Pss:\s*(\d+) kB/#)
    }
  }
}

extension QueueCost {
  static func head(_ effort: Effort) -> [String] {
    let buffers = "\(PlayingQueues.buffers) × \(PlayingQueues.framesPerBuffer) frames"
    return [
      "",
      "Queues of 32-bit floats, one channel, 48 kHz, on one client: a cycle of \(handDrivenPeriod)"
        + " frames, driven by hand, against a copy;",
      "a process on a server with cycles of \(period) frames, with buffers of \(buffers) that are"
        + " enqueued again in the callback",
      "",
      left("", 6) + right("a cycle, for each queue", 25) + right("", 17)
        + right("in a second of sound", 26) + right("", 20) + "   memory since before the first",
      "queues" + right("cycle", 25) + "      copy  ratio" + right("processor", 26)
        + "  callbacks  threads       PSS       RSS   buffers    starved  xruns",
    ]
  }

  func lines(after rows: [QueueCost]) -> [String] {
    let count = Double(queues)
    return [
      left("\(queues)", 6) + cycle.columns(ofOneIn: count)
        + right("\(playing.processorMilliseconds.text(1)) ms", 26)
        + right(number(playing.callbacks, 0), 11) + right("\(playing.threads)", 9)
        + megabytes(playing.proportionalKilobytes) + megabytes(playing.residentKilobytes)
        + megabytes(playing.bufferKilobytes)
        + right("\(playing.starvedFrames)", 11) + right("\(playing.xruns)", 7)
    ]
  }

  static func plots(_ rows: [QueueCost]) -> [Plot] {
    [
      Plot(
        name: "queues-cycle", title: "A cycle of 256 frames, driven by hand", x: "queues",
        y: "nanoseconds",
        [
          Plot.Curve("cycle", rows) { (Double($0.queues), $0.cycle.cycleNanoseconds.median) },
          Plot.Curve("copy of its bytes", rows) {
            (Double($0.queues), $0.cycle.copyNanoseconds)
          },
        ]),
      Plot(
        name: "queues-processor", title: "Processor time for a second of sound", x: "queues",
        y: "milliseconds",
        [
          Plot.Curve("one client", rows) {
            (Double($0.queues), $0.playing.processorMilliseconds.median)
          }
        ]),
      Plot(
        name: "queues-memory", title: "Memory since before the first queue", x: "queues",
        y: "kilobytes",
        [
          Plot.Curve("all", rows) { (Double($0.queues), $0.playing.proportionalKilobytes) },
          Plot.Curve("buffers", rows) { (Double($0.queues), $0.playing.bufferKilobytes) },
        ]),
    ]
  }

  static func tail(_ rows: [QueueCost]) -> [String] {
    let head = [
      "", "What each queue adds, and its memory beyond its buffers",
      "",
      "queues          cycle      copy  ratio   processor       PSS       RSS   buffers  beyond (PSS)",
    ]
    return head
      + zip(rows, rows.dropFirst()).compactMap { last, row in
        row.each.map { left("\(last.queues) to \(row.queues)", 10) + $0.columns }
      }
  }
}

extension QueueCost.Each {
  fileprivate var columns: String {
    right("\(number(cycleNanoseconds, 1)) ns", 11)
      + right("\(number(copyNanoseconds, 1)) ns", 10)
      + right(copyNanoseconds > 0 ? number(cycleNanoseconds / copyNanoseconds, 2) : "-", 7)
      + right("\(number(processorMicroseconds, 1)) µs", 12)
      + kilobytes(proportionalKilobytes) + kilobytes(residentKilobytes)
      + kilobytes(bufferKilobytes)
      + right("\(number(proportionalKilobytes - bufferKilobytes, 1)) kB", 14)
  }
}

private func megabytes(_ kilobytes: Double) -> String {
  right("\(number(kilobytes / 1024, 1)) MB", 10)
}
private func kilobytes(_ kilobytes: Double) -> String {
  right("\(number(kilobytes, 1)) kB", 10)
}
