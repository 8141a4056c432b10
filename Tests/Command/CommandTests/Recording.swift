import Foundation
import TestSupport
import Testing

/// A capture of several players with a common start frame on a server in freewheel mode. No cycle is
/// late there, so every frame must match.
struct Recording {
  /// Index of the start frame in `samples`.
  let start: Int
  /// The samples of each captured channel.
  let samples: [[Float]]
  let results: [CommandResult]

  /// Plays with each of `commands`, plus `--at` and `--server`. `connect` connects players of half a
  /// second that do not connect themselves, once they are ready.
  init(
    channels: Int, in folder: URL, _ commands: [[String]], environment: [String: String] = [:],
    connect: (CaptureClient) throws -> Void = { _ in }
  ) throws {
    let server = try JackDaemon()
    let capture = try CaptureClient(on: server, channels: channels, capacity: 20 * server.rate)
    // Leave enough real time for the players to get ready.
    let at = capture.cycleFrame &+ UInt32(10 * server.rate)
    let players = try commands.map {
      try Playing(
        $0 + ["--at", "\(at)", "--server", server.name], in: folder, environment: environment)
    }
    for player in players { try player.wait(for: "start frame") }
    try connect(capture)
    capture.arm()
    try capture.setFreewheel(true)
    try require(capture.wait(untilFrames: 1))
    let start = Int(at &- capture.firstFrame)
    try require(start < 12 * server.rate, "the players were not ready in time")
    try require(capture.wait(untilFrames: start + server.rate))
    capture.disarm()
    try capture.setFreewheel(false)
    expectEqual(capture.gaps, [])
    results = try players.map { try Self.withoutHang($0.result()) }
    samples = (0..<channels).map { capture.samples(channel: $0) }
    self.start = start
  }

  /// Removes the lines that report that jackd does not answer: it hangs now and then when several clients leave
  /// it while it freewheels.
  private static func withoutHang(_ result: CommandResult) -> CommandResult {
    let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
    let errors = lines.filter { !$0.contains("” does not answer: ") }.joined(separator: "\n")
    return CommandResult(status: result.status, output: result.output, errors: errors)
  }

  /// Expects that a channel carries `expected` from the start frame on, and silence otherwise.
  func expect(
    _ channel: Int, _ expected: [Float], _ location: SourceLocation = #_sourceLocation
  ) {
    let heard = samples[channel]
    let first = expected.firstIndex { $0 != 0 } ?? 0
    expectEqual(heard.firstIndex { $0 != 0 }, start + first, sourceLocation: location)
    let end = min(start + expected.count, heard.count)
    let wrong = zip(heard[start..<end], expected).enumerated().first { $1.0 != $1.1 }
    expectNil(wrong, "frame after the start", sourceLocation: location)
    expectEqual(end, start + expected.count, sourceLocation: location)
    // A buffer that is no longer written would repeat.
    let late = heard[end...].indices.filter { heard[$0] != 0 }
    expectTrue(
      late.isEmpty, "it plays on: \(late.count) frames, \(late.first.map { $0 - end } ?? 0) after",
      sourceLocation: location)
  }
}
