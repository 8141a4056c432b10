import FoundationEssentials
import Glibc
package import Server
import Synchronization
import System

/// A program that sends the sound of JACK ports to another machine. A thread starts the program, connects ports to
/// it, watches it and starts it again when it ends. Any thread.
package final class NetworkSender: Sendable {
  /// The state of the program.
  package enum State: Sendable, Equatable {
    case starting, sending
    /// It has ended, and starts again after a while.
    case failed(String)

    package var words: String {
      switch self {
      case .starting: "starts"
      case .sending: "sends"
      case .failed(let reason): "has failed: \(reason)"
      }
    }
  }

  private struct Watch {
    var state = State.starting
    /// The name of the program's JACK client.
    var client: String
    var process: pid_t?
    var isOver = false
    var hasEnded = false
  }

  private let title: String
  private let program: SendProgram
  private let channels: Int
  private let device: Device
  private let connect: @Sendable ([String]) -> Void
  private let onMessage: @Sendable (String) -> Void
  private let watch: Monitor<Watch>

  /// Starts sending.
  ///
  /// - Parameters:
  ///   - title: Names the sender in messages.
  ///   - client: The wanted name of the program's JACK client.
  ///   - device: A client of the server. It must not be closed before `end()`.
  ///   - connect: Connects ports to the program's inputs with these full names, which may appear later.
  package init(
    _ title: String, _ program: SendProgram, client: String, channels: Int, on device: Device,
    connect: @escaping @Sendable ([String]) -> Void,
    onMessage: @escaping @Sendable (String) -> Void
  ) {
    self.title = title
    self.program = program
    self.channels = channels
    self.device = device
    self.connect = connect
    self.onMessage = onMessage
    watch = Monitor(Watch(client: client))
    startThread(named: "cuejack-send") { [self] in
      run(client)
      watch.change { $0.hasEnded = true }
    }
  }

  package var state: State { watch.read { $0.state } }
  /// The present name of the program's JACK client.
  package var clientName: String { watch.read { $0.client } }

  /// Waits until the program sends or has failed, or `isStopped` returns true.
  package func awaitState(isStopped: () -> Bool) -> State {
    while true {
      let state = watch.wait(seconds: 0.1) { $0.state == .starting ? nil : $0.state }
      if let state { return state }
      if isStopped() { return .starting }
    }
  }

  /// Ends the program, and waits for that.
  package func end() {
    watch.change { watch in
      watch.isOver = true
      if let process = watch.process { kill(process, SIGTERM) }
    }
    if watch.wait(seconds: 3, for: { $0.hasEnded ? () : nil }) != nil { return }
    watch.read { watch in if let process = watch.process { kill(process, SIGKILL) } }
    watch.wait { $0.hasEnded ? () : nil }
  }

  // MARK: The thread

  /// The pauses before the program starts again, in seconds.
  private static let pauses = 0.5...10.0
  /// Seconds for which a program that works has run.
  private static let longRun = 10.0
  /// Seconds in which the program's ports appear.
  private static let patience = 10.0

  private func run(_ client: String) {
    var pause = Self.pauses.lowerBound
    var told: String?
    while !watch.read({ $0.isOver }) {
      if device.isLost {
        watch.change { $0.state = .starting }
        sleep(Self.pauses.lowerBound)
        continue
      }
      let begin = HostTime.now
      let reason = runOnce(free(client))
      if watch.read({ $0.isOver }) { return }
      if device.isLost { continue }
      if HostTime.now - begin > UInt64(Self.longRun * 1e9) {
        pause = Self.pauses.lowerBound
        told = nil
      }
      watch.change { $0.state = .failed(reason) }
      if reason != told { onMessage("\(title): \(reason): it starts again by itself") }
      told = reason
      sleep(pause)
      pause = min(2 * pause, Self.pauses.upperBound)
    }
  }

  private func sleep(_ seconds: Double) {
    _ = watch.wait(seconds: seconds) { $0.isOver ? () : nil }
  }

  /// Returns the name, with a number if another client has it.
  private func free(_ name: String) -> String {
    let clients = Set(device.client.otherPorts(.input, .audio).map { $0.prefix { $0 != ":" } })
    return ([name] + (2...99).map { "\(name)-\($0)" }).first { !clients.contains($0[...]) } ?? name
  }

  /// Runs the program until it ends, or has lost its ports.
  ///
  /// - Returns: Why it has ended.
  private func runOnce(_ client: String) -> String {
    do throws(SendError) { try program.findHost() } catch { return "\(error)" }
    let file = "\(FileManager.default.temporaryDirectory.path)/cuejack-\(UUID().uuidString).conf"
    program.configure(
      client: client, channels: channels, sampleRate: device.client.sampleRate, at: file)
    defer { unsafe unlink(file) }
    var pipe: [CInt] = [-1, -1]
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    guard unsafe socketpair(AF_UNIX, CInt(kind), 0, &pipe) == 0 else {
      return unsafe String(cString: strerror(errno))
    }
    defer { close(pipe[0]) }
    let words = program.words(client: client, channels: channels, configuration: file)
    // libjack would start a server of its own in the place of one that has gone.
    let environment =
      ProcessInfo.processInfo.environment.map { "\($0)=\($1)" } + ["JACK_NO_START_SERVER=1"]
    let status = watch.change { watch -> CInt in
      if watch.isOver { return ECANCELED }
      var process: pid_t = 0
      let status = startProcess(
        &process, words[0], words, environment: environment,
        files: [.nothing, .open(pipe[1]), .open(pipe[1])])
      if status == 0 { watch.process = process }
      watch.state = .starting
      watch.client = client
      return status
    }
    close(pipe[1])
    if status != 0 { return "\(words[0]): \(unsafe String(cString: strerror(status)))" }
    let (line, isLost) = follow(client, pipe[0])
    let process = watch.read { $0.process } ?? 0
    var code: CInt = 0
    // A process that is a zombie keeps its number, so `end()` signals no other one.
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    watch.change { watch in
      watch.process = nil
      unsafe waitpid(process, &code, 0)
    }
    if isLost { return "\(program.name) has lost its connection to the JACK server" }
    let signal = code & 0x7F
    let end = signal == 0 ? "exit code \(code >> 8 & 0xFF)" : "signal \(signal)"
    return "\(program.name) ended with \(end)" + (line.isEmpty ? "" : " (\(line))")
  }

  /// Connects the program's ports when they appear, and waits until the program has closed its output. Ends a program
  /// that has no ports, or none any more.
  ///
  /// - Returns: The first line of its output, and whether it was ended.
  private func follow(_ client: String, _ output: CInt) -> (line: String, isLost: Bool) {
    let deadline = HostTime.now + UInt64(Self.patience * 1e9)
    var (text, connected) = ([UInt8](), false)
    var isLost = false
    var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    while true {
      if unsafe poll(&waiting, 1, connected ? 1000 : 50) > 0 {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(output, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EINTR { break }
        if text.count < 4096 { text += bytes.prefix(max(0, count)) }
      }
      if isLost { continue }
      let inputs = device.client.otherPorts(.input, .audio).filter { $0.hasPrefix("\(client):") }
      if !connected, inputs.count >= channels {
        connect(Array(inputs.prefix(channels)))
        connected = true
        watch.change { $0.state = .sending }
      }
      if connected ? inputs.isEmpty : HostTime.now > deadline {
        isLost = true
        watch.read { watch in if let process = watch.process { kill(process, SIGTERM) } }
      }
    }
    let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first ?? ""
    return (String(line.prefix(200)), isLost)
  }
}
