import ArgumentParser
import AudioQueue
import Codecs
import Dispatch
import Files
import Glibc
import RealTime
import Server
import Timeline

/// `cuejack record`: records to a sound file.
struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Record to a sound file.",
    discussion: """
      The name's end says which kind of file: \(SoundFormat.extensions). Control-C, SIGTERM or SIGHUP \
      end the recording; the file is complete then. Should the command be killed, the file can be opened \
      and has all but the last second.

      Frames that are lost, because the disk was too slow for too long or the machine too busy, are \
      silence in the file and are counted. If the JACK server goes away, the command waits until it is \
      back, and goes on: silence stands for the time between. If the file cannot be written any more, \
      what has been recorded until then is kept.

      The exit code is 0 when everything was recorded that was asked for (without --seconds: until a \
      signal), 1 when something failed, 64 when the command makes no sense, and 130, 143 or 129 when \
      SIGINT (Control-C), SIGTERM or SIGHUP came before the recording began or before --seconds were \
      over.
      """)

  @Argument(help: ArgumentHelp("The file to write.", valueName: "file"))
  var file: String

  @OptionGroup var coding: CodingOptions

  @Option(help: ArgumentHelp("Record that much sound.", valueName: "seconds"))
  var seconds: Double?

  @Option(
    help: ArgumentHelp(
      "When to start: a frame of the server's frame time, or +SECONDS from now.",
      discussion: """
        A frame below 2^32 is one of the server's 32-bit counter, the nearest to now. A frame \
        that is past means at once. Without it: at once.
        """,
      valueName: "frame|+seconds"))
  var at: StartOption?

  @Option(
    help: "The JACK server, which has to run. Without it: the default one, started if need be.")
  var server: String?

  @Option(help: "The client's name.")
  var name = "cuejack"

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Output ports to connect from: the first to the first channel, and so on.",
      discussion: "Without it: the sound card's.", valueName: "port"))
  var connect: [String] = []

  @Flag(help: "Connect to nothing.")
  var noConnect = false

  @Flag(help: "Replace the file if there is one.")
  var force = false

  @Flag(help: "Tell more on standard error.")
  var verbose = false

  func validate() throws {
    func check(_ holds: Bool, _ message: String) throws {
      if !holds { throw ValidationError(message) }
    }
    if let seconds {
      try check(
        seconds > 0 && seconds <= StartOption.mostSeconds,
        "--seconds takes a number greater than 0")
    }
    try check(
      !name.isEmpty && name.utf8.count <= 59 && !name.contains(":"),
      "--name takes 1 to 59 bytes without a colon")
    try check(server.map { !$0.isEmpty && !$0.contains("/") } ?? true, "--server takes a name")
    try check(connect.isEmpty || !noConnect, "--connect and --no-connect exclude each other")
  }

  func run() throws {
    let awake = DispatchSemaphore(value: 0)
    let signals = StopSignals { awake.signal() }
    CommandLog.bootstrap(isVerbose: verbose)
    let (kind, place) = try telling { () throws(SoundFileError) in
      let kind = try SoundFormat(
        path: file, coding: coding.format, pcm: .pcm(.signedInteger, bits: 24))
      // Before anything else: what cannot be written need not be recorded.
      return (kind, try ClaimedPlace(file, isReplacing: force))
    }
    defer { withExtendedLifetime(place) {} }
    if let signal = signals.received { throw ExitCode(128 + signal) }

    let recorder = try telling { () throws(QueueError) in
      try makeRecorder(kind) { awake.signal() }
    }
    defer { recorder.close() }
    let start = try telling { () throws(QueueError) in
      try recorder.prepare()
      return try startTime(on: recorder.queue)
    }
    let rate = recorder.queue.format.sampleRate
    let (store, writer) = try telling { () throws(SoundFileError) in
      let plan = try SoundWriter.Plan(
        file, container: kind.container,
        format: kind.stream(sampleRate: rate, channels: channels, bits: coding.bits ?? 24),
        encoding: PacketEncoder.Options(bitRate: coding.bitrate?.bitsPerSecond))
      let store = try FileStore(creating: file, isReplacing: true)
      return (store, try SoundWriter(store, plan))
    }
    if let signal = signals.received {
      store.remove()
      throw ExitCode(128 + signal)
    }
    announce(recorder, writer, start)
    recorder.queue.isMetering = Screen.shared.isTerminal
    try telling { () throws(QueueError) in
      try recorder.start(
        writer, at: start.time, limit: seconds.map { Int64(($0 * rate).rounded()) })
    }

    let serverName = recorder.queue.statistics.serverName
    var isGone = false
    while signals.received == nil, !recorder.isOver, isThere(store) {
      if recorder.queue.isLost != isGone {
        isGone.toggle()
        tellOfServer(serverName, isGone: isGone)
      }
      if Screen.shared.isTerminal {
        let line = progress(of: recorder, start, store).line(columns: Screen.shared.size.columns)
        Screen.shared.draw([line])
      }
      _ = awake.wait(timeout: .now() + .milliseconds(100))
    }
    let signal = recorder.isOver ? nil : signals.received
    recorder.stop()
    Screen.shared.draw([])
    try finish(recorder, writer, store, stoppedBy: signal)
  }

  private var channels: Int { coding.channels ?? (connect.isEmpty ? 2 : connect.count) }

  private var options: InputQueue.Options {
    InputQueue.Options(
      clientName: name,
      connections: noConnect ? .none : connect.isEmpty ? .physicalInputs : .ports(connect))
  }

  // MARK: Before

  /// A recorder at the rate that was asked for, or the device's if the file can have that.
  private func makeRecorder(_ kind: SoundFormat, onEvent: @escaping @Sendable () -> Void)
    throws(QueueError) -> FileRecorder
  {
    func recorder(_ rate: Double) throws(QueueError) -> FileRecorder {
      try FileRecorder(
        kind.input(sampleRate: rate, channels: channels), options: options,
        server: JackServer(named: server), onEvent: onEvent)
    }
    let first = try recorder(coding.rate ?? 0)
    let rate = kind.usableRate(for: first.queue.format.sampleRate)
    if coding.rate != nil || rate == first.queue.format.sampleRate { return first }
    first.close()
    return try recorder(rate)
  }

  /// Runs `body`; an error of it is told and ends the command.
  private func telling<R>(_ body: () throws(SoundFileError) -> R) throws -> R {
    do throws(SoundFileError) {
      return try body()
    } catch {
      Screen.shared.complain("\(error)")
      if error.kind == .exists { Screen.shared.remark("--force replaces it") }
      throw ExitCode.failure
    }
  }

  private func telling<R>(_ body: () throws(QueueError) -> R) throws -> R {
    do throws(QueueError) {
      return try body()
    } catch {
      Screen.shared.complain(words(for: error))
      throw ExitCode.failure
    }
  }

  private func words(for error: QueueError) -> String {
    switch error {
    case .cannotStart(let error): "\(error)"
    case .invalidated: "\(ServerError.lost(server: JackServer(named: server).name))"
    case .unsupportedFormat: "\(file): this format cannot be recorded from this server"
    case .outOfMemory: "\(file): there is no memory for its buffers"
    default: "\(file): cannot be recorded: \(error)"
    }
  }

  /// When recording begins.
  private struct Start {
    var time = StartTime.atOnce
    /// The device frame that was asked for.
    var frame: Int64?
  }

  private func startTime(on queue: InputQueue) throws(QueueError) -> Start {
    guard let at else { return Start() }
    guard let now = queue.deviceTime?.frame else { throw .invalidated }
    let frame =
      switch at {
      case .after(let seconds): now + Int64((seconds * (try queue.deviceSampleRate())).rounded())
      case .frame(let number) where number < 1 << 32:
        DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: now)
      case .frame(let number): number
      }
    return Start(time: .frame(frame), frame: frame)
  }

  private func announce(_ recorder: FileRecorder, _ writer: SoundWriter, _ start: Start) {
    let statistics = recorder.queue.statistics
    let frame = start.frame.map { ", start frame \($0)" } ?? ""
    Screen.shared.say(
      "\(file): server \(statistics.serverName), client \(statistics.clientName), "
        + "\(writer.file.container): \(writer.file.format.words)\(frame)")
    for (port, connections) in zip(statistics.portNames, statistics.connections) {
      let there = connections.isEmpty ? "not connected" : connections.joined(separator: ", ")
      Screen.shared.say("  \(there) -> \(statistics.clientName):\(port)")
    }
  }

  // MARK: Meanwhile

  private func isThere(_ store: FileStore) -> Bool {
    do throws(SoundFileError) {
      try store.checkPresence()
      return true
    } catch {
      Screen.shared.complain("\(error)")
      return false
    }
  }

  private func tellOfServer(_ name: String, isGone: Bool) {
    if isGone {
      Screen.shared.remark("\(ServerError.lost(server: name)): waiting until it is back")
    } else {
      Screen.shared.remark("the JACK server “\(name)” is back: recording goes on")
    }
  }

  private func progress(of recorder: FileRecorder, _ start: Start, _ store: FileStore)
    -> RecordingProgress
  {
    let queue = recorder.queue
    var position = Double(recorder.frames) / queue.format.sampleRate
    if recorder.frames == 0, let frame = start.frame, let now = queue.deviceTime?.frame {
      position = min(0, Double(now - frame) / queue.format.sampleRate)
    }
    return RecordingProgress(
      name: printable(file.split(separator: "/").last.map(String.init) ?? file),
      position: position, size: (try? store.byteCount()) ?? 0, overruns: recorder.overruns,
      peaks: queue.takePeaks())
  }

  // MARK: Afterwards

  /// Completes the file, says what was recorded, and throws the exit code if it is not 0.
  private func finish(
    _ recorder: FileRecorder, _ writer: SoundWriter, _ store: FileStore, stoppedBy signal: CInt?
  ) throws {
    var failed = recorder.hasFailed
    do throws(SoundFileError) {
      try writer.close()
    } catch {
      Screen.shared.complain("\(error)")
      failed = true
    }
    let statistics = recorder.queue.statistics
    guard recorder.frames > 0 else {
      store.remove()
      Screen.shared.say("\(file): nothing was recorded")
      throw failed ? ExitCode.failure : ExitCode(128 + (signal ?? 0))
    }
    var place = file
    if let copy = rescue(store) {
      place = copy
      failed = true
    }
    let size = (try? store.byteCount()) ?? 0
    let frames = max(0, writer.frames)
    let seconds = Double(frames) / recorder.queue.format.sampleRate
    let silence =
      recorder.silentFrames > 0 ? " (\(recorder.silentFrames) frames of silence)" : ""
    let begin = statistics.beganAt.map { " from frame \($0)" } ?? ""
    Screen.shared.say(
      "\(place): recorded \(frames) frames (\(exactClock(seconds)))\(begin); "
        + "overruns: \(recorder.overruns)\(silence), \(byteCount(size))")
    if failed { throw ExitCode.failure }
    if let signal, self.seconds != nil { throw ExitCode(128 + signal) }
  }
}

/// Copies a file that was deleted while it was written to where it was, or else to the folder for
/// temporary files, and says where.
///
/// - Returns: The copy's path; nil if the file is there, or cannot be copied.
private func rescue(_ store: FileStore) -> String? {
  do throws(SoundFileError) {
    try store.checkPresence()
    return nil
  } catch {}
  let name = store.name.split(separator: "/").last.map(String.init) ?? store.name
  let folder = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
  for place in [store.name, "\(folder)/\(name)", "\(folder)/\(getpid())-\(name)"] {
    do throws(SoundFileError) {
      let copy = try FileStore(creating: place, isReplacing: false)
      do throws(SoundFileError) {
        try copy.copyBytes(of: store)
      } catch {
        copy.remove()
        throw error
      }
      Screen.shared.remark("what was recorded is kept in \(place)")
      return place
    } catch {
      continue
    }
  }
  Screen.shared.complain("\(store.name): what was recorded could not be kept")
  return nil
}

extension FileStore {
  /// Copies all of another store. Blocks.
  fileprivate func copyBytes(of other: FileStore) throws(SoundFileError) {
    let count = try other.byteCount()
    var offset: Int64 = 0
    while offset < count {
      let size = Int(min(1 << 20, count - offset))
      guard let bytes = try other.bytes(at: offset, count: size) else { break }
      try write(bytes, at: offset)
      offset += Int64(size)
    }
    try synchronize()
  }
}
