import ArgumentParser
import AudioQueue
import Codecs
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
    abstract: "Record to a sound file.",
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
      the recording.

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

  @Flag(help: "Replace an existing file.")
  var force = false

  func validate() throws {
    try checkOnce(
      ClientOptions.singleOptions + TakeOptions.singleOptions
        + ["--to", "--format", "--rate", "--channels", "--bits", "--bitrate"])
    try OutputTarget.checkKind(to)
    try OutputTarget.checkTerminal(file)
    if PipedFile.isPipe(file) {
      try check(take.split == nil, "--split makes several files: a pipe takes one")
      try check(!report.json || file != "-", "--json and - both need standard output")
    } else {
      try check(to == nil, "--to is for - and other pipes")
    }
    try take.check(with: client)
    _ = try take.names(for: file)
    guard isMIDI else {
      return try check(midiInputs.isEmpty, "--midi-in is for MIDI files, such as notes.mid")
    }
    let others = [
      ("--at", client.at != nil), ("--connect", !client.connect.isEmpty),
      ("--no-connect", client.noConnect), ("--split", take.split != nil),
      ("--pre-roll", take.preRoll != nil), ("--start-on-sound", take.startOnSound != nil),
      ("--transport", take.transport), ("--format", coding.format != nil),
      ("--rate", coding.rate != nil), ("--channels", coding.channels != nil),
      ("--bits", coding.bits != nil), ("--bitrate", coding.bitrate != nil),
    ]
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
    let names = try take.names(for: file)
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
      client.at?.awaitLastSecond(of: file, signals)
      client.show(recorder.queue, recorder.queue.statistics.portNames, claim.name ?? file)
      return try client.at?.start(on: recorder.queue)
    }
    try client.checkStart(on: recorder.queue)
    let stream = kind.stream(sampleRate: rate, channels: recorder.queue.format.channels)
    tellOfRoles(stream, in: kind.container, of: claim.name ?? file)
    let encoding = PacketEncoder.Options(bitRate: coding.bitrate?.bitsPerSecond)
    let latest = LatestPart()
    let recording = try telling { () throws(SoundFileError) in
      try RecordingParts(
        RecordingParts.Options(
          names, split: split, isReplacing: force, program: programName,
          onMessage: { Screen.shared.remark($0) },
          onPart: { part in
            latest.path = part.path
            tell(part, at: rate)
          }
        ),
        claim
      ) { path throws(SoundFileError) in
        try SoundWriter.Plan(
          path, container: kind.container, format: stream, encoding: encoding)
      }
    }
    if let signal = signals.received { throw ExitCode(128 + signal) }
    announce(recorder, recording, start)
    let monitor = RecordMonitor(
      recording, latest, recorder,
      measuresLoudness: report.measuresLoudness(channels: recorder.queue.format.channels))
    let trigger = take.trigger(at: rate)
    try telling { () throws(QueueError) in
      let deviceRate = try recorder.queue.deviceSampleRate()
      let time = start?.time(sampleRate: deviceRate) ?? .atOnce
      try recorder.start(
        recording, at: time, limit: limit, trigger: trigger, observer: monitor.meter)
    }
    if trigger != nil { Screen.shared.say(take.waitingWords(isTerminal: Screen.shared.isTerminal)) }

    monitor.emitStart(start)
    let keys = RecordKeys(recorder, recording, trigger, start)
    awaitEnd(of: recorder, recording, start, keys, monitor, signals, awake)
    let signal = recorder.isOver || keys.isAskedToQuit ? nil : signals.received
    recorder.stop()
    Screen.shared.draw([])
    try monitor.emittingEnd { try finish(recorder, recording, monitor, stoppedBy: signal) }
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
    let channels = coding.channels ?? kind.usableChannels(for: usual)
    func recorder(_ rate: Double) throws(QueueError) -> FileRecorder {
      try FileRecorder(
        kind.stream(sampleRate: rate, channels: channels).decoded, options: options,
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
    of recorder: FileRecorder, _ recording: RecordingParts, _ start: ChosenStart?,
    _ keys: RecordKeys, _ monitor: RecordMonitor,
    _ signals: StopSignals, _ awake: DispatchSemaphore
  ) {
    let serverName = recorder.queue.statistics.serverName
    var watch = ServerWatch("recording")
    var inputs = InputWatch(recorder)
    CommandWait(signals: signals, awake: awake).run {
      guard !recorder.isOver, !keys.isAskedToQuit, isThere(recording.store) else { return nil }
      watch.note(recorder.queue.loss, server: serverName)
      inputs.look()
      return 0.1
    } press: {
      keys.press($0)
    } show: {
      keys.tellStart()
      monitor.update(start)
      guard Screen.shared.isTerminal else { return }
      var shown = monitor.progress(start)
      if keys.isWaiting { shown.name = "(waiting) \(shown.name)" }
      if keys.isPaused { shown.name = "(paused) \(shown.name)" }
      let size = Screen.shared.size
      Screen.shared.draw(
        shown.lines(columns: size.columns, rows: size.rows, isColored: Screen.shared.isColored))
    }
    keys.tellStart()
  }

  private func isThere(_ store: FileStore?) -> Bool {
    do throws(SoundFileError) {
      try store?.checkPresence()
      return true
    } catch {
      Screen.shared.complain("\(error)")
      return false
    }
  }

  // MARK: After recording

  /// Completes the file, prints a summary, and throws the exit code if it is not 0.
  private func finish(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ monitor: RecordMonitor,
    stoppedBy signal: CInt?
  ) throws {
    guard let writer = recording.writer else {
      let parts = recording.completedParts
      if parts > 0 {
        return try end(recorder, recording, monitor, files: parts, stoppedBy: signal)
      }
      let old = recording.holdsOldFile ? "; the old file is as it was" : ""
      Screen.shared.say("\(recording.path): nothing was recorded\(old)")
      if recorder.hasFailed { throw ExitCode.failure }
      if let signal { throw ExitCode(128 + signal) }
      return
    }
    let file = recording.path
    let isPipe = PipedFile.isPipe(self.file)
    var failed = recorder.hasFailed
    do throws(SoundFileError) {
      try recording.finish()
    } catch {
      Screen.shared.complain("\(error)")
      failed = true
    }
    var kept = file
    switch recording.store.map(RecordingRescue.init) {
    case .notNeeded?, nil: break
    case .copied(let path, _)?:
      Screen.shared.remark("what was recorded is kept in \(path)")
      kept = path
      failed = true
    case .lost?:
      Screen.shared.complain("\(file): what was recorded could not be kept")
      throw ExitCode.failure
    }
    // If the file could not be completed, only frames that can be read back count.
    let found = failed && !isPipe ? readableFrames(kept) : writer.frames
    guard let frames = found, frames > 0 else {
      if found == 0 || recorder.frames == 0 { recording.store?.remove() }
      Screen.shared.say("\(file): nothing was recorded")
      throw ExitCode.failure
    }
    let size = (try? recording.byteCount) ?? 0
    if take.split == nil {
      Screen.shared.say(
        "\(kept): \(summary(of: recorder, frames: frames)), \(byteCount(size))\(monitor.words)")
      monitor.noteEnd(kept, frames: frames, bytes: size)
    } else {
      let part = RecordingParts.Part(
        path: kept, frames: frames, firstFrame: recording.partStart, bytes: size)
      tell(part, at: recorder.queue.format.sampleRate)
    }
    if failed { throw ExitCode.failure }
    try end(
      recorder, recording, monitor, files: recording.completedParts + 1, stoppedBy: signal)
  }

  /// Prints a summary of all files of a recording, and throws the exit code if it is not 0.
  private func end(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ monitor: RecordMonitor, files: Int,
    stoppedBy signal: CInt?
  ) throws {
    if take.split != nil {
      let frames = recording.frames
      Screen.shared.say(
        "\(files) file\(files == 1 ? "" : "s"): \(summary(of: recorder, frames: frames))\(monitor.words)"
      )
      monitor.noteEnd(monitor.path, frames: frames, bytes: nil)
    }
    let hasLosses = recorder.overruns > 0 && recorder.silentFrames > 0
    if recorder.hasFailed || hasLosses { throw ExitCode.failure }
    if let signal, client.seconds != nil { throw ExitCode(128 + signal) }
  }

  private func summary(of recorder: FileRecorder, frames: Int64) -> String {
    let seconds = Double(frames) / recorder.queue.format.sampleRate
    let silence =
      recorder.silentFrames > 0 ? " (\(recorder.silentFrames) frames of silence)" : ""
    let begin = recorder.firstDeviceFrame.map { " from frame \($0)" } ?? ""
    return "recorded \(frames) frames (\(exactClock(seconds)))\(begin); "
      + "overruns: \(recorder.overruns)\(silence)"
  }

  /// Returns the valid frames of a file; prints an error and returns nil if it cannot be opened.
  private func readableFrames(_ path: String) -> Int64? {
    do throws(SoundFileError) {
      return try MediaFiles.open(path: path).frameCount
    } catch {
      Screen.shared.complain("\(error)")
      return nil
    }
  }
}

/// Tells of a complete file of a recording that goes on, or has ended. Any thread.
private func tell(_ part: RecordingParts.Part, at rate: Double) {
  Screen.shared.say(part.words(at: rate))
  Screen.shared.emit(
    FileEvent(
      file: part.path, firstFrame: part.firstFrame, frames: part.frames, bytes: part.bytes))
}
