import ArgumentParser
import Files

/// `cuejack info`: shows the properties of sound files and MIDI files.
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Describe sound files and MIDI files.",
    discussion: "The exit code is 1 if a file cannot be read or is damaged."
      + examples(
        "cuejack info take.wav",
        "cuejack info --json *.wav *.m4a",
        "cuejack info song.mid",
        "cuejack info --loudness --checksum take.flac",
        "cuejack info --waveform take.svg --spectrum take.png take.wav"))

  @Flag(help: "Print an array of JSON objects, one for each file that can be read.")
  var json = false

  @OptionGroup var measuring: MeasurementOptions

  @Argument(help: "Sound files and MIDI files.", completion: .soundFiles)
  var files: [String]

  func validate() throws {
    try check(
      files.count == 1 || !measuring.draws, "--waveform and --spectrum draw one file: give one")
  }

  func run() throws {
    var reports: [FoundReport] = []
    var failed = false
    for path in files {
      if SongReport.isMIDI(path) {
        do throws(MIDIFileError) {
          let report = try SongReport(path: path)
          if json { reports.append(.song(report)) } else { print(report.words) }
        } catch {
          Screen.shared.remark("\(error)")
          failed = true
        }
        continue
      }
      do throws(SoundFileError) {
        let file = try MediaFiles.openAny(path: path)
        let measurement = try Measurement(file, measuring)
        let report = try FileReport(file, measurement)
        let faults = [file.warning].compactMap { $0 } + measurement.faults
        for words in faults + [file.notice].compactMap({ $0 }) { Screen.shared.remark(words) }
        if !faults.isEmpty { failed = true }
        if json { reports.append(.sound(report)) } else { print(report.words) }
      } catch {
        Screen.shared.remark(error.description)
        if error.kind == .exists { Screen.shared.remark("--force replaces it") }
        failed = true
      }
    }
    if json {
      try printJSON(reports)
    }
    if failed { throw ExitCode.failure }
  }
}

/// A report on a file of either kind.
private enum FoundReport: Encodable {
  case sound(FileReport)
  case song(SongReport)

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .sound(let report): try report.encode(to: encoder)
    case .song(let report): try report.encode(to: encoder)
    }
  }
}
