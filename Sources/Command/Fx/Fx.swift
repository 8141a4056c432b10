import ArgumentParser
import Dispatch
import Server

/// `cuejack fx`: plugins between JACK ports, without a file.
struct Fx: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fx", abstract: "Run plugins between JACK ports: a live effect or instrument.",
    discussion: """
      A JACK client, cuejack-fx, with the plugins of --plugin one after another. It has as many inputs as \
      the plugin with most of them, in_1 and so on, and the outputs out_1 and so on. A chain that begins with \
      an instrument has no inputs and plays what arrives at midi_in.

      The sound passes within the server's cycle: the latency is that of the plugins alone, and one \
      period more for each plugin with --isolate. The ports tell it to the server.

      On a terminal, keys change the gain (up, down), bypass the plugins (b) and quit (q); ? lists them. \
      `cuejack set cuejack-fx` and OSC messages change controls, presets, bypasses and the chain itself. \
      `cuejack graph cuejack-fx` shows what runs. If the JACK server goes away, the command waits for it and \
      goes on.

      Without --seconds, SIGINT (Control-C), SIGTERM and SIGHUP end the command with exit code 0. With \
      --seconds, the exit code is then 130, 143 or 129. It is 1 if something failed or an isolated plugin was \
      lost, and 64 for wrong usage.
      """
        + examples(
          "cuejack fx --plugin eg-amp:gain=-6",
          "cuejack fx --plugin limiter --connect-in ardour:Master --connect-out 'system:playback_*'",
          "cuejack fx --plugin \"MDA Piano\" --midi-in system:midi_capture_1",
          "cuejack fx --soundfont piano.sf2 --midi-in keys",
          "cuejack fx --plugin eg-amp --midi-in keys --map cc7=1:gain"))

  @Option(
    name: .customLong("plugin"),
    help: ArgumentHelp(
      "An LV2 plugin. Repeatable, in order.",
      discussion: """
        As for `cuejack play`: a preset follows after a #, and values of controls after a colon.
        """,
      valueName: "plugin[#preset][:symbol=value,...]"))
  var plugins: [PluginOption] = []

  @Option(
    name: .customLong("soundfont"),
    help: ArgumentHelp(
      "Play MIDI with this SoundFont (SF2, SF3 or DLS), before the plugins.", valueName: "file"),
    completion: .file(extensions: ["sf2", "sf3", "dls"]))
  var soundFont: String?

  @OptionGroup var isolation: IsolationOptions

  @OptionGroup var threads: ThreadOptions

  @Option(
    help: ArgumentHelp(
      "The number of channels that enter the plugins, and of input ports. By default as many as the plugins have.",
      valueName: "count"))
  var channels: Int?

  @Option(
    name: .customLong("connect-in"),
    help: ArgumentHelp(
      "Ports to connect to the inputs, in order. Repeatable.",
      discussion: """
        A port, a client for all of its ports, a glob or a regular expression, as for `cuejack record \
        --connect`. By default the sound card's inputs are connected.
        """, valueName: "port|client|pattern"),
    completion: .audioPorts(sending: true))
  var connectIn: [String] = []

  @Option(
    name: .customLong("connect-out"),
    help: ArgumentHelp(
      "Ports to connect to the outputs, in order. Repeatable.",
      discussion: """
        As for `cuejack play --connect`. By default the sound card's outputs are connected.
        """, valueName: "port|client|pattern"),
    completion: .audioPorts(sending: false))
  var connectOut: [String] = []

  @Option(
    help: ArgumentHelp(
      "Wait up to this long for the ports of --connect-in and --connect-out.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var connectWait: TimeValue?

  @Flag(help: "Connect no audio ports, but those of --connect-in and --connect-out.")
  var noConnect = false

  @OptionGroup var controllers: ControllerOptions

  @Option(
    help: ArgumentHelp("Stop after this much sound: \(TimeValue.forms).", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var seconds: TimeValue?

  @OptionGroup var server: ServerOption

  @OptionGroup var remote: RemoteOptions

  @Option(help: "The name of the JACK client. Default: cuejack-fx.")
  var name: String?

  @OptionGroup var log: LogOption

  static let clientName = "cuejack-fx"

  func validate() throws {
    try checkOnce(
      ["--channels", "--seconds", "--name", "--connect-wait", "--soundfont"]
        + RemoteOptions.singleOptions)
    try check(
      !plugins.isEmpty || soundFont != nil,
      "name a plugin: --plugin URI; `cuejack plugins list` lists them")
    try check(
      channels.map { (1...64).contains($0) } ?? true, "--channels takes a number from 1 to 64")
    try check(seconds?.isZero != true, "--seconds takes a time greater than 0")
    try checkClientName(name)
    for (option, values) in [("--connect-in", connectIn), ("--connect-out", connectOut)] {
      try check(values.allSatisfy { !$0.isEmpty }, "\(option) takes a port, a client or a pattern")
    }
    try check(
      connectWait == nil || !(connectIn + connectOut).isEmpty,
      "--connect-wait is for --connect-in and --connect-out")
    try controllers.check(
      plugins: plugins.count + (soundFont == nil ? 0 : 1), isRendering: false)
    try isolation.checkNames(among: plugins)
  }

  func run() throws {
    server.jack().joinPipeWire()
    let awake = DispatchSemaphore(value: 0)
    let signals = StopSignals { awake.signal() }
    log.start()
    let session = try FxSession(self, signals, awake)
    defer { session.close() }
    try session.run()
  }

  /// The server of the client. A client without a name of its own is there for one run.
  var jackServer: JackServer {
    var server = server.jack()
    if name == nil { server.claim = .own }
    return server
  }

  /// Returns the ports that one of the options names; nil for those of the sound card.
  ///
  /// - Parameter direction: That of the ports as their own clients see it.
  func ports(
    _ option: String, _ values: [String], _ direction: PortDirection, on client: any ServerClient,
    _ signals: StopSignals
  ) throws -> [String]? {
    if values.isEmpty { return noConnect ? [] : nil }
    do throws(PortError) {
      return try PortChoice(option: option, values: values, direction: direction).ports(
        on: client, waiting: connectWait?.seconds(at: client.sampleRate) ?? 0,
        isStopped: { signals.received != nil })
    } catch {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }
}
