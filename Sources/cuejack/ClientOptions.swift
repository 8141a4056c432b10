import ArgumentParser
import AudioQueue
import Server
import Timeline

/// How `cuejack play` and `cuejack record` appear on a server, and from when to when.
struct ClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "When to start: a frame of the server's frame time, or +SECONDS from now.",
      discussion: """
        A frame below 2^32 is one of the server's 32-bit counter, the nearest to now. A frame \
        that is past means at once. Without it: as soon as all is ready.
        """,
      valueName: "frame|+seconds"))
  var at: StartOption?

  @Option(help: "Stop after that many seconds of sound.")
  var seconds: Double?

  @Option(
    help: "The JACK server, which has to run. Without it: the default one, started if need be.")
  var server: String?

  @Option(help: "The client's name.")
  var name = "cuejack"

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Ports to connect with the client's: its first to the first of them, and so on.",
      discussion: "Without it: the sound card's.", valueName: "port"))
  var connect: [String] = []

  @Flag(help: "Connect to nothing.")
  var noConnect = false

  @Flag(help: "Tell more on standard error.")
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

  var jackServer: JackServer { JackServer(named: server) }

  /// Runs `body`; an error of it is told and ends the command.
  ///
  /// - Parameter verb: What cannot be done with the file then, such as "played".
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

/// Ends the command as one that makes no sense, with a message, unless `holds`.
func check(_ holds: Bool, _ message: String) throws {
  if !holds { throw ValidationError(message) }
}

/// What `--at` takes.
enum StartOption: ExpressibleByArgument {
  /// A frame of the server's frame time.
  case frame(Int64)
  /// Seconds from now.
  case after(Double)

  /// More than thirty years; more would not fit into frames.
  static var mostSeconds: Double { 1e9 }

  init?(argument: String) {
    if argument.hasPrefix("+") {
      guard let seconds = Double(argument.dropFirst()), (0...Self.mostSeconds).contains(seconds)
      else { return nil }
      self = .after(seconds)
    } else {
      guard let frame = Int64(argument), frame >= 0 else { return nil }
      self = .frame(frame)
    }
  }

  /// The device frame that is meant.
  ///
  /// - Parameters:
  ///   - now: The device frame now.
  ///   - sampleRate: The device's.
  func deviceFrame(now: Int64, sampleRate: Double) -> Int64 {
    switch self {
    case .after(let seconds): now + Int64((seconds * sampleRate).rounded())
    case .frame(let number) where number < 1 << 32:
      DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: now)
    case .frame(let number): number
    }
  }
}

/// Tells when a server goes away, and when it is back.
struct ServerWatch {
  /// What goes on then, such as "playing".
  let work: String
  private var isGone = false

  init(_ work: String) { self.work = work }

  mutating func note(isGone: Bool, server: String) {
    guard isGone != self.isGone else { return }
    self.isGone = isGone
    if isGone {
      Screen.shared.remark("\(ServerError.lost(server: server)): waiting until it is back")
    } else {
      Screen.shared.remark("the JACK server “\(server)” is back: \(work) goes on")
    }
  }
}
