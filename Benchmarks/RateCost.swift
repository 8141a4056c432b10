import AVFAudio
import Foundation
import TestSupport

/// Cost of converting the sample rate of a file with a program, and the quality of what comes out.
struct RateCost: Row {
  var conversion: String
  var program: String
  var runs: Int
  /// Processor time of the process for a stereo file, in user and kernel mode.
  var processorMilliseconds: Spread
  /// Level of a sine of 1 kHz above all else that comes out with it, in dB.
  var signalToNoise: Double
  /// The greatest frequency in kHz up to which sines change their level by 0.1 dB at most.
  var passband: Double
  /// How far a sine 1.05 or 0.95 kHz off half the lower rate, in the stop band, is below one in the pass band, in dB.
  var rejection: Double

  /// A program with the arguments that convert one file into another of floats.
  private struct Program {
    var name: String
    var path: String
    var arguments: (_ input: String, _ output: String, _ rate: Int) -> [String]
  }

  private static func programs() throws -> [Program] {
    let command = try builtProduct(named: "cuejack").path
    let ours = ["high", "max"].map { quality in
      Program(name: "cuejack convert, \(quality)", path: command) {
        ["convert", "--force", $0, $1, "--format", "f32", "--quality", quality, "--rate", "\($2)"]
      }
    }
    let others = [
      Program(name: "zita-resampler", path: "zita-resampler") {
        ["--float", "--rate", "\($2)", $0, $1]
      },
      Program(name: "sox rate -v", path: "sox") {
        ["-D", $0, "-e", "floating-point", "-b", "32", $1, "rate", "-v", "\($2)"]
      },
      Program(name: "ffmpeg, soxr", path: "ffmpeg") {
        [
          "-v", "error", "-nostdin", "-threads", "1", "-y", "-i", $0, "-af",
          "aresample=\($2):resampler=soxr:precision=28", "-c:a", "pcm_f32le", $1,
        ]
      },
    ]
    return ours + others.filter { isThere($0.path, telling: true) }
  }

  private static func seconds(_ effort: Effort) -> Int { (effort.renderedSeconds + 3) / 4 }

  static func all(_ effort: Effort, found: (RateCost) -> Void) throws {
    let programs = try programs()
    for (from, to) in [(44100, 48000), (48000, 44100)] {
      try withTemporaryFolder { folder in
        let input = folder.appendingPathComponent("long.wav")
        try PlayerCost.waveFile(seconds: seconds(effort), rate: from).write(to: input)
        let output = folder.appendingPathComponent("output.wav")
        func run(_ program: Program, _ input: URL) throws -> Double {
          try? FileManager.default.removeItem(at: output)
          let words = folder.appendingPathComponent("words")
          let child = try Child(
            program.path, program.arguments(input.path, output.path, to), output: words)
          guard child.wait(seconds: 300) == 0 else {
            throw SupportError("\(program.name) failed: \(text(of: words).suffix(1000))")
          }
          return 1000 * child.processorSeconds
        }
        // The sine in the stop band comes out at its mirror frequency: an image, or an alias.
        let stopped = from < to ? 21_000 : 23_000
        let sines = try [[1000], Tone.comb, [stopped]].enumerated().map { i, sines in
          let file = folder.appendingPathComponent("sines \(i).wav")
          try Tone(sines, rate: from).write(to: file)
          return file
        }
        var times = programs.map { _ in [Double]() }
        for turn in 1...effort.runs {
          progress("rates: \(from) to \(to) Hz, run \(turn) of \(effort.runs)")
          for (i, program) in programs.enumerated() { times[i].append(try run(program, input)) }
        }
        for (i, program) in programs.enumerated() {
          let tones = try sines.map { file in
            _ = try run(program, file)
            return try Tone(secondIn: output)
          }
          let passed = Tone.comb.prefix {
            abs(decibels(tones[1].power(of: $0) / Tone.power(ofOneOf: Tone.comb.count))) <= 0.1
          }
          found(
            RateCost(
              conversion: "\(from) to \(to) Hz", program: program.name, runs: times[i].count,
              processorMilliseconds: Spread(times[i]),
              signalToNoise: decibels(tones[0].power(of: 1000) / tones[0].powerBeside(1000)),
              passband: Double(passed.last ?? 0) / 1000,
              rejection: decibels(
                Tone.power(ofOneOf: 1) / tones[2].power(of: 44_100 - stopped))))
        }
      }
    }
  }

  /// A ratio of powers in dB, up to 200, which is beyond what floats tell.
  private static func decibels(_ ratio: Double) -> Double { min(10 * log10(ratio), 200) }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "The sample rate of a stereo file of \(seconds(effort)) s converted: processor time (medians of"
        + " \(effort.runs), least and greatest), and what the program does to sines",
      "",
      left("conversion", 19) + left("program", 23) + right("processor", 26) + right("SNR", 12)
        + right("pass band", 12) + right("rejection", 12),
    ]
  }

  func lines(after rows: [RateCost]) -> [String] {
    [
      left(conversion, 19) + left(program, 23)
        + right("\(processorMilliseconds.text(0)) ms", 26)
        + right("\(number(signalToNoise, 0)) dB", 12) + right("\(number(passband, 1)) kHz", 12)
        + right("\(number(rejection, 0)) dB", 12)
    ]
  }
}

/// Two seconds of sines at whole Hz, of which the second in the middle is looked at: there, sines do not disturb each other.
private struct Tone {
  let rate: Int
  let samples: [Float]

  /// Sines around the end of the pass band.
  static let comb = Array(stride(from: 15_000, through: 22_000, by: 100))

  /// The power of each of `count` sines, together half of full scale.
  static func power(ofOneOf count: Int) -> Double { pow(0.5 / Double(count), 2) / 2 }

  init(_ sines: [Int], rate: Int) {
    self.rate = rate
    samples = (0..<2 * rate).map { frame in
      let sum = sines.reduce(0.0) { sum, hertz in
        // The place in the period is computed exactly.
        sum + sin(2 * .pi * Double(hertz * frame % rate) / Double(rate) + Double(hertz))
      }
      return Float(0.5 * sum / Double(sines.count))
    }
  }

  init(secondIn file: URL) throws {
    let file = try AVAudioFile(forReading: file)
    rate = Int(file.processingFormat.sampleRate)
    guard
      let buffer = AVAudioPCMBuffer(
        pcmFormat: file.processingFormat, frameCapacity: AVAudioFrameCount(file.length))
    else { throw SupportError("no buffer of \(file.length) frames") }
    try file.read(into: buffer)
    guard let plane = buffer.floatChannelData?[0], Int(buffer.frameLength) >= rate * 3 / 2 else {
      throw SupportError("\(file.url.path) has \(buffer.frameLength) frames")
    }
    samples = Array(UnsafeBufferPointer(start: plane + rate / 2, count: rate))
  }

  func write(to url: URL) throws {
    guard
      let format = AVAudioFormat(standardFormatWithSampleRate: Double(rate), channels: 1),
      let buffer = AVAudioPCMBuffer(
        pcmFormat: format, frameCapacity: AVAudioFrameCount(samples.count))
    else { throw SupportError("no buffer of \(samples.count) frames") }
    buffer.frameLength = buffer.frameCapacity
    buffer.floatChannelData![0].update(from: samples, count: samples.count)
    let file = try AVAudioFile(forWriting: url, settings: format.settings)
    try file.write(from: buffer)
  }

  /// Returns the power of the sine of a frequency in the samples.
  func power(of hertz: Int) -> Double {
    let (cosine, sine) = parts(hertz)
    return (cosine * cosine + sine * sine) / 2
  }

  /// Returns the power of all but that sine.
  func powerBeside(_ hertz: Int) -> Double {
    let (cosine, sine) = parts(hertz)
    let rest = samples.enumerated().reduce(0.0) { sum, at in
      let phase = phase(hertz, at.offset)
      return sum + pow(Double(at.element) - cosine * cos(phase) - sine * sin(phase), 2)
    }
    return rest / Double(samples.count)
  }

  private func parts(_ hertz: Int) -> (cosine: Double, sine: Double) {
    var (cosine, sine) = (0.0, 0.0)
    for (frame, sample) in samples.enumerated() {
      let phase = phase(hertz, frame)
      cosine += Double(sample) * cos(phase)
      sine += Double(sample) * sin(phase)
    }
    let scale = 2 / Double(samples.count)
    return (scale * cosine, scale * sine)
  }

  private func phase(_ hertz: Int, _ frame: Int) -> Double {
    2 * .pi * Double(hertz * frame % rate) / Double(rate)
  }
}
