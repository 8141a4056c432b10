import Foundation
import TestSupport
import Testing

/// Servers killed and restarted while queues play: three times each, or twenty times in the long proof.
@Suite(.tags(.pipeWire, .program), .serialized) struct ServerReturnTests {
  enum Kind: CaseIterable {
    case jackd, pipeWire

    func start() throws -> any PeerServer {
      switch self {
      // One that waits for its clients: a late one would be silent for a cycle on a busy machine.
      case .jackd: try JackDaemon(period: 1024)
      case .pipeWire: try PipeWireDaemon()
      }
    }
  }

  /// Sample rates and periods of the consecutive servers.
  private static let servers: [(rate: Int, period: Int)] = [
    (48000, 1024), (44100, 256), (48000, 512), (96000, 1024), (48000, 2048), (44100, 1024),
  ]

  private func servers() -> [(rate: Int, period: Int)] {
    (0..<(proof == nil ? 3 : 20)).map { Self.servers[$0 % Self.servers.count] }
  }

  @Test(arguments: Kind.allCases) func filesOfOneCommandReturnOnOneFrame(kind: Kind) throws {
    try withTemporaryFolder { folder in
      let file = try writeNumbers("numbers.wav", in: folder, frames: 0x40000)
      let server = try kind.start()
      let player = try Playing(
        [file, file, file, "--loop", "--name", "part", "--connect", server.inputs[0]], in: folder,
        environment: server.environment)
      try player.wait(for: "start frame")
      try returnTogether([player], server, ["part:out_1", "part-2:out_1", "part-3:out_1"])
    }
  }

  @Test(arguments: Kind.allCases) func commandsWithOneTimeReturnOnOneFrame(kind: Kind) throws {
    try withTemporaryFolder { folder in
      let file = try writeNumbers("numbers.wav", in: folder, frames: 0x40000)
      let server = try kind.start()
      let connection = ["--connect", server.inputs[0]]
      let (first, hostTime) = try startPlaying(
        [file, file, "--loop", "--name", "part"] + connection, in: folder, on: server)
      // On jackd, the frame synchronises commands.
      let frame = try require(first.output.firstMatch(of: #/start frame (\d+)/#)?.output.1)
      let time = kind == .jackd ? String(frame) : "\(hostTime)ns"
      let second = try Playing(
        [file, "--loop", "--name", "other", "--at", time] + connection, in: folder,
        environment: server.environment)
      try second.wait(for: "start frame")
      usleep(3_000_000)
      try returnTogether([first, second], server, ["part:out_1", "part-2:out_1", "other:out_1"])
    }
  }

  /// The files share the plugin's client, so the capture contains their sum.
  @Test(arguments: Kind.allCases) func thirtyQueuesOfOneClientReturnOnOneFrame(kind: Kind) throws {
    try withTemporaryFolder { folder in
      let file = try writeNumbers("numbers.wav", in: folder, frames: 0x40000)
      let server = try kind.start()
      let player = try Playing(
        Array(repeating: file, count: 30)
          + ["--loop", "--plugin", "http://lv2plug.in/plugins/eg-amp:gain=0", "--name", "part"]
          + ["--connect", server.inputs[0]], in: folder,
        environment: server.environment.merging(
          ["LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path]) { $1 })
      try player.wait(for: "start frame")
      try returnTogether([player], server, ["part:out_1"], queues: 30)
    }
  }

  /// Kills and restarts the server repeatedly. After each restart it expects that all `ports` play the
  /// same frame and are connected again.
  private func returnTogether(
    _ players: [Playing], _ server: any PeerServer, _ ports: [String], queues: Int = 1
  ) throws {
    var isExact = true
    for (number, next) in servers().enumerated() {
      // A sum of resampled signals is not exact.
      let rate = queues == 1 ? next.rate : 48000
      server.kill()
      for player in players { try player.waitForError("went away", times: number + 1) }
      try server.start(rate: rate, period: next.period)
      for player in players { try player.waitForError("is back", times: number + 1) }
      let heard = try hear(ports, on: server)
      try require(heard.count == ports.count, "\(players.map(\.errors))")
      // Each queue resamples from its own position, which may differ by a fraction of a frame
      // afterwards.
      if rate != 48000 { isExact = false }
      let tolerance: Float = isExact ? 0 : 0.51 / 0x1p24
      for (port, samples) in zip(ports, heard) {
        let isTogether =
          samples.count == heard[0].count
          && zip(samples, heard[0]).allSatisfy { abs($0 - $1) <= tolerance }
        expectTrue(
          isTogether, "\(port), after return \(number + 1): \(difference(samples, heard[0]))")
      }
      // This also applies to a sum of queues: if one plays another frame, the sum is not a multiple.
      let numbers = heard[0].map { Int($0 * 0x1p24) }
      let wrong = numbers.filter { queues > 1 && $0 % queues != 0 }
      expectTrue(wrong.isEmpty, "return \(number + 1): \(wrong.prefix(3))")
    }
    for player in players {
      player.send(signal: SIGTERM)
      let result = try player.result()
      expectEqual(result.status, 128 + SIGTERM)
      // On a busy machine a server may also run no cycles for two seconds.
      let lines = result.errors.split(separator: "\n")
      let stalls = lines.count { $0.contains("runs no cycles") }
      expectEqual(lines.count { $0.contains("went away") }, servers().count, "\(result.errors)")
      expectEqual(lines.count, 2 * (servers().count + stalls), "\(result.errors)")
    }
  }

  /// Tells where two recordings of the numbers differ.
  private func difference(_ samples: [Float], _ others: [Float]) -> String {
    let differing = zip(samples, others).enumerated().filter { $1.0 != $1.1 }
    let first = differing.first.map { "\($0): \($1.0 * 0x1p24) and \($1.1 * 0x1p24)" } ?? "none"
    let last = differing.last.map { "\($0): \($1.0 * 0x1p24) and \($1.1 * 0x1p24)" } ?? "none"
    return "\(differing.count) of \(samples.count) frames, from \(first) to \(last)"
  }

  /// Returns the last 12,000 frames of each of `ports`, once all of them play again without a gap. Queues
  /// agree on a future frame. Returns an empty array if they do not play.
  private func hear(_ ports: [String], on server: any PeerServer) throws -> [[Float]] {
    for _ in 0..<20 {
      let capture = try JackPeer.capture(ports, seconds: 10, on: server)
      usleep(700_000)
      let heard = try capture.end().samples.map { Array($0.suffix(12_000)) }
      if heard.allSatisfy({ $0.count == 12_000 && isSmooth($0) }) { return heard }
    }
    return []
  }

  /// True if the samples are numbers without a gap. A busy PipeWire does not wait for clients: another one
  /// then finds the sound of the cycle before, or silence.
  private func isSmooth(_ samples: [Float]) -> Bool {
    let steps = zip(samples, samples.dropFirst()).map { $1 - $0 }
    let usual = steps.sorted()[steps.count / 2]
    return usual > 0 && steps.allSatisfy { $0 > usual / 2 && $0 < usual * 3 / 2 }
  }

  @Test(arguments: Kind.allCases) func aRecordingGoesOn(kind: Kind) throws {
    try withTemporaryFolder { folder in
      let server = try kind.start()
      var emitter: JackPeer? = try JackPeer.numbers(on: server)
      let file = folder.appendingPathComponent("take.wav").path
      let recorder = try Playing(
        "record", [file, "--format", "f32", "--connect", "emitter:out_1,emitter:out_2"],
        in: folder, environment: server.environment)
      try recorder.wait(for: "-> cuejack")
      usleep(500_000)
      let times = servers().count
      var ends: [End] = []
      for number in 1...times {
        server.kill()
        try recorder.waitForError("went away", times: number)
        if let emitter { ends.append(try emitter.endOfNumbers()) }
        try server.start(rate: nil, period: nil)
        emitter = try JackPeer.numbers(on: server)
        try recorder.waitForError("is back", times: number)
        usleep(1_500_000)
      }
      recorder.send(signal: SIGTERM)
      let result = try recorder.result()
      if let emitter { ends.append(try emitter.endOfNumbers()) }
      expectTrue(result.isRecorded, "\(result)")
      // Missed frames are recorded as silence of the same length. On a new server the numbers restart. On
      // PipeWire 1.x they are those of the monotonic clock, and go on after the silence.
      let samples = try readWave(file)[1]
      let there = samples.indices.filter { samples[$0] != 0 }
      let steps = zip(there, there.dropFirst()).filter { earlier, later in
        let number = UInt32(samples[earlier]) + UInt32(later - earlier)
        if samples[later] != Emitter.sample(at: number, channel: 1) { return true }
        return later - earlier > 1
          && ends.dropLast().contains { isLast(samples[earlier], before: $0) }
      }
      // A cycle that comes late on a busy machine makes a gap of its own.
      expectTrue(
        steps.count == times || result.errors.contains("cycles came too late"),
        "\(steps.prefix(10)): \(result.errors)")
      // On PipeWire, what follows is where the clock puts it; a jackd that waits for clients may be slower
      // than the clock.
      var rest = steps[...]
      for (end, next) in zip(ends, ends.dropFirst()) {
        rest = rest.drop { !isLast(samples[$0.0], before: end) }
        let (last, first) = try require(
          rest.first, "frames before \(end) are lost: \(steps.prefix(10)): \(result.errors)")
        rest = rest.dropFirst()
        let left =
          frames(from: samples[last], to: end.frame) - frames(from: samples[first], to: next.frame)
        let elapsed = Double(next.microseconds) - Double(end.microseconds) + Double(left) / 0.048
        let isInPlace = abs(elapsed * 0.048 - Double(first - last)) < 2
        expectTrue(isInPlace || kind == .jackd, "\(first - last) frames in \(elapsed) µs")
      }
      expectTrue(
        there.count > 12_000 * (times + 1), "\(there.count) of \(samples.count): \(result)")
    }
  }

  /// The end of an emitter's last cycle and of the one before it.
  private typealias End = (frame: UInt32, microseconds: UInt64, before: UInt32)

  /// True if the sample is the last one of the emitter's last cycle, or of the one before: a kill may come
  /// into the middle of a cycle. Where a busy machine delayed the server, frame time has a gap between them.
  private func isLast(_ sample: Float, before end: End) -> Bool {
    frames(from: sample, to: end.frame) == 1 || frames(from: sample, to: end.before) == 1
  }

  /// Frames from a sample of an emitter to a frame time.
  private func frames(from sample: Float, to end: UInt32) -> Int {
    Int((end &- UInt32(sample)) & 0x3fffff)
  }
}
