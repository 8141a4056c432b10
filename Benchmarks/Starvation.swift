import AudioQueue
import Foundation
import RealTime
import Server
import TestSupport

/// Silence that queues played because no frames were ready, with the machine idle and with every core
/// busy. A converted queue and one at the server's rate play side by side on one server.
struct Starvation: Row {
  /// Sample rate of the queue in Hz; the server's is 48 kHz.
  var rate: Int
  /// Period of the server in frames.
  var period: Int
  /// Whether a program that never waits ran on every core.
  var isBusy: Bool
  var seconds: Int
  /// The number of times that no frames were ready, and the silent frames.
  var starvations: UInt64
  var starvedFrames: UInt64
  /// Frames that were not heard because the server ran cycles without the client.
  var unheardFrames: UInt64

  /// Buffers of each queue and their frames, typical of an app that plays a file.
  static let buffers = 4
  static let framesPerBuffer = 1024

  static func all(_ effort: Effort, found: (Starvation) -> Void) throws {
    for period in effort.starvationPeriods {
      for isBusy in [false, true] {
        progress("running dry: cycles of \(period) frames\(isBusy ? ", every core busy" : "")")
        try measure(period: period, isBusy: isBusy, effort.starvationSeconds).forEach(found)
      }
    }
  }

  private static func measure(period: Int, isBusy: Bool, _ seconds: Int) throws -> [Starvation] {
    let jack = try JackDaemon(rate: 48000, period: period)
    defer { jack.stop() }
    let queues = try [48000, 44100].map { try queue(rate: $0, on: jack) }
    defer { for queue in queues { try? queue.dispose(afterPlaying: false) } }
    for queue in queues { try queue.start() }
    guard waits(for: { queues.allSatisfy(\.isRunning) }) else {
      throw SupportError("the queues do not run")
    }
    try withBusyCores(isBusy) { Thread.sleep(forTimeInterval: Double(seconds)) }
    return zip([48000, 44100], queues).map { rate, queue in
      let statistics = queue.statistics
      return Starvation(
        rate: rate, period: period, isBusy: isBusy, seconds: seconds,
        starvations: statistics.starvations, starvedFrames: statistics.starvedFrames,
        unheardFrames: statistics.unheardFrames)
    }
  }

  /// Returns a queue that enqueues each buffer again as soon as it comes back.
  private static func queue(rate: Int, on jack: JackDaemon) throws -> OutputQueue {
    let format = PCMFormat(
      sampleRate: Double(rate), channels: 2, kind: .signedInteger, bitsPerSample: 16)
    let bytes = framesPerBuffer * format.bytesPerFrame
    let queue = try OutputQueue(
      format, options: OutputQueue.Options(clientName: "dry-\(rate)"),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { queue, id in _ = try? queue.enqueue(id, bytes: bytes) },
        changed: { _, _ in }))
    for _ in 0..<buffers {
      let buffer = try queue.allocateBuffer(capacity: bytes)
      buffer.data.bindMemory(to: Int16.self).update(repeating: 8000)
      _ = try queue.enqueue(buffer.id, bytes: bytes)
    }
    return queue
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Silence because no frames were ready: \(buffers) buffers of \(framesPerBuffer) frames, 16 bits,"
        + " stereo, enqueued again",
      "when they come back; a converted queue beside one at the server's rate, 48 kHz",
      "",
      "frames  cores      queue       seconds   times   frames silent   frames not heard",
    ]
  }

  func lines(after rows: [Starvation]) -> [String] {
    [
      right("\(period)", 6) + "  " + left(isBusy ? "busy" : "idle", 9)
        + right("\(Double(rate) / 1000) kHz", 9) + right("\(seconds)", 10)
        + right("\(starvations)", 8) + right("\(starvedFrames)", 16)
        + right("\(unheardFrames)", 19)
    ]
  }

  static func tail(_ rows: [Starvation]) -> [String] {
    ["not heard: the server ran cycles without the client, because they came too late"]
  }
}
