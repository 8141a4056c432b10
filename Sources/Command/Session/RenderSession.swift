import ArgumentParser
import Glibc
import Sessions

/// `cuejack session render`.
struct RenderSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "Write a session's sound to a file, faster than real time.",
    discussion: """
      Needs no server. The session plays as when it runs, and the latency of plugins is left out. Start \
      groups that wait for a beat start at that beat, all others with the first frame. With the transport \
      mode follow or lead, plugins follow a transport that rolls at the session's tempo. The file has the sum of all tracks and buses that have ports of \
      their own; with --stems, each of them gets a file, named after it. The extension selects the \
      container: \(SoundFormat.extensions). In containers for linear PCM, 32-bit floats are usual.

      The exit code is 1 if something failed, or sound of a track is missing: its file is damaged, cut short or \
      not there. What there is, is written.
      """
        + examples(
          "cuejack session render duo --output duo.flac",
          "cuejack session render duo --output duo.wav --stems"))

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "file"),
    completion: .file())
  var output: String

  @Flag(help: "Write a file for each track or bus that has ports of its own.")
  var stems = false

  @Option(
    help: ArgumentHelp(
      "The sample format or codec. By default that of the container.", valueName: "format"))
  var format: SoundCoding?

  @Option(help: ArgumentHelp("Bits per sample, without --format.", valueName: "count"))
  var bits: Int?

  @Option(
    help: ArgumentHelp(
      "The sample rate. By default the session's, or the first file's.", valueName: "hertz"))
  var rate: Double?

  @Option(help: ArgumentHelp("End after this time.", valueName: "seconds"))
  var seconds: Double?

  @Option(
    help: ArgumentHelp(
      "Go on for this long after the last frame, for the tails of plugins.", valueName: "seconds"))
  var tail = 0.0

  @Flag(help: "Replace existing files.")
  var force = false

  @OptionGroup var threads: ThreadOptions

  @OptionGroup var log: LogOption

  func validate() throws {
    try checkOnce(
      ["--output", "-o", "--format", "--bits", "--rate", "--seconds", "--tail"],
      same: ["-o": "--output"])
    if let rate {
      try check((1000...1_000_000).contains(rate), "--rate takes a number from 1000 to 1000000")
    }
    if let bits { try check([8, 16, 24, 32].contains(bits), "--bits takes 8, 16, 24 or 32") }
    if let seconds {
      try check(
        seconds > 0 && seconds <= StartOption.mostSeconds,
        "--seconds takes a number greater than 0")
    }
    try check(
      (0...StartOption.mostSeconds).contains(tail), "--tail takes a number of seconds from 0 on")
  }

  func run() throws {
    let signals = StopSignals {}
    log.start()
    let reading = try Session.telling { () throws(SessionError) in
      try SessionStore.read(folder)
    }
    for notice in reading.notices { Screen.shared.remark(notice) }
    let sessionFolder = try Session.telling { () throws(SessionError) in
      try SessionFolder(opening: folder)
    }
    var options = SessionRendering.Options()
    options.sampleRate = rate
    options.coding = format
    options.bits = bits
    options.tail = tail
    options.seconds = seconds
    options.stems = stems
    options.isReplacing = force
    options.threads = threads.count
    do throws(SessionRunError) {
      let rendering = try SessionRendering(
        reading.document, in: sessionFolder, to: output, options,
        onMessage: { Screen.shared.complain($0) })
      guard let results = try rendering.run(isStopped: { signals.received != nil }) else {
        throw SessionRunError.refused("stopped: nothing was written")
      }
      for result in results {
        let clipped = result.clipped > 0 ? "; clipped samples: \(result.clipped)" : ""
        Screen.shared.say("\(result.path): wrote \(result.frames) frames\(clipped)")
      }
      if rendering.hasFailed {
        throw SessionRunError.refused("not all of the session was rendered")
      }
    } catch {
      Screen.shared.complain("\(error)")
      if let signal = signals.received { throw ExitCode(128 + signal) }
      throw ExitCode.failure
    }
  }
}
