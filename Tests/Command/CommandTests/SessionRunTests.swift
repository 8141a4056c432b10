import Foundation
import TestSupport
import Testing

/// The sessions of the repository, run by `cuejack session run` on a server.
@Suite(.tags(.server, .program), .serialized) struct SessionRunTests {
  @Test(arguments: ["duo", "mix", "record", "scenes"]) func anExampleRuns(name: String) throws {
    try withTemporaryFolder { folder in
      let demo = folder.appendingPathComponent("demo")
      try expectEqual(cuejack("demo", [demo.path]).status, 0)
      let session = folder.appendingPathComponent(name)
      try FileManager.default.copyItem(
        at: repository.appendingPathComponent("sessions/\(name)"), to: session)
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let cuejack = try builtProduct(named: "cuejack").path
      var environment = try pluginEnvironment()
      environment["NSM_URL"] = ""
      let result = try run(
        cuejack,
        [
          "session", "run", session.path, "--server", jack.name, "--play", "--seconds", "2",
          "--threads", "2",
        ],
        environment: environment)
      expectTrue(
        result.status == 0
          && result.errors.split(separator: "\n").allSatisfy { $0.contains("recorded") },
        "\(result)")
      if name == "record" {
        let info = try run(cuejack, ["info", "\(session.path)/takes/take.wav"])
        expectTrue(
          info.output.contains("channels:  2") && info.output.contains("24-bit"), "\(info)")
      }
    }
  }

  @Test func soundThatCannotBeDecodedIsToldAndEndsWithOne() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("a.m4a")
      let made = try run(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "sine=r=48000:d=1", "-c:a", "alac", path.path])
      expectEqual(made.status, 0, "\(made)")
      var bytes = try Data(contentsOf: path)
      let start = try require(bytes.range(of: Data("mdat".utf8))).upperBound
      bytes.replaceSubrange(start + 9000..<start + 9300, with: Data(repeating: 0x55, count: 300))
      try bytes.write(to: path)
      let session = folder.appendingPathComponent("song").path
      let new = try cuejack("session", ["new", session, path.path], environment: ["NSM_URL": ""])
      expectEqual(new.status, 0, "\(new)")
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let ran = try cuejack(
        "session", ["run", session, "--server", jack.name, "--play", "--once", "--no-remote"],
        environment: ["NSM_URL": ""])
      expectTrue(ran.status == 1 && ran.errors.contains("a.m4a: 0."), "\(ran)")
      let output = folder.appendingPathComponent("song.wav").path
      let rendered = try cuejack("session", ["render", session, "--output", output])
      expectTrue(rendered.status == 1 && rendered.errors.contains(" s missing "), "\(rendered)")
    }
  }

  /// There is nothing to play, or nothing left beside a track without sound.
  @Test func onceEndsWithoutSound() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let (empty, mixed) = (folder.path + "/empty", folder.path + "/mixed")
      try expectEqual(cuejack("session", ["new", empty]).status, 0)
      try expectEqual(cuejack("session", ["new", mixed, file.path, file.path]).status, 0)
      let groups = [
        "tracks[1].file=gone.wav", "groups+={name: 'x', tracks: ['a']}",
      ]
      try expectEqual(cuejack("session", ["set", mixed] + groups).status, 0)
      let jack = try JackDaemon(rate: 48000, period: 256)
      for session in [empty, mixed] {
        let result = try cuejack(
          "session", ["run", session, "--server", jack.name, "--play", "--once", "--no-remote"],
          environment: ["NSM_URL": ""])
        let isEmpty = session == empty
        expectEqual(result.status, (isEmpty ? 0 : 1), "\(session): \(result)")
        expectTrue(result.errors.contains("there is no \(mixed)/gone.wav") != isEmpty, "\(result)")
        expectEqual(
          result.errors.contains("cuejack session add \(empty) FILE"), isEmpty, "\(result)")
      }
    }
  }

  /// The first file is missing, the second one is cut short. What there is, is played and rendered.
  @Test func aFileThatIsCutShortOrMissingIsTold() throws {
    try withTemporaryFolder { folder in
      let environment = ["NSM_URL": "", "XDG_RUNTIME_DIR": folder.path]
      let (gone, cut) = (
        try WaveFile("gone.wav", in: folder, frames: 4800),
        try WaveFile("cut.wav", in: folder, frames: 9600)
      )
      let session = folder.path + "/song"
      try expectEqual(cuejack("session", ["new", session, gone.path, cut.path]).status, 0)
      try FileManager.default.removeItem(atPath: gone.path)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: cut.path))
      try bytes.dropLast(bytes.count / 2).write(to: URL(fileURLWithPath: cut.path))
      let output = folder.path + "/song.wav"
      let rendered = try cuejack("session", ["render", session, "--output", output])
      let words = ["there is no \(gone.path)", "cut.wav: the file is cut short"]
      expectTrue(rendered.status == 1 && words.allSatisfy(rendered.errors.contains), "\(rendered)")
      expectTrue(FileManager.default.fileExists(atPath: output))
      let jack = try JackDaemon(rate: 48000, period: 256)
      let running = try Playing(
        "session", ["run", session, "--server", jack.name, "--no-connect"], in: folder,
        environment: environment)
      try running.wait(for: "client song")
      for (number, words) in words.enumerated() {
        let failure = try cuejack(
          "osc", [session, "tracks/\(number + 1)/failure"], environment: environment)
        expectTrue(failure.output.contains(words), "\(failure)")
      }
      running.send(signal: SIGTERM)
      let result = try running.result()
      expectEqual(result.status, 1, "\(result)")
      for words in words {
        expectEqual(result.errors.components(separatedBy: words).count, 2, "\(result)")
      }
    }
  }

  @Test func anotherPortIsTakenIfTheOneIsInUse() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let environment = ["NSM_URL": "", "XDG_RUNTIME_DIR": folder.path]
      let jack = try JackDaemon(rate: 48000, period: 1024)
      func start(_ name: String, port: String) throws -> Playing {
        let session = "\(folder.path)/\(name)"
        try expectEqual(cuejack("session", ["new", session, file.path]).status, 0)
        let running = try Playing(
          "session", ["run", session, "--server", jack.name, "--no-connect", "--port", port],
          in: folder, environment: environment)
        try running.wait(for: "client \(name), UDP port ")
        return running
      }
      let first = try start("first", port: "0")
      let port = try require(first.output.firstMatch(of: /UDP port (\d+)/)?.output.1)
      let second = try start("second", port: String(port))
      expectTrue(
        second.errors.contains("\(port)")
          && second.errors.contains("remote control is on UDP port"),
        "\(second.errors)")
      for (name, running) in [("first", first), ("second", second)] {
        let quit = try cuejack("set", [name, "quit"], environment: environment)
        expectEqual(quit.status, 0, "\(quit)")
        try expectEqual(running.result().status, 0)
      }
    }
  }

  @Test(arguments: [
    ["run", "s", "--server", "a", "--server", "b"], ["run", "s", "--name", "a", "--name=b"],
    ["render", "s", "-o", "a.wav", "--output", "b.wav"], ["new", "s", "--bpm", "1", "--bpm", "2"],
    ["show", "s", "--output", "a.svg", "--output", "b.svg"],
    ["save", "--server", "a", "--server", "b"],
  ]) func anOptionThatIsGivenTwiceIsRefused(words: [String]) throws {
    let result = try cuejack("session", words)
    expectTrue(result.status == 64 && result.errors.contains(" is given twice"), "\(result)")
  }

  @Test func anArmedRecordingWithoutAFrameIsToldAndAQuitIsNoFailure() throws {
    try withTemporaryFolder { folder in
      let session = folder.path + "/take"
      try expectEqual(cuejack("session", ["new", session]).status, 0)
      let set = try cuejack(
        "session",
        [
          "set", session,
          "recordings+={name: 'a', file: 'a.wav', ports: ['system:capture_1'], armed: true}",
        ])
      expectEqual(set.status, 0, "\(set)")
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let running = try Playing(
        "session", ["run", session, "--server", jack.name], in: folder,
        environment: ["NSM_URL": "", "XDG_RUNTIME_DIR": folder.path])
      try running.wait(for: "client take")
      let start = try cuejack(
        "set", [session, "start/at=9000000000"],
        environment: ["XDG_RUNTIME_DIR": folder.path])
      expectEqual(start.status, 0, "\(start)")
      try expectEqual(
        cuejack("set", [session, "quit"], environment: ["XDG_RUNTIME_DIR": folder.path]).status, 0)
      let result = try running.result()
      expectTrue(
        result.status == 0 && result.errors.contains("recordings[a]: nothing was recorded"),
        "\(result)")
    }
  }

  /// The folder stands for the client, a name for the number of a track, and the end of a URI for a plugin.
  @Test func namesAreTakenWhereNumbersAre() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let session = folder.path + "/song"
      let environment = ["NSM_URL": "", "XDG_RUNTIME_DIR": folder.path]
      func ok(_ subcommand: String, _ words: [String]) throws {
        let result = try cuejack(subcommand, words, environment: environment)
        expectEqual(result.status, 0, "\(words): \(result)")
      }
      try ok("session", ["new", session, file.path])
      try ok("session", ["set", session, "tracks/a/chain+={id: 'amp', uri: 'eg-amp'}"])
      try ok("session", ["check", session])
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let running = try Playing(
        "session", ["run", session, "--server", jack.name, "--no-connect", "--name", "other"],
        in: folder, environment: environment)
      try running.wait(for: "client other")
      try ok(
        "set",
        [
          session + "/", "tracks/a/volume=-7dB", "tracks[a].chain[amp].parameters.gain=-3dB",
          "tracks[0].mute=on",
        ])
      try ok("session", ["save", session])
      let saved = try String(contentsOfFile: session + "/session.json", encoding: .utf8)
      for words in ["\"gain\" : -7", "\"gain\" : -3", "\"mute\" : true", "\"uri\" : \"eg-amp\""] {
        expectTrue(saved.contains(words), "\(saved)")
      }
      let wrong = try cuejack("set", [session, "tracks/b/gain=1"], environment: environment)
      expectTrue(
        wrong.status == 1
          && wrong.errors.contains("tracks/b/gain: there is no such address"),
        "\(wrong)")
      for target in ["tracks[a].fadeIn=1", "sampleRate=44100"] {
        let later = try cuejack("set", [session, target], environment: environment)
        expectTrue(
          later.status == 1 && later.errors.contains("it takes effect with the next run only"),
          "\(later)")
      }
      try ok("set", [session, "quit"])
      try expectEqual(running.result().status, 0)
    }
  }

  /// With `--threads`, the plugins have that many threads, but not more than processors: JACK's, and
  /// helpers.
  @Test(arguments: [1, 2]) func pluginsHaveTheirThreads(count: Int) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let session = folder.appendingPathComponent("take").path
      let environment = ["NSM_URL": ""]
      let made = try cuejack("session", ["new", session, file.path], environment: environment)
      expectEqual(made.status, 0, "\(made)")
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let running = try Playing(
        "session",
        ["run", session, "--server", jack.name, "--no-connect", "--threads", "\(count)"],
        in: folder, environment: environment)
      try running.wait(for: "client take")
      func helpers() -> [String] {
        threadNames(of: running.processIdentifier).filter { $0.hasPrefix("graph-") }.sorted()
      }
      let processors = ProcessInfo.processInfo.activeProcessorCount
      let names = (2..<1 + min(count, processors)).map { "graph-\($0)" }
      // A thread takes its name when it runs for the first time. One that should not be there has time for that.
      if names.isEmpty { usleep(300_000) }
      expectTrue(waits { helpers() == names }, "\(helpers())")
      running.send(signal: SIGTERM)
      try expectEqual(running.result().status, 128 + SIGTERM)
    }
  }
}
