import ArgumentParser
import AudioQueue
import Codecs
import Control
import Dispatch
import Files
import Glibc
import RealTime
import Server
import Sessions
import System
import Timeline

/// `cuejack record`: records to a sound file.
struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Record to a sound file.",
    discussion: """
      The file's extension selects its container: \(SoundFormat.extensions). With -, the sound goes to \
      standard output, and messages go to standard error; FIFOs do as files. Control-C, SIGTERM or SIGHUP \
      end the recording and complete the file. If the command is killed, the file can be opened and \
      lacks at most the last second. A script's shell starts commands behind an & with SIGINT ignored, \
      and they go on ignoring it: end them with SIGTERM, which is what kill sends. Only one recording at \
      a time can be written to a file.

      %n in the name is the next free number, or with --split the number of the file; the conversions of \
      strftime, such as %Y%m%d-%H%M%S, are the time of the file's first frame; %% is a percent sign. WAV \
      and RF64 files of linear PCM have broadcast metadata (bext), with the time of their first frame.

      On a terminal, space pauses and goes on, m sets a marker in files that have markers, and q ends the \
      recording; ? lists the keys. With --pre-roll, --start-on-sound or --transport, the first space starts \
      the recording. `cuejack set CLIENT` and OSC messages do the same and more.

      Inputs that are not connected, lose their connections, or carry nothing but zeros for \
      \(InputWatch.patience) seconds are reported, once, and so is the end of that. The recording goes on.

      Frames that are lost because the disk or the machine was too slow become silence in the file and \
      are counted; the exit code is 1 then. If the JACK server goes away, the command waits for it and goes on recording: silence \
      fills the time in between. If writing fails, the file keeps everything recorded before. A file that \
      --force replaces stays unchanged until the first frame is recorded. The client's name is \
      cuejack-record. --connect takes output ports.

      A file with the extension mid takes MIDI messages: from the port midi_in, which --midi-in connects, \
      each on its frame. It is a Standard MIDI File of format 0, at 120 beats a minute; messages of clocks \
      are left out. --at, --connect, and the options for formats, files and starts are for sound.

      The exit code is 0 if the whole recording was made (without --seconds: until a signal). It is 1 if \
      something failed, even if the file keeps a part, or if --seconds is shorter than a frame; 64 for \
      wrong usage; and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP came before the first \
      frame or before the end of --seconds.
      """
        + examples(
          "cuejack record take.wav                          # until Control-C",
          "cuejack record take.flac --at +2 --seconds 60    # exact to the frame",
          "cuejack record take-%n.wav                       # take-001.wav, then take-002.wav",
          "cuejack record %Y%m%d-%H%M%S.wav --split 1h",
          "cuejack record take-%n.wav --start-on-sound -50dB --pre-roll 2",
          "cuejack record take-%n.wav --start-on-sound -50dB --stop-on-silence -50dB,3 --again",
          "cuejack record take-%n.wav --again --pre-roll 1 --on-close 'rclone copyto {} box:{}'",
          "cuejack record talk.m4a --bitrate 96k --channels 1",
          "cuejack record notes.mid --midi-in system:midi_capture_1",
          "cuejack record - --to flac | ssh host 'cat >take.flac'"))

  @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
  var file: String

  @Option(
    help: ArgumentHelp(
      "The kind of file that goes to - or a FIFO. Default: wav.", valueName: "extension"))
  var to: String?

  @Option(
    name: .customLong("midi-in"),
    help: ArgumentHelp(
      "MIDI port that a MIDI file records. Repeatable.",
      discussion: "A port, a client, a glob or a regular expression, as for --connect.",
      valueName: "port"),
    completion: .midiPorts(sending: true))
  var midiInputs: [String] = []

  @OptionGroup var take: TakeOptions

  @OptionGroup var coding: CodingOptions

  @OptionGroup var client: ClientOptions

  @OptionGroup var report: ReportOptions

  @OptionGroup var remote: RemoteOptions

  @Flag(help: "Replace an existing file.")
  var force = false

  func validate() throws {
    try checkOnce(
      ClientOptions.singleOptions + TakeOptions.singleOptions + RemoteOptions.singleOptions
        + ["--to", "--format", "--rate", "--channels", "--bits", "--bitrate"])
    try OutputTarget.checkKind(to)
    try OutputTarget.checkTerminal(file)
    if PipedFile.isPipe(file) {
      let several = [
        ("--split", take.split != nil), ("--again", take.again),
        ("--channels-apart", take.channelsApart),
      ]
      for (option, isGiven) in several {
        try check(!isGiven, "\(option) makes several files: a pipe takes one")
      }
      try check(!report.json || file != "-", "--json and - both need standard output")
    } else {
      try check(to == nil, "--to is for - and other pipes")
    }
    try take.check(with: client)
    _ = try take.names(for: file)
    guard isMIDI else {
      return try check(midiInputs.isEmpty, "--midi-in is for MIDI files, such as notes.mid")
    }
    let others =
      [
        ("--at", client.at != nil), ("--connect", !client.connect.isEmpty),
        ("--no-connect", client.noConnect), ("--split", take.split != nil),
        ("--pre-roll", take.preRoll != nil), ("--start-on-sound", take.startOnSound != nil),
        ("--transport", take.transport), ("--format", coding.format != nil),
        ("--rate", coding.rate != nil), ("--channels", coding.channels != nil),
        ("--bits", coding.bits != nil), ("--bitrate", coding.bitrate != nil),
        ("--stop-on-silence", take.stopOnSilence != nil), ("--gain", take.gain != nil),
        ("--channels-apart", take.channelsApart), ("--on-open", take.onOpen != nil),
        ("--on-close", take.onClose != nil),
      ] + (remote.given.map { [($0, true)] } ?? [])
    for (option, isGiven) in others { try check(!isGiven, "\(option) is not for MIDI files") }
  }

  private var isMIDI: Bool {
    StandardMIDIFile.extensions.contains { file.lowercased().hasSuffix(".\($0)") }
  }

  func run() throws {
    if report.json { Screen.shared.startEvents() }
    if file == "-" { Screen.shared.leaveStandardOutput() }
    client.joinPipeWire()
    let awake = DispatchSemaphore(value: 0)
    let signals = StopSignals { awake.signal() }
    client.log.start()
    if isMIDI {
      return try MIDIRecording(file, from: midiInputs, client, isReplacing: force).run(
        signals, awake)
    }
    let names = try take.names(for: take.template(file, channel: 1))
    let (kind, claim) = try telling(signals) { () throws(SoundFileError) in
      let kind = try SoundFormat(
        path: OutputTarget.formatName(file, to), coding, pcm: .pcm(.signedInteger, bits: 24),
        losslessBits: 24)
      // Check first that the file can be written.
      if PipedFile.isPipe(file) {
        // Whether the pipe gets the sound as it comes depends on container and codec only.
        let pipe = try PipeOutput(
          file, kind.stream(sampleRate: 48000, channels: 2), in: kind.container)
        return (kind, RecordingParts.Claim(pipe))
      }
      return (
        kind,
        try RecordingParts.Claim(names, isSplit: take.split != nil, isReplacing: force)
      )
    }
    defer { withExtendedLifetime(claim) {} }
    if let signal = signals.received { throw ExitCode(128 + signal) }

    let found = try client.findConnections(.output, signals)
    defer { found.close() }
    let recorder = try telling { () throws(QueueError) in
      try makeRecorder(kind, found) { awake.signal() }
    }
    defer { recorder.close() }
    recorder.gain = take.gain?.factor ?? 1
    let channels = recorder.queue.format.channels
    let rate = recorder.queue.format.sampleRate
    let limit = client.seconds?.frames(at: rate)
    if limit == 0 {
      Screen.shared.complain("\(file): --seconds is shorter than a frame")
      throw ExitCode.failure
    }
    let split = try take.split(of: file, at: rate)
    let start = try telling { () throws(QueueError) in
      try recorder.prepare()
      found.close()
      client.at?.tellWait(of: file)
      client.show(recorder.queue, recorder.queue.statistics.portNames, claim.name ?? file)
      return try client.at?.start(on: recorder.queue)
    }
    try client.checkStart(on: recorder.queue)
    let stream = kind.stream(sampleRate: rate, channels: take.channelsApart ? 1 : channels)
    tellOfRoles(stream, in: kind.container, of: claim.name ?? file)
    let encoding = PacketEncoder.Options(bitRate: coding.bitrate?.bitsPerSecond)
    let latest = LatestPart()
    let commands = FileCommands()
    let recordings = try (1...(take.channelsApart ? channels : 1)).map { channel in
      let names = try take.names(for: take.template(file, channel: channel))
      return try telling { () throws(SoundFileError) in
        let claim =
          channel == 1
          ? claim
          : try RecordingParts.Claim(names, isSplit: take.split != nil, isReplacing: force)
        return try RecordingParts(
          RecordingParts.Options(
            names, split: split, isReplacing: force, program: programName,
            onMessage: { Screen.shared.remark($0) },
            onOpen: { commands.run(take.onOpen, for: $0) },
            onPart: { part in
              if channel == 1 { latest.path = part.path }
              tell(part, at: rate)
              commands.run(take.onClose, for: part.path)
            }
          ),
          claim
        ) { path throws(SoundFileError) in
          try SoundWriter.Plan(
            path, container: kind.container, format: stream, encoding: encoding)
        }
      }
    }
    let recording = recordings[0]
    if let signal = signals.received { throw ExitCode(128 + signal) }
    announce(recorder, recording, start)
    let monitor = RecordMonitor(
      recording, latest, recorder,
      measuresLoudness: report.measuresLoudness(channels: recorder.queue.format.channels))
    let trigger = take.trigger(at: rate)
    let output: any RecordingOutput =
      take.channelsApart ? ChannelFiles(recordings, recorder.queue.format) : recording
    try telling { () throws(QueueError) in
      let deviceRate = try recorder.queue.deviceSampleRate()
      let time = start?.time(sampleRate: deviceRate) ?? .atOnce
      try recorder.start(
        output, at: time, limit: limit, trigger: trigger, observer: monitor.meter)
    }
    if trigger?.hasBegun == false {
      Screen.shared.say(take.waitingWords(isTerminal: Screen.shared.isTerminal))
    }

    monitor.emitStart(start)
    let keys = RecordKeys(recorder, output, recordings, trigger, start)
    let remote = recorder.queue.runningDevice.flatMap { device in
      let controls = RecordControls(keys: keys, recorder: recorder, monitor: monitor)
      return CommandRemote(
        self.remote,
        RemoteReport.Origin(
          .record, client: device.client.name, server: device.client.serverName, path: file), awake
      ) { controls.all(on: device) }
    }
    awaitEnd(of: recorder, recordings, keys, monitor, remote, signals, awake)
    remote?.end()
    let signal = recorder.isOver || keys.isAskedToQuit ? nil : signals.received
    recorder.stop()
    Screen.shared.draw([])
    defer { commands.waitUntilIdle() }
    try monitor.emittingEnd {
      let hasOthers = finishOthers(recordings.dropFirst(), commands)
      try finish(recorder, recording, monitor, commands, stoppedBy: signal)
      if !hasOthers { throw ExitCode.failure }
    }
  }

  // MARK: Before recording

  /// Creates a recorder at the requested rate, or at the device's if the file format supports that.
  private func makeRecorder(
    _ kind: SoundFormat, _ found: FoundConnections, onEvent: @escaping @Sendable () -> Void
  ) throws(QueueError) -> FileRecorder {
    let options = InputQueue.Options(
      clientName: client.clientName(for: file, usual: "cuejack-record"),
      connections: found.connections)
    let usual = min(found.count ?? 2, PCMFormat.maximumChannels)
    let channels =
      coding.channels ?? (take.channelsApart ? usual : kind.usableChannels(for: usual))
    func recorder(_ rate: Double) throws(QueueError) -> FileRecorder {
      var format = kind.stream(sampleRate: rate, channels: take.channelsApart ? 1 : channels)
        .decoded
      format.channels = channels
      return try FileRecorder(
        format, options: options,
        server: client.jackServer(for: [file]), onFailure: { Screen.shared.complain($0) },
        onEvent: onEvent)
    }
    let first = try recorder(coding.rate ?? 0)
    let rate = kind.usableRate(for: first.queue.format.sampleRate)
    if coding.rate != nil || rate == first.queue.format.sampleRate { return first }
    first.close()
    return try recorder(rate)
  }

  /// Runs `body`. Prints its error, if any, and ends the command.
  private func telling<R>(
    _ signals: StopSignals? = nil, _ body: () throws(SoundFileError) -> R
  ) throws -> R {
    do throws(SoundFileError) {
      return try body()
    } catch {
      // A signal ends the wait for a pipe.
      if let signal = signals?.received { throw ExitCode(128 + signal) }
      Screen.shared.complain("\(error)")
      if error.kind == .exists { Screen.shared.remark("--force replaces it") }
      OutputTarget.adviseKind(error, file, to)
      throw ExitCode.failure
    }
  }

  private func telling<R>(_ body: () throws(QueueError) -> R) throws -> R {
    try client.telling(file, cannotBe: "recorded", body)
  }

  private func announce(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ start: ChosenStart?
  ) {
    let plan = recording.plan
    let statistics = recorder.queue.statistics
    let start = start.map { ", \($0.words)" } ?? ""
    Screen.shared.say(
      "\(recording.path): server \(statistics.serverName), client \(statistics.clientName), "
        + "\(plan.container): \(plan.format.summary)\(start)")
    // Other programs may have made some.
    let client = recorder.queue.runningDevice?.client
    for (port, connections) in zip(statistics.portNames, statistics.connections) {
      let others = client?.connections(of: port) ?? connections
      Screen.shared.say("  \(listed(others)) -> \(statistics.clientName):\(port)")
    }
  }

  // MARK: While recording

  /// Waits until the recording is complete, a signal arrives, or a key ends it. Shows the progress.
  private func awaitEnd(
    of recorder: FileRecorder, _ recordings: [RecordingParts], _ keys: RecordKeys,
    _ monitor: RecordMonitor, _ remote: CommandRemote?, _ signals: StopSignals,
    _ awake: DispatchSemaphore
  ) {
    let serverName = recorder.queue.statistics.serverName
    var watch = ServerWatch("recording")
    var inputs = InputWatch(recorder)
    CommandWait(signals: signals, awake: awake).run {
      remote?.serve()
      guard !recorder.isOver, !keys.isAskedToQuit, recordings.allSatisfy(isThere) else {
        return nil
      }
      watch.note(recorder.queue.loss, server: serverName)
      keys.followClock()
      inputs.look()
      return CommandWait.interval
    } press: {
      keys.press($0)
    } show: {
      keys.tellStart()
      monitor.update(keys.givenStart)
      guard Screen.shared.isTerminal else { return }
      var shown = monitor.progress(keys.givenStart)
      if keys.isWaiting { shown.name = "(waiting) \(shown.name)" }
      if keys.isPaused { shown.name = "(paused) \(shown.name)" }
      let size = Screen.shared.size
      Screen.shared.draw(
        shown.lines(columns: size.columns, rows: size.rows, isColored: Screen.shared.isColored))
    }
    keys.tellStart()
  }

  private func isThere(_ recording: RecordingParts) -> Bool {
    let store = recording.store
    do throws(SoundFileError) {
      try store?.checkPresence()
      return true
    } catch {
      // --on-close may have moved a file that has been completed meanwhile.
      if recording.store !== store { return true }
      Screen.shared.complain("\(error)")
      return false
    }
  }
}
