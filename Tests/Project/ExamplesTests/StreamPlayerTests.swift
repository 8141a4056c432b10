import Foundation
import TestSupport
import Testing

/// The example stream player, built like its users build it, must play the data of a socket.
@Suite(.tags(.server, .program)) struct StreamPlayerTests {
  private func withPlayer(_ body: (String) throws -> Void) throws {
    try withExample("StreamPlayer", program: "stream-player", body)
  }

  /// Returns the frames from the first to the last that is not silent.
  private func sound(_ channels: [[Float]]) -> [[Float]] {
    let heard = channels[0].indices.filter { frame in channels.contains { $0[frame] != 0 } }
    guard let first = heard.first, let last = heard.last else { return [] }
    return channels.map { Array($0[first...last]) }
  }

  /// Returns a file's samples, decoded by ffmpeg.
  private func decoded(_ file: URL, in folder: URL) throws -> [[Float]] {
    let raw = folder.appendingPathComponent("decoded.raw")
    let result = try run(
      "ffmpeg", ["-v", "error", "-y", "-i", file.path, "-f", "f32le", "-ac", "2", raw.path])
    try require(result.status == 0, "\(result.errors)")
    let samples = try Data(contentsOf: raw).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    return (0..<2).map { channel in
      stride(from: channel, to: samples.count, by: 2).map { samples[$0] }
    }
  }

  @Test func whatComesIsHeard() throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    let card = try CaptureClient(
      on: server, name: "card", capacity: 20 * server.rate, isSoundCard: true)
    let environment = ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""]
    try withTemporaryFolder { folder in
      try withPlayer { player in
        for (name, seconds, format) in [("a.aac", 2.0, "aac "), ("a.flac", 0.5, "flac")] {
          let file = folder.appendingPathComponent(name)
          let noise = "anoisesrc=duration=\(seconds):seed=5:amplitude=0.3:sample_rate=48000"
          let made = try run(
            "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", noise, "-ac", "2", file.path])
          try require(made.status == 0, "\(made.errors)")
          let expected = sound(try decoded(file, in: folder))
          let wrong = try unlessBusy(patience: 0.01) {
            card.arm()
            let result: CommandResult
            if name == "a.aac" {
              let sender = try SocketSender(try Data(contentsOf: file))
              result = try run(player, ["127.0.0.1", "\(sender.port)"], environment: environment)
            } else {
              result = try run(
                "sh", ["-c", "\"$0\" < \"$1\"", player, file.path], environment: environment)
            }
            card.disarm()
            expectTrue(result.status == 0 && result.errors == "", "\(result.errors)")
            expectTrue(result.output.hasSuffix(" packets of '\(format)', 2 channels, 48000 Hz\n"))
            return difference(sound((0..<2).map { card.samples(channel: $0) }), expected)
          }
          expectNil(wrong, "\(name)")
        }
      }
    }
  }

  @Test func whatCannotBePlayedIsSaid() throws {
    try withPlayer { player in
      func expect(_ arguments: [String], status: Int32, errors: String) throws {
        let result = try run("sh", ["-c", "\"$0\" \"$@\" < /dev/null", player] + arguments)
        let told = result.errors.split(separator: "\n").last ?? ""
        expectTrue(result.status == status && told == errors, "\(result)")
      }
      try expect([], status: 1, errors: "stream-player: no sound came")
      try expect(
        ["one"], status: 2, errors: "usage: stream-player HOST PORT, or stream-player < FILE")
      try expect(
        ["127.0.0.1", "1"], status: 1,
        errors: "stream-player: 127.0.0.1 port 1: Connection refused")
      let rubbish = try run(
        "sh", ["-c", "head -c 100000 /dev/zero | tr '\\0' 'x' | \"$0\"", player])
      expectEqual(rubbish.status, 1)
      expectTrue(rubbish.errors.hasSuffix("stream-player: AudioFileStreamParseBytes: 'typ?'\n"))
    }
  }
}
