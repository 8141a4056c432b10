import ArgumentParser
import Codecs
import Files
import Glibc
import RealTime

/// `cuejack convert`: converts a sound file to another format.
struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert a sound file to another kind, format or rate.",
    discussion: """
      The new file's name says which kind it is: \(SoundFormat.extensions). Without an option that changes \
      the sound, linear PCM stays exact where the new format can hold it, and packets that the new kind of \
      file takes as they are, are copied. What codecs add before and after the sound is left out, so that \
      the new file is as long as the old one. Tags, markers and regions are kept where the new kind has \
      them.

      The file appears under its name when it is complete. The exit code is 0 when it is, 1 when \
      something failed, 64 when the command makes no sense, and 130, 143 or 129 when SIGINT (Control-C), \
      SIGTERM or SIGHUP stopped it; an old file is as it was then.
      """)

  @Argument(help: ArgumentHelp("The file to read.", valueName: "in"))
  var input: String

  @Argument(help: ArgumentHelp("The file to write.", valueName: "out"))
  var output: String

  @OptionGroup var coding: CodingOptions

  @Option(help: "How much work to spend on converting the rate, and on encoding.")
  var quality = ConversionQuality.max

  @Option(help: ArgumentHelp("Leave out what comes before.", valueName: "seconds"))
  var start = 0.0

  @Option(help: ArgumentHelp("Leave out what comes after.", valueName: "seconds"))
  var end: Double?

  @Flag(help: "Replace the file if there is one.")
  var force = false

  @Flag(help: "Tell more on standard error.")
  var verbose = false

  func validate() throws {
    guard (0...StartOption.mostSeconds).contains(start) else {
      throw ValidationError("--start takes a number of seconds from 0 on")
    }
    if let end, !(end > start && end <= StartOption.mostSeconds) {
      throw ValidationError("--end takes a time after --start")
    }
  }

  func run() throws {
    let signals = StopSignals {}
    CommandLog.bootstrap(isVerbose: verbose)
    do throws(SoundFileError) {
      let reader = try SoundReader(path: input)
      if let warning = reader.file.warning { Screen.shared.remark(warning) }
      let conversion = try Conversion(reader, to: output, self)
      let place = try UnfinishedFile(output, isReplacing: force)
      let frames = try place.naming { () throws(SoundFileError) in
        try conversion.run(into: place.store) { part in
          show(part)
          return signals.received == nil
        }
      }
      Screen.shared.draw([])
      if let frames {
        try place.finish()
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
