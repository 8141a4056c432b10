import Dispatch
import FoundationEssentials
import Glibc
import Graph
import Logging
import Synchronization
import System

/// A plugin's process and the thread that monitors it. Any thread.
///
/// Both the plugin's node and the thread retain it: the node can be freed while the thread waits.
@safe
final class IsolatedProcess: @unchecked Sendable {
  private let uri: String
  private let name: String
  private let memory: IsolatedMemory
  private let patience: Double
  /// The folder for all temporary files of the process.
  private let scratch: ScratchFolder
  private let socket: CInt
  /// Held during a request: one at a time.
  private let asking = DispatchSemaphore(value: 1)
  private let answered = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)
  /// The queue on which callbacks run; they may send requests to the plugin.
  private let telling = DispatchQueue(label: "cuejack-isolate-tell")

  private struct State {
    /// Identifier of the process; 0 once it has ended.
    var process: pid_t
    /// Exit status as `waitpid` returned it.
    var status: CInt = 0
    /// Whether the plugin was instantiated. Before that its creator receives the errors.
    var isReady = false
    /// Whether a request waits for its answer.
    var isAsked = false
    /// When the request in progress, or the oldest one that nobody waits for any more, was sent, as host time;
    /// 0 if there is none.
    var askedAt: UInt64 = 0
    /// Requests whose answers are still to come, although nobody waits for them.
    var abandoned = 0
    var thread: pthread_t?
    var reply: IsolationReply?
    /// The request in progress, in words that follow “while it”.
    var phase: String?
    /// Whether the process was killed because it took too long.
    var hangs = false
    /// Set when the process should exit without reporting an error.
    var isEnding = false
    /// How the process ended, in words that follow “it”.
    var reason: String?
    var parameters: [String: ParameterValue] = [:]
    var onParameters: (@Sendable ([String: ParameterValue]) -> Void)?
    var onLearned: (@Sendable (MIDIBinding) -> Void)?
    var onGone: [@Sendable () -> Void] = []
  }
  private let state: Mutex<State>

  /// Starts the process that will be asked to instantiate the plugin of `start`.
  ///
  /// - Throws: `HostError.notIsolated`.
  init(
    _ program: IsolationProgram, for start: IsolatedStart, memory: IsolatedMemory,
    scratch: ScratchFolder
  ) throws(HostError) {
    let uri = start.uri
    self.uri = uri
    self.scratch = scratch
    name = start.name
    self.memory = memory
    patience = program.patience
    func failure(_ number: CInt) -> HostError {
      unsafe .notIsolated(
        plugin: uri, reason: "\(program.executable): \(String(cString: strerror(number)))")
    }
    guard let urids = URIDs.shared.file else { throw failure(ENOMEM) }
    var pair: [CInt] = [-1, -1]
    let made = unsafe Glibc.socketpair(
      AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair)
    guard made == 0 else { throw failure(errno) }
    socket = pair[0]
    var environment = ProcessInfo.processInfo.environment
    // The exit signal reports a crash.
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
    // It may end before the request reaches it.
    state = Mutex(State(process: process, phase: IsolationRequest.instantiate(start).phase))
    if status != 0 { throw failure(status) }
    startThread(named: "cuejack-isolate") { [self] in
      state.withLock { $0.thread = pthread_self() }
      watch()
    }
  }

  deinit { close(socket) }

  // MARK: Requests

  /// Seconds after which the plugin counts as hanging if it has not answered. They allow for reading large
  /// samples.
  private var longest: Double { max(30, patience) }
  /// Seconds for which a request waits that is answered at once by a plugin that does not hang.
  private static let shortest = 2.0

  /// Sends a request to the process and returns its answer.
  ///
  /// - Throws: `HostError`: the error from the plugin or its process, or `.gone`; `.busy` if a short request is
  ///   not answered soon. Later ones throw at once, until the plugin answers again.
  @discardableResult
  func ask(_ request: IsolationRequest) throws(HostError) -> IsolationReply {
    let isShort = request.isShort
    guard asking.wait(timeout: isShort ? .now() + shortWait : .distantFuture) == .success else {
      throw .busy(plugin: uri)
    }
    defer { asking.signal() }
    let (reason, isBusy) = state.withLock { state in
      let isBusy = isShort && state.abandoned > 0
      if state.reason == nil, !isBusy {
        state.reply = nil
        state.isAsked = true
        state.phase = request.phase
        if state.abandoned == 0 { state.askedAt = HostTime.now }
      }
      return (state.reason, isBusy)
    }
    if let reason { throw .gone(plugin: uri, reason: reason) }
    if isBusy { throw .busy(plugin: uri) }
    send(request)
    // The end of the process also counts as an answer.
    if answered.wait(timeout: .now() + (isShort ? Self.shortest : longest)) == .timedOut {
      if isShort {
        let isAbandoned = state.withLock { state in
          // The answer may have come just now.
          guard state.isAsked, state.reason == nil else { return false }
          state.isAsked = false
          state.abandoned += 1
          return true
        }
        if isAbandoned { throw .busy(plugin: uri) }
      } else {
        end(forHanging: true)
      }
      answered.wait()
    }
    let (reply, end) = state.withLock { state in
      state.phase = nil
      state.askedAt = 0
      return (state.reply, state.reason)
    }
    guard let reply else { throw .gone(plugin: uri, reason: end ?? "gave no answer") }
    if case .failed(let error) = reply { throw error }
    return reply
  }

  /// Seconds for which a short request waits for its turn: none if the plugin has been silent for long.
  private var shortWait: Double {
    let askedAt = state.withLock { $0.askedAt }
    let waited = askedAt == 0 ? 0 : Double(HostTime.now - askedAt) / 1e9
    return max(0, Self.shortest - waited)
  }

  private func send(_ request: IsolationRequest) {
    guard var bytes = try? IsolationCoding.encoder.encode(request) else { return }
    bytes.append(UInt8(ascii: "\n"))
    // If the process has died, the monitoring thread notices.
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

  /// Ends the process and waits for its exit. It first gives the process two seconds to answer a request in
  /// progress, and two to free the plugin.
  func end() {
    if asking.wait(timeout: .now() + 2) == .timedOut {
      state.withLock { $0.isEnding = true }
      end(forHanging: false)
      asking.wait()
    }
    defer { asking.signal() }
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

  /// Notes that the plugin was instantiated: its end is logged from now on.
  func isReady() { state.withLock { $0.isReady = true } }

  // MARK: Reports of the process

  /// How the process ended, in words that follow “it”; nil while it runs.
  var reason: String? { state.withLock { $0.reason } }

  /// Identifier of the process; 0 if it has ended.
  var identifier: pid_t { state.withLock { $0.process } }

  var parameterValues: [String: ParameterValue] { state.withLock { $0.parameters } }

  func whenParametersChange(_ body: @escaping @Sendable ([String: ParameterValue]) -> Void) {
    state.withLock { $0.onParameters = body }
  }

  /// The function to call when a controller has been learned; nil for none.
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

  /// Reads the lines of the process until it ends, and kills it if it hangs.
  private func watch() {
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var progress = Progress()
    while true {
      var request = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, 200)
      if ready > 0, !read(into: &received, &chunk) { break }
      // A child of the process may keep the socket open.
      if hasDied() {
        // Read its last lines.
        while read(into: &received, &chunk) {}
        break
      }
      look(&progress)
    }
    finish()
  }

  /// Receives the bytes that have arrived.
  ///
  /// - Returns: `false` if none have arrived and, if the process is alive, none will.
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
    // Earlier bytes contain no end of line.
    guard received[old...].contains(UInt8(ascii: "\n")) else { return true }
    while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
      take(Data(received[..<end]))
      received.removeSubrange(...end)
    }
    return true
  }

  /// Length limit of a line in bytes. A state is passed in files.
  private static let longestLine = 1 << 24

  private func take(_ line: Data) {
    switch try? IsolationCoding.decoder.decode(IsolationLine.self, from: line) {
    case .reply(let reply):
      // Ignore all but the first answer to a request. They come in the order of the requests.
      let isWanted = state.withLock { state in
        if state.abandoned > 0 {
          state.abandoned -= 1
          if state.abandoned == 0 { state.askedAt = state.isAsked ? HostTime.now : 0 }
          return false
        }
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
      // The system may reuse the identifier from now on.
      state.process = 0
      return true
    }
  }

  /// The plugin's progress and the time of its last change.
  private struct Progress {
    var given: UInt64 = 0
    var taken: UInt64 = 0
    var since = HostTime.now
    /// The count of late blocks when it was last logged.
    var toldLate: UInt64 = 0
  }

  private func look(_ progress: inout Progress) {
    let now = HostTime.now
    let (given, taken) = (memory.givenBytes, memory.takenBytes)
    let (isAsked, silentSince) = state.withLock {
      ($0.phase != nil, $0.abandoned > 0 ? $0.askedAt : now)
    }
    // Nobody else ends a plugin whose answers nobody waits for.
    if now - silentSince > UInt64(longest * 1e9) { end(forHanging: true) }
    // Do not trust the process: it cannot have done more than it was given, nor a block twice.
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
    // Log again whenever the count has doubled.
    if late > 2 * progress.toldLate {
      log.warning(
        """
        “\(name)” was late \(late) \(late == 1 ? "time" : "times"): \(memory.missingFrames) frames of its \
        input were heard instead
        """)
      progress.toldLate = late
    }
  }

  /// Records how the process ended and informs all waiting callers.
  private func finish() {
    memory.giveUp()
    let (isExpected, reason, bodies) = state.withLock { state in
      if state.process > 0 {
        // A process that only closed its socket is useless.
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
    // A killed process leaves its files.
    scratch.remove()
    hasEnded.signal()
    answered.signal()
    for body in bodies { body() }
  }
}
