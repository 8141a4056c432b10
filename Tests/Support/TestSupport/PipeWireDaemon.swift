import Foundation

/// A PipeWire daemon that belongs to one test, with a session manager, a session bus and the sink “Test
/// sink” or no sink. It uses no device of the machine. Any thread.
///
/// The test process itself loads jackd's library. Programs that use PipeWire are child processes with
/// `environment`.
package final class PipeWireDaemon: PeerServer, @unchecked Sendable {
  /// The inputs and the monitor outputs of the sink, by their JACK names.
  package let inputs = ["Test sink:playback_FL", "Test sink:playback_FR"]
  package static let monitors = ["Test sink:monitor_FL", "Test sink:monitor_FR"]

  /// The folder of the sockets, the configuration and the log files.
  package let folder: URL
  /// Environment of programs that use this daemon and PipeWire's JACK library.
  package let environment: [String: String]
  /// Default sample rate in Hz and frames per period, unless a test forces others.
  package private(set) var rate = 48000
  package private(set) var period = 1024
  private let hasSink: Bool
  private let lock = NSLock()
  private var bus: Child?
  private var daemon: Child?
  private var manager: Child?

  /// Starts the daemon. Returns once the sink's ports exist, or throws the daemons' messages.
  ///
  /// - Parameters:
  ///   - rate: Default sample rate in Hz.
  ///   - quantum: Default frames per period.
  ///   - hasSink: False for a daemon without a sink. Clients run on PipeWire's dummy driver then.
  package init(rate: Int = 48000, quantum: Int = 1024, hasSink: Bool = true) throws {
    self.hasSink = hasSink
    folder = try makeTemporaryFolder()
    let configuration = folder.appendingPathComponent("config")
    try FileManager.default.copyItem(
      at: repository.appendingPathComponent("Tests/Support/TestSupport/PipeWire"), to: configuration
    )
    if !hasSink {
      try FileManager.default.removeItem(
        at: configuration.appendingPathComponent("pipewire/pipewire.conf.d/sink.conf"))
    }
    environment = [
      "XDG_RUNTIME_DIR": folder.path, "XDG_CONFIG_HOME": configuration.path,
      "XDG_STATE_HOME": folder.appendingPathComponent("state").path,
      "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path)/bus",
      "LD_LIBRARY_PATH": try Self.libraryPath(),
    ]
    try start(rate: rate, period: quantum)
  }

  deinit {
    stop()
    bus?.end()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Starts the daemon again after `stop` or `kill`, with the same sockets.
  package func start(rate: Int? = nil, period: Int? = nil) throws {
    lock.lock()
    defer { lock.unlock() }
    guard daemon == nil else { return }
    self.rate = rate ?? self.rate
    self.period = period ?? self.period
    let clock = "default.clock.rate = \(self.rate) default.clock.quantum = \(self.period)"
    try Data("context.properties = { \(clock) }\n".utf8).write(
      to: folder.appendingPathComponent("config/pipewire/pipewire.conf.d/clock.conf"))
    if bus == nil {
      bus = try child(
        "dbus-daemon",
        ["--session", "--nofork", "--nopidfile", "--address=unix:path=\(folder.path)/bus"])
      try wait(for: "the session bus") { access("\(folder.path)/bus", F_OK) == 0 }
    }
    daemon = try child("pipewire")
    try wait(for: "PipeWire") { (try? run("pw-cli", ["info", "0"]).status) == 0 }
    manager = try child("wireplumber")
    try wait(for: hasSink ? "the sink" : "the session manager") {
      if !hasSink { return (try? run("pw-cli", ["ls"]).output.contains("WirePlumber")) == true }
      return (try? run("pw-link", ["--input"]).output.contains("test-sink:playback_FR")) == true
    }
  }

  /// Ends the daemon in good order.
  package func stop() {
    lock.lock()
    defer { lock.unlock() }
    manager?.end()
    daemon?.end()
    manager = nil
    daemon = nil
  }

  /// Kills the daemon, as in a crash.
  package func kill() {
    lock.lock()
    defer { lock.unlock() }
    daemon?.send(signal: SIGKILL)
    _ = daemon?.wait(seconds: 60)
    // The session manager exits by itself without the daemon.
    manager?.end()
    manager = nil
    daemon = nil
  }

  /// Suspends the daemon with its sockets open, or resumes it.
  package func setStopped(_ isStopped: Bool) {
    lock.lock()
    defer { lock.unlock() }
    daemon?.send(signal: isStopped ? SIGSTOP : SIGCONT)
  }

  /// Forces a sample rate; nil for the default.
  package func force(rate: Int?) throws { try setMetadata("clock.force-rate", rate) }

  /// Forces a period in frames; nil for the default.
  package func force(quantum: Int?) throws { try setMetadata("clock.force-quantum", quantum) }

  private func setMetadata(_ key: String, _ value: Int?) throws {
    let result = try run("pw-metadata", ["-n", "settings", "0", key, "\(value ?? 0)"])
    guard result.status == 0 else { throw SupportError("\(key) does not change: \(result)") }
  }

  /// Runs a PipeWire tool, or another program with this daemon, until it exits.
  package func run(_ command: String, _ arguments: [String]) throws -> CommandResult {
    try TestSupport.run(command, arguments, environment: environment, timeout: 60)
  }

  /// Returns the full names of connected output ports, each with its destinations.
  package func links() throws -> [String: [String]] {
    var links: [String: [String]] = [:]
    var source = ""
    for line in try run("pw-link", ["--links"]).output.split(separator: "\n") {
      if let to = line.firstRange(of: "|->") {
        links[source, default: []].append(
          line[to.upperBound...].trimmingCharacters(in: .whitespaces))
      } else if !line.contains("|<-") {
        source = String(line)
      }
    }
    return links
  }

  /// Returns the properties, as strings, of each node called `name`.
  package func properties(ofNode name: String) throws -> [[String: String]] {
    let result = try run("pw-dump", [])
    let objects = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
    return (objects as? [[String: Any]] ?? []).compactMap { object in
      guard object["type"] as? String == "PipeWire:Interface:Node",
        let properties = (object["info"] as? [String: Any])?["props"] as? [String: Any],
        properties["node.name"] as? String == name
      else { return nil }
      return properties.mapValues { "\($0)" }
    }
  }

  /// The daemons' output.
  package var log: String {
    ["dbus-daemon", "pipewire", "wireplumber"].map { text(of: logFile($0)) }.joined()
  }

  private func logFile(_ program: String) -> URL {
    folder.appendingPathComponent("\(program).log")
  }

  private func child(_ program: String, _ arguments: [String] = []) throws -> Child {
    var environment = ProcessInfo.processInfo.environment.merging(self.environment) { $1 }
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "LD_LIBRARY_PATH"] { environment[name] = nil }
    for name in environment.keys where name.hasPrefix("PIPEWIRE_") { environment[name] = nil }
    return try Child(program, arguments, environment: environment, output: logFile(program))
  }

  private func wait(for what: String, _ condition: () -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 30)
    while !condition() {
      if Date() > end { throw SupportError("\(what) does not come:\n\(log)") }
      usleep(10_000)
    }
  }

  /// Returns the library path that `pw-jack` sets.
  private static func libraryPath() throws -> String {
    let result = try TestSupport.run("pw-jack", ["env"])
    guard let line = result.output.firstMatch(of: #/(?m)^LD_LIBRARY_PATH=(.*)$/#) else {
      throw SupportError("pw-jack sets no library path: \(result)")
    }
    return String(line.output.1)
  }
}
