import CJack
import CTestSupport
import Foundation
internal import Server
import System

/// A jackd with the dummy driver that belongs to one test. Any thread.
///
/// JACK's registry has room for eight servers per machine. jackd removes a crashed server only when
/// another of the same name starts, so the tests reuse a few names. A server takes the first free name
/// and keeps a lock file for as long as it, or its jackd, lives.
package final class JackDaemon: @unchecked Sendable {
  package private(set) var name: String
  /// Sample rate in Hz.
  package private(set) var rate: Int
  /// Frames per period.
  package private(set) var period: Int

  private let launcher: [String]
  private var hasRun = false
  private let serverArguments: [String]
  private let driverArguments: [String]
  private var lockFile: Int32
  private let logFile: URL
  private let lock = NSLock()
  private var child: Child?

  /// Starts a server. Returns once clients can be opened, or throws jackd's messages.
  ///
  /// It runs without real-time priority on the system timer, so its cycles may be late on a busy
  /// machine. With `synchronous` it waits for late clients, which then lose no frame; without, it goes
  /// on, as it does for most users. With `isRealtime`, it and its clients get real-time priority where
  /// the system permits. `launcher` is a command that runs the rest of its words, such as `ip netns exec`.
  package init(
    rate: Int = 48000, period: Int = 4096, playbackPorts: Int = 2, capturePorts: Int = 2,
    maximumPorts: Int = 512, synchronous: Bool = true, isRealtime: Bool = false,
    launcher: [String] = []
  ) throws {
    self.launcher = launcher
    cue_jack_silence()
    (name, lockFile) = try Self.takeName()
    self.rate = rate
    self.period = period
    logFile = FileManager.default.temporaryDirectory.appendingPathComponent(
      "jackd-\(getpid())-\(UUID().uuidString).log")
    serverArguments =
      [isRealtime ? "-R" : "-r", "--port-max", "\(maximumPorts)"] + (synchronous ? ["-S"] : [])
    driverArguments = ["-d", "dummy", "-P", "\(playbackPorts)", "-C", "\(capturePorts)"]
    var taken: Set<String> = []
    while true {
      do {
        try start()
        return
      } catch {
        // JACK remembers a server that was killed by its process number, which another process may have now.
        guard log.contains("server already active"), taken.count < 3 else { throw error }
        close(lockFile)
        taken.insert(name)
        (name, lockFile) = try Self.takeName(except: taken)
      }
    }
  }

  deinit {
    child?.end()
    close(lockFile)
    try? FileManager.default.removeItem(at: logFile)
  }

  /// Starts the server again after `stop` or `kill`, under the same name, optionally with another rate
  /// and period.
  package func start(rate: Int? = nil, period: Int? = nil) throws {
    lock.lock()
    defer { lock.unlock() }
    guard child == nil else { return }
    self.rate = rate ?? self.rate
    self.period = period ?? self.period
    let words =
      launcher + ["jackd", "-n", name] + serverArguments + driverArguments
      + ["-r", "\(self.rate)", "-p", "\(self.period)"]
    let child = try Child(
      words[0], Array(words.dropFirst()), output: logFile, kept: lockFile)
    let deadline = Date(timeIntervalSinceNow: 30)
    repeat {
      if answers() {
        hasRun = true
        self.child = child
        return
      }
    } while child.wait(seconds: 0.02) == nil && Date() < deadline
    child.end()
    throw SupportError("jackd did not start:\n\(log)")
  }

  /// Ends the server in good order. Clients are notified.
  package func stop() {
    lock.lock()
    defer { lock.unlock() }
    child?.end()
    child = nil
  }

  /// Kills the server, as in a crash.
  package func kill() {
    lock.lock()
    defer { lock.unlock() }
    child?.send(signal: SIGKILL)
    _ = child?.wait(seconds: 60)
    child = nil
  }

  /// Whether jackd runs.
  package var isRunning: Bool {
    lock.lock()
    defer { lock.unlock() }
    guard let child else { return false }
    return child.wait(seconds: 0) == nil
  }

  package var processIdentifier: Int32? {
    lock.lock()
    defer { lock.unlock() }
    return child?.processIdentifier
  }

  /// jackd's output.
  package var log: String { text(of: logFile) }

  private func answers() -> Bool {
    // Clients of a server that was lost return at the same time. One that opens while another closes keeps the
    // semaphore of that one (JACK 1.9.21), and so would never wake the next client that gets its number.
    if hasRun { return LocalSocket.accepts("/dev/shm/jack_\(name)_\(getuid())_0") }
    return JackLibrary.alone {
      var status = JackStatus(rawValue: 0)
      guard let client = cue_jack_client_open("cuejack-probe", name, &status) else { return false }
      jack_client_close(client)
      return true
    } ?? false
  }

  /// Returns a name that no other test server on this machine has, and the lock that reserves it. Waits for
  /// one for ten minutes.
  private static func takeName(except taken: Set<String> = []) throws -> (String, Int32) {
    for _ in 0..<6000 {
      for number in 1...6 {
        let name = "cuejack-test-\(getuid())-\(number)"
        if taken.contains(name) { continue }
        let lockFile = cue_lock_file("/dev/shm/\(name).lock")
        if lockFile >= 0 { return (name, lockFile) }
      }
      usleep(100_000)
    }
    throw SupportError("six test servers are running already, and none of them ends")
  }
}
