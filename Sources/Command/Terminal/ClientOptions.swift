import ArgumentParser
import AudioQueue
import FoundationEssentials
import Glibc
import Server
import Timeline

/// Options for the JACK client of `cuejack play` and `cuejack record`, and for its start and
/// duration.
struct ClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Start time: a host time in nanoseconds (123456789ns), +SECONDS from now, or a frame.",
      discussion: """
        Host times are those of the server's clock, as play and record print them. Commands with the same \
        host time start on the same frame. To join a running command, pass the time that it printed: on \
        PipeWire the host time, on jackd the frame. A frame below 2^32 is a value of jackd's 32-bit frame \
        counter, the nearest one to now. A time in the past means at once. By default the command starts \
        as soon as it is ready.
        """,
      valueName: "time|+seconds|frame"))
  var at: StartOption?

  @Option(help: "Stop after this many seconds of sound.")
  var seconds: Double?

  @Option(
    help: "The JACK server, which must be running. Default: started if none runs.",
    completion: .servers)
  var server: String?

  @Option(help: "The name of the JACK client.")
  var name = "cuejack"

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Ports to connect to the client's ports, in order.",
      discussion: "By default the sound card's ports.", valueName: "port"),
    completion: .audioPorts)
  var connect: [String] = []

  @Flag(help: "Connect no ports.")
  var noConnect = false

  @Flag(help: "Print more messages to standard error.")
  var verbose = false

  func validate() throws {
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

  /// Ends the command if `--at` is a frame but other processes count frames differently (PipeWire).
  func checkStart(on queue: some Queue) throws {
    guard case .frame = at, queue.runningDevice?.client.isPipeWire == true else { return }
    Screen.shared.complain(
      "--at: PipeWire has no frame time that programs share; give a host time (123456789ns) or +SECONDS"
    )
    throw ExitCode(64)
  }

  /// The connections of a queue that has ports of its own.
  var connections: OutputQueue.Options.Connections {
    noConnect ? .none : connect.isEmpty ? .physical : .ports(connect)
  }

  var jackServer: JackServer { jackServer(for: []) }

  /// Returns the server for a client that plays or records the files at `paths`.
  func jackServer(for paths: [String]) -> JackServer {
    let names = paths.map { printable(fileName($0)) }.joined(separator: ", ")
    return JackServer(named: server, for: names.isEmpty ? nil : names)
  }

  /// Restarts the command with PipeWire's JACK library if no jackd runs but PipeWire does. Call it
  /// before anything else.
  func joinPipeWire() {
    let mark = "CUEJACK_JOINED_PIPEWIRE"
    guard unsafe getenv(mark) == nil, let launcher = jackServer.launcher,
      let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    else { return }
    Screen.shared.remark("no jackd is running, but PipeWire is: using PipeWire's JACK library")
    let words = [launcher, own] + CommandLine.arguments.dropFirst()
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    unsafe setenv(mark, "1", 1)
    unsafe execv(launcher, &pointers)
    Screen.shared.complain("\(launcher): \(unsafe String(cString: strerror(errno)))")
  }

  /// Runs `body`. Prints its error, if any, and ends the command.
  ///
  /// - Parameter verb: The action that failed, such as "played".
  func telling<R>(
    _ path: String, cannotBe verb: String, _ body: () throws(QueueError) -> R
  ) throws -> R {
    do throws(QueueError) {
      return try body()
    } catch {
      Screen.shared.complain(words(for: error, path, verb))
      throw ExitCode.failure
    }
  }

  private func words(for error: QueueError, _ path: String, _ verb: String) -> String {
    switch error {
    case .cannotStart(let error): "\(error)"
    case .invalidated: "\(ServerError.lost(server: jackServer.name))"
    case .unsupportedFormat: "\(path): this format cannot be \(verb) on this server"
    case .primeTimedOut: "\(path): its samples were not converted in time"
    case .outOfMemory: "\(path): there is no memory for its buffers"
    default: "\(path): cannot be \(verb): \(error)"
    }
  }
}

/// Ends the command with a usage error unless `holds` is true.
func check(_ holds: Bool, _ message: String) throws {
  if !holds { throw ValidationError(message) }
}

/// The value of `--at`.
enum StartOption: ExpressibleByArgument {
  /// A frame in the server's frame time.
  case frame(Int64)
  /// Seconds from now.
  case after(Double)
  /// Nanoseconds of CLOCK_MONOTONIC.
  case hostTime(UInt64)

  /// More than thirty years. Larger values would overflow frame counts.
  static var mostSeconds: Double { 1e9 }

  init?(argument: String) {
    if argument.hasPrefix("+") {
      guard let seconds = Double(argument.dropFirst()), (0...Self.mostSeconds).contains(seconds)
      else { return nil }
      self = .after(seconds)
    } else if argument.hasSuffix("ns") {
      guard let time = UInt64(argument.dropLast(2)), time < 1 << 62 else { return nil }
      self = .hostTime(time)
    } else {
      guard let frame = Int64(argument), frame >= 0 else { return nil }
      self = .frame(frame)
    }
  }

  /// Returns the start on the device of `queue`. Waits until the server carries sound over the
  /// queue's connections.
  func start(on queue: some Queue) throws(QueueError) -> ChosenStart {
    try queue.awaitHeard()
    guard let device = queue.runningDevice else { throw .invalidated }
    let rate = device.client.sampleRate
    let now = device.now
    switch self {
    case .after(let seconds):
      return ChosenStart(frame: now + Int64((seconds * rate).rounded()), on: device)
    case .hostTime(let time):
      return ChosenStart(hostTime: time, on: device)
    case .frame(let number):
      let frame =
        number < 1 << 32 ? DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: now) : number
      return ChosenStart(frame: frame, on: device)
    }
  }
}

/// The start time of a command's queues.
struct ChosenStart {
  /// Start in device frames.
  var frame: Int64
  /// The same time in nanoseconds of CLOCK_MONOTONIC.
  var hostTime: UInt64
  /// True if queues are started by host time: it was given, or other processes count frames
  /// differently.
  var isHostTime: Bool

  init(frame: Int64, on device: Device) {
    self.frame = frame
    hostTime = device.hostTime(ofFrame: frame)
    isHostTime = device.client.isPipeWire
  }

  init(hostTime: UInt64, on device: Device) {
    self.hostTime = hostTime
    frame = device.frame(atHostTime: hostTime)
    isHostTime = true
  }

  /// Returns the start time for a queue that starts `frames` device frames earlier.
  func time(before frames: Int64 = 0, sampleRate: Double) -> StartTime {
    if !isHostTime { return .frame(frame - frames) }
    let lead = UInt64((Double(frames) / sampleRate * 1e9).rounded())
    return .hostTime(hostTime > lead ? hostTime - lead : 0)
  }

  /// Description of the start, with the host time for other commands to join at.
  var words: String { "start frame \(frame), host time \(hostTime)ns" }
}

/// A monitor that reports when a server stops running cycles, why, and when it resumes.
struct ServerWatch {
  /// The activity that resumes, such as "playing".
  let work: String
  private var absence: Absence?

  init(_ work: String) { self.work = work }

  mutating func note(_ absence: Absence?, server: String) {
    // A stalled server may turn out to be gone.
    guard absence != self.absence else { return }
    let before = self.absence
    self.absence = absence
    switch (before, absence) {
    case (_, .serverGone):
      Screen.shared.remark("\(ServerError.lost(server: server)): waiting until it is back")
    case (_, .stalled):
      Screen.shared.remark("the JACK server “\(server)” runs no cycles: waiting until it does")
    case (.rateChange, nil):
      Screen.shared.remark("the JACK server “\(server)” has another sample rate: \(work) goes on")
    case (_, nil):
      Screen.shared.remark("the JACK server “\(server)” is back: \(work) goes on")
    case (_, .rateChange): break
    }
  }
}
