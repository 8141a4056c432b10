import Foundation
import TestSupport
import Testing

/// One time of the wall clock for players, recorders and sessions in several processes.
@Suite(.tags(.server, .program, .slow), .serialized) struct StartTimeTests {
  /// A time in `seconds`, as text and in nanoseconds of CLOCK_MONOTONIC.
  private func time(in seconds: Int) -> (text: String, hostTime: Int) {
    var (wall, host) = (timespec(), timespec())
    clock_gettime(CLOCK_REALTIME, &wall)
    clock_gettime(CLOCK_MONOTONIC, &host)
    let formatter = ISO8601DateFormatter()
    let date = Date(timeIntervalSince1970: Double(wall.tv_sec + seconds))
    let text = formatter.string(from: date).replacingOccurrences(of: "Z", with: ".25Z")
    return (
      text, (host.tv_sec + seconds) * 1_000_000_000 + host.tv_nsec - wall.tv_nsec + 250_000_000
    )
  }

  /// Samples of a file before the position at which the first player starts, and its gain in dB.
  private static let (skipped, gain) = (6000, Float(-6))

  /// The list shows what waits, with the time, and a player that waits is steered.
  private func steer(_ text: String, _ environment: [String: String]) throws {
    var list = ""
    try wait(for: "what waits") {
      list = try cuejack("list", [], environment: environment).output
      return list.contains("cuejack-record")
    }
    let lines = list.split(separator: "\n")
    for client in ["player-1", "player-2", "cuejack-record"] {
      let time = client == "player-2" ? "ns" : text
      let line = lines.first { $0.hasPrefix("\(client) ") }
      expectTrue(line?.contains("  waiting  ") == true && line?.contains(time) == true, "\(list)")
    }
    let result = try cuejack(
      "set",
      ["player-1", "mute=on", "tracks/1/gain=\(Self.gain)", "locate=0.125", "mute=off"],
      environment: environment)
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
  }

  /// The cycle in which the time lies gives players and recorders their frame. A session has its frame from a look
  /// at the clocks a moment before, which differs if cycles are late: the server has real-time priority. Each client
  /// plays before the next one joins.
  @Test func everythingStartsOnTheFrameOfTheTimeAndTellsIt() throws {
    let server = try JackDaemon(period: 1024, isRealtime: true)
    let capture = try CaptureClient(on: server, channels: 3, capacity: 60 * server.rate)
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, channels: 1, frames: 24_000, seed: UInt64($0))
      }
      let environment = server.environment.merging(
        ["XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "NSM_URL": ""]) { $1 }
      // A busy machine takes a while to start these processes.
      let (text, hostTime) = time(in: 30)
      let song = folder.appendingPathComponent("song").path
      for words in [
        ["new", song, files[2].path],
        [
          "set", song, "groups+={name: 'all', tracks: ['3'], trigger: {time: '\(text)'}}",
          "connections+={from: 'song:3_1', to: 'capture:in_3'}",
        ],
      ] {
        let result = try cuejack("session", words, environment: environment)
        try require(result.status == 0, "\(result)")
      }
      let session = try Playing(
        "session", ["run", song, "--no-connect"], in: folder, environment: environment)
      try session.waitForError("waits until \(text)")
      func player(_ number: Int, at time: String, says words: String) throws -> Playing {
        let player = try Playing(
          [files[number - 1].path, "--at", time, "--connect", "capture:in_\(number)"]
            + ["--name", "player-\(number)"], in: folder, environment: environment)
        try player.wait(for: words)
        return player
      }
      let players = [
        try player(1, at: text, says: "waits until \(text)"),
        // A start that is still to come has no frame yet.
        try player(2, at: "\(hostTime)ns", says: "starts at host time \(hostTime)ns"),
      ]
      expectTrue(!players[1].output.contains("frame"))
      let recorder = try Playing(
        "record",
        [
          folder.appendingPathComponent("take.wav").path, "--at", text, "--seconds", "0.5",
          "--connect", "player-1:out_1", "--connect-wait", "30", "--format", "f32",
        ], in: folder, environment: environment)
      try steer(text, environment)
      capture.arm()
      let results = try (players + [recorder]).map { try $0.result() }
      capture.disarm()
      for result in results.dropLast() { expectEqual(result.status, 0, "\(result)") }
      expectTrue(results[results.count - 1].isRecorded)
      for player in players { expectEqual(player.errors.contains("is past"), false) }
      let factor = Float(pow(10, Double(Self.gain) / 20))
      let steered =
        files[0].samples[0][Self.skipped...].map { $0 * factor }
        + Array(repeating: 0, count: Self.skipped)
      let starts = (0..<3).compactMap { channel in
        capture.samples(channel: channel).firstIndex { $0 != 0 }
      }
      try require(starts.count == 3, "\(starts), \(session.output)\(session.errors)")
      let frame = Int64(capture.firstFrame &+ UInt32(starts[0]))
      expectTrue(starts[1] == starts[0] && abs(starts[2] - starts[0]) <= 96, "\(starts)")
      for (result, words) in zip(
        results, [#/start frame (\d+)/#, #/start frame (\d+)/#, #/records from frame (\d+)/#])
      {
        let told = try require(result.output.firstMatch(of: words), "\(result)").output.1
        expectEqual(Int64(told).map { $0 % (1 << 32) }, frame, "\(result)")
      }
      for (number, channel) in [(0, 0), (1, 1), (2, 2)] {
        let samples = capture.samples(channel: channel)[starts[channel]...].prefix(24_000)
        expectEqual(
          Array(samples), number == 0 ? steered : files[number].samples[0], "\(number)")
      }
      // What was recorded on that frame is the file from its first sample on.
      let take = try run(
        "sox", [folder.appendingPathComponent("take.wav").path, "-t", "f32", "take.raw"],
        folder: folder)
      expectEqual(take.status, 0, "\(take)")
      let raw = [UInt8](try Data(contentsOf: folder.appendingPathComponent("take.raw")))
      let recorded = raw.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
      // SoX rounds samples that have a gain.
      expectEqual(recorded.count, steered.count)
      expectNil(zip(recorded, steered).first { abs($0 - $1) > 1e-7 })
      session.send(signal: SIGTERM)
      _ = try session.result()
    }
  }
}
