import ArgumentParser
import Files
import Glibc
import RealTime
import Sessions
import System
import Timeline

/// `cuejack convert`: converts sound files to another format.
struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert", abstract: "Convert sound files to another container, format or rate.",
    usage: """
      cuejack convert <options> <in> <out>
      cuejack convert <options> --to <extension> <in> ... <folder>
      """,
    discussion: """
      The extension of the new file selects its container: \(SoundFormat.extensions). Unless an option \
      changes the sound, linear PCM stays exact where the new format can hold it, and packets are copied \
      where the new container can store them. Priming and remainder frames of codecs are left out, so \
      that both files have the same length. Tags, markers and regions are kept where the new container \
      can store them. An .ogg file has Vorbis unless --format says otherwise, an .opus file has Opus.

      A file that is - is standard input or standard output, and FIFOs and the pipes of process \
      substitutions do as files. --to selects the kind of file that a pipe gets; by default it is wav. A pipe \
      gets the sound while it is converted, except in containers such as .m4a, which have their tables \
      complete at the end only.

      The options that change the sound apply in this order: --start and --end, --silence, --remix or \
      --channels, --rate, --fade-in and --fade-out, --loudness or --peak, --format. What they change goes \
      through 32-bit floats; --silence and channels that only move keep every sample.

      With --to, the last word is a folder, which is made if necessary. Each file is converted into it \
      under its own name with the new extension, and folders with all sound files in them and below. If \
      a file cannot be converted, the others are.

      A file appears under its name once it is complete. What is damaged in a file becomes silence of its \
      length, as far as it is known, and is told. The exit code is 0 if all files are whole, 1 if something \
      failed or is missing, 64 for wrong usage, and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the \
      command. An existing file is unchanged then.
      """
        + examples(
          "cuejack convert take.wav take.flac",
          "cuejack convert take.wav take.m4a --bitrate 192k",
          "cuejack convert - - --to flac < take.wav > take.flac",
          "cuejack convert --to opus album/ portable/",
          "cuejack convert take.wav part.wav --start 12.5 --end 30 --rate 44100",
          "cuejack convert --to flac --loudness -16 --silence -50dB,0.1 takes/ episodes/",
          "cuejack convert take.wav swapped.wav --remix 2,1"))

  @Argument(
    help: ArgumentHelp(
      "The file to read and the file to write, or files, folders and the folder to write to.",
      valueName: "file"), completion: .soundFiles)
  var words: [String]

  @Option(
    help: ArgumentHelp(
      "Convert into a folder, to files with this extension; or the kind of file that goes to - or a FIFO. Default "
        + "for these: wav.", valueName: "extension"))
  var to: String?

  @OptionGroup var coding: CodingOptions

  @Option(help: "The quality of the rate conversion and of the encoder.")
  var quality = ConversionQuality.max

  @Option(
    help: ArgumentHelp("Start of the part to convert.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var start: TimeValue?

  @Option(
    help: ArgumentHelp("End of the part to convert.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var end: TimeValue?

  @OptionGroup var changes: SoundChanges

  @Flag(help: "Replace existing files.")
  var force = false

  @Flag(help: "Print events as JSON, one object on a line, instead of text.")
  var json = false

  @OptionGroup var log: LogOption

  func validate() throws {
    try checkOnce(
      [
        "--to", "--format", "--rate", "--channels", "--bits", "--bitrate", "--quality", "--start",
        "--end",
      ] + SoundChanges.singleOptions)
    try check(
      changes.remix == nil || coding.channels == nil,
      "--remix says how many channels: leave --channels out")
    try check(words.count >= 2, "give the file to read and the file to write")
    try OutputTarget.checkKind(to)
    if to == nil {
      try check(
        words.count == 2,
        "of several files, give the kind with --to, and the folder to write to as the last word")
    }
    try OutputTarget.checkTerminal(words[words.count - 1])
    if PipedFile.isPipe(words[words.count - 1]) {
      try check(words.count == 2, "one file goes to standard output or to a pipe")
      try check(!json || words[1] != "-", "--json and - both need standard output")
    }
    if case (.seconds(let start), .seconds(let end)?) = (start ?? .zero, end) {
      try check(end > start, "--end takes a time after --start")
    }
  }

  func run() throws {
    if json { Screen.shared.startEvents() }
    let signals = StopSignals {}
    log.start()
    if words[words.count - 1] == "-" { Screen.shared.leaveStandardOutput() }
    let jobs: [ConversionJob]
    do throws(SoundFileError) {
      jobs =
        if let to, !PipedFile.isPipe(words[words.count - 1]) {
          try ConversionJob.list(words.dropLast(), into: words[words.count - 1], to)
        } else {
          [ConversionJob(input: words[0], output: words[1])]
        }
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    Screen.shared.emit(
      StartedEvent(
        command: "convert",
        files: jobs.map { StartedEvent.File(file: $0.input, output: $0.output) }))
    var code: Int32 = 0
    do { try run(jobs, signals) } catch let exit as ExitCode { code = exit.rawValue }
    Screen.shared.emit(FinishedEvent(exitCode: code, files: []))
    if code != 0 { throw ExitCode(code) }
  }

  private func run(_ jobs: [ConversionJob], _ signals: StopSignals) throws {
    var failed = false
    var written: Set<Name> = []
    for job in jobs {
      do {
        if to != nil, !written.insert(Name(job.output)).inserted {
          throw SoundFileError(
            .cannotWrite("another file was converted to it: \(job.input) is left out"),
            path: job.output)
        }
        guard let isWhole = try run(job, signals) else {
          throw ExitCode(128 + (signals.received ?? 0))
        }
        if !isWhole { failed = true }
      } catch let error as SoundFileError {
        // A signal ends the wait for a pipe.
        if let signal = signals.received { throw ExitCode(128 + signal) }
        Screen.shared.draw([])
        Screen.shared.complain("\(error)")
        if error.kind == .exists { Screen.shared.remark("--force replaces it") }
        OutputTarget.adviseKind(error, job.output, to)
        failed = true
      }
    }
    if failed { throw ExitCode.failure }
  }

  /// Converts one file, and prints the result.
  ///
  /// - Returns: False if some of the sound is missing; nil if a signal stopped it.
  private func run(_ job: ConversionJob, _ signals: StopSignals) throws(SoundFileError) -> Bool? {
    let reader = try SoundReader(path: job.input)
    for words in [reader.file.warning, reader.file.notice] {
      if let words { Screen.shared.remark(words) }
    }
    var conversion = try Conversion(reader, to: job.output, self)
    if to != nil, !PipedFile.isPipe(job.output) { try job.makeFolder() }
    let target = try OutputTarget(
      job.output, conversion.streamFormat, in: conversion.container, isReplacing: force)
    var nextPosition: UInt64 = 0
    let frames = try target.naming { () throws(SoundFileError) in
      try conversion.run(into: target.store) { part in
        show(part, of: job, &nextPosition)
        return signals.received == nil
      }
    }
    Screen.shared.draw([])
    guard let frames else { return nil }
    try target.finish()
    Screen.shared.say(conversion.summary(frames))
    let fault = conversion.fault
    if let fault { Screen.shared.remark(fault) }
    Screen.shared.emit(conversion.event(frames))
    return fault == nil && reader.warnings.isEmpty
  }

  /// Shows the progress, and emits an event at most once a second.
  ///
  /// - Parameter next: Host time of the next event in nanoseconds.
  private func show(_ part: Double, of job: ConversionJob, _ next: inout UInt64) {
    let now = HostTime.now
    if Screen.shared.isJSON, now >= next {
      next = now + 1_000_000_000
      let part = (part * 10_000).rounded() / 10_000
      Screen.shared.emit(PositionEvent(files: [PositionEvent.File(file: job.input, part: part)]))
    }
    guard Screen.shared.isTerminal else { return }
    let width = max(0, Screen.shared.size.columns - 1)
    let percent = "\(Int(held: part * 100))%"
    let line = "[\(gauge(part, width: min(60, max(0, width - 7)), with: "#"))] \(percent)"
    Screen.shared.draw([columns(of: line) > width ? fitted(percent, to: width) : line])
  }
}
