import ArgumentParser
import AudioQueue
import FoundationEssentials
import Glibc
import Server
import System

/// Options for the JACK client of `cuejack play` and `cuejack record`, and for its start and
/// duration.
struct ClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Start time: +TIME from now, a time of UTC or TAI, a host time (123456789ns), or a frame.",
      discussion: """
        Several machines start together at a time such as 2026-11-28T22:15:00.25Z, with +01:00 or TAI in place \
        of Z, as far as chrony or PTP keeps their clocks together. \
        Host times, in nanoseconds, are those of the server's clock, as play and record print them. Commands with the same \
        host time start on the same frame. To join a running command, pass the time that it printed: on \
        PipeWire the host time, on jackd the frame. A frame below 2^32 is a value of jackd's 32-bit frame \
        counter, the nearest one to now. A time in the past means at once. By default the command starts \
        as soon as it is ready.
        """,
      valueName: "+time|time|frame"))
  var at: StartOption?

  @Option(
    help: ArgumentHelp("Stop after this much sound: \(TimeValue.forms).", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var seconds: TimeValue?

  @OptionGroup var server: ServerOption

  @Option(help: "The name of the JACK client. Default: cuejack- and the subcommand.")
  var name: String?

  @Flag(help: "Name the client of each file after the file.")
  var nameFromFile = false

  @Option(
    help: ArgumentHelp(
      "Ports to connect to the client's ports, in order. Repeatable.",
      discussion: """
        A port, a client for all of its ports in this direction, a glob (system:playback_*) or a regular \
        expression for whole port names (system:playback_[12]). Commas separate several. If nothing has the \
        name, the command lists the ports. By default the sound card's ports are connected.
        """, valueName: "port|client|pattern"),
    completion: .audioPorts)
  var connect: [String] = []

  @Option(
    help: ArgumentHelp("Wait up to this long for the ports of --connect.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var connectWait: TimeValue?

  @Flag(help: "Connect no ports.")
  var noConnect = false

  @OptionGroup var log: LogOption

  /// The options that may be given once.
  static let singleOptions = ["--at", "--seconds", "--server", "--name", "--connect-wait"]

  func validate() throws {
    try check(seconds?.isZero != true, "--seconds takes a time greater than 0")
    try checkClientName(name)
    try check(connect.isEmpty || !noConnect, "--connect and --no-connect exclude each other")
    try check(name == nil || !nameFromFile, "--name and --name-from-file exclude each other")
    try check(connect.allSatisfy { !$0.isEmpty }, "--connect takes a port, a client or a pattern")
    try check(connectWait == nil || !connect.isEmpty, "--connect-wait is for --connect")
  }

  /// Returns the name to request for a client that plays or records the file at `path`.
  ///
  /// - Parameter usual: The name without an option.
  func clientName(for path: String, usual: String) -> String {
    guard nameFromFile else { return name ?? usual }
    let words = printable(String(fileName(path).pathStem.replacing(":", with: "_")))
    return words.isEmpty ? usual : words
  }

  /// Ends the command if `--at` is a frame but other processes count frames differently (PipeWire).
  func checkStart(on queue: some Queue) throws {
    guard case .frame = at, queue.runningDevice?.client.isPipeWire == true else { return }
    Screen.shared.complain(
      "--at: PipeWire has no frame time that programs share; give a host time (123456789ns) or +TIME"
    )
    throw ExitCode(64)
  }

  /// Looks up the ports of `--connect`. Prints an error and ends the command if there are none.
  ///
  /// - Parameter direction: That of the named ports, as their own clients see it.
  func findConnections(_ direction: PortDirection, _ signals: StopSignals) throws
    -> FoundConnections
  {
    if noConnect { return FoundConnections(.none) }
    if connect.isEmpty { return FoundConnections(.physical) }
    let probe: any ServerClient
    do throws(ServerError) {
      probe = try jackServer.openClient(named: "cuejack-ports")
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    do {
      let ports = try connectedPorts(on: probe, direction, signals)
      return FoundConnections(.ports(ports), probe: probe)
    } catch {
      probe.close()
      throw error
    }
  }

  /// Returns the ports of `--connect`, which `client` looks up. Prints an error and ends the command if
  /// there are none.
  func connectedPorts(
    on client: any ServerClient, _ direction: PortDirection, _ signals: StopSignals
  ) throws -> [String] {
    do throws(PortError) {
      return try PortChoice(option: "--connect", values: connect, direction: direction).ports(
        on: client, waiting: connectWait?.seconds(at: client.sampleRate) ?? 0,
        isStopped: { signals.received != nil })
    } catch {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }

  /// Names a queue's client and its ports after the file at `path`, for patchbays.
  func show(_ queue: some Queue, _ ports: [String], _ path: String) {
    let name = printable(fileName(path))
    queue.runningDevice?.show(
      ClientAppearance(prettyName: name, ports: ClientAppearance.channels(ports, of: name)))
  }

  var jackServer: JackServer { jackServer(for: []) }

  /// Returns the server for a client that plays or records the files at `paths`.
  func jackServer(for paths: [String]) -> JackServer {
    let names = paths.map { printable(fileName($0)) }.joined(separator: ", ")
    var jack = server.jack(for: names.isEmpty ? nil : names)
    // With a name and without connections, others patch the client and find it again.
    if !noConnect || name == nil && !nameFromFile { jack.claim = .own }
    return jack
  }

  /// Restarts the command with PipeWire's JACK library if no jackd runs but PipeWire does. Call it
  /// before anything else.
  func joinPipeWire() { jackServer.joinPipeWire() }

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

extension JackServer {
  /// Restarts the command with PipeWire's JACK library if no jackd runs but PipeWire does. Call it
  /// before anything else.
  func joinPipeWire() {
    let mark = "CUEJACK_JOINED_PIPEWIRE"
    guard unsafe getenv(mark) == nil, let launcher,
      let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    else { return }
    Screen.shared.remark("no jackd is running, but PipeWire is: using PipeWire's JACK library")
    let words = [launcher, own] + commandLine.dropFirst()
    var pointers: [UnsafeMutablePointer<CChar>?] =
      unsafe words.map { unsafe strdup($0.systemName) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    unsafe setenv(mark, "1", 1)
    unsafe execv(launcher.systemName, &pointers)
    Screen.shared.complain("\(launcher): \(unsafe String(cString: strerror(errno)))")
  }
}

/// Ends the command with a usage error unless `holds` is true.
func check(_ holds: Bool, _ message: String) throws {
  if !holds { throw ValidationError(message) }
}

/// Ends the command with a usage error unless a client can have the value of `--name`.
func checkClientName(_ name: String?) throws {
  try check(
    name.map { !$0.isEmpty && $0.utf8.count <= 59 && !$0.contains(":") } ?? true,
    "--name takes 1 to 59 bytes without a colon")
}

/// Ends the command with a usage error if one of `options` is given twice: the first value would be
/// ignored.
///
/// - Parameters:
///   - same: Other names of options.
///   - hint: Added to the message.
func checkOnce(_ options: [String], same: [String: String] = [:], hint: String = "") throws {
  var given: Set<String> = []
  for word in commandLine.dropFirst().prefix(while: { $0 != "--" }) {
    let option = word.prefix { $0 != "=" }
    guard options.contains(String(option)) else { continue }
    let name = same[String(option)] ?? String(option)
    try check(given.insert(name).inserted, "\(name) is given twice\(hint)")
  }
}
