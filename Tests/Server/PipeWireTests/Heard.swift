import Foundation
import TestSupport
import Testing

/// State of the sink before a program plays to it.
enum Sink: CaseIterable {
  /// No client plays, so no cycle runs.
  case idle
  /// Another JACK client plays.
  case busy
}

/// A PipeWire daemon, a client that keeps its sink busy if requested, and a capture of the sink's
/// monitor.
struct Stage {
  let daemon: PipeWireDaemon
  private let other: JackPeer?

  init(_ sink: Sink, quantum: Int = 1024) throws {
    daemon = try PipeWireDaemon(quantum: quantum)
    other = sink == .busy ? try JackPeer.silence(on: daemon) : nil
  }

  /// Runs a `cuejack` command. Returns its result and the recording of the sink.
  func hear(_ command: String, _ arguments: [String], environment: [String: String] = [:]) throws
    -> (result: CommandResult, recording: PeerRecording)
  {
    let capture = try JackPeer.capture(seconds: 20, on: daemon)
    let result = try cuejack(
      command, arguments, environment: daemon.environment.merging(environment) { $1 })
    return (result, try capture.end())
  }
}

extension PeerRecording {
  /// Expects that the recording contains `expected` exactly once, surrounded by silence.
  ///
  /// - Returns: The index of the first frame of `expected`.
  @discardableResult
  func expect(
    _ expected: [[Float]], _ what: String = "", _ location: SourceLocation = #_sourceLocation
  ) -> Int? {
    let lead = zip(expected[0], expected[1]).prefix { $0 == 0 && $1 == 0 }.count
    guard let first = zip(samples[0], samples[1]).enumerated().first(where: { $1 != (0, 0) })
    else {
      Issue.record("\(what): nothing is heard", sourceLocation: location)
      return nil
    }
    let start = first.offset - lead
    for (channel, wanted) in expected.enumerated() {
      let heard = samples[channel].dropFirst(start)
      let wrong = zip(heard, wanted).enumerated().filter { $1.0 != $1.1 }
      expectTrue(
        wrong.isEmpty && heard.count >= wanted.count,
        """
        \(what): channel \(channel): \(wrong.count) of \(wanted.count) frames differ, from frame \
        \(wrong.first?.offset ?? -1) on; heard \(heard.count)
        """, sourceLocation: location)
      let late = heard.dropFirst(wanted.count).filter { $0 != 0 }.count
      expectEqual(late, 0, "\(what): channel \(channel) plays on", sourceLocation: location)
    }
    return start
  }
}

/// Expects that a command succeeded and printed nothing to standard error.
func expectSuccess(
  _ result: CommandResult, _ what: String = "", _ location: SourceLocation = #_sourceLocation
) {
  expectTrue(
    result.status == 0 && result.errors == "", "\(what): \(result)", sourceLocation: location)
}

/// Writes a file of floats, each the number of its frame, counted from 1, divided by 2^24. The numbers
/// repeat after 2^18 frames, so that sums of thirty are exact.
func writeNumbers(_ name: String, in folder: URL, frames: Int) throws -> String {
  let path = folder.appendingPathComponent(name).path
  try writeWave([(0..<frames).map { Float($0 % 0x40000 + 1) / 0x1p24 }], to: path)
  return path
}

/// Starts `cuejack play` with a start time well in the future.
///
/// - Returns: The player, once it is ready, and the host time of its start, for other players.
func startPlaying(_ arguments: [String], in folder: URL, on server: any PeerServer) throws
  -> (player: Playing, hostTime: UInt64)
{
  let player = try Playing(
    arguments + ["--at", "+3"], in: folder, environment: server.environment)
  try player.wait(for: "host time")
  let time = player.output.firstMatch(of: #/host time (\d+)ns/#).flatMap { UInt64($0.output.1) }
  return (player, try require(time, "\(player.output)"))
}
