import AudioQueue
import Files
import Foundation
import PluginHost
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
  var processorMilliseconds: Spread
  /// Output frames per second of processor time.
  var framesPerSecond: Double

  /// The plugin of the last conversion.
  private static let plugin = "http://drobilla.net/plugins/mda/Ambience"

  /// A program that does a conversion, and its arguments.
  private struct Program {
    var name: String
    var path: String
    var arguments: (_ input: String, _ output: String) -> [String]
    /// Extension of what it writes: raw samples, or WAVE.
    var kind = "raw"
  }

  private struct Conversion {
    var name: String
    /// Sample rate of the file to convert, and format of the result. Both are stereo.
    var rate: Int
    var to: RenderJob
    var programs: [Program]
  }

  /// All programs do the same work: no dither, and the same resampling library at its best quality.
  private static func conversions() throws -> [Conversion] {
    let (bench, command) = (
      try builtProduct(named: "cuejack-bench").path, try builtProduct(named: "cuejack").path
    )
    func queue(_ job: RenderJob) -> Program {
      Program(name: "AudioQueueOfflineRender", path: bench) {
        [
          "--render", $0, "--render-to", $1, "--render-rate", "\(job.rate)", "--render-encoding",
          job.encoding.rawValue,
        ]
      }
    }
    func convert(_ arguments: [String]) -> Program {
      Program(
        name: "cuejack convert", path: command,
        arguments: { ["convert", "--force", $0, $1] + arguments }, kind: "wav")
    }
    func sox(_ options: [String], _ effects: [String] = []) -> Program {
      Program(name: "sox", path: "sox") { ["-D", $0, "-t", "raw"] + options + [$1] + effects }
    }
    func ffmpeg(_ options: [String]) -> Program {
      Program(name: "ffmpeg", path: "ffmpeg") {
        ["-v", "error", "-nostdin", "-threads", "1", "-y", "-i", $0] + options + [$1]
      }
    }
    let float = RenderJob(rate: 48000, encoding: .f32)
    let wide = RenderJob(rate: 48000, encoding: .s24)
    return [
      Conversion(
        name: "s16 to f32", rate: 48000, to: float,
        programs: [
          queue(float), convert(["--format", "f32"]), sox(["-e", "floating-point", "-b", "32"]),
          ffmpeg(["-f", "f32le", "-c:a", "pcm_f32le"]),
        ]),
      Conversion(
        name: "s16 44.1 kHz to s24 48 kHz", rate: 44100, to: wide,
        programs: [
          queue(wide), convert(["--format", "s24", "--rate", "48000"]),
          sox(["-e", "signed-integer", "-b", "24"], ["rate", "-v", "48000"]),
          ffmpeg([
            "-af", "aresample=48000:resampler=soxr:precision=28", "-f", "s24le", "-c:a",
            "pcm_s24le",
          ]),
        ]),
      Conversion(
        name: "s16 through mda Ambience", rate: 48000, to: RenderJob(rate: 48000, encoding: .s16),
        programs: [
          Program(
            name: "cuejack play --render", path: command,
            arguments: { ["play", $0, "--plugin", plugin, "--render", $1, "--force"] }, kind: "wav"),
          Program(
            name: "lv2file", path: "lv2file", arguments: { ["-i", $0, "-o", $1, plugin] },
            kind: "wav"
          ),
          // The values are the defaults of the plugin.
          Program(
            name: "ecasound", path: "setsid",
            arguments: {
              ["ecasound", "-q", "-f:s16_le,2,48000", "-i", $0, "-o", $1]
                + ["-elv2:\(plugin),0.7,0.7,0.9,0.5"]
            }, kind: "wav"),
        ]),
    ]
  }

  static func all(_ effort: Effort, found: (RenderCost) -> Void) throws {
    try withTemporaryFolder { folder in
      // The programs find one bundle: to look at all that are installed takes long.
      let bundles = try HostedRow.bundles(
        of: PluginRow(
          "ambience", [ChainPlugin(uri: plugin)], channels: 2,
          in: World()), in: folder)
      let environment = ProcessInfo.processInfo.environment.merging([
        "LV2_PATH": bundles, "XDG_CACHE_HOME": folder.path,
      ]) { $1 }
      for conversion in try conversions() {
        let seconds = effort.renderedSeconds
        let file = folder.appendingPathComponent("\(conversion.rate).wav")
        try PlayerCost.waveFile(seconds: seconds, rate: conversion.rate).write(to: file)
        let programs = conversion.programs.filter {
          isThere($0.path == "setsid" ? $0.name : $0.path, telling: true)
        }
        let bytes = seconds * conversion.to.rate * conversion.to.format(2).bytesPerFrame
        var times = programs.map { _ in [Double]() }
        for run in 1...effort.runs {
          progress("renders: \(conversion.name), run \(run) of \(effort.runs)")
          for (i, program) in programs.enumerated() {
            let words = folder.appendingPathComponent("words")
            let output = folder.appendingPathComponent("output.\(program.kind)").path
            // ecasound would write into it, and others would spend time to truncate it.
            try? FileManager.default.removeItem(atPath: output)
            let child = try Child(
              program.path, program.arguments(file.path, output), environment: environment,
              output: words)
            guard child.wait(seconds: 300) == 0 else {
              throw SupportError("\(program.name) failed: \(text(of: words).suffix(1000))")
            }
            times[i].append(1000 * child.processorSeconds)
            let attributes = try FileManager.default.attributesOfItem(atPath: output)
            let size = attributes[.size] as? Int ?? 0
            // All programs must have done the same work. A file's head takes a few bytes more.
            guard (0..<4096).contains(size - bytes) else {
              throw SupportError("\(conversion.name), \(program.name): a file of \(size) bytes")
            }
          }
        }
        for (program, times) in zip(programs, times) {
          found(
            RenderCost(
              conversion: conversion.name, program: program.name, seconds: seconds,
              runs: times.count, processorMilliseconds: Spread(times),
              framesPerSecond: Double(seconds * conversion.to.rate) / median(times) * 1000))
        }
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A stereo file converted: processor time, and frames of the result in a second of it"
        + " (medians of \(effort.runs), least and greatest)",
      "",
      "conversion                  program                    sound" + right("processor", 25)
        + "   frames/s   ratio",
    ]
  }

  func lines(after rows: [RenderCost]) -> [String] {
    // The ratio is that to the first program of the same conversion.
    let ours = rows.first { $0.conversion == conversion } ?? self
    return [
      left(conversion, 28) + left(program, 25) + right("\(seconds) s", 7)
        + right("\(processorMilliseconds.text(1)) ms", 25)
        + right("\(number(framesPerSecond / 1e6, 2)) M", 11)
        + right(number(processorMilliseconds.median / ours.processorMilliseconds.median, 2), 8)
    ]
  }
}

/// The measured process: converts a file to raw samples, as an app that exports would.
struct RenderJob {
  enum Encoding: String {
    case s16, s24, f32
    var bits: Int {
      switch self {
      case .s16: 16
      case .s24: 24
      case .f32: 32
      }
    }
  }
  var rate: Int
  var encoding: Encoding

  func format(_ channels: Int) -> PCMFormat {
    PCMFormat(
      sampleRate: Double(rate), channels: channels,
      kind: encoding == .f32 ? .float : .signedInteger,
      bitsPerSample: encoding.bits)
  }

  private static let framesPerBuffer = 65536

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
