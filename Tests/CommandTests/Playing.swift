import Foundation
import TestSupport
import Testing

/// A `cuejack play`, or another of its commands, that is under way.
final class Playing {
  private let child: Child
  private let outputFile: URL
  private let errorFile: URL

  /// Starts `cuejack play`. `environment` adds to the test's own.
  convenience init(
    _ arguments: [String], in folder: URL, environment: [String: String] = [:]
  ) throws {
    try self.init("play", arguments, in: folder, environment: environment)
  }

  /// Starts a command.
  init(
    _ command: String, _ arguments: [String], in folder: URL,
    environment: [String: String] = [:]
  ) throws {
    let name = UUID().uuidString
    outputFile = folder.appendingPathComponent("\(name).output")
    errorFile = folder.appendingPathComponent("\(name).errors")
    child = try Child(
      builtProduct(named: "cuejack").path, [command] + arguments,
      environment: playEnvironment(environment), output: outputFile, errors: errorFile)
  }

  var output: String { text(of: outputFile) }
  var errors: String { text(of: errorFile) }

  /// Waits until the standard output contains `words`.
  func wait(for words: String) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while !output.contains(words) {
      if child.wait(seconds: 0.005) != nil, !output.contains(words) {
        throw SupportError("it ended without saying “\(words)”:\n\(output)\(errors)")
      }
      if Date() > end { throw SupportError("it does not say “\(words)”:\n\(output)\(errors)") }
    }
  }

  /// Waits until the standard error contains `words` so many times.
  func waitForError(_ words: String, times: Int = 1) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while errors.components(separatedBy: words).count <= times {
      if child.wait(seconds: 0.005) != nil || Date() > end {
        throw SupportError("it does not say “\(words)” \(times) times:\n\(output)\(errors)")
      }
    }
  }

  var processIdentifier: Int32 { child.processIdentifier }

  func send(signal: Int32) { child.send(signal: signal) }

  /// Waits for its end.
  func result(seconds: Double = 60) throws -> CommandResult {
    guard let status = child.wait(seconds: seconds) else {
      throw SupportError("it does not end:\n\(output)\(errors)")
    }
    return CommandResult(status: status, output: output, errors: errors)
  }
}

/// The test's environment without what would change how servers are found.
func playEnvironment(_ changes: [String: String] = [:]) -> [String: String] {
  var environment = ProcessInfo.processInfo.environment
  environment["JACK_NO_START_SERVER"] = nil
  environment["JACK_DEFAULT_SERVER"] = nil
  return environment.merging(changes) { $1 }
}

/// Runs `cuejack play` to its end.
func play(_ arguments: [String], environment: [String: String] = [:]) throws -> CommandResult {
  try cuejack("play", arguments, environment: environment)
}

/// Runs a command of `cuejack` to its end.
func cuejack(
  _ command: String, _ arguments: [String], environment: [String: String] = [:]
) throws -> CommandResult {
  try withTemporaryFolder { folder in
    try Playing(command, arguments, in: folder, environment: environment).result()
  }
}

/// Where our plugins, which are built first, and Debian's are found; verdicts are kept in `folder`.
func pluginEnvironment(_ folder: URL) throws -> [String: String] {
  let built = repository.appendingPathComponent(".build/lv2").path
  let made = try run("make", ["-C", "Plugins", "OUT=\(built)"], folder: repository)
  guard made.status == 0 else { throw SupportError("\(made.output)\(made.errors)") }
  return ["LV2_PATH": "\(built):/usr/lib/lv2", "XDG_CACHE_HOME": folder.path]
}

/// What was heard of several players that were given one start frame, on a server that then ran
/// as fast as it could: no cycle is late, so each frame counts.
struct Recording {
  /// Index in `samples` of the start frame.
  let start: Int
  /// For each channel of the recording.
  let samples: [[Float]]
  let results: [CommandResult]

  /// Plays with each of the `commands`, and `--at` and `--server`; players of half a second that
  /// are not connected by a command are connected by `connect`, once they are ready.
  init(
    channels: Int, in folder: URL, _ commands: [[String]], environment: [String: String] = [:],
    connect: (CaptureClient) throws -> Void = { _ in }
  ) throws {
    let server = try JackDaemon()
    let capture = try CaptureClient(on: server, channels: channels, capacity: 20 * server.rate)
    // Far enough away for the players to get ready by the clock.
    let at = capture.frameTime &+ UInt32(10 * server.rate)
    let players = try commands.map {
      try Playing(
        $0 + ["--at", "\(at)", "--server", server.name], in: folder, environment: environment)
    }
    for player in players { try player.wait(for: "start frame") }
    try connect(capture)
    capture.arm()
    try capture.setFreewheel(true)
    #expect(capture.wait(untilFrames: 1))
    let start = Int(at &- capture.firstFrame)
    try #require(start < 12 * server.rate, "the players were not ready in time")
    #expect(capture.wait(untilFrames: start + server.rate))
    capture.disarm()
    try capture.setFreewheel(false)
    #expect(capture.gaps == [])
    results = try players.map { try $0.result() }
    samples = (0..<channels).map { capture.samples(channel: $0) }
    self.start = start
  }

  /// Expects that channel `channel` carries `expected` from the start frame on, and nothing else.
  func expect(
    _ channel: Int, _ expected: [Float], _ location: SourceLocation = #_sourceLocation
  ) {
    let heard = samples[channel]
    let first = expected.firstIndex { $0 != 0 } ?? 0
    #expect(heard.firstIndex { $0 != 0 } == start + first, sourceLocation: location)
    let end = min(start + expected.count, heard.count)
    let wrong = zip(heard[start..<end], expected).enumerated().first { $1.0 != $1.1 }
    #expect(wrong == nil, "frame after the start", sourceLocation: location)
    #expect(end == start + expected.count, sourceLocation: location)
    // A buffer that nobody writes any more would be heard again and again.
    let late = heard[end...].indices.filter { heard[$0] != 0 }
    #expect(
      late.isEmpty, "it plays on: \(late.count) frames, \(late.first.map { $0 - end } ?? 0) after",
      sourceLocation: location)
  }
}
