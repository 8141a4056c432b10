import Foundation
import Glibc
import Logging
import Server
import Synchronization

/// Made anew each time: who hosts plugins may set logging up late.
private var log: Logger { Logger(label: "cuejack") }

/// The program that runs a plugin in a process of its own.
package struct IsolationProgram: Sendable {
  package var executable: String
  package var arguments: [String]
  /// Seconds that the plugin may take for a block that is waited for, or for an answer, before it counts as
  /// hanging.
  package var patience: Double

  /// - Parameter executable: A program that calls `IsolatedHost.serve()` when it is given `arguments`.
  package init(
    executable: String = "/proc/self/exe", arguments: [String] = ["plugins", "host"],
    patience: Double = 10
  ) {
    self.executable = executable
    self.arguments = arguments
    self.patience = patience
  }
}

/// A process that a plugin runs in, and the thread that looks after it. Any thread.
///
/// The plugin's node holds it and so does the thread: the node can go while the thread waits.
@safe
final class IsolatedProcess: @unchecked Sendable {
  private let uri: String
  private let name: String
  private let memory: IsolatedMemory
  private let patience: Double
  /// For all temporary files of the process.
  private let scratch = ScratchFolder()
  private let socket: CInt
  /// One request at a time.
  private let asking = NSLock()
  private let answered = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)
  /// Where what the plugin tells is passed on: those who hear it may ask the plugin.
  private let telling = DispatchQueue(label: "cuejack-isolate-tell")

  private struct State {
    /// 0 once it is gone for good.
    var process: pid_t
    /// How it ended, as the system says it.
    var status: CInt = 0
    /// It has its plugin: before that whoever made it is told what goes wrong.
    var isReady = false
    /// A request waits for its answer.
    var isAsked = false
    var thread: pthread_t?
    var reply: IsolationReply?
    /// What the plugin is asked to do.
    var phase: String?
    /// It was ended for taking too long.
    var hangs = false
    /// It is to end: nothing needs to be said.
    var isEnding = false
    /// How it ended, in words that follow “it”.
    var reason: String?
    var parameters: [String: ParameterValue] = [:]
    var onParameters: (@Sendable ([String: ParameterValue]) -> Void)?
    var onLearned: (@Sendable (MIDIBinding) -> Void)?
    var onGone: [@Sendable () -> Void] = []
  }
  private let state: Mutex<State>

  /// Starts the process.
  ///
  /// - Throws: `HostError.notIsolated`.
  init(_ program: IsolationProgram, _ uri: String, name: String, memory: IsolatedMemory)
    throws(HostError)
  {
    self.uri = uri
    self.name = name
    self.memory = memory
    patience = program.patience
    func failure(_ number: CInt) -> HostError {
      unsafe .notIsolated(
        plugin: uri, reason: "\(program.executable): \(String(cString: strerror(number)))")
    }
    guard let urids = URIDs.shared.file else { throw failure(ENOMEM) }
    guard scratch.make() else { throw failure(EACCES) }
    var pair: [CInt] = [-1, -1]
    let made = unsafe Glibc.socketpair(
      AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair)
    guard made == 0 else { throw failure(errno) }
    socket = pair[0]
    var environment = ProcessInfo.processInfo.environment
    // A crash is told by the signal.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["TMPDIR"] = scratch.path
    var process: pid_t = 0
    let status = startProcess(
      &process, program.executable, [program.executable] + program.arguments,
      environment: environment.map { "\($0)=\($1)" },
      files: [
        .open(pair[1]), .open(pair[1]), .open(2), .open(memory.file.descriptor),
        .open(urids.descriptor),
      ])
    close(pair[1])
    state = Mutex(State(process: process))
    if status != 0 { throw failure(status) }
    startThread(named: "cuejack-isolate") { [self] in
      state.withLock { $0.thread = pthread_self() }
      watch()
    }
  }

  deinit { close(socket) }

  // MARK: Requests

  /// Has the process do something, and returns what it answers.
  ///
  /// - Throws: `HostError`: what the plugin or its process refuses, or `.gone`.
  @discardableResult
  func ask(_ request: IsolationRequest) throws(HostError) -> IsolationReply {
    asking.lock()
    defer { asking.unlock() }
    let reason = state.withLock { state in
      state.reply = nil
      state.isAsked = true
      state.phase = request.phase
      return state.reason
    }
    if let reason { throw .gone(plugin: uri, reason: reason) }
    send(request)
    // The end of the process is an answer, too. Reading a large sample may take its time.
    if answered.wait(timeout: .now() + max(30, patience)) == .timedOut {
      end(forHanging: true)
      answered.wait()
    }
    let (reply, end) = state.withLock { state in
      state.phase = nil
      return (state.reply, state.reason)
    }
    guard let reply else { throw .gone(plugin: uri, reason: end ?? "gave no answer") }
    if case .failed(let error) = reply { throw error }
    return reply
  }

  private func send(_ request: IsolationRequest) {
    guard var bytes = try? IsolationCoding.encoder.encode(request) else { return }
    bytes.append(UInt8(ascii: "\n"))
    // One that has died is noticed by its thread.
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe Glibc.send(
          socket, buffer.baseAddress! + done, buffer.count - done, CInt(MSG_NOSIGNAL))
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return }
        done += count
      }
    }
  }

  private func end(forHanging: Bool) {
    state.withLock { state in
      if state.process > 0 {
        if forHanging { state.hangs = true }
        kill(state.process, SIGKILL)
      }
    }
  }

  /// Ends the process, and waits for that: it has some time to let the plugin go.
  func end() {
    asking.lock()
    defer { asking.unlock() }
    let (isOver, thread) = state.withLock { state in
      state.isEnding = true
      return (state.reason != nil, state.thread)
    }
    if isOver { return }
    send(.end)
    if thread == pthread_self() { return end(forHanging: false) }
    if hasEnded.wait(timeout: .now() + 2) == .timedOut {
      end(forHanging: false)
      hasEnded.wait()
    }
  }

  /// The plugin is there: whatever becomes of it from now on is told.
  func isReady() { state.withLock { $0.isReady = true } }

  // MARK: What it tells

  /// Why the process is gone, in words that follow “it”; nil if it is there.
  var reason: String? { state.withLock { $0.reason } }

  /// 0 if it is gone.
  var identifier: pid_t { state.withLock { $0.process } }

  var parameterValues: [String: ParameterValue] { state.withLock { $0.parameters } }

  func whenParametersChange(_ body: @escaping @Sendable ([String: ParameterValue]) -> Void) {
    state.withLock { $0.onParameters = body }
  }

  /// What is called when a controller has been learned; nil for nothing.
  var onLearned: (@Sendable (MIDIBinding) -> Void)? {
    get { state.withLock { $0.onLearned } }
    set { state.withLock { $0.onLearned = newValue } }
  }

  func whenGone(_ body: @escaping @Sendable () -> Void) {
    let isGone = state.withLock { state in
      if state.reason == nil { state.onGone.append(body) }
      return state.reason != nil
    }
    if isGone { body() }
  }

  // MARK: The thread

  /// Reads what the process writes until it is gone, and sees to it that it does not hang.
  private func watch() {
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var progress = Progress()
    while true {
      var place = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&place, 1, 200)
      if ready > 0, !read(into: &received, &chunk) { break }
      // A process that it has started may hold the socket open.
      if hasDied() {
        // What it said last.
        while read(into: &received, &chunk) {}
        break
      }
      look(&progress)
    }
    finish()
  }

  /// Takes what has come.
  ///
  /// - Returns: False if nothing has, and, if the process is there, nothing will.
  private func read(into received: inout [UInt8], _ chunk: inout [UInt8]) -> Bool {
    let count = unsafe recv(socket, &chunk, chunk.count, CInt(MSG_DONTWAIT))
    if count < 0 && errno == EINTR { return true }
    if count <= 0 { return false }
    let old = received.count
    received += chunk[..<count]
    if received.count > Self.longestLine {
      log.error("“\(name)” writes a line without end to its host: its process is ended")
      end(forHanging: false)
      return false
    }
    // What came before has no end of a line.
    guard received[old...].contains(UInt8(ascii: "\n")) else { return true }
    while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
      take(Data(received[..<end]))
      received.removeSubrange(...end)
    }
    return true
  }

  /// Bytes of the longest line that is listened to. A state travels in files.
  private static let longestLine = 1 << 24

  private func take(_ line: Data) {
    switch try? IsolationCoding.decoder.decode(IsolationLine.self, from: line) {
    case .reply(let reply):
      // Only the first answer to a request counts.
      let isWanted = state.withLock { state in
        guard state.isAsked else { return false }
        state.isAsked = false
        state.reply = reply
        return true
      }
      if isWanted { answered.signal() }
    case .log(let level, let text): log.log(level: level, "\(text)")
    case .parameters(let values):
      let body = state.withLock { state in
        state.parameters.merge(values) { $1 }
        return state.onParameters
      }
      if let body { telling.async { body(values) } }
    case .learned(let binding):
      let body = state.withLock { $0.onLearned.take() }
      if let body { telling.async { body(binding) } }
    case nil: break
    }
  }

  private func hasDied() -> Bool {
    state.withLock { state in
      guard unsafe waitpid(state.process, &state.status, WNOHANG) == state.process else {
        return false
      }
      // The number may be another's from now on.
      state.process = 0
      return true
    }
  }

  /// How far the plugin had come, and when.
  private struct Progress {
    var given: UInt64 = 0
    var taken: UInt64 = 0
    var since = HostTime.now
    /// How often it was late when that was told last.
    var toldLate: UInt64 = 0
  }

  private func look(_ progress: inout Progress) {
    let now = HostTime.now
    let (given, taken) = (memory.givenBytes, memory.takenBytes)
    let isAsked = state.withLock { $0.phase != nil }
    // Only what was given can be done, and each block once, whatever the process says.
    let hasProgressed = taken <= given && taken > progress.taken
    let beginsAnew = given < progress.given
    progress.given = given
    if given == taken || isAsked || beginsAnew || hasProgressed {
      progress.taken = min(taken, given)
      progress.since = now
    } else if now - progress.since > UInt64(patience * 1e9) {
      end(forHanging: true)
    }
    let late = memory.late
    // Once more whenever it has been so twice as often.
    if late > 2 * progress.toldLate {
      log.warning(
        """
        “\(name)” was late \(late) \(late == 1 ? "time" : "times"): \(memory.missingFrames) frames of its \
        input were heard instead
        """)
      progress.toldLate = late
    }
  }

  /// Notes how the process ended, and has everybody know.
  private func finish() {
    memory.giveUp()
    let (isExpected, reason, bodies) = state.withLock { state in
      if state.process > 0 {
        // One that only closed its socket is of no use.
        kill(state.process, SIGKILL)
        while unsafe waitpid(state.process, &state.status, 0) < 0 && errno == EINTR {}
        state.process = 0
      }
      let status = state.status
      let signal = status & 0x7f
      var reason =
        state.hangs
        ? "hangs"
        : signal == 0
          ? "ended its process with code \(status >> 8 & 0xff)"
          : unsafe "crashed (\(String(cString: strsignal(signal))))"
      if let phase = state.phase { reason += " while it \(phase)" }
      state.reason = reason
      defer { state.onGone = [] }
      return (state.isEnding || !state.isReady, reason, state.onGone)
    }
    if !isExpected {
      log.error("“\(name)” \(reason): its input passes unchanged from now on")
    }
    // One that was killed has left its files.
    scratch.remove()
    hasEnded.signal()
    answered.signal()
    for body in bodies { body() }
  }
}

/// How both processes write and read lines: with every number that there is.
enum IsolationCoding {
  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }

  static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return decoder
  }
}
