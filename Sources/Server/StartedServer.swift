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
  private struct State {
    var clients = 0
    var isOver = false
  }
  private let state = Mutex(State())
  /// Our servers by name: later queues join them.
  private static let running = Mutex<[String: StartedServer]>([:])

  private init(name: String, process: pid_t, outputPath: String) {
    self.name = name
    self.process = process
    self.outputPath = outputPath
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

  /// Gives `client` up, just before it closes.
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

  /// The last lines that jackd wrote.
  var lastWords: String {
    let text = (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }
    return lines.suffix(3).joined(separator: "; ")
  }

  /// Starts `jackd` as the server `name`: ALSA where there is a card to play on, else the dummy
  /// driver; real-time if this user may.
  static func start(named name: String) throws(ServerError) -> StartedServer {
    guard let program = find("jackd") else { throw .jackdNotFound }
    let rate = 48000
    let period = 512
    var arguments = [program, "-n", name, "-T", mayRunInRealTime ? "-R" : "-r"]
    let card = firstPlaybackCard
    if let card {
      arguments += ["-d", "alsa", "-d", "hw:\(card)", "-r", "\(rate)", "-p", "\(period)"]
    } else {
      arguments += ["-d", "dummy", "-r", "\(rate)", "-p", "\(period)"]
    }
    let outputPath = NSTemporaryDirectory() + "cuejack-jackd-\(getpid())-\(HostTime.now).log"
    let process = try spawn(program, arguments, outputPath: outputPath)
    log.notice(
      """
      started jackd as “\(name)” (\(card.map { "ALSA hw:\($0)" } ?? "dummy driver: no sound card"), \
      \(rate) Hz, \(period) frames, \(mayRunInRealTime ? "real-time" : "not real-time"), \
      pid \(process))
      """)
    let server = StartedServer(name: name, process: process, outputPath: outputPath)
    running.withLock { $0[name] = server }
    return server
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

  /// The full path of the program `name` in PATH.
  private static func find(_ name: String) -> String? {
    let path =
      unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
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
