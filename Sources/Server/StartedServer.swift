import CDispatch
import CJack
import Foundation
import Glibc
import Logging
import Synchronization

/// A `jackd` that we started because none ran.
///
/// It is told to end with its last client, whoever's that is; and we end it ourselves when our
/// last client on it closes and no other client has ports there.
final class StartedServer: Sendable {
  private let name: String
  private let process: pid_t
  private let outputPath: String
  /// The file that its command line is from; nil if it is ours.
  private let configuration: String?
  private struct State {
    var clients = 0
    var isOver = false
  }
  private let state = Mutex(State())
  /// Our servers by name: later queues join them.
  private static let running = Mutex<[String: StartedServer]>([:])

  private init(name: String, process: pid_t, outputPath: String, configuration: String?) {
    self.name = name
    self.process = process
    self.outputPath = outputPath
    self.configuration = configuration
  }

  deinit { _ = unsafe unlink(outputPath) }

  /// Counts `client`, which was opened on a server that we started.
  func adopt(_ client: JackClient) {
    state.withLock { $0.clients += 1 }
    client.whenClosed { [unowned client] in self.release(client) }
  }

  /// The server that we started under `name`, if it still runs.
  static func ours(named name: String) -> StartedServer? {
    running.withLock { servers in
      if let server = servers[name], !server.isOver { return server }
      servers[name] = nil
      return nil
    }
  }

  /// Gives `client` up, just before it closes. No client may be opened between this call and the one
  /// that it returns.
  ///
  /// - Returns: What is to be done once it has closed.
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
    // With others there, jackd goes on and ends with the last of them.
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

  /// Ends the process: politely, then after five seconds by force.
  func end() {
    // Once it is over and waited for, its number may be another process's.
    if isOver { return }
    let deadline = HostTime.now + 5_000_000_000
    kill(process, SIGTERM)
    while !isOver {
      if HostTime.now > deadline { kill(process, SIGKILL) }
      usleep(10_000)
    }
  }

  /// The last lines that jackd wrote, and where its command line is from if it is not ours.
  var lastWords: String {
    let text = (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }
    let words = lines.suffix(3).joined(separator: "; ")
    return configuration.map { "\(words) (its command line is from \($0))" } ?? words
  }

  /// How a server is started.
  private struct Launch {
    let program: String
    /// Without the program's name, and without the options for the server's name and its end.
    let arguments: [String]
    /// What the log says about it.
    let words: String
    /// The file that the command line is from; nil if it is ours.
    var file: String?
  }

  /// Starts `jackd` as the server `name`, with the command line in `~/.jackdrc` if there is one.
  static func start(named name: String) throws(ServerError) -> StartedServer {
    let configured = try configuredLaunch()
    let launch = if let configured { configured } else { try defaultLaunch() }
    let outputPath = NSTemporaryDirectory() + "cuejack-jackd-\(getpid())-\(HostTime.now).log"
    let process = try spawn(
      launch.program, [launch.program, "-T", "-n", name] + launch.arguments, outputPath: outputPath)
    log.notice("started jackd as “\(name)” (\(launch.words), pid \(process))")
    let server = StartedServer(
      name: name, process: process, outputPath: outputPath, configuration: launch.file)
    running.withLock { $0[name] = server }
    return server
  }

  /// The command line that JACK's library would start a server with: all words of the first
  /// configuration file that can be opened. Nil if there is none.
  private static func configuredLaunch() throws(ServerError) -> Launch? {
    let files =
      (variable("HOME").map { ["\($0)/.jackdrc"] } ?? []) + ["/etc/jackdrc", "/etc/jackd.conf"]
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

  /// ALSA where there is a card to play on, else the dummy driver; real-time if this user may.
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

  /// The number of the first ALSA card that plays.
  private static var firstPlaybackCard: Int? {
    guard let list = try? String(contentsOfFile: "/proc/asound/pcm", encoding: .utf8) else {
      return nil
    }
    let line = list.split(separator: "\n").first { $0.contains("playback") }
    return line.flatMap { Int($0.prefix { $0.isNumber }) }
  }

  /// True if a thread of ours may be scheduled in real time: tried, since limits, capabilities and
  /// containers all have a say.
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
