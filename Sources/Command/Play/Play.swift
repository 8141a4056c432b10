import ArgumentParser
import AudioQueue
import Dispatch
import Files
import PluginHost
import RealTime
import Server
import Sessions

/// `cuejack play`: plays sound files in sync, starting on one frame.
struct Play: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Play sound files in sync, all from the same frame.",
    discussion: """
      Each file has a JACK client of its own. The second client's name ends in -2, and so on. All files \
      start on the same frame of the server, and so do several commands with the same --at. Without \
      --at, they start a quarter of a second from now.

      Nothing plays unless every file can be opened. If a file turns out to be damaged while it plays, \
      the others play on. If the JACK server goes away, the command waits for it and goes on with the \
      next frame. Give the files before --connect, which takes all words up to the next option, or put \
      -- between them.

      The exit code is 0 if every frame was played, 1 if something failed or frames were not heard, 64 \
      for wrong usage, and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the command.
      """
        + examples(
          "cuejack play drums.wav bass.aiff                # both from one frame",
          "cuejack play loop.wav --at +2.5 --volume 0.5     # in two and a half seconds",
          "cuejack play take.wav --start 12.5 --end 30 --rate 0.75",
          "cuejack play mix.wav --plugin urn:cuejack:plugins:limiter:ceiling=-3",
          "cuejack play drums.wav bass.aiff --fade-out 2 --render mix.wav"))

  @Argument(
    help: ArgumentHelp("Sound files of any format that `cuejack info` reads.", valueName: "file"),
    completion: .soundFiles)
  var files: [String]

  @Option(help: "The gain, from 0 to 1.")
  var volume: Float = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The balance, from -1 (left) to 1 (right).",
      discussion: "Ignored for files with more than two channels."))
  var pan: Float = 0

  @Option(
    help: ArgumentHelp(
      "The speed, from 0.5 to 2, at the same pitch.", valueName: "factor"))
  var rate = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The pitch shift, from -2400 to 2400, at the same speed.", valueName: "cents"))
  var pitch = 0.0

  @Option(help: ArgumentHelp("Duration of the fade-in.", valueName: "seconds"))
  var fadeIn = 0.0

  @Option(help: ArgumentHelp("Duration of the fade-out at the end.", valueName: "seconds"))
  var fadeOut = 0.0

  @Option(help: ArgumentHelp("Start of the part to play, in each file.", valueName: "seconds"))
  var start = 0.0

  @Option(help: ArgumentHelp("End of the part to play, in each file.", valueName: "seconds"))
  var end: Double?

  @Flag(help: "Repeat each file without a gap, until stopped or for --seconds.")
  var loop = false

  @Option(
    help: ArgumentHelp(
      "Start each file this much later than the previous one, to the frame.",
      valueName: "seconds"))
  var stagger = 0.0

  @OptionGroup var client: ClientOptions

  @Option(
    help: ArgumentHelp(
      "Write a sound file instead of playing. Needs no server.",
      discussion: """
        The extension selects the container: .wav, .aiff, .caf, .w64, .rf64 or .au. The file has the rate \
        and the sample format of the first file, with 16 bits at least and 32-bit floats for floats. All \
        files are mixed as they would sound; a mono file goes to the first two channels. Samples beyond \
        full scale are clipped and counted.
        """,
      valueName: "file"),
    completion: .file())
  var render: String?

  @Flag(help: "Allow --render to replace an existing file.")
  var force = false

  @Option(
    name: .customLong("plugin"),
    help: ArgumentHelp(
      "Send the sum of all files through an LV2 plugin. Repeatable, in order.",
      discussion: """
        A preset follows the plugin's URI after a #, and values of controls after a colon: \
        urn:cuejack:plugins:preset-eq#rock, or http://lv2plug.in/plugins/eg-amp:gain=-6. A mono plugin \
        gets an instance for each channel. The output of an instrument is added to the sound. With a \
        plugin, all files share one client. Plugins that use the tempo follow JACK's transport; with \
        --render, it rolls from the start at 120 beats per minute in 4/4. `cuejack plugins` lists the \
        plugins.
        """,
      valueName: "uri[#preset][:symbol=value,...]"))
  var plugins: [PluginOption] = []

  @Option(
    name: .customLong("isolate"),
    help: ArgumentHelp(
      "Run this plugin in a process of its own. Repeatable; “all” isolates every plugin.",
      discussion: """
        If the plugin crashes or hangs, the command reports it, bypasses it without a gap, and exits with \
        code 1 in the end. Isolation adds one period of latency.
        """,
      valueName: "uri"),
    completion: .isolatedPlugins)
  var isolated: [String] = []

  @Option(
    help: ArgumentHelp(
      "Play this much longer after the last frame, for the tail of plugins.", valueName: "seconds")
  )
  var tail = 0.0

  @OptionGroup var controllers: ControllerOptions

  func validate() throws {
    try check((0...1).contains(volume), "--volume takes a number from 0 to 1")
    try check((-1...1).contains(pan), "--pan takes a number from -1 to 1")
    try check((0.5...2).contains(rate), "--rate takes a number from 0.5 to 2")
    try check((-2400...2400).contains(pitch), "--pitch takes a number from -2400 to 2400")
    let times = [
      ("--fade-in", fadeIn), ("--fade-out", fadeOut), ("--start", start), ("--stagger", stagger),
      ("--tail", tail),
    ]
    for (option, time) in times {
      try check(
        (0...StartOption.mostSeconds).contains(time),
        "\(option) takes a number of seconds from 0 on")
    }
    if let end {
      try check(
        end > start && end <= StartOption.mostSeconds, "--end takes a time after --start")
    }
    try check(
      !loop || fadeOut == 0 || client.seconds != nil,
      "--fade-out needs an end: give --seconds with --loop"
    )
    let playsOnly = [
      ("--at", client.at != nil), ("--server", client.server != nil),
      ("--connect", !client.connect.isEmpty), ("--no-connect", client.noConnect),
    ]
    for (option, isGiven) in playsOnly where isGiven {
      try check(render == nil, "--render needs no server: \(option) makes no sense with it")
    }
    try check(
      render == nil || !loop || client.seconds != nil,
      "--render needs an end: give --seconds with --loop")
    try check(render != nil || !force, "--force is for --render")
    try check(!plugins.isEmpty || tail == 0, "--tail is for --plugin")
    try controllers.check(plugins: plugins.count, isRendering: render != nil)
    for name in isolated {
      try check(
        plugins.contains { $0.isMeant(by: name) }, "--isolate \(name): no --plugin is that one")
    }
  }

  func run() throws {
    if render == nil { client.joinPipeWire() }
    let awake = DispatchSemaphore(value: 0)
    let signals = StopSignals { awake.signal() }
    CommandLog.start(isVerbose: client.verbose)
    let files = try openAll()
    if let render {
      try OfflineSession(self, files, to: render).run(signals)
    } else {
      let session = try LiveSession(self, files, signals, awake)
      defer { session.close() }
      try session.run()
    }
  }

  /// The plugins with the isolation that --isolate requests.
  var chosenPlugins: [PluginOption] {
    plugins.map { plugin in
      var plugin = plugin
      plugin.isIsolated = isolated.contains { plugin.isMeant(by: $0) }
      return plugin
    }
  }

  // MARK: Before playing

  /// Opens all files, and reports each that cannot be opened.
  private func openAll() throws -> [SoundReader] {
    var opened: [SoundReader] = []
    for path in files {
      do throws(SoundFileError) {
        let file = try SoundReader(path: path)
        if let warning = file.file.warning { Screen.shared.remark(warning) }
        if file.frames == 0 {
          Screen.shared.complain("\(path): there is no sound in this file")
        } else if part(of: file).isEmpty {
          Screen.shared.complain("\(path): nothing is left between --start and --end")
        } else if clip(ofFile: 0, file).frames == 0 {
          Screen.shared.complain("\(path): --seconds is shorter than a frame")
        } else {
          opened.append(file)
        }
      } catch {
        Screen.shared.complain("\(error)")
      }
    }
    guard opened.count == files.count else { throw ExitCode.failure }
    return opened
  }

  /// Returns the part of a file between --start and --end, in its frames.
  private func part(of file: SoundReader) -> Range<Int64> { file.part(from: start, to: end) }

  func clip(ofFile index: Int, _ file: SoundReader) -> Clip {
    let sampleRate = file.format.sampleRate
    var clip = Clip(part: part(of: file), volume: volume, pan: pan, rate: rate, cents: pitch)
    if !loop { clip.frames = Int64(clip.part.count) }
    if let seconds = client.seconds {
      clip.frames = min(clip.frames ?? .max, Int64((seconds * rate * sampleRate).rounded()))
    }
    clip.delay = Int64((Double(index) * stagger * sampleRate).rounded())
    clip.fadeIn = fadeIn
    clip.fadeOut = fadeOut
    return clip
  }

  /// Creates the player of a file.
  ///
  /// - Parameter inputs: The graph inputs that it plays into; nil for ports of its own.
  func makePlayer(
    _ index: Int, _ file: SoundReader, inputs: [ClientPort]?, onEnd: @escaping @Sendable () -> Void
  ) throws -> FilePlayer {
    try telling(file) { () throws(QueueError) in
      try FilePlayer(
        file, clip(ofFile: index, file), options: options(forFile: index, inputs: inputs),
        server: client.jackServer(for: [file.path]), onFailure: { Screen.shared.complain($0) },
        onEnd: onEnd)
    }
  }

  private func options(forFile index: Int, inputs: [ClientPort]?) -> OutputQueue.Options {
    OutputQueue.Options(
      clientName: index == 0 ? client.name : "\(client.name)-\(index + 1)",
      connections: inputs.map { .graphInputs($0) } ?? client.connections)
  }

  /// Runs `body`. An error is reported with the file's path and ends the command.
  func telling<R>(_ file: any SoundSource, _ body: () throws(QueueError) -> R) throws -> R {
    try client.telling(file.path, cannotBe: "played", body)
  }
}
