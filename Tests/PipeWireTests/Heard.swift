import Foundation
import TestSupport
import Testing

/// How the sink is before a program plays to it.
enum Sink: CaseIterable {
  /// Nobody plays, and no cycle runs.
  case idle
  /// Another JACK client plays.
  case busy
}

/// A PipeWire daemon, what keeps its sink busy, and a capture of what the sink hears.
struct Stage {
  let daemon: PipeWireDaemon
  private let other: JackPeer?

  init(_ sink: Sink, quantum: Int = 1024) throws {
    daemon = try PipeWireDaemon(quantum: quantum)
    other = sink == .busy ? try JackPeer.silence(on: daemon) : nil
  }

  /// Runs a command of `cuejack` and returns its result with what the sink heard.
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
  /// Expects that the recording is silence, `expected` once, and silence.
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
      #expect(
        wrong.isEmpty && heard.count >= wanted.count,
        """
        \(what): channel \(channel): \(wrong.count) of \(wanted.count) frames differ, from frame \
        \(wrong.first?.offset ?? -1) on; heard \(heard.count)
        """, sourceLocation: location)
      let late = heard.dropFirst(wanted.count).filter { $0 != 0 }.count
      #expect(late == 0, "\(what): channel \(channel) plays on", sourceLocation: location)
    }
    return start
  }
}

/// Expects that a command ended well, and said nothing on standard error.
func expectSuccess(
  _ result: CommandResult, _ what: String = "", _ location: SourceLocation = #_sourceLocation
) {
  #expect(
    result.status == 0 && result.errors == "", "\(what): \(result)", sourceLocation: location)
}

/// A file of floats, each of them the number of its frame from 1 on, in 2^24ths. After 2^18 frames the numbers
/// begin anew: sums of thirty are exact.
func writeNumbers(_ name: String, in folder: URL, frames: Int) throws -> String {
  let path = folder.appendingPathComponent(name).path
  try writeWave([(0..<frames).map { Float($0 % 0x40000 + 1) / 0x1p24 }], to: path)
  return path
}

/// Starts `cuejack play` a good while ahead.
///
/// - Returns: The player, once it is ready, and the host time that it starts at, for others to join.
func startPlaying(_ arguments: [String], in folder: URL, on server: any PeerServer) throws
  -> (player: Playing, hostTime: UInt64)
{
  let player = try Playing(
    arguments + ["--at", "+3"], in: folder, environment: server.environment)
  try player.wait(for: "host time")
  let time = player.output.firstMatch(of: #/host time (\d+)ns/#).flatMap { UInt64($0.output.1) }
  return (player, try #require(time, "\(player.output)"))
}
