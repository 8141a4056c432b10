import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// `cuejack play`, `fx` and `record` under remote control.
@Suite(.tags(.server, .program), .serialized) struct SteeringTests {
  /// A server, and commands that other processes of the user find.
  private final class Stage {
    let folder: URL
    let server: JackDaemon
    let environment: [String: String]
    private var programs: [Playing] = []

    init() throws {
      folder = try makeTemporaryFolder()
      server = try JackDaemon(rate: 48000, period: 256)
      environment = ["LV2_PATH": "/usr/lib/lv2", "XDG_RUNTIME_DIR": folder.path]
        .merging([
          "XDG_CACHE_HOME": folder.path, "JACK_DEFAULT_SERVER": server.name, "TMPDIR": folder.path,
        ]) { $1 }
    }

    deinit {
      for program in programs { program.send(signal: SIGKILL) }
      try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a command, and waits until it can be controlled.
    func start(_ command: String, _ words: [String], client: String) throws -> Playing {
      let program = try Playing(command, words, in: folder, environment: environment)
      programs.append(program)
      try wait(for: "\(client) in the list") { try self.port(of: client) != nil }
      return program
    }

    func cuejack(_ command: String, _ words: String...) throws -> CommandResult {
      try TestSupport.cuejack(command, words, environment: environment)
    }

    /// The report of a client in the list.
    func report(of client: String) throws -> [String: Any]? {
      let list = try cuejack("list", "--json")
      let reports = try JSONSerialization.jsonObject(with: Data(list.output.utf8))
      return (reports as? [[String: Any]])?.first { $0["client"] as? String == client }
    }

    func port(of client: String) throws -> UInt16? {
      try report(of: client).flatMap { ($0["port"] as? Int).map { UInt16($0) } }
    }

    func client(of name: String) throws -> RemoteClient {
      try RemoteClient(of: OSCAddress(port: try require(try port(of: name))), patience: 60)
    }

    func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
  }

  private func value(_ path: String, _ client: RemoteClient) throws -> OSCValue? {
    try client.values(of: "/cuejack/\(path)").first?.arguments.first
  }

  /// Returns the samples of a WAVE file of floats, interleaved.
  private func samples(of path: String) throws -> [Float] {
    let wave = try Data(contentsOf: URL(fileURLWithPath: path))
    let head = try require(wave.range(of: Data("data".utf8)))
    return Data(wave[(head.upperBound + 4)...]).withUnsafeBytes { bytes in
      (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
    }
  }

  /// One script of messages starts a session, a player and a recording on a frame, and sets the gains of all
  /// and of an effect. The recording has the session behind the effect, and the player.
  @Test func oneScriptSteersFourProgramsToTheFrame() throws {
    let stage = try Stage()
    let a = try WaveFile("a.wav", in: stage.folder, coding: .f32, channels: 1, frames: 24_000)
    let b = try WaveFile(
      "b.wav", in: stage.folder, coding: .f32, channels: 1, frames: 24_000, seed: 2)
    _ = try SessionStore(creating: stage.file("deck"), session([("a", [a])]))
    let deck = try stage.start(
      "session", ["run", stage.file("deck"), "--no-connect", "--name", "deck"], client: "deck")
    let player = try stage.start(
      "play", [b.path, "--no-connect", "--loop"], client: "cuejack-play")
    // The recording must not begin with that.
    try expectEqual(stage.cuejack("set", "cuejack-play", "stop").status, 0)
    let effect = try stage.start(
      "fx",
      [
        "--plugin", "eg-amp", "--no-connect", "--connect-in", "deck", "--name", "amp",
      ], client: "amp")
    let recorder = try stage.start(
      "record",
      [
        stage.file("take.wav"), "--format", "f32", "--connect", "amp:out_1,cuejack-play:out_1",
        "--start-on-sound", "-80dB", "--stop-on-silence", "-80dB,100ms",
      ], client: "cuejack-record")
    let session = try stage.client(of: "deck")
    let play = try stage.client(of: "cuejack-play")
    let fx = try stage.client(of: "amp")
    let record = try stage.client(of: "cuejack-record")

    // The script.
    for (client, address, values): (RemoteClient, String, [OSCValue]) in [
      (record, "armed", [.bool(false)]), (play, "stop", []), (play, "loop", [.bool(false)]),
      (play, "tracks/1/gain", [.int(-20)]), (session, "tracks/1/gain", [.double(-20)]),
      (fx, "plugins/1/gain", [.float(20)]), (fx, "gain", [.float(-20)]),
      (record, "gain", [.float(20)]), (record, "armed", [.bool(true)]),
    ] {
      try client.send(OSCMessage("/cuejack/\(address)", values))
    }
    try expectEqual(value("motion", record), .string("waiting"))
    try expectEqual(value("motion", play), .string("stopped"))
    try expectEqual(value("position", play), .double(0))
    guard case .long(let now)? = try value("frame", session) else {
      throw SupportError("the session has no frame")
    }
    let frame = now + 96_000
    for client in [session, play] {
      try client.send(OSCMessage("/cuejack/start/at", .long(frame)))
    }

    let result = try recorder.result()
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    let take = try samples(of: stage.file("take.wav"))
    let first = try require(
      a.samples[0].indices.first { abs(a.samples[0][$0]) > 1e-3 || abs(b.samples[0][$0]) > 1e-3 })
    // Noise that begins below the level is not recorded.
    expectTrue(
      result.output.contains("records from frame \(frame + Int64(first)) on"), "\(result)")
    try require(take.count / 2 > 24_000, "\(result)")
    var wrong = 0
    for index in first..<24_000 {
      let (one, other) = (take[2 * (index - first)], take[2 * (index - first) + 1])
      // -20 + 20 - 20 + 20 dB, and -20 + 20 dB.
      if abs(one - a.samples[0][index]) > 1e-4 { wrong += 1 }
      if abs(other - b.samples[0][index]) > 1e-4 { wrong += 1 }
    }
    expectEqual(wrong, 0)
    for client in [session, fx] { try client.send(OSCMessage("/cuejack/quit")) }
    for program in [deck, effect, player] { try expectEqual(program.result().status, 0) }
    try expectEqual(stage.cuejack("list").output, "")
  }

  /// Starts one of each command.
  private func startAll(_ stage: Stage) throws {
    let file = try WaveFile("one.wav", in: stage.folder, frames: 480_000)
    _ = try stage.start(
      "play", [file.path, "--no-connect", "--plugin", "mda EPiano", "--loop"],
      client: "cuejack-play")
    _ = try stage.start(
      "fx", ["--plugin", "eg-amp", "--plugin", "mda EPiano", "--no-connect"], client: "cuejack-fx")
    _ = try stage.start(
      "record", [stage.file("take-%n.wav"), "--no-connect", "--start-on-sound", "-6dB", "--again"],
      client: "cuejack-record")
  }

  /// docs/remote.md names each address with the commands that have it, and no others.
  @Test func theAddressesAreThoseOfTheirPage() throws {
    let stage = try Stage()
    try startAll(stage)
    let rows = text(of: repository.appendingPathComponent("docs/remote.md")).split(separator: "\n")
      .filter { $0.hasPrefix("| `/cuejack/") }
      .map { $0.split(separator: "|", omittingEmptySubsequences: false).map { String($0) } }
      .filter { $0.count == 7 }
    for command in ["play", "fx", "record"] {
      let client = try stage.client(of: "cuejack-\(command)")
      var met: Set<String> = []
      for node in try client.nodes() {
        let address = node.address
          .replacing(/(tracks|recordings)\/\d+/) { "\($0.output.1)/N" }
          .replacing(/plugins\/\d+\/.*/, with: "plugins/M/SYMBOL")
          .replacing(/(bypass|id|preset|remove|place)\/\d+/) { "\($0.output.1)/M" }
        met.insert(address)
        let row = rows.first { $0[1].contains("`\(address)`") && Self.names(command, in: $0[4]) }
        expectEqual(
          row?[2].trimmingCharacters(in: .whitespaces), node.kind.rawValue, "\(command) \(address)")
        if node.kind == .action { continue }
        let values = try require(try client.values(of: node.address).first?.arguments)
        expectEqual(values.count, node.types.count, "\(node.address)")
        for (tag, value) in zip(node.types, values) {
          expectTrue(value.tag == tag || tag == "T" && value.tag == "F", "\(node.address)")
        }
      }
      let listed = rows.filter { Self.names(command, in: $0[4]) }.flatMap { row in
        row[1].matches(of: /`([^`]+)`/).map { String($0.output.1) }
      }
      expectEqual(Set(listed).subtracting(met), [], "\(command)")
    }
  }

  private static func names(_ command: String, in cell: String) -> Bool {
    cell.split(whereSeparator: { ", ".contains($0) }).contains { $0 == "all" || $0 == command }
  }

  /// A client reads each value that it has set.
  @Test func everyParameterIsSetAndRead() throws {
    let stage = try Stage()
    try startAll(stage)
    for command in ["play", "fx", "record"] {
      let client = try stage.client(of: "cuejack-\(command)")
      if command != "record" {
        let preset = command == "fx" ? "preset/2" : "preset/1"
        try client.send(OSCMessage("/cuejack/\(preset)", .string("tremolo")))
        try expectEqual(value(preset, client), .string("Tremolo"))
      }
      for node in try client.nodes() where node.kind == .parameter && !"si".contains(node.types) {
        let old = try require(try client.values(of: node.address).first?.arguments.first)
        let new: OSCValue
        if case .bool(let flag) = old {
          new = .bool(!flag)
        } else {
          let (low, high) = (node.lowest ?? 0, node.highest ?? 1)
          new = .float(Float(low + (high - low) / 4))
        }
        try client.send(OSCMessage(node.address, new))
        try wait(for: "\(node.address) = \(new)") {
          try client.values(of: node.address).first?.arguments.first == new
        }
      }
    }
  }

  /// A player and a recording that wait for a time of the wall clock stop, start at once, and end.
  @Test func programsThatWaitAreSteered() throws {
    let stage = try Stage()
    let file = try WaveFile("a.wav", in: stage.folder, channels: 1, frames: 480_000)
    let time = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 3600))
    let programs = try [
      stage.start("play", [file.path, "--no-connect", "--at", time], client: "cuejack-play"),
      stage.start(
        "record", [stage.file("take.wav"), "--no-connect", "--at", time], client: "cuejack-record"),
    ]
    for command in ["play", "record"] {
      let client = try stage.client(of: "cuejack-\(command)")
      let report = try require(stage.report(of: "cuejack-\(command)"))
      expectEqual(report["motion"] as? String, "waiting")
      expectEqual(report["start"] as? String, time)
      try client.send(OSCMessage("/cuejack/pause"))
      let ended = command == "play" ? "stopped" : "paused"
      try expectEqual(value("motion", client), .string(ended))
      try expectEqual(value("start/time", client), .string(""))
    }
    for command in ["play", "record"] {
      let client = try stage.client(of: "cuejack-\(command)")
      try client.send(OSCMessage("/cuejack/start"))
      try wait(for: "\(command)") {
        guard case .double(let seconds)? = try value("position", client) else { return false }
        return seconds > 0
      }
      try client.send(OSCMessage("/cuejack/quit"))
    }
    for program in programs {
      let result = try program.result()
      expectEqual(result.status, 0, "\(result)")
    }
    // The start itself takes the place of the wait.
    let player = try stage.start(
      "play", [file.path, "--no-connect", "--at", time], client: "cuejack-play")
    let client = try stage.client(of: "cuejack-play")
    try client.send(OSCMessage("/cuejack/start"))
    try wait(for: "the player") { try value("motion", client) == .string("playing") }
    try client.send(OSCMessage("/cuejack/quit"))
    try expectEqual(player.result().status, 0)
  }

  /// A server that returns counts frames anew: what waits for a frame of the other one keeps its host time.
  @Test func aServerThatReturnsLeavesTheStart() throws {
    let stage = try Stage()
    let file = try WaveFile("a.wav", in: stage.folder, channels: 1, frames: 480_000)
    _ = try stage.start(
      "play", [file.path, "--no-connect", "--at", "+3600"], client: "cuejack-play")
    _ = try stage.start(
      "record", [stage.file("take.wav"), "--no-connect", "--at", "+3600"],
      client: "cuejack-record")
    let names = ["cuejack-play", "cuejack-record"]
    func start(_ name: String) throws -> String {
      try stage.report(of: name)?["start"] as? String ?? ""
    }
    for name in names { try expectTrue(Int(start(name)) ?? 0 > 3600 * stage.server.rate) }
    stage.server.stop()
    try stage.server.start()
    for name in names { try wait(for: name) { try start(name).hasSuffix("ns") } }
    // Another run before that keeps it, too.
    let time = try start("cuejack-play")
    try expectEqual(stage.cuejack("set", "cuejack-play", "locate=1").status, 0)
    try expectEqual(start("cuejack-play"), time)
    try expectEqual(stage.report(of: "cuejack-play")?["motion"] as? String, "waiting")
  }

  /// A file that is over and played again counts twice.
  @Test func filesThatArePlayedAgainCountAllTheirFrames() throws {
    let stage = try Stage()
    let files = try [(480_000, "long"), (24_000, "short")].map {
      try WaveFile("\($1).wav", in: stage.folder, channels: 1, frames: $0).path
    }
    let player = try stage.start("play", files + ["--no-connect"], client: "cuejack-play")
    let client = try stage.client(of: "cuejack-play")
    func position() throws -> Double {
      guard case .double(let seconds)? = try value("position", client) else { return -1 }
      return seconds
    }
    try wait(for: "the end of the short one") { try position() > 1 }
    try client.send(OSCMessage("/cuejack/locate", .double(0)))
    try wait(for: "the beginning") { try position() < 1 }
    try wait(for: "the end of the short one") { try position() > 1 }
    try client.send(OSCMessage("/cuejack/quit"))
    let result = try player.result()
    let frames = result.output.firstMatch(of: #/short.wav: played (\d+) frames/#)
    // A busy machine may miss some.
    expectTrue(frames.flatMap { Int($0.output.1) } ?? 0 > 36_000, "\(result)")
  }

  /// Programs with nothing to do look once a second whether that is so.
  @Test func idleProgramsSleep() throws {
    let stage = try Stage()
    let file = try WaveFile("a.wav", in: stage.folder, channels: 1, frames: 48_000)
    let player = try stage.start(
      "play", [file.path, "--no-connect", "--loop"], client: "cuejack-play")
    try expectEqual(stage.cuejack("set", "cuejack-play", "stop").status, 0)
    let effect = try stage.start(
      "fx", ["--plugin", "eg-amp", "--no-connect"], client: "cuejack-fx")
    _ = try SessionStore(creating: stage.file("s"), session([("a", [file])]))
    let running = try stage.start(
      "session", ["run", stage.file("s"), "--no-connect"], client: "session")
    let programs = [player, effect, running]
    let clock = try CaptureClient(
      on: stage.server, channels: 1, capacity: 10 * stage.server.rate)
    clock.arm()
    // Values are published often for two seconds after they were read.
    try require(clock.wait(untilFrames: 3 * stage.server.rate))
    let before = try programs.map(waits)
    try require(clock.wait(untilFrames: 8 * stage.server.rate))
    let counts = try zip(programs, before).map { try waits(of: $0) - $1 }
    expectTrue(counts.allSatisfy { $0 < 15 }, "\(counts)")
  }

  /// How often the main thread of a program and the thread of a session have slept.
  private func waits(of program: Playing) throws -> Int {
    let threads = "/proc/\(program.processIdentifier)/task"
    return try FileManager.default.contentsOfDirectory(atPath: threads).reduce(0) { sum, thread in
      let status = text(of: URL(fileURLWithPath: "\(threads)/\(thread)/status"))
      let isMain = thread == "\(program.processIdentifier)"
      guard isMain || status.hasPrefix("Name:\tcuejack-session\n") else { return sum }
      let match = try require(status.firstMatch(of: #/\nvoluntary_ctxt_switches:\s+(\d+)/#))
      return try sum + require(Int(match.output.1))
    }
  }

  /// The chain of an effect changes while it runs, and refuses what makes no sense.
  @Test func theChainOfAnEffectIsEdited() throws {
    let stage = try Stage()
    let effect = try stage.start(
      "fx", ["--plugin", "eg-amp:gain=-6", "--no-connect"], client: "cuejack-fx")
    func ids() throws -> [String] {
      try stage.cuejack("osc", "cuejack-fx", "id/*").output.split(separator: "\n").map {
        String($0.split(separator: " ")[1])
      }
    }
    try expectEqual(stage.cuejack("set", "cuejack-fx", "add=eg-amp:gain=3").status, 0)
    try expectEqual(stage.cuejack("set", "cuejack-fx", "bypass/eg-amp-2=on").status, 0)
    try expectEqual(ids(), ["eg-amp", "eg-amp-2"])
    try expectEqual(stage.cuejack("set", "cuejack-fx", "place/eg-amp-2=1").status, 0)
    try expectEqual(ids(), ["eg-amp-2", "eg-amp"])
    let values = try stage.cuejack("osc", "cuejack-fx", "{plugins/*/gain,bypass/*}")
    expectTrue(values.status == 1, "braces hold no slash: \(values)")
    try expectEqual(
      stage.cuejack("osc", "cuejack-fx", "plugins/*/gain").output,
      "/cuejack/plugins/1/gain 3.0\n/cuejack/plugins/2/gain -6.0\n")
    try expectEqual(
      stage.cuejack("osc", "cuejack-fx", "bypass/*").output,
      "/cuejack/bypass/1 true\n/cuejack/bypass/2 false\n")
    try expectEqual(stage.cuejack("set", "cuejack-fx", "remove/1").status, 0)
    try expectEqual(ids(), ["eg-amp"])
    for (target, words) in [
      ("remove/1", "it is the only plugin"), ("add=eg-nothing", "eg-nothing"),
      ("gian=1", "did you mean “/cuejack/gain”"), ("gain=30", "it takes -120.0 to 24.0 dB"),
    ] {
      let result = try stage.cuejack("set", "cuejack-fx", target)
      expectTrue(result.status == 1 && result.errors.contains(words), "\(result)")
    }
    effect.send(signal: SIGTERM)
    let result = try effect.result()
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
  }

  /// An id means the same plugin behind an edit of the chain in the same command.
  @Test func idsFollowTheChainWithinACommand() throws {
    let stage = try Stage()
    let plugins = [-6, -3, 0].flatMap { ["--plugin", "eg-amp:gain=\($0)"] }
    let effect = try stage.start("fx", plugins + ["--no-connect"], client: "cuejack-fx")
    let result = try stage.cuejack(
      "set", "cuejack-fx", "remove/eg-amp", "plugins/eg-amp-2/gain=5", "place/eg-amp-3=1",
      "plugins/eg-amp-3/gain=7")
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    try expectEqual(
      stage.cuejack("osc", "cuejack-fx", "plugins/*/gain").output,
      "/cuejack/plugins/1/gain 7.0\n/cuejack/plugins/2/gain 5.0\n")
    effect.send(signal: SIGTERM)
    try expectEqual(effect.result().status, 0)
  }

  /// The lines of docs/command.md for what runs.
  @Test func theCommandsOfThePageWork() throws {
    let stage = try Stage()
    let file = try WaveFile("one.wav", in: stage.folder, frames: 480_000)
    _ = try stage.start("play", [file.path, "--no-connect"], client: "cuejack-play")
    _ = try stage.start("fx", ["--plugin", "eg-amp", "--no-connect"], client: "cuejack-fx")
    let recorder = try stage.start(
      "record", [stage.file("take.wav"), "--connect", "cuejack-play"], client: "cuejack-record")
    let page = text(of: repository.appendingPathComponent("docs/command.md"))
    let lines = page.matches(of: /(?m)^\|.*\| `cuejack (set [^`]+)` \|$/).map { $0.output.1 }
    try require(lines.count >= 13)
    for line in lines {
      if line.hasSuffix("split") {
        let record = try stage.client(of: "cuejack-record")
        try wait(for: "a file") {
          guard case .double(let seconds)? = try value("position", record) else { return false }
          return seconds > 0
        }
      }
      let words = line.split(separator: " ").dropFirst().map { String($0) }
      let result = try cuejack("set", words, environment: stage.environment)
      expectTrue(result.status == 0 && result.errors == "", "\(line): \(result)")
    }
    let result = try recorder.result()
    expectEqual(result.status, 0, "\(result)")
    let record = try stage.cuejack("set", "cuejack-record", "stop")
    expectTrue(record.status == 1 && record.errors.contains("cuejack-play"), "\(record)")
  }

  /// A prefix that fits one client, and the number of a process.
  @Test func aClientIsNamedByItsBeginningOrItsProcess() throws {
    let stage = try Stage()
    let file = try WaveFile("one.wav", in: stage.folder, frames: 480_000)
    let one = try stage.start(
      "play", [file.path, "--no-connect", "--name", "left"], client: "left")
    let other = try stage.start(
      "play", [file.path, "--no-connect", "--name", "lead"], client: "lead")
    let both = try stage.cuejack("set", "le", "pause")
    expectTrue(both.status == 1 && both.errors.contains("say which process"), "\(both)")
    try expectEqual(stage.cuejack("set", "lef", "pause").status, 0)
    try expectEqual(stage.report(of: "left")?["motion"] as? String, "paused")
    try expectEqual(stage.cuejack("set", "\(other.processIdentifier)", "quit").status, 0)
    try expectEqual(other.result().status, 0)
    try expectEqual(stage.cuejack("set", "l", "quit").status, 0)
    try expectEqual(one.result().status, 0)
    // Nobody finds a command without remote control.
    let hidden = try Playing(
      [file.path, "--no-connect", "--no-remote"], in: stage.folder, environment: stage.environment)
    try hidden.wait(for: "start frame")
    try expectEqual(stage.cuejack("list").output, "")
    hidden.send(signal: SIGTERM)
    _ = try hidden.result()
  }
}
