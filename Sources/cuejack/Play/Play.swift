import ArgumentParser
import AudioQueue
import Dispatch
import Files
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Timeline

/// `cuejack play`: plays sound files in sync, starting on one frame.
struct Play: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Play sound files together, from one frame on.",
    discussion: """
      Each file is a JACK client of its own; the second one's name has -2 after it, and so on. All of them start on the same frame of the server, \
      to the sample; and so do several commands that are given the same --at.

      Nothing plays unless every file can be opened. If one turns out to be damaged while it \
      plays, the others play on. If the JACK server goes away, the command waits until it is back, \
      and goes on where it was. Give the files before --connect, which takes all the words up to \
      the next option, or put -- between. Without --at, they start a quarter of a second from now.

      The exit code is 0 when everything was played, 1 when something failed or was cut short, 64 \
      when the command makes no sense, and 130, 143 or 129 when SIGINT (Control-C), SIGTERM or \
      SIGHUP stopped it.
      """)

  @Argument(
    help: ArgumentHelp("Sound files of any kind that `cuejack info` shows.", valueName: "file"))
  var files: [String]

  @Option(help: "The factor on every sample, from 0 to 1.")
  var volume: Float = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The balance, from -1 (left) to 1 (right).",
      discussion: "0 leaves both sides as they are. More than two channels take no notice."))
  var pan: Float = 0

  @Option(
    help: ArgumentHelp(
      "How fast to play, from 0.5 to 2; the pitch stays.", valueName: "factor"))
  var rate = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Shift the pitch by so many cents, from -2400 to 2400; the speed stays.", valueName: "cents"))
  var pitch = 0.0

  @Option(help: ArgumentHelp("Fade in over that time.", valueName: "seconds"))
  var fadeIn = 0.0

  @Option(help: ArgumentHelp("Fade out over the last of the sound.", valueName: "seconds"))
  var fadeOut = 0.0

  @Option(help: ArgumentHelp("Leave out what comes before, in each file.", valueName: "seconds"))
  var start = 0.0

  @Option(help: ArgumentHelp("Leave out what comes after, in each file.", valueName: "seconds"))
  var end: Double?

  @Flag(help: "Play each file again and again, without a gap, until stopped or for --seconds.")
  var loop = false

  @Option(
    help: ArgumentHelp(
      "Have each file begin that much later than the one before it, to the frame.",
      valueName: "seconds"))
  var stagger = 0.0

  @OptionGroup var client: ClientOptions

  @Option(
    help: ArgumentHelp(
      "Write a sound file instead of playing; no server is needed.",
      discussion: """
        The name's end says which kind: .wav, .aiff, .caf, .w64, .rf64 or .au. It has the rate of the \
        first file, and its depth, 16 bits at least: floats of 32 bits if it has floats. All files are \
        mixed as they would sound, one channel on the first two; samples beyond full scale are clipped \
        and counted.
        """,
      valueName: "file"))
  var render: String?

  @Flag(help: "Let --render replace a file.")
  var force = false

  @Option(
    name: .customLong("plugin"),
    help: ArgumentHelp(
      "Send the sum of all files through an LV2 plugin; give it again for one after another.",
      discussion: """
        A preset follows the plugin's URI after a #, and values of controls after a colon: \
        urn:cuejack:plugins:preset-eq#rock, or http://lv2plug.in/plugins/eg-amp:gain=-6. A plugin for \
        one channel has an instance for each. What an instrument makes is added to the sound. All files \
        share one client then. Plugins that go by beats follow JACK's transport; with --render, it rolls \
        from the beginning, at 120 beats a minute in 4/4. `cuejack plugins` lists what there is.
        """,
      valueName: "uri[#preset][:symbol=value,...]"))
  var plugins: [PluginOption] = []

  @Option(
    name: .customLong("isolate"),
    help: ArgumentHelp(
      "Run that plugin in a process of its own; give it again for more, or say “all”.",
      discussion: """
        If such a plugin crashes or hangs, a message says so, the sound passes it by without a gap, and \
        the exit code is 1 in the end. Such a plugin takes one cycle longer.
        """,
      valueName: "uri"))
  var isolated: [String] = []

  @Option(
    help: ArgumentHelp(
      "Go on for so long after the last sound, for what rings on in plugins.", valueName: "seconds")
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
    CommandLog.bootstrap(isVerbose: client.verbose)
    let files = try openAll()
    let rendering = try beginRendering(files)
    // Panning mono needs two channels.
    let channels = max(files.map(\.format.channels).max() ?? 1, pan == 0 ? 1 : 2)
    let studio =
      plugins.isEmpty || rendering != nil
      ? nil
      : try PluginClient(
        chosenPlugins, channels: channels, client, controllers, files: files.map(\.path))
    defer { studio?.close() }

    var players: [FilePlayer] = []
    defer { for player in players { player.close() } }
    for (i, file) in files.enumerated() {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      let places = try studio?.places(for: file, pan: pan)
      let player = try telling(file) { () throws(QueueError) in
        try FilePlayer(
          file, clip(ofFile: i, file), options: options(forFile: i, places: places),
          server: client.jackServer(for: [file.path]), onEnd: { awake.signal() })
      }
      players.append(player)
      if let studio {
        try telling(file) { () throws(QueueError) in
          try player.queue.setDeviceUID(studio.device.uid)
        }
      }
      if let rendering {
        try telling(file) { () throws(QueueError) in
          try player.queue.setOfflineFormat(rendering.format)
        }
      }
      guard try telling(file, { () throws(QueueError) in try player.prime() }) else {
        throw ExitCode.failure
      }
      player.queue.isMetering = Screen.shared.isTerminal && rendering == nil
    }
    if let signal = signals.received { throw ExitCode(128 + signal) }

    if let rendering { return try finish(rendering, players, signals) }

    let latency = Int64(studio?.chain.latencyFrames ?? 0)
    let start = try telling(files[0]) { () throws(QueueError) in
      try self.start(of: players, latency: latency)
    }
    try client.checkStart(on: players[0].queue)
    for player in players {
      try telling(player.file) { () throws(QueueError) in
        try player.queue.start(at: start.queueTime)
      }
    }
    for player in players { announce(player, start) }
    if let studio { announce(studio) }
    let serverName = players[0].queue.statistics.serverName

    var watch = ServerWatch("playing")
    while signals.received == nil, !players.allSatisfy(\.isOver) {
      watch.note(
        players.filter { !$0.isOver }.compactMap(\.queue.absence).first, server: serverName)
      if Screen.shared.isTerminal {
        let size = Screen.shared.size
        Screen.shared.draw(
          players.map { progress(of: $0, start) }.lines(columns: size.columns, rows: size.rows))
      }
      _ = awake.wait(timeout: .now() + .milliseconds(100))
    }
    var isCut = false
    if let studio {
      let rest = Int64((tail * studio.device.client.sampleRate).rounded())
      // A file's end is reported during the cycle in which it lies, so two more periods are added.
      let end =
        studio.device.now + Int64(studio.chain.latencyFrames) + rest
        + 2 * Int64(studio.device.client.periodFrames)
      while signals.received == nil, !studio.device.isLost, studio.device.now < end {
        _ = awake.wait(timeout: .now() + .milliseconds(20))
      }
      isCut = studio.device.now < end || studio.device.isLost
    }
    let stop = players.allSatisfy(\.isOver) && !isCut ? nil : signals.received
    Screen.shared.draw([])
    if isCut, stop == nil { Screen.shared.complain("the end of what plugins made was cut off") }
    try finish(
      players, start, isCut: isCut || studio?.chain.hasLostPlugins == true, stoppedBy: stop)
  }

  private var chosenPlugins: [PluginOption] {
    plugins.map { plugin in
      var plugin = plugin
      plugin.isIsolated = isolated.contains { plugin.isMeant(by: $0) }
      return plugin
    }
  }

  // MARK: Rendering

  /// Returns the file to render to; nil if the files are to be played.
  private func beginRendering(_ files: [SoundReader]) throws -> Rendering? {
    guard let render else { return nil }
    let effects = try plugins.isEmpty ? nil : makeEffects(files)
    do throws(SoundFileError) {
      return try Rendering(render, of: files, through: effects, isReplacing: force)
    } catch {
      Screen.shared.complain("\(error)")
      if !force, unsafe access(render, F_OK) == 0 { Screen.shared.remark("--force replaces it") }
      throw ExitCode.failure
    }
  }

  private func makeEffects(_ files: [SoundReader]) throws -> Effects {
    let rate = files[0].format.sampleRate
    return try Effects(
      chosenPlugins, channels: files.map(\.format.channels).max() ?? 1, sampleRate: rate,
      tail: Int((tail * rate).rounded()))
  }

  /// Renders the file and reports the result.
  private func finish(_ rendering: Rendering, _ players: [FilePlayer], _ signals: StopSignals)
    throws
  {
    let result: Rendering.Result?
    do {
      for player in players { try player.queue.start() }
      result = try rendering.run(players) { signals.received != nil }
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    guard let result else { throw ExitCode(128 + (signals.received ?? 0)) }
    let clipped = result.clipped > 0 ? "; clipped samples: \(result.clipped)" : ""
    Screen.shared.say("\(render ?? ""): wrote \(result.frames) frames\(clipped)")
    let failed = players.contains {
      $0.hasFailed || $0.file.isTruncated && $0.playsToTheEnd
    }
    if failed || rendering.hasLostPlugins { throw ExitCode.failure }
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
  private func part(of file: SoundReader) -> Range<Int64> {
    func frame(_ seconds: Double) -> Int64 {
      min(file.frames, Int64((seconds * file.format.sampleRate).rounded()))
    }
    let first = frame(start)
    return first..<max(first, end.map(frame) ?? file.frames)
  }

  private func clip(ofFile index: Int, _ file: SoundReader) -> Clip {
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

  private func options(forFile index: Int, places: [ClientPort]?) -> OutputQueue.Options {
    OutputQueue.Options(
      clientName: index == 0 ? client.name : "\(client.name)-\(index + 1)",
      connections: places.map { .places($0) }
        ?? (client.noConnect
          ? .none : client.connect.isEmpty ? .physical : .ports(client.connect)))
  }

  private func telling<R>(_ file: SoundReader, _ body: () throws(QueueError) -> R) throws -> R {
    try client.telling(file.path, cannotBe: "played", body)
  }

  // MARK: After playing

  /// Stops the players, prints summaries, and throws the exit code if it is not 0.
  private func finish(
    _ players: [FilePlayer], _ start: Start, isCut: Bool, stoppedBy signal: CInt?
  ) throws {
    // Silence all players first.
    for player in players where !player.isOver { try? player.queue.stop() }
    let results = players.map(\.queue.statistics)
    var failed = isCut
    for (player, result) in zip(players, results) {
      if player.queue.isLost, !player.isOver {
        Screen.shared.complain("\(ServerError.lost(server: result.serverName))")
        failed = true
      }
      if player.hasFailed || player.file.isTruncated && player.playsToTheEnd {
        failed = true
      }
      // Playing succeeded only if everything was heard without a gap.
      if result.starvedFrames > 0 || result.unheardFrames > 0 { failed = true }
      Screen.shared.say(summary(player, result, start))
    }
    let begins = Set(results.compactMap(\.beganAt))
    // After a server restart, each player starts as soon as it can.
    if begins.count > 1, results.allSatisfy({ $0.restarts == 0 }) {
      Screen.shared.complain("the files did not start on one frame: the machine was too busy")
      failed = true
    } else if begins.count == 1, let begin = begins.first, !start.isPast,
      // A host time is rounded to a frame within its cycle.
      begin > start.queueFrame + (start.chosen.isHostTime ? Int64(start.sampleRate / 1000) : 0),
      results.allSatisfy({ $0.restarts == 0 })
    {
      Screen.shared.remark(
        "frame \(start.frame) was past; playing started on frame \(begin + start.latency)")
    }
    if let signal { throw ExitCode(128 + signal) }
    if failed { throw ExitCode.failure }
  }

  private func summary(
    _ player: FilePlayer, _ result: OutputQueue.Statistics, _ start: Start
  ) -> String {
    guard let begin = result.beganAt else { return "\(player.file.path): did not start" }
    let played = result.lastedFrames - Int64(result.starvedFrames + result.unheardFrames)
    let underruns = result.starvations + result.xruns
    let silence = result.starvedFrames > 0 ? ", \(result.starvedFrames) frames of silence" : ""
    let unheard = result.unheardFrames > 0 ? ", \(result.unheardFrames) frames not heard" : ""
    return
      "\(player.file.path): played \(played) frames from frame \(begin + start.latency); underruns: \(underruns)"
      + " (ran dry: \(result.starvations)\(silence), xruns: \(result.xruns)\(unheard))"
  }
}
