import Foundation
import TestSupport
import Testing

/// Messages and exit codes of `cuejack play` after errors.
@Suite(.tags(.server, .program), .serialized) struct PlayErrorTests {
  /// An environment without a server, in which none may be started.
  private let noServer = [
    "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())", "JACK_NO_START_SERVER": "1",
  ]

  /// Expects exit code 1 and a line `cuejack: …` that contains all of `words`.
  private func expectFailure(
    _ result: CommandResult, _ words: [String], _ location: SourceLocation = #_sourceLocation
  ) {
    expectEqual(result.status, 1, "\(result.errors)", sourceLocation: location)
    let lines = result.errors.split(separator: "\n")
    expectEqual(
      lines.filter { line in line.hasPrefix("cuejack: ") && words.allSatisfy { line.contains($0) } }
        .count, 1,
      "\(words) in:\n\(result.errors)", sourceLocation: location)
  }

  // MARK: Files

  @Test func eachFileThatCannotBeOpenedIsNamedAndNothingPlays() throws {
    try withTemporaryFolder { folder in
      let good = try WaveFile("good.wav", in: folder, frames: 4800)
      func file(_ name: String, _ data: Data) throws -> String {
        let url = folder.appendingPathComponent(name)
        try data.write(to: url)
        return url.path
      }
      let whole = try Data(contentsOf: URL(fileURLWithPath: good.path))
      let missing = folder.appendingPathComponent("missing.wav").path
      let noFrames = try WaveFile("none.wav", in: folder, frames: 0).path
      let wrong = try [
        (missing, "no such file"),
        (
          file("text.wav", Data("This is a text, and nothing but a text.".utf8)), "not a sound file"
        ),
        (file("cut.wav", whole.prefix(30)), "cut short"),
        (file("empty.wav", Data()), "empty"),
        (noFrames, "no sound"),
        (file("a.flac", Data("fLaC0000000000000000000000000000000000".utf8)), "damaged"),
        (file("b.wv", Data("wvpk0000000000000000000000000000000000".utf8)), "damaged"),
      ]
      for (path, words) in wrong {
        expectFailure(try play([path], environment: noServer), [path, words])
      }
      let server = try JackDaemon()
      let all = try play([good.path] + wrong.map(\.0) + ["--server", server.name])
      for (path, words) in wrong { expectFailure(all, [path + ":", words]) }
      expectEqual(all.output, "")
      // The good file is not mentioned.
      expectTrue(!all.errors.contains("good.wav"))
    }
  }

  /// A command prefix that drops the permission to read everything; nil if there is none.
  private static let unprivileged: [String]? = {
    if geteuid() != 0 { return ["env"] }
    let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let cuejack = (try? builtProduct(named: "cuejack").path) ?? ""
    let mayRun = try? run(words[0], words[1...] + [cuejack, "--help"]).status == 0
    return mayRun == true ? words : nil
  }()

  @Test(.enabled(if: unprivileged != nil)) func aFileThatMayNotBeReadIsNamed() throws {
    let command = try require(Self.unprivileged)
    try withTemporaryFolder { folder in
      let file = try WaveFile("secret.wav", in: folder, frames: 100)
      chmod(folder.path, 0o755)
      chmod(file.path, 0)
      let cuejack = try builtProduct(named: "cuejack").path
      let result = try run(
        command[0], command[1...] + [cuejack, "play", file.path], environment: noServer)
      expectFailure(result, [file.path, "may not read"])
    }
  }

  @Test func aFileThatWasCutShortPlaysAndFails() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("half.wav", in: folder, frames: 9600)
      expectEqual(truncate(file.path, 44 + 4 * 4800), 0)
      let server = try JackDaemon()
      let result = try play([file.path, "--server", server.name])
      expectFailure(result, [file.path, "4800 of 9600 frames"])
      expectTrue(result.output.contains("played 4800 frames"))
      // A play range within the remaining data is complete.
      let part = try play([file.path, "--seconds", "0.05", "--server", server.name])
      expectTrue(part.status == 0 && part.output.contains("played 2400 frames"), "\(part)")
    }
  }

  @Test func aFileThatShrinksWhileItPlaysIsNamedAndTheOthersPlayOn() throws {
    try withTemporaryFolder { folder in
      let bad = try WaveFile("bad.wav", in: folder, frames: 480_000)
      let good = try WaveFile("good.wav", in: folder, frames: 96_000)
      let server = try JackDaemon(period: 1024)
      let player = try Playing([bad.path, good.path, "--server", server.name], in: folder)
      try player.wait(for: "start frame")
      expectEqual(truncate(bad.path, 44 + 4 * 4800), 0)
      let result = try player.result()
      expectFailure(result, [bad.path, "ended early"])
      expectTrue(result.output.contains("good.wav: played 96000 frames"))
      expectTrue(!result.output.contains("bad.wav: played 480000 frames"))
    }
  }

  // MARK: The server

  @Test func withoutAServerAndWithoutJackdItSaysWhatIsMissing() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let result = try play(
        [file.path],
        environment: ["PATH": folder.path, "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())"])
      expectFailure(result, ["jackd", "not installed", "jackd2"])
    }
  }

  @Test func aServerThatIsNotThereIsNamed() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      expectFailure(try play([file.path, "--server", "no-such-server"]), ["“no-such-server”"])
    }
  }

  @Test func aPortThatIsNotThereIsNamed() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon()
      let capture = try CaptureClient(on: server, capacity: 0)
      for port in ["nobody:in_1", "system:capture_1"] {
        let result = try play([file.path, "--server", server.name, "--connect", port])
        expectFailure(result, ["“\(port)”", "“\(server.name)”"])
        expectEqual(result.output, "")
      }
      expectTrue(capture.ports(matching: "^cuejack").isEmpty)
    }
  }

  @Test func aNameThatIsTakenIsShownAndPlayingGoesOn() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon()
      let other = try CaptureClient(on: server, name: "singer", capacity: 0)
      defer { withExtendedLifetime(other) {} }
      let result = try play([file.path, "--server", server.name, "--name", "singer"])
      expectEqual(result.status, 0)
      // A number behind the name is no message.
      expectEqual(result.errors, "")
      expectTrue(result.output.contains("client singer-01,"))
      expectTrue(result.output.contains("  singer-01:out_1 -> system:playback_1"))
      expectTrue(result.output.contains("played 4800 frames"))
    }
  }

  /// While it plays, and while it waits for its start.
  @Test(arguments: ["stop", "kill"], [[], ["--at", "+60"]])
  func aServerThatGoesAwayIsWaitedFor(how: String, start: [String]) throws {
    try withTemporaryFolder { folder in
      let files = try (1...2).map { try WaveFile("\($0).wav", in: folder, frames: 960_000) }
      let server = try JackDaemon()
      let watch = try CaptureClient(on: server, channels: 1, capacity: server.rate)
      let player = try Playing(files.map(\.path) + start + ["--server", server.name], in: folder)
      try player.wait(for: "2.wav: server")
      watch.arm()
      try require(watch.wait(untilFrames: server.rate * 6 / 10))
      if how == "stop" { server.stop() } else { server.kill() }
      try player.waitForError("went away: waiting until it is back")
      // The player can be stopped meanwhile.
      player.send(signal: SIGINT)
      let result = try player.result(seconds: 30)
      expectEqual(result.status, 130)
      expectTrue(result.errors.contains("“\(server.name)”"))
      for file in files {
        let words = start.isEmpty ? "\(file.path): played " : "\(file.path): did not start"
        expectTrue(result.output.contains(words), "\(result.output)")
      }
      let played = result.output.matches(of: #/played (\d+) frames/#).compactMap {
        Int($0.output.1)
      }
      expectEqual(played.count, (start.isEmpty ? files.count : 0))
      expectTrue(played.allSatisfy { $0 > 0 && $0 < 960_000 })
    }
  }

  /// All files are played completely, although the server was gone twice in between.
  @Test func playingGoesOnWhenTheServerIsBack() throws {
    try withTemporaryFolder { folder in
      let files = [
        try WaveFile("1.wav", in: folder, frames: 240_000),
        try WaveFile("2.wav", in: folder, channels: 1, rate: 44100, frames: 220_500),
      ]
      let server = try JackDaemon()
      let player = try Playing(files.map(\.path) + ["--server", server.name], in: folder)
      try player.wait(for: "2.wav: server")
      for round in 1...2 {
        usleep(1_200_000)
        if round == 1 { server.kill() } else { server.stop() }
        try player.waitForError("went away: waiting until it is back", times: round)
        try server.start()
        try player.waitForError("“\(server.name)” is back: playing goes on", times: round)
      }
      let result = try player.result(seconds: 60)
      // On a busy machine a file may run dry, which the exit code reports.
      let isWhole = !result.output.contains(" of silence") && !result.output.contains(" not heard")
      expectEqual(result.status, (isWhole ? 0 : 1), "\(result)")
      for name in ["1.wav", "2.wav"] {
        let line =
          result.output.split(separator: "\n").last { $0.contains("\(name): played") } ?? ""
        let frames = [#/played (\d+) frames/#, #/(\d+) frames not heard/#].compactMap {
          line.firstMatch(of: $0).flatMap { Int($0.output.1) }
        }
        expectEqual(frames.reduce(0, +), 240_000, "\(result.output)")
      }
    }
  }

  /// Messages of JACK's library are shown with `--verbose` or CUEJACK_LOG=debug.
  @Test(arguments: [
    ([], "", false), (["--verbose"], "", true), ([], "debug", true), ([], "error", false),
    (["--verbose"], "error", true),
  ])
  func messagesOfTheLibraryAreShownOnRequest(flags: [String], level: String, isTold: Bool) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let result = try play(
        [file.path, "--server", "no-such-server"] + flags, environment: ["CUEJACK_LOG": level])
      expectFailure(result, ["“no-such-server”"])
      expectEqual(result.errors.contains("cuejack: libjack: "), isTold)
      expectTrue(result.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("cuejack: ") })
    }
  }

  /// The player starts a server, because none runs, and ends it on exit.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func aSignalEndsItInGoodOrder(signal: Int32) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 960_000)
      let name = "cuejack-test-own-\(getuid())"
      let player = try Playing(
        [file.path], in: folder, environment: ["JACK_DEFAULT_SERVER": name])
      try player.wait(for: "start frame")
      usleep(500_000)
      player.send(signal: signal)
      let result = try player.result(seconds: 30)
      expectEqual(result.status, 128 + signal)
      expectTrue(result.output.contains("a.wav: played "))
      let started = try require(
        result.errors.firstMatch(of: #/^cuejack: started jackd as “(.*)” \(.* pid (\d+)\)\n$/#))
      expectTrue(started.output.1 == name)
      expectTrue(kill(try require(Int32(started.output.2)), 0) == -1 && errno == ESRCH)
      // No server with this name runs any more.
      expectFailure(try play([file.path, "--server", name]), ["“\(name)”"])
    }
  }

  @Test func aReaderThatGoesAwayDoesNotEndIt() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 9600)
      let server = try JackDaemon()
      let cuejack = try builtProduct(named: "cuejack").path
      let result = try run(
        "bash",
        [
          "-c",
          "exec 3>&1; { \"$0\" play \"$1\" --server \"$2\"; echo \"ended with $?\" >&3; } | true",
          cuejack, file.path, server.name,
        ])
      // It has played on, but its output was not written.
      expectEqual(result.output, "ended with 1\n")
      expectTrue(result.errors.contains("standard output"), "\(result.errors)")
    }
  }

  // MARK: Usage

  @Test(arguments: [
    [], ["a.wav", "--volume", "64"], ["a.wav", "--volume", "-1x"], ["a.wav", "--volume", "nan"],
    ["a.wav", "--volume", "loud"], ["a.wav", "--at", "soon"], ["a.wav", "--at", "+-1"],
    ["a.wav", "--at", "1.5"], ["a.wav", "--at", "+1e30"], ["a.wav", "--seconds", "0"],
    ["a.wav", "--seconds", "inf"], ["a.wav", "--name", ""], ["a.wav", "--name", "a:b"],
    ["a.wav", "--server", ""], ["a.wav", "--no-connect", "--connect", "system:playback_1"],
    ["a.wav", "--loop", "--fade-out", "1"],
    ["a.wav", "--pan", "-1.5"], ["a.wav", "--pan", "left"], ["a.wav", "--fade-in=-1"],
    ["a.wav", "--start", "nan"], ["a.wav", "--start", "2", "--end", "2"],
    ["a.wav", "--end", "inf"],
    ["a.wav", "--stagger=-0.5"], ["a.wav", "--rate", "0.4"], ["a.wav", "--rate", "2.1"],
    ["a.wav", "--pitch", "-2401"], ["a.wav", "--pitch", "high"], ["a.wav", "--start", "1:60"],
    ["a.wav", "--volume", "1", "--volume", "2"], ["a.wav", "--gain=1", "--volume", "2"],
    ["a.wav", "--pan", "0", "--pan=1"], ["a.wav", "--connect-wait", "1"],
    ["a.wav", "--raw", "s16"],
    ["a.wav", "--name", "a", "--name-from-file"], ["-", "-"], ["-", "--raw", "s17"],
    ["a.wav@gain=loud"], ["a.wav@pan=2"], ["a.wav@at=2"], ["a.wav@gian=1"], ["a.wav@loop=maybe"],
    ["a.wav@gain=1,"], ["a.wav@pan=1", "-q"], ["a.wav", "-q", "--stagger", "1"],
    ["a.wav", "--format", "s16"], ["a.wav", "--render", "b.wav", "--to", "flac"],
    ["a.wav", "--render", "-", "--to", "doc"],
  ])
  func wrongUsageIsExplained(arguments: [String]) throws {
    let result = try play(arguments, environment: noServer)
    expectEqual(result.status, 64)
    expectTrue(result.output == "" && result.errors.contains("Usage: cuejack play"), "\(result)")
  }

  @Test func theHelpHasTheExitCodes() throws {
    let result = try play(["--help"])
    expectEqual(result.status, 0)
    for words in ["Nothing plays unless", "130", "143", "64"] {
      expectTrue(result.output.contains(words))
    }
  }
}
