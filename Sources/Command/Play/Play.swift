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
    commandName: "play",
    abstract: "Play sound files together from one frame, or with --sequence one after another.",
    discussion: """
      A folder or a playlist (.m3u, .m3u8, .pls, .cue) is played like one file: its files follow each \
      other without a gap. So do all files with --sequence. Joints are exact to the frame, also between \
      AAC, MP3 and Opus files. Files of other rates than the first are converted to its rate.

      Each file has a JACK client of its own, cuejack-play, cuejack-play-2 and so on, so that a patchbay \
      connects each of them with one click. More than \(LiveSession.mostClients) files share one client. All files \
      start on the same frame of the server, and so do several commands with the same --at. Without --at, they \
      start as soon as they can.

      A MIDI file sounds through a SoundFont, for \(Int(MIDISound.tail)) seconds longer than its last event: see --soundfont. To play \
      one with LV2 instruments, use --midi.

      Options for one file follow it after an @ and take the place of those for all files: \
      take.wav@gain=-6dB,pan=-1,start=1:30,at=+2. There are \(ItemOptions.keys.joined(separator: ", ")).

      On a terminal, keys pause (space), move (arrow keys, n, p), change the gain, mute, solo, loop and quit; \
      ? lists them. `cuejack set CLIENT` does the same and more from another terminal, and OSC messages do: \
      `cuejack osc CLIENT` lists them.

      Nothing plays unless every file can be opened. If a file turns out to be damaged while it plays, \
      the others play on. If the JACK server goes away, the command waits for it and goes on with the \
      next frame.

      The exit code is 0 if every frame was played, 1 if something failed or frames were not heard, 3 if the \
      server has no ports that play sound and --no-connect is not given, 64 for wrong usage, and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the command.
      """
        + examples(
          "cuejack play drums.wav bass.aiff                # both from one frame",
          "cuejack play -q album/                          # without gaps",
          "cuejack play drums.wav@gain=-6dB vocals.wav@at=+2",
          "cuejack play take.wav --start 1:12.5 --end 2:30 --rate 0.75",
          "cuejack play mix.wav --plugin urn:cuejack:plugins:limiter:ceiling=-3",
          "cuejack play song.mid drums.wav --soundfont piano.sf2",
          "cuejack play drums.wav bass.aiff --fade-out 2 --render mix.wav",
          "cuejack play --plugin \"MDA Piano\" --midi song.mid --tail 2 --render song.wav"))

  @Argument(
    help: ArgumentHelp(
      "Sound files of any format that `cuejack info` reads, MIDI files, folders, playlists, or - for standard input.",
      valueName: "file[@option=value,...]"), completion: .soundFiles,
    transform: PlayItem.init(parsing:))
  var files: [PlayItem] = []

  @Option(
    name: [.customLong("gain"), .customLong("volume")], parsing: .unconditional,
    help: ArgumentHelp(
      "The gain: a factor up to 63 or decibels up to 36, such as 0.5 or -6dB; a negative number is in decibels. Default: 1.",
      valueName: "gain"),
    transform: GainValue.init(parsing:))
  var volume: GainValue?

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

  @Option(
    help: ArgumentHelp("Duration of the fade-in.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var fadeIn: TimeValue?

  @Option(
    help: ArgumentHelp(
      "Duration of the fade-out at the end. With --loop, it needs --seconds.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var fadeOut: TimeValue?

  @Option(
    help: ArgumentHelp("Start of the part to play, in each file.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var start: TimeValue?

  @Option(
    help: ArgumentHelp("End of the part to play, in each file.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var end: TimeValue?

  @Flag(
    name: [.customShort("q"), .customLong("sequence")],
    help: "Play the files one after another, without gaps.")
  var sequence = false

  @Flag(help: "Play files that follow each other in random order.")
  var shuffle = false

  @Flag(
    name: [.customLong("loop"), .customLong("repeat")],
    help: "Repeat each file, or each sequence, without a gap, until stopped or for --seconds.")
  var loop = false

  @Option(
    help: ArgumentHelp(
      "The format of standard input without a header, such as s16,44100,2 or f32be. Default: 48000 Hz, 2 channels.",
      valueName: "format[,rate[,channels]]"),
    transform: RawFormat.init(parsing:))
  var raw: RawFormat?

  @Option(
    help: ArgumentHelp(
      "Start each file this much later than the previous one, to the frame.",
      valueName: "time"),
    transform: TimeValue.init(parsing:))
  var stagger: TimeValue?

  @Flag(
    help: ArgumentHelp(
      "Follow JACK's transport: play while it rolls, from where it is.",
      discussion: """
        The transport's frame 0 is the beginning of the files. They start on the frame on which the transport \
        rolls, pause when it stops, and move when it is moved. On a terminal, the keys that pause and \
        move control the transport. The command ends with the last frame of the files.
        """))
  var transport = false

  @OptionGroup var replayGain: ReplayGainOptions

  @OptionGroup var client: ClientOptions

  @OptionGroup var output: OutputOptions

  @OptionGroup var report: ReportOptions

  @OptionGroup var remote: RemoteOptions

  @OptionGroup var media: MediaOptions

  @OptionGroup var rendering: RenderOptions

  @Option(
    name: .customLong("plugin"),
    help: ArgumentHelp(
      "Send the sum of all files through an LV2 plugin. Repeatable, in order.",
      discussion: """
        A plugin is named by its URI, by the end of that, as in eg-amp, or by its name, as in "Simple \
        Amplifier". A preset follows after a #, and values of controls after a colon: \
        urn:cuejack:plugins:preset-eq#rock, or eg-amp:gain=-6. file= names the file of convolver and soundfont, \
        also with commas and equal signs in its name. A mono plugin \
        gets an instance for each channel. The output of an instrument is added to the sound. With a \
        plugin, all files share one client. Plugins that use the tempo follow JACK's transport; with \
        --render, it rolls from the start at 120 beats per minute in 4/4. `cuejack plugins` lists the \
        plugins.
        """,
      valueName: "plugin[#preset][:symbol=value,...]"))
  var plugins: [PluginOption] = []

  @OptionGroup var isolation: IsolationOptions

  @OptionGroup var threads: ThreadOptions

  @Option(
    help: ArgumentHelp(
      "With --render, play this Standard MIDI File to the plugins.",
      discussion: """
        Formats 0 and 1, with tempo changes or time code. Notes go to the instruments among the plugins,         controllers also to the controls that --map binds, each on its frame. The rendering ends with the         last event of the file and the last frame of the sound files, which may be left out then: it has         48000 Hz and 24 bits.
        """, valueName: "file"),
    completion: .file(extensions: StandardMIDIFile.extensions))
  var midi: String?

  @Option(
    name: .customLong("soundfont"),
    help: ArgumentHelp(
      "The SoundFont (SF2, SF3 or DLS) for the MIDI files among the files.",
      discussion: """
        FluidSynth plays them with it. Default: the file that CUEJACK_SOUNDFONT names, or the system's \
        General MIDI bank.
        """, valueName: "file"),
    completion: .file(extensions: ["sf2", "sf3", "dls"]))
  var soundFont: String?

  @Option(
    help: ArgumentHelp(
      "Play this much longer after the last frame, for the tail of plugins.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var tail: TimeValue?

  @OptionGroup var controllers: ControllerOptions

  /// The options that may be given once.
  private static let singleOptions = [
    "--volume", "--gain", "--pan", "--rate", "--pitch", "--fade-in", "--fade-out", "--start",
    "--end",
    "--stagger", "--tail", "--midi", "--soundfont", "--render", "--format", "--bits", "--bitrate",
  ]

  func validate() throws {
    try checkOnce(
      Self.singleOptions + ReplayGainOptions.singleOptions + ClientOptions.singleOptions
        + OutputOptions.singleOptions + RemoteOptions.singleOptions,
      same: ["--gain": "--volume"],
      hint: "; for one file, give it behind the file: take.wav@gain=-6dB")
    try check(
      !files.isEmpty || midi != nil && rendering.path != nil,
      "Missing expected argument '<file[@option=value,...]> ...'")
    try check(midi == nil || rendering.path != nil, "--midi is for --render")
    try check(midi == nil || !plugins.isEmpty, "--midi is for --plugin")
    try check(threads.wanted == 1 || !plugins.isEmpty, "--threads is for --plugin")
    try check((-1...1).contains(pan), "--pan takes a number from -1 to 1")
    try check((0.5...2).contains(rate), "--rate takes a number from 0.5 to 2")
    try check((-2400...2400).contains(pitch), "--pitch takes a number from -2400 to 2400")
    try check(
      files.count { $0.path == "-" } <= 1, "standard input (-) can be one of the files only once")
    try check(
      raw == nil || files.contains { PipedFile.isPipe($0.path) },
      "--raw is for standard input (-) and other pipes")
    try check(!sequence || stagger == nil, "--stagger is for files that play together")
    for item in files {
      if sequence, let key = item.options.keysOfRows.first {
        try check(
          false, "\(item.path): with --sequence, \(key) is for all files: give --\(key)")
      }
      let settings = settings.with(item.options)
      let name = item.options.end == nil && item.options.start == nil ? "" : "\(item.path): "
      if let end = settings.end,
        case (.seconds(let start), .seconds(let end)) = (settings.start, end)
      {
        try check(end > start, "\(name)--end takes a time after --start")
      }
      try check(
        !settings.loop || settings.fadeOut.isZero || client.seconds != nil,
        "--fade-out needs an end: give --seconds with --loop")
      try check(
        rendering.path == nil || !settings.loop || client.seconds != nil,
        "--render needs an end: give --seconds with --loop")
    }
    let playsOnly =
      [
        ("--at", client.at != nil), ("--transport", transport),
        ("--server", client.server.name != nil),
        ("--connect", !client.connect.isEmpty), ("--no-connect", client.noConnect),
        ("--no-mpris", !media.isWanted),
        ("--send-to", !output.sendTo.isEmpty),
      ] + (remote.given.map { [($0, true)] } ?? [])
    for (option, isGiven) in playsOnly where isGiven {
      try check(
        rendering.path == nil, "--render needs no server: \(option) makes no sense with it")
    }
    try check(
      rendering.path != "-" || !report.json,
      "--render - writes the sound to standard output: --json makes no sense with it")
    try check(client.at == nil || !transport, "--at and --transport exclude each other")
    try check(!plugins.isEmpty || tail == nil, "--tail is for --plugin")
    try controllers.check(
      plugins: plugins.count, isRendering: rendering.path != nil, playsMIDI: midi != nil)
    try isolation.checkNames(among: plugins)
  }

  func run() throws {
    if report.json { Screen.shared.startEvents() }
    if rendering.path == nil { client.joinPipeWire() }
    let awake = DispatchSemaphore(value: 0)
    let signals = StopSignals { awake.signal() }
    client.log.start()
    if rendering.path == "-" { Screen.shared.leaveStandardOutput() }
    let tracks = files.isEmpty ? [] : try openAll(signals)
    if let path = rendering.path {
      try OfflineSession(self, tracks, to: path).run(signals)
    } else {
      let session = try LiveSession(self, tracks, signals, awake)
      defer { session.close() }
      try session.run()
    }
  }

  /// Whether all files play through one graph: that of the plugins, or of the delay.
  var usesGraph: Bool { !plugins.isEmpty || output.delay != nil }

  /// The plugins with the isolation that the options request.
  var chosenPlugins: [PluginOption] { isolation.marking(plugins) }

  /// The settings for all files.
  private var settings: PlaySettings {
    PlaySettings(
      gain: volume ?? .unity, pan: pan, rate: rate, pitch: pitch, fadeIn: fadeIn ?? .zero,
      fadeOut: fadeOut ?? .zero, start: start ?? .zero, end: end, loop: loop)
  }

  // MARK: Before playing

  /// Opens all files, and reports each that cannot be opened.
  private func openAll(_ signals: StopSignals) throws -> [PlayTrack] {
    var opening = TrackOpening(
      settings, isSequence: sequence, isShuffled: shuffle, raw: raw,
      mayStream: rendering.path == nil, soundFont: soundFont,
      replayGain: replayGain)
    let tracks = try opening.open(files)
    if let signal = signals.received { throw ExitCode(128 + signal) }
    for track in tracks where clip(ofTrack: 0, track).frames == 0 {
      Screen.shared.complain("\(track.source.path): --seconds is shorter than a frame")
      throw ExitCode.failure
    }
    return tracks
  }

  private func clip(ofTrack index: Int, _ track: PlayTrack) -> Clip {
    track.clip(limit: client.seconds, stagger: (stagger ?? .zero, index))
  }

  /// Creates the player of a track.
  ///
  /// - Parameter connections: The connections of its ports, or the graph inputs that it plays into.
  func makePlayer(
    _ index: Int, _ track: PlayTrack, connections: QueueOptions.Connections,
    onEnd: @escaping @Sendable () -> Void
  ) throws -> FilePlayer {
    let path = track.source.path
    let number = index == 0 || client.nameFromFile ? "" : "-\(index + 1)"
    var options = OutputQueue.Options(
      clientName: client.clientName(for: path, usual: Self.clientName) + number,
      connections: connections)
    options.maximumVolume = GainValue.most
    return try telling(track.source) { () throws(QueueError) in
      try FilePlayer(
        track.source, clip(ofTrack: index, track), options: options,
        server: client.jackServer(for: [path]), onFailure: { Screen.shared.complain($0) },
        onEnd: onEnd)
    }
  }

  /// The name of the client without --name.
  static let clientName = "cuejack-play"

  /// Runs `body`. An error is reported with the file's path and ends the command.
  func telling<R>(_ file: any SoundSource, _ body: () throws(QueueError) -> R) throws -> R {
    try client.telling(file.path, cannotBe: "played", body)
  }
}
