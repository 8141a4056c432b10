import Foundation
import TestSupport
import Testing

/// The ports that `--connect` names, and the names of clients.
@Suite(.tags(.server, .program), .serialized) struct ConnectionTests {
  @Test func aClientAGlobAndARegularExpressionStandForTheirPorts() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 480)
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, channels: 4, capacity: 0)
      func heard(_ values: [String], _ location: SourceLocation = #_sourceLocation) throws
        -> [[String]]
      {
        let options = values.flatMap { ["--connect", $0] }
        // An option may stand before the file.
        let result = try play(options + [file.path, "--server", server.name])
        expectTrue(
          result.status == 0 && result.errors == "", "\(values): \(result)",
          sourceLocation: location)
        return (1...2).map { number in
          let line = result.output.split(separator: "\n").first {
            $0.hasPrefix("  cuejack-play:out_\(number) -> ")
          }
          return line.map { $0.components(separatedBy: " -> ")[1].components(separatedBy: ", ") }
            ?? []
        }
      }
      let all = [["capture:in_1", "capture:in_3"], ["capture:in_2", "capture:in_4"]]
      try expectEqual(heard(["capture"]), all)
      try expectEqual(heard(["capture:in_*"]), all)
      try expectEqual(heard(["capt*:in_[13]"]), [["capture:in_1"], ["capture:in_3"]])
      try expectEqual(heard([#"capture:in_\d"#]), all)
      try expectEqual(heard([#"cap.{1,9}:in_(2|4)"#]), [["capture:in_2"], ["capture:in_4"]])
      try expectEqual(heard(["capture:in_4,capture:in_1"]), [["capture:in_4"], ["capture:in_1"]])
      try expectEqual(
        heard(["capture:in_4", "system:playback_1", "capture:in_2"]),
        [["capture:in_4", "capture:in_2"], ["system:playback_1"]])
      withExtendedLifetime(capture) {}
    }
  }

  @Test(arguments: [16, 17]) func moreThanSixteenFilesShareAClient(count: Int) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon(period: 1024, maximumPorts: 128)
      let capture = try CaptureClient(on: server, capacity: 0)
      let result = try play(
        Array(repeating: file.path, count: count)
          + ["--connect", "capture", "--server", server.name])
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      let last = count == 16 ? "cuejack-play-16:out_" : "cuejack-play:17_out_"
      for channel in 1...2 {
        expectTrue(
          result.output.contains("  \(last)\(channel) -> capture:in_\(channel)\n"), "\(result)")
      }
      let clients = Set(
        result.output.matches(of: #/, client (\S+), start frame/#).map(\.output.1))
      expectEqual(clients.count, (count == 16 ? 16 : 1), "\(result)")
      let begins = result.output.matches(of: #/played 4800 frames from frame (\d+)/#)
      expectTrue(begins.count == count && Set(begins.map(\.output.1)).count == 1, "\(result)")
      withExtendedLifetime(capture) {}
    }
  }

  @Test func recordTakesOnePortForEachConnectAndTheFileBehindIt() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server, channels: 3)
      let file = folder.appendingPathComponent("take.wav").path
      let result = try cuejack(
        "record",
        ["--connect", "emitter:out_3", file, "--seconds", "0.1s", "--server", server.name])
      expectEqual(result.status, 0, "\(result)")
      expectTrue(result.output.contains("  emitter:out_3 -> cuejack-record:in_1\n"), "\(result)")
      expectTrue(result.output.contains("recorded 4800 frames"), "\(result)")
      // A pattern gives a channel to each port that it matches.
      let all = try cuejack(
        "record",
        ["--connect", "emitter:*", file, "--force", "--seconds", "100ms", "--server", server.name])
      expectTrue(all.output.contains(", 3 channels, "), "\(all)")
      withExtendedLifetime(emitter) {}
    }
  }

  @Test func anErrorListsThePortsAndWhatIsSimilar() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 480)
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, capacity: 0)
      func errors(_ command: String, _ port: String) throws -> String {
        let result = try cuejack(
          command,
          [command == "play" ? file.path : folder.path + "/b.wav", "--connect", port]
            + ["--server", server.name])
        expectTrue(result.status == 1 && result.output == "", "\(result)")
        expectEqual(result.errors.split(separator: "\n").count, 1, "\(result)")
        return result.errors
      }
      let ports = "The ports are system:playback_1, system:playback_2, capture:in_1, capture:in_2\n"
      let near = try errors("play", "captrue")
      expectTrue(near.contains("did you mean “capture”?") && near.hasSuffix(ports), "\(near)")
      expectTrue(try errors("play", "system:playback_3").contains("“system:playback_1”"))
      expectTrue(try errors("play", "zzz").hasSuffix(". \(ports)"))
      expectTrue(try errors("play", "([").contains("“([”"))
      expectTrue(try errors("play", "system:capture_1").contains("it is an output port"))
      expectTrue(try errors("record", "capture:in_1").contains("it is an input port"))
      // Nothing is left of the recording.
      expectTrue(!FileManager.default.fileExists(atPath: folder.path + "/b.wav"))
      withExtendedLifetime(capture) {}
    }
  }

  @Test func portsThatComeLaterAreWaitedFor() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      let server = try JackDaemon(period: 1024)
      let player = try Playing(
        [file.path, "--connect", "late:in_*", "--connect-wait", "1m", "--server", server.name],
        in: folder)
      let watch = try CaptureClient(on: server, name: "watch", capacity: 0)
      // It has looked once when its client is there.
      expectTrue(watch.waitForPort(named: "system:playback_1"))
      usleep(300_000)
      expectEqual(player.output, "")
      let late = try CaptureClient(on: server, name: "late", capacity: 0)
      let result = try player.result()
      expectEqual(result.status, 0, "\(result)")
      expectTrue(result.output.contains("  cuejack-play:out_2 -> late:in_2\n"), "\(result)")
      // A signal ends the waiting.
      let other = try Playing(
        [file.path, "--connect", "never:in_1", "--connect-wait", "1h", "--server", server.name],
        in: folder)
      usleep(500_000)
      other.send(signal: SIGTERM)
      try expectEqual(other.result().status, 143)
      withExtendedLifetime(late) {}
    }
  }

  /// A port that follows another one, as those of a client that has just appeared, is connected, too.
  @Test func portsThatFollowAreWaitedFor() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon(period: 1024)
      // A machine that is too busy for the clients tries again.
      for attempt in 1...10 {
        let player = try Playing(
          [file.path, "--connect", "late_*", "--connect-wait", "1m", "--server", server.name],
          in: folder)
        usleep(300_000)
        let begin = Date()
        let first = try CaptureClient(on: server, name: "late_1", channels: 1, capacity: 0)
        usleep(50_000)
        let second = try CaptureClient(on: server, name: "late_2", channels: 1, capacity: 0)
        let isSoon = Date().timeIntervalSince(begin) < 0.12
        let result = try player.result()
        expectEqual(result.status, 0, "\(result)")
        withExtendedLifetime((first, second)) {}
        if !isSoon, attempt < 10 { continue }
        expectTrue(result.output.contains("  cuejack-play:out_1 -> late_1:in_1\n"), "\(result)")
        expectTrue(result.output.contains("  cuejack-play:out_2 -> late_2:in_1\n"), "\(result)")
        break
      }
    }
  }

  @Test func clientsAreNamedAfterTheirFilesOnRequest() throws {
    try withTemporaryFolder { folder in
      let files = try ["drums.wav", "bass: low.wav"].map {
        try WaveFile($0, in: folder, frames: 480).path
      }
      let server = try JackDaemon(period: 1024)
      let result = try play(files + ["--name-from-file", "--server", server.name])
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(result.output.contains("client drums,"), "\(result)")
      expectTrue(result.output.contains("client bass_ low,"), "\(result)")
      let plain = try play(files + ["--server", server.name])
      expectTrue(plain.output.contains("client cuejack-play,"), "\(plain)")
      expectTrue(plain.output.contains("client cuejack-play-2,"), "\(plain)")
      let take = try cuejack(
        "record",
        [
          folder.path + "/take 1.wav", "--name-from-file", "--seconds", "0.1", "--server",
          server.name,
        ])
      expectTrue(take.output.contains("client take 1,"), "\(take)")
    }
  }
}
