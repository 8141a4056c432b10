import AudioQueue
import Files
import Foundation
import RealTime
import TestSupport

/// Cost of converting a file offline with a program: medians of several runs.
struct RenderCost: Row {
  var conversion: String
  var program: String
  /// Seconds of sound.
  var seconds: Int
  var runs: Int
  /// Processor time of the process, in user and kernel mode.
  var processorMilliseconds: Double
  /// Output frames per second of processor time.
  var framesPerSecond: Double

  private struct Conversion {
    var name: String
    var rate: Int
    var to: RenderJob
    var sox: [String]
    var ffmpeg: [String]
  }

  /// All programs do the same work: no dither, and the same resampling library at its best quality.
  private static let conversions = [
    Conversion(
      name: "s16 to f32", rate: 48000, to: RenderJob(rate: 48000, encoding: .f32),
      sox: ["-e", "floating-point", "-b", "32"], ffmpeg: ["-f", "f32le", "-c:a", "pcm_f32le"]),
    Conversion(
      name: "s16 44.1 kHz to s24 48 kHz", rate: 44100,
      to: RenderJob(rate: 48000, encoding: .s24),
      sox: ["-e", "signed-integer", "-b", "24"],
      ffmpeg: [
        "-af", "aresample=48000:resampler=soxr:precision=28", "-f", "s24le", "-c:a", "pcm_s24le",
      ]),
  ]

  static func all(_ effort: Effort, found: (RenderCost) -> Void) throws {
    try withTemporaryFolder { folder in
      for conversion in conversions {
        let seconds = effort.renderedSeconds
        let file = folder.appendingPathComponent("\(conversion.rate).wav")
        try PlayerCost.waveFile(seconds: seconds, rate: conversion.rate).write(to: file)
        let output = folder.appendingPathComponent("output.raw").path
        let effects = conversion.rate == conversion.to.rate ? [] : ["rate", "-v", "48000"]
        let programs: [(name: String, path: String, arguments: [String])] = [
          (
            "AudioQueueOfflineRender", try builtProduct(named: "cuejack-bench").path,
            [
              "--render", file.path, "--render-to", output, "--render-rate",
              "\(conversion.to.rate)", "--render-encoding", conversion.to.encoding.rawValue,
            ]
          ),
          ("sox", "sox", ["-D", file.path, "-t", "raw"] + conversion.sox + [output] + effects),
          (
            "ffmpeg", "ffmpeg",
            ["-v", "error", "-nostdin", "-threads", "1", "-y", "-i", file.path]
              + conversion.ffmpeg + [output]
          ),
        ].filter { isThere($0.1, telling: true) }
        var times = programs.map { _ in [Double]() }
        var sizes = Set<Int>()
        for run in 1...effort.runs {
          progress("renders: \(conversion.name), run \(run) of \(effort.runs)")
          for (i, program) in programs.enumerated() {
            let words = folder.appendingPathComponent("words")
            let child = try Child(program.path, program.arguments, output: words)
            guard child.wait(seconds: 300) == 0 else {
              throw SupportError("\(program.name) failed: \(text(of: words).suffix(1000))")
            }
            times[i].append(1000 * child.processorSeconds)
            let attributes = try FileManager.default.attributesOfItem(atPath: output)
            sizes.insert(attributes[.size] as? Int ?? 0)
          }
        }
        // All programs must have done the same work.
        guard sizes == [seconds * conversion.to.rate * conversion.to.format(2).bytesPerFrame] else {
          throw SupportError("\(conversion.name): files of \(sizes) bytes")
        }
        for (program, times) in zip(programs, times) {
          found(
            RenderCost(
              conversion: conversion.name, program: program.name, seconds: seconds,
              runs: times.count, processorMilliseconds: median(times),
              framesPerSecond: Double(seconds * conversion.to.rate) / median(times) * 1000))
        }
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A stereo file converted: processor time, and frames of the result in a second of it"
        + " (medians of \(effort.runs))",
      "",
      "conversion                  program                    sound   processor   frames/s   ratio",
    ]
  }

  func lines(after rows: [RenderCost]) -> [String] {
    // The ratio is that to the first program of the same conversion.
    let ours = rows.first { $0.conversion == conversion } ?? self
    return [
      left(conversion, 28) + left(program, 25) + right("\(seconds) s", 7)
        + right("\(number(processorMilliseconds, 1)) ms", 12)
        + right("\(number(framesPerSecond / 1e6, 2)) M", 11)
        + right(number(processorMilliseconds / ours.processorMilliseconds, 2), 8)
    ]
  }
}

/// The measured process: converts a file to raw samples, as an app that exports would.
struct RenderJob {
  enum Encoding: String { case f32, s24 }
  var rate: Int
  var encoding: Encoding

  func format(_ channels: Int) -> PCMFormat {
    PCMFormat(
      sampleRate: Double(rate), channels: channels,
      kind: encoding == .f32 ? .float : .signedInteger, bitsPerSample: encoding == .f32 ? 32 : 24)
  }

  private static let framesPerBuffer = 16384

  func run(_ path: String, to output: String) throws {
    let file = try SoundFile(path: path)
    let feed = Feed(file)
    let queue = try OutputQueue(
      file.format, options: OutputQueue.Options(clientName: "bench"), server: HandDrivenServer(),
      callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { queue, id in feed.fill(id, of: queue) }, changed: { _, _ in }))
    defer { try? queue.dispose(afterPlaying: false) }
    let format = format(file.format.channels)
    try queue.setOfflineFormat(format)
    try queue.start()
    let buffer = try queue.allocateBuffer(
      capacity: Self.framesPerBuffer * file.format.bytesPerFrame)
    feed.buffer = buffer
    feed.fill(buffer.id, of: queue)
    guard let stream = fopen(output, "wb") else { throw SupportError("\(output): cannot write") }
    defer { fclose(stream) }
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.framesPerBuffer * format.bytesPerFrame, alignment: 64)
    defer { memory.deallocate() }
    while case let frames = try queue.render(frames: Self.framesPerBuffer, into: memory), frames > 0
    {
      guard fwrite(memory.baseAddress, format.bytesPerFrame, frames, stream) == frames else {
        throw SupportError("\(output): no room")
      }
    }
    if let failure = feed.failure { throw failure }
  }

  /// The source of the queue's only buffer, which it refills. Everything runs on the rendering
  /// thread.
  private final class Feed: @unchecked Sendable {
    let file: SoundFile
    var buffer: QueueBuffer?
    var frame: Int64 = 0
    var failure: (any Error)?
    init(_ file: SoundFile) { self.file = file }

    func fill(_ id: UInt32, of queue: OutputQueue) {
      do {
        guard let buffer else { return }
        let count = try file.readRaw(
          startingAt: frame, frames: RenderJob.framesPerBuffer, into: buffer.data)
        frame += Int64(count)
        if count == 0 { return try queue.stopAfterPlaying() }
        try queue.enqueue(id, bytes: count * file.format.bytesPerFrame)
      } catch {
        failure = error
      }
    }
  }
}
