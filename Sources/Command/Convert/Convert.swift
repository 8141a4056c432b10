import ArgumentParser
import Codecs
import Files
import Glibc
import RealTime
import Sessions

/// `cuejack convert`: converts a sound file to another format.
struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert a sound file to another container, format or rate.",
    discussion: """
      The extension of the new file selects its container: \(SoundFormat.extensions). Unless an option \
      changes the sound, linear PCM stays exact where the new format can hold it, and packets are copied \
      where the new container can store them. Priming and remainder frames of codecs are left out, so \
      that both files have the same length. Tags, markers and regions are kept where the new container \
      can store them.

      The file appears under its name once it is complete. The exit code is 0 if it is, 1 if something \
      failed, 64 for wrong usage, and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the \
      command. An existing file is unchanged then.
      """
        + examples(
          "cuejack convert take.wav take.flac",
          "cuejack convert take.wav take.m4a --bitrate 192k",
          "cuejack convert take.wav part.wav --start 12.5 --end 30 --rate 44100"))

  @Argument(help: ArgumentHelp("The file to read.", valueName: "in"), completion: .soundFiles)
  var input: String

  @Argument(help: ArgumentHelp("The file to write.", valueName: "out"), completion: .file())
  var output: String

  @OptionGroup var coding: CodingOptions

  @Option(help: "The quality of the rate conversion and of the encoder.")
  var quality = ConversionQuality.max

  @Option(help: ArgumentHelp("Start of the part to convert.", valueName: "seconds"))
  var start = 0.0

  @Option(help: ArgumentHelp("End of the part to convert.", valueName: "seconds"))
  var end: Double?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Flag(help: "Print more messages to standard error.")
  var verbose = false

  func validate() throws {
    try check(
      (0...StartOption.mostSeconds).contains(start), "--start takes a number of seconds from 0 on")
    if let end {
      try check(
        end > start && end <= StartOption.mostSeconds, "--end takes a time after --start")
    }
  }

  func run() throws {
    let signals = StopSignals {}
    CommandLog.start(isVerbose: verbose)
    do throws(SoundFileError) {
      let reader = try SoundReader(path: input)
      if let warning = reader.file.warning { Screen.shared.remark(warning) }
      let conversion = try Conversion(reader, to: output, self)
      let unfinished = try UnfinishedFile(output, isReplacing: force)
      let frames = try unfinished.naming { () throws(SoundFileError) in
        try conversion.run(into: unfinished.store) { part in
          show(part)
          return signals.received == nil
        }
      }
      Screen.shared.draw([])
      if let frames {
        try unfinished.finish()
        Screen.shared.say(conversion.summary(frames))
        return
      }
    } catch {
      Screen.shared.draw([])
      Screen.shared.complain("\(error)")
      if error.kind == .exists { Screen.shared.remark("--force replaces it") }
      throw ExitCode.failure
    }
    throw ExitCode(128 + (signals.received ?? 0))
  }

  private func show(_ part: Double) {
    guard Screen.shared.isTerminal else { return }
    let width = max(0, Screen.shared.size.columns - 1)
    let percent = "\(Int(part * 100))%"
    let line = "[\(gauge(part, width: min(60, max(0, width - 7)), with: "#"))] \(percent)"
    Screen.shared.draw([columns(of: line) > width ? fitted(percent, to: width) : line])
  }
}

/// Effort of resampling and encoding.
enum ConversionQuality: String, CaseIterable, ExpressibleByArgument {
  case min, low, medium, high, max

  var resampler: Resampler.Quality {
    switch self {
    case .min: Resampler.Quality(.quick)
    case .low: Resampler.Quality(.low)
    case .medium: Resampler.Quality(.medium)
    case .high: Resampler.Quality(.high)
    case .max: Resampler.Quality(.best)
    }
  }

  /// The same on the encoder's scale, from 0 to 127.
  var encoder: Int {
    switch self {
    case .min: 0
    case .low: 32
    case .medium: 64
    case .high: 96
    case .max: 127
    }
  }
}
