import CDispatch
import CJack
import FoundationEssentials
import Glibc
import Logging
import Synchronization
import System

/// A `jackd` process that this process started because no server ran.
///
/// jackd is told to exit with its last client of any process. This process also ends it when its
/// own last client closes and no other client has ports on it.
final class StartedServer: Sendable {
  private let name: String
  private let process: pid_t
  private let outputPath: String
  /// The file that the command line comes from; nil for the default command line.
  private let configuration: String?
  private struct State {
    var clients = 0
    var isOver = false
  }
  private let state = Mutex(State())
  /// Servers that this process started, by name; later clients join them.
  private static let running = Mutex<[String: StartedServer]>([:])

  private init(name: String, process: pid_t, outputPath: String, configuration: String?) {
    self.name = name
    self.process = process
    self.outputPath = outputPath
    self.configuration = configuration
  }

  deinit { _ = unsafe unlink(outputPath) }

  /// Counts `client`, which was opened on this server.
  func adopt(_ client: JackClient) {
    state.withLock { $0.clients += 1 }
    client.whenClosed { [unowned client] in self.release(client) }
  }

  /// Returns the server that this process started under `name`, if it still runs.
  static func ours(named name: String) -> StartedServer? {
    running.withLock { servers in
      if let server = servers[name], !server.isOver { return server }
      servers[name] = nil
      return nil
    }
  }

  /// Stops counting `client`, just before it closes. No thread may open a client between this call
  /// and the call of the returned function.
  ///
  /// - Returns: The function to call once the client has closed.
  private func release(_ client: JackClient) -> @Sendable () -> Void {
    let remaining = state.withLock { state in
      state.clients -= 1
      return state.clients
    }
    guard remaining == 0 else { return {} }
    Self.running.withLock { $0[name] = nil }
    let others = client.allPorts.contains { port in
      let owner = port.prefix { $0 != ":" }
      return owner != "system" && owner != client.name
    }
    // While other clients exist, jackd runs on, and exits with the last of them.
    if others { return {} }
    return { self.end() }
  }

  /// True once the process has ended.
  var isOver: Bool {
    state.withLock { state in
      if !state.isOver {
        var status: CInt = 0
        let ended = unsafe waitpid(process, &status, WNOHANG)
        state.isOver = ended != 0
      }
      return state.isOver
    }
  }

  /// Ends the process: SIGTERM, then SIGKILL from five seconds on.
  func end() {
    // A process that has ended and been waited for may have passed its number on to another.
    if isOver { return }
    let deadline = HostTime.now + 5_000_000_000
    kill(process, SIGTERM)
    while !isOver {
      if HostTime.now > deadline { kill(process, SIGKILL) }
      usleep(10_000)
    }
  }

  /// The lines of jackd's output that tell why it ended, and the file that its command line comes
  /// from, if there is one.
  var lastWords: String {
    let words = Self.reason(in: text(ofSystemFile: outputPath) ?? "")
    return configuration.map { "\(words) (its command line is from \($0))" } ?? words
  }

  /// Beginnings of the lines that jackd writes at every start, or after each error.
  private static let usualLines = [
    "jackd", "Copyright", "This is free software", "under certain conditions",
    "JACK server starting", "self-connect-mode", "creating ", "Cannot lock down",
    "Cannot use real-time", "AcquireSelfRealTime", "JackServer::", "Failed to open server",
    "Cannot initialize driver", "JackShmReadWritePtr", "Jack main caught",
  ]

  /// Returns the first three different lines of jackd's output that tell an error.
  ///
  /// jackd writes them before or after its name and its copyright.
  static func reason(in output: String) -> String {
    var lines: [Substring] = []
    for line in output.split(separator: "\n") {
      if line.hasPrefix("Usage:") || line.hasPrefix("Options for driver") { break }
      if line.allSatisfy(\.isWhitespace) || usualLines.contains(where: { line.hasPrefix($0) })
        || lines.contains(line)
      {
        continue
      }
      lines.append(line)
    }
    if lines.isEmpty { return "it does not tell why; its command line may be wrong" }
    return lines.prefix(3).joined(separator: "; ")
  }

  /// Command line of a server.
  private struct Launch {
    let program: String
    /// Arguments without the program's name, the server's name and the option to exit with the last
    /// client.
    let arguments: [String]
    /// Description for the log.
    let words: String
    /// The file that the command line comes from; nil for the default command line.
    var file: String?
  }

  /// Starts `jackd` as the server `name`. The command line comes from `~/.jackdrc` or a system
  /// file, if there is one.
  static func start(named name: String) throws(ServerError) -> StartedServer {
    let configured = try configuredLaunch()
    let launch = if let configured { configured } else { try defaultLaunch() }
    let outputPath = temporaryFolder + "/cuejack-jackd-\(getpid())-\(HostTime.now).log"
    let process = try spawn(
      launch.program, [launch.program, "-T", "-n", name] + launch.arguments, outputPath: outputPath)
    log.notice("started jackd as “\(name)” (\(launch.words), pid \(process))")
    let server = StartedServer(
      name: name, process: process, outputPath: outputPath, configuration: launch.file)
    running.withLock { $0[name] = server }
    return server
  }

  /// Returns the command line with which JACK's library would start a server: all words of the
  /// first configuration file that can be read. Returns nil if there is none.
  private static func configuredLaunch() throws(ServerError) -> Launch? {
    let files =
      (environmentVariable("HOME").map { ["\($0)/.jackdrc"] } ?? []) + [
        "/etc/jackdrc", "/etc/jackd.conf",
      ]
    for file in files {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { continue }
      let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let first = words.first else { return nil }
      guard let program = findProgram(first) else {
        throw .jackdFailed("\(file) starts it as “\(first)”, which is no program")
      }
      return Launch(
        program: program, arguments: Array(words.dropFirst()),
        words: "\(file): \(words.joined(separator: " "))", file: file)
    }
    return nil
  }

  /// Returns the default command line: ALSA if a card can play, else the dummy driver; real-time if
  /// this user may use it.
  private static func defaultLaunch() throws(ServerError) -> Launch {
    guard let program = findProgram("jackd") else { throw .jackdNotFound }
    let rate = 48000
    let period = 512
    let card = firstPlaybackCard
    let driver = card.map { ["alsa", "-d", "hw:\($0)"] } ?? ["dummy"]
    return Launch(
      program: program,
      arguments: [mayRunInRealTime ? "-R" : "-r", "-d"] + driver
        + ["-r", "\(rate)", "-p", "\(period)"],
      words: """
        \(card.map { "ALSA hw:\($0)" } ?? "dummy driver: no sound card"), \(rate) Hz, \
        \(period) frames, \(mayRunInRealTime ? "real-time" : "not real-time")
        """)
  }

  private static func spawn(_ program: String, _ arguments: [String], outputPath: String)
    throws(ServerError) -> pid_t
  {
    var process: pid_t = 0
    let status = startProcess(
      &process, program, arguments, files: [.nothing, .new(path: outputPath), .open(1)])
    guard status == 0 else { throw .jackdFailed(unsafe String(cString: strerror(status))) }
    return process
  }

  /// Number of the first ALSA card that has a playback device.
  private static var firstPlaybackCard: Int? {
    guard let list = text(ofSystemFile: "/proc/asound/pcm") else { return nil }
    let line = list.split(separator: "\n").first { $0.contains("playback") }
    return line.flatMap { Int($0.prefix { $0.isNumber }) }
  }

  /// True if this process may run threads with real-time priority. Determined by trying, because
  /// limits, capabilities and containers all matter.
  private static let mayRunInRealTime: Bool = {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    var parameters = sched_param()
    parameters.sched_priority = 10
    unsafe pthread_attr_setinheritsched(&attributes, CInt(PTHREAD_EXPLICIT_SCHED))
    unsafe pthread_attr_setschedpolicy(&attributes, SCHED_FIFO)
    unsafe pthread_attr_setschedparam(&attributes, &parameters)
    var thread = pthread_t()
    guard unsafe pthread_create(&thread, &attributes, { _ in nil }, nil) == 0 else { return false }
    pthread_join(thread, nil)
    return true
  }()
}
